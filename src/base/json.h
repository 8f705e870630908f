/* json.h - JSON: escapes and numbers as it writes them, and a whole text as values.
 *
 * For small texts: the configuration of a run, a partition.  (Trees are read by format/json_read.c,
 * without keeping values.)  Nothing here calls itself: any depth of nesting will do.
 */
#ifndef PHL_BASE_JSON_H
#define PHL_BASE_JSON_H

#include "base/error.h"

/* Decode the escape of a JSON string whose backslash is at `at` into `out` (UTF-8): the number of
 * bytes, with *end after the escape; 0 if it is none, or NUL, with a remedy (or NULL) in *remedy.
 * Reads on only while the text goes on as an escape, so any other byte after it will do as a
 * sentinel. */
#define PHL_JSON_ESCAPES "an escape as in JSON (\\n, \\t, \\\", \\\\, \\u0041, ...)"
size_t phl_json_escape(const char *at, const char **end, char out[4], const char **remedy);

/* Bytes numbers and bare words are made of, and those they are mistaken for. */
bool phl_json_in_word(char byte);
/* Where the number that begins at `at` ends; NULL if it is not as JSON has it.  *whole: an integer.
 */
const char *phl_json_number(const char *at, bool *whole);

typedef enum phl_json_kind {
    PHL_JSON_NULL,
    PHL_JSON_FALSE,
    PHL_JSON_TRUE,
    PHL_JSON_NUMBER,
    PHL_JSON_STRING,
    PHL_JSON_ARRAY,
    PHL_JSON_OBJECT
} phl_json_kind;

typedef struct phl_json_value {
    phl_json_kind kind;
    bool whole;      /* a number without a point or an exponent */
    const char *key; /* in an object */
    size_t span;     /* this value and all that are in it */
    union {
        double number; /* finite */
        const char *string;
        size_t size; /* entries of an array or object */
    } of;
} phl_json_value;

/* Values in the order of the text; the first is the whole.  Zero-initialise, release with
 * phl_json_clear. */
typedef struct phl_json {
    phl_json_value *values;
    size_t count, capacity;
    char *strings;
} phl_json;

/* PHL_ERR_SYNTAX says line and column, what was found and what was expected.  Members of the same
 * name are refused, and so are texts of more than 8 MiB and more than 64 open brackets: 200 MB at
 * most hold what there is. */
phl_status phl_json_load(const char *text, phl_json *json, phl_error *error);
void phl_json_clear(phl_json *json);

/* A member of an object; NULL if there is none such, or `object` is NULL or something else. */
const phl_json_value *phl_json_member(const phl_json_value *object, const char *key);
/* The entries of an array or object, one after the other: the first for NULL; NULL after the last,
 * or if `container` is NULL or something else. */
const phl_json_value *phl_json_next(const phl_json_value *container, const phl_json_value *value);
/* Is the value there, and of this kind? */
bool phl_json_is(const phl_json_value *value, phl_json_kind kind);
/* What it holds; 0 or NULL if it is not there or something else. */
double phl_json_number_of(const phl_json_value *value);
const char *phl_json_string_of(const phl_json_value *value);
size_t phl_json_size_of(const phl_json_value *array);

#endif
