/* options.c - option values: strict parsing, and the words that describe what is expected.
 *
 * Contents: numbers, choices, lists, parsing by type, description for help texts.
 */
#include "args/options.h"
#include "print/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digits(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

/* Digits only: no sign, no blanks, no separators, no overflow. */
static bool parse_integer(const char *text, uint64_t *number)
{
    if (!is_digits(text)) {
        return false;
    }
    errno = 0;
    *number = strtoull(text, NULL, 10);
    return errno == 0;
}

/* A finite decimal number: no blanks, no hexadecimal, no "nan", no "inf". */
static bool parse_real(const char *text, double *number)
{
    char *end;
    if (!*text || text[strspn(text, "0123456789.eE+-")]) {
        return false;
    }
    *number = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*number);
}

/* "4096", "500M", "2G". */
static bool parse_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    char digits[24];
    size_t length = strspn(text, "0123456789");
    unsigned shift = 0;
    if (length >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (text[length]) {
        const char *unit = strchr(units, text[length]);
        if (!unit || text[length + 1]) {
            return false;
        }
        shift = 10 * (unsigned)(unit - units + 1);
    }
    if (!parse_integer(digits, bytes) || *bytes == 0 || *bytes > UINT64_MAX >> shift) {
        return false;
    }
    *bytes <<= shift;
    return true;
}

const char *option_choice(const cli_option *option, size_t i, size_t *length)
{
    const char *at = option->choices;
    for (; i > 0; i--) {
        at = strchr(at, '|');
        if (!at) {
            return NULL;
        }
        at++;
    }
    *length = strcspn(at, "|");
    return at;
}

/* The word of today for one of earlier versions; others as they are. */
static const char *current_choice(const cli_option *option, const char *text)
{
    const char *now = option->older ? strchr(option->older, '=') : NULL;
    bool older = now && strlen(text) == (size_t)(now - option->older) &&
                 strncmp(text, option->older, strlen(text)) == 0;
    return older ? now + 1 : text;
}

static bool parse_choice(const cli_option *option, const char *text, uint64_t *which)
{
    size_t length;
    const char *choice;
    for (size_t i = 0; (choice = option_choice(option, i, &length)); i++) {
        if (strlen(text) == length && memcmp(text, choice, length) == 0) {
            *which = i;
            return true;
        }
    }
    return false;
}

static void add_item(option_value *value, const char *item, size_t length)
{
    char **items = terminal_allocate(value->n_items + 1, sizeof *items);
    if (value->n_items) {
        memcpy(items, value->items, value->n_items * sizeof *items);
    }
    free(value->items);
    value->items = items;
    items[value->n_items] = terminal_allocate(length + 1, 1);
    memcpy(items[value->n_items++], item, length);
}

static bool parse_list(const char *text, option_value *value)
{
    char *item = terminal_allocate(strlen(text) + 1, 1);
    size_t length = 0;
    for (const char *at = text;; at++) {
        if (at[0] == '\\' && at[1] == ',') {
            item[length++] = *++at;
        } else if (*at && *at != ',') {
            item[length++] = *at;
        } else {
            if (length == 0) {
                break;
            }
            add_item(value, item, length);
            length = 0;
            if (!*at) {
                free(item);
                return true;
            }
        }
    }
    free(item);
    return false;
}

static void append(char *buffer, size_t size, const char *text)
{
    size_t used = strlen(buffer);
    snprintf(buffer + used, size - used, "%s", text);
}

/* "brackets, json, ptb" */
static void append_choices(const cli_option *option, char *buffer, size_t size)
{
    size_t length;
    const char *choice;
    char word[64];
    for (size_t i = 0; (choice = option_choice(option, i, &length)); i++) {
        snprintf(word, sizeof word, "%s%.*s", i ? ", " : "", (int)length, choice);
        append(buffer, size, word);
    }
}

/* "from 1 to 4,096", "of at least 1" with the words given; nothing without a range. */
static void append_range(const cli_option *option, const char *between, const char *above,
                         char *buffer, size_t size)
{
    char text[160], low[NUMBER_SIZE], high[NUMBER_SIZE];
    bool bounded;
    if (option->type == OPTION_INTEGER) {
        bounded = option->most != UINT64_MAX;
        number_grouped(option->least, low);
        number_grouped(option->most, high);
    } else {
        bounded = option->high < HUGE_VAL;
        number_exact(option->low, low);
        number_exact(option->high, high);
    }
    if (bounded) {
        snprintf(text, sizeof text, "%s%s to %s", between, low, high);
    } else {
        snprintf(text, sizeof text, "%s%s", above, low);
    }
    append(buffer, size, text);
}

static void append_expected(const cli_option *option, char *buffer, size_t size)
{
    switch (option->type) {
    case OPTION_CHOICE:
        append(buffer, size, "one of ");
        append_choices(option, buffer, size);
        break;
    case OPTION_INTEGER:
        append(buffer, size, "a whole number ");
        append_range(option, "from ", "of at least ", buffer, size);
        if (option->word) {
            append(buffer, size, ", or '");
            append(buffer, size, option->word);
            append(buffer, size, "'");
        }
        break;
    case OPTION_REAL:
        append(buffer, size, "a number ");
        append_range(option, "from ", "of at least ", buffer, size);
        break;
    case OPTION_SEED:
        append(buffer, size, "a whole number below 2^64, or 'random'");
        break;
    case OPTION_SIZE:
        append(buffer, size, "a number of bytes of at least 1, such as 500M or 2G");
        break;
    case OPTION_LIST:
        append(buffer, size, "names separated by commas");
        break;
    case OPTION_PATH:
    case OPTION_PATHS:
    case OPTION_OUTPUT:
        append(buffer, size, "a file or folder name");
        break;
    case OPTION_STRING:
        append(buffer, size, "UTF-8 text");
        break;
    case OPTION_FLAG:
        append(buffer, size, "no value");
        break;
    }
}

bool option_value_parse(const cli_option *option, const char *text, option_value *value,
                        char *problem, size_t size)
{
    bool fine = false;
    switch (option->type) {
    case OPTION_FLAG:
        fine = false;
        break;
    case OPTION_STRING:
        fine = text_is_utf8(text);
        break;
    case OPTION_PATH:
    case OPTION_OUTPUT:
        fine = *text != '\0';
        break;
    case OPTION_PATHS:
        fine = *text != '\0';
        if (fine) {
            add_item(value, text, strlen(text));
        }
        break;
    case OPTION_CHOICE:
        text = current_choice(option, text);
        fine = parse_choice(option, text, &value->integer);
        break;
    case OPTION_INTEGER:
        value->integer = 0;
        fine = (option->word && strcmp(text, option->word) == 0) ||
               (parse_integer(text, &value->integer) && value->integer >= option->least &&
                value->integer <= option->most);
        break;
    case OPTION_REAL:
        fine = parse_real(text, &value->real) && value->real >= option->low &&
               value->real <= option->high;
        break;
    case OPTION_LIST:
        fine = text_is_utf8(text) && parse_list(text, value);
        break;
    case OPTION_SIZE:
        fine = parse_size(text, &value->integer);
        break;
    case OPTION_SEED:
        fine = strcmp(text, "random") == 0 || parse_integer(text, &value->integer);
        break;
    }
    value->text = text;
    if (fine) {
        return true;
    }
    snprintf(problem, size, "option --%s: found '%.100s', expected ", option->name, text);
    append_expected(option, problem, size);
    if (option->type == OPTION_INTEGER && is_digits(text) &&
        !parse_integer(text, &value->integer)) {
        append(problem, size, ", below 2^64");
    }
    return false;
}

void option_value_clear(option_value *value)
{
    for (size_t i = 0; i < value->n_items; i++) {
        free(value->items[i]);
    }
    free(value->items);
    *value = (option_value){0};
}

void option_describe(const cli_option *option, char *buffer, size_t size)
{
    char facts[400] = "";
    bool ranged =
        (option->type == OPTION_INTEGER && (option->least > 1 || option->most != UINT64_MAX)) ||
        option->type == OPTION_REAL;
    if (option->type == OPTION_CHOICE) {
        append_choices(option, facts, sizeof facts);
    }
    if (ranged) {
        append_range(option, "", "at least ", facts, sizeof facts);
    }
    if (option->word) {
        append(facts, sizeof facts, ", ");
        append(facts, sizeof facts, option->word);
    }
    const char *fallback = option->fallback ? option->fallback : option->fallback_note;
    if (fallback) {
        append(facts, sizeof facts, facts[0] ? "; default: " : "default: ");
        append(facts, sizeof facts, fallback);
    }
    if (option->required) {
        append(facts, sizeof facts, facts[0] ? "; required" : "required");
    }
    buffer[0] = '\0';
    append(buffer, size, option->help);
    if (facts[0]) {
        append(buffer, size, " [");
        append(buffer, size, facts);
        append(buffer, size, "]");
    }
}
