/* failing.h - calls of the library that fail on demand.
 *
 * malloc, calloc, realloc, free, read, write, fsync, rename, renameat and close of the library are
 * replaced at link time (-Wl,--wrap); between failing_start and failing_stop one kind of them
 * fails.  What libraries allocate through the library's own functions (expat, zlib) fails too, and
 * what SQLite allocates after failing_sqlite; zstd allocates by itself and is left alone.
 */
#ifndef PHL_TESTS_FAILING_H
#define PHL_TESTS_FAILING_H

#include <stdbool.h>
#include <stddef.h>

#include "phloem.h"

enum failing_call { ALLOCATE, READ, WRITE, FSYNC, RENAME, CLOSE };

/* The `at`-th call (from 1) fails, or it and all after it, with this errno; a read or write with
 * cause 0 does only a part. */
void failing_start(enum failing_call call, long at, bool for_ever, int cause);
bool failing_stop(void); /* did any fail? */

/* SQLite's allocations fail, too; before any other use of it. */
void failing_sqlite(void);

/* Allocations not yet freed. */
long failing_live(void);

/* Print what was found wrong when the call that failing_start chose failed, and fail the test. */
void failing_complain(const char *name, const char *what, const phl_error *error);

/* Something to do with every allocation failing in turn. */
typedef struct failing_work {
    const char *name;
    /* Do it.  On failure nothing may be left to release. */
    phl_status (*run)(void *context, phl_error *error);
    /* After a success: what came of it, as text to compare, and release it.  NULL: nothing. */
    void (*finish)(void *context, char *text, size_t room);
    void *context;
    bool sqlite; /* SQLite's allocations, too (after failing_sqlite): every one at first, then fewer
                    and fewer */
} failing_work;

/* Its first allocation fails, then its second, and so on until it goes through: once only, and from
 * there on for ever; and once more without an error record.  It must then return PHL_ERR_MEMORY
 * with a message, or its proper result where it could do without; nothing may leak. */
void failing_allocations(const failing_work *work);

#endif
