/* json_scan.c - the tokens of a line of JSON; see json_scan.h. */
#include "format/json_scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static phl_position place(const phl_json_line *line, const char *at)
{
    return phl_lines_position(&line->lines, line->line, at);
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (phl_json_in_word(at[length])) {
        length++;
    }
    return length;
}

static bool is_word(const char *at, const char *word, size_t length)
{
    /* The sentinel ends the comparison: words hold no line end. */
    return strncmp(at, word, length) == 0 && !phl_json_in_word(at[length]);
}

phl_status phl_json_scan_expected(const phl_json_line *line, const char *at, const char *what,
                                  const char *remedy, phl_error *error)
{
    if (*at == '\n' || *at == '"') {
        return phl_raise_at(error, PHL_ERR_SYNTAX, place(line, at), remedy, "found %s, expected %s",
                            *at == '"' ? "a string" : "the end of the line", what);
    }
    char excerpt[PHL_EXCERPT_SIZE];
    size_t length = *at == '\\' ? 1 + word_length(at + 1) : word_length(at);
    return phl_raise_at(error, PHL_ERR_SYNTAX, place(line, at), remedy, "found '%s', expected %s",
                        phl_text_excerpt(at, length > 0 ? length : 1, excerpt), what);
}

const char *phl_json_scan_type(const char *at)
{
    bool whole = false;
    switch (*at) {
    case '{':
        return "an object";
    case '[':
        return "an array";
    case '"':
        return "a string";
    case 't':
        return is_word(at, "true", 4) ? "true" : NULL;
    case 'f':
        return is_word(at, "false", 5) ? "false" : NULL;
    case 'n':
        return is_word(at, "null", 4) ? "null" : NULL;
    default:
        return phl_json_number(at, &whole) == NULL ? NULL : whole ? "an integer" : "a real number";
    }
}

phl_status phl_json_scan_wrong_value(const phl_json_line *line, const char *at,
                                     phl_json_owner owner, const char *what, phl_error *error)
{
    const char *type = phl_json_scan_type(at);
    if (type == NULL) {
        bool number = *at == '-' || *at == '+' || *at == '.' || (*at >= '0' && *at <= '9');
        return phl_json_scan_expected(line, at, what,
                                      number ? "write numbers as in JSON: 10, -1, 0.5, 1e3"
                                      : phl_json_in_word(*at) ? "put text in quotes"
                                                              : NULL,
                                      error);
    }
    if (owner.index == SIZE_MAX) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, place(line, at), NULL,
                            "\"%s\" is %s, expected %s", owner.key, type, what);
    }
    bool nested = *at == '[' || *at == '{';
    return phl_raise_at(error, PHL_ERR_SYNTAX, place(line, at),
                        nested ? "write a tree as flat arrays: label, parent, slot" : NULL,
                        "\"%s\"[%zu] is %s, expected %s", owner.key, owner.index, type, what);
}

/* ---------------------------------------------------------------------------------------------
 * Strings and names
 * ------------------------------------------------------------------------------------------- */

static phl_status name_too_long(const phl_json_line *line, const char *at, uint64_t max,
                                phl_error *error)
{
    return phl_raise_at(error, PHL_ERR_LIMIT, place(line, at),
                        "raise the cap with " PHL_OPTION_TO("read.max_name", ""),
                        "a name longer than %llu bytes", (unsigned long long)max);
}

static phl_status bad_byte(const phl_json_line *line, const char *at, phl_error *error)
{
    if (*at == '\n') {
        return phl_json_scan_expected(line, at, "a closing quote",
                                      "write a line end inside quotes as \\n", error);
    }
    char remedy[24];
    (void)snprintf(remedy, sizeof remedy, "write it as \\u%04x", (unsigned)*at);
    return phl_raise_at(error, PHL_ERR_SYNTAX, place(line, at), remedy,
                        "found the control character 0x%02x in a string, expected an escape",
                        (unsigned)*at);
}

/* The first byte that is not plain text of a string: a quote, a backslash, a control character. */
static inline const char *skip_plain(const char *at)
{
    while ((unsigned char)*at >= 0x20 && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}

/* The rest of a string with escapes, from `at` on; its opening quote is at `start`. */
static phl_status decode_string(const phl_json_line *line, const char *start, const char *at,
                                uint64_t max, phl_text *text, const char **end, phl_error *error)
{
    text->length = 0;
    phl_status status = phl_text_append(text, start + 1, (size_t)(at - start - 1), error);
    while (status == PHL_OK && *at != '"') {
        char bytes[4];
        const char *remedy;
        if (*at != '\\') {
            return bad_byte(line, at, error);
        }
        size_t size = phl_json_escape(at, end, bytes, &remedy);
        if (size == 0) {
            return phl_json_scan_expected(line, at, PHL_JSON_ESCAPES, remedy, error);
        }
        status = phl_text_append(text, bytes, size, error);
        const char *run = *end;
        at = skip_plain(run);
        if (status == PHL_OK) {
            status = phl_text_append(text, run, (size_t)(at - run), error);
        }
        if (status == PHL_OK && text->length > max) {
            return name_too_long(line, start, max, error);
        }
    }
    *end = at + 1;
    return status;
}

phl_status phl_json_scan_string(const phl_json_line *line, const char *at, uint64_t max,
                                phl_text *text, phl_span *string, const char **end,
                                phl_error *error)
{
    const char *behind = skip_plain(at + 1);
    size_t length = (size_t)(behind - at - 1);
    if (length > max) {
        return name_too_long(line, at, max, error);
    }
    if (*behind == '"') {
        string->bytes = at + 1;
        string->length = length;
        *end = behind + 1;
        return PHL_OK;
    }
    phl_status status = decode_string(line, at, behind, max, text, end, error);
    string->bytes = text->bytes;
    string->length = text->length;
    return status;
}

phl_status phl_json_scan_name(const phl_json_line *line, const char *at, phl_json_owner owner,
                              phl_text *text, phl_span *name, const char **end, phl_error *error)
{
    if (*at == '"') {
        return phl_json_scan_string(line, at, line->max_name, text, name, end, error);
    }
    if (is_word(at, "null", 4)) {
        name->bytes = NULL;
        name->length = 0;
        *end = at + 4;
        return PHL_OK;
    }
    bool whole = false;
    const char *behind = phl_json_number(at, &whole);
    if (behind == NULL || !whole) {
        return phl_json_scan_wrong_value(line, at, owner, "a string, an integer or null", error);
    }
    name->bytes = at + (at[0] == '-' && at[1] == '0'); /* -0 is 0 */
    name->length = (size_t)(behind - name->bytes);
    *end = behind;
    return name->length > line->max_name ? name_too_long(line, at, line->max_name, error) : PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Numbers
 * ------------------------------------------------------------------------------------------- */

phl_status phl_json_scan_positive(const phl_json_line *line, const char *at, phl_json_owner owner,
                                  double *number, const char **end, phl_error *error)
{
    bool whole;
    const char *behind = phl_json_number(at, &whole);
    if (behind == NULL) {
        return phl_json_scan_wrong_value(line, at, owner, "a positive number", error);
    }
    *number = phl_text_to_double(at, end);
    PHL_CHECK_BUG(*end == behind, error);
    if (isfinite(*number) && *number > 0.0) {
        return PHL_OK;
    }
    /* A digit other than 0 before the exponent: not zero, but beyond a double. */
    if (*at != '-' && at[strspn(at, "0.")] >= '1' && at[strspn(at, "0.")] <= '9') {
        char excerpt[PHL_EXCERPT_SIZE];
        return phl_raise_at(error, PHL_ERR_SYNTAX, place(line, at), NULL,
                            "\"%s\" is %s, expected a number from 4.9e-324 to 1.8e308", owner.key,
                            phl_text_excerpt(at, (size_t)(behind - at), excerpt));
    }
    return phl_raise_at(error, PHL_ERR_SYNTAX, place(line, at), NULL,
                        "\"%s\" is not positive, expected a positive number", owner.key);
}

const char *phl_json_scan_entry(const char *array, size_t index)
{
    const char *at = phl_json_skip(array + 1);
    for (; index > 0; index--) {
        while (*at != ',') {
            at++;
        }
        at = phl_json_skip(at + 1);
    }
    return at;
}
