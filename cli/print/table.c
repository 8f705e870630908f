/* table.c - tables of text; see terminal.h. */
#include "print/terminal.h"

#include <stdlib.h>
#include <string.h>

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
