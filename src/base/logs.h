/* logs.h - logarithms and exponentials of many numbers at once.
 *
 * Written so that the compiler computes several at a time.  A result depends on its own argument
 * alone and has the same bits wherever it stands in an array and on every machine (clones.h).
 */
#ifndef PHL_BASE_LOGS_H
#define PHL_BASE_LOGS_H

#include <stddef.h>

/* out[i] = log(x[i]), within 1 ulp; log(1) is 0 exactly.  Any x: 0 gives -inf, a negative one NaN.
 * Those and subnormal numbers take longer.  out may be x. */
void phl_logs(const double *x, size_t count, double *out);

/* out[i] = e^x[i], within 1.1 ulp; -inf gives 0.  Any x, out may be x. */
void phl_exps(const double *x, size_t count, double *out);

#endif
