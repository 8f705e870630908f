/* test_run.c - run files: what is saved is what is opened, to the bit; a failed save leaves nothing
 * behind; the JSON of a run. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runs.h"

#ifndef TEST_SOURCE
#error "TEST_SOURCE is the folder of the source tree"
#endif

static void test_round_trips(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SHAPES; s++) {
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
        assert_int_equal(entries_in(folder), 1);
    }
}

/* The same run gives the same file; a run read from a file too. */
static void test_same_bytes(void **state)
{
    (void)state;
    const char *path = in_folder("a.run");
    size_t size = 0, size_again = 0;
    phl_run *run = random_run(&shapes[A_TF], SEED, true);
    save(run, path);
    unsigned char *first = read_bytes(path, &size);
    save(run, path);
    unsigned char *second = read_bytes(path, &size_again);
    assert_int_equal(size, size_again);
    assert_memory_equal(first, second, size);
    test_free(second);
    phl_run *opened = open_run(path);
    must(phl_run_open_forest(opened, path, error));
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
    phl_error failure = {0};
    phl_run *run = random_run(&shapes[A_TINY], SEED, false);
    must(phl_run_set_meta(run, "command", "train \xff.trees", error));
    save(run, path);
    phl_run *again = open_run(path);
    assert_string_equal(phl_run_meta(again, "command"), "train \\xff.trees");
    phl_run_free(again);
    must(phl_run_set_meta(run, "states", "3", error));
    assert_int_equal(phl_run_save(run, path, true, &failure), PHL_ERR_ARGUMENT);
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
        phl_read_options options;
        phl_read_options_init(&options);
        options.format = text[0] == '{' ? PHL_FORMAT_JSON : PHL_FORMAT_BRACKETS;
        options.no_sharing = i % 2 == 1;
        phl_run *run = random_run(&shapes[A_SP], SEED, false);
        must(phl_forest_read_memory(text, strlen(text), "name \xff", &options, &run->forest, NULL,
                                    error));
        save(run, path);
        phl_run *again = open_run(path);
        must(phl_run_open_forest(again, path, error));
        assert_non_null(again->forest);
        check_same_forest(run->forest, again->forest);
        phl_run_free(run);
        phl_run_free(again);
    }
    phl_run *none = random_run(&shapes[A_SP], SEED, false);
    save(none, path);
    must(phl_run_open_forest(none, path, error));
    assert_null(none->forest);
    phl_run_free(none);
}

static void test_replacing(void **state)
{
    (void)state;
    const char *path = in_folder("a.run");
    const char *other = in_folder("link.run");
    phl_error failure = {0};
    phl_run *first = random_run(&shapes[A_SP], 1, false);
    phl_run *second = random_run(&shapes[A_TD], 2, false);
    must(phl_run_save(first, path, false, error));
    assert_int_equal(phl_run_save(second, path, false, &failure), PHL_ERR_WRITE);
    assert_non_null(strstr(failure.message, "exists already"));
    assert_non_null(strstr(failure.remedy, "file.replace"));
    phl_run *opened = open_run(path);
    assert_null(difference(first, opened));
    phl_run_free(opened);
    /* Through a symbolic link, keeping permissions; stale journals go. */
    assert_int_equal(symlink("a.run", other), 0);
    assert_int_equal(chmod(path, 0640), 0);
    write_bytes(in_folder("a.run-journal"), "x", 1);
    write_bytes(in_folder("a.run-wal"), "x", 1);
    must(phl_run_save(second, other, true, error));
    struct stat info;
    assert_int_equal(lstat(other, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    opened = open_run(path);
    assert_null(difference(second, opened));
    phl_run_free(opened);
    assert_int_equal(entries_in(folder), 2);
    assert_int_equal(phl_run_save(second, folder, true, &failure), PHL_ERR_WRITE);
    assert_int_equal(phl_run_save(second, "-", true, &failure), PHL_ERR_ARGUMENT);
    assert_int_equal(phl_run_save(second, in_folder("no/such.run"), true, &failure), PHL_ERR_WRITE);
    assert_non_null(strstr(failure.message, "No such file"));
    phl_run_free(first);
    phl_run_free(second);
    empty_folder();
}

/* A descriptor that holds the lock of whoever writes to a file, or to a folder. */
static int lock_of(const char *path)
{
    int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
    return file;
}

/* Over files that others hold, and over databases with logs of their own. */
static void test_replacing_held(void **state)
{
    (void)state;
    const char *path = in_folder("a.run"), *other = in_folder("other.db");
    phl_error failure = {0};
    phl_run *first = random_run(&shapes[A_SP], 1, false);
    phl_run *second = random_run(&shapes[A_TD], 2, false);
    must(phl_run_save(first, path, false, error));
    int held = lock_of(path);
    assert_int_equal(phl_run_save(second, path, true, &failure), PHL_ERR_WRITE);
    assert_non_null(strstr(failure.message, "another training is at work"));
    assert_int_equal(entries_in(folder), 1);
    assert_int_equal(close(held), 0);
    phl_run *opened = open_run(path);
    assert_null(difference(first, opened));
    phl_run_free(opened);

    /* A database whose log others use stays; afterwards it is replaced, and its log is gone. */
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t (x);", NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(phl_run_save(second, other, true, &failure), PHL_ERR_WRITE);
    assert_non_null(strstr(failure.message, "another program has it open"));
    assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES (1)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(entries_in(folder), 4);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    must(phl_run_save(second, other, true, error));
    assert_int_equal(entries_in(folder), 2);
    opened = open_run(other);
    assert_null(difference(second, opened));
    phl_run_free(opened);

    /* What lies beside a name without a file is not played into the new one. */
    assert_int_equal(unlink(path), 0);
    write_bytes(in_folder("a.run-wal"), "x", 1);
    write_bytes(in_folder("a.run-journal"), "x", 1);
    must(phl_run_save(first, path, false, error));
    assert_int_equal(entries_in(folder), 2);

    /* Nobody takes a name while the folder is locked; waited for as long as it takes, if not long.
     */
    held = lock_of(folder);
    pid_t child = fork();
    if (child == 0) {
        (void)nanosleep(&(struct timespec){0, 300000000}, NULL);
        _exit(0); /* its copy of the descriptor */
    }
    assert_true(child > 0);
    assert_int_equal(close(held), 0);
    struct timespec before, after;
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    must(phl_run_save(second, path, true, error));
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true((double)(after.tv_sec - before.tv_sec) +
                    1e-9 * (double)(after.tv_nsec - before.tv_nsec) >
                0.2);
    assert_int_equal(waitpid(child, NULL, 0), child);
    opened = open_run(path);
    assert_null(difference(second, opened));
    phl_run_free(opened);
    phl_run_free(first);
    phl_run_free(second);
    empty_folder();
}

/* A run is told from other files by its first bytes. */
static void test_recognised(void **state)
{
    (void)state;
    const char *path = in_folder("a.run"), *other = in_folder("other.db");
    phl_run *run = random_run(&shapes[A_SP], 1, false);
    save(run, path);
    assert_true(phl_run_recognise(path));
    assert_int_equal(truncate(path, 72), 0);
    assert_true(phl_run_recognise(path)); /* damaged, but still a run */
    assert_int_equal(truncate(path, 71), 0);
    assert_false(phl_run_recognise(path));
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    assert_false(phl_run_recognise(other));
    write_bytes(path, "", 0);
    assert_false(phl_run_recognise(path));
    assert_false(phl_run_recognise(in_folder("missing.run")));
    assert_false(phl_run_recognise(folder));
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    assert_false(phl_run_recognise(in_folder("fifo"))); /* without waiting */
    phl_run_free(run);
    empty_folder();
}

/* No room for the file: the old one stays, nothing is left beside it.  The limit on the size of
 * files stands for a full disk. */
static void test_no_room(void **state)
{
    (void)state;
    const char *path = in_folder("a.run");
    phl_error error = {0};
    phl_run *old = random_run(&shapes[A_SP], 1, false);
    phl_run *run = random_run(&shapes[A_TF], 2, true);
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
        assert_int_equal(entries_in(folder), 1);
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
    for (size_t s = 0; s < N_SHAPES; s++) {
        char *text = NULL;
        size_t size = 0;
        char command[1024];
        phl_run *run = random_run(&shapes[s], SEED + s, s % 2 == 0);
        save(run, path);
        must(phl_run_json(run, &text, &size, error));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_round_trips, start_empty),
        cmocka_unit_test_setup(test_same_bytes, start_empty),
        cmocka_unit_test_setup(test_odd_meta, start_empty),
        cmocka_unit_test_setup(test_parts, start_empty),
        cmocka_unit_test_setup(test_forests, start_empty),
        cmocka_unit_test_setup(test_replacing, start_empty),
        cmocka_unit_test_setup(test_replacing_held, start_empty),
        cmocka_unit_test_setup(test_recognised, start_empty),
        cmocka_unit_test_setup(test_no_room, start_empty),
        cmocka_unit_test_setup(test_json, start_empty),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
