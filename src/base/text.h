/* text.h - what people read, and a growing text buffer. */
#ifndef PHL_BASE_TEXT_H
#define PHL_BASE_TEXT_H

#include "base/error.h"
#include "base/utf8.h"

/* An ASCII character that no escape rule touches, in a string of JSON, a cell or a message. */
static inline bool phl_text_is_plain(char c)
{
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* What people read shows no character that could command a terminal, turn the direction of a line
 * or pass unseen: docs/formats.md has the list.  Of the character at `text`, with `left` > 0 bytes
 * there: 0 if it may stand as it is, else the length of the escape that is put into `out`: \t, \n
 * or \r, \xNN for a byte (a control of ASCII, or no UTF-8), \u{N} for a character.  *step is how
 * many bytes of the text it takes. */
#define PHL_ESCAPE_SIZE 16
size_t phl_text_escape(const char *text, size_t left, char out[PHL_ESCAPE_SIZE], size_t *step);
/* The same inside a JSON string: quotes and backslashes too, \uNNNN for the others, and U+FFFD for
 * what is no UTF-8. */
size_t phl_text_escape_json(const char *text, size_t left, char out[PHL_ESCAPE_SIZE], size_t *step);
/* Does the text hold a character that is to be escaped? */
bool phl_text_is_hidden(const char *text, size_t length);

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

/* Append `bytes` as a JSON string, quotes included. */
phl_status phl_text_append_json(phl_text *text, const char *bytes, size_t length, phl_error *error);

/* strtod and "%.17g" with a decimal point, whatever locale the host program has set. */
double phl_text_to_double(const char *text, const char **end);
void phl_text_of_double(double number, char out[32]);

/* "43,536".  Returns out. */
#define PHL_GROUPED_SIZE 32
char *phl_text_grouped(uint64_t number, char out[PHL_GROUPED_SIZE]);

/* A printable excerpt of input for error messages: at most 32 characters, escaped as above, "..."
 * after a cut.  `out` holds PHL_EXCERPT_SIZE bytes.  Returns out. */
#define PHL_EXCERPT_SIZE 320
char *phl_text_excerpt(const char *text, size_t length, char *out);

#endif
