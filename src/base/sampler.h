/* sampler.h - draws from the distributions of the models.
 *
 * Contents: 1 gamma, beta and Dirichlet (dirichlet.c), 2 categorical, 3 counts (binomial,
 * multinomial, Poisson, negative binomial, hypergeometric), 4 table counts, 5 partitions and
 * permutations.
 *
 * All algorithms are exact: their law is the stated one up to the rounding of doubles, for counts
 * up to 2^62, with no normal or Poisson approximation.  Nothing is allocated.  An outcome with
 * weight 0 (log-weight -inf, concentration 0) is never drawn.  Arguments are trusted: weights are
 * finite, not negative and not NaN.
 */
#ifndef PHL_BASE_SAMPLER_H
#define PHL_BASE_SAMPLER_H

#include "base/numeric.h"
#include "base/rng.h"

/* ---- 1. Gamma, beta, Dirichlet ------------------------------------------------------------- */

/* A Gamma(shape, 1) draw, shape >= 0; rounds to 0 for most draws of a shape below 0.001. */
double phl_gamma_draw(phl_rng *rng, double shape);

/* The logarithm of a Gamma(shape, 1) draw, shape >= 0 (0 gives -inf).  A shape of 1e-8 gives values
 * around -1e8, which as plain numbers would all be 0. */
double phl_log_gamma_draw(phl_rng *rng, double shape);

/* The logarithms of p and of 1 - p for p ~ Beta(a, b), a, b > 0. */
void phl_log_beta_draw(phl_rng *rng, double a, double b, double *log_p, double *log_rest);

/* p ~ Beta(a, b) as a plain number; may round to 0 or 1. */
double phl_beta_draw(phl_rng *rng, double a, double b);

/* p ~ Dirichlet(concentration) as plain numbers.  Where every concentration is at least 0.1 all p
 * are above 0 (but for a chance of 1e-26); a smaller one may give a p that rounds to 0.  p may be
 * the same array as concentration, here and below. */
void phl_dirichlet_draw(phl_rng *rng, const double *concentration, size_t count, double *p);

/* The same for `rows` rows of `columns` concentrations each, one after the other, which is faster
 * than one by one. */
void phl_dirichlet_rows_draw(phl_rng *rng, const double *concentration, size_t rows, size_t columns,
                             double *p);

/* Logarithms of p ~ Dirichlet(concentration).  Outcomes of concentration 0 get -inf; when all are 0
 * there is no such distribution and all get -inf. */
void phl_log_dirichlet_draw(phl_rng *rng, const double *concentration, size_t count, double *log_p);

/* The same for concentrations given as logarithms, which may lie below that of the smallest double.
 */
void phl_log_dirichlet_draw_log(phl_rng *rng, const double *log_concentration, size_t count,
                                double *log_p);

/* ---- 2. Categorical ------------------------------------------------------------------------ */

#define PHL_NO_OUTCOME SIZE_MAX /* drawn when every weight is 0 */

/* An index with probability proportional to its weight; the sum of weights must be finite. */
size_t phl_categorical_draw(phl_rng *rng, const double *weights, size_t count);

/* The first index whose running sum of weights is above `target`.  When there is none, the last
 * index with a weight above 0, which must exist: the target was rounded up to the total. */
size_t phl_categorical_search(const double *weights, size_t count, double target);

/* The same as phl_categorical_draw when the sum of weights is known, up to rounding, and above 0.
 */
static inline size_t phl_categorical_draw_total(phl_rng *rng, const double *weights, size_t count,
                                                double total)
{
    double target = phl_rng_uniform(rng) * total;
    if (count > 32) {
        return phl_categorical_search(weights, count, target);
    }
    /* To the end in any case: where the sum passes the target cannot be foretold. */
    double sum = 0;
    size_t below = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weights[i];
        below += sum <= target;
    }
    return below < count ? below : phl_categorical_search(weights, count, target);
}

/* The same for logarithms of weights, of any magnitude. */
size_t phl_categorical_draw_log(phl_rng *rng, const double *log_weights, size_t count);

/* ---- 3. Counts ----------------------------------------------------------------------------- */

/* Successes in n trials (0 <= n <= 2^62) of probability p. */
int64_t phl_binomial_draw(phl_rng *rng, int64_t n, double p);

/* n draws divided over `count` outcomes with the given weights.  When every weight is 0 all counts
 * are 0, which a caller with n > 0 must rule out. */
void phl_multinomial_draw(phl_rng *rng, int64_t n, const double *weights, size_t count,
                          int64_t *counts);

/* Poisson, 0 <= mean; results are cut at 2^62. */
int64_t phl_poisson_draw(phl_rng *rng, double mean);

/* Failures before the n-th success when a failure has probability p0 = e^log_p0 < 1: the number of
 * rejected draws r ~ NegBin(n, 1 - p0), mean n p0 / (1 - p0).  Cut at 2^62. */
int64_t phl_negative_binomial_draw(phl_rng *rng, int64_t n, double log_p0);

/* Good items among `sample` taken without replacement from good + bad (at most 2^62), sample <=
 * good + bad. */
int64_t phl_hypergeometric_draw(phl_rng *rng, int64_t good, int64_t bad, int64_t sample);

/* The same for `count` colours with colours[i] items each: taken[i] of colour i.  The sum of
 * colours is at most 2^62 and at least `sample`. */
void phl_multivariate_hypergeometric_draw(phl_rng *rng, const int64_t *colours, size_t count,
                                          int64_t sample, int64_t *taken);

/* ---- 4. Table counts ----------------------------------------------------------------------- */

/* Tables of a Chinese restaurant after n customers with concentration a > 0 (Antoniak's law): the
 * sum over i = 0 .. n-1 of independent Bernoulli(a / (a + i)).  1 <= result <= n when n > 0.
 * Work grows like a log n up to a = 1, beyond like sqrt(a) log n, not like n. */
int64_t phl_crt_draw(phl_rng *rng, int64_t n, double a);

/* The same with log a, of any magnitude. */
int64_t phl_crt_draw_log(phl_rng *rng, int64_t n, double log_a);

/* ---- 5. Partitions and permutations -------------------------------------------------------- */

/* A partition of n labelled items into exactly k blocks, all of them equally likely: blocks[i] is
 * the block of item i, blocks numbered from 0 by first occurrence.  1 <= k <= n <= table->largest
 * (or n = k = 0). */
void phl_partition_draw(phl_rng *rng, const phl_stirling *table, size_t n, size_t k,
                        uint32_t *blocks);

/* Put items in a uniformly random order. */
void phl_shuffle(phl_rng *rng, size_t count, uint32_t *items);

#endif
