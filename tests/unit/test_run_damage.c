/* test_run_damage.c - run files that are none, are newer, hostile, cut short or damaged: refused
 * with words that say which, or the run that is opened is the very same. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "runs.h"

enum { FLIPS = 2000 };

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

static void test_refusals(void **state)
{
    (void)state;
    const char *path = in_folder("bad.run");
    write_bytes(path, "", 0);
    check_refused(path, PHL_ERR_EMPTY, "the file is empty", "phl_train");
    write_bytes(path, "a\t(b (c))\n", 10);
    check_refused(path, PHL_ERR_FORMAT, "this is not a run", "phl_train");
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
    phl_database database = {.name = path, .writing = true, .budget = UINT64_MAX};
    phl_error failure = {0};
    assert_int_equal(sqlite3_open(path, &database.db), SQLITE_OK);
    if (sqlite3_exec(database.db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        print_error("%s: %s\n", sql, sqlite3_errmsg(database.db));
        fail();
    }
    if (strstr(sql, "user_version") == NULL && strstr(sql, "DROP") == NULL) {
        must(phl_section_renew(&database, PHL_SECTION_MODELS, NULL, error));
        must(phl_section_renew(&database, PHL_SECTION_TRACE, NULL, error));
        must(phl_section_renew(&database, PHL_SECTION_FOREST, NULL, error));
    }
    phl_database_close(&database);
    phl_run *opened = NULL;
    phl_status status = phl_run_open(path, &opened, &failure);
    if (status == PHL_OK) { /* then it is the forest that is bad */
        status = phl_run_open_forest(opened, path, &failure);
    }
    if (phl_status_group(status) != PHL_GROUP_DATA || strstr(failure.message, message) == NULL) {
        print_error("%s: %d %s (expected: %s)\n", sql, status, failure.message, message);
        fail();
    }
    phl_run_free(opened);
    assert_int_equal(entries_in(folder), 1);
}

static void test_hostile(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"PRAGMA user_version = 3", "newer version (format 3"},
        {"PRAGMA user_version = 0", "no format version"},
        {"DROP TABLE trace", "table trace is missing"},
        {"INSERT INTO section VALUES ('newer', 1, 1, zeroblob(32))",
         "has a section 'newer', which phloem"},
        {"INSERT INTO section VALUES ('head\n', 1, 1, zeroblob(32))", "a strange name"},
        {"UPDATE section SET version = 3 WHERE name = 'forest' /* user_version */",
         "version 3 of section 'forest', of which phloem"},
        {"UPDATE section SET digest = zeroblob(32) WHERE name = 'trace' /* user_version */",
         "digest of the traces does not match"},
        {"DELETE FROM section WHERE name = 'checkpoint'", "lacks a section"},
        {"CREATE INDEX own ON label (name)", "table label has an index of its own"},
        {"DROP TABLE label; CREATE VIEW label AS SELECT 0 AS id, 'x' AS name",
         "table label is not as it should be"},
        {"DROP TABLE label; CREATE TABLE label (id INTEGER PRIMARY KEY, name TEXT)",
         "table label is not as it should be"},
        {"DELETE FROM meta WHERE key = 'states'", "missing or impossible"},
        {"UPDATE meta SET value = '4000000000' WHERE key = 'states'", "partition of another size"},
        {"UPDATE meta SET value = '99999999999' WHERE key = 'states'", "missing or impossible"},
        {"UPDATE meta SET value = '-1' WHERE key = 'slots'", "missing or impossible"},
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
        {"UPDATE tensor SET dtype = 'float16' WHERE name = 'prior'", "unknown type"},
        {"UPDATE tensor SET dtype = 'float32' WHERE name = 'prior'", "prior has shape"},
        {"UPDATE tensor SET dtype = 'uint64' WHERE name = 'prior'", "of uint64"},
        {"UPDATE tensor SET shape = '[5,6]' WHERE name = 'prior'", "prior has shape [5,6]"},
        {"UPDATE tensor SET data = zeroblob(240) WHERE name = 'prior'", "checksum of prior"},
        {"UPDATE tensor SET data = zeroblob(8) WHERE name = 'prior'", "prior cannot be unpacked"},
        {"UPDATE tensor SET data = zeroblob(7) WHERE name = 'prior'", "prior cannot be unpacked"},
        {"UPDATE tensor SET data = zeroblob(6) WHERE name = 'prior'", "prior has shape"},
        {"UPDATE tensor SET data = zeroblob(241) WHERE name = 'prior'", "prior has shape"},
        {"UPDATE tensor SET checksum = x'00' WHERE name = 'prior'", "no checksum"},
        {"UPDATE tensor SET part = 1 WHERE name = 'prior'", "the parts of prior do not"},
        {"UPDATE tensor SET name = 'a name that is much too long' WHERE name = 'prior'",
         "strange name"},
        {"UPDATE tensor SET slot = 9 WHERE name = 'partition' AND slot = 6", "active slot 9"},
        {"UPDATE tensor SET data = x'000000000100000001000000010000000100000063000000' "
         "WHERE name = 'partition'",
         "checksum of partition"},
        {"UPDATE tensor SET name = 'matrix' WHERE name = 'partition'", "core has shape"},
        {"DELETE FROM forest WHERE name = 'link'", "link of the forest is missing"},
        {"UPDATE forest SET data = zeroblob(length(data)) WHERE name = 'link'",
         "link cannot be unpacked"},
        {"UPDATE forest SET data = zeroblob(12) WHERE name = 'label'",
         "label has shape [202] in 12 bytes"},
        {"UPDATE forest SET data = zeroblob(808) WHERE name = 'label'", "checksum of label"},
        {"DELETE FROM forest WHERE name = 'tree_line'", "tree_line of the forest is missing"},
    };
    phl_run *run = random_run(&shapes[A_TF], SEED, true);
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
    phl_run *run = random_run(&shapes[A_TF], SEED, false);
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
    phl_read_options_init(&options);
    options.format = PHL_FORMAT_BRACKETS;
    must(phl_forest_read_memory(text, strlen(text), "t", &options, &run->forest, NULL, error));
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

/* A run that could not be opened again is not written, and an old file stays. */
static void test_unreadable(void **state)
{
    (void)state;
    const char *path = in_folder("old.run");
    phl_run *run = random_run(&shapes[A_SP], SEED, true), *opened = NULL;
    phl_error failure = {0};
    save(run, path);
    double *weight = &run->models[0].weight,
           *number = &run->models[0].draws[0].params->root_kind[1];
    double good_weight = *weight, good_number = *number;
    *weight = INFINITY;
    assert_int_equal(phl_run_save(run, path, true, &failure), PHL_ERR_INTERNAL);
    assert_non_null(strstr(failure.message, "could not be read again"));
    assert_non_null(strstr(failure.message, "an impossible weight"));
    *weight = good_weight;
    *number = NAN;
    assert_int_equal(phl_run_save(run, path, true, &failure), PHL_ERR_INTERNAL);
    assert_non_null(strstr(failure.message, "is not a distribution"));
    *number = good_number;
    assert_int_equal(entries_in(folder), 1);
    must(phl_run_open(path, &opened, error));
    assert_null(difference(run, opened));
    phl_run_free(opened);
    phl_run_free(run);
    assert_int_equal(remove(path), 0);
}

/* 70 subtrees, each twice in the next: 2^70 nodes. */
static void test_forest_bomb(void **state)
{
    (void)state;
    phl_error failure = {0};
    phl_builder *builder = NULL;
    phl_run *run = random_run(&shapes[A_SP], SEED, false);
    must(phl_builder_create(NULL, &builder, error));
    for (int i = 0; i < 71; i++) {
        must(phl_builder_open(builder, "a", 1, error));
    }
    for (int i = 0; i < 71; i++) {
        must(phl_builder_close(builder, error));
    }
    phl_tree_info info = {0};
    must(phl_builder_end_tree(builder, &info, error));
    must(phl_builder_finish(builder, &run->forest, error));
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
    assert_int_equal(phl_run_open_forest(run, path, &failure), PHL_ERR_SYNTAX);
    assert_non_null(strstr(failure.message, "too many nodes"));
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
        if (phl_status_group(status) != PHL_GROUP_DATA || error.message[0] == '\0' ||
            opened != NULL) {
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
    if (phl_run_open_forest(opened, path, &forest_error) == PHL_OK) {
        check_same_forest(run->forest, opened->forest);
    } else {
        assert_int_equal(phl_status_group(forest_error.status), PHL_GROUP_DATA);
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
    phl_run *run = random_run(&shapes[A_TF], SEED, true);
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
    assert_int_equal(entries_in(folder), 1);
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
    phl_run *run = random_run(&shapes[A_SP], SEED, true);
    save(run, path);
    unsigned char *bytes = read_bytes(path, &size);
    bytes[18] = bytes[19] = 2;
    write_bytes(path, bytes, size);
    assert_false(is_refused(path, run, "log", 0, NULL));
    assert_int_equal(entries_in(folder), 1);
    size_t forests = 0;
    for (size_t length = 512; length < size; length += 512) {
        write_bytes(path, bytes, length);
        (void)is_refused(path, run, "log, cut at", length, &forests);
    }
    assert_int_equal(entries_in(folder), 1);
    test_free(bytes);
    phl_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_refusals, start_empty),
        cmocka_unit_test_setup(test_hostile, start_empty),
        cmocka_unit_test_setup(test_hostile_arrays, start_empty),
        cmocka_unit_test_setup(test_unreadable, start_empty),
        cmocka_unit_test_setup(test_forest_bomb, start_empty),
        cmocka_unit_test_setup(test_truncations, start_empty),
        cmocka_unit_test_setup(test_bit_flips, start_empty),
        cmocka_unit_test_setup(test_log, start_empty),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
