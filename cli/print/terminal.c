/* terminal.c - messages, numbers and text for people; see terminal.h.
 *
 * Contents: messages, standard output, wrapping, numbers, names, tables.
 */
#include "print/terminal.h"

#include <errno.h>
#include <inttypes.h>
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

int stream_flush(FILE *file)
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
    int reason = stream_flush(stdout);
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

/* ---- numbers ---- */

char *number_grouped(uint64_t number, char *buffer)
{
    return phl_text_grouped(number, buffer);
}

char *number_exact(double number, char *buffer)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, NUMBER_SIZE, "%.*g", digits, number);
        if (strtod(buffer, NULL) == number) {
            break;
        }
    }
    return buffer;
}

char *number_of(uint64_t number, const char *one, const char *many, char *buffer, size_t size)
{
    char digits[NUMBER_SIZE];
    snprintf(buffer, size, "%s %s", number_grouped(number, digits), number == 1 ? one : many);
    return buffer;
}

/* ---- tables ---- */

static size_t columns_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++) {
        n += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return n;
}

void table_begin(text_table *table, size_t columns)
{
    *table = (text_table){.columns = columns};
}

void table_row(text_table *table, const char *const *cells)
{
    if (table->rows == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 16;
        char(*grown)[TABLE_CELL] =
            terminal_allocate(capacity * table->columns, sizeof *table->cells);
        if (table->rows) {
            memcpy(grown, table->cells, table->rows * table->columns * sizeof *grown);
        }
        free(table->cells);
        table->cells = grown;
        table->capacity = capacity;
    }
    for (size_t c = 0; c < table->columns; c++) {
        char *cell = table->cells[table->rows * table->columns + c];
        snprintf(cell, TABLE_CELL, "%s", cells[c]);
        if (columns_of(cell) > table->width[c]) {
            table->width[c] = columns_of(cell);
        }
    }
    table->rows++;
}

void table_end(text_table *table, FILE *file, size_t indent)
{
    for (size_t r = 0; r < table->rows; r++) {
        fprintf(file, "%*s", (int)indent, "");
        for (size_t c = 0; c < table->columns; c++) {
            const char *cell = table->cells[r * table->columns + c];
            int padding = (int)(table->width[c] - columns_of(cell));
            if (c == 0) {
                fprintf(file, "%s%*s", cell, padding, "");
            } else {
                fprintf(file, "  %*s%s", padding, "", cell);
            }
        }
        fputc('\n', file);
    }
    free(table->cells);
    *table = (text_table){0};
}
