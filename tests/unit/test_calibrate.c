/* test_calibrate.c - a head beside models: weights and priors against search by hand, rules, the
 * same bits for any number of threads, folds, and facts that make no sense.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "folder.h"
#include "forests.h"
#include "grammar/calibration.h"
#include "model/calibrated.h"
#include "must.h"
#include "runs.h"
#include "train/train_head.h"

enum { TREES = 60, CLASSES = 3 };

/* Opinions that know something, each of its own, and are too sure. */
static void make_opinions(double a[TREES][CLASSES], double b[TREES][CLASSES], int32_t *class_of)
{
    for (int t = 0; t < TREES; t++) {
        class_of[t] = t % 7 % 3;
        for (int c = 0; c < CLASSES; c++) {
            a[t][c] = (c == class_of[t] ? 2.0 : 0.0) + 4.0 * sin(t * 7.0 + c * 3.0);
            b[t][c] = (c == class_of[t] ? 1.0 : 0.0) + 1.5 * cos(t * 5.0 + c * 11.0);
        }
    }
}

/* What is made largest, summed up by hand. */
static double value_of(double a[TREES][CLASSES], double b[TREES][CLASSES], const int32_t *class_of,
                       const double *weight, const double doubt[2], double u, double v)
{
    double sum = -0.5 * ((u - 0.5) * (u - 0.5) + (v - 0.5) * (v - 0.5));
    sum -= log(1.0 + exp(u * doubt[0] + v * doubt[1])); /* the tree that is imagined */
    for (int t = 0; t < TREES; t++) {
        double all = 0.0;
        for (int c = 0; c < CLASSES; c++) {
            all += exp(u * a[t][c] + v * b[t][c]);
        }
        sum += weight[t] * (u * a[t][class_of[t]] + v * b[t][class_of[t]] - log(all));
    }
    return sum;
}

static void check_blend(double a[TREES][CLASSES], double b[TREES][CLASSES], const int32_t *class_of,
                        const double doubt[2])
{
    double weight[TREES], weights[2], room[3 * CLASSES], log_prior[CLASSES] = {0};
    for (int t = 0; t < TREES; t++) {
        weight[t] = 1.0 + t % 3;
    }
    phl_calibration_data data = {TREES, CLASSES, a[0], class_of, weight, log_prior, 0.0};
    phl_calibration_blend(&data, a[0], b[0], doubt, weights, room);
    double found = value_of(a, b, class_of, weight, doubt, weights[0], weights[1]),
           best = -INFINITY;
    for (int i = 0; i <= 200; i++) {
        for (int j = 0; j <= 200; j++) {
            best = fmax(best, value_of(a, b, class_of, weight, doubt, i / 100.0, j / 100.0));
        }
    }
    assert_true(weights[0] >= 0.0 && weights[1] >= 0.0);
    assert_true(found >= best - 1e-6);
}

static void test_blend(void **state)
{
    (void)state;
    double a[TREES][CLASSES], b[TREES][CLASSES], against[TREES][CLASSES];
    int32_t class_of[TREES];
    make_opinions(a, b, class_of);
    for (int t = 0; t < TREES; t++) { /* the best weight is below 0: it becomes 0 */
        for (int c = 0; c < CLASSES; c++) {
            against[t][c] = -a[t][c];
        }
    }
    static const double doubts[][2] = {{0.0, 0.0}, {3.0, 0.5}, {20.0, 40.0}};
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++) {
        check_blend(a, b, class_of, doubts[i]);
        check_blend(b, a, class_of, doubts[i]);
        check_blend(against, b, class_of, doubts[i]);
        check_blend(b, against, class_of, doubts[i]);
    }
}

/* Trees that are all right do not make a temperature small; trees repeated count as weights do. */
static void test_doubt(void **state)
{
    (void)state;
    enum { RIGHT = 40, TIMES = 16 };
    double score[TIMES * RIGHT][CLASSES], weight[TIMES * RIGHT], room[2 * TIMES * RIGHT], best;
    double log_prior[CLASSES] = {0};
    int32_t class_of[TIMES * RIGHT];
    for (int t = 0; t < TIMES * RIGHT; t++) {
        int c = t % CLASSES;
        class_of[t] = c;
        weight[t] = t < RIGHT ? 1.0 : 0.0;
        score[t][c] = 0.0;
        score[t][(c + 1) % CLASSES] = -(t % RIGHT + 1.0) * 2.0; /* 2, 4, ... 80 nats below */
        score[t][(c + 2) % CLASSES] = -1000.0;
    }
    phl_calibration_data data = {TIMES * RIGHT, CLASSES,   score[0], class_of,
                                 weight,        log_prior, 0.0};
    assert_true(phl_calibration_fit(&data, &best) == 0.5); /* as low as it goes */
    data.doubt = phl_calibration_doubt(&data, score[0], room);
    check_close(data.doubt, 10.0, 0.0); /* four of forty are closer */
    double temperature = phl_calibration_fit(&data, &best), lowest = INFINITY, searched = 0.0;
    for (double tried = 0.5; tried < 64.0; tried *= 1.01) {
        double loss = log(1.0 + exp(data.doubt / tried));
        for (int t = 0; t < RIGHT; t++) {
            loss += log(1.0 + exp(-2.0 * (t + 1) / tried) + exp(-1000.0 / tried));
        }
        searched = loss < lowest ? tried : searched;
        lowest = fmin(lowest, loss);
    }
    assert_true(searched > 2.0);
    check_close(log(temperature), log(searched), 0.04);
    check_close(best, -lowest / (RIGHT + 1), 1e-3);
    for (int t = 0; t < RIGHT; t++) {
        weight[t] = TIMES;
    }
    double by_weight = phl_calibration_doubt(&data, score[0], room);
    double weighted = phl_calibration_fit(&data, &best);
    for (int t = 0; t < TIMES * RIGHT; t++) {
        class_of[t] = class_of[t % RIGHT];
        memcpy(score[t], score[t % RIGHT], sizeof score[t]);
        weight[t] = 1.0;
    }
    check_close(phl_calibration_doubt(&data, score[0], room), by_weight, 0.0);
    check_close(phl_calibration_fit(&data, &best), weighted, 1e-12);
    data.n = 0;
    check_close(phl_calibration_doubt(&data, score[0], room), 0.0, 0.0);
    check_close(phl_calibration_fit(&data, &best), 1.0, 0.0);
}

/* The prior that was learned expects the classes as often as they are there, but for the one tree
 * of the prior before. */
static void test_prior(void **state)
{
    (void)state;
    double a[TREES][CLASSES], b[TREES][CLASSES], weight[TREES], room[3 * CLASSES];
    double log_prior[CLASSES] = {0}, learned[CLASSES];
    double there[CLASSES] = {0}, expected[CLASSES] = {0};
    int32_t class_of[TREES];
    make_opinions(a, b, class_of);
    for (int t = 0; t < TREES; t++) {
        weight[t] = 1.0;
        there[class_of[t]] += 1.0;
    }
    phl_calibration_data data = {TREES, CLASSES, a[0], class_of, weight, log_prior, 0.0};
    phl_calibration_learn_prior(&data, 2.0, learned, room);
    for (int t = 0; t < TREES; t++) {
        double all = 0.0;
        for (int c = 0; c < CLASSES; c++) {
            all += exp(learned[c] + a[t][c] / 2.0);
        }
        for (int c = 0; c < CLASSES; c++) {
            expected[c] += exp(learned[c] + a[t][c] / 2.0) / all;
        }
    }
    for (int c = 0; c < CLASSES; c++) {
        check_close(expected[c], there[c], 1e-2);
    }
}

static phl_run *train(const phl_forest *forest, phl_kind kind, int threads, const uint32_t *fold)
{
    phl_train_options options = train_options(kind, 2, 4);
    phl_run *run = NULL;
    options.per_class = true;
    options.head = PHL_HEAD_LINEAR;
    options.restarts = options.chains = 2;
    options.beta = 1.0; /* a smaller one takes more than four iterations to learn anything */
    options.threads = threads;
    options.fold = fold;
    options.n_folds = fold == NULL ? 0 : 3;
    must(phl_train(forest, &options, &run, error));
    return run;
}

static double accuracy_of(const phl_run *run, const phl_forest *forest, phl_rule rule)
{
    phl_source *source = NULL;
    phl_evaluation *evaluation = NULL;
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.rule = rule;
    must(phl_source_forest(forest, &source, error));
    must(phl_classify(run, source, &options, NULL, &evaluation, error));
    double accuracy = evaluation->best->accuracy;
    assert_true(isfinite(evaluation->log_loss));
    phl_evaluation_free(evaluation);
    phl_source_free(source);
    return accuracy;
}

static void test_beside(void **state)
{
    (void)state;
    static const phl_kind kinds[] = {PHL_SP, PHL_TF, PHL_GRAMMAR};
    phl_forest *forest = document_forest(3, 40);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        phl_run *one = train(forest, kinds[i], 1, NULL), *many = train(forest, kinds[i], 4, NULL);
        for (size_t r = 0; r < one->n_trace; r++) {
            one->trace[r].seconds = many->trace[r].seconds = 0.0;
        }
        assert_non_null(one->head);
        if (kinds[i] != PHL_GRAMMAR) { /* whose tables difference() does not know */
            assert_null(difference(one, many));
        }
        assert_string_equal(phl_run_meta(one, "held_out"), phl_run_meta(many, "held_out"));
        assert_string_equal(phl_run_meta(one, "rule_weights"), phl_run_meta(many, "rule_weights"));
        save(one, in_folder("both.run"));
        phl_run *stored = open_run(in_folder("both.run"));
        assert_non_null(stored->head);
        for (int rule = PHL_RULE_DEFAULT; rule <= PHL_RULE_BOTH; rule++) {
            double accuracy = accuracy_of(one, forest, (phl_rule)rule);
            assert_true(accuracy > 0.4); /* of 4 classes */
            assert_true(accuracy == accuracy_of(stored, forest, (phl_rule)rule));
        }
        phl_calibrated how;
        must(phl_calibrated_restore(stored, &how, error));
        assert_int_equal(how.trees, 16);
        assert_true(how.rule != PHL_RULE_DEFAULT);
        for (int rule = PHL_RULE_GENERATIVE; rule <= PHL_RULE_BOTH; rule++) {
            assert_true(how.figures[rule].log_loss > 0.0 && how.figures[rule].accuracy <= 1.0);
        }
        phl_calibrated_clear(&how);
        phl_run_free(one);
        phl_run_free(many);
        phl_run_free(stored);
    }
    phl_forest_free(forest);
}

/* Folds that are given are kept, for whoever resumes. */
static void test_folds(void **state)
{
    (void)state;
    phl_forest *forest = document_forest(3, 10);
    uint32_t fold[40], *kept = NULL;
    size_t n_folds = 0;
    phl_error failure = {0};
    for (size_t t = 0; t < 40; t++) {
        fold[t] = (uint32_t)(t / 4 % 3);
    }
    phl_run *run = train(forest, PHL_SP, 1, fold);
    must(phl_train_head_restore_folds(run, 40, &kept, &n_folds, error));
    assert_int_equal(n_folds, 3);
    assert_memory_equal(kept, fold, sizeof fold);
    phl_free(kept);
    assert_int_equal(run->head->n_folds, 3);
    static const char *const bad[] = {"", "0 1", "0 x 1", "-1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        must(phl_run_set_meta(run, "folds", bad[i], error));
        assert_int_equal(phl_train_head_restore_folds(run, 40, &kept, &n_folds, &failure),
                         PHL_ERR_SYNTAX);
    }
    phl_run_free(run);
    phl_forest_free(forest);
}

/* Facts of a hostile file are numbers that can be used, or passed over. */
static void test_facts(void **state)
{
    (void)state;
    static const char *const keys[] = {"temperature", "class_prior",  "log_prior",
                                       "rule",        "rule_weights", "held_out"};
    static const char *const bad[] = {"",     "nan nan", "inf", "-1",        "1e999", "learned",
                                      "0 -1", "1 2 3",   "x",   "1 2 3 4 5", "both"};
    phl_forest *forest = document_forest(3, 12);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        phl_run *run = train(forest, PHL_SP, 1, NULL);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            must(phl_run_set_meta(run, keys[k], bad[i], error));
            for (int rule = PHL_RULE_DEFAULT; rule <= PHL_RULE_BOTH; rule++) {
                (void)accuracy_of(run, forest, (phl_rule)rule);
            }
        }
        phl_run_free(run);
    }
    phl_forest_free(forest);
}

static void test_refused(void **state)
{
    (void)state;
    phl_forest *one = trees("a\t(x)\na\t(y)\n");
    phl_train_options options = train_options(PHL_SP, 2, 2);
    phl_run *run = NULL;
    phl_error error = {0};
    options.head = PHL_HEAD_LINEAR;
    assert_int_equal(phl_train(one, &options, &run, &error), PHL_ERR_ARGUMENT);
    options.per_class = true;
    assert_int_equal(phl_train(one, &options, &run, &error), PHL_ERR_EMPTY);
    assert_non_null(strstr(error.message, "one class"));
    options.head = (phl_head_kind)7;
    assert_int_equal(phl_train(one, &options, &run, &error), PHL_ERR_ARGUMENT);
    options.head = PHL_HEAD_NONE;
    options.per_class = false;
    options.calibrate = true;
    assert_int_equal(phl_train(one, &options, &run, &error), PHL_ERR_ARGUMENT);
    phl_forest_free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blend),   cmocka_unit_test(test_doubt), cmocka_unit_test(test_prior),
        cmocka_unit_test(test_beside),  cmocka_unit_test(test_folds), cmocka_unit_test(test_facts),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("calibrate", tests, make_folder, remove_folder);
}
