/* numeric.h - sums, log-space arithmetic and the special functions of the models.
 *
 * Contents: 1 sums in a fixed order, 2 log-space arithmetic, 3 gamma and beta functions, 4 rising
 * factorials and their tables, 5 Stirling numbers of the second kind.
 *
 * Log-space values may be -inf (probability zero); no function here turns -inf into NaN.
 */
#ifndef PHL_BASE_NUMERIC_H
#define PHL_BASE_NUMERIC_H

#include <math.h>

#include "base/error.h"

/* ---- 1. Sums in a fixed order -------------------------------------------------------------- */

/* Items in a chunk of every parallel loop that adds up floats.  Chunk b holds the items
 * b * PHL_CHUNK_SIZE .. (b + 1) * PHL_CHUNK_SIZE - 1 whatever the number of threads, a chunk is
 * summed by one thread, and chunk sums are added in the order of the chunks: so a sum has the same
 * bits for any number of threads.  Changing this number changes results in the last digits. */
#define PHL_CHUNK_SIZE 1024

/* Sum of a chunk or of any short array, in one fixed order (four interleaved lanes). */
double phl_sum_chunk(const double *values, size_t count);

/* Sum of a long array: the phl_sum_chunk of every chunk, added up one by one.  Equal to the bit to
 * a parallel loop that stores phl_sum_chunk of each chunk and then calls phl_sum_partials. */
double phl_sum(const double *values, size_t count);

/* Sum of chunk sums, one by one. */
double phl_sum_partials(const double *partials, size_t count);

/* ---- 2. Log-space arithmetic --------------------------------------------------------------- */

/* log(e^a + e^b). */
double phl_log_add(double a, double b);

/* log(1 - e^a) for a <= 0, accurate at both ends. */
double phl_log_complement(double a);

/* log(sum of e^values); -inf for no values. */
double phl_log_sum(const double *values, size_t count);

/* Subtract the log-sum from every value and return it.  When it is -inf nothing changes. */
double phl_log_normalise(double *values, size_t count);

/* log(1 + x) - x for x > -1, without cancellation near 0. */
double phl_log1p_minus(double x);

/* ---- 3. Gamma and beta functions ----------------------------------------------------------- */

/* log |Gamma(x)|; +inf at 0, -1, -2, ...  Thread-safe: the sign goes nowhere, signgam is not
 * touched. */
double phl_log_gamma(double x);

/* log k! - [(k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2] for an integer k >= 0: what Stirling's
 * formula leaves over. */
double phl_stirling_rest(double k);

/* log B(a) = sum of log Gamma(a_i) - log Gamma(sum of a_i), all a_i > 0. */
double phl_log_beta(const double *a, size_t count);

/* log [B(a + n) / B(a)]: the marginal likelihood of an ordered sequence with counts n under
 * Dir(a).  An a_i of 0 is allowed and gives -inf when n_i > 0. */
double phl_log_beta_ratio(const double *a, const int64_t *n, size_t count);

/* ---- 4. Rising factorials ------------------------------------------------------------------ */

/* log (a)_n = log [a (a+1) ... (a+n-1)] = log Gamma(a+n) - log Gamma(a), for a >= 0 and n >= 0.
 * Accurate to a few ulp of the larger of |log a| and the result for a from 1e-300 to 1e300 and n up
 * to 2^62, where the difference of two log-gammas would lose everything. */
double phl_log_rising(double a, int64_t n);

/* The same for a given as its logarithm, which may be below that of the smallest double. */
double phl_log_rising_log(double log_a, int64_t n);

/* log (a)_n for one a and n = 0 .. count-1, looked up.  Zero-initialise, or use
 * phl_rising_init; phl_rising_clear releases. */
typedef struct phl_rising {
    double a;
    double *values;
    size_t count; /* a multiple of PHL_RISING_BLOCK */
    size_t capacity;
    double offset; /* when filled: log sqrt(2 pi) - log Gamma(a) */
} phl_rising;

#define PHL_RISING_BLOCK 64

void phl_rising_init(phl_rising *table, double a);
void phl_rising_clear(phl_rising *table);

/* Another a; keeps the room, drops the values. */
void phl_rising_reset(phl_rising *table, double a);

/* Fill the table up to n = largest, or somewhat further; what is filled already stays.  Values have
 * the same bits whether they were filled in one go or bit by bit. */
phl_status phl_rising_reserve(phl_rising *table, int64_t largest, phl_error *error);

/* log (a)_n beyond the table, by Stirling's formula: less work than phl_log_rising, when filled. */
double phl_rising_beyond(const phl_rising *table, int64_t n);

/* log (a)_n, from the table or, beyond it, from the formula.  Table and formula agree to 4e-15 of
 * the larger of 1, |log a| and the result, not to the bit: results that must not change in their
 * last digits need a table whose size depends on the input alone.  Calls may run in several threads
 * at once. */
static inline double phl_rising_get(const phl_rising *table, int64_t n)
{
    return (uint64_t)n < table->count ? table->values[n] : phl_rising_beyond(table, n);
}

/* ---- 5. Stirling numbers of the second kind ------------------------------------------------ */

/* log S(n, k) for 0 <= k <= n <= largest: the number of partitions of n labelled items into k
 * blocks.  Zero-initialised is empty. */
typedef struct phl_stirling {
    size_t largest;
    double *values; /* row n starts at n (n + 1) / 2 */
} phl_stirling;

phl_status phl_stirling_init(phl_stirling *table, size_t largest, phl_error *error);
void phl_stirling_clear(phl_stirling *table);

/* k > n gives -inf; n must not pass `largest`. */
static inline double phl_stirling_get(const phl_stirling *table, size_t n, size_t k)
{
    return k > n ? -INFINITY : table->values[n * (n + 1) / 2 + k];
}

#endif
