/* utf8.c - checking and decoding UTF-8; see utf8.h. */
#include "base/utf8.h"

#include <string.h>

/* Length of the valid sequence at `at`, or 0.  Rejects overlong forms, surrogates, > U+10FFFF. */
static size_t sequence_length(const unsigned char *at, size_t left)
{
    unsigned char first = at[0];
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length == 0 || first > 0xf4 || first == 0 || length > left) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if (length > 2) {
        unsigned char second = at[1];
        if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
            (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
            return 0;
        }
    }
    return length;
}

size_t phl_utf8_decode(const char *text, size_t left, uint32_t *point)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = sequence_length(at, left);
    if (length > 0) {
        uint32_t made = length == 1 ? at[0] : at[0] & (0x7fu >> length);
        for (size_t i = 1; i < length; i++) {
            made = made << 6 | (at[i] & 0x3fu);
        }
        *point = made;
    }
    return length;
}

size_t phl_utf8_check(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0;
    while (at < length) {
        /* Eight ASCII bytes at a time: no high bit, no zero byte. */
        while (length - at >= 8) {
            uint64_t word;
            memcpy(&word, bytes + at, 8);
            uint64_t suspicious = (word | (word - 0x0101010101010101u)) & 0x8080808080808080u;
            if (suspicious != 0) {
                break;
            }
            at += 8;
        }
        if (at == length) {
            break;
        }
        size_t step = sequence_length(bytes + at, length - at);
        if (step == 0) {
            return at;
        }
        at += step;
    }
    return length;
}

size_t phl_utf8_count(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}
