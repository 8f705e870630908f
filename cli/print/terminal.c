/* terminal.c - messages and texts for people; see terminal.h.
 *
 * Contents: messages, standard output, wrapping.
 */
#include "print/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args/fields.h"
#include "base/text.h"

/* ---- messages ---- */

/* Printed in one go unless it is very long, so that lines of several programs on one terminal do
 * not mix. */
static void print_line(const char *prefix, const char *text)
{
    char line[4096];
    size_t used = (size_t)snprintf(line, sizeof line, "phloem: %s", prefix), step;
    for (size_t left = strlen(text); left > 0; text += step, left -= step) {
        char escape[PHL_ESCAPE_SIZE];
        size_t escaped = phl_text_escape(text, left, escape, &step);
        if (used + PHL_ESCAPE_SIZE + 1 > sizeof line) {
            fwrite(line, 1, used, stderr);
            used = 0;
        }
        memcpy(line + used, escaped ? escape : text, escaped ? escaped : step);
        used += escaped ? escaped : step;
    }
    line[used++] = '\n';
    fwrite(line, 1, used, stderr);
}

void terminal_message_list(const char *format, va_list list)
{
    char text[2048], *longer = NULL;
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(text, sizeof text, format, list);
    if (length >= (int)sizeof text && (longer = malloc((size_t)length + 1))) {
        vsnprintf(longer, (size_t)length + 1, format, again);
    }
    va_end(again);
    print_line("", longer ? longer : text);
    free(longer);
}

void terminal_message(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    terminal_message_list(format, list);
    va_end(list);
}

char *terminal_words(const char *text)
{
    size_t size = text ? 2 * strlen(text) + 256 : 0;
    return text ? phl_error_render_text(text, fields_name, NULL, terminal_allocate(size, 1), size)
                : NULL;
}

void terminal_report(const char *prefix, const phl_error *error)
{
    char text[2 * sizeof *error];
    print_line(prefix, phl_error_render(error, fields_name, NULL, text, sizeof text));
}

int terminal_exit_code(phl_status status)
{
    switch (phl_status_group(status)) {
    case PHL_GROUP_OK:
        return EXIT_OK;
    case PHL_GROUP_USAGE:
        return EXIT_USAGE;
    case PHL_GROUP_DATA:
        return EXIT_DATA;
    case PHL_GROUP_SYSTEM:
        return EXIT_SYSTEM;
    case PHL_GROUP_CANCELLED:
        return EXIT_INTERRUPTED;
    case PHL_GROUP_INTERNAL:
    default:
        return EXIT_INTERNAL;
    }
}

int terminal_error(const phl_error *error)
{
    terminal_report("", error);
    return terminal_exit_code(error->status);
}

void terminal_defect(const char *what)
{
    terminal_message("internal error: %s; please report it", what);
    exit(EXIT_INTERNAL);
}

void *terminal_allocate(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    if (!memory) {
        terminal_message("memory is used up");
        exit(EXIT_SYSTEM);
    }
    return memory;
}

void terminal_fact(const char *what, const char *value)
{
    if (value) {
        printf("%-19s ", what);
        text_put(stdout, value);
        putchar('\n');
    }
}

int terminal_flush(FILE *file)
{
    bool failed = ferror(file);
    errno = 0;
    if (fflush(file) == 0 && !failed) {
        return 0;
    }
    if (errno == 0) { /* the reason of an earlier write is gone: a byte more fails as it did */
        clearerr(file);
        fputc('\n', file);
        fflush(file);
    }
    return errno ? errno : EIO;
}

int terminal_finish(void)
{
    int reason = terminal_flush(stdout);
    if (reason == 0) {
        return EXIT_OK;
    }
    terminal_message("cannot write standard output: %s", strerror(reason));
    FILE *nowhere = freopen("/dev/null", "w", stdout); /* told once, whatever is printed yet */
    (void)nowhere;
    return EXIT_SYSTEM;
}

/* ---- wrapping ---- */

void terminal_wrap(FILE *file, const char *text, size_t column, size_t indent)
{
    bool fresh = true; /* nothing on this line yet */
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (!fresh && column + 1 + length > TERMINAL_WIDTH) {
            fprintf(file, "\n%*s", (int)indent, "");
            column = indent;
            fresh = true;
        }
        fprintf(file, "%s%.*s", fresh ? "" : " ", (int)length, text);
        column += length + (fresh ? 0 : 1);
        fresh = false;
        text += length;
        if (text[0] == '\n' && text[1] == '\n') {
            fprintf(file, "\n\n%*s", (int)indent, "");
            column = indent;
            fresh = true;
        }
        text += strspn(text, " \n");
    }
    fputc('\n', file);
}
