/* must.c - calls that must succeed; see must.h. */
#include "must.h"

#include "base/memory.h"
#include "check.h"

void must_fail(const phl_error *error, phl_status status, const char *call, const char *file,
               int line)
{
    char text[2048];
    print_error("%s:%d: %s: status %d: %s\n", file, line, call, (int)status,
                phl_error_format(error, text, sizeof text));
    fail();
}

void *must_alloc(size_t count, size_t size)
{
    void *memory = NULL;
    must((memory = phl_alloc_zero(count, size, error)) == NULL ? PHL_ERR_MEMORY : PHL_OK);
    return memory;
}
