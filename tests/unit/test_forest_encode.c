/* test_forest_encode.c - trees of first children and next siblings, and back.
 *
 * The reference is made node by node from the plain arrays of random trees (samples.h): a node
 * hangs below its parent if it is the first child, else below the sibling before it.
 */
#include "samples.h"

static const char *const few[] = {"a", "b", "c"};
enum { ROUNDS = 300, TREES = 4 };

static phl_forest *encoded(const phl_forest *forest)
{
    phl_forest *made = NULL;
    assert_int_equal(phl_forest_encode(forest, PHL_ENCODING_FIRST_CHILD, &made, NULL), PHL_OK);
    return made;
}

static phl_forest *decoded(const phl_forest *forest)
{
    phl_forest *made = NULL;
    assert_int_equal(phl_forest_decode(forest, PHL_ENCODING_FIRST_CHILD, &made, NULL), PHL_OK);
    return made;
}

static void check_text(const char *plain, const char *expected)
{
    phl_forest *forest = trees(plain), *made = encoded(forest), *back = decoded(made);
    char *text = write_text(made, write_options(PHL_FORMAT_BRACKETS));
    char *again = write_text(back, write_options(PHL_FORMAT_BRACKETS));
    assert_string_equal(text, expected);
    assert_string_equal(again, plain);
    test_free(text);
    test_free(again);
    phl_forest_free(forest);
    phl_forest_free(made);
    phl_forest_free(back);
}

static void test_examples(void **state)
{
    (void)state;
    check_text("(a)\n", "(a)\n");
    check_text("(a (b) (c))\n", "(a (b _ (c)))\n");
    check_text("x\t(a (b (d)) (c) (?))\n", "x\t(a (b (d) (c _ (?))))\n");
    check_text("(a _ (b))\n", "(a _ _ (b))\n");                 /* first child: 1 + 2 * 1 */
    check_text("(a (b) _ (c))\n", "(a (b _ _ _ (c)))\n");       /* next sibling: 2 + 2 * 1 */
    check_text("(a (b _ (d)) (c))\n", "(a (b _ _ (d) (c)))\n"); /* 3, and an odd step further */
    check_text("(a (b _ (d)) _ (c))\n", "(a (b _ _ (d) _ _ (c)))\n");
}

/* The node that a node hangs below when it is encoded, by its number in pre-order. */
static size_t expected_parent(const phl_visit *visits, size_t node)
{
    size_t found = visits[node].parent;
    for (size_t i = 0; i < node; i++) {
        if (i != 0 && visits[i].parent == visits[node].parent) {
            found = i;
        }
    }
    return found;
}

static size_t walk_all(phl_walk *walk, size_t tree, phl_visit *visits)
{
    size_t n = 0;
    phl_walk_start(walk, tree);
    while (phl_walk_next(walk, &visits[n], NULL) > 0) {
        n++;
    }
    return n;
}

static void check_nodes(const phl_forest *forest, const phl_forest *made)
{
    phl_walk *walks[2] = {NULL, NULL};
    assert_int_equal(phl_walk_create(forest, &walks[0], NULL), PHL_OK);
    assert_int_equal(phl_walk_create(made, &walks[1], NULL), PHL_OK);
    for (size_t tree = 0; tree < phl_forest_trees(forest); tree++) {
        phl_visit plain[SAMPLE_NODES + 1], other[SAMPLE_NODES + 1];
        size_t n = walk_all(walks[0], tree, plain);
        assert_int_equal(walk_all(walks[1], tree, other), n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(other[i].label, plain[i].label);
            assert_int_equal(other[i].parent, expected_parent(plain, i));
        }
    }
    phl_walk_free(walks[0]);
    phl_walk_free(walks[1]);
}

static void test_random(void **state)
{
    (void)state;
    uint64_t seed = 17;
    char was[33], now[33];
    for (int round = 0; round < ROUNDS; round++) {
        sample samples[TREES];
        for (size_t i = 0; i < TREES; i++) {
            sample_make(&samples[i], &seed, few, 3, SAMPLE_NODES);
        }
        phl_forest *forest = sample_forest(samples, TREES, round & 1, round & 2);
        phl_forest *made = encoded(forest), *back = decoded(made);
        check_nodes(forest, made);
        sample_fingerprint(forest, true, was);
        sample_fingerprint(back, true, now);
        assert_string_equal(now, was);
        assert_int_equal(phl_forest_subtrees(back), phl_forest_subtrees(forest));
        assert_int_equal(phl_forest_is_shared(back), phl_forest_is_shared(forest));
        assert_true(phl_forest_subtrees(made) <=
                    phl_forest_links(forest) + phl_forest_trees(forest));
        phl_forest_free(forest);
        phl_forest_free(made);
        phl_forest_free(back);
    }
}

static void refuse_decoding(const char *text, uint64_t line)
{
    phl_forest *forest = trees(text), *made = NULL;
    phl_error error = {0};
    assert_int_equal(phl_forest_decode(forest, PHL_ENCODING_FIRST_CHILD, &made, &error),
                     PHL_ERR_EXPRESS);
    assert_null(made);
    assert_int_equal(error.line, line);
    phl_forest_free(forest);
}

static void test_refused(void **state)
{
    (void)state;
    refuse_decoding("(a)\n(a _ (b))\n", 2);             /* a root has no sibling */
    refuse_decoding("(a (b) (c))\n", 1);                /* nor this one */
    refuse_decoding("(a (b (c) (d) (e)))\n", 1);        /* three children */
    refuse_decoding("(a (b (c) _ (d)))\n", 1);          /* two first children */
    refuse_decoding("(a (b _ (c) (d)))\n", 1);          /* a sibling before the first child */
    refuse_decoding("(a)\n(a (b (c (d) _ (e))))\n", 2); /* deep below */
}

/* Slots that do not fit are refused, both ways. */
static void test_large_slots(void **state)
{
    (void)state;
    phl_builder *builder = NULL;
    phl_forest *forest = NULL, *made = NULL;
    assert_int_equal(phl_builder_create(NULL, &builder, NULL), PHL_OK);
    assert_int_equal(phl_builder_open(builder, "a", 1, NULL), PHL_OK);
    assert_int_equal(phl_builder_open(builder, "b", UINT32_MAX / 2 + 2, NULL), PHL_OK);
    assert_int_equal(phl_builder_close(builder, NULL), PHL_OK);
    assert_int_equal(phl_builder_close(builder, NULL), PHL_OK);
    assert_int_equal(phl_builder_end_tree(builder, NULL, NULL), PHL_OK);
    assert_int_equal(phl_builder_finish(builder, &forest, NULL), PHL_OK);
    assert_int_equal(phl_forest_encode(forest, PHL_ENCODING_FIRST_CHILD, &made, NULL),
                     PHL_ERR_EXPRESS);
    assert_null(made);
    phl_forest_free(forest);
    phl_builder_free(builder);
}

/* A million siblings become a million levels, and come back. */
static void test_deep(void **state)
{
    (void)state;
    enum { MANY = 1000000 };
    phl_builder *builder = NULL;
    phl_forest *forest = NULL;
    assert_int_equal(phl_builder_create(NULL, &builder, NULL), PHL_OK);
    assert_int_equal(phl_builder_open(builder, "a", 1, NULL), PHL_OK);
    for (uint32_t i = 1; i <= MANY; i++) {
        assert_int_equal(phl_builder_open(builder, "b", i, NULL), PHL_OK);
        assert_int_equal(phl_builder_close(builder, NULL), PHL_OK);
    }
    assert_int_equal(phl_builder_close(builder, NULL), PHL_OK);
    assert_int_equal(phl_builder_end_tree(builder, NULL, NULL), PHL_OK);
    assert_int_equal(phl_builder_finish(builder, &forest, NULL), PHL_OK);
    phl_forest *made = encoded(forest), *back = decoded(made);
    char was[33], now[33];
    assert_int_equal(phl_forest_levels(made), MANY + 1);
    sample_fingerprint(forest, true, was);
    sample_fingerprint(back, true, now);
    assert_string_equal(now, was);
    phl_forest_free(forest);
    phl_forest_free(made);
    phl_forest_free(back);
    phl_builder_free(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples), cmocka_unit_test(test_random),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_large_slots),
        cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
