/* test_dirichlet.c - gamma, beta and Dirichlet draws against their distribution functions.
 *
 * A million draws each (fewer where said), 80 bins, a chi-square and a trend test with false-alarm
 * rate 1e-6 each (check.h states what they detect).  The seed is fixed; it can be changed on the
 * command line: test_dirichlet SEED [PATTERN], PATTERN choosing tests by name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sampler.h"
#include "check.h"

#define DRAWS 1000000

static uint64_t seed = 20260102;

static double gamma_cdf(double log_x, const double *parameters)
{
    return check_gamma_cdf(parameters[0], log_x);
}

static void test_gamma(void **state)
{
    (void)state;
    const double shapes[] = {1e-12, 1e-8, 1e-6, 1e-4, 0.01, 0.1, 0.29, 0.3, 0.5,
                             0.9,   1,    1.5,  3,    10,   100, 1e4,  1e6, 1e8};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        phl_rng rng = check_stream(seed, 78);
        check_bins bins;
        double shape = shapes[i];
        double centre = shape > 1000 ? log(shape) : 0;
        double reach = shape > 1000 ? 20 / sqrt(shape) : 100 + 40 / shape;
        check_bins_continuous(&bins, gamma_cdf, &shape, centre - reach,
                              shape > 1000 ? centre + reach : 10);
        for (int draw = 0; draw < DRAWS; draw++) {
            bool plain = draw % 2 == 0 && shape >= 0.1; /* a smaller one rounds to 0 at times */
            check_bins_add(&bins, plain ? log(phl_gamma_draw(&rng, shape))
                                        : phl_log_gamma_draw(&rng, shape));
        }
        check_bins_judge(&bins, seed, "gamma %g", shape);
    }
    phl_rng rng = check_stream(seed, 78);
    assert_true(phl_log_gamma_draw(&rng, 0) == -INFINITY);
    assert_true(isfinite(phl_log_gamma_draw(&rng, 1e-300)));
    assert_true(phl_gamma_draw(&rng, 0) == 0);
    assert_true(phl_gamma_draw(&rng, 1e-300) == 0);
}

static double beta_cdf(double z, const double *parameters)
{
    return check_beta_cdf(parameters[0], parameters[1], z);
}

/* Room in which all quantiles of the logit of Beta(a, b) lie. */
static double logit_reach(double a, double b)
{
    return 100 + 40 / (a < b ? a : b);
}

static void test_beta(void **state)
{
    (void)state;
    const double pairs[][2] = {{1e-8, 1e-8}, {1e-8, 1},  {1, 1e-8},  {1e-4, 1e-4},
                               {0.1, 0.5},   {1, 1},     {2, 5},     {1e-8, 1e6},
                               {1e6, 1},     {1e3, 1e6}, {1e6, 1e6}, {0.01, 100}};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        phl_rng rng = check_stream(seed, 78);
        check_bins bins;
        double a = pairs[i][0];
        double b = pairs[i][1];
        check_bins_continuous(&bins, beta_cdf, pairs[i], -logit_reach(a, b), logit_reach(a, b));
        for (int draw = 0; draw < DRAWS; draw++) {
            double log_p;
            double log_rest;
            phl_log_beta_draw(&rng, a, b, &log_p, &log_rest);
            check_bins_add(&bins, log_p - log_rest);
        }
        check_bins_judge(&bins, seed, "beta %g %g", a, b);
    }
    phl_rng rng = check_stream(seed, 78);
    check_bins bins;
    check_bins_continuous(&bins, beta_cdf, pairs[6], -50, 50);
    for (int draw = 0; draw < DRAWS; draw++) {
        double p = phl_beta_draw(&rng, 2, 5);
        check_bins_add(&bins, log(p / (1 - p)));
    }
    check_bins_judge(&bins, seed, "beta 2 5, plain");
}

/* Logarithms of a Dirichlet draw from one of the three functions: by log concentrations, by plain
 * ones, or plain altogether. */
static void draw_log(phl_rng *rng, int which, const double *a, const double *log_a, size_t count,
                     double *log_p)
{
    if (which == 0) {
        phl_log_dirichlet_draw_log(rng, log_a, count, log_p);
    } else if (which == 1) {
        phl_log_dirichlet_draw(rng, a, count, log_p);
    } else {
        phl_dirichlet_draw(rng, a, count, log_p);
        for (size_t i = 0; i < count; i++) {
            log_p[i] = log(log_p[i]);
        }
    }
}

/* Marginals of a Dirichlet, the functions in turn, and normalisation. */
static void judge_dirichlet(const double *a, size_t count)
{
    static check_bins bins[8];
    double log_a[8];
    double total = 0;
    int functions = 3; /* but none that would round to 0 */
    for (size_t i = 0; i < count; i++) {
        log_a[i] = log(a[i]);
        total += a[i];
        functions = a[i] < 0.1 ? 2 : functions;
    }
    for (size_t i = 0; i < count; i++) {
        double pair[2] = {a[i], 0};
        for (size_t other = 0; other < count; other++) {
            pair[1] += other == i ? 0 : a[other];
        }
        double reach = logit_reach(pair[0], pair[1]);
        check_bins_continuous(&bins[i], beta_cdf, pair, -reach, reach);
    }
    phl_rng rng = check_stream(seed, 78);
    for (int draw = 0; draw < DRAWS; draw++) {
        double log_p[8];
        draw_log(&rng, draw % functions, a, log_a, count, log_p);
        assert_true(fabs(phl_log_sum(log_p, count)) < 1e-13);
        for (size_t i = 0; i < count; i++) {
            double rest = -INFINITY;
            for (size_t other = 0; other < count; other++) {
                rest = other == i ? rest : phl_log_add(rest, log_p[other]);
            }
            check_bins_add(&bins[i], log_p[i] - rest);
        }
    }
    for (size_t i = 0; i < count; i++) {
        check_bins_judge(&bins[i], seed, "Dirichlet %zu of %zu: %g of %g", i, count, a[i], total);
    }
}

static void test_dirichlet(void **state)
{
    (void)state;
    const double mixed[4] = {1e-8, 0.3, 1, 20};
    const double sparse[3] = {1e-8, 2e-8, 1e-8};
    const double large[3] = {1e6, 3e5, 0.5};
    const double plain[5] = {0.1, 0.25, 1, 4, 0.7};
    judge_dirichlet(mixed, 4);
    judge_dirichlet(sparse, 3);
    judge_dirichlet(large, 3);
    judge_dirichlet(plain, 5);
}

/* Long rows are drawn by other loops, 128 at a time. */
enum { LONG_ROW = 150 };

static void judge_row(const char *name, int which, const double *a, int draws)
{
    enum { PLACES = 9 };
    const size_t place[PLACES] = {0, 1, 2, 3, 4, 5, 127, 128, 149};
    static check_bins bins[PLACES + 1]; /* the last: of the sum of every other one */
    double log_a[LONG_ROW];
    double total = 0;
    double even = 0;
    for (size_t i = 0; i < LONG_ROW; i++) {
        log_a[i] = log(a[i]);
        total += a[i];
        even += i % 2 == 0 ? a[i] : 0;
    }
    for (size_t j = 0; j <= PLACES; j++) {
        double one = j < PLACES ? a[place[j]] : even;
        double pair[2] = {one, total - one};
        double reach = logit_reach(pair[0], pair[1]);
        check_bins_continuous(&bins[j], beta_cdf, pair, -reach, reach);
    }
    phl_rng rng = check_stream(seed, 78);
    for (int draw = 0; draw < draws; draw++) {
        double log_p[LONG_ROW];
        double evens[LONG_ROW / 2];
        draw_log(&rng, which, a, log_a, LONG_ROW, log_p);
        assert_true(fabs(phl_log_sum(log_p, LONG_ROW)) < 1e-13);
        for (size_t j = 0; j < PLACES; j++) {
            check_bins_add(&bins[j], log_p[place[j]] - phl_log_complement(log_p[place[j]]));
        }
        for (size_t i = 0; i < LONG_ROW / 2; i++) {
            evens[i] = log_p[2 * i];
        }
        double sum = phl_log_sum(evens, LONG_ROW / 2);
        check_bins_add(&bins[PLACES], sum - phl_log_complement(sum));
    }
    for (size_t j = 0; j <= PLACES; j++) {
        check_bins_judge(&bins[j], seed, "row %s, function %d, %s %zu", name, which,
                         j < PLACES ? "at" : "sum of", j < PLACES ? place[j] : LONG_ROW / 2);
    }
}

static void test_dirichlet_rows(void **state)
{
    (void)state;
    const double kinds[6] = {1, 0.2, 3.5, 0.6, 40, 0.1};
    double counts[LONG_ROW];
    double mixed[LONG_ROW];
    double sparse[LONG_ROW];
    for (size_t i = 0; i < LONG_ROW; i++) {
        counts[i] = i % 5 == 0 ? 1 + (double)(i % 7) : 1;
        mixed[i] = kinds[i % 6];
        sparse[i] = 0.01 * (double)(1 + i % 8);
    }
    for (int which = 0; which < 3; which++) {
        judge_row("of counts", which, counts, DRAWS / 10);
        judge_row("of all kinds", which, mixed, which == 2 ? DRAWS : DRAWS / 10);
        if (which < 2) {
            judge_row("of small ones", which, sparse, DRAWS / 10);
        }
    }
}

/* Rows of a table: the margins of three of them, one so small that it is drawn apart, and that two
 * neighbours are independent. */
static void test_dirichlet_table(void **state)
{
    (void)state;
    enum { ROWS = 60, COLUMNS = 4, TINY = 31 };
    const double plain[2][COLUMNS] = {{1, 0.2, 3.5, 0.6}, {40, 0.1, 0.1, 1}};
    const double tiny[COLUMNS] = {0.01, 0.02, 0, 0.04};
    const size_t place[2] = {30, 59}; /* of plain rows; 32 are drawn together */
    double a[ROWS * COLUMNS];
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        size_t r = i / COLUMNS;
        a[i] = r == TINY ? tiny[i % COLUMNS] : plain[r % 2][i % COLUMNS];
    }
    static check_bins bins[2][COLUMNS];
    static check_bins winner;
    static check_bins both;
    double mass[COLUMNS + 1] = {0};
    double rest = 1;
    for (size_t i = 0; i < COLUMNS; i++) {
        for (size_t k = 0; k < 2; k++) {
            const double *row = plain[place[k] % 2];
            double pair[2] = {row[i], row[0] + row[1] + row[2] + row[3] - row[i]};
            double reach = logit_reach(pair[0], pair[1]);
            check_bins_continuous(&bins[k][i], beta_cdf, pair, -reach, reach);
        }
        double pair[2] = {tiny[i], 0.07 - tiny[i]}; /* half of all goes to outcome i */
        mass[i] = tiny[i] > 0 ? 1 - beta_cdf(0, pair) : 0;
        rest -= mass[i];
    }
    mass[COLUMNS] = rest;
    check_bins_discrete(&winner, 0, mass, COLUMNS + 1, 80);
    const double first[2] = {1, 4.3}; /* rows 0 and 2: is the first share above 1/5? */
    double above = 1 - beta_cdf(log(0.25), first);
    const double four[4] = {(1 - above) * (1 - above), above * (1 - above), above * (1 - above),
                            above * above};
    check_bins_discrete(&both, 0, four, 4, 80);
    phl_rng rng = check_stream(seed, 78);
    for (int draw = 0; draw < DRAWS / 10; draw++) {
        double p[ROWS * COLUMNS];
        phl_dirichlet_rows_draw(&rng, a, ROWS, COLUMNS, p);
        for (size_t i = 0; i < COLUMNS; i++) {
            for (size_t k = 0; k < 2; k++) {
                double one = p[place[k] * COLUMNS + i];
                double sum = 0;
                for (size_t other = 0; other < COLUMNS; other++) {
                    sum += other == i ? 0 : p[place[k] * COLUMNS + other];
                }
                check_bins_add(&bins[k][i], log(one / sum));
            }
        }
        size_t most = COLUMNS;
        for (size_t i = 0; i < COLUMNS; i++) {
            most = p[TINY * COLUMNS + i] > 0.5 ? i : most;
        }
        check_bins_add(&winner, (double)most);
        check_bins_add(&both, (p[0] > 0.2) + 2 * (p[2 * COLUMNS] > 0.2));
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        check_bins_judge(&bins[0][i], seed, "table, row 30 at %zu", i);
        check_bins_judge(&bins[1][i], seed, "table, row 59 at %zu", i);
    }
    check_bins_judge(&winner, seed, "table, a row of small ones");
    check_bins_judge(&both, seed, "table, two rows");
}

/* Numbers of rows and columns at which loops change, and results in the place of arguments. */
static void test_dirichlet_table_ends(void **state)
{
    (void)state;
    const size_t columns[] = {0, 1, 2, 5, 63, 64, 65, 127, 128, 129};
    for (size_t l = 0; l < COUNT(columns); l++) {
        for (size_t rows = 0; rows < 30; rows += 1 + rows / 4) {
            static double a[30 * 129];
            static double p[30 * 129];
            for (size_t i = 0; i < rows * columns[l]; i++) {
                a[i] = i % 5 == 3 ? 0 : i % 11 == 0 ? 1e-5 : (double)(i % 7) + 0.4;
            }
            phl_rng first = check_stream(seed, 78);
            phl_rng second = first;
            phl_dirichlet_rows_draw(&first, a, rows, columns[l], p);
            phl_dirichlet_rows_draw(&second, a, rows, columns[l], a);
            assert_memory_equal(p, a, rows * columns[l] * sizeof *p);
            for (size_t r = 0; r < rows && columns[l] > 1; r++) {
                double sum = phl_sum(p + r * columns[l], columns[l]);
                assert_true(fabs(sum - 1) < 1e-13);
            }
        }
    }
}

/* Lengths at which loops change, zeros, and results in the place of arguments. */
static void test_dirichlet_ends(void **state)
{
    (void)state;
    const size_t lengths[] = {0, 1, 2, 11, 12, 13, 127, 128, 129, 256, 300};
    for (size_t l = 0; l < COUNT(lengths); l++) {
        size_t count = lengths[l];
        for (int kind = 0; kind < 3; kind++) {
            double a[300] = {0};
            double log_a[300];
            for (size_t i = 0; i < count; i++) {
                a[i] = i % 3 == 2 ? 0 : kind == 0 ? 1 + (double)(i % 2) : kind == 1 ? 0.4 : 1e-5;
                log_a[i] = log(a[i]);
            }
            for (int which = 0; which < 3; which++) {
                phl_rng first = check_stream(seed, 78);
                phl_rng second = first;
                double p[300];
                double in_place[300];
                memcpy(in_place, which == 0 ? log_a : a, sizeof in_place);
                if (which == 0) {
                    phl_log_dirichlet_draw_log(&first, log_a, count, p);
                    phl_log_dirichlet_draw_log(&second, in_place, count, in_place);
                } else if (which == 1) {
                    phl_log_dirichlet_draw(&first, a, count, p);
                    phl_log_dirichlet_draw(&second, in_place, count, in_place);
                } else {
                    phl_dirichlet_draw(&first, a, count, p);
                    phl_dirichlet_draw(&second, in_place, count, in_place);
                }
                assert_memory_equal(p, in_place, count * sizeof *p);
                double sum = 0;
                for (size_t i = 0; i < count; i++) {
                    double share = which < 2 ? exp(p[i]) : p[i];
                    assert_true(share >= 0 && (a[i] > 0 || share == 0));
                    assert_true(kind == 2 || a[i] == 0 || share > 0);
                    sum += share;
                }
                assert_true(count == 0 || fabs(sum - 1) < 1e-13);
            }
        }
    }
    phl_rng rng = check_stream(seed, 78);
    const double zero[20] = {0};
    double p[20];
    phl_dirichlet_draw(&rng, zero, 20, p);
    for (size_t i = 0; i < 20; i++) {
        assert_true(p[i] == 0);
    }
}

/* Concentrations below every double: all mass on one outcome, chosen in proportion. */
static void test_dirichlet_tiny(void **state)
{
    (void)state;
    const double log_a[4] = {-1e5, -1e5 + log(2), -INFINITY, -1e5 + log(5)};
    const double mass[4] = {1, 2, 0, 5};
    phl_rng rng = check_stream(seed, 78);
    check_bins bins;
    check_bins_discrete(&bins, 0, mass, 4, 80);
    for (int draw = 0; draw < DRAWS; draw++) {
        double log_p[4];
        phl_log_dirichlet_draw_log(&rng, log_a, 4, log_p);
        size_t winner = 0;
        size_t alive = 0;
        for (size_t i = 0; i < 4; i++) {
            alive += log_p[i] > -INFINITY;
            winner = log_p[i] > -INFINITY ? i : winner;
        }
        assert_true(alive == 1 && winner != 2 && log_p[winner] == 0);
        check_bins_add(&bins, (double)winner);
    }
    check_bins_judge(&bins, seed, "Dirichlet, log concentrations near -1e5");

    const double beside[3] = {-1e5, 0, -INFINITY};
    double log_p[3];
    phl_log_dirichlet_draw_log(&rng, beside, 3, log_p);
    assert_true(log_p[0] == -INFINITY && log_p[1] == 0 && log_p[2] == -INFINITY);
    const double zero[2] = {0, 0};
    phl_log_dirichlet_draw(&rng, zero, 2, log_p);
    assert_true(log_p[0] == -INFINITY && log_p[1] == -INFINITY);
    const double one[2] = {0, 1e-300};
    phl_log_dirichlet_draw(&rng, one, 2, log_p);
    assert_true(log_p[0] == -INFINITY && log_p[1] == 0);
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
        cmocka_unit_test(test_gamma),           cmocka_unit_test(test_beta),
        cmocka_unit_test(test_dirichlet),       cmocka_unit_test(test_dirichlet_rows),
        cmocka_unit_test(test_dirichlet_table), cmocka_unit_test(test_dirichlet_table_ends),
        cmocka_unit_test(test_dirichlet_ends),  cmocka_unit_test(test_dirichlet_tiny),
    };
    return cmocka_run_group_tests_name("dirichlet", tests, NULL, NULL) != 0;
}
