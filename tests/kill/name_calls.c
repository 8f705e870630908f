/* name_calls.c - preloaded before a program (LD_PRELOAD), kills it at a call that changes names.
 *
 * Calls that make, move or remove a name in the folder NAME_CALLS_IN, an absolute path without
 * links, are counted from 1: rename, link, unlink, and open with O_CREAT of a file that is not
 * there.  Right before number NAME_CALLS_AT the program gets SIGKILL.  Each call is a line
 * "CALL NAME" at the end of the file NAME_CALLS_REPORT.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int open_fn(const char *path, int flags, ...);
typedef int name_fn(const char *path);
typedef int two_names_fn(const char *from, const char *to);

static int calls;

static void *next_called(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        abort();
    }
    return found;
}

static int call_open(const char *path, int flags, mode_t mode)
{
    open_fn *next;
    *(void **)&next = next_called("open");
    return next(path, flags, mode);
}

/* Here the program may end. */
static void count(const char *call, const char *path)
{
    const char *folder = getenv("NAME_CALLS_IN"), *at = getenv("NAME_CALLS_AT");
    const char *report = getenv("NAME_CALLS_REPORT");
    size_t length = folder != NULL ? strlen(folder) : 0;
    if (length == 0 || strncmp(path, folder, length) != 0 || path[length] != '/') {
        return;
    }
    int file = report != NULL ? call_open(report, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (file >= 0) {
        (void)dprintf(file, "%s %s\n", call, path + length + 1);
        (void)close(file);
    }
    if (at != NULL && ++calls == atoi(at)) {
        (void)kill(getpid(), SIGKILL);
    }
}

static void count_creation(const char *path, int flags)
{
    struct stat info;
    if ((flags & O_CREAT) != 0 && lstat(path, &info) != 0) {
        count("open", path);
    }
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    count_creation(path, flags);
    return call_open(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    count_creation(path, flags);
    return call_open(path, flags | O_LARGEFILE, mode);
}

int unlink(const char *path)
{
    name_fn *next;
    count("unlink", path);
    *(void **)&next = next_called("unlink");
    return next(path);
}

int rename(const char *from, const char *to)
{
    two_names_fn *next;
    count("rename", to);
    *(void **)&next = next_called("rename");
    return next(from, to);
}

int link(const char *from, const char *to)
{
    two_names_fn *next;
    count("link", to);
    *(void **)&next = next_called("link");
    return next(from, to);
}
