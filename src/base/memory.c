/* memory.c - checked memory; see memory.h. */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static bool product_overflows(size_t count, size_t size)
{
    return size != 0 && count > SIZE_MAX / 2 / size;
}

static phl_status raise_memory(phl_error *error, size_t count, size_t size)
{
    return phl_raise(error, PHL_ERR_MEMORY, "use a machine with more memory, or less data",
                     "not enough memory for %zu x %zu bytes", count, size);
}

void *phl_alloc(size_t count, size_t size, phl_error *error)
{
    void *memory = NULL;
    if (!product_overflows(count, size)) {
        size_t bytes = count * size;
        memory = malloc(bytes > 0 ? bytes : 1);
    }
    if (memory == NULL) {
        (void)raise_memory(error, count, size);
    }
    return memory;
}

void *phl_alloc_zero(size_t count, size_t size, phl_error *error)
{
    void *memory = NULL;
    if (!product_overflows(count, size)) {
        memory = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    }
    if (memory == NULL) {
        (void)raise_memory(error, count, size);
    }
    return memory;
}

phl_status phl_enlarge(void *array_pointer, size_t *capacity, size_t needed, size_t size,
                       phl_error *error)
{
    size_t wanted = *capacity < 8 ? 8 : *capacity + *capacity / 2;
    if (wanted < needed) {
        wanted = needed;
    }
    if (product_overflows(wanted, size)) {
        return raise_memory(error, wanted, size);
    }
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    void *grown = realloc(old, wanted * size);
    if (grown == NULL) {
        return raise_memory(error, wanted, size);
    }
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return PHL_OK;
}

void phl_shrink(void *array_pointer, size_t count, size_t size)
{
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    if (old == NULL) {
        return;
    }
    size_t bytes = count * size;
    void *smaller = realloc(old, bytes > 0 ? bytes : 1);
    if (smaller != NULL) {
        memcpy(array_pointer, &smaller, sizeof smaller);
    }
}

char *phl_copy_text(const char *text, size_t length, phl_error *error)
{
    char *copy = phl_alloc(length + 1, 1, error);
    if (copy != NULL) {
        if (length > 0) {
            memcpy(copy, text, length);
        }
        copy[length] = '\0';
    }
    return copy;
}

void *phl_raw_malloc(size_t size)
{
    return malloc(size);
}

void *phl_raw_realloc(void *memory, size_t size)
{
    return realloc(memory, size);
}

void phl_free(void *memory)
{
    free(memory);
}
