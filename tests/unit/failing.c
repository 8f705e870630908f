/* failing.c - calls of the library that fail on demand; see failing.h. */
#include "failing.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static struct {
    bool armed, for_ever, happened, sqlite;
    enum failing_call call;
    long at, count;
    int cause;
} fault;

/* What was allocated here and is not yet freed, by a hash table with open addresses; memory that
 * the C library allocates by itself (realpath) is freed through here too. */
enum { LIVE_ROOM = 1 << 18 };
static struct {
    void *memory[LIVE_ROOM];
    long count;
} live;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
ssize_t __real_read(int file, void *buffer, size_t size);
ssize_t __real_write(int file, const void *buffer, size_t size);
int __real_fsync(int file);
int __real_rename(const char *from, const char *to);
int __real_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __real_close(int file);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);
ssize_t __wrap_read(int file, void *buffer, size_t size);
ssize_t __wrap_write(int file, const void *buffer, size_t size);
int __wrap_fsync(int file);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __wrap_close(int file);

static bool fails(enum failing_call call)
{
    if (!fault.armed || call != fault.call) {
        return false;
    }
    fault.count++;
    bool now = fault.count == fault.at || (fault.for_ever && fault.count > fault.at);
    fault.happened = fault.happened || now;
    if (now) {
        errno = fault.cause;
    }
    return now;
}

static size_t home(const void *memory)
{
    return (size_t)((uint64_t)(uintptr_t)memory * 0x9e3779b97f4a7c15u >> 46);
}

/* Where memory is in the table, or the free place where it would be. */
static size_t find(const void *memory)
{
    size_t at = home(memory);
    while (live.memory[at] != NULL && live.memory[at] != memory) {
        at = (at + 1) % LIVE_ROOM;
    }
    return at;
}

static void *born(void *memory)
{
    if (memory != NULL) {
        assert_true(live.count < LIVE_ROOM / 2);
        live.memory[find(memory)] = memory;
        live.count++;
    }
    return memory;
}

static void dies(const void *memory)
{
    size_t gap = find(memory);
    if (memory == NULL || live.memory[gap] == NULL) {
        return;
    }
    live.memory[gap] = NULL;
    live.count--;
    /* Whatever follows without a break may have been looking for this place. */
    for (size_t at = (gap + 1) % LIVE_ROOM; live.memory[at] != NULL; at = (at + 1) % LIVE_ROOM) {
        void *moved = live.memory[at];
        live.memory[at] = NULL;
        live.memory[find(moved)] = moved;
    }
}

void *__wrap_malloc(size_t size)
{
    return fails(ALLOCATE) ? NULL : born(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(ALLOCATE) ? NULL : born(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (fails(ALLOCATE)) {
        return NULL;
    }
    dies(memory);
    return born(__real_realloc(memory, size));
}

void __wrap_free(void *memory)
{
    dies(memory);
    __real_free(memory);
}

ssize_t __wrap_read(int file, void *buffer, size_t size)
{
    if (!fails(READ)) {
        return __real_read(file, buffer, size);
    }
    return fault.cause != 0 ? -1 : __real_read(file, buffer, size > 7 ? 7 : size);
}

ssize_t __wrap_write(int file, const void *buffer, size_t size)
{
    if (!fails(WRITE)) {
        return __real_write(file, buffer, size);
    }
    return fault.cause != 0 ? -1 : __real_write(file, buffer, size > 999 ? 999 : size);
}

int __wrap_fsync(int file)
{
    return fails(FSYNC) ? -1 : __real_fsync(file);
}

int __wrap_rename(const char *from, const char *to)
{
    return fails(RENAME) ? -1 : __real_rename(from, to);
}

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return fails(RENAME) ? -1 : __real_renameat(from_folder, from, to_folder, to);
}

int __wrap_close(int file)
{
    if (!fails(CLOSE)) {
        return __real_close(file);
    }
    (void)__real_close(file); /* as Linux does: closed, but with bad news */
    errno = fault.cause;
    return -1;
}

/* ---- SQLite allocates through here, too ---- */

/* SQLite asks for the size of what it was given: kept in front of it. */
enum { HEAD = 16 };

static int sqlite_size(void *memory)
{
    int size;
    memcpy(&size, (char *)memory - HEAD, sizeof size);
    return size;
}

static void *sqlite_keep(char *memory, int size)
{
    if (memory == NULL) {
        return NULL;
    }
    memcpy(memory, &size, sizeof size);
    return memory + HEAD;
}

static bool sqlite_fails(void)
{
    return fault.sqlite && fails(ALLOCATE);
}

static void *sqlite_malloc(int size)
{
    return sqlite_keep(sqlite_fails() ? NULL : born(__real_malloc((size_t)size + HEAD)), size);
}

static void *sqlite_realloc(void *memory, int size)
{
    if (sqlite_fails()) {
        return NULL;
    }
    dies((char *)memory - HEAD);
    return sqlite_keep(born(__real_realloc((char *)memory - HEAD, (size_t)size + HEAD)), size);
}

static void sqlite_free(void *memory)
{
    __wrap_free((char *)memory - HEAD);
}

static int sqlite_round(int size)
{
    return (size + 7) & ~7;
}

static int sqlite_begin(void *unused)
{
    (void)unused;
    return SQLITE_OK;
}

static void sqlite_end(void *unused)
{
    (void)unused;
}

void failing_sqlite(void)
{
    static const sqlite3_mem_methods methods = {sqlite_malloc, sqlite_free,  sqlite_realloc,
                                                sqlite_size,   sqlite_round, sqlite_begin,
                                                sqlite_end,    NULL};
    /* Without its own cache of small pieces, every one is asked for; started before any fails. */
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0), SQLITE_OK);
    assert_int_equal(sqlite3_initialize(), SQLITE_OK);
    fault.sqlite = true;
}

void failing_start(enum failing_call call, long at, bool for_ever, int cause)
{
    fault.call = call;
    fault.at = at;
    fault.for_ever = for_ever;
    fault.cause = cause;
    fault.count = 0;
    fault.happened = false;
    fault.armed = true;
}

bool failing_stop(void)
{
    fault.armed = false;
    return fault.happened;
}

long failing_live(void)
{
    return live.count;
}

void failing_complain(const char *name, const char *what, const phl_error *error)
{
    char line[2048];
    print_error("%s, call %ld failing %s: %s: %s\n", name, fault.at,
                fault.for_ever ? "for ever" : "once", what,
                phl_error_format(error, line, sizeof line));
    fail();
}

static void finish(const failing_work *work, char *text, size_t room)
{
    text[0] = '\0';
    if (work->finish != NULL) {
        work->finish(work->context, text, room);
    }
}

void failing_allocations(const failing_work *work)
{
    char expected[256], found[256];
    phl_error error = {0};
    long before = live.count;
    if (work->run(work->context, &error) != PHL_OK) {
        failing_complain(work->name, "failed without a failing allocation", &error);
    }
    finish(work, expected, sizeof expected);
    /* Once, for ever, and once more for a caller who does not want to know why. */
    for (int pass = 0; pass < 3; pass++) {
        bool more = true;
        for (long at = 1; more; at += work->sqlite ? 1 + at / 16 : 1) {
            bool told = pass < 2;
            memset(&error, 0, sizeof error);
            fault.sqlite = work->sqlite;
            failing_start(ALLOCATE, at, pass == 1, ENOMEM);
            phl_status status = work->run(work->context, told ? &error : NULL);
            more = failing_stop();
            if (status == PHL_OK) {
                finish(work, found, sizeof found);
                if (strcmp(found, expected) != 0) {
                    failing_complain(work->name, "a wrong result", &error);
                }
            } else if (!more || status != PHL_ERR_MEMORY ||
                       (told && (error.status != PHL_ERR_MEMORY || error.message[0] == '\0'))) {
                failing_complain(work->name, "not PHL_ERR_MEMORY", &error);
            }
            if (live.count != before) {
                failing_complain(work->name, "memory is lost", &error);
            }
            assert_true(more || at > 1); /* it allocates at all */
            assert_true(at < 100000);
        }
    }
}
