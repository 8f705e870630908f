/* test_resume_failures.c - training into a file and resuming with the n-th allocation failing
 * (failing.h): no crash, no leak, and what is in the file can be resumed to the same run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "failing.h"
#include "runs.h"

/* ---- What is trained ------------------------------------------------------------------------ */

static phl_train_options options_of(phl_kind kind)
{
    phl_train_options options = train_options(kind, 2, 4);
    options.chains = options.restarts = 2;
    options.keep = 2;
    options.soft = kind == PHL_TF;
    options.tolerance = 0;
    return options;
}

static void forget_seconds(phl_run *run)
{
    for (size_t i = 0; i < run->n_trace; i++) {
        run->trace[i].seconds = 0;
    }
}

static phl_status train(const phl_forest *forest, phl_kind kind, const char *path, phl_run **run,
                        phl_error *error)
{
    phl_train_options options = options_of(kind);
    phl_file_options file;
    phl_file_options_init(&file);
    file.checkpoint_seconds = 0;
    return phl_train_file(forest, &options, &file, path, run, error);
}

static phl_status resume(const char *path, phl_run **run, phl_error *error)
{
    phl_resume_options options;
    phl_resume_options_init(&options);
    options.threads = 1;
    options.checkpoint_seconds = 0;
    return phl_resume(path, &options, run, error);
}

/* Resumed as often as it takes, the file holds the expected run. */
static void check_file(const char *path, const phl_run *expected, long at)
{
    phl_run *run = NULL;
    must(resume(path, &run, error));
    forget_seconds(run);
    const char *differs = difference(expected, run);
    phl_run_free(run);
    if (differs != NULL) {
        print_error("allocation %ld: %s differ\n", at, differs);
        fail();
    }
}

/* ---- Tests ---------------------------------------------------------------------------------- */

/* Every allocation at first, then fewer and fewer; at last, none fails.  `bytes` is a file to go on
 * from, NULL for a training from the start. */
static void run_failing(const phl_forest *forest, phl_kind kind, const phl_run *expected,
                        const unsigned char *bytes, size_t size)
{
    const char *path = in_folder("a.run");
    long tries = 0;
    bool happened = true;
    for (long at = 1; happened; at += 1 + at / 16, tries++) {
        phl_run *run = NULL;
        phl_error error = {0};
        empty_folder();
        if (bytes != NULL) {
            write_bytes(path, bytes, size);
        }
        long before = failing_live();
        failing_start(ALLOCATE, at, false, ENOMEM);
        phl_status status =
            bytes == NULL ? train(forest, kind, path, &run, &error) : resume(path, &run, &error);
        happened = failing_stop();
        phl_run_free(run);
        /* Giving back unused room may fail without harm. */
        if (status != PHL_OK && (!happened || status != PHL_ERR_MEMORY)) {
            failing_complain(bytes == NULL ? "train" : "resume", "not PHL_ERR_MEMORY", &error);
        }
        assert_int_equal(failing_live(), before);
        if (access(path, F_OK) == 0) {
            check_file(path, expected, at);
        }
    }
    print_message("%s, %s: %ld failures\n", phl_kind_name(kind),
                  bytes == NULL ? "trained" : "resumed", tries - 1);
}

static bool on_cancel(void *context)
{
    int *left = context;
    return --*left <= 0;
}

static void test_failures(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(SEED, 2);
    static const phl_kind kinds[] = {PHL_SP, PHL_TF, PHL_GRAMMAR};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        phl_kind kind = kinds[i];
        phl_train_options options = options_of(kind);
        phl_run *expected = NULL, *run = NULL;
        phl_file_options file;
        const char *path = in_folder("a.run");
        int left = kind == PHL_GRAMMAR ? 30 : 5;
        size_t size = 0;
        must(phl_train(forest, &options, &expected, error));
        forget_seconds(expected);
        run_failing(forest, kind, expected, NULL, 0);
        empty_folder();
        phl_file_options_init(&file);
        options.cancel = on_cancel;
        options.context = &left;
        must(phl_train_file(forest, &options, &file, path, &run, error));
        phl_run_free(run);
        unsigned char *bytes = read_bytes(path, &size);
        run_failing(forest, kind, expected, bytes, size);
        test_free(bytes);
        phl_run_free(expected);
    }
    phl_forest_free(forest);
}

/* Two pieces put together: the file is not there, or is the whole run, perhaps once resumed. */
static void test_merging(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(SEED, 2);
    phl_train_options options = options_of(true);
    phl_run *expected = NULL;
    char names[2][200];
    const char *const pieces[] = {names[0], names[1]}, *path = in_folder("whole.run");
    char whole[200];
    snprintf(whole, sizeof whole, "%s", path);
    must(phl_train(forest, &options, &expected, error));
    forget_seconds(expected);
    options.pieces = 2;
    for (options.piece = 1; options.piece <= 2; options.piece++) {
        phl_run *run = NULL;
        char *name = names[options.piece - 1];
        snprintf(name, sizeof names[0], "%s", in_folder(options.piece == 1 ? "1.run" : "2.run"));
        must(phl_train_file(forest, &options, NULL, name, &run, error));
        phl_run_free(run);
    }
    bool happened = true;
    long tries = 0, done = 0;
    for (long at = 1; happened; at += 1 + at / 16, tries++) {
        phl_run *run = NULL;
        phl_error error = {0};
        phl_merge_options merging;
        phl_merge_options_init(&merging);
        merging.threads = 1;
        (void)unlink(whole);
        long before = failing_live();
        failing_start(ALLOCATE, at, false, ENOMEM);
        phl_status status = phl_merge(pieces, 2, &merging, whole, &run, &error);
        happened = failing_stop();
        phl_run_free(run);
        if (status != PHL_OK && (!happened || status != PHL_ERR_MEMORY)) {
            failing_complain("merge", "not PHL_ERR_MEMORY", &error);
        }
        assert_int_equal(failing_live(), before);
        if (access(whole, F_OK) == 0) {
            check_file(whole, expected, at);
            done++;
        }
    }
    print_message("merged: %ld failures, %ld files\n", tries - 1, done);
    assert_true(done > 0);
    phl_run_free(expected);
    phl_forest_free(forest);
}

/* Counting tasks. */
static void test_tasks(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(SEED, 5);
    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = PHL_TF;
    options.states = 2;
    options.per_class = true;
    options.chains = 3;
    bool happened = true;
    for (long at = 1; happened; at++) {
        phl_error failure = {0};
        size_t n = 0;
        long before = failing_live();
        failing_start(ALLOCATE, at, false, ENOMEM);
        phl_status status = phl_train_tasks(forest, &options, &n, &failure);
        happened = failing_stop();
        assert_int_equal(failing_live(), before);
        assert_int_equal(status, happened ? PHL_ERR_MEMORY : PHL_OK);
        assert_int_equal(n, happened ? 0 : 9);
    }
    phl_forest_free(forest);
}

int main(void)
{
    failing_sqlite();
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_failures, start_empty),
                                       cmocka_unit_test_setup(test_merging, start_empty),
                                       cmocka_unit_test(test_tasks)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
