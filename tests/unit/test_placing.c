/* test_placing.c - files written beside their names: rules, permissions, leftovers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/placing.h"
#include "check.h"
#include "folder.h"

#define FIRST ".a.phloem-0.tmp"
#define SECOND ".a.phloem-1.tmp"

static void begin(phl_placing *placing, const char *name, const char *text)
{
    assert_int_equal(phl_placing_open(placing, in_folder(name), NULL), PHL_OK);
    assert_int_equal(write(placing->file, text, strlen(text)), strlen(text));
}

static void place(const char *name, const char *text)
{
    phl_placing placing;
    begin(&placing, name, text);
    assert_int_equal(phl_placing_commit(&placing, PHL_PLACING_REPLACES, NULL), PHL_OK);
    phl_placing_close(&placing);
}

static unsigned mode_of(const char *name)
{
    struct stat info;
    assert_int_equal(stat(in_folder(name), &info), 0);
    return info.st_mode & 07777;
}

static void check_entries(size_t expected)
{
    assert_int_equal(entries_in(folder), expected);
}

static void test_rules(void **state)
{
    (void)state;
    phl_placing placing, other;
    phl_error error = {0};
    begin(&placing, "a", "one");
    begin(&other, "a", "two");
    assert_string_equal(strrchr(placing.temporary, '/') + 1, FIRST);
    assert_string_equal(strrchr(other.temporary, '/') + 1, SECOND);
    check_entries(2);
    /* The first takes the name, the second finds it taken, and nothing is left of it. */
    assert_int_equal(phl_placing_commit(&placing, PHL_PLACING_IS_NEW, NULL), PHL_OK);
    assert_true(phl_placing_is_file(in_folder("a"), placing.file));
    assert_int_equal(phl_placing_commit(&other, PHL_PLACING_IS_NEW, &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, "another program has created this file"));
    assert_string_equal(error.file, in_folder("a"));
    assert_false(phl_placing_is_file(in_folder("a"), other.file));
    phl_placing_close(&placing);
    phl_placing_close(&other);
    check_content("a", "one");
    check_entries(1);
    /* Over what is there; closed without a commit there is no change. */
    place("a", "three");
    check_content("a", "three");
    begin(&placing, "a", "four");
    phl_placing_close(&placing);
    check_content("a", "three");
    check_entries(1);
}

static void test_permissions(void **state)
{
    (void)state;
    mode_t mask = umask(027);
    place("a", "one");
    assert_int_equal(mode_of("a"), 0640);
    assert_int_equal(chmod(in_folder("a"), 0604), 0);
    place("a", "two");
    assert_int_equal(mode_of("a"), 0604);
    (void)umask(mask);
    /* Another owner and group stay, where one may give files away. */
    if (geteuid() == 0) {
        struct stat info;
        assert_int_equal(chown(in_folder("a"), 12, 34), 0);
        place("a", "three");
        assert_int_equal(stat(in_folder("a"), &info), 0);
        assert_int_equal(info.st_uid, 12);
        assert_int_equal(info.st_gid, 34);
        assert_int_equal(mode_of("a"), 0604);
    }
}

static void test_names(void **state)
{
    (void)state;
    phl_placing placing;
    phl_error error = {0};
    struct stat info;
    char long_name[256];
    memset(long_name, 'x', 255);
    long_name[255] = '\0';
    place(long_name, "long");
    check_content(long_name, "long");
    assert_int_equal(mkdir(in_folder("sub"), 0777), 0);
    put_text("sub/real", "old");
    assert_int_equal(symlink("sub/real", in_folder("link")), 0);
    assert_int_equal(symlink("sub/none", in_folder("dangling")), 0);
    place("link", "new");
    check_content("sub/real", "new");
    assert_int_equal(lstat(in_folder("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(phl_placing_open(&placing, in_folder("dangling"), &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, "a link to a file that is not there"));
    assert_int_equal(phl_placing_open(&placing, in_folder("sub"), &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, "it is a folder"));
    assert_int_equal(phl_placing_open(&placing, in_folder("none/a"), &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, strerror(ENOENT)));
    assert_int_equal(phl_placing_open(&placing, in_folder("sub/real/a"), &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, strerror(ENOTDIR)));
    assert_int_equal(entries_in(in_folder("sub")), 1);
    check_entries(4);
    /* A device is written directly. */
    assert_int_equal(phl_placing_open(&placing, "/dev/null", NULL), PHL_OK);
    assert_null(placing.temporary);
    assert_int_equal(phl_placing_commit(&placing, PHL_PLACING_REPLACES, NULL), PHL_OK);
    phl_placing_close(&placing);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

/* What was left behind goes; what somebody writes, or nobody of us made, stays. */
static void test_leftovers(void **state)
{
    (void)state;
    static const char third[] = ".a.phloem-2.tmp";
    put_text(FIRST, "left");
    put_text(SECOND, "left");
    put_text(third, "left");
    put_text(".a.phloem.tmp", "somebody's");
    put_text(".b.phloem-0.tmp", "of another file");
    place("a", "one");
    check_content("a", "one");
    check_entries(3);
    assert_int_equal(unlink(in_folder(".a.phloem.tmp")), 0);
    assert_int_equal(unlink(in_folder(".b.phloem-0.tmp")), 0);

    put_text(FIRST, "in work");
    put_text(SECOND, "left");
    int file = open(in_folder(FIRST), O_RDONLY);
    assert_true(file >= 0);
    assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
    place("a", "two");
    phl_placing_sweep(in_folder("a"), -1);
    check_content("a", "two");
    check_content(FIRST, "in work");
    check_entries(2);
    assert_int_equal(close(file), 0);
    phl_placing_sweep(in_folder("a"), -1);
    check_entries(1);

    /* A link or a folder of such a name is not ours. */
    assert_int_equal(symlink("a", in_folder(FIRST)), 0);
    assert_int_equal(mkdir(in_folder(SECOND), 0777), 0);
    place("a", "three");
    check_content("a", "three");
    check_entries(3);
    assert_int_equal(unlink(in_folder(FIRST)), 0);
    assert_int_equal(rmdir(in_folder(SECOND)), 0);

    /* Killed between the two names of a new file: the second one goes, also when it is locked. */
    assert_int_equal(link(in_folder("a"), in_folder(FIRST)), 0);
    file = open(in_folder("a"), O_RDONLY);
    assert_true(file >= 0);
    assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
    phl_placing_sweep(in_folder("a"), -1);
    check_entries(2);
    phl_placing_sweep(in_folder("a"), file);
    check_entries(1);
    check_content("a", "three");
    assert_int_equal(close(file), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rules, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_permissions, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_names, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_leftovers, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
