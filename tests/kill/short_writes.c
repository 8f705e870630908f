/* short_writes.c - preloaded before a program (LD_PRELOAD), makes one of its writes a short one.
 *
 * Writes of two bytes or more to files in the folder SHORT_WRITES_IN, an absolute path without
 * links, are counted from 1.  Number SHORT_WRITES_AT really writes half of its bytes, and says so;
 * what follows is told by SHORT_WRITES_THEN: go on   all writes succeed EIO     the next write
 * fails with that error, those after it succeed ENOSPC  all further writes fail with that error
 * When the program ends, SHORT_WRITES_REPORT gets a line "WRITES SHORT FAILED", how many of each.
 * Not for programs that fork, nor for those that write there from several threads at once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef ssize_t write_fn(int file, const void *bytes, size_t size);
typedef ssize_t pwrite_fn(int file, const void *bytes, size_t size, off_t offset);
typedef ssize_t pwrite64_fn(int file, const void *bytes, size_t size, off64_t offset);

static long writes, shortened, failed;

static bool is_watched(int file)
{
    const char *folder = getenv("SHORT_WRITES_IN");
    size_t length = folder != NULL ? strlen(folder) : 0;
    char link[64], path[4096];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t found = readlink(link, path, sizeof path);
    return length > 0 && found > (ssize_t)length && strncmp(path, folder, length) == 0 &&
           path[length] == '/';
}

/* How many bytes this write may write; -1: none, it fails with errno. */
static ssize_t allowed(int file, size_t size)
{
    if (size < 2 || !is_watched(file)) {
        return (ssize_t)size;
    }
    const char *at = getenv("SHORT_WRITES_AT"), *then = getenv("SHORT_WRITES_THEN");
    bool full = then != NULL && strcmp(then, "ENOSPC") == 0;
    bool once = then != NULL && strcmp(then, "EIO") == 0 && failed == 0;
    writes++;
    if (shortened > 0 && (full || once)) {
        failed++;
        errno = full ? ENOSPC : EIO;
        return -1;
    }
    if (at != NULL && writes == atol(at)) {
        shortened++;
        return (ssize_t)(size / 2);
    }
    return (ssize_t)size;
}

static void *next_called(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        abort();
    }
    return found;
}

ssize_t write(int file, const void *bytes, size_t size)
{
    ssize_t part = allowed(file, size);
    write_fn *next;
    *(void **)&next = next_called("write");
    return part < 0 ? -1 : next(file, bytes, (size_t)part);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset)
{
    ssize_t part = allowed(file, size);
    pwrite_fn *next;
    *(void **)&next = next_called("pwrite");
    return part < 0 ? -1 : next(file, bytes, (size_t)part, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset)
{
    ssize_t part = allowed(file, size);
    pwrite64_fn *next;
    *(void **)&next = next_called("pwrite64");
    return part < 0 ? -1 : next(file, bytes, (size_t)part, offset);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("SHORT_WRITES_REPORT");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        (void)fprintf(file, "%ld %ld %ld\n", writes, shortened, failed);
        (void)fclose(file);
    }
}
