/* test_text.c - what people read: escapes, excerpts, messages that are cut. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "check.h"

/* The escape of the first character, "" if it may stand as it is. */
static const char *escape_of(const char *text, size_t left, size_t step_expected)
{
    static char out[PHL_ESCAPE_SIZE];
    size_t step = 0, length = phl_text_escape(text, left, out, &step);
    assert_int_equal(step, step_expected);
    out[length] = '\0';
    return out;
}

static void test_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *escape, *json;
    } cases[] = {
        {"a", "", ""},
        {" ", "", ""},
        {"~", "", ""},
        {"\t", "\\t", "\\t"},
        {"\n", "\\n", "\\n"},
        {"\r", "\\r", "\\r"},
        {"\x01", "\\x01", "\\u0001"},
        {"\x1b", "\\x1b", "\\u001b"},
        {"\x7f", "\\x7f", "\\u007f"},
        {"\xc2\x80", "\\u{80}", "\\u0080"},
        {"\xc2\x9f", "\\u{9f}", "\\u009f"},
        {"\xc2\xa0", "", ""},
        {"\xd8\x9c", "\\u{61c}", "\\u061c"},
        {"\xe2\x80\x8b", "\\u{200b}", "\\u200b"},
        {"\xe2\x80\x8c", "", ""}, /* joiners belong to words */
        {"\xe2\x80\x8d", "", ""},
        {"\xe2\x80\x8e", "\\u{200e}", "\\u200e"},
        {"\xe2\x80\xa8", "\\u{2028}", "\\u2028"},
        {"\xe2\x80\xae", "\\u{202e}", "\\u202e"},
        {"\xe2\x80\xaf", "", ""},
        {"\xe2\x81\xa6", "\\u{2066}", "\\u2066"},
        {"\xe2\x81\xb0", "", ""},
        {"\xef\xbb\xbf", "\\u{feff}", "\\ufeff"},
        {"\xef\xbf\xbd", "", ""},
        {"\xef\xbf\xbe", "\\u{fffe}", "\\ufffe"},
        {"\xf0\x9f\x98\x80", "", ""},
        {"\xf3\xa0\x80\x81", "\\u{e0001}", "\\udb40\\udc01"},
        {"\"", "", "\\\""},
        {"\\", "", "\\\\"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].text), step = 0;
        char json[PHL_ESCAPE_SIZE];
        assert_string_equal(escape_of(cases[i].text, length, length), cases[i].escape);
        size_t used = phl_text_escape_json(cases[i].text, length, json, &step);
        json[used] = '\0';
        assert_string_equal(json, cases[i].json);
        assert_int_equal(step, length);
        assert_int_equal(phl_text_is_hidden(cases[i].text, length), cases[i].escape[0] != '\0');
    }
}

/* Bytes that are no UTF-8 are shown one by one. */
static void test_broken_bytes(void **state)
{
    (void)state;
    static const char *const broken[] = {"\x80",     "\xff",         "\xc0\xaf",
                                         "\xe2\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char expected[8], json[PHL_ESCAPE_SIZE];
        size_t step = 0;
        (void)snprintf(expected, sizeof expected, "\\x%02x", (unsigned char)broken[i][0]);
        assert_string_equal(escape_of(broken[i], strlen(broken[i]), 1), expected);
        assert_int_equal(phl_text_escape_json(broken[i], strlen(broken[i]), json, &step), 6);
        assert_memory_equal(json, "\\ufffd", 6);
        assert_int_equal(step, 1);
    }
    assert_string_equal(escape_of("\xe2\x80\xae", 2, 1), "\\xe2"); /* cut */
    assert_string_equal(escape_of("", 1, 1), "\\x00");             /* NUL */
}

static void test_excerpts(void **state)
{
    (void)state;
    char out[PHL_EXCERPT_SIZE], text[33 * 4 + 1] = "";
    assert_string_equal(phl_text_excerpt("a\x1b\xe2\x80\xae\xff", 6, out), "a\\x1b\\u{202e}\\xff");
    assert_string_equal(phl_text_excerpt("", 0, out), "");
    for (int i = 0; i < 33; i++) { /* the longest escape there is, and one more than is shown */
        strcat(text, "\xf3\xa0\x80\x81");
    }
    phl_text_excerpt(text, strlen(text), out);
    assert_int_equal(strlen(out), 32 * strlen("\\u{e0001}") + 3);
    assert_string_equal(out + strlen(out) - 4, "}...");
}

/* What is too long for an error record ends in dots, after a whole character. */
static void test_cut_messages(void **state)
{
    (void)state;
    phl_error error = {0};
    char text[2001] = "";
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'a', shift);
        for (size_t i = shift; i + 3 < sizeof text; i += 3) {
            memcpy(text + i, "\xe4\xb8\xad", 4);
        }
        phl_position position = {text, 0, 0};
        (void)phl_raise_at(&error, PHL_ERR_SYNTAX, position, text, "%s", text);
        const char *const parts[] = {error.message, error.remedy, error.file};
        const size_t sizes[] = {sizeof error.message, sizeof error.remedy, sizeof error.file};
        for (size_t i = 0; i < 3; i++) {
            size_t length = strlen(parts[i]);
            assert_in_range(length, sizes[i] - 4, sizes[i] - 1);
            assert_int_equal(phl_utf8_check(parts[i], length), length);
            assert_string_equal(parts[i] + length - 3, "...");
        }
    }
    text[sizeof error.file - 1] = '\0'; /* just fits */
    memset(text, 'a', sizeof error.file - 1);
    phl_position position = {text, 0, 0};
    (void)phl_raise_at(&error, PHL_ERR_SYNTAX, position, NULL, "x");
    assert_string_equal(error.file, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_broken_bytes),
        cmocka_unit_test(test_excerpts),
        cmocka_unit_test(test_cut_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
