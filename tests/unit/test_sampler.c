/* test_sampler.c - categories, counts and partitions against their exact probabilities (gamma and
 * Dirichlet draws: test_dirichlet.c).
 *
 * A million draws each (fewer where said), 80 bins, a chi-square and a trend test with false-alarm
 * rate 1e-6 each (check.h states what they detect); some 160 such pairs, so a fresh seed would fail
 * somewhere with probability 3e-4.  The seed is fixed; it can be changed on the command line:
 * test_sampler SEED [PATTERN], PATTERN choosing tests by name (test_crt, test_*nomial). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/factorials.h"
#include "base/sampler.h"
#include "check.h"

#define DRAWS 1000000
#define HUGE_COUNT ((int64_t)1 << 62)

static uint64_t seed = 20260102;

/* ---- 2. Categorical ------------------------------------------------------------------------ */

static void judge_categorical(const char *name, const double *weights, size_t count)
{
    phl_rng rng = check_stream(seed, 77);
    static check_bins plain;
    static check_bins known;
    static check_bins logs;
    static double log_weights[200];
    double total = 0;
    check_bins_discrete(&plain, 0, weights, count, 400);
    check_bins_discrete(&known, 0, weights, count, 400);
    check_bins_discrete(&logs, 0, weights, count, 400);
    for (size_t i = 0; i < count; i++) {
        log_weights[i] = log(weights[i]) - 5000;
        total += weights[i];
    }
    for (int draw = 0; draw < DRAWS; draw++) {
        size_t outcome = phl_categorical_draw(&rng, weights, count);
        assert_true(outcome < count && weights[outcome] > 0);
        check_bins_add(&plain, (double)outcome);
        outcome = phl_categorical_draw_total(&rng, weights, count, total);
        assert_true(outcome < count && weights[outcome] > 0);
        check_bins_add(&known, (double)outcome);
        outcome = phl_categorical_draw_log(&rng, log_weights, count);
        assert_true(outcome < count && weights[outcome] > 0);
        check_bins_add(&logs, (double)outcome);
    }
    check_bins_judge(&plain, seed, "categorical, %s", name);
    check_bins_judge(&known, seed, "categorical, total known, %s", name);
    check_bins_judge(&logs, seed, "categorical from logs, %s", name);
}

static void test_categorical(void **state)
{
    (void)state;
    const double few[7] = {0, 0.1, 0, 0.5, 1e-3, 0.4, 0};
    double many[200];
    for (size_t i = 0; i < 200; i++) {
        many[i] = i % 3 == 0 ? 0 : 1 + (double)(i % 7);
    }
    judge_categorical("few", few, 7);
    judge_categorical("32", many, 32);
    judge_categorical("33", many, 33);
    judge_categorical("many", many, 200);

    /* A total that is too large, by rounding: the last outcome with a weight takes the rest. */
    phl_rng high;
    phl_rng_init(&high, 1, 1, 1, 1, 1);
    high.words[0] = UINT64_MAX;
    high.used = 0;
    assert_true(phl_categorical_draw_total(&high, few, 7, 1.002) == 5);
    high.used = 0;
    assert_true(phl_categorical_draw_total(&high, many, 33, 1e3) == 32);
    assert_true(phl_categorical_search(few, 7, 0) == 1);
    assert_true(phl_categorical_search(few, 7, 0.1) == 3);

    /* Of the smallest double, U * total rounds to 0 or to the total itself, half of the time each.
     */
    const double tiny[3] = {0, 4.9406564584124654e-324, 0};
    const double log_tiny[3] = {-INFINITY, -1e300, -INFINITY};
    const double nothing[2] = {0, 0};
    const double log_nothing[2] = {-INFINITY, -INFINITY};
    phl_rng rng = check_stream(seed, 77);
    for (int draw = 0; draw < 1000; draw++) {
        assert_true(phl_categorical_draw(&rng, tiny, 3) == 1);
        assert_true(phl_categorical_draw_total(&rng, tiny, 3, tiny[1]) == 1);
        assert_true(phl_categorical_draw_log(&rng, log_tiny, 3) == 1);
    }
    assert_true(phl_categorical_draw(&rng, nothing, 2) == PHL_NO_OUTCOME);
    assert_true(phl_categorical_draw_log(&rng, log_nothing, 2) == PHL_NO_OUTCOME);
    assert_true(phl_categorical_draw(&rng, nothing, 0) == PHL_NO_OUTCOME);
}

/* ---- 3. Counts ----------------------------------------------------------------------------- */

/* p(k+1) / p(k) */
typedef double (*ratio_fn)(double k, const double *parameters);

static double binomial_ratio(double k, const double *v)
{
    return (v[0] - k) / (k + 1) * (v[1] / (1 - v[1]));
}

static double poisson_ratio(double k, const double *v)
{
    return v[0] / (k + 1);
}

static double negative_binomial_ratio(double k, const double *v)
{
    return (v[0] + k) / (k + 1) * v[1];
}

static double hypergeometric_ratio(double k, const double *v)
{
    return (v[0] - k) / (k + 1) * ((v[2] - k) / (v[1] - v[2] + k + 1));
}

/* Bins of a unimodal law on lowest .. highest from the ratios of its probabilities, walking out
 * from near the mode until nothing is left.  Values are binned as their distance from `origin`. */
static void bins_from_ratios(check_bins *bins, ratio_fn ratio, const double *parameters,
                             double mean, double lowest, double highest, double *origin)
{
    enum { ROOM = 6000000 };
    static double mass[ROOM];
    double start = fmin(fmax(floor(mean), lowest), highest);
    size_t middle = ROOM / 2;
    size_t first = middle;
    size_t last = middle;
    mass[middle] = 1;
    double most = 1;
    for (double k = start; k < highest; k++) {
        double next = mass[last] * ratio(k, parameters);
        if (next < 1e-30 * most && next < mass[last]) {
            break;
        }
        assert_true(last + 1 < ROOM);
        mass[++last] = next;
        most = fmax(most, next);
    }
    for (double k = start; k > lowest; k--) {
        double next = mass[first] / ratio(k - 1, parameters);
        if (next < 1e-30 * most && next < mass[first]) {
            break;
        }
        assert_true(first > 0);
        mass[--first] = next;
        most = fmax(most, next);
    }
    *origin = start;
    check_bins_discrete(bins, -(double)(middle - first), mass + first, last - first + 1, 80);
}

/* Bins of (count - mean) / sd of a law so wide that it is normal but for its skewness (Edgeworth).
 */
static double wide_cdf(double x, const double *skewness)
{
    double density = exp(-x * x / 2) / sqrt(6.28318530717958647693);
    return check_normal_cdf(x) - skewness[0] / 6 * (x * x - 1) * density;
}

static void judge_binomial(int64_t n, double p)
{
    phl_rng rng = check_stream(seed, 77);
    static check_bins bins;
    double v[2] = {(double)n, p};
    double origin;
    bins_from_ratios(&bins, binomial_ratio, v, v[0] * p, 0, v[0], &origin);
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t k = phl_binomial_draw(&rng, n, p);
        assert_true(k >= 0 && k <= n);
        check_bins_add(&bins, (double)(k - (int64_t)origin));
    }
    check_bins_judge(&bins, seed, "binomial %lld %g", (long long)n, p);
}

/* n beyond any table; `whole` + `part` = n p.  The last bits of the result must be random too. */
static void judge_binomial_wide(int64_t n, double p, int64_t whole, double part)
{
    phl_rng rng = check_stream(seed, 77);
    static check_bins bins;
    static check_bins low_bits;
    double sd = sqrt((double)n * p * (1 - p));
    double skewness = (1 - 2 * p) / sd;
    const double flat[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    check_bins_continuous(&bins, wide_cdf, &skewness, -10, 10);
    check_bins_discrete(&low_bits, 0, flat, 16, 80);
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t k = phl_binomial_draw(&rng, n, p);
        check_bins_add(&bins, ((double)(k - whole) + 0.5 - part) / sd);
        check_bins_add(&low_bits, (double)(k & 15));
    }
    check_bins_judge(&bins, seed, "binomial %lld %g", (long long)n, p);
    check_bins_judge(&low_bits, seed, "binomial %lld %g, last 4 bits", (long long)n, p);
}

static void test_binomial(void **state)
{
    (void)state;
    judge_binomial(1, 0.3);
    judge_binomial(2, 0.5);
    judge_binomial(4, 0.9);
    judge_binomial(5, 0.09);
    judge_binomial(5, 0.1);
    judge_binomial(5, 0.5);
    judge_binomial(7, 0.9);
    judge_binomial(20, 0.5);
    judge_binomial(40, 1e-3);
    judge_binomial(PHL_FACTORIALS, 0.0029);
    judge_binomial(PHL_FACTORIALS, 0.003);
    judge_binomial(PHL_FACTORIALS, 0.1);
    judge_binomial(PHL_FACTORIALS, 0.5);
    judge_binomial(PHL_FACTORIALS, 0.997);
    judge_binomial(PHL_FACTORIALS + 1, 0.01);
    judge_binomial(PHL_FACTORIALS + 1, 0.1);
    judge_binomial(PHL_FACTORIALS + 1, 0.5);
    judge_binomial(9, 0.2);
    judge_binomial(25, 0.4);
    judge_binomial(25, 0.6);
    judge_binomial(21, 0.5);
    judge_binomial(33, 0.33);
    judge_binomial(100, 0.05);
    judge_binomial(100, 0.1);
    judge_binomial(100, 0.5);
    judge_binomial(1000, 0.0099);
    judge_binomial(1000, 0.999);
    judge_binomial(1000000, 1.001e-5);
    judge_binomial(1000000, 0.3);
    judge_binomial(1000000000, 1e-8);
    judge_binomial(1000000000, 0.37);
    judge_binomial(1000000000000, 1e-14);
    judge_binomial(1000000000000, 3e-12);
    judge_binomial(1000000000000, 2e-9);
    judge_binomial(HUGE_COUNT, 1e-19);
    judge_binomial(HUGE_COUNT, 0x1p-58);
    judge_binomial(HUGE_COUNT, 1e-10);
    judge_binomial_wide(HUGE_COUNT, 0.5, HUGE_COUNT / 2, 0);
    judge_binomial_wide(HUGE_COUNT - 3, 0.75, 3 * (HUGE_COUNT / 4) - 2, -0.25);
    judge_binomial_wide(HUGE_COUNT, 0x1p-20, (int64_t)1 << 42, 0);
    judge_binomial_wide(((int64_t)1 << 53) + 3, 0.25, (int64_t)1 << 51, 0.75);
    phl_rng rng = check_stream(seed, 77);
    assert_true(phl_binomial_draw(&rng, 0, 0.5) == 0);
    assert_true(phl_binomial_draw(&rng, HUGE_COUNT, 0) == 0);
    assert_true(phl_binomial_draw(&rng, HUGE_COUNT, 1) == HUGE_COUNT);
    assert_true(phl_binomial_draw(&rng, HUGE_COUNT, 5e-324) == 0);
}

static void test_factorials(void **state)
{
    (void)state;
    double product = 1; /* exact up to 22!, later within rounding */
    for (int n = 0; n <= PHL_FACTORIALS; n++) {
        product *= n > 0 ? n : 1;
        check_close(phl_factorial[n], product, n <= 22 ? 0 : 1e-14);
    }
    assert_true(isinf(product * (PHL_FACTORIALS + 1)));
}

static void test_poisson(void **state)
{
    (void)state;
    const double means[] = {0.1, 1, 5, 9.99, 10, 10.5, 25, 1e3, 1e6, 1e9};
    for (size_t i = 0; i < COUNT(means); i++) {
        phl_rng rng = check_stream(seed, 77);
        static check_bins bins;
        double origin;
        bins_from_ratios(&bins, poisson_ratio, &means[i], means[i], 0, 1e18, &origin);
        for (int draw = 0; draw < DRAWS; draw++) {
            check_bins_add(&bins, (double)(phl_poisson_draw(&rng, means[i]) - (int64_t)origin));
        }
        check_bins_judge(&bins, seed, "Poisson %g", means[i]);
    }
    phl_rng rng = check_stream(seed, 77);
    static check_bins bins;
    double skewness = 1e-9;
    check_bins_continuous(&bins, wide_cdf, &skewness, -10, 10);
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t k = phl_poisson_draw(&rng, 1e18);
        check_bins_add(&bins, (double)(k - 1000000000000000000) / 1e9);
    }
    check_bins_judge(&bins, seed, "Poisson 1e18");
    assert_true(phl_poisson_draw(&rng, 0) == 0);
    assert_true(phl_poisson_draw(&rng, 1e300) == HUGE_COUNT);
    assert_true(phl_poisson_draw(&rng, INFINITY) == HUGE_COUNT);
}

static void test_negative_binomial(void **state)
{
    (void)state;
    const double cases[][2] = {{1, 0.5},    {5, 0.01},  {3, 0.99},  {100, 0.9},
                               {1e6, 1e-7}, {1e6, 0.5}, {1e9, 1e-3}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        phl_rng rng = check_stream(seed, 77);
        static check_bins bins;
        double origin;
        const double *v = cases[i];
        bins_from_ratios(&bins, negative_binomial_ratio, v, v[0] * v[1] / (1 - v[1]), 0, 1e18,
                         &origin);
        for (int draw = 0; draw < DRAWS; draw++) {
            int64_t k = phl_negative_binomial_draw(&rng, (int64_t)v[0], log(v[1]));
            check_bins_add(&bins, (double)(k - (int64_t)origin));
        }
        check_bins_judge(&bins, seed, "negative binomial %g %g", v[0], v[1]);
    }
    phl_rng rng = check_stream(seed, 77);
    assert_true(phl_negative_binomial_draw(&rng, 0, log(0.5)) == 0);
    assert_true(phl_negative_binomial_draw(&rng, 100, -INFINITY) == 0);
}

/* log n! */
static double log_factorial(int64_t n)
{
    return lgamma((double)n + 1);
}

/* All of the joint law of three counts that add up to n, as cells c0 * (n+1) + c1. */
static void judge_multinomial_joint(int64_t n, const double *w)
{
    static double mass[1000];
    static check_bins bins;
    double total = w[0] + w[1] + w[2];
    size_t side = (size_t)n + 1;
    memset(mass, 0, sizeof mass);
    for (int64_t a = 0; a <= n; a++) {
        for (int64_t b = 0; a + b <= n; b++) {
            int64_t c = n - a - b;
            mass[(size_t)a * side + (size_t)b] =
                exp(log_factorial(n) - log_factorial(a) - log_factorial(b) - log_factorial(c)) *
                pow(w[0] / total, (double)a) * pow(w[1] / total, (double)b) *
                pow(w[2] / total, (double)c);
        }
    }
    phl_rng rng = check_stream(seed, 77);
    check_bins_discrete(&bins, 0, mass, side * side, 400);
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t counts[3];
        phl_multinomial_draw(&rng, n, w, 3, counts);
        assert_true(counts[0] + counts[1] + counts[2] == n);
        for (int i = 0; i < 3; i++) {
            assert_true(counts[i] >= 0 && (w[i] > 0 || counts[i] == 0));
        }
        check_bins_add(&bins, (double)(counts[0] * (n + 1) + counts[1]));
    }
    check_bins_judge(&bins, seed, "multinomial %lld over %g %g %g, joint", (long long)n, w[0], w[1],
                     w[2]);
}

/* Of many outcomes: one count, and the sum of three, are binomial.  With first > 0 outcomes 0
 * and 17 have shares `first` and `other` of all. */
static void judge_multinomial_tops(size_t outcomes, int64_t n, double first, double other,
                                   int draws)
{
    enum { MOST = 40 };
    double w[MOST];
    double total = 0;
    for (size_t i = 0; i < outcomes; i++) {
        w[i] = i % 5 == 4 ? 0 : 1e-3 * (double)(i + 1);
        total += w[i];
    }
    if (first > 0) {
        double rest = total - w[0] - w[17];
        w[0] = first / (1 - first - other) * rest;
        w[17] = other / (1 - first - other) * rest;
        total = rest + w[0] + w[17];
    }
    double v[2][2] = {{(double)n, w[17] / total}, {(double)n, (w[0] + w[8] + w[18]) / total}};
    static check_bins bins[2];
    double origin[2];
    for (int i = 0; i < 2; i++) {
        bins_from_ratios(&bins[i], binomial_ratio, v[i], v[i][0] * v[i][1], 0, v[i][0], &origin[i]);
    }
    phl_rng rng = check_stream(seed, 77);
    for (int draw = 0; draw < draws; draw++) {
        int64_t counts[MOST];
        phl_multinomial_draw(&rng, n, w, outcomes, counts);
        int64_t sum = 0;
        for (size_t i = 0; i < outcomes; i++) {
            assert_true(counts[i] >= 0 && (w[i] > 0 || counts[i] == 0));
            sum += counts[i];
        }
        assert_true(sum == n);
        check_bins_add(&bins[0], (double)(counts[17] - (int64_t)origin[0]));
        check_bins_add(&bins[1], (double)(counts[0] + counts[8] + counts[18] - (int64_t)origin[1]));
    }
    check_bins_judge(&bins[0], seed, "multinomial %lld over %zu %g %g, one", (long long)n, outcomes,
                     first, other);
    check_bins_judge(&bins[1], seed, "multinomial %lld over %zu %g %g, sum of three", (long long)n,
                     outcomes, first, other);
}

static void judge_multinomial_margins(size_t outcomes, int64_t n, int draws)
{
    judge_multinomial_tops(outcomes, n, 0, 0, draws);
}

static void test_multinomial(void **state)
{
    (void)state;
    const double w[3] = {0.2, 1, 0.5};
    const double gap[3] = {3, 0, 1};
    const double flat[3] = {1, 1, 1};
    judge_multinomial_joint(1, w);
    judge_multinomial_joint(3, w);
    judge_multinomial_joint(4, gap);
    judge_multinomial_joint(5, w);
    judge_multinomial_joint(20, w);
    judge_multinomial_joint(20, gap);
    judge_multinomial_joint(24, w);
    judge_multinomial_joint(25, w);
    judge_multinomial_joint(25, flat);
    judge_multinomial_joint(30, gap);
    const int64_t around[] = {64, 65, 128, 129, 1000, 10000000000};
    for (size_t i = 0; i < COUNT(around); i++) {
        judge_multinomial_tops(20, around[i], 0.7, 0.1, DRAWS / 4);
        judge_multinomial_tops(20, around[i], 0.01, 0.9899, DRAWS / 4);
        judge_multinomial_tops(40, around[i], 0.3, 0.3, DRAWS / 4);
        judge_multinomial_margins(40, around[i], DRAWS / 4);
    }
    judge_multinomial_margins(20, 10, DRAWS);
    judge_multinomial_margins(20, 60, DRAWS / 2);
    judge_multinomial_margins(20, 80, DRAWS / 2);
    judge_multinomial_margins(20, 1000, DRAWS / 2);
    judge_multinomial_margins(20, 1000000000, DRAWS / 4);
    judge_multinomial_margins(32, 20, DRAWS / 2);
    judge_multinomial_margins(33, 20, DRAWS / 2);
    judge_multinomial_margins(40, 1000, DRAWS / 4);
    phl_rng rng = check_stream(seed, 77);
    const double nothing[2] = {0, 0};
    int64_t counts[2] = {-1, -1};
    phl_multinomial_draw(&rng, 100, nothing, 2, counts);
    assert_true(counts[0] == 0 && counts[1] == 0);
    counts[0] = -1;
    phl_multinomial_draw(&rng, 3, nothing, 2, counts);
    assert_true(counts[0] == 0 && counts[1] == 0);
    counts[0] = counts[1] = -1;
    phl_multinomial_draw(&rng, 0, w, 2, counts);
    assert_true(counts[0] == 0 && counts[1] == 0);
    phl_multinomial_draw(&rng, 5, w, 0, counts);
    const double small[3] = {0, 4.9406564584124654e-324, 0};
    int64_t all[3];
    const int64_t draws[] = {3, 100, HUGE_COUNT};
    for (size_t i = 0; i < COUNT(draws); i++) {
        phl_multinomial_draw(&rng, draws[i], small, 3, all);
        assert_true(all[0] == 0 && all[1] == draws[i] && all[2] == 0);
    }
    double many[40] = {0};
    int64_t of_many[40];
    many[20] = small[1];
    phl_multinomial_draw(&rng, 50, many, 40, of_many);
    assert_true(of_many[20] == 50);
}

static void judge_hypergeometric(int64_t good, int64_t bad, int64_t sample)
{
    phl_rng rng = check_stream(seed, 77);
    static check_bins bins;
    double v[3] = {(double)good, (double)bad, (double)sample};
    double origin;
    int64_t lowest = sample > bad ? sample - bad : 0;
    int64_t highest = sample < good ? sample : good;
    bins_from_ratios(&bins, hypergeometric_ratio, v, v[2] * (v[0] / (v[0] + v[1])), (double)lowest,
                     (double)highest, &origin);
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t k = phl_hypergeometric_draw(&rng, good, bad, sample);
        assert_true(k >= lowest && k <= highest);
        check_bins_add(&bins, (double)(k - (int64_t)origin));
    }
    check_bins_judge(&bins, seed, "hypergeometric %lld %lld %lld", (long long)good, (long long)bad,
                     (long long)sample);
}

static void test_hypergeometric(void **state)
{
    (void)state;
    judge_hypergeometric(5, 5, 5);
    judge_hypergeometric(1, 9, 3);
    judge_hypergeometric(9, 1, 3);
    judge_hypergeometric(30, 20, 45);
    judge_hypergeometric(13, 13, 13);
    judge_hypergeometric(13, 26, 20);
    judge_hypergeometric(50, 60, 40);
    judge_hypergeometric(60, 50, 90);
    judge_hypergeometric(80, 43, 41);
    judge_hypergeometric(43, 90, 70);
    judge_hypergeometric(40, 24, 30); /* one by one, and by search */
    judge_hypergeometric(40, 25, 30);
    judge_hypergeometric(25, 25, 25);
    judge_hypergeometric(25, 100000, 100);
    judge_hypergeometric(30, 4000000000, 400000000);
    judge_hypergeometric(1, UINT32_MAX - 1, 2000000000);
    judge_hypergeometric(20, UINT32_MAX - 20, 2000000000);
    judge_hypergeometric(20, UINT32_MAX - 19, 2000000000);
    judge_hypergeometric(1, UINT32_MAX, 2000000000);
    judge_hypergeometric(PHL_FACTORIALS, 1000, 300);
    judge_hypergeometric(PHL_FACTORIALS + 1, 1000, 300);
    judge_hypergeometric(PHL_FACTORIALS, PHL_FACTORIALS, PHL_FACTORIALS);
    judge_hypergeometric(PHL_FACTORIALS, HUGE_COUNT / 2, HUGE_COUNT / 4);
    judge_hypergeometric(1000000000000, PHL_FACTORIALS, 990000000000);
    judge_hypergeometric(1000, 1000, 1000);
    judge_hypergeometric(14, 1000000, 500000);
    judge_hypergeometric(1000, 1000000000, 1000000);
    judge_hypergeometric(1000000, 1000000, 1000000);
    judge_hypergeometric(1000000000, 300000000, 800000000);
    judge_hypergeometric(HUGE_COUNT / 2, HUGE_COUNT / 2, (int64_t)1 << 34);
    judge_hypergeometric(HUGE_COUNT / 2, HUGE_COUNT / 2, 12);
    judge_hypergeometric((int64_t)1 << 34, HUGE_COUNT / 2, (int64_t)1 << 30);

    /* As wide as can be: N = 2^62, half good, half taken. */
    phl_rng rng = check_stream(seed, 77);
    static check_bins bins;
    static check_bins low_bits;
    double skewness = 0;
    const double flat[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    check_bins_continuous(&bins, wide_cdf, &skewness, -10, 10);
    check_bins_discrete(&low_bits, 0, flat, 16, 80);
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t k = phl_hypergeometric_draw(&rng, HUGE_COUNT / 2, HUGE_COUNT / 2, HUGE_COUNT / 2);
        check_bins_add(&bins, ((double)(k - HUGE_COUNT / 4) + 0.5) / 0x1p29);
        check_bins_add(&low_bits, (double)(k & 15));
    }
    check_bins_judge(&bins, seed, "hypergeometric 2^61 2^61 2^61");
    check_bins_judge(&low_bits, seed, "hypergeometric 2^61 2^61 2^61, last 4 bits");

    assert_true(phl_hypergeometric_draw(&rng, 0, 10, 5) == 0);
    assert_true(phl_hypergeometric_draw(&rng, 10, 0, 5) == 5);
    assert_true(phl_hypergeometric_draw(&rng, 10, 20, 0) == 0);
    assert_true(phl_hypergeometric_draw(&rng, 10, 20, 30) == 10);
    assert_true(phl_hypergeometric_draw(&rng, 0, 0, 0) == 0);
}

static void test_multivariate_hypergeometric(void **state)
{
    (void)state;
    const int64_t colours[4] = {4, 0, 7, 9};
    const int64_t n = 8;
    static double mass[100];
    static check_bins bins;
    for (int64_t a = 0; a <= 4; a++) {
        for (int64_t b = 0; b <= 7; b++) {
            int64_t c = n - a - b;
            if (c >= 0 && c <= 9) {
                mass[a * 9 + b] =
                    exp(-log_factorial(a) - log_factorial(4 - a) - log_factorial(b) -
                        log_factorial(7 - b) - log_factorial(c) - log_factorial(9 - c));
            }
        }
    }
    phl_rng rng = check_stream(seed, 77);
    check_bins_discrete(&bins, 0, mass, 100, 400);
    for (int draw = 0; draw < DRAWS; draw++) {
        int64_t taken[4];
        phl_multivariate_hypergeometric_draw(&rng, colours, 4, n, taken);
        assert_true(taken[0] + taken[2] + taken[3] == n && taken[1] == 0);
        check_bins_add(&bins, (double)(taken[0] * 9 + taken[2]));
    }
    check_bins_judge(&bins, seed, "multivariate hypergeometric, joint");

    /* Large: one colour and the sum of two are hypergeometric. */
    const int64_t large[5] = {100000, 5000, 0, 300000, 77};
    static check_bins one;
    static check_bins two;
    double v[2][3] = {{5000, 400077, 200000}, {100077, 305000, 200000}};
    double origin[2];
    bins_from_ratios(&one, hypergeometric_ratio, v[0], 2468, 0, 5000, &origin[0]);
    bins_from_ratios(&two, hypergeometric_ratio, v[1], 49412, 0, 100077, &origin[1]);
    for (int draw = 0; draw < DRAWS / 2; draw++) {
        int64_t taken[5];
        phl_multivariate_hypergeometric_draw(&rng, large, 5, 200000, taken);
        check_bins_add(&one, (double)taken[1] - origin[0]);
        check_bins_add(&two, (double)(taken[0] + taken[4]) - origin[1]);
    }
    check_bins_judge(&one, seed, "multivariate hypergeometric, one");
    check_bins_judge(&two, seed, "multivariate hypergeometric, sum of two");
}

/* ---- 4. Table counts ----------------------------------------------------------------------- */

/* The exact law by adding one customer at a time; entries below 1e-30 at both ends are dropped. */
static void judge_crt(int64_t n, double a, int draws)
{
    enum { ROOM = 200000 };
    static double mass[ROOM];
    static check_bins bins;
    memset(mass, 0, sizeof mass);
    size_t first = 1;
    size_t last = 1;
    mass[1] = 1;
    for (int64_t i = 1; i < n; i++) {
        double p = a / (a + (double)i);
        double q = (double)i / (a + (double)i);
        assert_true(last + 1 < ROOM);
        for (size_t k = last + 1; k > first; k--) {
            mass[k] = mass[k] * q + mass[k - 1] * p;
        }
        mass[first] *= q;
        last++;
        while (mass[last] < 1e-30) {
            mass[last--] = 0;
        }
        while (mass[first] < 1e-30) {
            mass[first++] = 0;
        }
    }
    phl_rng rng = check_stream(seed, 77);
    check_bins_discrete(&bins, (double)first, mass + first, last - first + 1, 80);
    for (int draw = 0; draw < draws; draw++) {
        int64_t tables =
            draw % 2 == 0 ? phl_crt_draw(&rng, n, a) : phl_crt_draw_log(&rng, n, log(a));
        assert_true(tables >= 1 && tables <= n);
        check_bins_add(&bins, (double)tables);
    }
    check_bins_judge(&bins, seed, "tables of %lld customers, %g", (long long)n, a);
}

static void test_crt(void **state)
{
    (void)state;
    judge_crt(1, 0.5, 1000);
    judge_crt(2, 1, DRAWS);
    judge_crt(2, 0.4, DRAWS);
    judge_crt(3, 0.9, DRAWS);
    judge_crt(3, 1, DRAWS);
    judge_crt(4, 0.2, DRAWS);
    judge_crt(5, nextafter(1, 2), DRAWS);
    judge_crt(10, 1, DRAWS);
    judge_crt(10, 0.5, DRAWS);
    judge_crt(24, 2, DRAWS);
    judge_crt(25, 2, DRAWS);
    judge_crt(26, 0.3, DRAWS);
    judge_crt(40, 10, DRAWS);
    judge_crt(100, 1e-8, DRAWS);
    judge_crt(100, 0.02, DRAWS);
    judge_crt(100, 1000, DRAWS);
    judge_crt(100, 1e6, DRAWS);
    judge_crt(1000, 0.01, DRAWS);
    judge_crt(1000, 0.3, DRAWS);
    judge_crt(1000, 1, DRAWS);
    judge_crt(1000, 1.001, DRAWS);
    judge_crt(1000, 30, DRAWS / 2);
    judge_crt(1000, 1000, DRAWS / 2);
    judge_crt(1000, 1e5, DRAWS / 2);
    judge_crt(100000, 3, DRAWS / 4);
    judge_crt(20000, 0.02, DRAWS / 2);
    judge_crt(30000, 3000, DRAWS / 20);
    judge_crt(1000000, 1e-3, DRAWS);
    judge_crt(1000000, 1, DRAWS / 2);
    phl_rng rng = check_stream(seed, 77);
    assert_true(phl_crt_draw(&rng, 0, 1) == 0);
    assert_true(phl_crt_draw_log(&rng, 0, -1e9) == 0);
    assert_true(phl_crt_draw_log(&rng, HUGE_COUNT, -1e9) == 1);
    assert_true(phl_crt_draw_log(&rng, HUGE_COUNT, 1e9) == HUGE_COUNT);
    assert_true(phl_crt_draw(&rng, HUGE_COUNT, 1e-300) == 1);

    /* n = 2^62, a = 1: mean log n + 0.5772, variance mean - pi^2/6, as of the number of cycles. */
    double sum = 0;
    const int draws = 100000;
    for (int draw = 0; draw < draws; draw++) {
        sum += (double)phl_crt_draw(&rng, HUGE_COUNT, 1);
    }
    double mean = 62 * log(2) + 0.57721566490153286;
    double z = (sum / draws - mean) / sqrt((mean - 1.6449340668482264) / draws);
    print_message("tables of 2^62 customers, 1: seed %llu, mean z = %.2f\n",
                  (unsigned long long)seed, z);
    assert_true(fabs(z) < 4.9); /* 1e-6; detects a shift of 0.3 % of the mean */
}

/* ---- 5. Partitions and permutations -------------------------------------------------------- */

static void check_partition(const uint32_t *blocks, size_t n, size_t k)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(blocks[i] <= seen);
        seen += blocks[i] == seen;
    }
    assert_true(seen == k);
}

/* Every partition of a small set is met equally often; partitions are told apart by their code in
 * base k, and listed by counting through all codes. */
static void judge_partition(const phl_stirling *table, size_t n, size_t k)
{
    static int cell[100000];
    static double mass[CHECK_BINS];
    static check_bins bins;
    size_t codes = 1;
    for (size_t i = 0; i < n; i++) {
        codes *= k;
    }
    assert_true(codes <= COUNT(cell));
    size_t partitions = 0;
    for (size_t code = 0; code < codes; code++) {
        uint32_t seen = 0;
        bool ordered = true;
        size_t rest = code;
        for (size_t i = 0; i < n && ordered; i++, rest /= k) {
            ordered = rest % k <= seen;
            seen += rest % k == seen;
        }
        cell[code] = ordered && seen == k ? (int)partitions++ : -1;
    }
    assert_true(partitions <= CHECK_BINS);
    check_close(log((double)partitions), phl_stirling_get(table, n, k), 1e-14);
    for (size_t i = 0; i < partitions; i++) {
        mass[i] = 1;
    }
    check_bins_discrete(&bins, 0, mass, partitions, CHECK_BINS);
    phl_rng rng = check_stream(seed, 77);
    for (int draw = 0; draw < DRAWS; draw++) {
        uint32_t blocks[16];
        phl_partition_draw(&rng, table, n, k, blocks);
        check_partition(blocks, n, k);
        size_t code = 0;
        for (size_t i = n; i-- > 0;) {
            code = code * k + blocks[i];
        }
        check_bins_add(&bins, cell[code]);
    }
    check_bins_judge(&bins, seed, "partition of %zu into %zu", n, k);
}

static void test_partition(void **state)
{
    (void)state;
    phl_stirling table;
    assert_int_equal(phl_stirling_init(&table, 300, NULL), PHL_OK);
    judge_partition(&table, 1, 1);
    judge_partition(&table, 3, 2);
    judge_partition(&table, 5, 3);
    judge_partition(&table, 6, 1);
    judge_partition(&table, 6, 6);
    judge_partition(&table, 6, 2);
    judge_partition(&table, 7, 4);
    /* Large: two given items share a block with probability S(n-1,k) / S(n,k). */
    const size_t pairs[][2] = {{0, 1}, {0, 299}, {150, 298}};
    const double mass[2] = {
        -expm1(phl_stirling_get(&table, 299, 40) - phl_stirling_get(&table, 300, 40)),
        exp(phl_stirling_get(&table, 299, 40) - phl_stirling_get(&table, 300, 40))};
    check_bins bins[3];
    for (size_t i = 0; i < 3; i++) {
        check_bins_discrete(&bins[i], 0, mass, 2, 80);
    }
    phl_rng rng = check_stream(seed, 77);
    for (int draw = 0; draw < DRAWS / 20; draw++) {
        uint32_t blocks[300];
        phl_partition_draw(&rng, &table, 300, 40, blocks);
        check_partition(blocks, 300, 40);
        for (size_t i = 0; i < 3; i++) {
            check_bins_add(&bins[i], blocks[pairs[i][0]] == blocks[pairs[i][1]]);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        check_bins_judge(&bins[i], seed, "partition of 300 into 40, pair %zu", i);
    }
    phl_stirling_clear(&table);
}

static void test_shuffle(void **state)
{
    (void)state;
    double mass[24];
    for (size_t i = 0; i < 24; i++) {
        mass[i] = 1;
    }
    check_bins bins;
    check_bins_discrete(&bins, 0, mass, 24, 80);
    phl_rng rng = check_stream(seed, 77);
    for (int draw = 0; draw < DRAWS; draw++) {
        uint32_t items[4] = {0, 1, 2, 3};
        phl_shuffle(&rng, 4, items);
        uint32_t rank = 0; /* Lehmer code */
        uint32_t met = 0;
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t smaller = 0;
            for (uint32_t j = i + 1; j < 4; j++) {
                smaller += items[j] < items[i];
            }
            rank = rank * (4 - i) + smaller;
            met |= 1u << items[i];
        }
        assert_true(met == 15);
        check_bins_add(&bins, rank);
    }
    check_bins_judge(&bins, seed, "shuffle of 4");
    phl_shuffle(&rng, 0, NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        seed = strtoull(argv[1], NULL, 10);
    }
    if (argc > 2) {
        cmocka_set_test_filter(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_categorical),
        cmocka_unit_test(test_binomial),
        cmocka_unit_test(test_factorials),
        cmocka_unit_test(test_poisson),
        cmocka_unit_test(test_negative_binomial),
        cmocka_unit_test(test_multinomial),
        cmocka_unit_test(test_hypergeometric),
        cmocka_unit_test(test_multivariate_hypergeometric),
        cmocka_unit_test(test_crt),
        cmocka_unit_test(test_partition),
        cmocka_unit_test(test_shuffle),
    };
    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL) != 0;
}
