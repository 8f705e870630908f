/* test_measures.c - evaluations against figures computed by hand. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "must.h"
#include "task/measures.h"

static void add_name(phl_alphabet *names, const char *name)
{
    int32_t number;
    assert_int_equal(phl_alphabet_add(names, name, strlen(name), &number, NULL), PHL_OK);
}

static void add(phl_measures *measures, size_t truth, size_t predicted, int times)
{
    phl_item item = {truth, predicted, SIZE_MAX, 0.5, -1.0, 0.5};
    for (int i = 0; i < times; i++) {
        phl_measures_add(measures, 0, &item);
    }
}

/* H2 of a coin. */
static double coin(double p)
{
    return -(p * log2(p) + (1 - p) * log2(1 - p));
}

/* Names a, b and c, which is neither true nor predicted. */
static void test_by_hand(void **state)
{
    (void)state;
    phl_alphabet names = {0};
    add_name(&names, "a");
    add_name(&names, "b");
    add_name(&names, "c");
    phl_measures measures;
    phl_evaluation *e = NULL;
    assert_int_equal(phl_measures_init(&measures, 3, 1, false, NULL), PHL_OK);
    add(&measures, 0, 0, 3);
    add(&measures, 0, 1, 1);
    add(&measures, 1, 0, 2);
    add(&measures, 1, 1, 2);
    assert_int_equal(phl_measures_finish(&measures, &names, &e, NULL), PHL_OK);
    assert_int_equal(e->n, 8);
    assert_int_equal(e->unseen, 0);
    assert_int_equal(e->n_names, 3);
    check_close(e->best->accuracy, 5.0 / 8, 1e-15);
    assert_null(e->drawn);
    check_close(e->best->entropy_bits, (5 * coin(0.4) + 3 * coin(1.0 / 3)) / 8, 1e-14);
    check_close(e->predictive_entropy_bits, 0.5, 1e-15);
    check_close(e->log_loss, 1.0, 1e-15);
    static const uint64_t expected[9] = {3, 1, 0, 2, 2, 0, 0, 0, 0};
    assert_memory_equal(e->best->counts, expected, sizeof expected);
    assert_string_equal(e->names[1], "b");
    assert_int_equal(e->best->measures[0].n, 4);
    assert_int_equal(e->best->measures[0].predicted, 5);
    check_close(e->best->measures[0].accuracy, 0.75, 1e-15);
    check_close(e->best->measures[1].accuracy, 0.5, 1e-15);
    check_close(e->best->measures[0].entropy_bits, coin(0.4), 1e-14);
    check_close(e->best->measures[1].entropy_bits, coin(1.0 / 3), 1e-14);
    assert_int_equal(e->best->measures[2].n, 0);
    assert_true(isnan(e->best->measures[2].accuracy));
    assert_true(e->best->measures[2].entropy_bits == 0.0);
    phl_evaluation_free(e);
    phl_measures_clear(&measures);
    phl_alphabet_clear(&names);
}

/* A truth that cannot be predicted is wrong, costs its own loss, and has a row but no predictions.
 */
static void test_unseen(void **state)
{
    (void)state;
    phl_alphabet names = {0};
    add_name(&names, "a");
    phl_measures measures;
    phl_evaluation *e = NULL;
    assert_int_equal(phl_measures_init(&measures, 1, 1, true, NULL), PHL_OK);
    phl_item known = {0, 0, 0, 0.0, log(0.5), 0.5};
    phl_item unseen = {SIZE_MAX, 0, 0, 1.0, log(0.25), 0.5};
    phl_item no_loss = {SIZE_MAX, 0, SIZE_MAX, 1.0, (double)NAN, 0.5};
    phl_measures_add(&measures, 0, &known);
    phl_measures_add(&measures, 0, &unseen);
    phl_measures_add(&measures, 0, &no_loss);
    assert_int_equal(phl_measures_finish(&measures, &names, &e, NULL), PHL_OK);
    assert_int_equal(e->n, 3);
    assert_int_equal(e->unseen, 2);
    assert_int_equal(e->n_names, 2);
    assert_null(e->names[1]);
    static const uint64_t expected[4] = {1, 0, 2, 0};
    assert_memory_equal(e->best->counts, expected, sizeof expected);
    check_close(e->best->accuracy, 1.0 / 3, 1e-15);
    check_close(e->drawn->accuracy, 0.5, 1e-15);
    static const uint64_t drawn[4] = {1, 0, 1, 0};
    assert_memory_equal(e->drawn->counts, drawn, sizeof drawn);
    check_close(e->drawn->entropy_bits, 1.0, 1e-15);
    assert_true(e->drawn->measures[0].accuracy == 1.0 && e->drawn->measures[1].n == 1);
    check_close(e->log_loss, (log(2.0) + log(4.0)) / 2, 1e-15);
    check_close(e->predictive_entropy_bits, 2.0 / 3, 1e-15);
    check_close(e->best->entropy_bits, coin(1.0 / 3), 1e-14);
    assert_true(e->best->measures[1].accuracy == 0.0);
    phl_evaluation_free(e);

    assert_int_equal(phl_measures_init(&measures, 1, 1, false, NULL), PHL_OK);
    phl_item impossible = {0, 0, SIZE_MAX, 0.0, -(double)INFINITY, 0.5};
    phl_measures_add(&measures, 0, &impossible);
    assert_int_equal(phl_measures_finish(&measures, &names, &e, NULL), PHL_OK);
    assert_true(isinf(e->log_loss) && e->log_loss > 0);
    phl_evaluation_free(e);
    phl_measures_clear(&measures);
    phl_alphabet_clear(&names);
}

static void test_empty(void **state)
{
    (void)state;
    phl_alphabet names = {0};
    phl_measures measures;
    phl_evaluation *e = NULL;
    assert_int_equal(phl_measures_init(&measures, 0, 1, false, NULL), PHL_OK);
    assert_int_equal(phl_measures_finish(&measures, &names, &e, NULL), PHL_OK);
    assert_true(e->n == 0 && e->n_names == 0);
    assert_true(isnan(e->best->accuracy) && isnan(e->best->entropy_bits) && isnan(e->log_loss) &&
                isnan(e->predictive_entropy_bits) && e->drawn == NULL);
    phl_evaluation_free(e);
    phl_evaluation_free(NULL);
    phl_measures_clear(&measures);
}

/* Parts merged in order are the whole, to the bit where no sum is split. */
static void test_merge(void **state)
{
    (void)state;
    phl_measures whole, first, second;
    assert_int_equal(phl_measures_init(&whole, 2, 1, false, NULL), PHL_OK);
    assert_int_equal(phl_measures_init(&first, 2, 1, false, NULL), PHL_OK);
    assert_int_equal(phl_measures_init(&second, 2, 1, false, NULL), PHL_OK);
    add(&whole, 0, 1, 2);
    add(&whole, SIZE_MAX, 0, 3);
    add(&first, 0, 1, 2);
    add(&second, SIZE_MAX, 0, 3);
    phl_measures_merge(&first, &second);
    assert_memory_equal(whole.best, first.best, 9 * sizeof *whole.best);
    const phl_measure_sums *a = &whole.parts[0], *b = &first.parts[0];
    assert_true(a->n == b->n && a->loss == b->loss && a->n_loss == b->n_loss);
    assert_true(a->right == b->right && a->entropy_bits == b->entropy_bits);
    phl_measures_clear(&whole);
    phl_measures_clear(&first);
    phl_measures_clear(&second);
}

/* Parts are pooled, each by its items: however they are mixed, to the bit. */
static void test_parts(void **state)
{
    (void)state;
    phl_alphabet names = {0};
    add_name(&names, "a");
    add_name(&names, "b");
    phl_evaluation *e[2] = {NULL, NULL};
    for (int mixed = 0; mixed < 2; mixed++) {
        phl_measures measures;
        assert_int_equal(phl_measures_init(&measures, 2, 3, false, NULL), PHL_OK);
        for (size_t i = 0; i < 70; i++) {
            /* 49 items of part 0 and 21 of part 2, in turn or one after the other */
            size_t part = mixed == 1 ? (i % 10 < 7 ? 0 : 2) : (i < 49 ? 0 : 2);
            size_t number = mixed == 1
                                ? i / 10 * (part == 0 ? 7 : 3) + (part == 0 ? i % 10 : i % 10 - 7)
                                : (part == 0 ? i : i - 49);
            phl_item item = {
                number % 2, 0, SIZE_MAX, 0.1 * (double)number, -0.3 * (double)(number + part), 0.5};
            phl_measures_add(&measures, part, &item);
        }
        assert_int_equal(phl_measures_finish(&measures, &names, &e[mixed], NULL), PHL_OK);
    }
    assert_true(e[0]->n == 70);
    check_close(e[0]->best->accuracy, (25.0 + 11.0) / 70, 1e-15);
    check_close(e[0]->predictive_entropy_bits, 0.1 * (49.0 * 24 + 21 * 10) / 70, 1e-14);
    assert_memory_equal(&e[0]->best->accuracy, &e[1]->best->accuracy, sizeof(double));
    assert_memory_equal(&e[0]->predictive_entropy_bits, &e[1]->predictive_entropy_bits,
                        sizeof(double));
    assert_memory_equal(&e[0]->log_loss, &e[1]->log_loss, sizeof(double));
    phl_evaluation_free(e[0]);
    phl_evaluation_free(e[1]);
    phl_alphabet_clear(&names);
}

/* What stands beside an accuracy: figures by hand, and by R's prop.test without correction. */
static void test_standing(void **state)
{
    (void)state;
    double low, high;
    phl_alphabet names = {0};
    phl_measures measures;
    phl_evaluation *e = NULL;
    int32_t number;
    must(phl_alphabet_add(&names, "a", 1, &number, error));
    must(phl_alphabet_add(&names, "b", 1, &number, error));
    must(phl_measures_init(&measures, 2, 1, false, error));
    /* truth, predicted, p: bins 13 (0.9), 10 (0.7), 14 (1.0) */
    static const struct {
        size_t truth, predicted;
        double p;
    } items[] = {{0, 0, 0.9}, {0, 0, 0.9}, {0, 1, 0.7}, {1, 1, 0.7}, {0, 0, 1.0}};
    for (size_t i = 0; i < 5; i++) {
        phl_item item = {items[i].truth, items[i].predicted, SIZE_MAX, 0.0, -0.1, items[i].p};
        phl_measures_add(&measures, 0, &item);
    }
    must(phl_measures_finish(&measures, &names, &e, error));
    check_close(e->largest_share, 0.8, 1e-15);
    check_close(e->balanced_accuracy, (0.75 + 1.0) / 2, 1e-15);
    check_close(e->calibration_error, (fabs(2 - 1.8) + fabs(1 - 1.4) + 0.0) / 5, 1e-12);
    check_close(e->accuracy_low, 0.37553, 1e-4);
    check_close(e->accuracy_high, 0.96379, 1e-4);
    phl_evaluation_free(e);
    phl_alphabet_clear(&names);
    phl_measures_interval(0.0, 10, &low, &high);
    check_close(low, 0.0, 1e-15);
    check_close(high, 0.27754, 1e-4);
    phl_measures_interval(1.0, 10, &low, &high);
    check_close(low, 1 - 0.27754, 1e-4);
    phl_measures_interval(0.5, 0, &low, &high);
    assert_true(isnan(low) && isnan(high));
}

static void test_mean_sd(void **state)
{
    (void)state;
    double mean, sd;
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    phl_mean_sd(values, 8, &mean, &sd);
    check_close(mean, 5.0, 1e-15);
    check_close(sd, sqrt(32.0 / 7), 1e-15);
    phl_mean_sd(values, 1, &mean, &sd);
    assert_true(mean == 2.0 && sd == 0.0);
    phl_mean_sd(values, 0, &mean, &sd);
    assert_true(isnan(mean) && isnan(sd));
}

static void test_entropy(void **state)
{
    (void)state;
    const double sure[] = {0, 1, 0}, even[] = {0.25, 0.25, 0.25, 0.25};
    assert_true(phl_measures_entropy_bits(sure, 3) == 0.0);
    check_close(phl_measures_entropy_bits(even, 4), 2.0, 1e-15);
    assert_true(phl_measures_entropy_bits(NULL, 0) == 0.0);
    const double logs[] = {log(0.5), -(double)INFINITY, log(0.25), log(0.25)};
    check_close(phl_measures_entropy_bits_of_logs(logs, 4), 1.5, 1e-15);
    static const uint64_t counts[9] = {3, 1, 0, 2, 2, 0, 0, 0, 0};
    check_close(phl_confusion_entropy(counts, 3, 0), coin(0.4), 1e-14);
    check_close(phl_confusion_entropy(counts, 3, SIZE_MAX), (5 * coin(0.4) + 3 * coin(1.0 / 3)) / 8,
                1e-14);
    assert_true(isnan(phl_confusion_entropy(counts, 3, 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand), cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_empty),   cmocka_unit_test(test_merge),
        cmocka_unit_test(test_parts),   cmocka_unit_test(test_mean_sd),
        cmocka_unit_test(test_entropy), cmocka_unit_test(test_standing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
