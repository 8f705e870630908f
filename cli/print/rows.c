/* rows.c - results row by row, and files that appear only when complete; see rows.h.
 *
 * Contents: cells, files.
 */
#include "print/rows.h"
#include "interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- cells ---- */

static void put_text(FILE *file, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '\t':
            fputs("\\t", file);
            break;
        case '\n':
            fputs("\\n", file);
            break;
        case '\r':
            fputs("\\r", file);
            break;
        case '\\':
            fputs("\\\\", file);
            break;
        default:
            fputc(*text, file);
        }
    }
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

static int cannot_write(const char *path, const char *reason)
{
    terminal_message("cannot write %s: %s", path, reason);
    return EXIT_SYSTEM;
}

static bool ends_in(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

/* What is neither a file nor a folder, a pipe or a device, is written to as it is. */
static int open_direct(result_file *result)
{
    result->file = fopen(result->path, "w");
    if (!result->file) {
        return cannot_write(result->path, strerror(errno));
    }
    interrupt_partial();
    return EXIT_OK;
}

/* A new file beside the target, to be renamed into its place. */
static int open_temporary(result_file *result, mode_t mode)
{
    size_t size = strlen(result->target) + 8;
    result->temporary = terminal_allocate(size, 1);
    snprintf(result->temporary, size, "%s.XXXXXX", result->target);
    int descriptor = mkstemp(result->temporary);
    if (descriptor >= 0) {
        (void)fchmod(descriptor, mode);
        result->file = fdopen(descriptor, "w");
    }
    if (!result->file) {
        int code = cannot_write(result->path, strerror(errno));
        if (descriptor >= 0) {
            close(descriptor);
            unlink(result->temporary);
        }
        return code;
    }
    interrupt_poll(true);
    return EXIT_OK;
}

/* Where a file goes in the end, behind symbolic links, and its permissions. */
static int find_target(result_file *result, const struct stat *known, mode_t *mode)
{
    struct stat link;
    if (known) {
        *mode = known->st_mode & 07777; /* those it has */
        result->target = realpath(result->path, NULL);
        return result->target ? EXIT_OK : cannot_write(result->path, strerror(errno));
    }
    if (lstat(result->path, &link) == 0 && S_ISLNK(link.st_mode)) {
        return cannot_write(result->path, "it is a link to a file that is not there");
    }
    mode_t mask = umask(0);
    umask(mask);
    *mode = 0666 & ~mask;
    result->target = terminal_allocate(strlen(result->path) + 1, 1);
    strcpy(result->target, result->path);
    return EXIT_OK;
}

static void result_clear(result_file *result)
{
    free(result->temporary);
    free(result->target);
    *result = (result_file){0};
}

int result_open(result_file *result, const char *path)
{
    struct stat known;
    mode_t mode;
    *result = (result_file){.path = path};
    if (ends_in(path, ".gz") || ends_in(path, ".zst")) {
        terminal_message("%s: predictions are written as plain text; choose another name", path);
        return EXIT_USAGE;
    }
    if (strcmp(path, "-") == 0) {
        result->file = stdout;
        return EXIT_OK;
    }
    bool exists = stat(path, &known) == 0;
    if (exists && S_ISDIR(known.st_mode)) {
        return cannot_write(path, strerror(EISDIR));
    }
    if (exists && !S_ISREG(known.st_mode)) {
        return open_direct(result);
    }
    int code = find_target(result, exists ? &known : NULL, &mode);
    if (code == EXIT_OK) {
        code = open_temporary(result, mode);
    }
    if (code != EXIT_OK) {
        result_clear(result);
    }
    return code;
}

int result_close(result_file *result, int code)
{
    if (!result->file || result->file == stdout) {
        *result = (result_file){0};
        return code;
    }
    int reason = stream_flush(result->file);
    if (reason == 0 && result->temporary && fsync(fileno(result->file)) != 0) {
        reason = errno;
    }
    if (fclose(result->file) != 0 && reason == 0) {
        reason = errno;
    }
    if (code == EXIT_OK && reason == 0 && result->temporary &&
        rename(result->temporary, result->target) != 0) {
        reason = errno;
    }
    if (code == EXIT_OK && reason != 0) {
        code = cannot_write(result->path, strerror(reason));
    }
    if (code != EXIT_OK && result->temporary) {
        unlink(result->temporary);
    }
    interrupt_poll(false);
    result_clear(result);
    return code;
}
