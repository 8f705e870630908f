/* html.h - what the files of the HTML format share; nobody else includes it.
 *
 * html.c reads a page and turns the parser's tree into nodes; html_charset.c makes it UTF-8;
 * html_scan.c looks through it beforehand and refuses what would take too long; html_arena.c is the
 * bounded memory that the parser (gumbo) lives in.
 */
#ifndef PHL_FORMAT_HTML_H
#define PHL_FORMAT_HTML_H

#include <gumbo.h>

#include "base/text.h"
#include "format/format.h"

static inline bool phl_html_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* Does `text` begin with `word`, which is in small letters, whatever its own letters? */
static inline bool phl_html_begins(const char *text, size_t length, const char *word)
{
    for (size_t i = 0; word[i] != '\0'; i++) {
        if (i == length) {
            return false;
        }
        char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
        if (c != word[i]) {
            return false;
        }
    }
    return true;
}

/* `text`, as it stands in the file, becomes UTF-8 without a byte order mark: by its mark, by what
 * it declares, or else by what it is.  No sequence of bytes is refused but NUL, and none is left
 * that is not UTF-8. */
phl_status phl_html_charset_apply(phl_text *text, const char *file, phl_error *error);

/* Look through a page for what costs the parser more than its length says: refused with
 * PHL_ERR_LIMIT. */
phl_status phl_html_scan(const phl_reader *reader, const char *text, size_t length,
                         phl_error *error);

/* Parse a page in memory of its own.  *output is good until the arena is freed, which must be done
 * on failure too. */
typedef struct phl_html_arena phl_html_arena;
phl_status phl_html_arena_parse(phl_reader *reader, const char *text, size_t length,
                                phl_html_arena **arena, const GumboOutput **output,
                                phl_error *error);
void phl_html_arena_free(phl_html_arena *arena);

#endif
