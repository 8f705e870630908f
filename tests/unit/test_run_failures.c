/* test_run_failures.c - training, saving, opening and showing a run, and folds, with the n-th
 * allocation failing, for every n until it goes through (failing.h): what was there before stays,
 * and nothing is left beside it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "failing.h"
#include "runs.h"

/* What the operations work on, and what they make. */
struct work {
    phl_forest *forest;
    phl_run *run;
    const char *path;
    bool sampled, grammar, chosen; /* the number of states is */
    const char *partition;         /* held fixed; NULL: none */

    phl_run *made;
    phl_forest *trees;
    char *text;
    size_t size;
    uint32_t fold[64];
    size_t n_folds;
};

/* Of a run, whatever it is: as JSON, added up. */
static void finish_run(void *context, char *out, size_t room)
{
    struct work *work = context;
    if (work->made != NULL) {
        must(phl_run_json(work->made, &work->text, &work->size, error));
    }
    uint64_t hash = work->size;
    for (size_t i = 0; i < work->size; i++) {
        hash = hash * 1099511628211u + (unsigned char)work->text[i];
    }
    (void)snprintf(out, room, "%016llx", (unsigned long long)hash);
    phl_free(work->text);
    phl_run_free(work->made);
    work->text = NULL;
    work->made = NULL;
}

static phl_status do_train(void *context, phl_error *error)
{
    struct work *work = context;
    phl_kind kind = work->sampled || work->partition != NULL ? PHL_TF : PHL_SP;
    phl_train_options options = train_options(work->grammar ? PHL_GRAMMAR : kind, 2, 3);
    options.partition = work->partition;
    options.chains = options.restarts = work->grammar ? 1 : 2;
    options.keep = 1;
    options.per_class = true;
    options.states_auto = work->chosen;
    options.states_max = 2;
    return phl_train(work->forest, &options, &work->made, error);
}

static phl_status do_json(void *context, phl_error *error)
{
    struct work *work = context;
    return phl_run_json(work->run, &work->text, &work->size, error);
}

static phl_status do_open(void *context, phl_error *error)
{
    struct work *work = context;
    return phl_run_open(work->path, &work->made, error);
}

static phl_status do_open_trees(void *context, phl_error *error)
{
    struct work *work = context;
    return phl_run_open_trees(work->path, &work->trees, error);
}

static void finish_trees(void *context, char *out, size_t room)
{
    struct work *work = context;
    char fingerprint[33];
    must(phl_forest_fingerprint(work->trees, true, fingerprint, error));
    (void)snprintf(out, room, "%s", fingerprint);
    phl_forest_free(work->trees);
    work->trees = NULL;
}

/* Over a file that is there: the old one or the new one. */
static phl_status do_save(void *context, phl_error *error)
{
    struct work *work = context;
    write_bytes(work->path, "old", 3);
    phl_status status = phl_run_save(work->run, work->path, true, error);
    size_t size = 0;
    char *content = read_bytes(work->path, &size);
    assert_int_equal(size == 3, status != PHL_OK);
    test_free(content);
    assert_int_equal(entries_in(folder), 1);
    return status;
}

/* Members into a file that is there. */
static phl_status do_save_members(void *context, phl_error *error)
{
    const struct work *work = context;
    return phl_run_save_members(work->run, work->path, error);
}

static void finish_save(void *context, char *out, size_t room)
{
    struct work *work = context;
    work->made = open_run(work->path);
    finish_run(work, out, room);
}

static void finish_folds(void *context, char *out, size_t room)
{
    const struct work *work = context;
    size_t used = (size_t)snprintf(out, room, "%zu:", work->n_folds);
    for (size_t i = 0; i < phl_forest_trees(work->forest); i++) {
        used += (size_t)snprintf(out + used, room - used, " %u", work->fold[i]);
    }
}

static phl_status do_folds_make(void *context, phl_error *error)
{
    struct work *work = context;
    return phl_folds_make(work->forest, 3, 42, work->fold, error);
}

static phl_status do_folds_read(void *context, phl_error *error)
{
    struct work *work = context;
    return phl_folds_read(work->path, phl_forest_trees(work->forest), work->fold, &work->n_folds,
                          error);
}

/* Its configuration is read again when it is opened. */
static void open_again(struct work *work)
{
    work->path = in_folder("a.run");
    must(do_train(work, error));
    save(work->made, work->path);
    phl_run_free(work->made);
    work->made = NULL;
    failing_allocations(
        &(failing_work){"open a trained run", do_open, finish_run, work, work->grammar});
}

static void test_training(void **state)
{
    (void)state;
    struct work work = {.forest = symm_forest(SEED, 2)};
    failing_allocations(&(failing_work){"train by EM", do_train, finish_run, &work, false});
    work.sampled = true;
    failing_allocations(&(failing_work){"train by Gibbs", do_train, finish_run, &work, false});
    work.sampled = false;
    work.chosen = true;
    failing_allocations(&(failing_work){"choose states", do_train, finish_run, &work, false});
    work.chosen = false;
    work.partition = "[{\"slot\":1,\"blocks\":[0,1,0]}]";
    failing_allocations(&(failing_work){"train by partition", do_train, finish_run, &work, false});
    open_again(&work);
    must(phl_run_open(work.path, &work.run, error));
    phl_train_options member;
    phl_train_options_init(&member);
    member.kind = PHL_TD;
    member.states = 2;
    member.iterations = 2;
    must(phl_run_add_member(work.run, work.forest, &member, error));
    must(phl_run_add_expert(work.run, work.forest, NULL, error));
    failing_allocations(&(failing_work){"save members", do_save_members, NULL, &work, false});
    must(phl_run_open(work.path, &work.made, error));
    assert_non_null(work.made->expert);
    assert_int_equal(phl_run_members(work.made), 1);
    assert_int_equal(phl_run_kind(phl_run_member(work.made, 0)), PHL_TD);
    assert_null(phl_run_member(work.made, 1));
    phl_run_free(work.made);
    phl_run_free(work.run);
    work.made = work.run = NULL;
    work.partition = NULL;
    work.grammar = true;
    phl_forest_free(work.forest);
    work.forest = symm_forest(SEED, 10); /* enough to hold some out, and to split */
    failing_allocations(&(failing_work){"train a grammar", do_train, finish_run, &work, true});
    open_again(&work);
    phl_forest_free(work.forest);
}

static void test_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        struct work work = {.run = random_run(&shapes[i], SEED, i % 2 == 0),
                            .path = in_folder("a.run")};
        empty_folder();
        failing_allocations(&(failing_work){"json", do_json, finish_run, &work, false});
        for (int sqlite = 0; sqlite < 2; sqlite++) {
            save(work.run, work.path);
            failing_allocations(&(failing_work){"open", do_open, finish_run, &work, sqlite});
            failing_allocations(&(failing_work){"save", do_save, finish_save, &work, sqlite});
        }
        phl_run_free(work.run);
    }
}

static void test_trees(void **state)
{
    (void)state;
    struct work work = {.forest = symm_forest(SEED, 2), .path = in_folder("trees.run")};
    phl_train_options options;
    char before[33], after[33];
    phl_train_options_init(&options);
    options.kind = PHL_SP;
    options.states = 2;
    options.iterations = 2;
    must(phl_train_file(work.forest, &options, NULL, work.path, &work.made, error));
    phl_run_free(work.made);
    must(phl_forest_fingerprint(work.forest, true, before, error));
    must(do_open_trees(&work, error));
    finish_trees(&work, after, sizeof after);
    assert_string_equal(before, after);
    for (int sqlite = 0; sqlite < 2; sqlite++) {
        failing_allocations(
            &(failing_work){"open the trees", do_open_trees, finish_trees, &work, sqlite});
    }
    /* A run that does not hold its trees. */
    phl_file_options file;
    phl_file_options_init(&file);
    file.no_embed = file.replace = true;
    must(phl_train_file(work.forest, &options, &file, work.path, &work.made, error));
    phl_run_free(work.made);
    must(do_open_trees(&work, error));
    assert_null(work.trees);
    phl_forest_free(work.forest);
}

static void test_folds(void **state)
{
    (void)state;
    struct work work = {.forest = symm_forest(SEED, 4), .path = in_folder("folds")};
    put_text("folds", "# two folds\n1 3 5 7 9 11\n\n2 4 6 8 10 12\n");
    failing_allocations(&(failing_work){"make folds", do_folds_make, finish_folds, &work, false});
    failing_allocations(&(failing_work){"read folds", do_folds_read, finish_folds, &work, false});
    phl_forest_free(work.forest);
}

int main(void)
{
    failing_sqlite();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_training, start_empty),
        cmocka_unit_test_setup(test_files, start_empty),
        cmocka_unit_test_setup(test_trees, start_empty),
        cmocka_unit_test_setup(test_folds, start_empty),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
