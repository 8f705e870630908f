/* test_limits.c - numbers near the limits of their types, from callers and from data: refused in
 * words, before memory is taken for them. */
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "forests.h"
#include "must.h"

static const char two_classes[] = "a\t(x (y) (z))\nb\t(x (y))\n";

static phl_train_options small(void)
{
    return train_options(PHL_TF, 2, 4);
}

/* Training is refused with this status and these words. */
static void check_refused(const phl_forest *forest, const phl_train_options *options,
                          phl_status status, const char *words)
{
    phl_run *run = NULL;
    phl_error error = {0};
    phl_status found = phl_train(forest, options, &run, &error);
    if (found != status || strstr(error.message, words) == NULL) {
        print_error("%d %s; expected %d, %s\n", found, error.message, status, words);
        fail();
    }
    assert_null(run);
}

static void test_products(void **state)
{
    (void)state;
    assert_true(phl_times(3, 5) == 15);
    assert_true(phl_times(0, SIZE_MAX) == 0 && phl_times(SIZE_MAX, 0) == 0);
    assert_true(phl_times((size_t)1 << 32, (size_t)1 << 32) == SIZE_MAX);
    assert_true(phl_times((size_t)1 << 31, (size_t)1 << 32) == (size_t)1 << 63);
    assert_true(phl_times(SIZE_MAX, 2) == SIZE_MAX);
}

/* Every number of the options that is multiplied with another. */
static void test_options(void **state)
{
    (void)state;
    const size_t large[] = {(size_t)1 << 63, ((size_t)1 << 63) + 1, SIZE_MAX - 1, (size_t)1 << 32,
                            (size_t)1 << 31};
    phl_forest *forest = trees(two_classes);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        for (int per_class = 0; per_class < 2; per_class++) {
            phl_train_options options = small();
            options.per_class = per_class == 1;
            options.chains = large[i];
            check_refused(forest, &options, PHL_ERR_ARGUMENT, "chains must be from 1 to 100000");
            options = small();
            options.keep = large[i];
            check_refused(forest, &options, PHL_ERR_ARGUMENT, "keep from 1 to 1000000");
            options = small();
            options.kind = PHL_SP;
            options.restarts = large[i];
            check_refused(forest, &options, PHL_ERR_ARGUMENT, "restarts must be from 1");
            options = small();
            options.iterations = large[i];
            check_refused(forest, &options, PHL_ERR_ARGUMENT, "iterations from 1 to 1000000000");
            options = small();
            options.states = (uint32_t)-2 - (uint32_t)i; /* -1 is the default */
            check_refused(forest, &options, PHL_ERR_ARGUMENT, "states must be from 1 to 100000");
            options = small();
            options.slots_max = (uint32_t)-2 - (uint32_t)i; /* -1 is the default */
            check_refused(forest, &options, PHL_ERR_ARGUMENT, "at most 64 slots can be active");
        }
    }
    phl_forest_free(forest);
}

/* Draws, chains and classes count together. */
static void test_memory(void **state)
{
    (void)state;
    phl_forest *forest = trees(two_classes);
    phl_train_options options = small();
    phl_run *run = NULL;
    options.memory_limit = 100000;
    must(phl_train(forest, &options, &run, error));
    phl_run_free(run);
    run = NULL;
    options.chains = PHL_MOST_CHAINS;
    check_refused(forest, &options, PHL_ERR_LIMIT, "1 class of 100000 chains with 2 draws each");
    options.chains = 500; /* one class would fit */
    options.memory_limit = 500000;
    must(phl_train(forest, &options, &run, error));
    phl_run_free(run);
    options.per_class = true;
    check_refused(forest, &options, PHL_ERR_LIMIT, "2 classes of 500 chains with 2 draws each");
    options = small();
    options.keep = PHL_MOST_KEPT;
    options.iterations = PHL_MOST_ITERATIONS;
    options.chains = PHL_MOST_CHAINS;
    check_refused(forest, &options, PHL_ERR_LIMIT, "100000 chains with 1000000 draws each");
    options = small();
    options.kind = PHL_SP;
    options.restarts = PHL_MOST_RESTARTS;
    options.memory_limit = (uint64_t)1 << 28;
    check_refused(forest, &options, PHL_ERR_LIMIT, "1000000 restarts with 1 draw each");
    options = small();
    options.kind = PHL_SP;
    options.states = PHL_MOST_STATES;
    options.memory_limit = (uint64_t)1 << 30;
    check_refused(forest, &options, PHL_ERR_LIMIT, "a model of kind sp with 100000 states");
    phl_forest_free(forest);
}

/* A slot of ten million in a few bytes. */
static void test_slots(void **state)
{
    (void)state;
    phl_forest *forest = forest_of(
        PHL_FORMAT_JSON, "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,10000000]}\n");
    const phl_kind kinds[] = {PHL_TF, PHL_SP, PHL_TD};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        phl_train_options options = small();
        options.kind = kinds[i];
        check_refused(forest, &options, PHL_ERR_LIMIT, "there is a slot 10000000");
        options.memory_limit = (uint64_t)1 << 26;
        check_refused(forest, &options, PHL_ERR_LIMIT, "needs");
    }
    phl_train_options options = small();
    options.kind = PHL_FULL;
    check_refused(forest, &options, PHL_ERR_LIMIT, "a model of kind full");
    phl_forest_free(forest);

    /* Gaps as they occur: slots 1 and 1000. */
    forest = forest_of(PHL_FORMAT_JSON,
                       "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"slot\":[1,1000]}\n");
    phl_run *run = NULL;
    options = small();
    must(phl_train(forest, &options, &run, error));
    assert_int_equal(phl_run_slots(run), 1000);
    phl_run_free(run);
    phl_forest_free(forest);
}

static phl_status check_likely(const phl_tree_at *at, const phl_tree_score *score, void *context,
                               phl_error *error)
{
    (void)context;
    (void)error;
    if (at->number == 0) { /* nearly all of the weight */
        assert_true(score->log_likelihood > -1.0 && score->log_likelihood <= 0.0);
    }
    return PHL_OK;
}

/* Weights whose sums are not finite, or leave no room for products. */
static void test_weights(void **state)
{
    (void)state;
    static const char *const texts[] = {
        ("{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"weight\":1e308}\n"
         "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"weight\":1e308}\n"),
        "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"weight\":1.5e308}\n",
        "{\"label\":[\"a\"],\"parent\":[-1],\"weight\":1.1e100}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        phl_forest *forest = forest_of(PHL_FORMAT_JSON, texts[i]);
        phl_train_options options = small();
        options.kind = PHL_SP;
        check_refused(forest, &options, PHL_ERR_LIMIT, "the weights of the trees are too large");
        phl_forest_free(forest);
    }
    phl_forest *forest =
        forest_of(PHL_FORMAT_JSON, "{\"label\":[\"a\",\"b\"],\"parent\":[-1,0],\"weight\":1e99}\n"
                                   "{\"label\":[\"a\",\"c\"],\"parent\":[-1,0],\"weight\":1e90}\n");
    const phl_kind kinds[] = {PHL_SP, PHL_FULL, PHL_TD};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        phl_train_options options = small();
        phl_run *run = NULL;
        phl_source *source = NULL;
        options.kind = kinds[i];
        must(phl_train(forest, &options, &run, error));
        must(phl_source_forest(forest, &source, error));
        must(phl_score(run, source, NULL, check_likely, error));
        phl_source_free(source);
        phl_run_free(run);
    }
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products), cmocka_unit_test(test_options),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_slots),
        cmocka_unit_test(test_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
