/* lines.h - an input line by line, checked to be UTF-8 without NUL bytes.
 *
 * A byte order mark at the start is passed over, CRLF counts as a line end.  The line handed out is
 * contiguous and followed by a '\n' in memory (also when the file lacks the last one), so a parser
 * may stop at that sentinel instead of counting bytes.
 */
#ifndef PHL_FORMAT_LINES_H
#define PHL_FORMAT_LINES_H

#include "format/input.h"

typedef struct phl_lines {
    phl_input *input;  /* borrowed */
    uint64_t max_line; /* bytes; a longer line is PHL_ERR_LIMIT */
    uint64_t number;   /* of the line handed out last, 1-based */
    char *buffer;
    size_t begin, end, capacity;
    size_t scanned; /* bytes after begin known to hold no line end */
    bool at_end;
} phl_lines;

void phl_lines_init(phl_lines *lines, phl_input *input, uint64_t max_line);
void phl_lines_clear(phl_lines *lines);

/* *line = NULL at the end of the input.  A call may follow one that failed: a line that is not
 * UTF-8 or too long is used up, and after a failure of the input itself (or a line whose end is
 * not in sight) is the end. */
phl_status phl_lines_next(phl_lines *lines, const char **line, size_t *length, phl_error *error);

/* Place of the byte at `at` in the current line that began at `line`. */
phl_position phl_lines_position(const phl_lines *lines, const char *line, const char *at);

#endif
