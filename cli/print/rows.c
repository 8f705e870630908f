/* rows.c - results row by row, and files that appear only when complete; see rows.h.
 *
 * Contents: cells, files.
 */
#include "print/rows.h"
#include "interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* ---- cells ---- */

/* Hidden characters as people see them, and a backslash doubled: a cell can be read back. */
static void put_text(FILE *file, const char *text)
{
    char escape[PHL_ESCAPE_SIZE];
    size_t length = strlen(text), plain = 0, step; /* plain: bytes not written yet begin here */
    for (size_t at = 0; at < length; at += step) {
        step = 1;
        if (phl_text_is_plain(text[at])) {
            continue;
        }
        size_t escaped = phl_text_escape(text + at, length - at, escape, &step);
        bool doubled = text[at] == '\\';
        if (escaped > 0 || doubled) {
            fwrite(text + plain, 1, at - plain, file);
            fwrite(doubled ? "\\\\" : escape, 1, doubled ? 2 : escaped, file);
            plain = at + step;
        }
    }
    fwrite(text + plain, 1, length - plain, file);
}

void rows_begin(row_writer *rows, FILE *file, bool as_json, const char *const *columns,
                size_t n_columns)
{
    *rows =
        (row_writer){.file = file, .as_json = as_json, .columns = columns, .n_columns = n_columns};
    if (file == stdout) {
        interrupt_partial();
    }
    if (as_json) {
        json_out_begin(&rows->json, file);
        json_out_open(&rows->json, '[', false);
        return;
    }
    for (size_t c = 0; c < n_columns; c++) {
        put_text(file, columns[c]);
        fputc(c + 1 < n_columns ? '\t' : '\n', file);
    }
}

static void begin_cell(row_writer *rows)
{
    if (rows->as_json) {
        if (rows->at == 0) {
            json_out_open(&rows->json, '{', true);
        }
        json_out_key(&rows->json, rows->columns[rows->at]);
    }
}

static void end_cell(row_writer *rows)
{
    bool last = ++rows->at == rows->n_columns;
    if (!rows->as_json) {
        fputc(last ? '\n' : '\t', rows->file);
    } else if (last) {
        json_out_close(&rows->json, '}');
    }
    if (last) {
        rows->at = 0;
    }
}

void rows_text(row_writer *rows, const char *text)
{
    begin_cell(rows);
    if (rows->as_json) {
        json_out_string(&rows->json, text);
    } else if (text) {
        put_text(rows->file, text);
    }
    end_cell(rows);
}

void rows_label(row_writer *rows, const char *label)
{
    if (rows->as_json || (label && strcmp(label, "?") != 0)) {
        rows_text(rows, label);
        return;
    }
    fputs(label ? "\\?" : "?", rows->file);
    end_cell(rows);
}

void rows_count(row_writer *rows, uint64_t number)
{
    begin_cell(rows);
    if (rows->as_json) {
        json_out_integer(&rows->json, number);
    } else {
        fprintf(rows->file, "%" PRIu64, number);
    }
    end_cell(rows);
}

void rows_integer(row_writer *rows, int64_t number)
{
    if (number >= 0) {
        rows_count(rows, (uint64_t)number);
    } else {
        rows_real(rows, (double)number, 17);
    }
}

void rows_real(row_writer *rows, double number, int digits)
{
    begin_cell(rows);
    if (rows->as_json) {
        json_out_real(&rows->json, number);
    } else if (!isnan(number)) {
        fprintf(rows->file, "%.*g", digits, number == 0 ? 0 : number); /* no "-0" */
    }
    end_cell(rows);
}

void rows_end(row_writer *rows)
{
    if (rows->as_json) {
        json_out_close(&rows->json, ']');
    }
}

void rows_cut(row_writer *rows)
{
    if (rows->as_json) {
        fputc('\n', rows->file);
    }
}

/* ---- files ---- */

static int cannot_write(const char *path, int reason)
{
    phl_error error;
    (void)phl_raise_errno(&error, PHL_ERR_WRITE, reason, path, "cannot write");
    return terminal_error(&error);
}

static bool ends_in(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

int rows_file_open(rows_file *result, const char *path)
{
    phl_error error;
    *result = (rows_file){.path = path};
    if (ends_in(path, ".gz") || ends_in(path, ".zst")) {
        terminal_message("%s: written as plain text, not compressed; choose another name", path);
        return EXIT_USAGE;
    }
    if (strcmp(path, "-") == 0) {
        result->file = stdout;
        return EXIT_OK;
    }
    if (phl_placing_open(&result->placing, path, &error) != PHL_OK) {
        return terminal_error(&error);
    }
    /* A descriptor of its own: the other one keeps the lock on the temporary file. */
    int file = dup(result->placing.file);
    result->file = file < 0 ? NULL : fdopen(file, "w");
    if (!result->file) {
        int code = cannot_write(path, errno);
        if (file >= 0) {
            close(file);
        }
        phl_placing_close(&result->placing);
        return code;
    }
    if (result->placing.temporary) {
        interrupt_poll(true);
    } else {
        interrupt_partial();
    }
    return EXIT_OK;
}

int rows_file_close(rows_file *result, int code)
{
    phl_error error;
    if (!result->file || result->file == stdout) {
        *result = (rows_file){0};
        return code;
    }
    int reason = terminal_flush(result->file);
    if (fclose(result->file) != 0 && reason == 0) {
        reason = errno;
    }
    if (code == EXIT_OK && reason != 0) {
        code = cannot_write(result->path, reason);
    }
    if (code == EXIT_OK &&
        phl_placing_commit(&result->placing, PHL_PLACING_REPLACES, &error) != PHL_OK) {
        code = terminal_error(&error);
    }
    phl_placing_close(&result->placing);
    interrupt_poll(false);
    *result = (rows_file){0};
    return code;
}
