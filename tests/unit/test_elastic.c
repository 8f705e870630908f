/* test_elastic.c - the format of the INEX files. */
#include "samples.h"

static phl_read_options elastic(void)
{
    return read_options(PHL_FORMAT_ELASTIC);
}

static void test_grammar(void **state)
{
    (void)state;
    phl_read_options options = elastic();
    check_trees(&options, "1:a($)\n", "1\t(a)\n");
    check_trees(&options, "a($)", "(a)\n");
    check_trees(&options, "1:a(b($) c(d($)))\n", "1\t(a (b) (c (d)))\n");
    check_trees(&options, " 1:a(b($)c($) )\t \r\n\r\n", "1\t(a (b) (c))\n");
    check_trees(&options, "1:a( b($))\n", "1\t(a (b))\n");
    check_trees(&options, "1:a:b(c:d($))\n", "1\t(a:b (c:d))\n");
    check_trees(&options, "k:_(?($) #($) \"($))\n", "k\t(\"_\" (\"?\") (\"#\") (\"\\\"\"))\n");
    check_trees(&options, "1:a(b$($))\n", "1\t(a (b$))\n");
    check_trees(&options,
                "\xef\xbb\xbf"
                "1:\xc3\xa9($)\n",
                "1\t(\xc3\xa9)\n");
    check_trees(&options, "", "");
    check_trees(&options, "\n \n", "");
}

static void test_faults(void **state)
{
    (void)state;
    phl_read_options options = elastic();
    check_bad(&options, "1:a(b($)", PHL_ERR_SYNTAX, 1, 9, "end of the line, expected a child or )",
              "");
    check_bad(&options, "1:a(", PHL_ERR_SYNTAX, 1, 5, "end of the line, expected a child or )", "");
    check_bad(&options, "1:a()", PHL_ERR_SYNTAX, 1, 5, "found ')', expected $ or a child", "");
    check_bad(&options, "1:a(b)", PHL_ERR_SYNTAX, 1, 6, "( after a label", "");
    check_bad(&options, "1:a(b($)))", PHL_ERR_SYNTAX, 1, 10, "end of the line after the tree", "");
    check_bad(&options, "1:", PHL_ERR_SYNTAX, 1, 3, "expected a label", "");
    check_bad(&options, ":a($)", PHL_ERR_SYNTAX, 1, 1, "a class before the colon", "");
    check_bad(&options, "1:a($$)", PHL_ERR_SYNTAX, 1, 5, "$ alone", "");
    check_bad(&options, "x y:a($)", PHL_ERR_SYNTAX, 1, 2, "found ' ', expected (", "");
    options.max_name = 3;
    check_trees(&options, "abc:abc($)", "abc\t(abc)\n");
    check_bad(&options, "abcd:a($)", PHL_ERR_LIMIT, 1, 1, "longer than 3", "read.max_name");
    check_bad(&options, "1:abcd($)", PHL_ERR_LIMIT, 1, 3, "longer than 3", "read.max_name");
    check_skipped(elastic(), "1:a($)\n1:b(\nc\n2:d($)\n", "1\t(a)\n2\t(d)\n", 2);
}

static void test_writing(void **state)
{
    (void)state;
    check_round_trip("1\t(a (b) (c (d) (e)))\n(f)\n", write_options(PHL_FORMAT_ELASTIC), elastic(),
                     "1:a(b($) c(d($) e($)))\nf($)\n");
    check_round_trip("", write_options(PHL_FORMAT_ELASTIC), elastic(), "");
    check_refused_text("1\t(a)\n2\t(a _ (b))\n3\t(a _ (b))\n", PHL_FORMAT_ELASTIC,
                       "tree 1: elastic cannot express an empty slot");
    check_refused_text("(a)\n(a (b (?)))\n", PHL_FORMAT_ELASTIC,
                       "tree 1: elastic cannot express "
                       "an unknown label");
    check_refused_text("(\"a b\")", PHL_FORMAT_ELASTIC, "tree 0: elastic cannot express a name");
    check_refused_text("(\"\")", PHL_FORMAT_ELASTIC, "an empty name");
    check_refused_text("\"\"\t(a)", PHL_FORMAT_ELASTIC, "an empty name");
    check_refused_text("a:b\t(a)", PHL_FORMAT_ELASTIC, "a class with a colon");
    check_refused_text("(a:b)", PHL_FORMAT_ELASTIC, "colon");
    check_refused_text("(a ($))", PHL_FORMAT_ELASTIC, "begins with $");
    check_refused_text("(\"\\ufeffa\")", PHL_FORMAT_ELASTIC, "byte order mark");
    check_refused_text("(\"a\\r\")", PHL_FORMAT_ELASTIC, "a name");
}

/* What it does not refuse it carries. */
static void test_random_round_trips(void **state)
{
    (void)state;
    uint64_t seed = 22;
    static const char *const names[] = {"a",    "b",   "_",  "?",    "#x",  "\xc3\xa9",
                                        "a:b",  ":",   "x$", "\"",   "\\",  "1",
                                        "|BT|", "<a>", "-",  "\x01", "\x7f"};
    size_t written = 0;
    for (int round = 0; round < 2000; round++) {
        sample tree;
        sample_make(&tree, &seed, names, sizeof names / sizeof *names, 6);
        phl_forest *forest = sample_forest(&tree, 1, false, false);
        char *text = NULL;
        size_t size;
        phl_error error = {0};
        phl_write_options options = write_options(PHL_FORMAT_ELASTIC);
        phl_status status = phl_forest_write_memory(forest, &options, &text, &size, &error);
        if (status == PHL_OK) {
            char before[33], after[33];
            phl_read_options reading = elastic();
            phl_forest *again = read_text(&reading, text, size);
            sample_fingerprint(forest, true, before);
            sample_fingerprint(again, true, after);
            if (strcmp(before, after) != 0) {
                print_error("reads as another tree: %s", text);
                fail();
            }
            phl_forest_free(again);
            written++;
        } else {
            assert_int_equal(status, PHL_ERR_EXPRESS);
        }
        phl_free(text);
        phl_forest_free(forest);
    }
    assert_true(written > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_random_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
