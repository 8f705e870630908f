/* test_rng.c - Philox known answers, streams, and the elementary distributions.
 *
 * Statistical tests: see check.h for false alarms (1e-6 each) and detectable effects. */
#include <math.h>
#include <string.h>

#include <Random123/philox.h>

#include "base/rng.h"
#include "base/ziggurat.h"
#include "check.h"
#include "philox_vectors.h"

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
    rng.used = PHL_RNG_ROOM - 4;
    rng.words[rng.used] = a;
    rng.words[rng.used + 1] = b;
    rng.words[rng.used + 2] = c;
    rng.words[rng.used + 3] = d;
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
    double values[4];
    rng = prepared(0, UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 12);
    phl_rng_uniforms(&rng, 4, values);
    check_ulps(values[0], 0x1p-53, 0);
    check_ulps(values[1], 1 - 0x1p-53, 0);
    check_ulps(values[2], 0.5 + 0x1p-53, 0);
    check_ulps(values[3], 0x1p-52 + 0x1p-53, 0);
}

/* Near 0 an exponential takes more bits: the words 0, 0, 2^31 stand for the place 2^-150 of layer
 * 0. The widest place but one of a layer is exact. */
static void test_exponential_ends(void **state)
{
    (void)state;
    phl_rng rng = prepared(0, 0, 1u << 31, 0);
    check_ulps(phl_rng_exponential(&rng), 0x1p-150 * phl_exponential_layer[0], 0);
    rng = prepared((uint64_t)3 << 43 | 5, (uint64_t)1 << 63, 0, 0);
    check_close(phl_rng_exponential(&rng), (0x3p-21 + 0x1p-54) * phl_exponential_layer[5], 1e-15);
    rng = prepared((uint64_t)1 << 63 | 7, 0, 0, 0);
    check_ulps(phl_rng_exponential(&rng), 0.5 * phl_exponential_layer[7], 0);
    rng = prepared((uint64_t)1 << 62 | 7, 0, 0, 0);
    check_ulps(phl_rng_normal(&rng), 0.5 * phl_normal_layer[7], 0);
    rng = prepared((uint64_t)3 << 62 | 7, 0, 0, 0);
    check_ulps(phl_rng_normal(&rng), -0.5 * phl_normal_layer[7], 0);
}

/* However many are taken at a time, from wherever in a block: the words of the stream in order. */
static void test_words(void **state)
{
    (void)state;
    enum { ROOM = 3000 };
    static uint64_t expected[ROOM];
    static uint64_t words[ROOM];
    phl_rng rng;
    phl_rng_init(&rng, SEED, 6, 7, 8, 9);
    for (size_t i = 0; i < ROOM; i++) {
        expected[i] = phl_rng_next(&rng);
    }
    for (size_t first = 0; first < 9; first++) {
        for (size_t count = 0; count < 70; count++) {
            phl_rng_init(&rng, SEED, 6, 7, 8, 9);
            size_t at = 0;
            for (; at < first; at++) {
                words[at] = phl_rng_next(&rng);
            }
            while (at + count + 3 < 500) { /* by turns with single ones */
                phl_rng_words(&rng, count, words + at);
                at += count;
                for (size_t i = 0; i < 1 + count % 3; i++) {
                    words[at++] = phl_rng_next(&rng);
                }
            }
            assert_memory_equal(words, expected, at * sizeof *words);
        }
    }
    phl_rng_init(&rng, SEED, 6, 7, 8, 9);
    phl_rng_words(&rng, ROOM, words);
    assert_memory_equal(words, expected, sizeof words);
}

/* The equations that the layers of the ziggurats solve (ziggurat.h). */
static void judge_layers(const double *layer, double (*height)(double), double tail)
{
    double area = layer[1] * height(layer[1]) + tail;
    check_close(layer[0], area / height(layer[1]), 1e-15);
    for (size_t i = 1; i < PHL_LAYERS; i++) {
        assert_true(layer[i + 1] < layer[i] && layer[i] < layer[i - 1]);
        /* the difference of heights is small: so many digits are left of it */
        double difference = height(layer[i + 1]) - height(layer[i]);
        check_close(layer[i] * difference, area, 2e-16 / difference + 1e-13);
    }
    check_ulps(layer[PHL_LAYERS], 0, 0);
}

static double normal_height(double x)
{
    return exp(-0.5 * x * x);
}

static double exponential_height(double x)
{
    return exp(-x);
}

static void test_layers(void **state)
{
    (void)state;
    double tail = sqrt(acos(-1.0) / 2) * erfc(phl_normal_layer[1] / sqrt(2));
    judge_layers(phl_normal_layer, normal_height, tail);
    judge_layers(phl_exponential_layer, exponential_height, exp(-phl_exponential_layer[1]));
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

/* Many at a time, and more of them: 8e6 draws show bins that are off by 0.3 %, where a layer
 * treated wrongly makes 1 %. */
static void judge_many(const char *name, uint64_t purpose,
                       void (*draw)(phl_rng *, size_t, double *), check_cdf_fn cdf)
{
    enum { MOST = 300 };
    check_bins bins;
    check_bins_continuous(&bins, cdf, NULL, -100, 100);
    phl_rng rng;
    phl_rng_init(&rng, SEED, purpose, 0, 0, 0);
    double values[MOST];
    for (int64_t done = 0, now = 0; done < 8 * DRAWS; done += now) {
        now = 1 + (now + 7) % MOST;
        draw(&rng, (size_t)now, values);
        for (int64_t i = 0; i < now; i++) {
            check_bins_add(&bins, values[i]);
        }
    }
    check_bins_judge(&bins, SEED, "%s, many at a time", name);
}

static void test_many(void **state)
{
    (void)state;
    judge_many("uniform", 21, phl_rng_uniforms, uniform_cdf);
    judge_many("exponential", 22, phl_rng_exponentials, exponential_cdf);
    judge_many("normal", 23, phl_rng_normals, normal_cdf);
}

/* Layers, seen one by one: within a layer of the exponential law, which most bins above hold
 * dozens of, draws have the right share. */
static void test_layer_shares(void **state)
{
    (void)state;
    enum { MANY = 8 * DRAWS, CELLS = PHL_LAYERS };
    static double values[1000];
    static double seen[2][CELLS];
    phl_rng rng;
    phl_rng_init(&rng, SEED, 24, 0, 0, 0);
    for (int done = 0; done < MANY; done += 1000) {
        for (int normal = 0; normal < 2; normal++) {
            const double *layer = normal ? phl_normal_layer : phl_exponential_layer;
            (normal ? phl_rng_normals : phl_rng_exponentials)(&rng, 1000, values);
            for (size_t i = 0; i < 1000; i++) {
                size_t low = 0; /* layer[low + 1] <= x < layer[low], or beyond layer[1] */
                size_t high = CELLS;
                while (high - low > 1) {
                    size_t middle = (low + high) / 2;
                    *(fabs(values[i]) < layer[middle] ? &low : &high) = middle;
                }
                seen[normal][low]++;
            }
        }
    }
    for (int normal = 0; normal < 2; normal++) {
        const double *layer = normal ? phl_normal_layer : phl_exponential_layer;
        double sum = 0;
        for (size_t i = 0; i < CELLS; i++) {
            double beyond[2] = {0, 0}; /* probability past layer[i] and past layer[i + 1] */
            for (size_t e = 0; e < 2; e++) {
                double x = layer[i + e];
                beyond[e] = i + e == 0 ? 0 : normal ? erfc(x / sqrt(2)) : exp(-x);
            }
            double expected = MANY * (beyond[1] - beyond[0]);
            sum += (seen[normal][i] - expected) * (seen[normal][i] - expected) / expected;
        }
        double p = check_gamma_tail((CELLS - 1) / 2.0, log(sum / 2));
        print_message("%s, between layers: chi2 p = %g\n", normal ? "normal" : "exponential", p);
        assert_true(p > CHECK_CHANCE);
    }
}

/* Beyond the layers: given that x is past layer[1], the tail probability of x as a share of that of
 * layer[1] is uniform.  4e7 draws give some 10000 of the normal law, 18000 of the exponential. */
static void test_tails(void **state)
{
    (void)state;
    static double values[1000];
    for (int normal = 0; normal < 2; normal++) {
        double start = normal ? phl_normal_layer[1] : phl_exponential_layer[1];
        check_bins bins;
        check_bins_continuous(&bins, uniform_cdf, NULL, -100, 100);
        phl_rng rng;
        phl_rng_init(&rng, SEED, 25, 0, 0, 0);
        for (int done = 0; done < 40 * DRAWS; done += 1000) {
            (normal ? phl_rng_normals : phl_rng_exponentials)(&rng, 1000, values);
            for (size_t i = 0; i < 1000; i++) {
                double x = fabs(values[i]);
                if (x > start) {
                    check_bins_add(&bins, normal ? erfc(x / sqrt(2)) / erfc(start / sqrt(2))
                                                 : exp(start - x));
                }
            }
        }
        check_bins_judge(&bins, SEED, "tail of the %s law", normal ? "normal" : "exponential");
    }
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

/* The two halves of each word, the lower first; and draws from them. */
static void test_halves(void **state)
{
    (void)state;
    const uint32_t bounds[] = {1, 2, 3, 80, (uint32_t)3 << 30, ((uint32_t)1 << 31) + 1, UINT32_MAX};
    phl_rng rng, words;
    phl_rng_init(&rng, SEED, 6, 0, 0, 0);
    words = rng;
    phl_halves halves = {.rng = &rng};
    for (int i = 0; i < 1000; i++) {
        uint64_t word = phl_rng_next(&words);
        assert_true(phl_halves_next(&halves) == (uint32_t)word);
        assert_true(phl_halves_next(&halves) == word >> 32);
    }
    for (size_t i = 0; i < COUNT(bounds); i++) {
        uint32_t bound = bounds[i], cells = bound < 80 ? bound : 80;
        double mass[80];
        const double third[3] = {1, 1, 1};
        check_bins bins, digits;
        for (size_t cell = 0; cell < cells; cell++) {
            mass[cell] = 1;
        }
        check_bins_discrete(&bins, 0, mass, cells, 400);
        check_bins_discrete(&digits, 0, third, 3, 80);
        for (int draw = 0; draw < DRAWS; draw++) {
            uint32_t value = phl_halves_bounded(&halves, bound);
            assert_true(value < bound);
            check_bins_add(&bins, (double)((uint64_t)value * cells / bound));
            check_bins_add(&digits, (double)(value % 3));
        }
        check_bins_judge(&bins, SEED, "halves bounded by %u", bound);
        if (bound > 80) { /* see test_bounded_digits */
            check_bins_judge(&digits, SEED, "halves bounded by %u, modulo 3", bound);
        }
    }
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

/* Words against those of the Random123 library, one by one and many at a time. */
static void test_random123(void **state)
{
    (void)state;
    phl_rng inputs;
    phl_rng_init(&inputs, 20111112, 1, 2, 3, 4);
    for (int i = 0; i < 2000; i++) {
        uint64_t in[5], words[12];
        for (int k = 0; k < 5; k++) {
            in[k] = i % 3 == 0 ? phl_rng_next(&inputs) % 4 : phl_rng_next(&inputs);
        }
        phl_rng one, many;
        phl_rng_init(&one, in[0], in[1], in[2], in[3], in[4]);
        phl_rng_init(&many, in[0], in[1], in[2], in[3], in[4]);
        phl_rng_words(&many, 12, words);
        for (uint64_t block = 0; block < 3; block++) {
            philox4x64_key_t key = {{in[0], in[1]}};
            philox4x64_ctr_t counter = {{in[2], in[3], in[4], block}};
            philox4x64_ctr_t expected = philox4x64_R(10, counter, key);
            for (size_t k = 0; k < 4; k++) {
                assert_true(phl_rng_next(&one) == expected.v[k]);
                assert_true(words[4 * block + k] == expected.v[k]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random123),        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_uniform_ends),     cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_normal_tail),      cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_bounded_digits),   cmocka_unit_test(test_streams_differ),
        cmocka_unit_test(test_exponential_ends), cmocka_unit_test(test_words),
        cmocka_unit_test(test_layers),           cmocka_unit_test(test_many),
        cmocka_unit_test(test_layer_shares),     cmocka_unit_test(test_tails),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL) != 0;
}
