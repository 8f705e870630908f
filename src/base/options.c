/* options.c - options structs that grow from version to version; see options.h. */
#include "base/options.h"

#include <string.h>

/* Every options struct begins with it. */
static size_t size_of(const void *options)
{
    size_t size;
    memcpy(&size, options, sizeof size);
    return size;
}

static void set_size(void *options, size_t size)
{
    memcpy(options, &size, sizeof size);
}

void phl_options_fill(void *options, size_t size, const void *defaults, size_t known)
{
    if (size < sizeof size) {
        return; /* no room for the size itself; taking it will be refused */
    }
    memset(options, 0, size);
    memcpy(options, defaults, size < known ? size : known);
    set_size(options, size);
}

phl_status phl_options_take(void *taken, const void *defaults, size_t known, const void *given,
                            const char *type, phl_error *error)
{
    memcpy(taken, defaults, known);
    if (given != NULL) {
        size_t size = size_of(given);
        if (size < sizeof size) {
            return phl_raise(error, PHL_ERR_ARGUMENT, "fill them by their init call first",
                             "%s_options of size %zu", type, size);
        }
        const unsigned char *bytes = given;
        for (size_t i = known; i < size; i++) {
            if (bytes[i] != 0) {
                return phl_raise(error, PHL_ERR_ARGUMENT,
                                 "use a library as new as the phloem.h the program was compiled "
                                 "with, or leave that option at 0",
                                 "%s_options set an option that version %s of the library does "
                                 "not know",
                                 type, phl_version());
            }
        }
        memcpy(taken, given, size < known ? size : known);
    }
    set_size(taken, known);
    return PHL_OK;
}
