/* text.c - names and other text of users: made printable, checked, ordered; see terminal.h. */
#include "print/terminal.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

bool text_is_utf8(const char *text)
{
    size_t length = strlen(text);
    return phl_utf8_check(text, length) == length;
}

void text_put(FILE *file, const char *text)
{
    char escape[PHL_ESCAPE_SIZE];
    const char *plain = text, *end = text + strlen(text); /* plain: not printed yet */
    size_t step;
    for (const char *at = text; at < end; at += step) {
        size_t escaped = phl_text_escape(at, (size_t)(end - at), escape, &step);
        if (escaped) {
            fwrite(plain, 1, (size_t)(at - plain), file);
            fwrite(escape, 1, escaped, file);
            plain = at + step;
        }
    }
    fwrite(plain, 1, (size_t)(end - plain), file);
}

/* Columns of the whole text. */
static size_t width_of(const char *text, const char *end)
{
    char escape[PHL_ESCAPE_SIZE];
    size_t width = 0, step;
    for (; text < end; text += step) {
        size_t escaped = phl_text_escape(text, (size_t)(end - text), escape, &step);
        width += escaped ? escaped : 1;
    }
    return width;
}

size_t text_printable(const char *text, size_t columns, char *buffer, size_t size)
{
    enum { DOTS = 3 };
    char escape[PHL_ESCAPE_SIZE];
    const char *end = text + strlen(text);
    size_t used = 0, column = 0, step;
    size_t room = width_of(text, end) <= columns ? columns : columns - DOTS;
    for (; text < end; text += step) {
        size_t escaped = phl_text_escape(text, (size_t)(end - text), escape, &step);
        size_t length = escaped ? escaped : step, width = escaped ? escaped : 1;
        if (column + width > room || used + length + DOTS + 1 > size) {
            memcpy(buffer + used, "...", DOTS);
            used += DOTS;
            column += DOTS;
            break;
        }
        memcpy(buffer + used, escaped ? escape : text, length);
        used += length;
        column += width;
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

char *text_format(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(NULL, 0, format, values);
    va_end(values);
    char *text = terminal_allocate((size_t)length + 1, 1);
    va_start(values, format);
    vsnprintf(text, (size_t)length + 1, format, values);
    va_end(values);
    return text;
}

char *text_path(const char *folder, const char *name)
{
    size_t n = strlen(folder);
    return text_format("%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
}
