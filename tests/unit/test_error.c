/* test_error.c - error records: groups, places, options in the words of a front end, and foreign
 * text that cannot pass for ours. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check.h"

static void test_groups(void **state)
{
    (void)state;
    assert_int_equal(phl_status_group(PHL_OK), PHL_GROUP_OK);
    assert_int_equal(phl_status_group(PHL_ERR_ARGUMENT), PHL_GROUP_USAGE);
    assert_int_equal(phl_status_group(PHL_ERR_SYNTAX), PHL_GROUP_DATA);
    assert_int_equal(phl_status_group(PHL_ERR_CHANGED), PHL_GROUP_DATA);
    assert_int_equal(phl_status_group(PHL_ERR_MEMORY), PHL_GROUP_SYSTEM);
    assert_int_equal(phl_status_group(PHL_ERR_INTERNAL), PHL_GROUP_INTERNAL);
    assert_int_equal(phl_status_group(PHL_ERR_CANCELLED), PHL_GROUP_CANCELLED);
}

/* Words of a front end that knows seeds and learners alone. */
static bool shout(const char *name, const char *value, char *out, size_t size, void *context)
{
    ++*(int *)context;
    if (strcmp(name, "train.seed") != 0 && strcmp(name, "train.learner") != 0) {
        return false;
    }
    (void)snprintf(out, size, "<%s|%s>", name, value == NULL ? "none" : value);
    return true;
}

static void test_words(void **state)
{
    (void)state;
    phl_error error;
    phl_position place = {"a.trees", 3, 7};
    char text[2048];
    int asked = 0;
    phl_raise_at(&error, PHL_ERR_ARGUMENT, place,
                 "use " PHL_OPTION_TO("train.learner", "em") ", " PHL_OPTION_TO(
                     "read.max_name", "") " or " PHL_CALL("phl_resume"),
                 "bad " PHL_OPTION("train.seed") " %d", 5);
    assert_string_equal(phl_error_format(&error, text, sizeof text),
                        "a.trees:3:7: bad seed 5; use learner = em, max_name or phl_resume");
    assert_string_equal(phl_error_render(&error, shout, &asked, text, sizeof text),
                        "a.trees:3:7: bad <train.seed|none> 5; use <train.learner|em>, max_name or "
                        "phl_resume");
    assert_int_equal(asked, 4);
    assert_string_equal(phl_error_render_text(error.remedy, NULL, NULL, text, sizeof text),
                        "use learner = em, max_name or phl_resume");
    assert_string_equal(phl_error_render_text("plain", shout, &asked, text, sizeof text), "plain");
    for (size_t size = 1; size < 60; size++) { /* cut, terminated, nothing after */
        memset(text, '#', sizeof text);
        (void)phl_error_render(&error, NULL, NULL, text, size);
        assert_true(strlen(text) == size - 1);
        assert_true(text[size] == '#');
    }
    text[0] = '#';
    assert_true(phl_error_format(&error, text, 0) == text && text[0] == '#');
    assert_string_equal(phl_error_render_text("cut \001train.se", NULL, NULL, text, sizeof text),
                        "cut se");
}

/* Foreign text with marks in it stays foreign. */
static void test_forged(void **state)
{
    (void)state;
    phl_error error;
    char text[2048], remedy[200];
    int asked = 0;
    phl_raise(&error, PHL_ERR_SYNTAX,
              phl_remedy(remedy, sizeof remedy, "not '%s', but " PHL_OPTION("train.seed"),
                         "\001train.seed\002"),
              "label '%s' and " PHL_OPTION("train.seed") ", '%s'", "\001train.seed\002\n\x7f",
              "\x1b[2J");
    assert_string_equal(phl_error_render(&error, shout, &asked, text, sizeof text),
                        "label '\\x01train.seed\\x02\\n\\x7f' and <train.seed|none>, "
                        "'\\x1b[2J'; not '\\x01train.seed\\x02', but <train.seed|none>");
    assert_int_equal(asked, 2);
    char longer[2000];
    memset(longer, 1, sizeof longer);
    longer[sizeof longer - 1] = '\0';
    phl_raise(&error, PHL_ERR_SYNTAX, NULL, "%s", longer);
    assert_true(strlen(error.message) == sizeof error.message - 1);
    assert_null(strchr(error.message, 1));
    assert_string_equal(error.message + sizeof error.message - 4, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_forged),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL) != 0;
}
