/* plain_upward.h - the upward pass as the equations of docs/maths.md read, node by node: what the
 * fast pass is compared with.
 */
#ifndef PHL_TESTS_PLAIN_UPWARD_H
#define PHL_TESTS_PLAIN_UPWARD_H

#include "model/infer.h"

typedef struct plain_upward {
    double *inside, *beta;         /* [n][C] */
    double *norm, *log_likelihood; /* [n]; td: log_likelihood without the root term */
    double *exponent;              /* [n] td: inside was divided by 2^exponent; else 0 */
} plain_upward;

plain_upward plain_upward_run(const phl_forest *forest, const uint32_t *label_row,
                              const phl_params *params);
void plain_upward_clear(plain_upward *plain);

#endif
