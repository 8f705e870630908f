/* test_conllu.c - reading and writing CoNLL-U: labels, order of dependents, every refusal with its
 * place, recovery, round trips. */
#include "formats.h"

static phl_read_options conllu(void)
{
    return read_options(PHL_FORMAT_CONLLU);
}

#define WORD(id, form, upos, head, deprel)                                                         \
    id "\t" form "\tl\t" upos "\tx\t_\t" head "\t" deprel "\t_\t_\n"

#define SENTENCE                                                                                   \
    WORD("1", "the", "DET", "2", "det")                                                            \
    WORD("2", "dog", "NOUN", "3", "nsubj")                                                         \
    WORD("3", "eats", "VERB", "0", "root")                                                         \
    WORD("4", "old", "ADJ", "5", "amod")                                                           \
    WORD("5", "bones", "NOUN", "3", "obj")

static void test_labels(void **state)
{
    (void)state;
    phl_read_options options = conllu();
    check_trees(&options, SENTENCE, "(VERB (NOUN (DET)) (NOUN (ADJ)))\n");
    options.conllu_label = PHL_CONLLU_DEPREL;
    check_trees(&options, SENTENCE, "(root (nsubj (det)) (obj (amod)))\n");
    options.conllu_label = PHL_CONLLU_FORM;
    check_trees(&options, SENTENCE, "(eats (dog (the)) (bones (old)))\n");
    check_trees(&options, WORD("1", "New York", "X", "0", "root"), "(\"New York\")\n");
    for (int label = PHL_CONLLU_UPOS; label <= PHL_CONLLU_FORM; label++) {
        options.conllu_label = (phl_conllu_label)label;
        check_trees(&options, WORD("1", "_", "_", "0", "_"), "(?)\n");
    }
}

static void test_sentences(void **state)
{
    (void)state;
    phl_read_options options = conllu();
    const char *text =
        "\xef\xbb\xbf# newdoc id = d\r\n# sent_id = s-1 \r\n# text = a b\r\n" /**/
        "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\r\n"
        "1\ta\t_\tA\t_\t_\t0\troot\t_\t_\r\n"
        "1.1\te\t_\tE\t_\t_\t_\t_\t1:x\t_\r\n"
        "2\tb\t_\tB\t_\t_\t1\tdep\t_\t_\r\n"
        "\r\n\r\n"
        "# only a comment\n\n"
        "#sent_id=s2\n" WORD("1", "c", "C", "0", "root") "# sent_id = late\n\t \n" /**/
        WORD("1", "d", "D", "0", "root");
    phl_forest *forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_forest_trees(forest), 3);
    assert_string_equal(phl_tree_id(forest, 0), "s-1");
    assert_string_equal(phl_tree_id(forest, 1), "s2");
    assert_null(phl_tree_id(forest, 2));
    assert_int_equal(phl_tree_line(forest, 0), 5);
    assert_int_equal(phl_tree_line(forest, 1), 13);
    assert_int_equal(phl_tree_line(forest, 2), 16);
    phl_forest_free(forest);
    check_trees(&options, text, "(A (B))\n(C)\n(D)\n");
    check_trees(&options, "", "");
    check_trees(&options, "\n# x\n\n", "");
    options.limit = 2;
    check_trees(&options, text, "(A (B))\n(C)\n");
}

static void test_faults(void **state)
{
    (void)state;
    phl_read_options options = conllu();
    check_bad(&options, "1\ta\t_\tA\n", PHL_ERR_SYNTAX, 1, 8,
              "the line ends after 4 columns, expected 10", "tabs, not spaces");
    check_bad(&options, "\n1 a _ A _ _ 0 root _ _\n", PHL_ERR_SYNTAX, 2, 23,
              "the line ends after 1 column, expected 10", "");
    check_bad(&options, "1\t\xc3\xa9\t_\tA\t_\t_\t0\troot\t_\t_\tx\n", PHL_ERR_SYNTAX, 1, 24,
              "found an eleventh column", "");
    check_bad(&options, "1-2\ta\t_\tA\n", PHL_ERR_SYNTAX, 1, 10, "after 4 columns", "");
    check_bad(&options, WORD("2", "a", "A", "0", "root"), PHL_ERR_SYNTAX, 1, 1,
              "found '2', expected the word's number, 1", "");
    check_bad(&options, WORD("1", "a", "A", "0", "root") WORD("1", "a", "A", "1", "x"),
              PHL_ERR_SYNTAX, 2, 1, "found '1', expected the word's number, 2", "");
    check_bad(&options, WORD("one", "a", "A", "0", "root"), PHL_ERR_SYNTAX, 1, 1,
              "found 'one', expected the word's number", "");
    check_bad(&options, WORD("1-", "a", "A", "0", "root"), PHL_ERR_SYNTAX, 1, 1, "found '1-'", "");
    check_bad(&options, WORD("4294967297", "a", "A", "0", "root"), PHL_ERR_SYNTAX, 1, 1,
              "found '4294967297'", "");
    check_bad(&options, WORD("", "a", "A", "0", "root"), PHL_ERR_SYNTAX, 1, 1, "found ''", "");
    check_bad(&options, WORD("1", "a", "A", "_", "root"), PHL_ERR_SYNTAX, 1, 13,
              "found '_', expected the number of the word's head", "");
    check_bad(&options, WORD("1", "a", "A", "", "root"), PHL_ERR_SYNTAX, 1, 13, "found ''", "");
    check_bad(&options, WORD("1", "a", "A", "-1", "root"), PHL_ERR_SYNTAX, 1, 13, "found '-1'", "");
    check_bad(&options, WORD("1", "a", "A", "0", "root") WORD("2", "b", "B", "3", "x"),
              PHL_ERR_SYNTAX, 2, 13, "found HEAD 3 in a sentence of 2 words", "");
    check_bad(&options, WORD("1", "a", "A", "0", "root") WORD("2", "b", "B", "4294967297", "x"),
              PHL_ERR_SYNTAX, 2, 13, "in a sentence of 2 words", "");
    check_bad(&options, "#\n" WORD("1", "a", "A", "0", "root") WORD("2", "b", "B", "0", "root"),
              PHL_ERR_SYNTAX, 3, 13,
              "a second word with HEAD 0, expected one root per sentence (the first is on line 2)",
              "one tree");
    check_bad(&options, WORD("1", "a", "A", "2", "x") WORD("2", "b", "B", "1", "x"), PHL_ERR_SYNTAX,
              1, 13, "no word of the sentence has HEAD 0", "HEAD 0");
    check_bad(&options,
              WORD("1", "a", "A", "0", "root") WORD("2", "b", "B", "4", "x")
                  WORD("3", "c", "C", "4", "x") WORD("4", "d", "D", "3", "x"),
              PHL_ERR_SYNTAX, 3, 13, "word 3 depends on itself through its head 4", "root");
    check_bad(&options, WORD("1", "a", "A", "0", "root") WORD("2", "b", "B", "2", "x"),
              PHL_ERR_SYNTAX, 2, 13, "word 2 depends on itself through its head 2", "");
    check_bad(&options, WORD("1", "a", "", "0", "root"), PHL_ERR_SYNTAX, 1, 7,
              "found '', expected a label, or _", "");
    check_bad(&options, "1.1\te\t_\tE\t_\t_\t_\t_\t_\t_\n\n", PHL_ERR_SYNTAX, 2, 0,
              "a sentence without words", "");
    check_bad(&options, WORD("1", "\xff", "A", "0", "root"), PHL_ERR_ENCODING, 1, 3, "0xff",
              "iconv");
    options.max_name = 3;
    check_bad(&options, WORD("1", "a", "NOUN", "0", "root"), PHL_ERR_LIMIT, 1, 7,
              "a label 'NOUN' of 4 bytes, more than 3", "read.max_name");
    options = conllu();
    options.max_nodes = 4;
    check_bad(&options, SENTENCE, PHL_ERR_LIMIT, 5, 1, "more than 4 nodes", "read.max_nodes");
    options = conllu();
    options.max_children = 1;
    check_bad(&options, SENTENCE, PHL_ERR_LIMIT, 1, 0, "slot beyond 1", "read.max_children");
}

static void test_recovery(void **state)
{
    (void)state;
    phl_read_options options = conllu();
    check_skipped(
        options,
        WORD("1", "a", "A", "0", "root") "\n"                                           /**/
        WORD("1", "b", "B", "9", "x") "\n"                                              /**/
        WORD("2", "c", "C", "0", "x")                                                   /**/
        WORD("1", "c", "C", "0", "x") "\n"                                              /**/
                                      "\xff\n" WORD("1", "d", "D", "0", "x") "\xff\n\n" /**/
        WORD("1", "e", "E", "0", "root") "\nbad",
        "(A)\n(E)\n", 4);
}

/* A chain of words each depending on the next, and one word with all others as dependents. */
static void test_extremes(void **state)
{
    (void)state;
    enum { WORDS = 1000000 };
    phl_read_options options = conllu();
    char *text = test_malloc((size_t)WORDS * 40);
    size_t used = 0;
    for (int i = 1; i <= WORDS; i++) {
        used += (size_t)sprintf(text + used, "%d\t_\t_\tA\t_\t_\t%d\t_\t_\t_\n", i,
                                i == WORDS ? 0 : i + 1);
    }
    phl_forest *forest = read_text(&options, text, used);
    assert_int_equal(phl_forest_levels(forest), WORDS);
    char *written = write_text(forest, write_options(PHL_FORMAT_CONLLU));
    phl_forest *again = read_text(&options, written, strlen(written));
    assert_int_equal(phl_forest_levels(again), WORDS);
    phl_forest_free(again);
    phl_forest_free(forest);
    test_free(written);
    used = 0;
    for (int i = 1; i <= WORDS; i++) {
        used += (size_t)sprintf(text + used, "%d\t_\t_\tA\t_\t_\t%d\t_\t_\t_\n", i, i == 7 ? 0 : 7);
    }
    forest = read_text(&options, text, used);
    assert_int_equal(phl_forest_max_slot(forest), WORDS - 1);
    phl_forest_free(forest);
    test_free(text);
}

static void test_writing(void **state)
{
    (void)state;
    phl_write_options how = write_options(PHL_FORMAT_CONLLU);
    phl_read_options back = conllu();
    check_round_trip("(V (N (D)) (N))\n(?)\n", how, back,
                     "1\t_\t_\tV\t_\t_\t0\troot\t_\t_\n"
                     "2\t_\t_\tN\t_\t_\t1\tdep\t_\t_\n"
                     "3\t_\t_\tD\t_\t_\t2\tdep\t_\t_\n"
                     "4\t_\t_\tN\t_\t_\t1\tdep\t_\t_\n\n"
                     "1\t_\t_\t_\t_\t_\t0\troot\t_\t_\n\n");
    how.conllu_label = back.conllu_label = PHL_CONLLU_DEPREL;
    check_round_trip("(V (N) (?))\n", how, back,
                     "1\t_\t_\t_\t_\t_\t0\tV\t_\t_\n"
                     "2\t_\t_\t_\t_\t_\t1\tN\t_\t_\n"
                     "3\t_\t_\t_\t_\t_\t1\t_\t_\t_\n\n");
    how.conllu_label = back.conllu_label = PHL_CONLLU_FORM;
    check_round_trip("(\" a b\\r\" (\"#\") (\"\\u00e9\"))\n", how, back,
                     "1\t a b\r\t_\t_\t_\t_\t0\troot\t_\t_\n"
                     "2\t#\t_\t_\t_\t_\t1\tdep\t_\t_\n"
                     "3\t\xc3\xa9\t_\t_\t_\t_\t1\tdep\t_\t_\n\n");
    phl_read_options json = read_options(PHL_FORMAT_JSON);
    const char *named = "{\"id\":\"s 1\",\"label\":[\"a\"],\"parent\":[-1],\"slot\":[1]}\n";
    phl_forest *forest = read_text(&json, named, strlen(named));
    char *written = write_text(forest, write_options(PHL_FORMAT_CONLLU));
    assert_string_equal(written, "# sent_id = s 1\n1\t_\t_\ta\t_\t_\t0\troot\t_\t_\n\n");
    test_free(written);
    phl_forest_free(forest);
    const char *bad_ids[] = {"", " a", "a ", "a\\nb", "a\\r"};
    for (size_t i = 0; i < sizeof bad_ids / sizeof bad_ids[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text,
                       "{\"id\":\"%s\",\"label\":[\"a\"],\"parent\":[-1],\"slot\":[1]}\n",
                       bad_ids[i]);
        forest = read_text(&json, text, strlen(text));
        check_refused(forest, PHL_FORMAT_CONLLU, "an id that is empty");
        phl_forest_free(forest);
    }
    const char *heavy = "{\"weight\":2,\"label\":[\"a\"],\"parent\":[-1],\"slot\":[1]}\n";
    forest = read_text(&json, heavy, strlen(heavy));
    check_refused(forest, PHL_FORMAT_CONLLU, "a weight other than 1");
    phl_forest_free(forest);
    check_refused_text("k\t(a)\n", PHL_FORMAT_CONLLU, "a class");
    check_refused_text("(a _ (b))\n", PHL_FORMAT_CONLLU, "an empty slot");
    check_refused_text("(a (\"\"))\n", PHL_FORMAT_CONLLU, "an empty label");
    check_refused_text("(a (\"_\"))\n", PHL_FORMAT_CONLLU, "the label _");
    check_refused_text("(a (\"b\\tc\"))\n", PHL_FORMAT_CONLLU, "a tab or a line end");
    check_refused_text("(a (\"b\\nc\"))\n", PHL_FORMAT_CONLLU, "a tab or a line end");
}

static void test_recognised(void **state)
{
    (void)state;
    const char *text = "\xef\xbb\xbf# c\n\n#d\n" SENTENCE;
    assert_int_equal(recognised_status(text, strlen(text)), PHL_OK);
    assert_int_equal(recognised_status(SENTENCE, strlen(SENTENCE)), PHL_OK);
    text = "# c\n1-2\t_\t_\t_\t_\t_\t_\t_\t_\t_\n" SENTENCE;
    assert_int_equal(recognised_status(text, strlen(text)), PHL_OK);
    /* Native trees of class 1. */
    text = "# c\n1\t(a (b))\n";
    assert_int_equal(recognised_status(text, strlen(text)), PHL_OK);
}

static void test_two_columns(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_CONLLU);
    const char *text =
        "1\tdogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\t_\t_\t0\t_\t_\t_\n"
        "3\t_\t_\tX\t_\t_\t2\tdep\t_\t_\n";
    options.conllu_label = PHL_CONLLU_UPOS_DEPREL;
    check_trees(&options, text, "(VERB (NOUN+nsubj) (X+dep))\n");
    options.conllu_label = PHL_CONLLU_FORM_UPOS;
    check_trees(&options, text, "(bark+VERB (dogs+NOUN) (?))\n");
    options.conllu_label = PHL_CONLLU_FORM_DEPREL;
    check_trees(&options, text, "(bark (dogs+nsubj) (?))\n");
    /* The parts are no labels of their own. */
    phl_forest *forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_forest_labels(forest), 2);
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_columns), cmocka_unit_test(test_labels),
        cmocka_unit_test(test_sentences),   cmocka_unit_test(test_faults),
        cmocka_unit_test(test_recovery),    cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_writing),     cmocka_unit_test(test_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
