/* test_work_failures.c - evaluations kept in a file, merged and refitted with the n-th allocation
 * or system call failing (failing.h): no crash, no leak, and what the file keeps can be gone on
 * with to the same figures.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "failing.h"
#include "runs.h"

static phl_train_options sp, alone;
static const phl_train_options *const trains[] = {&sp, &alone};
static const phl_class_prior priors[] = {PHL_PRIOR_UNIFORM, PHL_PRIOR_CHOSEN};

static phl_evaluate_options options_of(const char *work)
{
    phl_evaluate_options options;
    sp = train_options(PHL_SP, 2, 3);
    sp.per_class = true;
    alone = sp;
    alone.kind = PHL_NO_KIND;
    alone.head = PHL_HEAD_LINEAR;
    phl_evaluate_options_init(&options);
    options.trains = trains;
    options.n_trains = 2;
    options.priors = priors;
    options.n_priors = 2;
    options.n_folds = 2;
    options.work = work;
    return options;
}

static void check_same(const phl_cross_validation *a, const phl_cross_validation *b)
{
    assert_true(a->n_choices == b->n_choices && a->chosen == b->chosen && a->winner == b->winner);
    for (size_t i = 0; i < a->n_choices; i++) {
        const phl_choice_result *x = &a->choices[i], *y = &b->choices[i];
        assert_memory_equal(&x->accuracy_mean, &y->accuracy_mean, sizeof(double));
        assert_memory_equal(&x->log_loss_se, &y->log_loss_se, sizeof(double));
        assert_memory_equal(x->folds, y->folds, a->n_folds * sizeof *x->folds);
        assert_true(x->pooled->log_loss == y->pooled->log_loss &&
                    x->pooled->calibration_error == y->pooled->calibration_error);
    }
}

/* One kind of calls fails, each in turn; then the file goes on to the figures expected. */
static void fail_calls(const phl_forest *forest, enum failing_call call, int cause,
                       const phl_cross_validation *expected)
{
    char work[200];
    bool happened = true;
    snprintf(work, sizeof work, "%s", in_folder("a.work"));
    phl_evaluate_options options = options_of(work);
    for (long at = 1; happened; at += 1 + at / 12) {
        phl_cross_validation *result = NULL, *again = NULL;
        phl_error e = {0};
        (void)unlink(work);
        long before = failing_live();
        failing_start(call, at, false, cause);
        phl_status status = phl_cross_validate(forest, &options, &result, &e);
        happened = failing_stop();
        if (status != PHL_OK &&
            (!happened || (call == ALLOCATE) != (status == PHL_ERR_MEMORY) || !e.message[0])) {
            failing_complain("evaluate", "another status", &e);
        }
        if (status == PHL_OK) {
            check_same(result, expected);
        }
        phl_cross_validation_free(result);
        assert_int_equal(failing_live(), before);
        must(phl_cross_validate(forest, &options, &again, error));
        check_same(again, expected);
        phl_cross_validation_free(again);
    }
    assert_true(entries_in(folder) == 1);
    (void)unlink(work);
}

static void test_evaluating(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(SEED, 3);
    phl_evaluate_options options = options_of(NULL);
    phl_cross_validation *expected = NULL;
    must(phl_cross_validate(forest, &options, &expected, error));
    fail_calls(forest, ALLOCATE, ENOMEM, expected);
    fail_calls(forest, WRITE, ENOSPC, expected);
    fail_calls(forest, WRITE, 0, expected);
    fail_calls(forest, FSYNC, EIO, expected);
    fail_calls(forest, RENAME, EACCES, expected);
    phl_cross_validation_free(expected);
    phl_forest_free(forest);
}

struct merging {
    const char *pieces[2];
    char path[200];
    phl_cross_validation *result;
};

static phl_status merge(void *context, phl_error *error)
{
    struct merging *merging = context;
    return phl_work_merge(merging->pieces, 2, merging->path, true, false, &merging->result, error);
}

static void finish_merge(void *context, char *text, size_t room)
{
    struct merging *merging = context;
    snprintf(text, room, "%.17g", merging->result->choices[0].log_loss_mean);
    phl_cross_validation_free(merging->result);
    merging->result = NULL;
}

static void test_merging(void **state)
{
    (void)state;
    char names[2][200];
    struct merging merging = {{names[0], names[1]}, "", NULL};
    phl_forest *forest = symm_forest(SEED, 3);
    snprintf(merging.path, sizeof merging.path, "%s", in_folder("whole.work"));
    for (size_t i = 0; i < 2; i++) {
        phl_cross_validation *result = NULL;
        snprintf(names[i], sizeof names[i], "%s", in_folder(i == 0 ? "1.work" : "2.work"));
        phl_evaluate_options options = options_of(names[i]);
        options.piece = i + 1;
        options.pieces = 2;
        must(phl_cross_validate(forest, &options, &result, error));
        assert_true(result->done > 0 && result->done < result->all && result->all == 4);
        phl_cross_validation_free(result);
    }
    failing_allocations(&(failing_work){"merge work", merge, finish_merge, &merging, false});
    phl_forest_free(forest);
}

/* Every choice, with the file there and not. */
static void test_refitting(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(SEED, 2);
    phl_evaluate_options options = options_of(NULL);
    char path[200];
    snprintf(path, sizeof path, "%s", in_folder("refit.run"));
    for (size_t choice = 0; choice < 4; choice += 2) {
        bool happened = true;
        for (long at = 1; happened; at += 1 + at / 16) {
            phl_run *run = NULL;
            phl_error error = {0};
            if (choice > 0 || at % 3 > 0) {
                (void)unlink(path);
            }
            long before = failing_live();
            failing_start(ALLOCATE, at, false, ENOMEM);
            phl_status status = phl_refit(forest, &options, choice, NULL, path, &run, &error);
            happened = failing_stop();
            phl_run_free(run);
            if (status != PHL_OK && (!happened || status != PHL_ERR_MEMORY)) {
                failing_complain("refit", "not PHL_ERR_MEMORY", &error);
            }
            assert_int_equal(failing_live(), before);
        }
        empty_folder();
    }
    phl_forest_free(forest);
}

int main(void)
{
    failing_sqlite();
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_evaluating, start_empty),
                                       cmocka_unit_test_setup(test_merging, start_empty),
                                       cmocka_unit_test_setup(test_refitting, start_empty)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
