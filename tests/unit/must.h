/* must.h - calls that must succeed.
 *
 * A call that does not fails the running cmocka test, or ends the program where none is running,
 * with the error and the place.
 */
#ifndef PHL_TESTS_MUST_H
#define PHL_TESTS_MUST_H

#include "phloem.h"

/* Make a call that must succeed; inside it `error` is the error record. */
#define must(call)                                                                                 \
    do {                                                                                           \
        phl_error must_record = {0};                                                               \
        phl_error *error = &must_record;                                                           \
        phl_status must_status = (call);                                                           \
        if (must_status != PHL_OK) {                                                               \
            must_fail(error, must_status, #call, __FILE__, __LINE__);                              \
        }                                                                                          \
    } while (0)
void must_fail(const phl_error *error, phl_status status, const char *call, const char *file,
               int line);

/* Zeroed memory, released with phl_free. */
void *must_alloc(size_t count, size_t size);

#endif
