/* test_numeric.c - sums, log-space arithmetic, special functions, and the distribution functions
 * the other tests judge by.  Reference values: reference.h (mpmath, 50 digits). */
#include <float.h>
#include <math.h>

#include "base/numeric.h"
#include "check.h"
#include "reference.h"

static void test_sums(void **state)
{
    (void)state;
    static double values[5000];
    for (size_t i = 0; i < 5000; i++) {
        values[i] = sin((double)i) * exp((double)(i % 37) - 18);
    }
    for (size_t count = 0; count < 5000; count += 331) {
        double partials[8] = {0};
        size_t blocks = 0;
        long double exact = 0;
        double magnitude = 0;
        for (size_t i = 0; i < count; i++) {
            exact += values[i];
            magnitude += fabs(values[i]);
        }
        for (size_t begin = 0; begin < count; begin += PHL_CHUNK_SIZE) {
            size_t left = count - begin;
            partials[blocks++] =
                phl_sum_chunk(values + begin, left < PHL_CHUNK_SIZE ? left : PHL_CHUNK_SIZE);
        }
        check_ulps(phl_sum(values, count), phl_sum_partials(partials, blocks), 0);
        assert_true(fabs(phl_sum(values, count) - (double)exact) <= 1e-13 * magnitude);
    }
    check_ulps(phl_sum(NULL, 0), 0, 0);
    /* the order of addition itself, on numbers for which every other order differs */
    const double mixed[7] = {1e16, 1, -1e16, 3, 1, 0.7, 1e-3};
    check_ulps(phl_sum_chunk(mixed, 7), ((1e16 + 1) + (1 + 0.7)) + ((-1e16 + 1e-3) + 3), 0);
}

static void test_log_space(void **state)
{
    (void)state;
    check_ulps(phl_log_add(-INFINITY, -INFINITY), -INFINITY, 0);
    check_ulps(phl_log_add(-INFINITY, 3), 3, 0);
    check_ulps(phl_log_add(3, -INFINITY), 3, 0);
    check_ulps(phl_log_add(INFINITY, 3), INFINITY, 0);
    check_close(phl_log_add(1000, 1000), 1000 + log(2), 1e-15);
    check_close(phl_log_add(-1000, -1001), -1000 + log1p(exp(-1)), 1e-15);
    check_close(phl_log_add(0, -40), exp(-40), 1e-15);

    const double values[4] = {-1e5, -1e5 + 1, -INFINITY, -1e5 - 2};
    check_close(phl_log_sum(values, 4), -1e5 + log(1 + exp(1) + exp(-2)), 1e-15);
    check_ulps(phl_log_sum(values, 0), -INFINITY, 0);
    check_ulps(phl_log_sum(values + 2, 1), -INFINITY, 0);
    check_ulps(phl_log_sum(values, 1), -1e5, 0);
    const double late[4] = {-INFINITY, -INFINITY, -900, -901}; /* the largest anywhere */
    check_close(phl_log_sum(late, 4), -900 + log1p(exp(-1)), 1e-15);
    check_close(phl_log_sum(late, 3), -900, 1e-15);
    const double infinite[2] = {INFINITY, 0};
    check_ulps(phl_log_sum(infinite, 2), INFINITY, 0);

    double normal[3] = {log(2), log(6), -INFINITY};
    check_close(phl_log_normalise(normal, 3), log(8), 1e-15);
    check_close(normal[0], log(0.25), 1e-15);
    check_close(normal[1], log(0.75), 1e-14);
    check_ulps(normal[2], -INFINITY, 0);
    double deep[2] = {-1e8, -1e8 - 0.5}; /* sparse Dirichlet draws look like this */
    (void)phl_log_normalise(deep, 2);
    check_close(deep[0], -log1p(exp(-0.5)), 1e-15);
    check_close(deep[1], -0.5 - log1p(exp(-0.5)), 1e-15);
    double many[150]; /* long enough for several at a time */
    double sum = 0;
    for (size_t i = 0; i < 150; i++) {
        many[i] = i % 7 == 3 ? -INFINITY : log((double)i + 0.5) - 700;
        sum += i % 7 == 3 ? 0 : (double)i + 0.5;
    }
    check_close(phl_log_sum(many, 150), log(sum) - 700, 1e-15);
    check_close(phl_log_sum(many, 64), log(64 * 32 - 9 * 31.5) - 700, 1e-15);
    check_close(phl_log_normalise(many, 150), log(sum) - 700, 1e-15);
    for (size_t i = 0; i < 150; i++) {
        double expected = i % 7 == 3 ? -INFINITY : log(((double)i + 0.5) / sum);
        assert_true(many[i] == expected || fabs(many[i] - expected) < 1e-12);
    }
    double nothing[2] = {-INFINITY, -INFINITY};
    check_ulps(phl_log_normalise(nothing, 2), -INFINITY, 0);
    check_ulps(nothing[0], -INFINITY, 0);

    check_close(phl_log_complement(-1e-20), log(1e-20), 1e-15);
    check_close(phl_log_complement(-50), -exp(-50), 1e-15);
    check_close(phl_log_complement(log(0.5)), log(0.5), 1e-15);
    check_ulps(phl_log_complement(0), -INFINITY, 0);
    check_ulps(phl_log_complement(-INFINITY), 0, 0);
    for (size_t i = 0; i < COUNT(reference_log1p_minus); i++) {
        const double *row = reference_log1p_minus[i];
        check_close(phl_log1p_minus(row[0]), row[1], 2e-15);
    }
}

static void test_gamma(void **state)
{
    (void)state;
    check_close(phl_log_gamma(0.5), 0.57236494292470008707, 1e-15);
    check_close(phl_log_gamma(1e-300), 690.77552789821370521, 1e-15);
    check_close(phl_log_gamma(101), 363.73937555556349014, 1e-15);
    check_ulps(phl_log_gamma(1), 0, 0);
    check_ulps(phl_log_gamma(0), INFINITY, 0);
    for (size_t i = 0; i < COUNT(reference_stirling_rest); i++) {
        const double *row = reference_stirling_rest[i];
        check_close(phl_stirling_rest(row[0]), row[1], 1e-14);
    }

    const double a[3] = {0.5, 2, 1e-9};
    check_close(phl_log_beta(a, 3), lgamma(0.5) + lgamma(2) + lgamma(1e-9) - lgamma(2.5 + 1e-9),
                1e-15);
    check_close(phl_log_beta(a, 1), 0, 0);
    /* Sequence 0 0 1 under Dir(0.5, 2, 1e-9), one factor at a time. */
    const int64_t n[3] = {2, 1, 0};
    double total = 2.5 + 1e-9;
    check_close(phl_log_beta_ratio(a, n, 3), log(0.5 / total * 1.5 / (total + 1) * 2 / (total + 2)),
                1e-15);
    const int64_t none[3] = {0, 0, 0};
    check_ulps(phl_log_beta_ratio(a, none, 3), 0, 0);
    const double zero[2] = {0, 1};
    const int64_t seen[2] = {1, 4};
    const int64_t unseen[2] = {0, 4};
    check_ulps(phl_log_beta_ratio(zero, seen, 2), -INFINITY, 0);
    check_ulps(phl_log_beta_ratio(zero, unseen, 2), 0, 0);
}

static void test_rising(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(reference_rising); i++) {
        const double *row = reference_rising[i];
        /* log a and the rest may cancel: the error is measured against the larger */
        double size = fmax(fabs(row[2]), row[1] > 1 ? fabs(log(row[0])) : 0);
        double error = fabs(phl_log_rising(row[0], (int64_t)row[1]) - row[2]);
        if (!(error <= 2e-15 * size)) {
            print_error("log (%g)_%g = %.17g, expected %.17g\n", row[0], row[1],
                        phl_log_rising(row[0], (int64_t)row[1]), row[2]);
            fail();
        }
        error = fabs(phl_log_rising_log(log(row[0]), (int64_t)row[1]) - row[2]);
        assert_true(error <= 1e-14 * size + 1e-15);
    }
    check_ulps(phl_log_rising(0.3, 0), 0, 0);
    check_ulps(phl_log_rising(0, 0), 0, 0);
    check_ulps(phl_log_rising(0, 5), -INFINITY, 0);
    check_ulps(phl_log_rising_log(-INFINITY, 5), -INFINITY, 0);
    check_ulps(phl_log_rising_log(-1e6, 1), -1e6, 0);
    check_close(phl_log_rising_log(-1e6, 5), -1e6 + log(24), 1e-15);
    /* both sides of the change of formula agree */
    check_close(phl_log_rising_log(-600, 7), phl_log_rising_log(nextafter(-600, 0), 7), 1e-15);
}

/* Against the formula, and against differences of log-gammas where these lose nothing. */
static void judge_rising_table(double a)
{
    phl_rising table;
    phl_rising_init(&table, a);
    assert_int_equal(phl_rising_reserve(&table, 20000, NULL), PHL_OK);
    double worst = 0;
    for (int64_t n = 0; n <= 20000; n++) {
        double value = phl_rising_get(&table, n);
        double formula = phl_log_rising(a, n);
        double size = fmax(1, fmax(fabs(formula), fabs(log(a))));
        worst = fmax(worst, fabs(value - formula) / size);
        if (a < 3) {
            long double exact = lgammal((long double)a + (long double)n) - lgammal(a);
            worst = fmax(worst, fabs((double)(value - exact)) / size);
        }
    }
    /* beyond a short table */
    phl_rising_reset(&table, a);
    assert_int_equal(phl_rising_reserve(&table, 1, NULL), PHL_OK);
    assert_true(table.count == PHL_RISING_BLOCK);
    for (int64_t n = PHL_RISING_BLOCK; n < (int64_t)1 << 62; n += 1 + n / 64) {
        double formula = phl_log_rising(a, n);
        double size = fmax(1, fmax(fabs(formula), fabs(log(a))));
        worst = fmax(worst, fabs(phl_rising_get(&table, n) - formula) / size);
    }
    phl_rising_clear(&table);
    print_message("log (%g)_n, table and beyond: off by %.2g\n", a, worst);
    assert_true(worst < 4e-15);
}

static void test_rising_table(void **state)
{
    (void)state;
    const double values[] = {1e-300, 1e-100, 1e-9, 0.01, 0.3, 1, 2.5, 40, 999, 1e7, 1e10};
    for (size_t i = 0; i < COUNT(values); i++) {
        judge_rising_table(values[i]);
    }
    phl_rising table;
    phl_rising_init(&table, 0.01);
    check_ulps(phl_rising_get(&table, 12), phl_log_rising(0.01, 12), 0);
    const int64_t steps[] = {10, 5, 63, 64, 127, 128, 255, 256, 300, 1000, 5000};
    for (size_t i = 0; i < COUNT(steps); i++) {
        size_t before = table.count;
        assert_int_equal(phl_rising_reserve(&table, steps[i], NULL), PHL_OK);
        assert_true(table.count > (size_t)steps[i] && table.count >= before);
    }
    /* filled bit by bit or in one go: the same bits */
    phl_rising whole;
    phl_rising_init(&whole, 0.01);
    assert_int_equal(phl_rising_reserve(&whole, 5000, NULL), PHL_OK);
    assert_true(whole.count == table.count);
    assert_memory_equal(whole.values, table.values, table.count * sizeof *table.values);
    check_close(phl_rising_get(&table, 7000), phl_log_rising(0.01, 7000), 4e-15);
    check_ulps(phl_rising_get(&table, 0), 0, 0);

    phl_rising_reset(&table, 3);
    assert_true(table.count == 0);
    assert_int_equal(phl_rising_reserve(&table, 4, NULL), PHL_OK);
    check_close(phl_rising_get(&table, 4), log(3 * 4 * 5 * 6), 1e-15);
    phl_rising_reset(&table, 0);
    assert_int_equal(phl_rising_reserve(&table, 600, NULL), PHL_OK);
    check_ulps(phl_rising_get(&table, 0), 0, 0);
    for (int64_t n = 1; n <= 600; n++) {
        check_ulps(phl_rising_get(&table, n), -INFINITY, 0);
    }
    check_ulps(phl_rising_get(&table, 7000), -INFINITY, 0);
    phl_rising_clear(&table);
    phl_rising_clear(&table);
    phl_rising_clear(&whole);
}

static void test_stirling(void **state)
{
    (void)state;
    phl_stirling table;
    assert_int_equal(phl_stirling_init(&table, 400, NULL), PHL_OK);
    for (size_t i = 0; i < COUNT(reference_stirling); i++) {
        const double *row = reference_stirling[i];
        double value = phl_stirling_get(&table, (size_t)row[0], (size_t)row[1]);
        check_close(value, row[2], 1e-14);
    }
    check_ulps(phl_stirling_get(&table, 0, 0), 0, 0);
    check_ulps(phl_stirling_get(&table, 7, 0), -INFINITY, 0);
    check_ulps(phl_stirling_get(&table, 7, 8), -INFINITY, 0);
    phl_stirling_clear(&table);
    assert_int_equal(phl_stirling_init(&table, 0, NULL), PHL_OK);
    check_ulps(phl_stirling_get(&table, 0, 0), 0, 0);
    phl_stirling_clear(&table);
    phl_error error;
    assert_int_equal(phl_stirling_init(&table, 1000000, &error), PHL_ERR_ARGUMENT);
    phl_stirling_clear(&table);
}

/* The yardstick of the sampler tests is itself checked. */
static void test_distribution_functions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(reference_gamma_cdf); i++) {
        const double *row = reference_gamma_cdf[i];
        check_close(check_gamma_cdf(row[0], row[1]), row[2], 1e-9);
        check_close(1 - check_gamma_tail(row[0], row[1]), row[2], 1e-9);
    }
    for (size_t i = 0; i < COUNT(reference_beta_cdf); i++) {
        const double *row = reference_beta_cdf[i];
        check_close(check_beta_cdf(row[0], row[1], row[2]), row[3], 1e-9);
    }
    check_close(check_normal_cdf(-4.8916384756985911), 5e-7, 1e-9); /* two-sided 1e-6 */
    check_close(check_gamma_tail(0.5, log(23.928126981 / 2)), 1e-6, 1e-8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_log_space),
        cmocka_unit_test(test_gamma),
        cmocka_unit_test(test_rising),
        cmocka_unit_test(test_rising_table),
        cmocka_unit_test(test_stirling),
        cmocka_unit_test(test_distribution_functions),
    };
    return cmocka_run_group_tests_name("numeric", tests, NULL, NULL) != 0;
}
