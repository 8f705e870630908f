/* check.h - helpers of the unit tests: comparing doubles, distribution functions, and judging a
 * sampler by the counts of its draws in bins.
 *
 * cmocka's own float assertion casts to float and hides everything below 1e-7; these do not.
 * A failed check prints what was found and fails the running cmocka test.
 */
#ifndef PHL_TESTS_CHECK_H
#define PHL_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

/* |actual - expected| <= relative * |expected|; equal infinities pass, NaN never does. */
#define check_close(actual, expected, relative)                                                    \
    check_close_at((actual), (expected), (relative), #actual, __FILE__, __LINE__)
void check_close_at(double actual, double expected, double relative, const char *what,
                    const char *file, int line);

/* At most `ulps` doubles apart. */
#define check_ulps(actual, expected, ulps)                                                         \
    check_ulps_at((actual), (expected), (ulps), #actual, __FILE__, __LINE__)
void check_ulps_at(double actual, double expected, int64_t ulps, const char *what, const char *file,
                   int line);

/* ---- Distribution functions (checked against reference.h in test_numeric.c) ---------------- */

double check_normal_cdf(double x);
/* Gamma(shape, 1) at x = e^log_x: the lower or the upper tail. */
double check_gamma_cdf(double shape, double log_x);
double check_gamma_tail(double shape, double log_x);
/* Beta(a, b) at x = 1 / (1 + e^-z). */
double check_beta_cdf(double a, double b, double z);

/* ---- Counts in bins ------------------------------------------------------------------------ */

/* Draws are counted in at most CHECK_BINS bins of known probability and judged twice:
 *  - chi-square over the bins: with 80 bins and a million draws it has power 1/2 against bin
 *    probabilities that are off by 0.9 % (root mean square);
 *  - trend: the mean rank of the draws; with a million draws it has power 1/2 against a shift of
 *    0.5 % of a standard deviation.
 * Each fails by chance with probability 1e-6 for a fresh seed.  A draw outside all bins fails. */
#define CHECK_BINS 400
#define CHECK_CHANCE 1e-6

typedef struct check_bins {
    size_t count;
    double edge[CHECK_BINS + 1]; /* bin b holds edge[b] < value <= edge[b+1] */
    double probability[CHECK_BINS];
    int64_t observed[CHECK_BINS];
    int64_t outside;
    int64_t draws;
} check_bins;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A random stream of its own for every case of a program. */
phl_rng check_stream(uint64_t seed, uint64_t purpose);

typedef double (*check_cdf_fn)(double value, const double *parameters);

/* 80 bins of equal probability; the quantiles are found between lowest and highest. */
void check_bins_continuous(check_bins *bins, check_cdf_fn cdf, const double *parameters,
                           double lowest, double highest);

/* Bins over the integers first, first + 1, ...: neighbours are joined until a bin has probability
 * 1/wanted; the two bins at the ends may be as small as 2e-4, to see faults in the tails.  `mass`
 * need not be normalised. */
void check_bins_discrete(check_bins *bins, double first, const double *mass, size_t count,
                         size_t wanted);

void check_bins_add(check_bins *bins, double value);

/* Print the verdict on one line, with the seed, and fail the test if it is bad. */
void check_bins_judge(const check_bins *bins, uint64_t seed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Counts of outcomes ---------------------------------------------------------------------- */

/* Draws from one law or several, each a list of outcomes with their probabilities, judged together:
 *  - chi-square over the outcomes expected at least ten times, which with n of them and d draws has
 *    power 1/2 against probabilities off by sqrt(6.7 sqrt(n) / d) (root mean square, relative);
 *  - the rarer ones together, by how rare they are: as many as expected?
 * Each fails by chance with probability 1e-6 for a fresh seed. */
enum { CHECK_RARITIES = 4 };

typedef struct check_outcomes {
    double sum, freedom;
    double rare_expected[CHECK_RARITIES], rare_observed[CHECK_RARITIES];
    int64_t draws;
} check_outcomes;

void check_outcomes_add(check_outcomes *outcomes, const double *probability,
                        const int64_t *observed, size_t count, int64_t draws);

/* Print the verdict on one line, with the seed, and fail the test if it is bad. */
void check_outcomes_judge(const check_outcomes *outcomes, uint64_t seed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
