/* test_features.c - features of trees: sharing, threads and blocks change nothing, and the squares
 * of the values of a tree add up to 1.  (tests/oracle/run_features.py counts them by hand.)
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "forests.h"
#include "must.h"

/* Everything that was told, as text. */
struct told {
    char *text;
    size_t used, room;
    bool whole; /* the dictionary knows everything */
};

static void tell(struct told *told, const char *format, double a, double b)
{
    if (told->room - told->used < 200) {
        size_t room = told->room * 2 + 4096;
        char *larger = must_alloc(room, 1);
        if (told->used > 0) {
            memcpy(larger, told->text, told->used);
        }
        phl_free(told->text);
        told->text = larger;
        told->room = room;
    }
    told->used += (size_t)snprintf(told->text + told->used, 200, format, a, b);
}

static phl_status take(const phl_tree_at *at, const phl_tree_features *row, void *context,
                       phl_error *error)
{
    struct told *told = context;
    double squares = 0.0;
    (void)error;
    tell(told, "tree %.0f of %.0f:", (double)at->number, (double)row->occurrences);
    for (size_t i = 0; i < row->n; i++) {
        assert_true(i == 0 || row->feature[i] > row->feature[i - 1]);
        tell(told, " %.0f=%a", (double)row->feature[i], row->value[i]);
        tell(told, "(%.0f)%.0f", (double)row->count[i], 0.0);
        squares += row->value[i] * row->value[i];
    }
    tell(told, "\n%.0f%.0f", 0.0, 0.0);
    if (told->whole) {
        check_close(squares, 1.0, 1e-14);
    } else {
        assert_true(squares < 1.0 + 1e-14);
    }
    return PHL_OK;
}

static char *extract(const phl_features *features, phl_source *source, int threads, bool whole)
{
    struct told told = {.whole = whole};
    phl_features_options options;
    phl_features_options_init(&options);
    options.threads = threads;
    options.context = &told;
    must(phl_features_extract(features, source, &options, take, error));
    return told.text;
}

static phl_features *dictionary(const phl_forest *forest, size_t least_trees, int threads)
{
    phl_features *features = NULL;
    phl_features_options options;
    phl_features_options_init(&options);
    options.least_trees = least_trees;
    options.threads = threads;
    must(phl_features_create(forest, &options, &features, error));
    return features;
}

static char *extract_forest(const phl_features *features, const phl_forest *forest, int threads,
                            bool whole)
{
    phl_source *source = NULL;
    must(phl_source_forest(forest, &source, error));
    char *text = extract(features, source, threads, whole);
    phl_source_free(source);
    return text;
}

static void check_equal(char *a, char *b)
{
    assert_string_equal(a, b);
    phl_free(b);
    (void)a;
}

static void test_same(void **state)
{
    (void)state;
    phl_forest *forest = document_forest(1, 200), *other = document_forest(2, 200);
    phl_forest *unshared = unshared_copy(other), *apart = unshared_copy(forest);
    for (size_t least = 1; least <= 3; least++) {
        phl_features *features = dictionary(forest, least, 1);
        phl_features *threaded = dictionary(apart, least, 7);
        assert_int_equal(phl_features_count(features), phl_features_count(threaded));
        char *one = extract_forest(features, other, 1, false);
        check_equal(one, extract_forest(features, other, 5, false));
        check_equal(one, extract_forest(features, unshared, 2, false));
        phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
        options.block_trees = 7;
        char *text = write_text(other, write_options(PHL_FORMAT_BRACKETS));
        phl_source *source = NULL;
        must(phl_source_memory(text, strlen(text), "test", &options, &source, error));
        check_equal(one, extract(features, source, 2, false));
        phl_source_free(source);
        test_free(text);
        phl_free(one);
        phl_free(extract_forest(features, forest, 2, least == 1));
        phl_features_free(features);
        phl_features_free(threaded);
    }
    phl_forest_free(forest);
    phl_forest_free(other);
    phl_forest_free(unshared);
    phl_forest_free(apart);
}

/* A million leaves that are one distinct subtree. */
static void test_large(void **state)
{
    (void)state;
    phl_builder *builder = NULL;
    phl_forest *forest = NULL;
    must(phl_builder_create(NULL, &builder, error));
    must(phl_builder_open(builder, "r", 1, error));
    for (int i = 0; i < 1000; i++) { /* children with the same 1,000 children each */
        must(phl_builder_open(builder, "x", (uint32_t)i + 1, error));
        for (int k = 0; k < 1000; k++) {
            must(phl_builder_open(builder, "y", (uint32_t)k + 1, error));
            must(phl_builder_close(builder, error));
        }
        must(phl_builder_close(builder, error));
    }
    must(phl_builder_close(builder, error));
    must(phl_builder_end_tree(builder, &(phl_tree_info){0}, error));
    must(phl_builder_finish(builder, &forest, error));
    phl_builder_free(builder);
    phl_features *features = dictionary(forest, 1, 1);
    /* S: y, x, r; B: 3 under x, 3 under r; BG: the same; L: 3; P1: 3 */
    assert_int_equal(phl_features_count(features), 3 + 6 + 6 + 3 + 3);
    char *text = extract_forest(features, forest, 1, true);
    assert_non_null(strstr(text, "(1000000)")); /* the leaf y */
    phl_free(text);
    phl_features_free(features);
    phl_forest_free(forest);
}

static void test_refused(void **state)
{
    (void)state;
    phl_forest *forest = trees("(a)\n");
    phl_features *features = NULL;
    phl_features_options options;
    phl_error e = {0};
    char *text = NULL;
    phl_features_options_init(&options);
    options.groups = 0;
    assert_int_equal(phl_features_create(forest, &options, &features, &e), PHL_ERR_ARGUMENT);
    options.groups = PHL_FEATURES_ALL + 1;
    assert_int_equal(phl_features_create(forest, &options, &features, &e), PHL_ERR_ARGUMENT);
    assert_null(features);
    features = dictionary(forest, 1, 1);
    assert_int_equal(phl_features_count(features), 3);
    assert_int_equal(phl_features_group(features, 0), PHL_FEATURE_S);
    assert_int_equal(phl_features_group(features, 3), 0);
    assert_int_equal(phl_features_text(features, 3, &text, &e), PHL_ERR_ARGUMENT);
    assert_null(phl_features_group_name(3));
    phl_features_free(features);
    features = dictionary(forest, 2, 1); /* nothing is left */
    assert_int_equal(phl_features_count(features), 0);
    phl_free(extract_forest(features, forest, 1, false));
    phl_features_free(features);
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
