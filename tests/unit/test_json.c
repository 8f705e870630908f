/* test_json.c - one flat JSON object per line. */
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
    /* integers are their digits, of any size; -0 is 0 */
    check_trees(&options,
                "{\"class\":-0,\"label\":[-0,123456789012345678901234567890],\"parent\":[-1,-0]}",
                "0\t(0 (123456789012345678901234567890))\n");
    /* escapes everywhere, also in keys and in both names of one tree */
    check_trees(&options,
                "{\"l\\u0061bel\":[\"\\u0041\",\"\\\"b\",\"c\\u00df\"],\"class\":\"k\\t\","
                "\"id\":\"\\u0069\",\"parent\":[-1,0,1]}",
                "\"k\\t\"\t(A (\"\\\"b\" (c\xc3\x9f)))\n");
    check_trees(&options, "{\"label\":[\"\x7f,]}\"],\"parent\":[-1]}\r\r\n\r\n",
                "(\"\\u007f,]}\")\n");
    check_trees(&options,
                "{ \"label\":[\"a\" ,\r\"b\" ],\"slot\":[ 1\t, 2 ] ,\"parent\":[-1 ,0 ]\r}",
                "(a _ (b))\n");
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

/* A line is bad at a column; the good one after it is read all the same. */
struct fault {
    const char *line;
    uint64_t column;
    const char *message, *remedy;
};

static void check_faults(const struct fault *bad, size_t n)
{
    phl_read_options options = json();
    for (size_t i = 0; i < n; i++) {
        check_bad(&options, bad[i].line, PHL_ERR_SYNTAX, 1, bad[i].column, bad[i].message,
                  bad[i].remedy);
        char text[512];
        (void)snprintf(text, sizeof text, "%s\n{\"label\":[\"q\"],\"parent\":[-1]}\n", bad[i].line);
        check_skipped(json(), text, "(q)\n", 1);
    }
}

/* Not JSON. */
static void test_syntax(void **state)
{
    (void)state;
    static const struct fault bad[] = {
        {"{\"label\":[\"a\"],\"parent\":[-1]", 29, "found the end of the line, expected , or }",
         "one object per line"},
        {"{\"label\":[\"a\"],\"parent\":[-1", 28, "found the end of the line, expected , or ]", ""},
        {"{\"label\":[\"a\"],\"parent\":[-1]]", 29, "found ']', expected , or }", ""},
        {"{\"label\":[\"a\"],\"parent\":[-1]}x", 30, "found 'x', expected the end of the line",
         "one object per line"},
        {"{\"label\":[\"a\"],\"parent\":[-1],}", 30, "found '}', expected a key in quotes", ""},
        {"{,\"label\":[\"a\"],\"parent\":[-1]}", 2, "found ',', expected a key", ""},
        {"{label:[\"a\"],\"parent\":[-1]}", 2, "found 'label', expected a key", ""},
        {"{\"label\"[\"a\"],\"parent\":[-1]}", 9, "found '[', expected : after a key", ""},
        {"{\"label\":[\"a\"] \"parent\":[-1]}", 16, "found a string, expected , or }", ""},
        {"{\"label\":[\"a\" \"b\"],\"parent\":[-1]}", 15, "found a string, expected , or ]", ""},
        {"{\"label\":[\"a\",],\"parent\":[-1]}", 15,
         "found ']', expected a string, an integer or null", ""},
        {"{\"label\":[,\"a\"],\"parent\":[-1]}", 11, "found ','", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,]}", 33, "found ']', expected an integer", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1 0]}", 33, "found '0', expected , or ]", ""},
        {"{\"label\":", 10, "found the end of the line, expected an array", ""},
        {"{\"label\":[\"a", 13, "found the end of the line, expected a closing quote", "as \\n"},
        {"{\"label\":[\"a\\", 13, "found '\\', expected an escape", ""},
        {"{\"label\":[\"a\\u00", 13, "found '\\u00', expected an escape", ""},
        {"{\"label\":[\"\\ud83d\\u", 12, "found '\\ud83d', expected an escape", "both halves"},
        {"{", 2, "found the end of the line, expected a key", ""},
        {"}", 1, "found '}', expected an object", "one object per line"},
        {"hello", 1, "found 'hello', expected an object", ""},
        {"  [1]", 3, "found an array, expected an object", "one object per line"},
        {"[[[[[[[[[1]]]]]]]]]", 1, "found an array, expected an object", ""},
        {"\"a\"", 1, "found a string, expected an object", ""},
        {"{\"label\":[\"a\tb\"],\"parent\":[-1]}", 13, "control character 0x09", "\\u0009"},
        {"{\"label\":[\"\\n\037\"],\"parent\":[-1]}", 14, "control character 0x1f", "\\u001f"},
        {"{\"label\":[\"\\x41\"],\"parent\":[-1]}", 12,
         "found '\\x41', expected an escape as in JSON", ""},
        {"{\"label\":[\"\\u00g1\"],\"parent\":[-1]}", 12, "found '\\u00g1', expected an escape",
         ""},
        {"{\"label\":[\"a\\u0000b\"],\"parent\":[-1]}", 13, "found '\\u0000b'", "NUL"},
        {"{\"label\":[\"\\ud83d\"],\"parent\":[-1]}", 12, "found '\\ud83d'", "both halves"},
        {"{\"label\":[\"\\ud83d\\u0041\"],\"parent\":[-1]}", 12, "found '\\ud83d'", "both halves"},
        {"{\"label\":[\"\\ude00\"],\"parent\":[-1]}", 12, "found '\\ude00'", "both halves"},
        {"{\"label\":['a'],\"parent\":[-1]}", 11, "found '''", ""},
        {"{\"label\":[nul],\"parent\":[-1]}", 11, "found 'nul', expected a string", "in quotes"},
        {"{\"label\":[nulls],\"parent\":[-1]}", 11, "found 'nulls', expected a string",
         "in quotes"},
        {"{\"label\":[007],\"parent\":[-1]}", 11, "found '007', expected a string", "as in JSON"},
        {"{\"label\":[-],\"parent\":[-1]}", 11, "found '-'", "as in JSON"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,-01]}", 33, "found '-01', expected an integer",
         "as in JSON"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,00]}", 33, "found '00', expected an integer",
         "as in JSON"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,+1]}", 33, "found '+1', expected an integer",
         "as in JSON"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,-]}", 33, "found '-', expected an integer",
         "as in JSON"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,1x]}", 33, "found '1x', expected an integer",
         "as in JSON"},
        {"{\"weight\":1.,\"label\":[\"a\"],\"parent\":[-1]}", 11,
         "found '1.', expected a positive number", "as in JSON"},
        {"{\"weight\":.5,\"label\":[\"a\"],\"parent\":[-1]}", 11,
         "found '.5', expected a positive number", "as in JSON"},
        {"{\"weight\":1e,\"label\":[\"a\"],\"parent\":[-1]}", 11, "found '1e'", "as in JSON"},
        {"{\"weight\":1e+,\"label\":[\"a\"],\"parent\":[-1]}", 11, "found '1e+'", "as in JSON"},
        {"{\"weight\":0x10,\"label\":[\"a\"],\"parent\":[-1]}", 11, "found '0x10'", "as in JSON"},
        {"{\"weight\":1,5,\"label\":[\"a\"],\"parent\":[-1]}", 13, "found '5', expected a key", ""},
        {"{\"weight\":inf,\"label\":[\"a\"],\"parent\":[-1]}", 11, "found 'inf'", ""},
        {"{\"weight\":NaN,\"label\":[\"a\"],\"parent\":[-1]}", 11, "found 'NaN'", ""},
        {"{\"weight\":01,\"label\":[\"a\"],\"parent\":[-1]}", 11, "found '01'", "as in JSON"},
    };
    check_faults(bad, sizeof bad / sizeof *bad);
}

/* JSON, but no tree. */
static void test_faults(void **state)
{
    (void)state;
    static const struct fault bad[] = {
        {"{\"label\":[\"a\"]}", 15, "\"parent\" is missing", ""},
        {"{\"parent\":[-1]}", 15, "\"label\" is missing", ""},
        {"{}", 2, "\"label\" is missing", ""},
        {"{\"label\":[],\"parent\":[]}", 10, "\"label\" is empty", ""},
        {"{\"label\":[\"a\"],\"parent\":[-1],\"Class\":1}", 30, "found the key \"Class\"",
         "rename"},
        {"{\"label\":[\"a\"],\"parent\":[-1],\"\":1}", 30, "found the key \"\"", "rename"},
        {"{\"label\":[\"a\"],\"parent\":[-1],\"label\":1}", 30,
         "found the key \"label\" again, expected every key once", "remove"},
        {"{\"label\":[\"\xc3\xa9\"],\"l\\u0061bel\":[\"a\"],\"parent\":[-1]}", 16,
         "found the key \"label\" again", "remove"},
        {"{\"id\":null,\"id\":null,\"label\":[\"a\"],\"parent\":[-1]}", 12,
         "found the key \"id\" again", "remove"},
        {"{\"label\":[\"a\"],\"parent\":[0]}", 25, "no root", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,-1]}", 33, "node 0 is the root already",
         "one tree"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,1]}", 33, "cycle", ""},
        {"{\"label\":[\"a\",\"b\",\"c\"],\"parent\":[-1,2,1]}", 37, "2 of 3 nodes", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1, 2]}", 34, "\"parent\"[1] is 2, expected -1 to 1",
         ""},
        {"{\"parent\":[-1,-2],\"label\":[\"a\",\"b\"]}", 15,
         "\"parent\"[1] is -2, expected -1 to 1", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,4294967295]}", 33,
         "\"parent\"[1] is 4294967295, expected", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,4294967294]}", 33,
         "\"parent\"[1] is 4294967294, expected", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,18446744073709551615]}", 33,
         "\"parent\"[1] is 18446744073709551615, e", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-18446744073709551617,0]}", 30,
         "\"parent\"[0] is -18446744073709551617, e", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,0.0]}", 33, "\"parent\"[1] is a real number", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,1e0]}", 33, "\"parent\"[1] is a real number", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,null]}", 33, "\"parent\"[1] is null", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,[0]]}", 33, "\"parent\"[1] is an array",
         "flat arrays"},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1]}", 29, "\"parent\" has 1 entries, expected 2",
         ""},
        {"{\"parent\":[-1,0],\"label\":[\"a\"]}", 11, "\"parent\" has 2 entries, expected 1", ""},
        {"{\"label\":[\"a\"],\"parent\":[-1],\"slot\":[1,1]}", 37,
         "\"slot\" has 2 entries, expected 1", ""},
        {"{\"label\":[\"a\"],\"parent\":[-1],\"slot\":null}", 37, "\"slot\" is null", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,0]}", 46,
         "\"slot\"[1] is 0, expected 1 to 4294967293", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,-1]}", 46,
         "\"slot\"[1] is -1, expected", ""},
        {"{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,4294967294]}", 46,
         "\"slot\"[1] is 4294967294, expected", ""},
        {"{\"slot\":[2,1],\"label\":[\"a\",\"b\"],\"parent\":[-1,0]}", 10,
         "\"slot\"[0] is 2, expected 1 for the root", ""},
        {"{\"label\":[\"a\",\"b\",\"c\",\"d\"],\"parent\":[-1,0,0,0],\"slot\":[1,3,2,3]}", 62,
         "two children in slot 3", "of its own"},
        {"{\"label\":[true],\"parent\":[-1]}", 11, "\"label\"[0] is true", ""},
        {"{\"label\":[\"a\",1.0],\"parent\":[-1]}", 15, "\"label\"[1] is a real number", ""},
        {"{\"label\":[\"a\",{\"b\":1}],\"parent\":[-1]}", 15, "\"label\"[1] is an object",
         "flat arrays"},
        {"{\"label\":\"a\",\"parent\":[-1]}", 10, "\"label\" is a string, expected an array", ""},
        {"{\"weight\":null,\"label\":[\"a\"],\"parent\":[-1]}", 11, "\"weight\" is null", ""},
        {"{\"weight\":\"1\",\"label\":[\"a\"],\"parent\":[-1]}", 11, "\"weight\" is a string", ""},
        {"{\"weight\":0,\"label\":[\"a\"],\"parent\":[-1]}", 11, "\"weight\" is not positive", ""},
        {"{\"weight\":0.0e5,\"label\":[\"a\"],\"parent\":[-1]}", 11, "\"weight\" is not positive",
         ""},
        {"{\"weight\":-1e999,\"label\":[\"a\"],\"parent\":[-1]}", 11, "\"weight\" is not positive",
         ""},
        {"{\"weight\":1e999,\"label\":[\"a\"],\"parent\":[-1]}", 11,
         "\"weight\" is 1e999, expected a number from", ""},
        {"{\"weight\":0.1e-999,\"label\":[\"a\"],\"parent\":[-1]}", 11,
         "\"weight\" is 0.1e-999, expected a number", ""},
        {"{\"class\":{},\"label\":[\"a\"],\"parent\":[-1]}", 10, "\"class\" is an object", ""},
        {"{\"class\":1e3,\"label\":[\"a\"],\"parent\":[-1]}", 10, "\"class\" is a real number", ""},
        {"{\"class\":false,\"label\":[\"a\"],\"parent\":[-1]}", 10, "\"class\" is false", ""},
        {"{\"id\":[],\"label\":[\"a\"],\"parent\":[-1]}", 7, "\"id\" is an array", ""},
    };
    check_faults(bad, sizeof bad / sizeof *bad);
}

static void test_caps(void **state)
{
    (void)state;
    phl_read_options options = json();
    options.max_children = 3;
    check_bad(&options, "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,4]}", PHL_ERR_LIMIT,
              1, 46, "\"slot\"[1] is beyond 3", "read.max_children");
    check_bad(&options, "{\"label\":[\"a\",\"b\",\"c\",\"d\",\"e\"],\"parent\":[-1,0,0,0,0]}",
              PHL_ERR_LIMIT, 1, 51, "a slot beyond 3", "read.max_children");
    options.max_name = 2;
    check_bad(&options, "{\"label\":[\"ab\",\"abc\"],\"parent\":[-1]}", PHL_ERR_LIMIT, 1, 16,
              "longer than 2", "read.max_name");
    check_bad(&options, "{\"label\":[\"a\\u00dfb\"],\"parent\":[-1]}", PHL_ERR_LIMIT, 1, 11,
              "longer than 2", "read.max_name");
    check_bad(&options, "{\"label\":[100],\"parent\":[-1]}", PHL_ERR_LIMIT, 1, 11, "longer than 2",
              "read.max_name");
    check_bad(&options, "{\"class\":\"abc\",\"label\":[\"a\"],\"parent\":[-1]}", PHL_ERR_LIMIT, 1,
              10, "longer than 2", "read.max_name");
    check_trees(&options, "{\"label\":[\"\\u00df\"],\"parent\":[-1]}", "(\xc3\x9f)\n");
    options.max_nodes = 1;
    check_bad(&options, "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0]}", PHL_ERR_LIMIT, 1, 15,
              "more than 1 nodes", "read.max_nodes");
    check_bad(&options, "{\"parent\":[-1,0],\"label\":[\"a\",\"b\"]}", PHL_ERR_LIMIT, 1, 15,
              "more than 1 nodes", "read.max_nodes");
}

/* What a bad tree held is forgotten, its labels too, wherever in the line they stood. */
static void test_nothing_is_left(void **state)
{
    (void)state;
    static const char text[] =
        "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,2],\"class\":\"k\",\"id\":\"i\"}\n"
        "{\"class\":\"c\",\"id\":\"j\",\"weight\":2,\"label\":[\"x\",\"y\"],\"parent\":[-1,7]}\n"
        "{\"label\":[\"z\",\"a\"],\"parent\":[-1,0],\"slot\":[1,5],\"weight\":-1}\n"
        "{\"label\":[\"b\",\"c\"],\"parent\":[-1,0]}\n";
    phl_read_options options = json();
    options.skip_bad = true;
    phl_forest *forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_forest_trees(forest), 2);
    assert_int_equal(phl_forest_labels(forest), 3);
    assert_int_equal(phl_forest_classes(forest), 1);
    assert_int_equal(phl_tree_class(forest, 1), PHL_NO_CLASS);
    assert_null(phl_tree_id(forest, 1));
    assert_true(phl_tree_weight(forest, 1) == 1.0);
    char *written = write_text(forest, write_options(PHL_FORMAT_BRACKETS));
    assert_string_equal(written, "k\t(a _ (b))\n(b (c))\n");
    test_free(written);
    phl_forest_free(forest);
}

/* Weights are the doubles nearest to what is written. */
static void test_weights(void **state)
{
    (void)state;
    static const struct {
        const char *digits;
        double value;
    } weights[] = {
        {"1", 1.0},
        {"1E3", 1000.0},
        {"1e+3", 1000.0},
        {"25e-1", 2.5},
        {"0.1", 0.1},
        {"9007199254740993", 9007199254740992.0},
        {"9007199254740993.0000000000000000000000000000001", 9007199254740994.0},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
        {"1.7976931348623157e308", 1.7976931348623157e308},
        {"4.9406564584124654e-324", 4.9406564584124654e-324},
        {"2.2250738585072011e-308", 2.2250738585072011e-308},
    };
    phl_read_options options = json();
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "{\"label\":[\"a\"],\"parent\":[-1],\"weight\":%s}",
                       weights[i].digits);
        phl_forest *forest = read_text(&options, text, strlen(text));
        assert_true(phl_tree_weight(forest, 0) == weights[i].value);
        phl_forest_free(forest);
    }
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
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_nothing_is_left),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_random_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
