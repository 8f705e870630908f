/* text.c - what people read, and a growing text buffer; see text.h. */
#include "base/text.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- escapes ---- */

/* Controls, marks that turn the direction of text, line and paragraph separators, characters
 * without a shape that no spelling needs (U+200C and U+200D do belong to words), and what is no
 * character at all. */
static bool is_hidden(uint32_t point)
{
    static const uint32_t ranges[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},      {0x61c, 0x61c},
                                         {0x200b, 0x200b}, {0x200e, 0x200f},  {0x2028, 0x202e},
                                         {0x2060, 0x206f}, {0xfeff, 0xfeff},  {0xfff9, 0xfffb},
                                         {0xfffe, 0xffff}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (point >= ranges[i][0] && point <= ranges[i][1]) {
            return true;
        }
    }
    return false;
}

/* The letter that stands for tab, newline or carriage return after a backslash; else 0. */
static char short_escape(uint32_t point)
{
    return point == '\t' ? 't' : point == '\n' ? 'n' : point == '\r' ? 'r' : '\0';
}

size_t phl_text_escape(const char *text, size_t left, char out[PHL_ESCAPE_SIZE], size_t *step)
{
    const unsigned char *at = (const unsigned char *)text;
    *step = 1;
    if (at[0] >= ' ' && at[0] < 0x7f) {
        return 0;
    }
    uint32_t point = 0;
    size_t length = phl_utf8_decode(text, left, &point);
    if (length > 0) {
        *step = length;
        if (!is_hidden(point)) {
            return 0;
        }
    }
    int used = short_escape(point) != '\0'
                   ? snprintf(out, PHL_ESCAPE_SIZE, "\\%c", short_escape(point))
               : length < 2 ? snprintf(out, PHL_ESCAPE_SIZE, "\\x%02x", at[0])
                            : snprintf(out, PHL_ESCAPE_SIZE, "\\u{%x}", point);
    return (size_t)used;
}

size_t phl_text_escape_json(const char *text, size_t left, char out[PHL_ESCAPE_SIZE], size_t *step)
{
    const unsigned char *at = (const unsigned char *)text;
    *step = 1;
    if (at[0] >= ' ' && at[0] < 0x7f && at[0] != '"' && at[0] != '\\') {
        return 0;
    }
    uint32_t point = 0xfffd;
    size_t length = phl_utf8_decode(text, left, &point);
    char letter = point == '"' || point == '\\' ? (char)point : short_escape(point);
    *step = length > 0 ? length : 1;
    if (letter == '\0' && length > 0 && !is_hidden(point)) {
        return 0;
    }
    int used = letter != '\0'    ? snprintf(out, PHL_ESCAPE_SIZE, "\\%c", letter)
               : point < 0x10000 ? snprintf(out, PHL_ESCAPE_SIZE, "\\u%04x", point)
                                 : snprintf(out, PHL_ESCAPE_SIZE, "\\u%04x\\u%04x",
                                            0xd800 + ((point - 0x10000) >> 10),
                                            0xdc00 + ((point - 0x10000) & 0x3ff));
    return (size_t)used;
}

bool phl_text_is_hidden(const char *text, size_t length)
{
    char escape[PHL_ESCAPE_SIZE];
    size_t step;
    for (size_t at = 0; at < length; at += step) {
        if (phl_text_escape(text + at, length - at, escape, &step) > 0) {
            return true;
        }
    }
    return false;
}

/* ---- growing text ---- */

phl_status phl_text_append(phl_text *text, const char *bytes, size_t length, phl_error *error)
{
    if (length > text->capacity - text->length) {
        phl_status status =
            phl_grow(&text->bytes, &text->capacity, text->length + length, 1, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    if (length > 0) {
        memcpy(text->bytes + text->length, bytes, length);
    }
    text->length += length;
    return PHL_OK;
}

phl_status phl_text_append_string(phl_text *text, const char *string, phl_error *error)
{
    return phl_text_append(text, string, strlen(string), error);
}

phl_status phl_text_append_format(phl_text *text, phl_error *error, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    PHL_CHECK_BUG(length >= 0 && (size_t)length < sizeof line, error);
    return phl_text_append(text, line, (size_t)length, error);
}

void phl_text_clear(phl_text *text)
{
    phl_free(text->bytes);
    memset(text, 0, sizeof *text);
}

phl_status phl_text_append_json(phl_text *text, const char *bytes, size_t length, phl_error *error)
{
    phl_status status = phl_text_append(text, "\"", 1, error);
    size_t plain = 0; /* start of the run not yet copied */
    size_t step;
    for (size_t at = 0; status == PHL_OK && at < length; at += step) {
        char escape[PHL_ESCAPE_SIZE];
        size_t escaped = phl_text_escape_json(bytes + at, length - at, escape, &step);
        if (escaped == 0) {
            continue;
        }
        status = phl_text_append(text, bytes + plain, at - plain, error);
        plain = at + step;
        if (status == PHL_OK) {
            status = phl_text_append(text, escape, escaped, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_text_append(text, bytes + plain, length - plain, error);
    }
    return status == PHL_OK ? phl_text_append(text, "\"", 1, error) : status;
}

/* The thread's locale is put aside for the time of a conversion. */
double phl_text_to_double(const char *text, const char **end)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t own = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    char *behind;
    double number = strtod(text, &behind);
    *end = behind;
    if (plain != (locale_t)0) {
        (void)uselocale(own);
        freelocale(plain);
    }
    return number;
}

void phl_text_of_double(double number, char out[32])
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t own = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    (void)snprintf(out, 32, "%.17g", number);
    if (plain != (locale_t)0) {
        (void)uselocale(own);
        freelocale(plain);
    }
}

char *phl_text_grouped(uint64_t number, char out[PHL_GROUPED_SIZE])
{
    char digits[PHL_GROUPED_SIZE];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number), used = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) {
            out[used++] = ',';
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

char *phl_text_excerpt(const char *text, size_t length, char *out)
{
    size_t used = 0;
    size_t at = 0;
    size_t step;
    for (int shown = 0; at < length && shown < 32; shown++, at += step) {
        char escape[PHL_ESCAPE_SIZE];
        size_t escaped = phl_text_escape(text + at, length - at, escape, &step);
        memcpy(out + used, escaped > 0 ? escape : text + at, escaped > 0 ? escaped : step);
        used += escaped > 0 ? escaped : step;
    }
    (void)snprintf(out + used, PHL_EXCERPT_SIZE - used, "%s", at < length ? "..." : "");
    return out;
}
