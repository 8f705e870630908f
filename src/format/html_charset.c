/* html_charset.c - a page becomes UTF-8.
 *
 * Contents: UTF-16, single bytes, what a page declares, the choice.
 *
 * Of a page only the names of elements and attributes matter, and whether there is text.  They are
 * ASCII in practice, so every encoding that contains ASCII can be read like Windows-1252, whatever
 * its other bytes mean.  (A second byte of Shift_JIS, Big5 or GBK can be a letter, but none of
 * < > " ' = / and blanks.)
 */
#include <string.h>

#include "format/html.h"

enum { DECLARED_WITHIN = 1024 }; /* bytes, as the standard says */

static size_t encode(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (char)((0xf00u >> n & 0xff) | point);
    return n;
}

/* ---------------------------------------------------------------------------------------------
 * UTF-16
 * ------------------------------------------------------------------------------------------- */

static uint32_t unit(const unsigned char *at, bool big)
{
    return big ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

static phl_status from_utf16(phl_text *text, bool big, phl_text *made, phl_error *error)
{
    const unsigned char *bytes = (const unsigned char *)text->bytes;
    phl_status status = PHL_OK;
    for (size_t at = 2; status == PHL_OK && at < text->length; at += 2) {
        uint32_t point = at + 2 <= text->length ? unit(bytes + at, big) : 0xfffd;
        if (point >= 0xd800 && point < 0xe000) {
            uint32_t low = at + 4 <= text->length ? unit(bytes + at + 2, big) : 0;
            bool pair = point < 0xdc00 && low >= 0xdc00 && low < 0xe000;
            point = pair ? 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
            at += pair ? 2 : 0;
        }
        char out[4];
        status = phl_text_append(made, out, encode(point, out), error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Single bytes
 * ------------------------------------------------------------------------------------------- */

/* 0x80 to 0x9f of Windows-1252. */
static const uint16_t windows[32] = {
    0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};

/* Copy, with what is not ASCII replaced: each byte by its character, or each that is not UTF-8 by
 * U+FFFD. */
static phl_status replace_bytes(const phl_text *text, bool utf8, phl_text *made, phl_error *error)
{
    size_t at = 0;
    phl_status status = PHL_OK;
    while (status == PHL_OK && at < text->length) {
        size_t run = 0;
        if (utf8) {
            run = phl_utf8_check(text->bytes + at, text->length - at);
        } else {
            while (at + run < text->length && (unsigned char)text->bytes[at + run] < 0x80) {
                run++;
            }
        }
        status = phl_text_append(made, text->bytes + at, run, error);
        at += run;
        if (status == PHL_OK && at < text->length) {
            unsigned char byte = (unsigned char)text->bytes[at++];
            char out[4];
            uint32_t point = utf8 ? 0xfffd : byte < 0xa0 ? windows[byte - 0x80] : byte;
            status = phl_text_append(made, out, encode(point, out), error);
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * What a page declares
 * ------------------------------------------------------------------------------------------- */

/* The word after "charset=" in a tag, quotes and blanks passed over; NULL if there is none. */
static const char *find_charset(const char *tag, size_t length, size_t *found)
{
    static const char word[] = "charset";
    for (size_t at = 0; at + sizeof word < length; at++) {
        if (!phl_html_begins(tag + at, length - at, word)) {
            continue;
        }
        size_t begin = at + sizeof word - 1;
        while (begin < length && phl_html_is_blank(tag[begin])) {
            begin++;
        }
        if (begin == length || tag[begin] != '=') {
            continue;
        }
        begin++;
        while (begin < length &&
               (phl_html_is_blank(tag[begin]) || tag[begin] == '"' || tag[begin] == '\'')) {
            begin++;
        }
        size_t end = begin;
        while (end < length && !phl_html_is_blank(tag[end]) && strchr("\"';/>", tag[end]) == NULL) {
            end++;
        }
        *found = end - begin;
        return tag + begin;
    }
    return NULL;
}

/* The encoding that a <meta> near the start names; NULL if none does. */
static const char *find_declared(const phl_text *text, size_t *found)
{
    size_t within = text->length < DECLARED_WITHIN ? text->length : DECLARED_WITHIN;
    for (size_t at = 0; at < within; at++) {
        const char *here = text->bytes + at;
        size_t left = within - at;
        if (phl_html_begins(here, left, "<!--")) {
            while (at + 3 < within && memcmp(text->bytes + at, "-->", 3) != 0) {
                at++;
            }
        } else if (phl_html_begins(here, left, "<meta") && left > 5 &&
                   (phl_html_is_blank(here[5]) || here[5] == '/')) {
            const char *end = memchr(here, '>', left);
            const char *charset =
                find_charset(here, end != NULL ? (size_t)(end - here) : left, found);
            if (charset != NULL) {
                return charset;
            }
        }
    }
    return NULL;
}

/* Encodings that do not contain ASCII. */
static bool is_strange(const char *name, size_t length)
{
    static const char *const strange[] = {"iso-2022", "csiso2022", "hz-gb", "utf-7", "utf-32",
                                          "ebcdic",   "ibm037",    "cp037", NULL};
    for (const char *const *one = strange; *one != NULL; one++) {
        if (phl_html_begins(name, length, *one)) {
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------
 * The choice
 * ------------------------------------------------------------------------------------------- */

static phl_status check_nul(const phl_text *text, const char *file, phl_error *error)
{
    const char *nul = text->length > 0 ? memchr(text->bytes, '\0', text->length) : NULL;
    if (nul == NULL) {
        return PHL_OK;
    }
    phl_position place = {file, 1, 0};
    for (const char *at = text->bytes; at < nul; at++) {
        place.line += *at == '\n';
    }
    return phl_raise_at(error, PHL_ERR_ENCODING, place, "is this an HTML page?",
                        "found a NUL byte, which no page holds");
}

static phl_status convert(phl_text *text, const char *file, phl_text *made, phl_error *error)
{
    if (text->length >= 2 &&
        (memcmp(text->bytes, "\xff\xfe", 2) == 0 || memcmp(text->bytes, "\xfe\xff", 2) == 0)) {
        return from_utf16(text, text->bytes[0] == '\xfe', made, error);
    }
    if (text->length >= 3 && memcmp(text->bytes, "\xef\xbb\xbf", 3) == 0) {
        text->length -= 3;
        memmove(text->bytes, text->bytes + 3, text->length);
        return replace_bytes(text, true, made, error);
    }
    size_t length = 0;
    const char *declared = find_declared(text, &length);
    if (declared != NULL && is_strange(declared, length)) {
        phl_position place = {file, 0, 0};
        char shown[PHL_EXCERPT_SIZE];
        return phl_raise_at(error, PHL_ERR_ENCODING, place,
                            "convert the page to UTF-8, for example with iconv, and its "
                            "declaration as well",
                            "the page is written in '%s', which does not contain ASCII",
                            phl_text_excerpt(declared, length, shown));
    }
    bool utf8 = declared != NULL ? phl_html_begins(declared, length, "utf")
                                 : phl_utf8_check(text->bytes, text->length) == text->length;
    return replace_bytes(text, utf8, made, error);
}

phl_status phl_html_charset_apply(phl_text *text, const char *file, phl_error *error)
{
    if (text->length == 0) {
        return PHL_OK;
    }
    bool wide = text->length >= 2 && (memcmp(text->bytes, "\xff\xfe", 2) == 0 ||
                                      memcmp(text->bytes, "\xfe\xff", 2) == 0);
    phl_status status = wide ? PHL_OK : check_nul(text, file, error);
    if (status != PHL_OK) {
        return status;
    }
    bool marked = text->length >= 3 && memcmp(text->bytes, "\xef\xbb\xbf", 3) == 0;
    if (!wide && !marked && phl_utf8_check(text->bytes, text->length) == text->length) {
        size_t length = 0;
        const char *declared = find_declared(text, &length);
        if (declared == NULL || phl_html_begins(declared, length, "utf-8")) {
            return PHL_OK;
        }
    }
    phl_text made = {NULL, 0, 0};
    status = convert(text, file, &made, error);
    if (status == PHL_OK) {
        status = check_nul(&made, file, error);
    }
    if (status == PHL_OK) {
        phl_text_clear(text);
        *text = made;
    } else {
        phl_text_clear(&made);
    }
    return status;
}
