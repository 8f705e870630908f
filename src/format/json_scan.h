/* json_scan.h - the tokens of a line of JSON, for the reader of the json format.
 *
 * Lines come from phl_lines: UTF-8, a sentinel '\n' after them, so no byte is counted.  A scanner
 * is handed the place where its token begins and gives the one after it.  Column numbers are
 * worked out only when something is wrong.  Nothing here calls itself, and nothing allocates but
 * the text of a string with escapes.
 */
#ifndef PHL_FORMAT_JSON_SCAN_H
#define PHL_FORMAT_JSON_SCAN_H

#include "base/json.h"
#include "base/text.h"
#include "format/lines.h"
#include "format/reader.h"

typedef struct phl_json_line {
    phl_lines lines;
    const char *line; /* start of the current one */
    uint64_t max_name;
} phl_json_line;

/* What a value belongs to, for messages: a key, and in an array the entry (SIZE_MAX: none). */
typedef struct phl_json_owner {
    const char *key;
    size_t index;
} phl_json_owner;

/* JSON's white space; the line end is the sentinel. */
static inline const char *phl_json_skip(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r') {
        at++;
    }
    return at;
}

/* "found ..., expected WHAT" at this place; PHL_ERR_SYNTAX. */
phl_status phl_json_scan_expected(const phl_json_line *line, const char *at, const char *what,
                                  const char *remedy, phl_error *error);

/* The value at `at` is not what its owner wants: "KEY[INDEX] is a string, expected WHAT", or, if it
 * is no value at all, "found ..., expected WHAT". */
phl_status phl_json_scan_wrong_value(const phl_json_line *line, const char *at,
                                     phl_json_owner owner, const char *what, phl_error *error);

/* "an array", "an integer", ...; NULL if no value begins here (a number or word that is none). */
const char *phl_json_scan_type(const char *at);

/* A string from its opening quote, of at most `max` bytes.  The span lies in the line, or in *text
 * if there are escapes; it is never NULL. */
phl_status phl_json_scan_string(const phl_json_line *line, const char *at, uint64_t max,
                                phl_text *text, phl_span *string, const char **end,
                                phl_error *error);

/* A name: a string, an integer (its digits) or null (a span of NULL).  *text as above. */
phl_status phl_json_scan_name(const phl_json_line *line, const char *at, phl_json_owner owner,
                              phl_text *text, phl_span *name, const char **end, phl_error *error);

/* A positive number a double can hold. */
phl_status phl_json_scan_positive(const phl_json_line *line, const char *at, phl_json_owner owner,
                                  double *number, const char **end, phl_error *error);

/* An integer: its sign and its size, any size beyond 32 bits being some number beyond them. Returns
 * the place after it, or NULL if there is no integer. */
static inline const char *phl_json_integer(const char *at, bool *negative, uint64_t *size)
{
    uint64_t value = 0;
    *negative = *at == '-';
    at += *negative;
    const char *digits = at;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value > UINT32_MAX ? value : value * 10 + (uint64_t)(*at - '0');
    }
    *size = value;
    if (*at == ',' || *at == ']') { /* nearly always */
        return at > digits && (*digits != '0' || at == digits + 1) ? at : NULL;
    }
    bool whole;
    const char *end = phl_json_number(digits - *negative, &whole);
    return end != NULL && whole ? end : NULL;
}

/* The place of an entry in an array that is known to hold numbers only. */
const char *phl_json_scan_entry(const char *array, size_t index);

#endif
