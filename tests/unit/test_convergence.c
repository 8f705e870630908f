/* test_convergence.c - R-hat, ESS and MCSE against the R package `posterior`, on stored chains
 * (tests/oracle/posterior_reference.R), and the transform they rest on.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/fourier.h"
#include "base/memory.h"
#include "check.h"
#include "train/convergence.h"

#define REFERENCE TEST_SOURCE "/tests/oracle/posterior_reference.json"

static int load_reference(void **state)
{
    json_error_t fault;
    *state = json_load_file(REFERENCE, 0, &fault);
    if (*state == NULL) {
        print_error("%s: %s\n", REFERENCE, fault.text);
    }
    return *state == NULL;
}

static int free_reference(void **state)
{
    json_decref(*state);
    return 0;
}

/* `null` is NaN, "inf" is infinity, other numbers agree to 1e-8. */
static void check_field(const json_t *expected, const char *key, double actual)
{
    const json_t *value = json_object_get(expected, key);
    const char *name = json_string_value(json_object_get(expected, "name"));
    double wanted = json_number_value(value);
    assert_non_null(value);
    bool same = json_is_null(value)     ? isnan(actual)
                : json_is_string(value) ? isinf(actual) && actual > 0
                                        : fabs(actual - wanted) <= 1e-8 * fabs(wanted);
    if (!same) {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        fail_msg("%s: %s is %.17g, posterior says %s", name, key, actual, text);
    }
}

static void test_posterior(void **state)
{
    const json_t *cases = json_object_get(*state, "cases"), *one;
    double scale = json_number_value(json_object_get(*state, "scale"));
    size_t index;
    assert_true(json_array_size(cases) >= 20);
    json_array_foreach(cases, index, one)
    {
        const json_t *rows = json_object_get(one, "draws");
        size_t chains = json_array_size(rows), n = json_array_size(json_array_get(rows, 0));
        double *draws = phl_alloc(chains * n, sizeof *draws, NULL);
        for (size_t c = 0; c < chains; c++) {
            for (size_t i = 0; i < n; i++) {
                draws[c * n + i] =
                    json_number_value(json_array_get(json_array_get(rows, c), i)) / scale;
            }
        }
        phl_convergence found;
        assert_int_equal(phl_convergence_measure(draws, chains, n, &found, NULL), PHL_OK);
        phl_free(draws);
        check_field(one, "mean", found.mean);
        check_field(one, "sd", found.sd);
        check_field(one, "rhat", found.rhat);
        check_field(one, "ess_bulk", found.ess_bulk);
        check_field(one, "ess_tail", found.ess_tail);
        check_field(one, "ess_mean", found.ess_mean);
        check_field(one, "mcse_mean", found.mcse_mean);
        const char *name = json_string_value(json_object_get(one, "name"));
        assert_true(found.finite);
        assert_int_equal(found.constant, strcmp(name, "constant") == 0);
        assert_int_equal(found.stuck, strcmp(name, "constant_apart") == 0);
    }
}

static void test_normal_quantile(void **state)
{
    const json_t *pairs = json_object_get(*state, "normal_quantile"), *pair;
    size_t index;
    assert_true(json_array_size(pairs) >= 20);
    json_array_foreach(pairs, index, pair)
    {
        double p = json_number_value(json_array_get(pair, 0));
        check_close(phl_convergence_normal_quantile(p), json_number_value(json_array_get(pair, 1)),
                    4e-16);
    }
    for (double p = 1e-9; p < 1.0; p = p * 1.01 + 1e-5) {
        check_close(check_normal_cdf(phl_convergence_normal_quantile(p)), p, 1e-13);
    }
}

/* Two values equally often: |x - median| is constant, posterior gives up, the ranks need not. */
static void test_two_values(void **state)
{
    (void)state;
    double draws[2][8] = {{1, 2, 1, 2, 1, 2, 1, 2}, {2, 1, 2, 1, 2, 1, 2, 1}};
    phl_convergence found;
    assert_int_equal(phl_convergence_measure(&draws[0][0], 2, 8, &found, NULL), PHL_OK);
    assert_true(isnan(found.rhat) && isnan(found.rhat_folded));
    assert_true(found.rhat_rank > 0.8 && found.rhat_rank < 1.0);
}

static void test_edges(void **state)
{
    (void)state;
    double draws[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    phl_convergence found;
    assert_int_equal(phl_convergence_measure(draws, 0, 0, &found, NULL), PHL_OK);
    assert_true(isnan(found.mean) && isnan(found.rhat) && !found.constant);
    assert_int_equal(phl_convergence_measure(draws, 8, 1, &found, NULL), PHL_OK);
    assert_true(isnan(found.rhat) && isnan(found.ess_bulk) && !found.stuck);
    check_close(found.mean, 4.5, 1e-15);
    for (size_t n = 2; n < 4; n++) {
        assert_int_equal(phl_convergence_measure(draws, 2, n, &found, NULL), PHL_OK);
        assert_true(isnan(found.rhat) && isnan(found.ess_bulk) && isnan(found.mcse_mean));
    }
    draws[3] = -INFINITY;
    assert_int_equal(phl_convergence_measure(draws, 2, 4, &found, NULL), PHL_OK);
    assert_true(!found.finite && isnan(found.rhat) && isnan(found.mean));
    draws[3] = (double)NAN;
    assert_int_equal(phl_convergence_measure(draws, 1, 8, &found, NULL), PHL_OK);
    assert_true(!found.finite && !found.constant && isnan(found.ess_tail));
}

/* Against the sum that defines it. */
static void test_fourier(void **state)
{
    (void)state;
    enum { N = 64 };
    phl_fourier fourier;
    double re[N], im[N], x[N], y[N];
    assert_int_equal(phl_fourier_init(&fourier, N - 1, NULL), PHL_OK);
    assert_int_equal(fourier.n, N);
    for (int t = 0; t < N; t++) {
        re[t] = x[t] = sin(t * t * 0.7) + 1.0;
        im[t] = y[t] = cos(t * 3.1);
    }
    phl_fourier_transform(&fourier, re, im);
    for (int k = 0; k < N; k++) {
        double sum_re = 0.0, sum_im = 0.0;
        for (int t = 0; t < N; t++) {
            double angle = -2.0 * acos(-1.0) * (k * t % N) / N;
            sum_re += x[t] * cos(angle) - y[t] * sin(angle);
            sum_im += x[t] * sin(angle) + y[t] * cos(angle);
        }
        assert_true(fabs(re[k] - sum_re) < 1e-12 && fabs(im[k] - sum_im) < 1e-12);
    }
    phl_fourier_transform(&fourier, im, re); /* exchanged: back again */
    for (int t = 0; t < N; t++) {
        assert_true(fabs(re[t] / N - x[t]) < 1e-14 && fabs(im[t] / N - y[t]) < 1e-14);
    }
    phl_fourier_clear(&fourier);
}

/* 4 chains of 100,000 within a second (measured: 0.3 s); sanitizers are given ten. */
static void test_long_chains(void **state)
{
    (void)state;
    enum { CHAINS = 4, N = 100000 };
    double *draws = phl_alloc((size_t)CHAINS * N, sizeof *draws, NULL);
    uint64_t word = 42;
    for (size_t i = 0; i < (size_t)CHAINS * N; i++) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        double fresh = phl_convergence_normal_quantile(((double)(word >> 11) + 0.5) * 0x1p-53);
        draws[i] = i % N == 0 ? fresh : 0.9 * draws[i - 1] + sqrt(1 - 0.81) * fresh;
    }
    phl_convergence found;
    clock_t began = clock();
    assert_int_equal(phl_convergence_measure(draws, CHAINS, N, &found, NULL), PHL_OK);
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    print_message("%.3f s\n", seconds);
    phl_free(draws);
    assert_true(seconds < 10.0);
    assert_true(found.rhat < 1.01);
    /* AR(1): ESS is N (1 - rho) / (1 + rho) = 21,053; its relative error here is below 5 %. */
    check_close(found.ess_mean, CHAINS * N * 0.1 / 1.9, 0.15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posterior),  cmocka_unit_test(test_normal_quantile),
        cmocka_unit_test(test_two_values), cmocka_unit_test(test_edges),
        cmocka_unit_test(test_fourier),    cmocka_unit_test(test_long_chains),
    };
    return cmocka_run_group_tests(tests, load_reference, free_reference);
}
