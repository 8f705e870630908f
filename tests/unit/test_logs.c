/* test_logs.c - logarithms and exponentials of many numbers, against the C library's in 64 bits of
 * mantissa, and bit by bit against themselves. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/logs.h"
#include "base/rng.h"
#include "check.h"

#define MANY 4000
#define SEED 20260103u

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The distance between a result and the exact value, in units of the last place of the latter. */
static double ulps_off(double result, long double exact)
{
    if (exact == 0) {
        return result == 0 ? 0 : INFINITY;
    }
    int exponent;
    (void)frexp((double)exact, &exponent);
    int last = exponent - DBL_MANT_DIG;
    last = last < -1074 ? -1074 : last;
    return (double)ldexpl(fabsl((long double)result - exact), -last);
}

/* What the yardstick itself may be off: nothing, unless long double is no longer than double, as on
 * some machines and under valgrind. */
static double yardstick_ulps(void)
{
    volatile long double one = 1;
    volatile long double more = one + 0x1p-60L;
    return more > one ? 0 : 1;
}

/* Numbers of one kind. */
typedef double (*number_fn)(phl_rng *rng);

static double in_unit(phl_rng *rng)
{
    return phl_rng_uniform(rng);
}

/* 1 +- 2^-1 .. 2^-52 */
static double near_one(phl_rng *rng)
{
    return 1 + (phl_rng_uniform(rng) - 0.5) * ldexp(1, -(int)phl_rng_bounded(rng, 52));
}

static double any_normal(phl_rng *rng)
{
    uint64_t least = (uint64_t)1 << 52;
    return from_bits(least + phl_rng_bounded(rng, ((uint64_t)0x7ff << 52) - least));
}

static double small_subnormal(phl_rng *rng)
{
    return from_bits(1 + phl_rng_bounded(rng, ((uint64_t)1 << 52) - 1));
}

/* Where the mantissa range changes over. */
static double near_root_half(phl_rng *rng)
{
    double steps = (double)phl_rng_bounded(rng, 2001) - 1000;
    return ldexp(sqrt(0.5) + steps * 0x1p-53, (int)phl_rng_bounded(rng, 100) - 50);
}

static void judge_logs(const char *name, number_fn number, double tolerance)
{
    double x[MANY];
    double out[MANY];
    double worst = 0;
    double allowed = tolerance + yardstick_ulps();
    phl_rng rng;
    phl_rng_init(&rng, SEED, 1, 0, 0, 0);
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < MANY; i++) {
            x[i] = number(&rng);
        }
        phl_logs(x, MANY, out);
        for (size_t i = 0; i < MANY; i++) {
            double off = ulps_off(out[i], logl(x[i]));
            if (!(off <= allowed)) {
                print_error("log(%a) = %a is %g ulp off\n", x[i], out[i], off);
                fail();
            }
            worst = off > worst ? off : worst;
        }
    }
    print_message("logs of %s: at most %.3f ulp off\n", name, worst);
}

static void test_logs(void **state)
{
    (void)state;
    judge_logs("numbers in (0, 1)", in_unit, 1);
    judge_logs("numbers near 1", near_one, 1);
    judge_logs("any normal numbers", any_normal, 1);
    judge_logs("numbers near sqrt(1/2) 2^k", near_root_half, 1);
    judge_logs("subnormal numbers", small_subnormal, 1);
}

static double centred(phl_rng *rng)
{
    return 2 * (phl_rng_uniform(rng) - 0.5);
}

static double any_finite(phl_rng *rng)
{
    return -708.3 + 1418 * phl_rng_uniform(rng);
}

static double down_to_zero(phl_rng *rng)
{
    return -746 + 38 * phl_rng_uniform(rng);
}

/* Near half an integer times log 2, where the power of two changes over. */
static double near_edge(phl_rng *rng)
{
    double k = (double)phl_rng_bounded(rng, 2000) - 1000 + 0.5;
    return k * 0.69314718055994530942 * (1 + 1e-14 * (phl_rng_uniform(rng) - 0.5));
}

static void judge_exps(const char *name, number_fn number, double tolerance)
{
    double x[MANY];
    double out[MANY];
    double worst = 0;
    double allowed = tolerance + yardstick_ulps();
    phl_rng rng;
    phl_rng_init(&rng, SEED, 2, 0, 0, 0);
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < MANY; i++) {
            x[i] = number(&rng);
        }
        phl_exps(x, MANY, out);
        for (size_t i = 0; i < MANY; i++) {
            double off = ulps_off(out[i], expl(x[i]));
            if (!(off <= allowed)) {
                print_error("exp(%a) = %a is %g ulp off\n", x[i], out[i], off);
                fail();
            }
            worst = off > worst ? off : worst;
        }
    }
    print_message("exps of %s: at most %.3f ulp off\n", name, worst);
}

static void test_exps(void **state)
{
    (void)state;
    judge_exps("numbers in (-1, 1)", centred, 1.1);
    judge_exps("numbers in (-708, 709)", any_finite, 1.1);
    judge_exps("numbers with subnormal results", down_to_zero, 1.6);
    judge_exps("numbers near (k + 1/2) log 2", near_edge, 1.1);
}

static void test_special(void **state)
{
    (void)state;
    double nan = strtod("nan", NULL);
    const double x[] = {1, 0, -0.0, INFINITY, -INFINITY, -1, nan, 5e-324, DBL_MIN, DBL_MAX, 2};
    double out[COUNT(x)];
    phl_logs(x, COUNT(x), out);
    for (size_t i = 0; i < COUNT(x); i++) {
        if (isnan(log(x[i]))) {
            assert_true(isnan(out[i]));
        } else {
            check_ulps(out[i], log(x[i]), 1);
        }
    }
    check_ulps(out[0], 0, 0);
    const double y[] = {0,
                        -0.0,
                        INFINITY,
                        -INFINITY,
                        nan,
                        709.78271289338397,
                        709.7827128933841,
                        -745.13321910194111,
                        -745.2,
                        1e300,
                        -1e300};
    double e[COUNT(y)];
    phl_exps(y, COUNT(y), e);
    for (size_t i = 0; i < COUNT(y); i++) {
        if (isnan(y[i])) {
            assert_true(isnan(e[i]));
        } else {
            check_ulps(e[i], exp(y[i]), 1);
        }
    }
    check_ulps(e[0], 1, 0);
    check_ulps(e[3], 0, 0);
    check_ulps(e[6], INFINITY, 0);
}

/* A result depends on its argument alone: not on how many there are, nor on its place among them,
 * nor on its neighbours, nor on whether it overwrites its argument. */
static void test_places(void **state)
{
    (void)state;
    enum { LONGEST = 600 };
    double x[LONGEST];
    double log_of[LONGEST];
    double exp_of[LONGEST];
    phl_rng rng;
    phl_rng_init(&rng, SEED, 3, 0, 0, 0);
    for (size_t i = 0; i < LONGEST; i++) {
        x[i] = i % 97 == 5 ? 0 : i % 89 == 7 ? 1e-310 : any_normal(&rng);
        phl_logs(&x[i], 1, &log_of[i]);
        phl_exps(&log_of[i], 1, &exp_of[i]);
    }
    for (size_t count = 0; count <= LONGEST; count += count < 40 ? 1 : 37) {
        for (size_t first = 0; first + count <= LONGEST; first += 1 + count / 2) {
            double out[LONGEST + 1];
            out[count] = 77;
            phl_logs(x + first, count, out);
            assert_memory_equal(out, log_of + first, count * sizeof *out);
            phl_exps(out, count, out);
            assert_memory_equal(out, exp_of + first, count * sizeof *out);
            memcpy(out, x + first, count * sizeof *out);
            phl_logs(out, count, out);
            assert_memory_equal(out, log_of + first, count * sizeof *out);
            assert_true(out[count] == 77);
        }
    }
}

/* One number for the bits of many results.  The expected one was computed without vector
 * instructions: every machine and every clone must find it again. */
static void test_bits(void **state)
{
    (void)state;
    double values[MANY];
    uint64_t hash = UINT64_C(14695981039346656037);
    phl_rng rng;
    phl_rng_init(&rng, SEED, 4, 0, 0, 0);
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < MANY; i++) {
            values[i] = round % 2 == 0 ? any_normal(&rng) : near_one(&rng);
        }
        phl_logs(values, MANY, values);
        for (int twice = 0; twice < 2; twice++) {
            for (size_t i = 0; i < MANY; i++) {
                uint64_t bits;
                memcpy(&bits, &values[i], sizeof bits);
                hash = (hash ^ bits) * UINT64_C(1099511628211);
            }
            phl_exps(values, MANY, values);
        }
    }
    if (hash != UINT64_C(0x01fea0f24b5ca3c1)) {
        print_error("bits of logs and exps: %llx\n", (unsigned long long)hash);
        fail();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logs),   cmocka_unit_test(test_exps), cmocka_unit_test(test_special),
        cmocka_unit_test(test_places), cmocka_unit_test(test_bits),
    };
    return cmocka_run_group_tests_name("logs", tests, NULL, NULL) != 0;
}
