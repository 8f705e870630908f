/* test_resume_failures.c - training into a file and resuming with the n-th allocation failing: no
 * crash, no leak, and what is in the file can be resumed to the same run.
 *
 * malloc, calloc, realloc and free of the library are replaced at link time (-Wl,--wrap).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runs.h"

static struct {
    bool armed, happened;
    long at, count;
    long live; /* allocations not yet freed */
} fault;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static bool fails(void)
{
    fault.count += fault.armed;
    bool now = fault.armed && fault.count == fault.at;
    fault.happened = fault.happened || now;
    return now;
}

void *__wrap_malloc(size_t size)
{
    void *memory = fails() ? NULL : __real_malloc(size);
    fault.live += memory != NULL;
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *memory = fails() ? NULL : __real_calloc(count, size);
    fault.live += memory != NULL;
    return memory;
}

void *__wrap_realloc(void *memory, size_t size)
{
    void *moved = fails() ? NULL : __real_realloc(memory, size);
    fault.live += moved != NULL && memory == NULL;
    return moved;
}

void __wrap_free(void *memory)
{
    fault.live -= memory != NULL;
    __real_free(memory);
}

/* ---- What is trained ------------------------------------------------------------------------ */

static phl_train_options options_of(bool sampled)
{
    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = sampled ? PHL_TF : PHL_SP;
    options.states = 2;
    options.iterations = 4;
    options.chains = options.restarts = 2;
    options.keep = 2;
    options.soft = sampled;
    options.tolerance = 0;
    options.threads = 1;
    return options;
}

static void forget_seconds(phl_run *run)
{
    for (size_t i = 0; i < run->n_trace; i++) {
        run->trace[i].seconds = 0;
    }
}

static phl_status train(const phl_forest *forest, bool sampled, const char *path, phl_run **run,
                        phl_error *error)
{
    phl_train_options options = options_of(sampled);
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
static void check_file(const char *path, const phl_run *expected)
{
    phl_run *run = NULL;
    phl_error error = {0};
    must(resume(path, &run, &error), &error);
    forget_seconds(run);
    const char *differs = difference(expected, run);
    phl_run_free(run);
    if (differs != NULL) {
        print_error("allocation %ld: %s differ\n", fault.at, differs);
        fail();
    }
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static phl_forest *make_forest(void)
{
    phl_symm_options options;
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_symm_options_init(&options);
    options.trees_per_class = 2;
    must(phl_generate_symm(&options, &forest, &error), &error);
    return forest;
}

/* Every allocation at first, then fewer and fewer; at last, none fails.  `bytes` is a file to go on
 * from, NULL for a training from the start. */
static void run_failing(const phl_forest *forest, bool sampled, const phl_run *expected,
                        const unsigned char *bytes, size_t size)
{
    const char *path = in_folder("a.run");
    long tries = 0;
    fault.happened = true;
    for (fault.at = 1; fault.happened; fault.at += 1 + fault.at / 16, tries++) {
        phl_run *run = NULL;
        phl_error error = {0};
        empty_folder();
        if (bytes != NULL) {
            write_bytes(path, bytes, size);
        }
        fault.count = 0;
        fault.happened = false;
        long before = fault.live;
        fault.armed = true;
        phl_status status =
            bytes == NULL ? train(forest, sampled, path, &run, &error) : resume(path, &run, &error);
        fault.armed = false;
        phl_run_free(run);
        /* Giving back unused room may fail without harm. */
        assert_true(status == PHL_OK || (fault.happened && status == PHL_ERR_MEMORY));
        assert_int_equal(fault.live, before);
        if (access(path, F_OK) == 0) {
            check_file(path, expected);
        }
    }
    print_message("%s, %s: %ld failures\n", sampled ? "sampled" : "EM",
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
    phl_forest *forest = make_forest();
    for (int sampled = 0; sampled < 2; sampled++) {
        phl_train_options options = options_of(sampled);
        phl_run *expected = NULL, *run = NULL;
        phl_error error = {0};
        phl_file_options file;
        const char *path = in_folder("a.run");
        int left = 5;
        size_t size = 0;
        must(phl_train(forest, &options, &expected, &error), &error);
        forget_seconds(expected);
        run_failing(forest, sampled, expected, NULL, 0);
        empty_folder();
        phl_file_options_init(&file);
        options.cancel = on_cancel;
        options.context = &left;
        must(phl_train_file(forest, &options, &file, path, &run, &error), &error);
        phl_run_free(run);
        unsigned char *bytes = read_bytes(path, &size);
        run_failing(forest, sampled, expected, bytes, size);
        test_free(bytes);
        phl_run_free(expected);
    }
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_failures, start_empty)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
