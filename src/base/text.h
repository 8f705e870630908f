/* text.h - UTF-8 checks and a growing text buffer. */
#ifndef PHL_BASE_TEXT_H
#define PHL_BASE_TEXT_H

#include "base/error.h"

/* Offset of the first byte that is NUL or not part of valid UTF-8; `length` if there is none. */
size_t phl_utf8_check(const char *text, size_t length);

/* Characters (code points) in `length` bytes of valid UTF-8: for columns in messages. */
size_t phl_utf8_count(const char *text, size_t length);

/* Growing text.  Zero-initialise; phl_text_clear releases it. */
typedef struct phl_text {
    char *bytes;
    size_t length;
    size_t capacity;
} phl_text;

phl_status phl_text_append(phl_text *text, const char *bytes, size_t length, phl_error *error);
phl_status phl_text_append_string(phl_text *text, const char *string, phl_error *error);
phl_status phl_text_append_format(phl_text *text, phl_error *error, const char *format, ...)
    PHL_PRINTF(3, 4);
void phl_text_clear(phl_text *text);

/* Append `bytes` as a JSON string, quotes included; only what JSON requires is escaped. */
phl_status phl_text_append_json(phl_text *text, const char *bytes, size_t length,
                                phl_error *error);

/* A printable excerpt of input for error messages: at most 32 characters, control characters and
 * bad bytes shown as \xNN, "..." behind a cut.  `out` holds PHL_EXCERPT_SIZE bytes.  Returns out. */
#define PHL_EXCERPT_SIZE 160
char *phl_excerpt(const char *text, size_t length, char *out);

#endif
