/* check.c - helpers of the unit tests; see check.h. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void check_close_at(double actual, double expected, double relative, const char *what,
                    const char *file, int line)
{
    if (actual == expected || fabs(actual - expected) <= relative * fabs(expected)) {
        return;
    }
    print_error("%s:%d: %s is %.17g, expected %.17g within %.3g relative\n", file, line, what,
                actual, expected, relative);
    fail();
}

/* Doubles in their order, as integers. */
static int64_t ordered(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >= 0 ? bits : INT64_MIN - bits;
}

void check_ulps_at(double actual, double expected, int64_t ulps, const char *what, const char *file,
                   int line)
{
    if (!isnan(actual) && !isnan(expected)) {
        int64_t a = ordered(actual);
        int64_t b = ordered(expected);
        uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
        if (apart <= (uint64_t)ulps) {
            return;
        }
    }
    print_error("%s:%d: %s is %.17g, expected %.17g within %lld ulps\n", file, line, what, actual,
                expected, (long long)ulps);
    fail();
}

/* ---- Distribution functions ---------------------------------------------------------------- */

double check_normal_cdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

/* x^a e^-x / Gamma(a + 1) */
static double gamma_front(double a, double log_x)
{
    double x = exp(log_x);
    if (a < 100) {
        return exp(a * log_x - x - lgamma(a + 1));
    }
    double u = (x - a) / a;
    return exp(a * (log1p(u) - u) - 1 / (12 * a) + 1 / (360 * a * a * a)) /
           sqrt(6.28318530717958647693 * a);
}

/* P(a, x) by its series, for x < a + 1. */
static double gamma_series(double a, double log_x)
{
    double x = exp(log_x);
    double term = 1;
    double sum = 1;
    for (double n = 1; term > 1e-17 * sum; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return gamma_front(a, log_x) * sum;
}

/* Q(a, x) by its continued fraction (Lentz), for x >= a + 1. */
static double gamma_fraction(double a, double log_x)
{
    double x = exp(log_x);
    double b = x + 1 - a;
    double c = 1e300;
    double d = 1 / b;
    double h = d;
    for (double n = 1;; n++) {
        double factor = -n * (n - a);
        b += 2;
        d = 1 / (factor * d + b);
        c = b + factor / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-16 || n > 1e7) {
            return gamma_front(a, log_x) * a * h;
        }
    }
}

double check_gamma_cdf(double shape, double log_x)
{
    return exp(log_x) < shape + 1 ? gamma_series(shape, log_x) : 1 - gamma_fraction(shape, log_x);
}

double check_gamma_tail(double shape, double log_x)
{
    return exp(log_x) < shape + 1 ? 1 - gamma_series(shape, log_x) : gamma_fraction(shape, log_x);
}

/* I_x(a,b) by its continued fraction (Lentz), for x < (a+1) / (a+b+2). */
static double beta_fraction(double a, double b, double log_x, double log_rest)
{
    double x = exp(log_x);
    double c = 1;
    double d = 1 / (1 - (a + b) * x / (a + 1));
    double h = d;
    for (double m = 1; m < 1e7; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-16) {
            break;
        }
    }
    double log_beta = lgamma(a) + lgamma(b) - lgamma(a + b);
    return exp(a * log_x + b * log_rest - log_beta) / a * h;
}

double check_beta_cdf(double a, double b, double z)
{
    double log_x = z > 0 ? -log1p(exp(-z)) : z - log1p(exp(z));
    double log_rest = z > 0 ? -z - log1p(exp(-z)) : -log1p(exp(z));
    return exp(log_x) < (a + 1) / (a + b + 2) ? beta_fraction(a, b, log_x, log_rest)
                                              : 1 - beta_fraction(b, a, log_rest, log_x);
}

/* ---- Counts in bins ------------------------------------------------------------------------ */

phl_rng check_stream(uint64_t seed, uint64_t purpose)
{
    static uint64_t item;
    phl_rng rng;
    phl_rng_init(&rng, seed, purpose, 1, 2, item++);
    return rng;
}

void check_bins_continuous(check_bins *bins, check_cdf_fn cdf, const double *parameters,
                           double lowest, double highest)
{
    memset(bins, 0, sizeof *bins);
    bins->count = 80;
    bins->edge[0] = -INFINITY;
    bins->edge[80] = INFINITY;
    double below = 0;
    for (size_t b = 1; b <= 80; b++) {
        double here = 1;
        if (b < 80) {
            double low = lowest;
            double high = highest;
            for (int step = 0; step < 200 && low < high; step++) {
                double middle = low + (high - low) / 2;
                if (middle == low || middle == high) {
                    break;
                }
                if (cdf(middle, parameters) < (double)b / 80) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            bins->edge[b] = high;
            here = cdf(high, parameters);
        }
        bins->probability[b - 1] = here - below;
        below = here;
    }
}

void check_bins_discrete(check_bins *bins, double first, const double *mass, size_t count,
                         size_t wanted)
{
    memset(bins, 0, sizeof *bins);
    assert_true(wanted <= CHECK_BINS);
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        total += mass[i];
    }
    double least = 1.0 / (double)wanted;
    const double tail = 2e-4;
    double open = 0;
    bins->edge[0] = first - 1;
    for (size_t i = 0; i < count; i++) {
        open += mass[i] / total;
        if (open >= (bins->count == 0 ? tail : least * (1 - 1e-9))) {
            bins->probability[bins->count++] = open;
            bins->edge[bins->count] = first + (double)i;
            open = 0;
        }
    }
    /* what is left over is a bin of its own or belongs to the last one */
    assert_true(bins->count > 0 && bins->count <= CHECK_BINS);
    if (open >= tail && bins->count < CHECK_BINS) {
        bins->probability[bins->count++] = 0;
    }
    bins->probability[bins->count - 1] += open;
    bins->edge[bins->count] = first + (double)count - 1;
}

void check_bins_add(check_bins *bins, double value)
{
    bins->draws++;
    if (!(value > bins->edge[0] && value <= bins->edge[bins->count])) {
        bins->outside++;
        return;
    }
    size_t low = 0;
    size_t high = bins->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (value > bins->edge[middle]) {
            low = middle;
        } else {
            high = middle;
        }
    }
    bins->observed[low]++;
}

void check_bins_judge(const check_bins *bins, uint64_t seed, const char *format, ...)
{
    char name[200];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);

    double draws = (double)bins->draws;
    double chi_square = 0;
    double trend = 0;
    double mean = 0;
    double square = 0;
    double below = 0;
    for (size_t b = 0; b < bins->count; b++) {
        double expected = draws * bins->probability[b];
        double excess = (double)bins->observed[b] - expected;
        double rank = below + bins->probability[b] / 2;
        chi_square += excess * excess / expected;
        trend += excess * rank;
        mean += bins->probability[b] * rank;
        square += bins->probability[b] * rank * rank;
        below += bins->probability[b];
    }
    double chance = 1;
    double z = 0;
    if (bins->count > 1) {
        chance = check_gamma_tail((double)(bins->count - 1) / 2, log(chi_square / 2 + 1e-300));
        z = trend / sqrt(draws * (square - mean * mean));
    }
    double z_chance = 2 * check_normal_cdf(-fabs(z));
    bool good = bins->outside == 0 && chance >= CHECK_CHANCE && z_chance >= CHECK_CHANCE;
    print_message("%-44s seed %llu, %zu bins, %lld draws: chi2 p = %.3g, trend z = %.2f, outside "
                  "%lld%s\n",
                  name, (unsigned long long)seed, bins->count, (long long)bins->draws, chance, z,
                  (long long)bins->outside, good ? "" : "  FAILS");
    if (!good) {
        fail();
    }
}

/* ---- Counts of outcomes ---------------------------------------------------------------------- */

void check_outcomes_add(check_outcomes *outcomes, const double *probability,
                        const int64_t *observed, size_t count, int64_t draws)
{
    double sum = 0.0;
    int bins = 0;
    for (size_t i = 0; i < count; i++) {
        double expected = probability[i] * (double)draws;
        if (expected >= 10.0) {
            double excess = (double)observed[i] - expected;
            sum += excess * excess / expected;
            bins++;
        } else {
            int rarity = probability[i] >= 1e-2   ? 0
                         : probability[i] >= 1e-3 ? 1
                         : probability[i] >= 1e-4 ? 2
                                                  : 3;
            outcomes->rare_expected[rarity] += expected;
            outcomes->rare_observed[rarity] += (double)observed[i];
        }
    }
    outcomes->sum += bins > 1 ? sum : 0.0;
    outcomes->freedom += bins > 1 ? bins - 1 : 0;
    outcomes->draws += draws;
}

/* Chance of as many rare outcomes as there were, or as few: a Poisson law has at least their tails.
 */
static double rare_chance(const check_outcomes *outcomes)
{
    double least = 1.0;
    for (int i = 0; i < CHECK_RARITIES; i++) {
        if (outcomes->rare_expected[i] > 0.0) {
            double log_expected = log(outcomes->rare_expected[i]);
            double seen = outcomes->rare_observed[i];
            double few = check_gamma_tail(seen + 1.0, log_expected);
            double many = seen > 0.0 ? check_gamma_cdf(seen, log_expected) : 1.0;
            least = fmin(least, 2.0 * fmin(few, many));
        } else if (outcomes->rare_observed[i] > 0.0) {
            least = 0.0;
        }
    }
    return least;
}

void check_outcomes_judge(const check_outcomes *outcomes, uint64_t seed, const char *format, ...)
{
    char name[200];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    double chance = outcomes->freedom > 0.0 ? check_gamma_tail(outcomes->freedom / 2.0,
                                                               log(outcomes->sum / 2.0 + 1e-300))
                                            : 1.0;
    double of_rare = rare_chance(outcomes);
    bool good = chance >= CHECK_CHANCE && of_rare >= CHECK_CHANCE;
    print_message("  %s: seed %llu, %lld draws, chi-square %.1f / %.0f, chance %.2g, of rare ones "
                  "%.2g\n",
                  name, (unsigned long long)seed, (long long)outcomes->draws, outcomes->sum,
                  outcomes->freedom, chance, of_rare);
    if (!good) {
        fail_msg("%s: chance %.2g", name, fmin(chance, of_rare));
    }
}
