/* memory.h - checked memory.
 *
 * The only place of the library that calls malloc, calloc, realloc and free (`make lint` sees to
 * it). Tests make the n-th allocation fail by wrapping those four symbols at link time, so the
 * library itself carries no hook and no global.
 */
#ifndef PHL_BASE_MEMORY_H
#define PHL_BASE_MEMORY_H

#include "base/error.h"

/* count * size bytes, not cleared / cleared.  Never returns NULL on success, also for zero bytes.
 * On failure: NULL, and PHL_ERR_MEMORY in *error. */
void *phl_alloc(size_t count, size_t size, phl_error *error);
void *phl_alloc_zero(size_t count, size_t size, phl_error *error);

/* a * b, or SIZE_MAX when that is more: a size that no allocation gives. */
static inline size_t phl_times(size_t a, size_t b)
{
    return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

/* Make *array (of elements of `size` bytes, *capacity of them) hold at least `needed` elements,
 * growing geometrically.  On failure *array and *capacity are unchanged. */
phl_status phl_enlarge(void *array_pointer, size_t *capacity, size_t needed, size_t size,
                       phl_error *error);
static inline phl_status phl_grow(void *array_pointer, size_t *capacity, size_t needed, size_t size,
                                  phl_error *error)
{
    return needed <= *capacity ? PHL_OK : phl_enlarge(array_pointer, capacity, needed, size, error);
}

/* The same for several arrays, up to the first failure. */
typedef struct phl_room {
    void *array_pointer;
    size_t *capacity, needed, size;
} phl_room;
#define PHL_ROOM(array_, capacity_, needed_)                                                       \
    {                                                                                              \
        &(array_), &(capacity_), needed_, sizeof *(array_)                                         \
    }

static inline phl_status phl_grow_all(const phl_room *rooms, size_t n, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = phl_grow(rooms[i].array_pointer, rooms[i].capacity, rooms[i].needed, rooms[i].size,
                          error);
    }
    return status;
}

/* Give back unused room at the end; never fails (keeps the larger block instead). */
void phl_shrink(void *array_pointer, size_t count, size_t size);

/* A copy of `length` bytes with a NUL after it. */
char *phl_copy_text(const char *text, size_t length, phl_error *error);

/* Plain allocation functions for libraries that take them (expat, zlib, zstd). */
void *phl_raw_malloc(size_t size);
void *phl_raw_realloc(void *memory, size_t size);

#endif
