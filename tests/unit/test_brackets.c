/* test_brackets.c - the native format. */
#include "samples.h"

static phl_read_options brackets(void)
{
    return read_options(PHL_FORMAT_BRACKETS);
}

static void test_grammar(void **state)
{
    (void)state;
    phl_read_options options = brackets();
    check_trees(&options, "(a)\n", "(a)\n");
    check_trees(&options, "(a)", "(a)\n");
    check_trees(&options, "( a )\n", "(a)\n");
    check_trees(&options, "(a(b)(c))\n", "(a (b) (c))\n");
    check_trees(&options, "(a\t(b)  (c) )  \t\n", "(a (b) (c))\n");
    check_trees(&options, "k\t(a (b _ (c)))\n", "k\t(a (b _ (c)))\n");
    check_trees(&options, "(a _ (b) _ _ (c))", "(a _ (b) _ _ (c))\n");
    check_trees(&options, "(a (b) _ _)", "(a (b))\n");
    check_trees(&options, "(a _)", "(a)\n");
    check_trees(&options, "(a _(b)_)", "(a _ (b))\n");
    check_trees(&options, "(? (?))", "(? (?))\n");
    check_trees(&options, "(_x (x?y) (x_) (a#b))", "(_x (x?y) (x_) (a#b))\n");
    check_trees(&options, "a:b'c\t([z] ({}))\n", "a:b'c\t([z] ({}))\n");
    /* (a _) is a leaf like (a): same subtree, and its slot counts */
    phl_forest *forest = read_text(&options, "(a _)\n(a)\n(a _ _)\n", 17);
    assert_int_equal(phl_forest_subtrees(forest), 1);
    assert_int_equal(phl_subtree_leaf_slot(forest, 0), 1);
    phl_forest_free(forest);
}

static void test_lines(void **state)
{
    (void)state;
    phl_read_options options = brackets();
    const char *text = "\xef\xbb\xbf# a comment\r\n\r\n  \t\nk\t(a)\r\n#(b)\n\n(c)\r";
    check_trees(&options, text, "k\t(a)\n(c)\n");
    phl_forest *forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_tree_line(forest, 0), 4);
    assert_int_equal(phl_tree_line(forest, 1), 7);
    assert_string_equal(phl_tree_file(forest, 1), "test");
    phl_forest_free(forest);
    check_trees(&options, "", "");
    check_trees(&options, "\xef\xbb\xbf", "");
    check_trees(&options, "\n\n\n", "");
    check_trees(&options, "\"#k\"\t(a)\n", "\"#k\"\t(a)\n");
    check_bad(&options, "(a)\n \xef\xbb\xbf(b)\n", PHL_ERR_SYNTAX, 2, 1, "found ' '", "");
}

static void test_quotes(void **state)
{
    (void)state;
    phl_read_options options = brackets();
    check_trees(&options, "(\"a\" (\"b c\") (\"\"))", "(a (\"b c\") (\"\"))\n");
    check_trees(&options, "(\"?\" (\"_\") (\"#\") (\"_x\"))", "(\"?\" (\"_\") (\"#\") (_x))\n");
    check_trees(&options, "(\"\\\"\\\\\\/\\b\\f\\n\\r\\t\")",
                "(\"\\\"\\\\/\\u0008\\u000c\\n\\r\\t\")\n");
    check_trees(&options, "(\"\\u0041\\u00e9\\u20AC\")", "(A\xc3\xa9\xe2\x82\xac)\n");
    check_trees(&options, "(\"\\ud83d\\ude00\\uD83D\\uDE00\")",
                "(\xf0\x9f\x98\x80\xf0\x9f\x98\x80)\n");
    check_trees(&options, "(\"\\ud800\\udc00\\udbff\\udfff\")",
                "(\xf0\x90\x80\x80\xf4\x8f\xbf\xbf)\n");
    check_trees(&options, "\"a b\"\t(x)\n\"\"\t(x)\n\"plain\"\t(x)\n",
                "\"a b\"\t(x)\n\"\"\t(x)\nplain\t(x)\n");
    check_trees(&options, "\"k\"\t(\"longer than the class\")", "k\t(\"longer than the class\")\n");
    check_trees(&options, "(\"(a)\"(\")\"))", "(\"(a)\" (\")\"))\n");
    check_trees(&options, "(\"tab\there\")", "(\"tab\\there\")\n");
    check_bad(&options, "(\"\\ud83dx\")", PHL_ERR_SYNTAX, 1, 3, "escape", "both halves");
    check_bad(&options, "(\"\\ud83d\\ud83d\")", PHL_ERR_SYNTAX, 1, 3, "escape", "both halves");
    check_bad(&options, "(\"\\udc00\")", PHL_ERR_SYNTAX, 1, 3, "escape", "both halves");
    check_bad(&options, "(\"\\u0000\")", PHL_ERR_SYNTAX, 1, 3, "escape", "NUL");
    check_bad(&options, "(\"\\u12g4\")", PHL_ERR_SYNTAX, 1, 3, "escape", "");
    check_bad(&options, "(\"\\u12", PHL_ERR_SYNTAX, 1, 3, "escape", "");
    check_bad(&options, "(\"\\", PHL_ERR_SYNTAX, 1, 3, "escape", "");
    check_bad(&options, "(\"a\nb\")", PHL_ERR_SYNTAX, 1, 4, "closing quote", "\\n");
}

/* Columns are counted in characters, not bytes. */
static void test_columns(void **state)
{
    (void)state;
    phl_read_options options = brackets();
    check_bad(&options, "(\xc3\xa9 (\xf0\x9f\x98\x80) x)", PHL_ERR_SYNTAX, 1, 8, "found 'x'",
              "(name)");
    check_bad(&options, "(a)\n\n# c\nk\t(\xe2\x82\xac)) \n", PHL_ERR_SYNTAX, 4, 6, "found ')'", "");
    check_bad_bytes(&options, "(\xc3\xa9\xff)", 5, PHL_ERR_ENCODING, 1, 3, "0xff", "UTF-8");
    check_bad_bytes(&options, "(a)\n(b\0)", 8, PHL_ERR_ENCODING, 2, 3, "NUL byte", "");
    check_bad(&options, "(a (b) (c)", PHL_ERR_SYNTAX, 1, 11, "end of the line", "needs its )");
}

static void test_caps(void **state)
{
    (void)state;
    phl_read_options options = brackets();
    options.max_nodes = 3;
    check_trees(&options, "(a (b) (c))", "(a (b) (c))\n");
    check_bad(&options, "(a (b) (c) (d))", PHL_ERR_LIMIT, 1, 12, "more than 3 nodes",
              "read.max_nodes");
    options = brackets();
    options.max_children = 3;
    check_trees(&options, "(a _ _ (c))", "(a _ _ (c))\n");
    check_bad(&options, "(a _ _ _ (c))", PHL_ERR_LIMIT, 1, 10, "slot beyond 3",
              "read.max_children");
    options = brackets();
    options.max_name = 3;
    check_trees(&options, "abc\t(abc (\"abc\"))", "abc\t(abc (abc))\n");
    check_bad(&options, "(abcd)", PHL_ERR_LIMIT, 1, 2, "longer than 3", "read.max_name");
    check_bad(&options, "(\"abcd\")", PHL_ERR_LIMIT, 1, 2, "longer than 3", "read.max_name");
    check_bad(&options, "abcd\t(a)", PHL_ERR_LIMIT, 1, 1, "longer than 3", "read.max_name");
    check_bad(&options, "\"abcd\"\t(a)", PHL_ERR_LIMIT, 1, 1, "longer than 3", "read.max_name");
    options = brackets();
    options.max_token = 8;
    check_trees(&options, "(abcdef)\n", "(abcdef)\n");
    check_bad(&options, "(a)\n(abcdefg)\n(b)\n", PHL_ERR_LIMIT, 2, 0, "longer than 8 bytes",
              "read.max_token");
    check_skipped(options, "(a)\n(abcdefg)\n(b)\n", "(a)\n(b)\n", 1);
}

static void test_skipping(void **state)
{
    (void)state;
    check_skipped(brackets(), "(a)\n(b\nk\t(new (names\n(c)\n\xff\n(d)\n", "(a)\n(c)\n(d)\n", 3);
    phl_read_options options = brackets();
    options.skip_bad = true;
    phl_forest *forest = read_text(&options, "k\t(new (names\n(c)\n", 17);
    assert_int_equal(phl_forest_labels(forest), 1);
    assert_int_equal(phl_forest_classes(forest), 0);
    assert_int_equal(phl_forest_subtrees(forest), 1);
    phl_forest_free(forest);
}

static void test_filters(void **state)
{
    (void)state;
    const char *text = "a\t(x)\nb\t(y)\n(z)\na\t(w)\n";
    const char *const only[] = {"a", "none"};
    phl_read_options options = brackets();
    options.only_classes = only;
    options.n_only_classes = 2;
    check_trees(&options, text, "a\t(x)\na\t(w)\n");
    phl_forest *forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_forest_labels(forest), 2); /* y and z never entered */
    assert_int_equal(phl_forest_classes(forest), 1);
    phl_forest_free(forest);
    options.limit = 1;
    check_trees(&options, text, "a\t(x)\n");
    options = brackets();
    options.limit = 2;
    check_trees(&options, "(x)\n(y)\n(bad\n", "(x)\n(y)\n");
    options = brackets();
    options.no_class = true;
    check_trees(&options, text, "(x)\n(y)\n(z)\n(w)\n");
    options = brackets();
    options.class_name = "new";
    check_trees(&options, "a\t(x)\n(y)\n", "new\t(x)\nnew\t(y)\n");
}

static void test_refusal(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_JSON);
    const char *text = "{\"label\":[\"a\"],\"parent\":[-1]}\n"
                       "{\"weight\":2,\"label\":[\"a\"],\"parent\":[-1]}\n";
    phl_forest *forest = read_text(&options, text, strlen(text));
    check_refused(forest, PHL_FORMAT_BRACKETS, "tree 1: brackets cannot express the weight");
    phl_forest_free(forest);
}

static void test_random_round_trips(void **state)
{
    (void)state;
    uint64_t seed = 21;
    static const char *const plain[] = {"a", "b c", "_", "?", "", "\"", "(", "#", "x"};
    for (int round = 0; round < 400; round++) {
        sample trees[5];
        bool nasty = round % 2 == 0;
        for (size_t i = 0; i < 5; i++) {
            sample_make(&trees[i], &seed, nasty ? sample_nasty : plain, nasty ? SAMPLE_NASTY : 9,
                        SAMPLE_NODES);
        }
        phl_forest *forest = sample_forest(trees, 5, false, false);
        char *text = write_text(forest, write_options(PHL_FORMAT_BRACKETS));
        char before[33], after[33];
        for (int by_content = 0; by_content < (nasty ? 1 : 2); by_content++) {
            phl_read_options options = brackets();
            options.format = by_content ? PHL_FORMAT_AUTO : PHL_FORMAT_BRACKETS;
            phl_forest *again = read_text(&options, text, strlen(text));
            sample_fingerprint(forest, true, before);
            sample_fingerprint(again, true, after);
            if (strcmp(before, after) != 0) {
                print_error("reads as other trees: %s", text);
                fail();
            }
            phl_forest_free(again);
        }
        test_free(text);
        phl_forest_free(forest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_skipping),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_random_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
