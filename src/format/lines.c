/* lines.c - an input line by line; see lines.h. */
#include "format/lines.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { CHUNK = 1 << 18 };

void phl_lines_init(phl_lines *lines, phl_input *input, uint64_t max_line)
{
    memset(lines, 0, sizeof *lines);
    lines->input = input;
    lines->max_line = max_line;
}

void phl_lines_clear(phl_lines *lines)
{
    phl_free(lines->buffer);
    lines->buffer = NULL;
}

phl_position phl_lines_position(const phl_lines *lines, const char *line, const char *at)
{
    phl_position position = {phl_input_name(lines->input), lines->number,
                             phl_utf8_count(line, (size_t)(at - line)) + 1};
    return position;
}

/* More text after `end`; sets at_end instead when there is none. */
static phl_status fill(phl_lines *lines, phl_error *error)
{
    if (lines->begin > 0) {
        memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
        lines->end -= lines->begin;
        lines->begin = 0;
    }
    /* One byte of room for the sentinel after a last line without an end. */
    phl_status status =
        phl_grow(&lines->buffer, &lines->capacity, lines->end + CHUNK / 2 + 1, 1, error);
    size_t got = 0;
    if (status == PHL_OK) {
        status = phl_input_read(lines->input, lines->buffer + lines->end,
                                lines->capacity - lines->end - 1, &got, error);
    }
    lines->end += got;
    lines->at_end = status == PHL_OK && got == 0;
    return status;
}

static void skip_byte_order_mark(phl_lines *lines)
{
    if (lines->end - lines->begin >= 3 &&
        memcmp(lines->buffer + lines->begin, "\xef\xbb\xbf", 3) == 0) {
        lines->begin += 3;
    }
}

/* There is nothing to go on from: the next call is at the end. */
static void give_up(phl_lines *lines)
{
    lines->begin = lines->end = lines->scanned = 0;
    lines->at_end = true;
}

static phl_status raise_long_line(const phl_lines *lines, uint64_t number, phl_error *error)
{
    phl_position position = {phl_input_name(lines->input), number, 0};
    return phl_raise_at(
        error, PHL_ERR_LIMIT, position,
        "raise the cap with " PHL_OPTION_TO("read.max_token", "") ", if this is a text file",
        "a line longer than %llu bytes", (unsigned long long)lines->max_line);
}

phl_status phl_lines_next(phl_lines *lines, const char **line, size_t *length, phl_error *error)
{
    bool first = lines->number == 0;
    char *found = NULL;
    for (;;) {
        size_t left = lines->end - lines->begin;
        if (left > lines->scanned) {
            found =
                memchr(lines->buffer + lines->begin + lines->scanned, '\n', left - lines->scanned);
        }
        if (found != NULL || lines->at_end) {
            break;
        }
        lines->scanned = left;
        if (left > lines->max_line) {
            give_up(lines);
            return raise_long_line(lines, lines->number + 1, error);
        }
        /* A NUL byte in a long stretch without line ends: binary; do not read on to the cap. */
        if (left > CHUNK && memchr(lines->buffer + lines->begin, '\0', left) != NULL) {
            break;
        }
        phl_status status = fill(lines, error);
        if (status != PHL_OK) {
            give_up(lines);
            return status;
        }
    }
    if (first) {
        skip_byte_order_mark(lines);
    }
    lines->scanned = 0;
    char *start = lines->buffer + lines->begin;
    if (found == NULL && lines->begin == lines->end) {
        *line = NULL;
        *length = 0;
        return PHL_OK;
    }
    size_t size = found != NULL ? (size_t)(found - start) : lines->end - lines->begin;
    lines->begin += size + (found != NULL);
    lines->number++;
    if (found == NULL) {
        start[size] = '\n';
    }
    if (size > lines->max_line) {
        return raise_long_line(lines, lines->number, error);
    }
    if (size > 0 && start[size - 1] == '\r') {
        start[--size] = '\n';
    }
    *line = start;
    *length = size;
    size_t bad = phl_utf8_check(start, size);
    if (bad != size) {
        phl_position position = phl_lines_position(lines, start, start + bad);
        if (start[bad] == '\0') {
            return phl_raise_at(error, PHL_ERR_ENCODING, position,
                                "is this a text file? trees are read as UTF-8 text",
                                "found a NUL byte, expected text");
        }
        return phl_raise_at(
            error, PHL_ERR_ENCODING, position, "convert the file to UTF-8, for example with iconv",
            "found byte 0x%02x, which is not UTF-8", (unsigned)(unsigned char)start[bad]);
    }
    return PHL_OK;
}
