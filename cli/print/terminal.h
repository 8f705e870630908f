/* terminal.h - what the command line prints: messages on standard error, results on standard
 * output, numbers for people, JSON for programs.
 */
#ifndef PHLOEM_CLI_TERMINAL_H
#define PHLOEM_CLI_TERMINAL_H

#include "phloem.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    EXIT_OK = 0,
    EXIT_NO = 1,
    EXIT_USAGE = 2,
    EXIT_DATA = 3,
    EXIT_SYSTEM = 4,
    EXIT_INTERNAL = 5,
    EXIT_INTERRUPTED = 130
};

/* "phloem: <message>" on standard error, hidden characters escaped. */
void terminal_message(const char *format, ...) PHL_PRINTF(1, 2);
/* A text of the library, with options and calls in the words of the command line; to be freed.
 * NULL: NULL. */
char *terminal_words(const char *text);
void terminal_message_list(const char *format, va_list list);
/* The record as a message, its text preceded by `prefix` ("" for none). */
void terminal_report(const char *prefix, const phl_error *error);
/* The exit code that a status of the library means. */
int terminal_exit_code(phl_status status);
/* The record as a message; returns the exit code. */
int terminal_error(const phl_error *error);
/* A defect of ours: says so and ends the program with exit code 5. */
_Noreturn void terminal_defect(const char *what);
/* Memory for the command line's own small needs; ends the program with exit code 4 without. */
void *terminal_allocate(size_t n, size_t size);

/* "what                value" on standard output; NULL: nothing. */
void terminal_fact(const char *what, const char *value);

/* Flush.  Returns 0, or the errno of a write that failed, now or before: then the content is broken
 * and may get another newline. */
int terminal_flush(FILE *file);
/* Flush standard output.  Returns 0, or EXIT_SYSTEM after saying why it cannot be written. */
int terminal_finish(void);

/* Text broken at blanks to lines of TERMINAL_WIDTH; the cursor is at `column`, further lines start
 * at `indent`.  Ends with a newline. */
enum { TERMINAL_WIDTH = 80 };
void terminal_wrap(FILE *file, const char *text, size_t column, size_t indent);

/* "43,536" into buffer (at least NUMBER_SIZE bytes).  Returns buffer. */
enum { NUMBER_SIZE = 32 };
char *number_grouped(uint64_t number, char *buffer);
/* The shortest text that reads back as the same double. */
char *number_exact(double number, char *buffer);
/* "1 tree", "2,000 trees". */
char *number_of(uint64_t number, const char *one, const char *many, char *buffer, size_t size);

/* Text for people, with its hidden characters escaped (base/text.h). */
void text_put(FILE *file, const char *text);
/* The same into buffer, at most `columns` characters and as many as fit ("..." when cut).  Returns
 * the number of columns used. */
size_t text_printable(const char *text, size_t columns, char *buffer, size_t size);
bool text_is_utf8(const char *text);
/* Order of names with their numbers taken as numbers: "a2" before "a10". */
int text_compare_natural(const char *a, const char *b);

/* "FOLDER/NAME"; to be freed. */
char *text_path(const char *folder, const char *name);
/* Text as by printf; to be freed. */
char *text_format(const char *format, ...) PHL_PRINTF(1, 2);

/* A table of text: the first column to the left, the others to the right. */
enum { TABLE_COLUMNS = 24, TABLE_CELL = 200 };
typedef struct text_table {
    size_t columns, rows, capacity;
    size_t width[TABLE_COLUMNS];
    char (*cells)[TABLE_CELL];
} text_table;
void table_begin(text_table *table, size_t columns);
/* A row of `columns` strings. */
void table_row(text_table *table, const char *const *cells);
/* Prints with each line indented, and frees. */
void table_end(text_table *table, FILE *file, size_t indent);

/* JSON, value by value.  Members of an inline container stay on one line. */
typedef struct json_writer {
    FILE *file;
    size_t depth, inline_depth; /* inline_depth: depth of the outermost inline container, or 0 */
    bool first;                 /* nothing yet in the innermost container */
    bool after_key;
    bool compact; /* no blanks and line ends; <, > and & are escaped, for a page of HTML */
} json_writer;
void json_out_begin(json_writer *json, FILE *file);
/* As the member `compact` says. */
void json_out_begin_compact(json_writer *json, FILE *file);
void json_out_open(json_writer *json, char bracket, bool on_one_line); /* '{' or '[' */
void json_out_close(json_writer *json, char bracket);                  /* '}' or ']' */
void json_out_key(json_writer *json, const char *key);
void json_out_string(json_writer *json, const char *text); /* NULL: null */
void json_out_raw(json_writer *json, const char *text);    /* a value that is JSON already */
void json_out_integer(json_writer *json, uint64_t number);
void json_out_real(json_writer *json, double number); /* not finite: null */
/* The same with so many significant digits. */
void json_out_rounded(json_writer *json, double number, int digits);
/* A key and its value. */
void json_out_text(json_writer *json, const char *key, const char *text);
void json_out_count(json_writer *json, const char *key, uint64_t number);
void json_out_number(json_writer *json, const char *key, double number);
void json_out_truth(json_writer *json, const char *key, bool truth);
/* A key, and an opening bracket. */
void json_out_object(json_writer *json, const char *key, bool on_one_line);
void json_out_array(json_writer *json, const char *key, bool on_one_line);
/* The mean and standard deviation of some figure. */
void json_out_spread(json_writer *json, const char *key, double mean, double sd);

#endif
