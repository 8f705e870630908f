/* options.h - options structs of callers that were compiled against another version of phloem.h.
 *
 * An options struct begins with its size in bytes, which its init call sets.  Later versions add
 * members at the end only, not into padding.  So a caller's struct is a prefix of ours, or ours is
 * one of it.
 */
#ifndef PHL_BASE_OPTIONS_H
#define PHL_BASE_OPTIONS_H

#include "base/error.h"

/* Fill a caller's struct of `size` bytes (at least those of a size_t) with the defaults, `known`
 * bytes of them, and zeros after what is known. */
void phl_options_fill(void *options, size_t size, const void *defaults, size_t known);

/* Into `taken` the caller's options (NULL: none), and the defaults for members the caller does not
 * know.  PHL_ERR_ARGUMENT when `given` was not filled by its init call, or sets members that are
 * not known here.  `type` is the name of the struct without "_options". */
phl_status phl_options_take(void *taken, const void *defaults, size_t known, const void *given,
                            const char *type, phl_error *error);

#endif
