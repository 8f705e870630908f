/* test_head.c - the linear classifier: the solver at its solution, the same bits for any number of
 * threads, equal trees and weights, run files, and what is refused.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "folder.h"
#include "forests.h"
#include "head/head.h"
#include "head/logistic.h"
#include "head/packed_rows.h"
#include "model/run.h"
#include "must.h"

enum { ROWS = 6, FEATURES = 3, CLASSES = 3, NUMBERS = (FEATURES + 1) * CLASSES };

static const uint64_t first[] = {0, 1, 2, 3, 5, 7, 9};
static const uint32_t feature[] = {0, 1, 2, 0, 1, 1, 2, 0, 2};
static const double value[] = {1, 1, 1, .6, .8, .6, .8, .6, .8};
static const uint64_t first_target[] = {0, 1, 2, 3, 5, 7, 9};
static const uint32_t target[] = {0, 1, 2, 0, 1, 1, 2, 2, 2}; /* the last one twice */
static const double weight[] = {1, 2, 1, 1, 1, .5, 1, 20, 10};
static const double scale[] = {1, 1, 1, 1, 1, 1};

static phl_packed_rows pack(void)
{
    phl_packed_rows packed = {0};
    for (size_t i = 0; i < ROWS; i++) {
        must(phl_packed_rows_append(&packed, (size_t)(first[i + 1] - first[i]), feature + first[i],
                                    value + first[i], error));
    }
    return packed;
}

/* The objective and its gradient, summed up by hand. */
static double objective(const double *w, double c, double *gradient)
{
    double sum = 0.0;
    for (size_t i = 0; i < NUMBERS; i++) {
        sum += 0.5 * w[i] * w[i];
        gradient[i] = w[i];
    }
    for (size_t i = 0; i < ROWS; i++) {
        double z[CLASSES], total = 0.0, mass = 0.0, share[CLASSES] = {0};
        phl_logistic_scores(w, FEATURES, CLASSES, (size_t)(first[i + 1] - first[i]),
                            feature + first[i], value + first[i], z);
        for (size_t k = 0; k < CLASSES; k++) {
            total += exp(z[k]);
        }
        for (uint64_t j = first_target[i]; j < first_target[i + 1]; j++) {
            mass += weight[j];
            share[target[j]] += weight[j];
            sum += c * weight[j] * (log(total) - z[target[j]]);
        }
        for (size_t k = 0; k < CLASSES; k++) {
            double rest = c * (mass * exp(z[k]) / total - share[k]);
            for (uint64_t j = first[i]; j < first[i + 1]; j++) {
                gradient[feature[j] * CLASSES + k] += rest * value[j];
            }
            gradient[FEATURES * CLASSES + k] += rest;
        }
    }
    return sum;
}

/* Where the gradient is 0, and the gap says how far away the objective is at most. */
static void test_solver(void **state)
{
    (void)state;
    static const double cs[] = {0.01, 1.0, 30.0, 1000.0};
    phl_logistic *logistic = NULL;
    phl_packed_rows packed = pack();
    const phl_logistic_problem problem = {ROWS,  FEATURES,     CLASSES, &packed,
                                          scale, first_target, target,  weight};
    must(phl_logistic_create(&problem, 1, &logistic, error));
    for (size_t i = 0; i < sizeof cs / sizeof *cs; i++) {
        double gradient[NUMBERS], best, rough;
        phl_logistic *short_one = NULL;
        phl_logistic_fit fit, short_fit;
        phl_logistic_limits limits = {.tolerance = 1e-15, .most_passes = 20000};
        phl_logistic_limits few = {.tolerance = 0.0, .most_passes = 2};
        must(phl_logistic_solve(logistic, cs[i], &limits, &fit, error));
        best = objective(phl_logistic_weights(logistic), cs[i], gradient);
        for (size_t k = 0; k < NUMBERS; k++) {
            assert_true(fabs(gradient[k]) < 1e-6 * (1.0 + cs[i]));
        }
        must(phl_logistic_create(&problem, 1, &short_one, error));
        must(phl_logistic_solve(short_one, cs[i], &few, &short_fit, error));
        rough = objective(phl_logistic_weights(short_one), cs[i], gradient);
        assert_true(rough >= best - 1e-9 * (1.0 + fabs(best)));
        phl_logistic_free(short_one);
    }
    phl_logistic_free(logistic);
    phl_packed_rows_clear(&packed);
}

/* What was packed comes back, to the bit, also numbers of many bytes, empty rows and many values;
 * and so it does from rows that were joined. */
static void test_packed(void **state)
{
    (void)state;
    enum { WIDE = 1000 };
    static const uint32_t far[] = {0, 127, 128, 16383, 16384, 2097152, 300000000, 4294967294u};
    static const double values[] = {1.0, 0.1, 0.1, 1e-300, 0.3, 1.0, 2.5, 0.1};
    static uint32_t wide[WIDE], feature_back[WIDE];
    static double many[WIDE], value_back[WIDE];
    phl_packed_rows rows = {0}, joined = {0}, none = {0};
    for (size_t i = 0; i < WIDE; i++) {
        wide[i] = (uint32_t)(i * i);
        many[i] = sqrt((double)(i + 1) / 7.0);
    }
    must(phl_packed_rows_append(&rows, 8, far, values, error));
    must(phl_packed_rows_append(&rows, 0, far, values, error));
    must(phl_packed_rows_append(&rows, WIDE, wide, many, error));
    must(phl_packed_rows_join(&joined, &none, error));
    must(phl_packed_rows_join(&joined, &rows, error));
    must(phl_packed_rows_join(&joined, &rows, error));
    assert_int_equal(rows.widest, WIDE);
    assert_int_equal(joined.widest, WIDE);
    assert_int_equal(joined.n, 6);
    for (size_t i = 0; i < 6; i += 3) {
        assert_int_equal(phl_packed_rows_get(&joined, i, 1.0, feature_back, value_back), 8);
        assert_memory_equal(feature_back, far, sizeof far);
        assert_memory_equal(value_back, values, sizeof values);
        assert_int_equal(phl_packed_rows_get(&joined, i + 1, 1.0, feature_back, value_back), 0);
        assert_int_equal(phl_packed_rows_get(&joined, i + 2, 0.5, feature_back, value_back), WIDE);
        assert_memory_equal(feature_back, wide, sizeof wide);
        for (size_t j = 0; j < WIDE; j++) {
            assert_true(value_back[j] == many[j] * 0.5);
        }
    }
    phl_packed_rows_clear(&rows);
    phl_packed_rows_clear(&joined);
}

static phl_run *train(const phl_forest *forest, int threads)
{
    phl_run *run = NULL;
    phl_classifier_options options;
    phl_classifier_options_init(&options);
    options.threads = threads;
    must(phl_train_classifier(forest, &options, &run, error));
    return run;
}

static void check_same(const phl_run *a, const phl_run *b)
{
    const phl_head *one = phl_run_head(a), *other = phl_run_head(b);
    size_t n = phl_features_count(one->features);
    assert_int_equal(n, phl_features_count(other->features));
    assert_int_equal(one->n_classes, other->n_classes);
    assert_memory_equal(one->weights, other->weights,
                        (n + 1) * one->n_classes * sizeof *one->weights);
    assert_true(one->temperature == other->temperature && one->gap == other->gap);
    assert_int_equal(one->n_choices, other->n_choices);
    for (size_t i = 0; i < one->n_choices; i++) {
        const phl_head_choice *x = &one->choices[i], *y = &other->choices[i];
        assert_int_equal(x->groups, y->groups);
        assert_true(x->c == y->c && x->log_loss == y->log_loss && x->accuracy == y->accuracy &&
                    x->log_loss_se == y->log_loss_se && x->temperature == y->temperature &&
                    x->tempered_log_loss == y->tempered_log_loss);
    }
    for (size_t f = 0; f < n; f += 1 + n / 50) {
        char *text = NULL, *same = NULL;
        must(phl_features_text(one->features, f, &text, error));
        must(phl_features_text(other->features, f, &same, error));
        assert_string_equal(text, same);
        phl_free(text);
        phl_free(same);
    }
}

/* log-posteriors of all trees, [trees][K]. */
struct answers {
    double *values;
    size_t n_classes;
};

static phl_status keep(const phl_tree_at *at, const phl_classified_tree *tree, void *context,
                       phl_error *error)
{
    struct answers *answers = context;
    (void)error;
    assert_null(tree->log_likelihood);
    memcpy(answers->values + at->number * answers->n_classes, tree->log_posterior,
           answers->n_classes * sizeof *answers->values);
    return PHL_OK;
}

static double *classify(const phl_run *run, const phl_forest *forest, int threads, double *accuracy)
{
    struct answers answers = {.n_classes = phl_run_classes(run)};
    phl_source *source = NULL;
    phl_evaluation *evaluation = NULL;
    phl_classify_options options;
    answers.values =
        must_alloc(phl_forest_trees(forest) * answers.n_classes, sizeof *answers.values);
    phl_classify_options_init(&options);
    options.threads = threads;
    options.context = &answers;
    must(phl_source_forest(forest, &source, error));
    must(phl_classify(run, source, &options, keep, &evaluation, error));
    *accuracy = evaluation->best->accuracy;
    phl_evaluation_free(evaluation);
    phl_source_free(source);
    return answers.values;
}

static void test_run(void **state)
{
    (void)state;
    phl_forest *all = document_forest(1, 120), *forest = NULL, *test = NULL;
    size_t half[2][240], n_trees = phl_forest_trees(all);
    assert_int_equal(n_trees, 480);
    for (size_t t = 0; t < n_trees; t++) {
        half[t % 2][t / 2] = t;
    }
    must(phl_forest_select(all, half[0], 240, &forest, error));
    must(phl_forest_select(all, half[1], 240, &test, error));
    phl_forest_free(all);
    phl_forest *apart = unshared_copy(forest);
    phl_run *one = train(forest, 1), *many = train(forest, 5), *unshared = train(apart, 2);
    phl_run *stored = NULL;
    check_same(one, many);
    must(phl_run_save(one, in_folder("head.run"), false, error));
    must(phl_run_open(in_folder("head.run"), &stored, error));
    check_same(one, stored);
    assert_int_equal(phl_run_kind(stored), PHL_NO_KIND);
    double accuracy = 0.0, again = 0.0;
    double *a = classify(one, test, 1, &accuracy), *b = classify(stored, test, 4, &again);
    size_t n = phl_forest_trees(test) * phl_run_classes(one);
    assert_memory_equal(a, b, n * sizeof *a);
    assert_true(accuracy > 0.8 && accuracy == again);
    double *c = classify(unshared, test, 2, &again); /* its features have other numbers */
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs(a[i] - c[i]) < 1e-9);
    }
    phl_free(c);
    for (size_t i = 0; i < n; i += phl_run_classes(one)) {
        double sum = 0.0;
        for (size_t k = 0; k < phl_run_classes(one); k++) {
            sum += exp(a[i + k]);
        }
        check_close(sum, 1.0, 1e-12);
    }
    phl_free(a);
    phl_free(b);
    phl_run_free(one);
    phl_run_free(many);
    phl_run_free(unshared);
    phl_run_free(stored);
    phl_forest_free(forest);
    phl_forest_free(apart);
    phl_forest_free(test);
}

/* Trees repeated, or weighted, are as good as themselves: with C and features given. */
static void test_repeated(void **state)
{
    (void)state;
    phl_forest *forest = document_forest(1, 40), *repeated = NULL;
    const phl_forest *parts[] = {forest, forest, forest, forest};
    phl_classifier_options options;
    phl_run *once = NULL, *often = NULL;
    must(phl_forest_concat(parts, 4, &repeated, error));
    phl_classifier_options_init(&options);
    options.groups = PHL_FEATURES_ALL;
    options.c = 10.0;
    must(phl_train_classifier(forest, &options, &once, error));
    must(phl_train_classifier(repeated, &options, &often, error));
    const phl_head *a = phl_run_head(once), *b = phl_run_head(often);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(4 * a->trees, b->trees);
    size_t n = (phl_features_count(a->features) + 1) * a->n_classes;
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs(a->weights[i] - b->weights[i]) < 1e-9);
    }
    phl_run_free(once);
    phl_run_free(often);
    phl_forest_free(forest);
    phl_forest_free(repeated);
}

static void check_refused(const char *text, const char *words)
{
    phl_forest *forest = trees(text);
    phl_run *run = NULL;
    phl_error e = {0};
    assert_int_equal(phl_train_classifier(forest, NULL, &run, &e), PHL_ERR_EMPTY);
    assert_non_null(strstr(e.message, words));
    assert_null(run);
    phl_forest_free(forest);
}

static void test_refused(void **state)
{
    (void)state;
    check_refused("", "no trees");
    check_refused("x\t(a)\nx\t(b)\n", "one class");
    check_refused("x\t(a)\n(b)\n", "no class");
    phl_forest *forest = trees("x\t(a)\ny\t(b)\n");
    phl_run *run = train(forest, 1); /* two trees, two folds */
    phl_source *source = NULL;
    phl_error e = {0};
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.rule = PHL_RULE_BOTH;
    must(phl_source_forest(forest, &source, error));
    assert_int_equal(phl_classify(run, source, &options, NULL, NULL, &e), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "classifier alone"));
    options.rule = (phl_rule)17;
    assert_int_equal(phl_classify(run, source, &options, NULL, NULL, &e), PHL_ERR_ARGUMENT);
    phl_source_free(source);
    phl_forest_free(forest);
    /* A tree whose labels are all new: what every tree has decides. */
    phl_forest *new = trees("x\t(never (seen))\n");
    double accuracy = 0.0;
    double *answers = classify(run, new, 1, &accuracy);
    assert_true(isfinite(answers[0]) && isfinite(answers[1]));
    phl_free(answers);
    phl_forest_free(new);
    phl_run_free(run);
}

/* Ways to spoil a head. */
static void spoil(phl_head *head, size_t way)
{
    phl_dictionary *dictionary = &head->features->dictionary;
    phl_dictionary_subtrees *subtrees = &dictionary->subtrees;
    phl_dictionary_sequences *pairs = &dictionary->sequences[PHL_GROUP_B];
    size_t last = subtrees->n - 1;
    phl_link *link = &subtrees->links[subtrees->first_link[last]];
    static const double temperatures[] = {0.0, -1.0, INFINITY, NAN};
    switch (way) {
    case 0:
    case 1:
    case 2:
    case 3:
        head->temperature = temperatures[way];
        break;
    case 4:
        head->weights[7] = (double)NAN;
        break;
    case 5:
        head->weights[0] = (double)INFINITY;
        break;
    case 6:
        head->chosen = head->n_choices;
        break;
    case 7:
        head->features->groups = 0;
        break;
    case 8:
        head->features->groups = PHL_FEATURES_ALL + 1;
        break;
    case 9:
        head->choices[0].groups = 1000;
        break;
    case 10:
        link->child = (uint32_t)last; /* its own child */
        break;
    case 11:
        link->child = UINT32_MAX;
        break;
    case 12:
        link->slot = 0;
        break;
    case 13:
        subtrees->symbol[0] = UINT32_MAX;
        break;
    case 14:
        subtrees->symbol[0] = PHL_SYMBOL_BORDER; /* no node */
        break;
    case 15:
        subtrees->first_link[1] = UINT64_MAX;
        break;
    case 16:
        pairs->symbols[0] = UINT32_MAX;
        break;
    case 17: /* one feature twice */
        memcpy(pairs->symbols + pairs->length, pairs->symbols,
               pairs->length * sizeof *pairs->symbols);
        break;
    default:
        fail();
    }
}

/* A file whose sums are right but whose head makes no sense is refused by whoever reads it: the one
 * that has written it is the first. */
static void test_spoiled(void **state)
{
    (void)state;
    enum { WAYS = 18 };
    phl_forest *forest = document_forest(1, 20);
    for (size_t way = 0; way < WAYS; way++) {
        phl_run *run = train(forest, 1);
        phl_error e = {0};
        spoil(run->head, way);
        if (phl_run_save(run, in_folder("spoiled.run"), false, &e) == PHL_OK) {
            fail_msg("way %zu was taken", way);
        }
        if (strstr(e.message, "of the classifier") == NULL) {
            fail_msg("way %zu: %s", way, e.message);
        }
        assert_true(access(in_folder("spoiled.run"), F_OK) != 0);
        phl_run_free(run);
    }
    phl_forest_free(forest);
}

/* What diagnose says of a head with these figures of its cross-validation. */
static void check_diagnosis(const phl_run *run, size_t n_findings, bool trouble, const char *says)
{
    phl_diagnosis diagnosis = {0};
    must(phl_diagnose(run, NULL, &diagnosis, error));
    assert_int_equal(diagnosis.n_classes, 0);
    assert_true(diagnosis.head.there);
    assert_int_equal(diagnosis.trouble, trouble);
    assert_int_equal(diagnosis.head.trouble, trouble);
    assert_int_equal(diagnosis.head.n_findings, n_findings);
    assert_string_equal(diagnosis.summary, diagnosis.head.summary);
    assert_non_null(strstr(diagnosis.summary, trouble ? "trouble" : "fine"));
    if (says != NULL) {
        assert_non_null(strstr(diagnosis.head.findings[0].text, says));
        assert_true(diagnosis.head.findings[0].trouble == trouble);
    }
    phl_diagnosis_clear(&diagnosis);
}

/* Two classes of equal share: 50 % and log 2 nats need no tree. */
static void test_diagnosis(void **state)
{
    (void)state;
    phl_forest *forest = trees("x\t(a (b))\nx\t(a (b) (b))\nx\t(a (b) (c))\nx\t(a (c) (b))\n"
                               "y\t(d (b))\ny\t(d (b) (b))\ny\t(d (b) (c))\ny\t(d (c) (b))\n");
    phl_run *run = train(forest, 1);
    phl_head_choice *choice = &run->head->choices[run->head->chosen];
    phl_head_choice good = *choice;
    run->head->trees = 10000;
    good.accuracy = 0.9;
    good.tempered_log_loss = 0.3;
    good.calibration_error = 0.055; /* 0.05, and 0.01 for chance */
    *choice = good;
    check_diagnosis(run, 0, false, NULL);
    choice->calibration_error = 0.065;
    check_diagnosis(run, 1, true, "0.065 from the shares of right answers");
    *choice = good;
    choice->accuracy = 0.5;
    check_diagnosis(run, 1, true, "50.00 % and 0.6931");
    *choice = good;
    choice->tempered_log_loss = 0.7;
    check_diagnosis(run, 1, true, "log-loss of 0.7000");
    *choice = good;
    run->head->gap = 0.01;
    check_diagnosis(run, 1, true, "0.01 nats a tree from the best one");
    run->head->gap = (double)NAN;
    check_diagnosis(run, 1, true, "from the best one");
    run->head->gap = 1e-5;
    run->head->n_choices = 0;
    check_diagnosis(run, 1, false, "no cross-validation");
    phl_run_free(run);
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solver),  cmocka_unit_test(test_packed),
        cmocka_unit_test(test_run),     cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_diagnosis),
        cmocka_unit_test(test_spoiled),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
