/* rows.h - results row by row, as TSV with a header or as a JSON array of objects, and files that
 * appear only when complete.
 */
#ifndef PHLOEM_CLI_ROWS_H
#define PHLOEM_CLI_ROWS_H

#include "args/options.h"
#include "base/placing.h"
#include "print/terminal.h"

/* Digits of a real number in TSV; JSON has all of them. */
enum { DIGITS_PROBABILITY = 6, DIGITS_LOG = 10 };

/* Cells are given one after the other; a row is complete when every column has its cell. */
typedef struct row_writer {
    FILE *file;
    bool as_json;
    json_writer json;
    const char *const *columns; /* borrowed */
    size_t n_columns, at;
} row_writer;

void rows_begin(row_writer *rows, FILE *file, bool as_json, const char *const *columns,
                size_t n_columns);
/* In TSV hidden characters are escaped as for people (base/text.h), and a backslash is \\.  NULL:
 * empty, null. */
void rows_text(row_writer *rows, const char *text);
/* The same with "?" for a label that is not known; a label that is a question mark is "\?". */
void rows_label(row_writer *rows, const char *label);
void rows_count(row_writer *rows, uint64_t number);
void rows_integer(row_writer *rows, int64_t number);
/* In TSV with so many significant digits, infinite: "inf"; NaN is empty.  In JSON both are null. */
void rows_real(row_writer *rows, double number, int digits);
void rows_end(row_writer *rows);
/* Rows are missing: a JSON array is left open, so that nobody takes it for all of them. */
void rows_cut(row_writer *rows);

/* A file of results.  While it is open an interruption is polled: ask interrupt_asked. */
typedef struct rows_file {
    FILE *file; /* to write to */
    const char *path;
    phl_placing placing;
} rows_file;

/* Open a new file beside `path` ("-" is standard output), with the permissions of the old one; what
 * is no regular file is written to directly.  Returns an exit code. */
int rows_file_open(rows_file *result, const char *path);
/* Put the file in its place if `code` is EXIT_OK, else remove it; a result that was never opened is
 * fine.  Returns `code` or what went wrong. */
int rows_file_close(rows_file *result, int code);

#endif
