/* json.c - JSON: escapes and numbers as it writes them, and a whole text as values; see json.h.
 *
 * Contents: escapes, numbers, values, looking at values.
 */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* ---- escapes ---- */

/* Four hexadecimal digits, or -1. */
static long hex4(const char *at)
{
    long value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

static size_t encode_utf8(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

size_t phl_json_escape(const char *at, const char **end, char out[4], const char **remedy)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    const char *letter = at[1] == '\0' ? NULL : strchr(letters, at[1]);
    *remedy = NULL;
    if (letter != NULL) {
        out[0] = values[letter - letters];
        *end = at + 2;
        return 1;
    }
    long unit = at[1] == 'u' ? hex4(at + 2) : -1;
    if (unit <= 0) {
        *remedy = unit == 0 ? "names cannot hold NUL" : NULL;
        return 0;
    }
    uint32_t point = (uint32_t)unit;
    const char *behind = at + 6;
    if (point >= 0xd800 && point < 0xe000) { /* one half of a pair */
        long second =
            point < 0xdc00 && behind[0] == '\\' && behind[1] == 'u' ? hex4(behind + 2) : -1;
        if (second < 0xdc00 || second >= 0xe000) {
            *remedy = "both halves of a pair are needed: \\ud83d\\ude00";
            return 0;
        }
        point = 0x10000 + ((point - 0xd800) << 10) + (uint32_t)(second - 0xdc00);
        behind += 6;
    }
    *end = behind;
    return encode_utf8(point, out);
}

/* ---- numbers ---- */

bool phl_json_in_word(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '+' || byte == '-' || byte == '.' ||
           byte == '_' || (unsigned char)byte >= 0x80;
}

const char *phl_json_number(const char *at, bool *whole)
{
    at += *at == '-';
    const char *digits = at;
    while (*at >= '0' && *at <= '9') {
        at++;
    }
    if (at == digits || (*digits == '0' && at > digits + 1)) {
        return NULL;
    }
    *whole = *at != '.' && *at != 'e' && *at != 'E';
    if (*at == '.') {
        digits = ++at;
        while (*at >= '0' && *at <= '9') {
            at++;
        }
        if (at == digits) {
            return NULL;
        }
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        digits = at;
        while (*at >= '0' && *at <= '9') {
            at++;
        }
        if (at == digits) {
            return NULL;
        }
    }
    return phl_json_in_word(*at) ? NULL : at;
}

/* ---- values ---- */

enum {
    MAX_TEXT = 8 << 20,
    MAX_DEPTH = 64,
    MAX_MEMBERS = 1000 /* of an object: each is held against the others */
};

struct parser {
    const char *text, *at;
    phl_json *json;
    char *free;   /* where the next string goes */
    size_t open;  /* the innermost open array or object; NOWHERE: none */
    size_t depth; /* how many are open */
    phl_error *error;
};

static const size_t NOWHERE = SIZE_MAX;

static phl_status expected(const struct parser *parser, const char *what)
{
    const char *at = parser->at;
    unsigned long long line = 1;
    const char *start = parser->text;
    for (const char *p = parser->text; p < at; p++) {
        if (*p == '\n') {
            line++;
            start = p + 1;
        }
    }
    size_t length = 0;
    while (length < 32 && phl_json_in_word(at[length])) {
        length++;
    }
    length = length == 0 ? 1 : length;
    char excerpt[PHL_EXCERPT_SIZE];
    (void)phl_text_excerpt(at, length, excerpt);
    return phl_raise(parser->error, PHL_ERR_SYNTAX, NULL,
                     "line %llu, column %zu: found %s%s%s, expected %s", line,
                     phl_utf8_count(start, (size_t)(at - start)) + 1, *at != '\0' ? "'" : "",
                     *at != '\0' ? excerpt : "the end", *at != '\0' ? "'" : "", what);
}

static void skip(struct parser *parser)
{
    parser->at += strspn(parser->at, " \t\r\n");
}

/* A string from its opening quote, decoded: never longer than it was with its quotes. */
static phl_status take_string(struct parser *parser, const char **string)
{
    *string = parser->free;
    for (parser->at++; *parser->at != '"';) {
        if ((unsigned char)*parser->at < 0x20) {
            return expected(parser, *parser->at == '\0' ? "a closing quote" : PHL_JSON_ESCAPES);
        }
        if (*parser->at == '\\') {
            char bytes[4];
            const char *end, *remedy;
            size_t size = phl_json_escape(parser->at, &end, bytes, &remedy);
            if (size == 0) {
                return expected(parser, PHL_JSON_ESCAPES);
            }
            memcpy(parser->free, bytes, size);
            parser->free += size;
            parser->at = end;
        } else {
            *parser->free++ = *parser->at++;
        }
    }
    parser->at++;
    *parser->free++ = '\0';
    return PHL_OK;
}

static phl_status take_number(struct parser *parser, phl_json_value *value)
{
    const char *end = phl_json_number(parser->at, &value->whole);
    const char *behind = NULL;
    value->kind = PHL_JSON_NUMBER;
    value->of.number = end == NULL ? 0.0 : phl_text_to_double(parser->at, &behind);
    if (end == NULL || !isfinite(value->of.number)) {
        return expected(parser, end == NULL ? "a value" : "a number that a double can hold");
    }
    parser->at = end;
    return PHL_OK;
}

static phl_status take_word(struct parser *parser, phl_json_value *value)
{
    static const struct {
        const char *word;
        phl_json_kind kind;
    } words[] = {{"null", PHL_JSON_NULL}, {"false", PHL_JSON_FALSE}, {"true", PHL_JSON_TRUE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(parser->at, words[i].word, length) == 0 &&
            !phl_json_in_word(parser->at[length])) {
            value->kind = words[i].kind;
            parser->at += length;
            return PHL_OK;
        }
    }
    return take_number(parser, value);
}

/* One value, or the opening bracket of one; its key before it, in an object. */
static phl_status take_value(struct parser *parser)
{
    phl_json *json = parser->json;
    phl_json_value value = {.kind = PHL_JSON_NULL, .span = 1};
    phl_status status = PHL_OK;
    if (parser->open != NOWHERE && json->values[parser->open].kind == PHL_JSON_OBJECT) {
        status = *parser->at == '"' ? take_string(parser, &value.key)
                                    : expected(parser, "the name of a member in quotes");
        skip(parser);
        if (status == PHL_OK && *parser->at != ':') {
            status = expected(parser, ":");
        }
        parser->at += status == PHL_OK;
        skip(parser);
    }
    if (status == PHL_OK && (*parser->at == '{' || *parser->at == '[')) {
        value.kind = *parser->at == '{' ? PHL_JSON_OBJECT : PHL_JSON_ARRAY;
        if (++parser->depth > MAX_DEPTH) {
            return expected(parser, "at most 64 brackets open at once");
        }
        parser->at++;
    } else if (status == PHL_OK && *parser->at == '"') {
        value.kind = PHL_JSON_STRING;
        status = take_string(parser, &value.of.string);
    } else if (status == PHL_OK) {
        status = take_word(parser, &value);
    }
    if (status != PHL_OK) {
        return status;
    }
    status = phl_grow(&json->values, &json->capacity, json->count + 1, sizeof *json->values,
                      parser->error);
    if (status != PHL_OK) {
        return status;
    }
    if (parser->open != NOWHERE) {
        json->values[parser->open].of.size++;
    }
    json->values[json->count] = value;
    if (value.kind == PHL_JSON_OBJECT || value.kind == PHL_JSON_ARRAY) {
        json->values[json->count].span = parser->open; /* until it is closed */
        parser->open = json->count;
    }
    json->count++;
    return PHL_OK;
}

static phl_status check_members(const struct parser *parser, const phl_json_value *object)
{
    if (object->of.size > MAX_MEMBERS) {
        return expected(parser, "an object of at most 1,000 members");
    }
    for (const phl_json_value *a = NULL; (a = phl_json_next(object, a)) != NULL;) {
        for (const phl_json_value *b = a; (b = phl_json_next(object, b)) != NULL;) {
            if (strcmp(a->key, b->key) == 0) {
                char excerpt[PHL_EXCERPT_SIZE];
                return phl_raise(parser->error, PHL_ERR_SYNTAX, NULL,
                                 "\"%s\" is given twice in one object",
                                 phl_text_excerpt(a->key, strlen(a->key), excerpt));
            }
        }
    }
    return PHL_OK;
}

/* After a value, or an opening bracket: close what ends here.  *more: another value follows. */
static phl_status close_values(struct parser *parser, bool opened, bool *more)
{
    phl_json_value *values = parser->json->values;
    *more = false;
    while (parser->open != NOWHERE) {
        phl_json_value *open = &values[parser->open];
        bool object = open->kind == PHL_JSON_OBJECT;
        skip(parser);
        if (*parser->at == (object ? '}' : ']')) {
            parser->at++;
            size_t outer = open->span;
            open->span = parser->json->count - parser->open;
            parser->open = outer;
            parser->depth--;
            phl_status status = object ? check_members(parser, open) : PHL_OK;
            if (status != PHL_OK) {
                return status;
            }
            opened = false;
            continue;
        }
        if (opened || *parser->at == ',') {
            parser->at += opened ? 0 : 1;
            skip(parser);
            *more = true;
            return PHL_OK;
        }
        return expected(parser, object ? ", or }" : ", or ]");
    }
    skip(parser);
    return *parser->at == '\0' ? PHL_OK : expected(parser, "nothing after the value");
}

phl_status phl_json_load(const char *text, phl_json *json, phl_error *error)
{
    size_t length = strlen(text);
    struct parser parser = {
        .text = text, .at = text, .json = json, .open = NOWHERE, .error = error};
    *json = (phl_json){0};
    if (length > MAX_TEXT) {
        return phl_raise(error, PHL_ERR_SYNTAX, NULL, "%zu bytes of JSON, expected at most %d",
                         length, (int)MAX_TEXT);
    }
    json->strings = phl_alloc(length + 1, 1, error);
    if (json->strings == NULL) {
        return PHL_ERR_MEMORY;
    }
    parser.free = json->strings;
    size_t valid = phl_utf8_check(text, length);
    phl_status status = PHL_OK;
    bool more = true;
    if (valid < length) {
        parser.at = text + valid;
        status = expected(&parser, "UTF-8");
    }
    skip(&parser);
    while (status == PHL_OK && more) {
        size_t before = parser.open;
        status = take_value(&parser);
        if (status == PHL_OK) {
            status = close_values(&parser, parser.open != before, &more);
        }
    }
    if (status != PHL_OK) {
        phl_json_clear(json);
    }
    return status;
}

void phl_json_clear(phl_json *json)
{
    phl_free(json->values);
    phl_free(json->strings);
    *json = (phl_json){0};
}

/* ---- looking at values ---- */

bool phl_json_is(const phl_json_value *value, phl_json_kind kind)
{
    return value != NULL && value->kind == kind;
}

double phl_json_number_of(const phl_json_value *value)
{
    return phl_json_is(value, PHL_JSON_NUMBER) ? value->of.number : 0.0;
}

const char *phl_json_string_of(const phl_json_value *value)
{
    return phl_json_is(value, PHL_JSON_STRING) ? value->of.string : NULL;
}

size_t phl_json_size_of(const phl_json_value *array)
{
    return phl_json_is(array, PHL_JSON_ARRAY) ? array->of.size : 0;
}

const phl_json_value *phl_json_next(const phl_json_value *container, const phl_json_value *value)
{
    if ((!phl_json_is(container, PHL_JSON_ARRAY) && !phl_json_is(container, PHL_JSON_OBJECT)) ||
        container->of.size == 0) {
        return NULL;
    }
    const phl_json_value *next = value == NULL ? container + 1 : value + value->span;
    return next < container + container->span ? next : NULL;
}

const phl_json_value *phl_json_member(const phl_json_value *object, const char *key)
{
    if (!phl_json_is(object, PHL_JSON_OBJECT)) {
        return NULL;
    }
    const phl_json_value *member = NULL;
    do {
        member = phl_json_next(object, member);
    } while (member != NULL && strcmp(member->key, key) != 0);
    return member;
}
