/* test_evaluate.c - folds, read and dealt, and cross-validation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "forest/copy.h"
#include "formats.h"
#include "models.h"
#include "task_models.h"

/* ---- Folds ----------------------------------------------------------------------------------- */

/* Read `text` as folds of n trees; the message of the error is left in *e. */
static phl_status read_folds(const char *text, size_t n, uint32_t *fold, size_t *n_folds,
                             phl_error *e)
{
    char path[] = "/tmp/phloem-folds-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(write(file, text, strlen(text)) == (ssize_t)strlen(text));
    assert_int_equal(close(file), 0);
    memset(e, 0, sizeof *e);
    phl_status status = phl_folds_read(path, n, fold, n_folds, e);
    assert_int_equal(unlink(path), 0);
    return status;
}

static void test_read_folds(void **state)
{
    (void)state;
    uint32_t fold[5];
    size_t n_folds = 0;
    phl_error e;
    assert_int_equal(read_folds("# folds\n3 1\n\n 2\t5 \r\n4", 5, fold, &n_folds, &e), PHL_OK);
    static const uint32_t expected[5] = {0, 1, 0, 2, 1};
    assert_true(n_folds == 3);
    assert_memory_equal(fold, expected, sizeof expected);

    static const struct {
        const char *text, *message;
        uint64_t line, column;
    } bad[] = {
        {"1 2\n3 x4\n", "found x4, expected the number of a tree", 2, 3},
        {"1 2\n-3 4\n", "found -3, expected the number of a tree", 2, 1},
        {"1 2\n0 3 4 5\n", "tree 0, expected 1 to 5", 2, 1},
        {"1 2\n3 6\n", "tree 6, expected 1 to 5", 2, 3},
        {"1 99999999999999999999999999\n", "tree 99999999999999999999999999, expected 1 to 5", 1,
         3},
        {"1 2\n3 1 4 5\n", "tree 1 again: it is in test fold 1 already", 2, 3},
        {"1 2\n4 5\n", "1 of 5 trees are in no test fold, the first is tree 3", 0, 0},
        {"", "5 of 5 trees are in no test fold, the first is tree 1", 0, 0},
        {"1 2 3 4 5\n", "1 test fold, expected at least 2", 0, 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(read_folds(bad[i].text, 5, fold, &n_folds, &e), PHL_ERR_SYNTAX);
        assert_string_equal(e.message, bad[i].message);
        assert_true(e.line == bad[i].line && e.column == bad[i].column && e.file[0] != '\0');
        assert_memory_equal(fold, expected, sizeof expected); /* untouched */
    }
    assert_int_equal(phl_folds_read("/nowhere/folds", 5, fold, &n_folds, &e), PHL_ERR_OPEN);
}

static phl_forest *classed(const size_t *sizes, size_t n_classes)
{
    phl_builder *builder = new_builder(false);
    shape single = {.size = 1, .slot = {1}};
    for (size_t c = 0; c < n_classes; c++) {
        for (size_t i = 0; i < sizes[c]; i++) {
            add_tree(builder, &single, &letter[c], 1, letter[c]);
        }
    }
    return finish_forest(builder);
}

static void test_make_folds(void **state)
{
    (void)state;
    static const size_t sizes[3] = {17, 40, 3};
    phl_forest *forest = classed(sizes, 3);
    uint32_t fold[60], again[60], other[60];
    must(phl_folds_make(forest, 7, 1, fold, error));
    must(phl_folds_make(forest, 7, 1, again, error));
    must(phl_folds_make(forest, 7, 2, other, error));
    assert_memory_equal(fold, again, sizeof fold);
    assert_memory_not_equal(fold, other, sizeof fold);
    size_t count[7] = {0}, by_class[3][7] = {{0}};
    for (size_t t = 0; t < 60; t++) {
        assert_true(fold[t] < 7);
        count[fold[t]]++;
        by_class[phl_tree_class(forest, t)][fold[t]]++;
    }
    for (size_t f = 0; f < 7; f++) {
        assert_true(count[f] == 8 || count[f] == 9);
        for (size_t c = 0; c < 3; c++) {
            assert_true(by_class[c][f] == sizes[c] / 7 || by_class[c][f] == sizes[c] / 7 + 1);
        }
    }
    phl_error e;
    assert_int_equal(phl_folds_make(forest, 1, 1, fold, &e), PHL_ERR_ARGUMENT);
    assert_int_equal(phl_folds_make(forest, 61, 1, fold, &e), PHL_ERR_ARGUMENT);
    phl_forest_free(forest);
}

/* ---- Cross-validation ------------------------------------------------------------------------ */

struct watched {
    size_t calls, finished, cancel_after;
};

static void watch(const phl_evaluate_progress *progress, void *context)
{
    struct watched *watched = context;
    watched->calls++;
    watched->finished += progress->training == NULL;
    assert_true(progress->choice < progress->choices && progress->fold < progress->folds);
}

static bool stop(void *context)
{
    const struct watched *watched = context;
    return watched->cancel_after > 0 && watched->calls >= watched->cancel_after;
}

/* Of sp, a model for each class. */
static phl_train_options plain_training(void)
{
    phl_train_options train;
    phl_train_options_init(&train);
    train.kind = PHL_SP;
    train.per_class = true;
    return train;
}

static void test_cross_validate(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(42, 20);
    static const uint32_t states[] = {1, 3, 2};
    phl_train_options train = plain_training();
    phl_evaluate_options options;
    phl_evaluate_options_init(&options);
    options.train = &train;
    struct watched watched = {0};
    train.iterations = 5;
    options.states = states;
    options.n_states = 3;
    options.n_folds = 4;
    options.progress = watch;
    options.cancel = stop;
    options.context = &watched;
    phl_cross_validation *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        phl_cross_validation *cv = NULL;
        train.threads = threads;
        must(phl_cross_validate(forest, &options, &cv, error));
        assert_true(cv->per_class && cv->n_folds == 4 && cv->n_choices == 3);
        for (size_t i = 0; i < 3; i++) {
            const phl_choice_result *choice = &cv->choices[i];
            double accuracy[4], mean, sd;
            uint64_t trees = 0;
            assert_true(choice->states == states[i] && choice->pooled->n == 60);
            for (size_t f = 0; f < 4; f++) {
                accuracy[f] = choice->folds[f].accuracy;
                trees += choice->folds[f].trees;
                assert_true(choice->folds[f].trees == 15);
                assert_true(isfinite(choice->folds[f].log_likelihood_per_node));
            }
            phl_mean_sd(accuracy, 4, &mean, &sd);
            assert_true(choice->accuracy_mean == mean && choice->accuracy_sd == sd);
            assert_true(trees == 60);
            check_close(choice->pooled->best->accuracy, mean, 1e-12); /* folds of one size */
            assert_true(cv->choices[cv->winner].accuracy_mean >= mean);
            if (threads > 1) {
                assert_true(choice->accuracy_mean == first->choices[i].accuracy_mean &&
                            choice->log_loss_mean == first->choices[i].log_loss_mean &&
                            choice->log_likelihood_mean == first->choices[i].log_likelihood_mean);
            }
        }
        /* The classes differ in size: shapes alone tell them apart well. */
        assert_true(cv->choices[cv->winner].accuracy_mean > 0.8);
        if (threads == 1) {
            assert_true(watched.finished == 12);
            first = cv;
        } else {
            phl_cross_validation_free(cv);
        }
    }
    phl_cross_validation_free(first);
    first = NULL;

    watched = (struct watched){.cancel_after = 3};
    phl_error e = {0};
    assert_int_equal(phl_cross_validate(forest, &options, &first, &e), PHL_ERR_CANCELLED);
    assert_null(first);
    phl_forest_free(forest);
}

/* Without classes: the mean held-out log-likelihood a node is what training and scoring by hand
 * give. */
static void test_held_out(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(42, 10);
    uint32_t fold[30];
    for (size_t t = 0; t < 30; t++) {
        fold[t] = t % 3 == 1;
    }
    phl_train_options train = plain_training();
    phl_evaluate_options options;
    phl_evaluate_options_init(&options);
    options.train = &train;
    train.per_class = false;
    train.iterations = 4;
    train.states = 2;
    options.fold = fold;
    options.n_folds = 2;
    options.structure = false;
    phl_cross_validation *cv = NULL;
    must(phl_cross_validate(forest, &options, &cv, error));
    assert_true(!cv->per_class && cv->n_choices == 1 && cv->winner == 0);
    assert_true(isnan(cv->choices[0].accuracy_mean) && cv->choices[0].pooled == NULL);
    size_t rest[30], test[30], n_rest = 0, n_test = 0;
    for (size_t t = 0; t < 30; t++) {
        if (fold[t] == 1) {
            test[n_test++] = t;
        } else {
            rest[n_rest++] = t;
        }
    }
    phl_forest *train_forest = NULL, *test_forest = NULL;
    must(phl_copy_trees(forest, rest, n_rest, PHL_COPY_USED, &train_forest, error));
    must(phl_forest_select(forest, test, n_test, &test_forest, error));
    phl_run *run = NULL;
    must(phl_train(train_forest, &train, &run, error));
    phl_tree_score scores[30];
    score_forest(run, test_forest, false, scores);
    double sum = 0;
    uint64_t nodes = 0;
    for (size_t t = 0; t < n_test; t++) {
        sum += scores[t].log_likelihood;
        nodes += scores[t].nodes;
    }
    check_close(cv->choices[0].folds[1].log_likelihood_per_node, sum / (double)nodes, 1e-13);
    assert_true(cv->choices[0].folds[1].nodes == nodes);
    phl_cross_validation_free(cv);
    phl_run_free(run);
    phl_forest_free(train_forest);
    phl_forest_free(test_forest);
    phl_forest_free(forest);
}

/* Class c has one tree, with a label of its own: when it is held out both are unseen. */
static void test_rare_class(void **state)
{
    (void)state;
    static const size_t sizes[3] = {4, 4, 1};
    phl_forest *forest = classed(sizes, 3);
    phl_train_options train = plain_training();
    phl_evaluate_options options;
    phl_evaluate_options_init(&options);
    options.train = &train;
    options.n_folds = 3;
    train.states = 1;
    train.iterations = 2;
    phl_cross_validation *cv = NULL;
    must(phl_cross_validate(forest, &options, &cv, error));
    const phl_evaluation *e = cv->choices[0].pooled;
    assert_true(e->n == 9 && e->unseen == 0 && e->n_names == 3);
    assert_true(e->best->measures[2].n == 1 && e->best->measures[2].accuracy == 0);
    check_close(e->best->accuracy, 8.0 / 9, 1e-15);
    assert_true(isfinite(e->log_loss) && isfinite(cv->choices[0].log_likelihood_mean));
    phl_cross_validation_free(cv);
    phl_forest_free(forest);
}

static void test_bad_options(void **state)
{
    (void)state;
    static const size_t sizes[1] = {4};
    static const uint32_t outside[4] = {0, 1, 2, 0}, gap[4] = {0, 0, 0, 0}, zero[1] = {0};
    phl_forest *forest = classed(sizes, 1);
    phl_train_options train = plain_training();
    phl_evaluate_options options;
    phl_cross_validation *cv = NULL;
    phl_error e = {0};
    phl_evaluate_options_init(&options);
    options.train = &train;
    assert_int_equal(phl_cross_validate(forest, &options, &cv, &e), PHL_ERR_ARGUMENT);
    options.n_folds = 2;
    options.fold = outside;
    assert_int_equal(phl_cross_validate(forest, &options, &cv, &e), PHL_ERR_ARGUMENT);
    options.fold = gap;
    assert_int_equal(phl_cross_validate(forest, &options, &cv, &e), PHL_ERR_ARGUMENT);
    options.fold = NULL;
    options.states = zero;
    options.n_states = 1;
    assert_int_equal(phl_cross_validate(forest, &options, &cv, &e), PHL_ERR_ARGUMENT);
    phl_forest_free(forest);

    phl_builder *builder = new_builder(false);
    forest = finish_forest(builder);
    phl_evaluate_options_init(&options);
    options.train = &train;
    assert_int_equal(phl_cross_validate(forest, &options, &cv, &e), PHL_ERR_EMPTY);
    phl_forest_free(forest);

    builder = new_builder(false);
    shape single = {.size = 1, .slot = {1}};
    add_tree(builder, &single, &letter[0], 1, "x");
    add_tree(builder, &single, &letter[0], 1, NULL);
    forest = finish_forest(builder);
    options.n_folds = 2;
    assert_int_equal(phl_cross_validate(forest, &options, &cv, &e), PHL_ERR_EMPTY);
    assert_string_equal(e.message, "tree 1 has no class");
    phl_forest_free(forest);
}

/* ---- Several models, and a file ------------------------------------------------------------- */

/* Standard errors and the choice, against the definitions; the order of choices. */
static void test_candidates(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(42, 12);
    static const uint32_t states[] = {1, 3};
    static const phl_class_prior priors[] = {PHL_PRIOR_EMPIRICAL, PHL_PRIOR_UNIFORM};
    phl_train_options sp = plain_training(), td = plain_training(), alone = plain_training();
    const phl_train_options *const trains[] = {&td, &alone, &sp};
    phl_evaluate_options options;
    phl_cross_validation *cv = NULL;
    sp.iterations = td.iterations = 5;
    td.kind = PHL_TD;
    alone.kind = PHL_NO_KIND;
    alone.head = PHL_HEAD_LINEAR;
    phl_evaluate_options_init(&options);
    options.trains = trains;
    options.n_trains = 3;
    options.states = states;
    options.n_states = 2;
    options.priors = priors;
    options.n_priors = 2;
    options.n_folds = 4;
    must(phl_cross_validate(forest, &options, &cv, error));
    assert_true(cv->n_choices == 10 && cv->done == 20 && cv->all == 20);
    static const phl_kind expected[] = {PHL_TD, PHL_TD, PHL_NO_KIND, PHL_SP, PHL_SP};
    static const uint32_t of[] = {1, 3, 0, 1, 3};
    size_t chosen = cv->winner;
    const phl_choice_result *best = &cv->choices[cv->winner];
    for (size_t i = 0; i < 10; i++) {
        const phl_choice_result *choice = &cv->choices[i];
        assert_true(choice->kind == expected[i / 2] && choice->states == of[i / 2] &&
                    choice->prior == priors[i % 2]);
        assert_true(choice->accuracy_mean <= best->accuracy_mean);
        assert_true(choice->accuracy_se == choice->accuracy_sd / 2);
        bool is_near =
            i == cv->winner || choice->accuracy_mean >= best->accuracy_mean - best->accuracy_se;
        assert_true(choice->is_near == is_near);
        chosen = is_near && choice->cost < cv->choices[chosen].cost ? i : chosen;
        /* Each is what it is alone. */
        if (expected[i / 2] != PHL_NO_KIND) {
            phl_train_options one = *trains[i < 4 ? 0 : 2];
            phl_evaluate_options single;
            phl_cross_validation *check = NULL;
            phl_evaluate_options_init(&single);
            one.states = of[i / 2];
            single.train = &one;
            single.prior = priors[i % 2];
            single.n_folds = 4;
            must(phl_cross_validate(forest, &single, &check, error));
            assert_memory_equal(check->choices[0].folds, choice->folds, 4 * sizeof *choice->folds);
            assert_true(check->choices[0].pooled->log_loss == choice->pooled->log_loss);
            phl_cross_validation_free(check);
        } else {
            assert_true(isnan(choice->log_likelihood_mean) && choice->accuracy_mean > 0.5);
        }
    }
    assert_true(cv->choices[chosen].cost == cv->choices[cv->chosen].cost &&
                cv->choices[cv->chosen].is_near);
    phl_cross_validation_free(cv);

    phl_error e = {0};
    cv = NULL;
    alone.per_class = false;
    assert_int_equal(phl_cross_validate(forest, &options, &cv, &e), PHL_ERR_ARGUMENT);
    alone.per_class = true;
    alone.head = PHL_HEAD_NONE;
    assert_int_equal(phl_cross_validate(forest, &options, &cv, &e), PHL_ERR_ARGUMENT);
    alone.head = PHL_HEAD_LINEAR;
    options.piece = 1;
    options.pieces = 2;
    assert_int_equal(phl_cross_validate(forest, &options, &cv, &e), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "file"));
    assert_null(cv);
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_folds),     cmocka_unit_test(test_make_folds),
        cmocka_unit_test(test_cross_validate), cmocka_unit_test(test_held_out),
        cmocka_unit_test(test_rare_class),     cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
