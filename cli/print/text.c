/* text.c - names and other text of users: made printable, checked, ordered; see terminal.h. */
#include "print/terminal.h"

#include <string.h>

/* Bytes of the UTF-8 character at text, 0 if it is none. */
static size_t utf8_length(const unsigned char *text)
{
    static const struct {
        unsigned char mask, lead, second_low, second_high;
        size_t length;
    } kinds[] = {
        {0xFF, 0xE0, 0xA0, 0xBF, 3}, /* no overlong forms */
        {0xFF, 0xED, 0x80, 0x9F, 3}, /* no surrogates */
        {0xFF, 0xF0, 0x90, 0xBF, 4}, /* no overlong forms */
        {0xFF, 0xF4, 0x80, 0x8F, 4}, /* nothing past U+10FFFF */
        {0xE0, 0xC0, 0x80, 0xBF, 2}, {0xF0, 0xE0, 0x80, 0xBF, 3}, {0xFC, 0xF0, 0x80, 0xBF, 4},
    };
    if (text[0] < 0x80) {
        return 1;
    }
    if (text[0] == 0xC0 || text[0] == 0xC1) {
        return 0;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if ((text[0] & kinds[k].mask) != kinds[k].lead) {
            continue;
        }
        if (text[1] < kinds[k].second_low || text[1] > kinds[k].second_high) {
            return 0;
        }
        for (size_t i = 2; i < kinds[k].length; i++) {
            if ((text[i] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return kinds[k].length;
    }
    return 0;
}

bool text_is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t length = utf8_length(at);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

/* C0 and C1 controls and broken bytes: they could command the terminal. */
static bool is_control(const unsigned char *text)
{
    return *text < 0x20 || *text == 0x7F || (*text == 0xC2 && text[1] < 0xA0) ||
           utf8_length(text) == 0;
}

size_t text_printable(const char *text, size_t columns, char *buffer, size_t size)
{
    const unsigned char *start = (const unsigned char *)text, *at;
    size_t used = 0, column = 0, whole = 0;
    for (at = start; *at; at += is_control(at) ? 1 : utf8_length(at)) {
        whole += is_control(at) ? 4 : 1;
    }
    size_t room = whole <= columns ? columns : columns - 3;
    at = start;
    while (*at && used + 8 <= size) {
        size_t length = is_control(at) ? 1 : utf8_length(at);
        size_t width = is_control(at) ? 4 : 1;
        if (column + width > room) {
            memcpy(buffer + used, "...", 3);
            used += 3;
            column += 3;
            break;
        }
        if (is_control(at)) {
            snprintf(buffer + used, size - used, "\\x%02x", *at);
            used += 4;
        } else {
            memcpy(buffer + used, at, length);
            used += length;
        }
        column += width;
        at += length;
    }
    buffer[used] = '\0';
    return column;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int text_compare_natural(const char *a, const char *b)
{
    const char *start_a = a, *start_b = b;
    while (*a && *b) {
        if (is_digit(*a) && is_digit(*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            int order = n != m ? (n < m ? -1 : 1) : strncmp(a, b, n);
            if (order != 0) {
                return order;
            }
            a += n;
            b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    if (*a || *b) {
        return *a ? 1 : -1;
    }
    return strcmp(start_a, start_b); /* "01" and "1" */
}
