/* test_json.c - one flat JSON object a line. */
#include "samples.h"

static phl_read_options json(void)
{
    return read_options(PHL_FORMAT_JSON);
}

static void test_grammar(void **state)
{
    (void)state;
    phl_read_options options = json();
    check_trees(&options, "{\"label\":[\"a\"],\"parent\":[-1]}", "(a)\n");
    check_trees(&options, " \t{ \"parent\" : [ -1 , 0 ] , \"label\" : [ \"a\" , \"b\" ] } \r\n\n",
                "(a (b))\n");
    check_trees(&options, "{\"label\":[\"a\",\"b\",null],\"parent\":[-1,0,0],\"slot\":[1,4,2]}",
                "(a _ (?) _ (b))\n");
    /* any order of nodes; without slots children follow the order of nodes */
    check_trees(&options, "{\"label\":[\"x\",\"y\",\"r\",\"z\"],\"parent\":[2,0,-1,2]}",
                "(r (x (y)) (z))\n");
    check_trees(&options, "{\"class\":\"k\",\"id\":\"i\",\"label\":[\"\"],\"parent\":[-1]}",
                "k\t(\"\")\n");
    check_trees(&options, "{\"class\":null,\"id\":null,\"label\":[7,-1],\"parent\":[-1,0]}",
                "(7 (-1))\n");
    check_trees(&options, "{\"class\":3,\"label\":[\"a\"],\"parent\":[-1]}", "3\t(a)\n");
    check_trees(&options, "{\"label\":[\"\\u00e9\\ud83d\\ude00\\n\\/\"],\"parent\":[-1]}",
                "(\"\xc3\xa9\xf0\x9f\x98\x80\\n/\")\n");
    check_trees(&options, "\xef\xbb\xbf{\"label\":[\"a\"],\"parent\":[-1]}\r\n", "(a)\n");
    check_trees(&options, "", "");
    check_trees(&options, "\n  \n", "");
}

static void test_info(void **state)
{
    (void)state;
    phl_read_options options = json();
    const char *text = "{\"label\":[\"a\"],\"parent\":[-1]}\n"
                       "{\"id\":\"x y\",\"weight\":0.1,\"label\":[\"a\"],\"parent\":[-1]}\n"
                       "{\"id\":12,\"weight\":3,\"label\":[\"a\"],\"parent\":[-1]}\n";
    phl_forest *forest = read_text(&options, text, strlen(text));
    assert_null(phl_tree_id(forest, 0));
    assert_string_equal(phl_tree_id(forest, 1), "x y");
    assert_string_equal(phl_tree_id(forest, 2), "12");
    assert_true(phl_tree_weight(forest, 0) == 1.0 && phl_tree_weight(forest, 1) == 0.1 &&
                phl_tree_weight(forest, 2) == 3.0);
    assert_int_equal(phl_tree_line(forest, 2), 3);
    char *written = write_text(forest, write_options(PHL_FORMAT_JSON));
    phl_forest *again = read_text(&options, written, strlen(written));
    assert_true(phl_tree_weight(again, 1) == 0.1);
    assert_string_equal(phl_tree_id(again, 2), "12");
    test_free(written);
    phl_forest_free(again);
    phl_forest_free(forest);
}

static void test_faults(void **state)
{
    (void)state;
    phl_read_options options = json();
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"{\"label\":[\"a\"]}", "\"parent\" is missing"},
        {"{\"parent\":[-1]}", "\"label\" is missing"},
        {"{\"label\":[],\"parent\":[]}", "\"label\" is empty"},
        {"{\"label\":[\"a\"],\"parent\":[-1],\"Class\":1}", "found the key \"Class\""},
        {"{\"label\":[\"a\"],\"parent\":[0]}", "no root"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,-1]}", "node 0 is the root already"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,1]}", "cycle"},
        {"{\"label\":[\"a\",\"b\",\"c\"],\"parent\":[-1,2,1]}", "2 of 3 nodes"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,2]}", "\"parent\"[1] is 2"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,-2]}", "\"parent\"[1] is -2"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,0.0]}", "\"parent\"[1] is a real number"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1]}", "\"parent\" has 1 entries"},
        {"{\"label\":[\"a\"],\"parent\":[-1],\"slot\":null}", "\"slot\" is null"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,0]}", "\"slot\"[1] is 0"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,4294967295]}", "\"slot\"[1] is"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[2,1]}", "\"slot\"[0] is 2"},
        {"{\"label\":[\"a\",\"b\",\"c\"],\"parent\":[-1,0,0],\"slot\":[1,3,3]}",
         "two children in slot 3"},
        {"{\"label\":[true],\"parent\":[-1]}", "\"label\"[0] is true"},
        {"{\"label\":[1.0],\"parent\":[-1]}", "\"label\"[0] is a real number"},
        {"{\"weight\":null,\"label\":[\"a\"],\"parent\":[-1]}", "\"weight\" is null"},
        {"{\"weight\":0,\"label\":[\"a\"],\"parent\":[-1]}", "\"weight\" is not positive"},
        {"{\"class\":{},\"label\":[\"a\"],\"parent\":[-1]}", "\"class\" is an object"},
        {"{\"id\":[],\"label\":[\"a\"],\"parent\":[-1]}", "\"id\" is an array"},
        {"[1]", "found an array"},
        {"[[[[[[[[[1]]]]]]]]]", "nested"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_bad(&options, bad[i].line, PHL_ERR_SYNTAX, 1, 0, bad[i].message, "");
        char text[512], native[16] = "(q)\n";
        (void)snprintf(text, sizeof text, "%s\n{\"label\":[\"q\"],\"parent\":[-1]}\n", bad[i].line);
        check_skipped(json(), text, native, 1);
    }
    check_bad(&options, "{\"label\":[\"a\"],\"parent\":[-1]", PHL_ERR_SYNTAX, 1, 28, "not JSON",
              "one object a line");
    options.max_children = 3;
    check_bad(&options, "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,4]}", PHL_ERR_LIMIT,
              1, 0, "beyond 3", "--max-children");
    options.max_name = 2;
    check_bad(&options, "{\"label\":[\"abc\"],\"parent\":[-1]}", PHL_ERR_LIMIT, 1, 0,
              "longer than 2", "--max-name");
    options.max_nodes = 1;
    check_bad(&options, "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0]}", PHL_ERR_LIMIT, 1, 0,
              "more than 1 nodes", "--max-nodes");
}

static void test_writing(void **state)
{
    (void)state;
    check_round_trip(
        "k\t(a _ (\"b \\\"\") (? _ (c)))\n(d)\n", write_options(PHL_FORMAT_JSON), json(),
        "{\"class\":\"k\",\"label\":[\"a\",\"b \\\"\",null,\"c\"],\"parent\":[-1,0,0,2]"
        ",\"slot\":[1,2,3,2]}\n{\"label\":[\"d\"],\"parent\":[-1],\"slot\":[1]}\n");
}

/* Everything: nasty names, weights of any size. */
static void test_random_round_trips(void **state)
{
    (void)state;
    uint64_t seed = 23;
    static const double weights[] = {1.0, 0.1, 1e300, 5e-324, 1.0 / 3, 123.0, 1.0000000000000002,
                                     2.5};
    for (int round = 0; round < 300; round++) {
        sample trees[5];
        for (size_t i = 0; i < 5; i++) {
            sample_make(&trees[i], &seed, sample_nasty, SAMPLE_NASTY, SAMPLE_NODES);
            trees[i].weight = weights[sample_random(&seed, 8)];
        }
        phl_forest *forest = sample_forest(trees, 5, round % 2, true);
        char *text = write_text(forest, write_options(PHL_FORMAT_JSON));
        char before[33], after[33];
        phl_read_options options = read_options(round % 3 ? PHL_FORMAT_JSON : PHL_FORMAT_AUTO);
        phl_forest *again = read_text(&options, text, strlen(text));
        sample_fingerprint(forest, true, before);
        sample_fingerprint(again, true, after);
        if (strcmp(before, after) != 0) {
            print_error("reads as other trees: %s", text);
            fail();
        }
        test_free(text);
        phl_forest_free(again);
        phl_forest_free(forest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_random_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
