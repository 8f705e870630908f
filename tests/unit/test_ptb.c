/* test_ptb.c - reading and writing parse trees: words, wrappers, |BT| lines, every refusal with its
 * place, recovery, telling them from the native format, round trips. */
#include "formats.h"

static phl_read_options ptb(void)
{
    return read_options(PHL_FORMAT_PTB);
}

#define DOG "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))"

static void test_words(void **state)
{
    (void)state;
    phl_read_options options = ptb();
    check_trees(&options, DOG "\n", "(S (NP (DT (the)) (NN (dog))) (VP (VBZ (barks))) (. (.)))\n");
    check_trees(&options, "(3 (2 It) (4 (4 is) (2 good)))",
                "(3 (2 (It)) (4 (4 (is)) (2 (good))))\n");
    check_trees(&options, "(a)(b c d)\n\n (e (f))", "(a)\n(b (c) (d))\n(e (f))\n");
    check_trees(&options, "(X\t\"\r\n _ ?)", "(X (\"\\\"\") (\"_\") (\"?\"))\n");
    options.ptb_drop_words = true;
    check_trees(&options, DOG "\n", "(S (NP (DT) (NN)) (VP (VBZ)) (.))\n");
    check_trees(&options, "(a b c)", "(a)\n");
    check_trees(&options, "(a b (c d) e (f))", "(a (c) (f))\n");
}

static void test_lines(void **state)
{
    (void)state;
    phl_read_options options = ptb();
    const char *text = "\xef\xbb\xbf\n( (S\n    (NP\n  x) )\n)\n(A\n(B b)\n)(C) (D\n)\n";
    check_trees(&options, text, "(S (NP (x)))\n(A (B (b)))\n(C)\n(D)\n");
    phl_forest *forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_tree_line(forest, 0), 2);
    assert_int_equal(phl_tree_line(forest, 1), 6);
    assert_int_equal(phl_tree_line(forest, 2), 8);
    assert_int_equal(phl_tree_line(forest, 3), 8);
    phl_forest_free(forest);
    check_trees(&options, "((a b))", "(a (b))\n");
    check_trees(&options, "", "");
    check_trees(&options, " \n\n", "");
    options.limit = 2;
    check_trees(&options, "(a)(b)(c", "(a)\n(b)\n");
}

static void test_marked_lines(void **state)
{
    (void)state;
    phl_read_options options = ptb();
    check_trees(&options, "1 |BT| (a (b c)) |ET|\n-1|BT|(d)|ET| \r\n |BT| (e) |ET|\n(f)\n",
                "1\t(a (b (c)))\n-1\t(d)\n(e)\n(f)\n");
    check_trees(&options, "two words\t|BT| ((a)) |ET|", "\"two words\"\t(a)\n");
    check_trees(&options, "(a |x| b|BT|)\n", "(a (|x|) (b|BT|))\n");
    check_bad(&options, "1 |BT| (a) |BT| (b) |ET|\n", PHL_ERR_SYNTAX, 1, 12,
              "found '|BT|', expected |ET| after the tree", "one tree");
    check_bad(&options, "1 |BT| (a) (b) |ET|\n", PHL_ERR_SYNTAX, 1, 12,
              "found '(', expected |ET| after the tree", "");
    check_bad(&options, "1 |BT| (a)\n", PHL_ERR_SYNTAX, 1, 11,
              "found the end of the line, expected |ET|", "");
    check_bad(&options, "1 |BT| (a) |ET| 1:2 3:4 |EV|\n", PHL_ERR_SYNTAX, 1, 17,
              "found '1:2', expected the end of the line after |ET|", "sed");
    check_bad(&options, "1 |BT| |ET|\n", PHL_ERR_SYNTAX, 1, 8,
              "found '|ET|', expected a tree in brackets after |BT|", "");
    check_bad(&options, "1 |BT|", PHL_ERR_SYNTAX, 1, 7, "found the end of the line", "");
    check_bad(&options, "1 |BT| (a (b) |ET|\n", PHL_ERR_SYNTAX, 1, 15,
              "found '|ET|', expected the rest of the tree", "every (");
    check_bad(&options, "1 |BT| (a (b)\n)|ET|\n", PHL_ERR_SYNTAX, 1, 14,
              "found the end of the line, expected the rest of the tree", "");
    check_bad(&options, "(a (b)\n1 |BT| (c) |ET|\n", PHL_ERR_SYNTAX, 2, 3,
              "found '|BT|', expected the rest of the tree", "");
    options.max_name = 3;
    check_bad(&options, " abcd |BT| (a) |ET|", PHL_ERR_LIMIT, 1, 2, "a name 'abcd' of 4 bytes",
              "read.max_name");
}

static void test_faults(void **state)
{
    (void)state;
    phl_read_options options = ptb();
    check_bad(&options, "()", PHL_ERR_SYNTAX, 1, 2, "found ')', expected a label after (", "");
    check_bad(&options, "(a ())", PHL_ERR_SYNTAX, 1, 5, "found ')', expected a label after (", "");
    check_bad(&options, "(a\n ((b)))", PHL_ERR_SYNTAX, 2, 3, "found '(', expected a label after (",
              "only the outermost bracket");
    check_bad(&options, "(((b)))", PHL_ERR_SYNTAX, 1, 3, "found '(', expected a label", "");
    check_bad(&options, "((a) (b))", PHL_ERR_SYNTAX, 1, 6,
              "found '(', expected the ) of the outer bracket without label", "a label");
    check_bad(&options, "((a) b)", PHL_ERR_SYNTAX, 1, 6,
              "found 'b', expected the ) of the outer bracket", "");
    check_bad(&options, "(a)\n)\n", PHL_ERR_SYNTAX, 2, 1, "found ')', expected a tree in brackets",
              "too many");
    check_bad(&options, "(a)\n\xc3\xa9 word (b)\n", PHL_ERR_SYNTAX, 2, 1,
              "found '\xc3\xa9', expected a tree in brackets", "|BT|");
    check_bad(&options, "(a)\n (b (c\n", PHL_ERR_SYNTAX, 2, 2,
              "the tree that begins here is not complete at the end of the file: 2 brackets open",
              "every (");
    check_bad(&options, "(", PHL_ERR_SYNTAX, 1, 1, "1 bracket open", "");
    check_bad(&options, "( (a)", PHL_ERR_SYNTAX, 1, 1, "1 bracket open", "");
    check_bad(&options, "( (a (", PHL_ERR_SYNTAX, 1, 1, "3 brackets open", "");
    check_bad(&options, "(a \xff)", PHL_ERR_ENCODING, 1, 4, "0xff", "iconv");
    options.max_name = 3;
    check_bad(&options, "(abc (\xc3\xa9 abcd))", PHL_ERR_LIMIT, 1, 9, "a name 'abcd' of 4 bytes",
              "read.max_name");
    options = ptb();
    options.max_nodes = 2;
    check_bad(&options, "(a b\nc)", PHL_ERR_LIMIT, 2, 1, "more than 2 nodes", "read.max_nodes");
    options = ptb();
    options.max_children = 1;
    check_bad(&options, "(a b c)", PHL_ERR_LIMIT, 1, 6, "slot beyond 1", "read.max_children");
}

static void test_recovery(void **state)
{
    (void)state;
    phl_read_options options = ptb();
    check_skipped(options,
                  "(a)\n(b ())\n  (c)\n(d)\n)\nx (e)\n1 |BT| (f) |ET|\n2 |BT| (g) x\n\xff\n(h)\n(i",
                  "(a)\n(d)\n1\t(f)\n(h)\n", 4);
    check_skipped(options, "(a (b)\n1 |BT| (c) |ET|\n2 |BT| (d) |ET|\n", "2\t(d)\n", 1);
}

static char *repeat(const char *piece, size_t n, const char *middle, const char *behind)
{
    size_t size = strlen(piece);
    size_t last = strlen(behind);
    size_t mid = strlen(middle);
    char *text = test_malloc(n * (size + last) + mid + 1);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + i * size, piece, size);
        memcpy(text + n * size + mid + i * last, behind, last);
    }
    memcpy(text + n * size, middle, mid);
    text[n * (size + last) + mid] = '\0';
    return text;
}

static void test_extremes(void **state)
{
    (void)state;
    enum { MANY = 1000000 };
    phl_read_options options = ptb();
    char *text = repeat("(a\n", MANY, "x", ")");
    phl_forest *forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_forest_levels(forest), MANY + 1);
    char *written = write_text(forest, write_options(PHL_FORMAT_PTB));
    phl_forest *again = read_text(&options, written, strlen(written));
    assert_int_equal(phl_forest_levels(again), MANY + 1);
    phl_forest_free(again);
    phl_forest_free(forest);
    test_free(written);
    test_free(text);
    text = repeat(" x", MANY, ")", "");
    memcpy(text, "(a", 2);
    forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_forest_max_slot(forest), MANY - 1);
    phl_forest_free(forest);
    test_free(text);
    /* Much that looks like a mark. */
    options.max_name = 2 * MANY;
    text = repeat("|B", MANY, "|BT|(a)|ET|", "");
    forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_forest_trees(forest), 1);
    phl_forest_free(forest);
    test_free(text);
}

static void test_writing(void **state)
{
    (void)state;
    phl_write_options how = write_options(PHL_FORMAT_PTB);
    phl_read_options back = ptb();
    check_round_trip("(S (NP (DT (the)) (x)) (VP))\n(a)\n(b (c (d (e))) (f (g)))\n", how, back,
                     "(S (NP (DT the) x) VP)\n(a)\n(b (c (d e)) (f g))\n");
    check_round_trip("(\"?\" (\"_\") (\"#\") (\"\\\"\") (\\u) (a|BT|) (\"\\u00a0\"))\n", how, back,
                     NULL);
    check_refused_text("k\t(a)\n", PHL_FORMAT_PTB, "a class");
    check_refused_text("(a _ (b))\n", PHL_FORMAT_PTB, "an empty slot");
    check_refused_text("(a (?))\n", PHL_FORMAT_PTB, "an unknown label");
    check_refused_text("(a (\"\"))\n", PHL_FORMAT_PTB, "an empty label");
    check_refused_text("(|BT|)\n", PHL_FORMAT_PTB, "|BT|");
    check_refused_text("(a (|ET|))\n", PHL_FORMAT_PTB, "|ET|");
    const char *labels[] = {"a b", "(", ")", "a\\tb", "a\\nb", "\\r", "\\f", "\\u000b"};
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "(a (\"%s\"))\n", labels[i]);
        check_refused_text(text, PHL_FORMAT_PTB, "blanks or brackets");
    }
    phl_read_options json = read_options(PHL_FORMAT_JSON);
    const char *heavy = "{\"weight\":2,\"label\":[\"a\"],\"parent\":[-1],\"slot\":[1]}\n";
    phl_forest *forest = read_text(&json, heavy, strlen(heavy));
    check_refused(forest, PHL_FORMAT_PTB, "a weight other than 1");
    phl_forest_free(forest);
}

/* Read without a format given, and what came out as native text. */
static void check_told(const char *text, const char *expected)
{
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    check_trees(&options, text, expected);
}

static void test_recognised(void **state)
{
    (void)state;
    check_told("(a b)\n", "(a (b))\n");
    check_told("\xef\xbb\xbf\n((a (b)))\n", "(a (b))\n");
    check_told("( (a (b)))\n", "(a (b))\n");
    check_told("(a (b)\n (c))\n", "(a (b) (c))\n");
    check_told("(a)\n(a (b c))\n", "(a)\n(a (b (c)))\n");
    check_told("(`` ``)\n", "(`` (``))\n");
    check_told("1 |BT| (a) |ET|\n", "1\t(a)\n");
    check_told("(a \"b)\n", "(a (\"\\\"b\"))\n");
    /* Native text. */
    check_told("(a (\"b c\" _ (\"d\\\")\")))\n", "(a (\"b c\" _ (\"d\\\")\")))\n");
    check_told("(a _ (?))\n", "(a _ (?))\n");
    check_told("(a)\nk\t(b)\n", "(a)\nk\t(b)\n");
    check_told("# (a b)\n(a)\n", "(a)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_marked_lines), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_recovery),     cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_writing),      cmocka_unit_test(test_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
