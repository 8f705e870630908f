/* test_random.c - Philox known answers, streams, and the elementary distributions.
 *
 * Statistical tests: see check.h for false alarms (1e-6 each) and detectable effects. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "check.h"
#include "philox_vectors.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define DRAWS 1000000
#define SEED 20260101u

static void test_known_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(philox_vectors); i++) {
        const uint64_t *row = philox_vectors[i];
        phl_rng rng;
        phl_rng_init(&rng, row[4], row[5], row[0], row[1], row[2]);
        rng.counter[3] = row[3];
        for (int word = 0; word < 4; word++) {
            assert_true(phl_rng_next(&rng) == row[6 + word]);
        }
    }
    /* Vectors 3 and 4 are draws 0 and 1 of one stream: eight words in a row. */
    phl_rng rng;
    phl_rng_init(&rng, 42, 7, 1, 2, 3);
    for (int word = 0; word < 8; word++) {
        assert_true(phl_rng_next(&rng) == philox_vectors[3 + word / 4][6 + word % 4]);
    }
}

/* The generator on the stack, with words of our choice next. */
static phl_rng prepared(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    phl_rng rng;
    phl_rng_init(&rng, 1, 1, 1, 1, 1);
    rng.words[0] = a;
    rng.words[1] = b;
    rng.words[2] = c;
    rng.words[3] = d;
    rng.used = 0;
    return rng;
}

static void test_uniform_ends(void **state)
{
    (void)state;
    phl_rng rng = prepared(0, 2047, 2048, UINT64_MAX);
    check_ulps(phl_rng_uniform(&rng), 0x1p-53, 0); /* the first two give 0 and are passed over */
    check_ulps(phl_rng_uniform(&rng), 1 - 0x1p-53, 0);

    rng = prepared(UINT64_MAX, 1, UINT64_MAX, 0);
    check_ulps(phl_rng_uniform_fine(&rng), 1 - 0x1p-53, 0);
    check_ulps(phl_rng_uniform_fine(&rng), 0x1p-63 - 0x1p-116, 0);
    rng = prepared(0, 0, 1u << 31, 0);
    check_ulps(phl_rng_uniform_fine(&rng), 0x1p-161, 0);
    rng = prepared((uint64_t)1 << 52, UINT64_MAX, 0, 0);
    check_ulps(phl_rng_uniform_fine(&rng), 0x1p-12, 0); /* 53 bits without a second word */
    rng = prepared(0, 0, 1u << 31, 0);
    check_ulps(phl_rng_exponential(&rng), 0x1p-161, 0);
}

static double uniform_cdf(double x, const double *parameters)
{
    (void)parameters;
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static double normal_cdf(double x, const double *parameters)
{
    (void)parameters;
    return check_normal_cdf(x);
}

static double exponential_cdf(double x, const double *parameters)
{
    (void)parameters;
    return x < 0 ? 0 : -expm1(-x);
}

static void judge(const char *name, uint64_t purpose, double (*draw)(phl_rng *), check_cdf_fn cdf)
{
    check_bins bins;
    check_bins_continuous(&bins, cdf, NULL, -100, 100);
    phl_rng rng;
    phl_rng_init(&rng, SEED, purpose, 0, 0, 0);
    for (int i = 0; i < DRAWS; i++) {
        check_bins_add(&bins, draw(&rng));
    }
    check_bins_judge(&bins, SEED, "%s", name);
}

static double draw_uniform(phl_rng *rng)
{
    return phl_rng_uniform(rng);
}

/* The first number of many streams must be as good as many numbers of one. */
static double draw_first_of_item(phl_rng *rng)
{
    phl_rng own;
    phl_rng_init(&own, SEED, 2, 0, 5, rng->counter[3]++);
    return phl_rng_uniform(&own);
}

static void test_distributions(void **state)
{
    (void)state;
    judge("uniform", 11, draw_uniform, uniform_cdf);
    judge("uniform, first of each item", 12, draw_first_of_item, uniform_cdf);
    judge("uniform, fine", 13, phl_rng_uniform_fine, uniform_cdf);
    judge("exponential", 14, phl_rng_exponential, exponential_cdf);
    judge("normal", 15, phl_rng_normal, normal_cdf);
}

/* The bins above end at the quantiles 1/80; the tail beyond 3.5 has probability 2.3e-4 a side.
 * A Poisson count of 465: false alarm 1e-6 at 5 standard deviations, which is 23 % of the tail. */
static void test_normal_tail(void **state)
{
    (void)state;
    phl_rng rng;
    phl_rng_init(&rng, SEED, 3, 0, 0, 0);
    double low = 0;
    double high = 0;
    for (int i = 0; i < 2 * DRAWS; i++) {
        double x = phl_rng_normal(&rng);
        low += x < -3.5;
        high += x > 3.5;
    }
    double expected = 2 * DRAWS * check_normal_cdf(-3.5);
    assert_true(fabs(low - expected) < 5 * sqrt(expected));
    assert_true(fabs(high - expected) < 5 * sqrt(expected));
}

static void test_bounded(void **state)
{
    (void)state;
    const uint64_t bounds[] = {
        1, 2, 3, 6, 80, 1000, (uint64_t)3 << 62, UINT64_MAX, ((uint64_t)1 << 63) + 1};
    for (size_t i = 0; i < COUNT(bounds); i++) {
        uint64_t bound = bounds[i];
        phl_rng rng;
        phl_rng_init(&rng, SEED, 4, 0, 0, i);
        double mass[80];
        size_t cells = bound < 80 ? (size_t)bound : 80;
        for (size_t cell = 0; cell < cells; cell++) {
            mass[cell] = bound <= 1000 ? 0 : 1;
        }
        for (uint64_t value = 0; value < bound && bound <= 1000; value++) {
            mass[value * cells / bound]++;
        }
        check_bins bins;
        check_bins_discrete(&bins, 0, mass, cells, 400);
        for (int draw = 0; draw < DRAWS; draw++) {
            uint64_t value = phl_rng_bounded(&rng, bound);
            assert_true(value < bound);
            double cell = bound <= 1000 ? (double)(value * cells / bound)
                                        : floor((double)value / (double)bound * 80);
            check_bins_add(&bins, cell < 80 ? cell : 79);
        }
        check_bins_judge(&bins, SEED, "bounded by %llu", (unsigned long long)bound);
    }
}

/* Without its rejection step the bounded draw is biased in the last digits, not the first: for
 * 3 * 2^62 the values 0 modulo 3 would come twice as often as the others. */
static void test_bounded_digits(void **state)
{
    (void)state;
    const double mass[3] = {1, 1, 1};
    check_bins bins;
    check_bins_discrete(&bins, 0, mass, 3, 80);
    phl_rng rng;
    phl_rng_init(&rng, SEED, 5, 0, 0, 0);
    for (int draw = 0; draw < DRAWS; draw++) {
        check_bins_add(&bins, (double)(phl_rng_bounded(&rng, (uint64_t)3 << 62) % 3));
    }
    check_bins_judge(&bins, SEED, "bounded by 3 * 2^62, modulo 3");
}

/* Any one of the six numbers makes another stream. */
static void test_streams_differ(void **state)
{
    (void)state;
    const uint64_t base[5] = {42, 7, 1, 2, 3};
    uint64_t first[6];
    for (size_t changed = 0; changed < 6; changed++) {
        uint64_t v[5];
        memcpy(v, base, sizeof v);
        if (changed < 5) {
            v[changed]++;
        }
        phl_rng rng;
        phl_rng_init(&rng, v[0], v[1], v[2], v[3], v[4]);
        first[changed] = phl_rng_next(&rng);
        for (size_t other = 0; other < changed; other++) {
            assert_true(first[changed] != first[other]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),  cmocka_unit_test(test_uniform_ends),
        cmocka_unit_test(test_distributions),  cmocka_unit_test(test_normal_tail),
        cmocka_unit_test(test_bounded),        cmocka_unit_test(test_bounded_digits),
        cmocka_unit_test(test_streams_differ),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL) != 0;
}
