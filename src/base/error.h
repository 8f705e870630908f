/* error.h - raising errors.
 *
 * Every failure in the library starts at phl_raise (or phl_raise_at): one place for a breakpoint.
 * Callers further up pass the status on and leave the record as it is.
 */
#ifndef PHL_BASE_ERROR_H
#define PHL_BASE_ERROR_H

#include "phloem.h"

/* What a message or a remedy says to a user of an option or a call, in a form that every front end
 * can put in its own words (phl_error_render): the option itself, the option with a value (""
 * stands for any), a call of the library.  An option is "train.seed": member seed of
 * phl_train_options. */
#define PHL_MARK_BEGIN "\001"
#define PHL_MARK_END "\002"
#define PHL_OPTION(option) PHL_MARK_BEGIN option PHL_MARK_END
#define PHL_OPTION_TO(option, value) PHL_MARK_BEGIN option "=" value PHL_MARK_END
#define PHL_CALL(call) PHL_MARK_BEGIN call PHL_MARK_END

/* Where in an input an error lies. */
typedef struct phl_position {
    const char *file;
    uint64_t line;   /* 1-based; 0 = not known */
    uint64_t column; /* 1-based; 0 = not known */
} phl_position;

/* Fill *error (if not NULL) and return status.  remedy may be NULL; where it holds foreign text, it
 * is made by phl_remedy.  What the format inserts is escaped (phl_text_escape), so that the marks
 * above can come from the format alone. */
phl_status phl_raise(phl_error *error, phl_status status, const char *remedy, const char *format,
                     ...) PHL_PRINTF(4, 5);

/* The same with a place in an input. */
phl_status phl_raise_at(phl_error *error, phl_status status, phl_position position,
                        const char *remedy, const char *format, ...) PHL_PRINTF(5, 6);

/* The same for a failed system call: the text of errno is appended to the message. */
phl_status phl_raise_errno(phl_error *error, phl_status status, int errno_value, const char *file,
                           const char *format, ...) PHL_PRINTF(5, 6);

/* A remedy with foreign text in it, made as messages are.  Returns out. */
char *phl_remedy(char *out, size_t size, const char *format, ...) PHL_PRINTF(3, 4);

/* Add the place to an error about data that does not name one yet (the builder knows trees, not
 * files).  Returns the error's status. */
phl_status phl_error_locate(phl_error *error, phl_position position);

/* Our own mistakes are loud: a failed check raises PHL_ERR_INTERNAL from the calling function. */
#define PHL_CHECK_BUG(condition, error)                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return phl_raise((error), PHL_ERR_INTERNAL, "please report this",                      \
                             "internal check failed: %s (%s:%d)", #condition, __FILE__, __LINE__); \
        }                                                                                          \
    } while (0)

#endif
