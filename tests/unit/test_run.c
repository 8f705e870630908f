/* test_run.c - run files: what is saved is what is opened, to the bit; whatever happens to a file,
 * it is refused or the run is the same; a failed save leaves nothing behind; the JSON of a run. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "check.h"
#include "forest/forest.h"
#include "store/run_file.h"

#ifndef TEST_SOURCE
#error "TEST_SOURCE is the folder of the source tree"
#endif

enum { SEED = 42, FLIPS = 2000 };

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static unsigned next;
    char *made = path[next++ % 4];
    (void)snprintf(made, 256, "%s/%s", folder, name);
    return made;
}

static void must(phl_status status, const phl_error *error)
{
    if (status != PHL_OK) {
        char line[2048];
        print_error("%s\n", phl_error_format(error, line, sizeof line));
        fail();
    }
}

/* ---- Random runs ---------------------------------------------------------------------------- */

struct shape {
    const char *name;
    phl_kind kind;
    bool soft;
    uint32_t states, slots, labels, classes, draws, active; /* classes 0: not per class */
};

static const struct shape shapes[] = {
    {"sp", PHL_SP, false, 4, 3, 5, 3, 1, 0},       {"td", PHL_TD, false, 3, 4, 6, 0, 2, 0},
    {"full", PHL_FULL, false, 2, 3, 4, 2, 1, 3},   {"tf", PHL_TF, false, 5, 6, 7, 2, 3, 3},
    {"soft", PHL_TF, true, 4, 5, 3, 2, 2, 2},      {"flat", PHL_TF, false, 3, 2, 2, 0, 1, 0},
    {"flat-soft", PHL_TF, true, 3, 2, 2, 0, 1, 0}, {"tiny", PHL_SP, false, 1, 1, 0, 0, 1, 0},
};

/* Rows of distributions, one cell in five exactly 0. */
static void fill_tables(phl_params *params, phl_rng *rng)
{
    phl_table table;
    for (size_t i = 0; phl_params_table(params, i, &table); i++) {
        for (size_t r = 0; r < table.rows; r++) {
            double sum = 0;
            for (size_t c = 0; c < table.columns; c++) {
                double weight = c > 0 && phl_rng_bounded(rng, 5) == 0 ? 0 : phl_rng_uniform(rng);
                table.data[r * table.row_stride + c * table.column_stride] = weight;
                sum += weight;
            }
            for (size_t c = 0; c < table.columns; c++) {
                table.data[r * table.row_stride + c * table.column_stride] /= sum;
            }
        }
    }
    phl_params_complete(params);
}

static phl_params *random_params(const struct shape *shape, phl_rng *rng)
{
    phl_mode modes[8];
    uint32_t blocks[8][16];
    phl_params *params = NULL;
    phl_error error = {0};
    memset(modes, 0, sizeof modes);
    for (uint32_t a = 0; a < shape->active; a++) {
        modes[a].slot = shape->slots - shape->active + a + 1;
        modes[a].size = 2 + (uint32_t)phl_rng_bounded(rng, shape->states);
        for (uint32_t q = 0; q <= shape->states; q++) {
            blocks[a][q] = q < modes[a].size ? q : (uint32_t)phl_rng_bounded(rng, modes[a].size);
        }
        modes[a].block = shape->soft ? NULL : blocks[a];
    }
    must(phl_params_create(shape->kind, shape->states, shape->slots, shape->labels, modes,
                           shape->active, 0, &params, &error),
         &error);
    params->soft = shape->soft;
    fill_tables(params, rng);
    must(phl_params_check(params, &error), &error);
    return params;
}

static void add_names(phl_alphabet *alphabet, const char *const *names, size_t n_names,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[80];
        int32_t number = 0;
        phl_error error = {0};
        (void)snprintf(name, sizeof name, "%s", i < n_names ? names[i] : "");
        if (i >= n_names) {
            (void)snprintf(name, sizeof name, "name %zu", i);
        }
        must(phl_alphabet_add(alphabet, name, strlen(name), &number, &error), &error);
        assert_int_equal(number, i);
    }
}

static phl_forest *small_forest(void)
{
    phl_symm_options options;
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_symm_options_init(&options);
    options.trees_per_class = 3;
    must(phl_generate_symm(&options, &forest, &error), &error);
    return forest;
}

static void add_trace(phl_run *run, uint32_t class_index, size_t count, phl_rng *rng)
{
    phl_error error = {0};
    for (size_t i = 0; i < count; i++) {
        phl_trace_row row = {.class_index = class_index,
                             .chain = (uint32_t)(i % 2),
                             .iteration = i / 2,
                             .temperature = 1 + phl_rng_uniform(rng),
                             .log_likelihood = -1000 * phl_rng_uniform(rng),
                             .log_joint = -2000 * phl_rng_uniform(rng),
                             .seconds = phl_rng_uniform(rng),
                             .active = (uint32_t)i,
                             .sum_size = (uint32_t)(3 * i)};
        for (int move = 0; i > 2 && move < PHL_MOVE_TYPES; move++) {
            row.tried[move] = i == 3 ? UINT32_MAX : (uint32_t)phl_rng_bounded(rng, 1000);
            row.changed[move] = (uint32_t)phl_rng_bounded(rng, 1000);
        }
        row.log_likelihood = i == 0 ? -INFINITY : row.log_likelihood;
        row.log_joint = i == 1 ? NAN : row.log_joint;
        row.temperature = i == 2 ? 1.0 : row.temperature; /* SQLite keeps it as an integer */
        must(phl_run_add_trace(run, &row, &error), &error);
    }
}

static phl_run *random_run(const struct shape *shape, uint64_t seed, bool with_forest)
{
    static const char *const labels[] = {"", "a \"quoted\"\t\\ label", "\xc3\xa9\xe2\x8a\xa5", "_"};
    static const char *const classes[] = {"", "second class"};
    static const char *const reasons[] = {PHL_STOP_TOLERANCE, PHL_STOP_ITERATIONS,
                                          PHL_STOP_INTERRUPTED};
    phl_alphabet label_names = {0}, class_names = {0};
    phl_run *run = NULL;
    phl_error error = {0};
    phl_rng rng;
    phl_rng_init(&rng, seed, 0, 0, 0, 0);
    add_names(&label_names, labels, 4, shape->labels);
    add_names(&class_names, classes, 2, shape->classes);
    must(phl_run_create(shape->kind, shape->states, shape->slots, &label_names, &class_names,
                        shape->classes > 0, &run, &error),
         &error);
    must(phl_run_set_meta(run, "seed", "42", &error), &error);
    must(phl_run_set_meta(run, "command", "phloem train \xc3\xa9 -o x.run", &error), &error);
    must(phl_run_set_meta(run, "empty", "", &error), &error);
    for (size_t i = 0; i < run->n_models; i++) {
        phl_model *model = &run->models[i];
        model->trees = 17 + i;
        model->weight = 17 + (double)i / 3;
        model->iterations = 100 * i + 1;
        model->stop_reason = reasons[i % 3];
        for (uint32_t d = 0; d < shape->draws; d++) {
            phl_draw draw = {random_params(shape, &rng), d, 10 * d + 1,
                             -100 * phl_rng_uniform(&rng), -200 * phl_rng_uniform(&rng)};
            must(phl_model_add_draw(model, &draw, &error), &error);
        }
        add_trace(run, (uint32_t)i, 8, &rng);
    }
    if (with_forest) {
        run->forest = small_forest();
    }
    phl_alphabet_clear(&label_names);
    phl_alphabet_clear(&class_names);
    return run;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static bool same_names(const phl_alphabet *a, const phl_alphabet *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = strcmp(phl_alphabet_name(a, i), phl_alphabet_name(b, i)) == 0;
    }
    return same;
}

static bool same_modes(const phl_params *a, const phl_params *b)
{
    bool same = a->n_modes == b->n_modes;
    for (uint32_t m = 0; same && m < a->n_modes; m++) {
        const phl_mode *x = &a->modes[m], *y = &b->modes[m];
        same = x->slot == y->slot && x->size == y->size && !x->block == !y->block &&
               !x->matrix == !y->matrix;
        for (uint32_t q = 0; same && x->block != NULL && q <= a->states; q++) {
            same = x->block[q] == y->block[q];
        }
    }
    return same;
}

static bool same_array(const double *a, const double *b, size_t count)
{
    return (a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, count * sizeof *a) == 0);
}

/* In memory, rows beyond L and of ones included. */
static bool same_params(const phl_params *a, const phl_params *b)
{
    size_t c = a->states, l = a->slots;
    bool same = a->kind == b->kind && a->soft == b->soft && a->states == b->states &&
                a->slots == b->slots && a->labels == b->labels && same_modes(a, b) &&
                a->core_rows == b->core_rows;
    for (uint32_t m = 0; same && m < a->n_modes; m++) {
        same = same_array(a->modes[m].matrix, b->modes[m].matrix, (c + 1) * a->modes[m].size);
    }
    return same && same_array(a->prior, b->prior, (l + 1) * c) &&
           same_array(a->emission, b->emission, ((size_t)a->labels + 2) * c) &&
           same_array(a->switching, b->switching, l) &&
           same_array(a->transition, b->transition,
                      a->kind == PHL_TD ? (l + 1) * c * c : l * (c + 1) * c) &&
           same_array(a->root, b->root, c) && same_array(a->core, b->core, a->core_rows * c) &&
           same_array(a->shape, b->shape, 3 * l) && same_array(a->root_kind, b->root_kind, 2);
}

static bool same_trace(const phl_trace_row *a, const phl_trace_row *b)
{
    return a->class_index == b->class_index && a->chain == b->chain &&
           a->iteration == b->iteration && same_bits(a->temperature, b->temperature) &&
           same_bits(a->log_likelihood, b->log_likelihood) &&
           same_bits(a->log_joint, b->log_joint) && same_bits(a->seconds, b->seconds) &&
           a->active == b->active && a->sum_size == b->sum_size &&
           memcmp(a->tried, b->tried, sizeof a->tried) == 0 &&
           memcmp(a->changed, b->changed, sizeof a->changed) == 0;
}

static bool same_model(const phl_model *a, const phl_model *b)
{
    bool same = a->class_index == b->class_index && a->trees == b->trees &&
                same_bits(a->weight, b->weight) && a->n_draws == b->n_draws &&
                strcmp(a->stop_reason, b->stop_reason) == 0 && a->iterations == b->iterations;
    for (size_t d = 0; same && d < a->n_draws; d++) {
        const phl_draw *x = &a->draws[d], *y = &b->draws[d];
        same = x->chain == y->chain && x->iteration == y->iteration &&
               same_bits(x->log_likelihood, y->log_likelihood) &&
               same_bits(x->log_joint, y->log_joint) && same_params(x->params, y->params);
    }
    return same;
}

/* What differs, or NULL. */
static const char *difference(const phl_run *a, const phl_run *b)
{
    if (a->kind != b->kind || a->states != b->states || a->slots != b->slots ||
        a->per_class != b->per_class) {
        return "kind or sizes";
    }
    if (!same_names(&a->labels, &b->labels) || !same_names(&a->classes, &b->classes)) {
        return "names";
    }
    if (a->n_meta != b->n_meta || a->n_models != b->n_models || a->n_trace != b->n_trace) {
        return "counts";
    }
    for (size_t i = 0; i < a->n_meta; i++) { /* in any order */
        const char *value = phl_run_meta(b, a->meta[i].key);
        if (value == NULL || strcmp(a->meta[i].value, value) != 0) {
            return "meta";
        }
    }
    for (size_t i = 0; i < a->n_models; i++) {
        if (!same_model(&a->models[i], &b->models[i])) {
            return "models";
        }
    }
    for (size_t i = 0; i < a->n_trace; i++) {
        if (!same_trace(&a->trace[i], &b->trace[i])) {
            return "trace";
        }
    }
    return NULL;
}

/* ---- Files ---------------------------------------------------------------------------------- */

static unsigned char *read_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = test_malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    (void)fclose(file);
    return bytes;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static size_t files_in_folder(void)
{
    size_t count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(listing);
    return count;
}

static void empty_folder(void)
{
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            assert_int_equal(remove(in_folder(entry->d_name)), 0);
        }
    }
    (void)closedir(listing);
}

static void save(const phl_run *run, const char *path)
{
    phl_error error = {0};
    must(phl_run_save(run, path, true, &error), &error);
}

static phl_run *open_run(const char *path)
{
    phl_run *run = NULL;
    phl_error error = {0};
    must(phl_run_open(path, &run, &error), &error);
    return run;
}

/* The file is refused with these words. */
static void check_refused(const char *path, phl_status status, const char *message,
                          const char *remedy)
{
    phl_run *run = NULL;
    phl_error error = {0};
    phl_status found = phl_run_open(path, &run, &error);
    if (found != status || strstr(error.message, message) == NULL ||
        strstr(error.remedy, remedy) == NULL) {
        print_error("%s: status %d, %s; %s (expected %d, %s; %s)\n", path, found, error.message,
                    error.remedy, status, message, remedy);
        fail();
    }
    assert_null(run);
    assert_string_equal(error.file, path);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void test_round_trips(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const char *path = in_folder("a.run");
        phl_run *run = random_run(&shapes[s], SEED + s, false);
        save(run, path);
        phl_run *again = open_run(path);
        const char *differs = difference(run, again);
        if (differs != NULL) {
            print_error("%s: %s\n", shapes[s].name, differs);
            fail();
        }
        assert_null(again->forest);
        phl_run_free(run);
        phl_run_free(again);
        assert_int_equal(files_in_folder(), 1);
    }
}

/* The same run gives the same file; a run read from a file too. */
static void test_same_bytes(void **state)
{
    (void)state;
    const char *path = in_folder("a.run");
    size_t size = 0, size_again = 0;
    phl_run *run = random_run(&shapes[3], SEED, true);
    save(run, path);
    unsigned char *first = read_bytes(path, &size);
    save(run, path);
    unsigned char *second = read_bytes(path, &size_again);
    assert_int_equal(size, size_again);
    assert_memory_equal(first, second, size);
    test_free(second);
    phl_run *opened = open_run(path);
    phl_error error = {0};
    must(phl_run_load_forest(opened, path, &error), &error);
    save(opened, path);
    second = read_bytes(path, &size_again);
    assert_int_equal(size, size_again);
    phl_run *third = open_run(path);
    assert_null(difference(run, third));
    phl_run_free(third);
    phl_run_free(opened);
    phl_run_free(run);
    test_free(first);
    test_free(second);
}

static void test_odd_meta(void **state)
{
    (void)state;
    const char *path = in_folder("a.run");
    phl_error error = {0};
    phl_run *run = random_run(&shapes[7], SEED, false);
    must(phl_run_set_meta(run, "command", "train \xff.trees", &error), &error);
    save(run, path);
    phl_run *again = open_run(path);
    assert_string_equal(phl_run_meta(again, "command"), "train \\xff.trees");
    phl_run_free(again);
    must(phl_run_set_meta(run, "states", "3", &error), &error);
    assert_int_equal(phl_run_save(run, path, true, &error), PHL_ERR_ARGUMENT);
    phl_run_free(run);
}

/* A table of more than one part. */
static void test_parts(void **state)
{
    (void)state;
    const struct shape large = {"large", PHL_FULL, false, 9, 6, 2, 0, 1, 6}; /* 72 MB */
    const char *path = in_folder("large.run");
    phl_run *run = random_run(&large, SEED, false);
    save(run, path);
    phl_run *again = open_run(path);
    assert_null(difference(run, again));
    phl_run_free(again);
    phl_run_free(run);
    sqlite3 *db = NULL;
    sqlite3_stmt *count = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT count(*) FROM tensor WHERE name = 'core'", -1, &count, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(count), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(count, 0), 2);
    (void)sqlite3_finalize(count);
    (void)sqlite3_close(db);
    assert_int_equal(remove(path), 0);
}

static void check_same_forest(const phl_forest *a, const phl_forest *b)
{
    assert_int_equal(a->n_subtrees, b->n_subtrees);
    assert_int_equal(a->n_links, b->n_links);
    assert_int_equal(a->n_levels, b->n_levels);
    assert_int_equal(a->n_trees, b->n_trees);
    assert_int_equal(a->max_slot, b->max_slot);
    assert_int_equal(a->shared, b->shared);
    size_t n = a->n_subtrees, trees = a->n_trees;
    assert_memory_equal(a->label, b->label, n * sizeof *a->label);
    assert_memory_equal(a->leaf_slot, b->leaf_slot, n * sizeof *a->leaf_slot);
    assert_memory_equal(a->first_link, b->first_link, (n + 1) * sizeof *a->first_link);
    assert_memory_equal(a->multiplicity, b->multiplicity, n * sizeof *a->multiplicity);
    assert_memory_equal(a->links, b->links, a->n_links * sizeof *a->links);
    assert_memory_equal(a->level, b->level, (a->n_levels + 1) * sizeof *a->level);
    for (size_t tree = 0; tree < trees; tree++) {
        assert_int_equal(a->tree_root[tree], b->tree_root[tree]);
        assert_int_equal(phl_tree_class(a, tree), phl_tree_class(b, tree));
        assert_true(same_bits(phl_tree_weight(a, tree), phl_tree_weight(b, tree)));
        assert_int_equal(a->tree_file[tree], b->tree_file[tree]);
        assert_int_equal(a->tree_line[tree], b->tree_line[tree]);
        const char *x = phl_tree_id(a, tree), *y = phl_tree_id(b, tree);
        assert_int_equal(x == NULL, y == NULL);
        assert_true(x == NULL || strcmp(x, y) == 0);
    }
    assert_int_equal(a->tree_weight == NULL, b->tree_weight == NULL);
    assert_int_equal(a->tree_id == NULL, b->tree_id == NULL);
    assert_true(same_names(&a->labels, &b->labels));
    assert_true(same_names(&a->classes, &b->classes));
    assert_true(same_names(&a->files, &b->files));
}

static void test_forests(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "(a (b _ (a)) (?) (\"\"))\nx\t(a)\nx\t(a (b _ (a)) (?) (\"\"))\n",
        ("{\"id\":\"one\",\"weight\":2.5,\"label\":[\"a\",null],\"parent\":[-1,0],\"slot\":[1,7]}\n"
         "{\"label\":[\"b\"],\"parent\":[-1]}\n"),
        "# no trees\n",
    };
    const char *path = in_folder("a.run");
    for (size_t i = 0; i < 2 * sizeof texts / sizeof *texts; i++) {
        const char *text = texts[i / 2];
        phl_error error = {0};
        phl_read_options options;
        phl_read_options_init(&options);
        options.format = text[0] == '{' ? PHL_FORMAT_JSON : PHL_FORMAT_BRACKETS;
        options.no_sharing = i % 2 == 1;
        phl_run *run = random_run(&shapes[0], SEED, false);
        must(phl_forest_read_memory(text, strlen(text), "name \xff", &options, &run->forest, NULL,
                                    &error),
             &error);
        save(run, path);
        phl_run *again = open_run(path);
        must(phl_run_load_forest(again, path, &error), &error);
        assert_non_null(again->forest);
        check_same_forest(run->forest, again->forest);
        phl_run_free(run);
        phl_run_free(again);
    }
    phl_run *none = random_run(&shapes[0], SEED, false);
    phl_error error = {0};
    save(none, path);
    must(phl_run_load_forest(none, path, &error), &error);
    assert_null(none->forest);
    phl_run_free(none);
}

static void test_refusals(void **state)
{
    (void)state;
    const char *path = in_folder("bad.run");
    write_bytes(path, "", 0);
    check_refused(path, PHL_ERR_EMPTY, "the file is empty", "phloem train");
    write_bytes(path, "a\t(b (c))\n", 10);
    check_refused(path, PHL_ERR_FORMAT, "this is not a run", "phloem train");
    write_bytes(path, "SQLite", 6);
    check_refused(path, PHL_ERR_SYNTAX, "cut short after 6 bytes", "");
    assert_int_equal(remove(path), 0);
    check_refused(path, PHL_ERR_OPEN, "No such file", "");
    check_refused(folder, PHL_ERR_OPEN, "it is a folder", "");
    assert_int_equal(mkfifo(path, 0600), 0);
    check_refused(path, PHL_ERR_OPEN, "not a regular file", "");
    assert_int_equal(remove(path), 0);

    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE meta (key, value)", NULL, NULL, NULL),
                     SQLITE_OK);
    (void)sqlite3_close(db);
    check_refused(path, PHL_ERR_FORMAT, "some other SQLite database", "");
    assert_int_equal(remove(path), 0);
    phl_error error = {0};
    phl_run *run = NULL;
    assert_int_equal(phl_run_open("-", &run, &error), PHL_ERR_ARGUMENT);
}

/* Change a saved run by SQL, with good digests, and see it refused. */
static void check_hostile(const phl_run *run, const char *sql, const char *message)
{
    const char *path = in_folder("hostile.run");
    save(run, path);
    phl_database database = {.name = path, .writing = true};
    phl_error error = {0};
    assert_int_equal(sqlite3_open(path, &database.db), SQLITE_OK);
    if (sqlite3_exec(database.db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        print_error("%s: %s\n", sql, sqlite3_errmsg(database.db));
        fail();
    }
    if (strstr(sql, "user_version") == NULL && strstr(sql, "DROP") == NULL) {
        must(phl_part_seal(&database, PHL_PART_MODELS, &error), &error);
        must(phl_part_seal(&database, PHL_PART_TRACE, &error), &error);
        must(phl_part_seal(&database, PHL_PART_FOREST, &error), &error);
    }
    phl_database_close(&database);
    phl_run *opened = NULL;
    phl_status status = phl_run_open(path, &opened, &error);
    if (status == PHL_OK) { /* then it is the forest that is bad */
        status = phl_run_load_forest(opened, path, &error);
    }
    if (phl_status_exit_code(status) != 3 || strstr(error.message, message) == NULL) {
        print_error("%s: %d %s (expected: %s)\n", sql, status, error.message, message);
        fail();
    }
    phl_run_free(opened);
    assert_int_equal(files_in_folder(), 1);
}

static void test_hostile(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"PRAGMA user_version = 2", "newer version (format 2"},
        {"PRAGMA user_version = 0", "no format version"},
        {"DROP TABLE trace", "table trace is missing"},
        {"DROP TABLE label; CREATE VIEW label AS SELECT 0 AS id, 'x' AS name",
         "table label is not as it should be"},
        {"DROP TABLE label; CREATE TABLE label (id INTEGER PRIMARY KEY, name TEXT)",
         "table label is not as it should be"},
        {"DELETE FROM meta WHERE key = 'states'", "not told"},
        {"UPDATE meta SET value = '4000000000' WHERE key = 'states'", "partition of another size"},
        {"UPDATE meta SET value = '99999999999' WHERE key = 'states'", "not told"},
        {"UPDATE meta SET value = '-1' WHERE key = 'slots'", "not told"},
        {"UPDATE meta SET value = '4000000000' WHERE key = 'slots'", "too small for its states"},
        {"UPDATE meta SET value = '7' WHERE key = 'slots'", "prior has shape [6,5]"},
        {"UPDATE meta SET value = 'sp' WHERE key = 'model'", "a model of another kind"},
        {"UPDATE meta SET value = '0' WHERE key = 'per_class'", "classes in a run that has none"},
        {"DELETE FROM label WHERE id = 6", "emission has shape [5,8]"},
        {"UPDATE label SET id = 9 WHERE id = 6", "impossible value of id"},
        {"UPDATE label SET name = CAST(x'ff' AS TEXT) WHERE id = 6", "impossible value of name"},
        {"UPDATE label SET name = CAST(x'6100' AS TEXT) WHERE id = 6", "impossible value of name"},
        {"UPDATE class SET stop_reason = 'bored'", "unknown stop reason"},
        {"UPDATE class SET trees = -1", "impossible value of trees"},
        {"UPDATE class SET weight = 9e999", "impossible weight"},
        {"DELETE FROM trace; DELETE FROM tensor; DELETE FROM model; DELETE FROM class",
         "no classes"},
        {"UPDATE model SET soft = 1", "core has shape ["},
        {"UPDATE model SET soft = 2", "impossible value of soft"},
        {"UPDATE model SET kind = 'td'", "a model of another kind"},
        {"UPDATE model SET class = 7", "impossible value of class"},
        {"UPDATE model SET iteration = -1", "impossible value of iteration"},
        {"UPDATE trace SET class = 2 WHERE id = 3", "impossible value of class"},
        {"UPDATE trace SET active = 5000000000 WHERE id = 3", "impossible value of active"},
        {"UPDATE trace SET moves = '[[1,2]' WHERE id = 3", "impossible value of moves"},
        {"UPDATE trace SET moves = '[]' WHERE id = 3", "impossible value of moves"},
        {"UPDATE trace SET moves = '[[1,4294967296]]' WHERE id = 3", "impossible value of moves"},
        {"UPDATE trace SET moves = '[[1,2],[1,2],[1,2],[1,2],[1,2]]' WHERE id = 3",
         "impossible value of moves"},
        {"DELETE FROM trace WHERE id = 3", "impossible value of id"},
        {"DELETE FROM tensor WHERE name = 'prior'", "prior is missing"},
        {"UPDATE tensor SET dtype = 'float32' WHERE name = 'prior'", "unknown type"},
        {"UPDATE tensor SET dtype = 'uint64' WHERE name = 'prior'", "of uint64"},
        {"UPDATE tensor SET shape = '[5,6]' WHERE name = 'prior'", "prior has shape [5,6]"},
        {"UPDATE tensor SET data = zeroblob(240) WHERE name = 'prior'", "checksum of prior"},
        {"UPDATE tensor SET data = zeroblob(8) WHERE name = 'prior'", "prior has shape"},
        {"UPDATE tensor SET checksum = x'00' WHERE name = 'prior'", "no checksum"},
        {"UPDATE tensor SET part = 1 WHERE name = 'prior'", "prior is missing"},
        {"UPDATE tensor SET name = 'a name that is much too long' WHERE name = 'prior'",
         "strange name"},
        {"UPDATE tensor SET slot = 9 WHERE name = 'partition' AND slot = 6", "active slot 9"},
        {"UPDATE tensor SET data = x'000000000100000001000000010000000100000063000000' "
         "WHERE name = 'partition'",
         "checksum of partition"},
        {"UPDATE tensor SET name = 'matrix' WHERE name = 'partition'", "core has shape"},
        {"DELETE FROM forest WHERE name = 'link'", "link of the forest is missing"},
        {"UPDATE forest SET data = zeroblob(length(data)) WHERE name = 'link'", "checksum of link"},
        {"DELETE FROM forest WHERE name = 'tree_line'", "tree_line of the forest is missing"},
    };
    phl_run *run = random_run(&shapes[3], SEED, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_hostile(run, cases[i][0], cases[i][1]);
    }
    phl_run_free(run);
}

/* Put other bytes, with a good checksum, into an array. */
static void check_array(const phl_run *run, const char *table, const char *name, const void *bytes,
                        size_t size, const char *message)
{
    char sql[2048];
    unsigned char checksum[PHL_SHA256_SIZE];
    phl_sha256_bytes(bytes, size, checksum);
    size_t used = (size_t)snprintf(sql, sizeof sql, "UPDATE %s SET data = x'", table);
    for (size_t i = 0; i < size; i++) {
        used += (size_t)snprintf(sql + used, sizeof sql - used, "%02x",
                                 ((const unsigned char *)bytes)[i]);
    }
    used += (size_t)snprintf(sql + used, sizeof sql - used, "', checksum = x'");
    for (size_t i = 0; i < sizeof checksum; i++) {
        used += (size_t)snprintf(sql + used, sizeof sql - used, "%02x", checksum[i]);
    }
    (void)snprintf(sql + used, sizeof sql - used, "' WHERE name = '%s'", name);
    check_hostile(run, sql, message);
}

static void test_hostile_arrays(void **state)
{
    (void)state;
    phl_run *run = random_run(&shapes[3], SEED, false);
    const int32_t beyond[] = {0, 1, 1, 1, 1, 99}, gap[] = {0, 2, 2, 2, 2, 2};
    check_array(run, "tensor", "partition", beyond, sizeof beyond, "names block 99");
    check_array(run, "tensor", "partition", gap, sizeof gap, "empty block");
    const double sums[] = {0.5, 0.25}, negative[] = {1.5, -0.5}, none[] = {NAN, NAN};
    check_array(run, "tensor", "root_kind", sums, sizeof sums, "not a distribution");
    check_array(run, "tensor", "root_kind", negative, sizeof negative, "not a distribution");
    check_array(run, "tensor", "root_kind", none, sizeof none, "not a distribution");

    /* A forest of one tree (a (b) _ (c)): subtrees 0, 1 and 2, two links. */
    static const char text[] = "(a (b) _ (c))\n";
    phl_read_options options;
    phl_error error = {0};
    phl_read_options_init(&options);
    options.format = PHL_FORMAT_BRACKETS;
    must(phl_forest_read_memory(text, strlen(text), "t", &options, &run->forest, NULL, &error),
         &error);
    static const struct {
        const char *name;
        uint32_t words[6];
        size_t count;
        const char *message;
    } cases[] = {
        {"label", {0, 1, 3}, 3, "holds no trees"},
        {"label", {0, 1, (uint32_t)-2}, 3, "holds no trees"},
        {"leaf_slot", {1, 0, 0}, 3, "holds no trees"},
        {"leaf_slot", {1, 2, 0}, 3, "holds no trees"},
        {"leaf_slot", {1, 3, 1}, 3, "holds no trees"},
        {"link", {3, 0, 1, 1}, 4, "holds no trees"},
        {"link", {1, 0, 3, 2}, 4, "holds no trees"},
        {"link", {1, 0, 3, 1000000}, 4, "holds no trees"},
        {"link", {0, 0, 3, 1}, 4, "holds no trees"},
        {"first_link", {0, 0, 0, 0, 0, 0}, 6, "first_link has"},
        {"tree_root", {3}, 1, "holds no trees"},
        {"tree_root", {1}, 1, "holds no trees"},
        {"tree_class", {0}, 1, "holds no trees"},
        {"tree_file", {2}, 1, "holds no trees"},
        {"labels", {0x00006161}, 1, "labels has shape"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_array(run, "forest", cases[i].name, cases[i].words, 4 * cases[i].count,
                    cases[i].message);
    }
    const uint64_t backwards[] = {0, 2, 0, 2};
    check_array(run, "forest", "first_link", backwards, sizeof backwards, "holds no trees");
    check_array(run, "forest", "labels", "b\0c\0ab", 6, "labels are cut short");
    check_array(run, "forest", "labels", "b\0\xff\0a", 6, "labels are not UTF-8");
    check_array(run, "forest", "labels", "b\0c\0b", 6, "labels have one twice");
    phl_run_free(run);
}

/* 70 subtrees, each twice in the next: 2^70 nodes. */
static void test_forest_bomb(void **state)
{
    (void)state;
    phl_error error = {0};
    phl_builder *builder = NULL;
    phl_run *run = random_run(&shapes[0], SEED, false);
    must(phl_builder_create(NULL, &builder, &error), &error);
    for (int i = 0; i < 71; i++) {
        must(phl_builder_open(builder, "a", 1, &error), &error);
    }
    for (int i = 0; i < 71; i++) {
        must(phl_builder_close(builder, &error), &error);
    }
    phl_tree_info info = {0};
    must(phl_builder_end_tree(builder, &info, &error), &error);
    must(phl_builder_finish(builder, &run->forest, &error), &error);
    phl_builder_free(builder);
    /* A chain with one child each; make it two: slots 1 and 2. */
    phl_forest *forest = run->forest;
    size_t n = forest->n_subtrees;
    assert_int_equal(n, 71);
    static phl_link links[140];
    phl_link *old = forest->links;
    forest->links = links;
    forest->n_links = 0;
    for (size_t i = 1; i < n; i++) {
        forest->first_link[i] = forest->n_links;
        for (uint32_t slot = 1; slot <= (i == 1 ? 1u : 2u); slot++) {
            links[forest->n_links++] = (phl_link){slot, (uint32_t)i - 1};
        }
    }
    forest->first_link[n] = forest->n_links;
    const char *path = in_folder("bomb.run");
    save(run, path);
    forest->links = old;
    assert_int_equal(phl_run_load_forest(run, path, &error), PHL_ERR_SYNTAX);
    assert_non_null(strstr(error.message, "too many nodes"));
    phl_run_free(run);
    assert_int_equal(remove(path), 0);
}

/* Either refused as bad data, or the very same run. */
static bool is_refused(const char *path, const phl_run *run, const char *what, size_t where,
                       size_t *forest_refused)
{
    phl_run *opened = NULL;
    phl_error error = {0};
    phl_status status = phl_run_open(path, &opened, &error);
    if (status != PHL_OK) {
        if (phl_status_exit_code(status) != 3 || error.message[0] == '\0' || opened != NULL) {
            print_error("%s %zu: %d %s\n", what, where, status, error.message);
            fail();
        }
        return true;
    }
    const char *differs = difference(run, opened);
    if (differs != NULL) {
        print_error("%s %zu: opened, but with different %s\n", what, where, differs);
        fail();
    }
    phl_error forest_error = {0}; /* the forest too: refused or the same */
    if (phl_run_load_forest(opened, path, &forest_error) == PHL_OK) {
        check_same_forest(run->forest, opened->forest);
    } else {
        assert_int_equal(phl_status_exit_code(forest_error.status), 3);
        ++*forest_refused;
    }
    phl_run_free(opened);
    return false;
}

static void test_truncations(void **state)
{
    (void)state;
    const char *path = in_folder("cut.run");
    size_t size = 0;
    phl_run *run = random_run(&shapes[3], SEED, true);
    save(run, path);
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t length = 0; length < size; length += 512) {
        write_bytes(path, bytes, length);
        assert_true(is_refused(path, run, "cut at", length, NULL));
    }
    print_message("%zu truncations of a run of %zu bytes: all refused\n", (size + 511) / 512, size);
    assert_int_equal(remove(path), 0);
    test_free(bytes);
    phl_run_free(run);
}

static void test_bit_flips(void **state)
{
    (void)state;
    /* Large enough that most of its pages are full. */
    const struct shape dense = {"dense", PHL_TF, true, 10, 8, 60, 2, 3, 3};
    const char *path = in_folder("flipped.run");
    size_t refused = 0, forest_refused = 0;
    phl_rng rng;
    phl_rng_init(&rng, SEED, 1, 0, 0, 0);
    size_t size = 0;
    phl_run *run = random_run(&dense, SEED, true);
    save(run, path);
    unsigned char *bytes = read_bytes(path, &size);
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    for (size_t flip = 0; flip < FLIPS; flip++) {
        size_t at = (size_t)phl_rng_bounded(&rng, size);
        unsigned char changed =
            (unsigned char)(bytes[at] ^ (1u << (unsigned)phl_rng_bounded(&rng, 8)));
        assert_int_equal(pwrite(file, &changed, 1, (off_t)at), 1);
        refused += is_refused(path, run, "flip in byte", at, &forest_refused);
        assert_int_equal(pwrite(file, bytes + at, 1, (off_t)at), 1);
    }
    (void)close(file);
    print_message("%d bit flips of a run of %zu bytes, seed %d: %zu refused, %zu refused with its "
                  "forest, %zu without effect\n",
                  FLIPS, size, SEED, refused, forest_refused, FLIPS - refused - forest_refused);
    assert_true(refused > FLIPS / 2);
    assert_false(is_refused(path, run, "whole", 0, NULL));
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(remove(path), 0);
    test_free(bytes);
    phl_run_free(run);
}

/* A run whose header speaks of a write-ahead log, as after a copy made during training: read as it
 * is, cut short or not, and nothing appears beside it. */
static void test_log(void **state)
{
    (void)state;
    const char *path = in_folder("a %3f?#.run");
    size_t size = 0;
    phl_run *run = random_run(&shapes[0], SEED, true);
    save(run, path);
    unsigned char *bytes = read_bytes(path, &size);
    bytes[18] = bytes[19] = 2;
    write_bytes(path, bytes, size);
    assert_false(is_refused(path, run, "log", 0, NULL));
    assert_int_equal(files_in_folder(), 1);
    size_t forests = 0;
    for (size_t length = 512; length < size; length += 512) {
        write_bytes(path, bytes, length);
        (void)is_refused(path, run, "log, cut at", length, &forests);
    }
    assert_int_equal(files_in_folder(), 1);
    test_free(bytes);
    phl_run_free(run);
}

static void test_replacing(void **state)
{
    (void)state;
    const char *path = in_folder("a.run");
    const char *other = in_folder("link.run");
    phl_error error = {0};
    phl_run *first = random_run(&shapes[0], 1, false);
    phl_run *second = random_run(&shapes[1], 2, false);
    must(phl_run_save(first, path, false, &error), &error);
    assert_int_equal(phl_run_save(second, path, false, &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, "exists already"));
    assert_non_null(strstr(error.remedy, "--force"));
    phl_run *opened = open_run(path);
    assert_null(difference(first, opened));
    phl_run_free(opened);
    /* Through a symbolic link, keeping permissions; stale journals go. */
    assert_int_equal(symlink("a.run", other), 0);
    assert_int_equal(chmod(path, 0640), 0);
    write_bytes(in_folder("a.run-journal"), "x", 1);
    write_bytes(in_folder("a.run-wal"), "x", 1);
    must(phl_run_save(second, other, true, &error), &error);
    struct stat info;
    assert_int_equal(lstat(other, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    opened = open_run(path);
    assert_null(difference(second, opened));
    phl_run_free(opened);
    assert_int_equal(files_in_folder(), 2);
    assert_int_equal(phl_run_save(second, folder, true, &error), PHL_ERR_WRITE);
    assert_int_equal(phl_run_save(second, "-", true, &error), PHL_ERR_ARGUMENT);
    assert_int_equal(phl_run_save(second, in_folder("no/such.run"), true, &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, "No such file"));
    phl_run_free(first);
    phl_run_free(second);
    empty_folder();
}

/* No room for the file: the old one stays, nothing is left beside it.  The limit on the size of
 * files stands for a full disk. */
static void test_no_room(void **state)
{
    (void)state;
    const char *path = in_folder("a.run");
    phl_error error = {0};
    phl_run *old = random_run(&shapes[0], 1, false);
    phl_run *run = random_run(&shapes[3], 2, true);
    save(old, path);
    struct rlimit limit, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t room = 0; room < 60000; room += 6000) {
        small = limit;
        small.rlim_cur = room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        phl_status status = phl_run_save(run, path, true, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(status, PHL_ERR_WRITE);
        assert_string_equal(error.file, path);
        assert_non_null(strstr(error.message, "cannot write"));
        assert_int_equal(files_in_folder(), 1);
        phl_run *opened = open_run(path);
        assert_null(difference(old, opened));
        phl_run_free(opened);
    }
    (void)signal(SIGXFSZ, before);
    phl_run_free(old);
    phl_run_free(run);
    empty_folder();
}

/* The JSON of a run, looked at by a program of its own, and compared with the file's tensors read
 * as docs/run-file.md says. */
static void test_json(void **state)
{
    (void)state;
    const char *path = in_folder("a.run");
    const char *json = in_folder("a.json");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        phl_error error = {0};
        char *text = NULL;
        size_t size = 0;
        char command[1024];
        phl_run *run = random_run(&shapes[s], SEED + s, s % 2 == 0);
        save(run, path);
        must(phl_run_json(run, &text, &size, &error), &error);
        assert_int_equal(strlen(text), size);
        write_bytes(json, text, size);
        (void)snprintf(command, sizeof command,
                       "/usr/bin/python3 %s/tests/oracle/check_show_json.py %s %s", TEST_SOURCE,
                       json, path);
        assert_int_equal(system(command), 0);
        phl_free(text);
        phl_run_free(run);
    }
    empty_folder();
}

static int start_empty(void **state)
{
    (void)state;
    empty_folder();
    return 0;
}

static int make_folder(void **state)
{
    (void)state;
    /* In memory where there is such a place: every save waits for the disk. */
    (void)snprintf(folder, sizeof folder, "%s/phloem-test-run-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    empty_folder();
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_round_trips, start_empty),
        cmocka_unit_test_setup(test_same_bytes, start_empty),
        cmocka_unit_test_setup(test_odd_meta, start_empty),
        cmocka_unit_test_setup(test_forests, start_empty),
        cmocka_unit_test_setup(test_parts, start_empty),
        cmocka_unit_test_setup(test_replacing, start_empty),
        cmocka_unit_test_setup(test_no_room, start_empty),
        cmocka_unit_test_setup(test_refusals, start_empty),
        cmocka_unit_test_setup(test_hostile, start_empty),
        cmocka_unit_test_setup(test_hostile_arrays, start_empty),
        cmocka_unit_test_setup(test_forest_bomb, start_empty),
        cmocka_unit_test_setup(test_truncations, start_empty),
        cmocka_unit_test_setup(test_bit_flips, start_empty),
        cmocka_unit_test_setup(test_log, start_empty),
        cmocka_unit_test_setup(test_json, start_empty),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
