/* test_base_json.c - JSON texts as values: the grammar, what is refused, caps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "check.h"

/* The values written out again, in one line: what was understood. */
static void describe(const phl_json *json, char *out, size_t room)
{
    static const char *const words[] = {"null", "false", "true"};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < json->count; i++) {
        const phl_json_value *value = &json->values[i];
        used += (size_t)snprintf(out + used, room - used, "%s", i > 0 ? " " : "");
        if (value->key != NULL) {
            used += (size_t)snprintf(out + used, room - used, "<%s>", value->key);
        }
        switch (value->kind) {
        case PHL_JSON_NUMBER:
            used += (size_t)snprintf(out + used, room - used, "%.17g%s", phl_json_number_of(value),
                                     value->whole ? "" : "r");
            break;
        case PHL_JSON_STRING:
            used += (size_t)snprintf(out + used, room - used, "'%s'", phl_json_string_of(value));
            break;
        case PHL_JSON_ARRAY:
        case PHL_JSON_OBJECT:
            used += (size_t)snprintf(out + used, room - used, "%c%zu:%zu",
                                     value->kind == PHL_JSON_ARRAY ? 'A' : 'O', value->of.size,
                                     value->span);
            break;
        default:
            used += (size_t)snprintf(out + used, room - used, "%s", words[value->kind]);
        }
    }
}

static void test_good(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"null", "null"},
        {" \t\r\ntrue\n", "true"},
        {"false", "false"},
        {"0", "0"},
        {"-25e-2", "-0.25r"},
        {"12345678901234567890", "1.2345678901234567e+19"},
        {"\"\"", "''"},
        {"\"a\\n\\u00e9\\ud83d\\ude00\\\"\"", "'a\n\xc3\xa9\xf0\x9f\x98\x80\"'"},
        {"[]", "A0:1"},
        {"{}", "O0:1"},
        {"[1,[],[2,[3]],{}]", "A4:8 1 A0:1 A2:4 2 A1:2 3 O0:1"},
        {"{\"a\":1,\"b\":{\"c\":[true]},\"\":null}", "O3:6 <a>1 <b>O1:3 <c>A1:2 true <>null"},
        {"[ 1 , 2 ]", "A2:3 1 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        phl_json json;
        phl_error error = {0};
        char found[400];
        assert_int_equal(phl_json_load(cases[i][0], &json, &error), PHL_OK);
        describe(&json, found, sizeof found);
        assert_string_equal(found, cases[i][1]);
        phl_json_clear(&json);
    }
}

static void test_bad(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "line 1, column 1: found the end, expected a value"},
        {"[1,2", "line 1, column 5: found the end, expected , or ]"},
        {"[1 2]", "column 4: found '2', expected , or ]"},
        {"[1,]", "column 4: found ']', expected a value"},
        {"{\"a\":1,}", "column 8: found '}', expected the name of a member in quotes"},
        {"{\"a\" 1}", "column 6: found '1', expected :"},
        {"{a:1}", "column 2: found 'a', expected the name"},
        {"{\"a\":1]", "column 7: found ']', expected , or }"},
        {"1 2", "column 3: found '2', expected nothing after the value"},
        {"]", "found ']', expected a value"},
        {"nulL", "found 'nulL', expected a value"},
        {"01", "found '01', expected a value"},
        {"+1", "expected a value"},
        {"1e999", "expected a number that a double can hold"},
        {"[NaN]", "found 'NaN', expected a value"},
        {"\"a", "column 3: found the end, expected a closing quote"},
        {"\"a\nb\"", "expected an escape as in JSON"},
        {"\"\\x41\"", "expected an escape as in JSON"},
        {"\"\\u0000\"", "expected an escape as in JSON"},
        {"\"\\ud800\"", "expected an escape as in JSON"},
        {"[\n1,\n\xc3\xa9]", "line 3, column 1: found '\xc3\xa9', expected a value"},
        {"[\"\xff\"]", "column 3: found '\\xff', expected UTF-8"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "\"a\" is given twice"},
        {"[[{\"\":{},\"\":[]}]]", "\"\" is given twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        phl_json json;
        phl_error error = {0};
        assert_int_equal(phl_json_load(cases[i][0], &json, &error), PHL_ERR_SYNTAX);
        assert_null(json.values);
        if (strstr(error.message, cases[i][1]) == NULL) {
            print_error("%s\nfound: %s\nexpected: %s\n", cases[i][0], error.message, cases[i][1]);
            fail();
        }
        assert_int_equal(phl_json_load(cases[i][0], &json, NULL), PHL_ERR_SYNTAX);
    }
}

/* `unit` n times between two ends. */
static char *repeated(const char *before, const char *unit, size_t n, const char *after)
{
    size_t length = strlen(unit);
    char *text = test_malloc(strlen(before) + n * length + strlen(after) + 1);
    char *end = stpcpy(text, before);
    for (size_t i = 0; i < n; i++) {
        end = stpcpy(end, unit);
    }
    (void)stpcpy(end, after);
    return text;
}

static void check_load(char *text, phl_status status, const char *message)
{
    phl_json json;
    phl_error error = {0};
    assert_int_equal(phl_json_load(text, &json, &error), status);
    assert_non_null(strstr(error.message, message));
    phl_json_clear(&json);
    test_free(text);
}

static void test_caps(void **state)
{
    (void)state;
    char open[65] = "";
    memset(open, '[', 64);
    char close[65] = "";
    memset(close, ']', 64);
    check_load(repeated(open, "", 0, close), PHL_OK, "");
    check_load(repeated(open, "[", 1, close), PHL_ERR_SYNTAX, "at most 64 brackets");
    check_load(repeated("", "[", 1000000, ""), PHL_ERR_SYNTAX, "at most 64 brackets");
    check_load(repeated("[1", ",1", 1000000, "]"), PHL_OK, "");
    check_load(repeated("[1", ",1", 4200000, "]"), PHL_ERR_SYNTAX, "expected at most 8388608");
    check_load(repeated("{\"a\":1", ",\"a\":1", 1000, "}"), PHL_ERR_SYNTAX, "1,000 members");
}

static void test_looking(void **state)
{
    (void)state;
    phl_json json;
    assert_int_equal(phl_json_load("{\"a\":[1,[2,3],\"x\"],\"b\":true}", &json, NULL), PHL_OK);
    const phl_json_value *array = phl_json_member(json.values, "a");
    assert_int_equal(phl_json_size_of(array), 3);
    const phl_json_value *first = phl_json_next(array, NULL), *second = phl_json_next(array, first);
    const phl_json_value *third = phl_json_next(array, second);
    check_close(phl_json_number_of(first), 1.0, 0.0);
    assert_int_equal(phl_json_size_of(second), 2);
    assert_string_equal(phl_json_string_of(third), "x");
    assert_null(phl_json_next(array, third));
    assert_true(phl_json_is(phl_json_member(json.values, "b"), PHL_JSON_TRUE));
    /* What is not there, or of another kind. */
    assert_null(phl_json_member(json.values, "c"));
    assert_null(phl_json_member(array, "a"));
    assert_null(phl_json_member(NULL, "a"));
    assert_null(phl_json_next(NULL, NULL));
    assert_null(phl_json_next(first, NULL));
    assert_null(phl_json_string_of(first));
    assert_null(phl_json_string_of(NULL));
    assert_int_equal(phl_json_size_of(third), 0);
    check_close(phl_json_number_of(third), 0.0, 0.0);
    assert_false(phl_json_is(NULL, PHL_JSON_NULL));
    phl_json_clear(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_looking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
