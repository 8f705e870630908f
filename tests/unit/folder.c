/* folder.c - a folder for the files of a test program; see folder.h. */
#include "folder.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

char folder[200];

int make_folder(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    if (base == NULL) { /* in memory where there is such a place: every save waits for the disk */
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    }
    (void)snprintf(folder, sizeof folder, "%.150s/phloem-test-XXXXXX", base);
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int open_up(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)where;
    return type == FTW_DNR || type == FTW_D ? chmod(path, 0700) : 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    return where->level > 0 ? remove(path) : 0;
}

void empty_folder(void)
{
    assert_int_equal(nftw(folder, open_up, 16, FTW_PHYS), 0);
    assert_int_equal(nftw(folder, remove_entry, 16, FTW_PHYS | FTW_DEPTH), 0);
}

int remove_folder(void **state)
{
    (void)state;
    empty_folder();
    return rmdir(folder);
}

int start_empty(void **state)
{
    (void)state;
    empty_folder();
    return 0;
}

const char *in_folder(const char *name)
{
    static char paths[8][600];
    static unsigned next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

size_t entries_in(const char *path)
{
    size_t count = 0;
    DIR *listing = opendir(path);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(listing);
    return count;
}

void *read_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t length = (size_t)ftell(file);
    rewind(file);
    char *bytes = test_malloc(length + 1);
    assert_int_equal(fread(bytes, 1, length, file), length);
    bytes[length] = '\0';
    (void)fclose(file);
    if (size != NULL) {
        *size = length;
    }
    return bytes;
}

void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void put_text(const char *name, const char *text)
{
    write_bytes(in_folder(name), text, strlen(text));
}

void check_content(const char *name, const char *expected)
{
    char *content = read_bytes(in_folder(name), NULL);
    assert_string_equal(content, expected);
    test_free(content);
}
