/* failing_malloc.c - preloaded: the allocation number FAIL_AT of the whole process fails, whoever
 * asks for it, and with FAIL_FOR_EVER all after it.  At the end the number of allocations is
 * written to the file FAIL_COUNT. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long calls;
static long fail_at;
static int for_ever, ready;
static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static char early[1 << 16]; /* for what dlsym itself asks for */
static size_t early_used;

static void *take_early(size_t size)
{
    void *memory = early + early_used;
    early_used += (size + 15) / 16 * 16;
    return early_used <= sizeof early ? memory : NULL;
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");
    real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    fail_at = at == NULL ? 0 : atol(at);
    for_ever = getenv("FAIL_FOR_EVER") != NULL;
    ready = 1;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_COUNT");
    char text[32];
    int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0) {
        int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&calls));
        ssize_t written = write(file, text, (size_t)length);
        (void)written;
        (void)close(file);
    }
}

static int fails(void)
{
    if (!ready) {
        return 0;
    }
    long call = atomic_fetch_add(&calls, 1) + 1;
    if (fail_at != 0 && (call == fail_at || (for_ever && call > fail_at))) {
        errno = ENOMEM;
        return 1;
    }
    return 0;
}

void *malloc(size_t size)
{
    return real_malloc == NULL ? take_early(size) : fails() ? NULL : real_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return real_calloc == NULL ? take_early(count * size)
           : fails()           ? NULL
                               : real_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : real_realloc(memory, size);
}

void free(void *memory)
{
    static void (*real_free)(void *);
    if ((char *)memory >= early && (char *)memory < early + sizeof early) {
        return;
    }
    if (real_free == NULL) {
        real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    }
    real_free(memory);
}
