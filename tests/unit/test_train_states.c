/* test_train_states.c - the number of states chosen by trees held out: the figures against the
 * same done by hand through public calls, what is chosen where the need is known, threads, what is
 * refused, and the fact of a run.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "model/states_choice.h"
#include "runs.h"

/* ---- trees ---- */

/* Trees (Xi (xi)) with one of `kinds` letters each: good models need a state for every letter. With
 * classes every third is a "b", which has a weight of 2. */
static phl_forest *letters(unsigned kinds, size_t n, bool classes)
{
    phl_text text = {0};
    phl_rng rng;
    phl_rng_init(&rng, SEED, 1, 2, 3, 4);
    for (size_t i = 0; i < n; i++) {
        const char *of_class = !classes     ? ""
                               : i % 3 == 2 ? "\"class\":\"b\",\"weight\":2,"
                                            : "\"class\":\"a\",";
        unsigned kind = (unsigned)phl_rng_bounded(&rng, kinds);
        must(phl_text_append_format(&text, error,
                                    "{%s\"label\":[\"X%u\",\"x%u\"],\"parent\":[-1,0]}\n", of_class,
                                    kind, kind));
    }
    phl_read_options options = read_options(PHL_FORMAT_JSON);
    phl_forest *forest = read_text(&options, text.bytes, text.length);
    phl_text_clear(&text);
    return forest;
}

static phl_train_options auto_options(size_t iterations, size_t chains, uint32_t most)
{
    phl_train_options options = train_options(PHL_TF, (uint32_t)PHL_DEFAULT, iterations);
    options.chains = chains;
    options.states_auto = true;
    options.states_max = most;
    return options;
}

static phl_run *train(const phl_forest *forest, const phl_train_options *options)
{
    phl_run *run = NULL;
    must(phl_train(forest, options, &run, error));
    return run;
}

static phl_states_choice choice_of(const phl_run *run)
{
    phl_states_choice choice;
    assert_true(phl_states_choice_read(run, &choice));
    assert_int_equal(phl_run_states(run), phl_states_choice_best(&choice));
    return choice;
}

/* ---- the figures ---- */

/* Sums over trees held out. */
struct held {
    const phl_forest *forest;
    double sum, nodes;
};

static phl_status add_score(const phl_tree_at *at, const phl_tree_score *score, void *context,
                            phl_error *error)
{
    (void)error;
    struct held *held = context;
    double weight = phl_tree_weight(held->forest, at->tree);
    held->sum += weight * score->log_likelihood;
    held->nodes += weight * (double)score->nodes;
    return PHL_OK;
}

/* Every tenth tree of a class is held out; a model with so many states is trained on the rest. */
static double by_hand(const phl_forest *forest, phl_train_options options, uint32_t states)
{
    enum { MOST = 200 };
    size_t rest[MOST], out[MOST], n_rest = 0, n_out = 0, seen[2] = {0, 0};
    for (size_t t = 0; t < phl_forest_trees(forest); t++) {
        bool second = options.per_class && phl_tree_class(forest, t) == 1;
        if (++seen[second] % 10 == 0) {
            out[n_out++] = t;
        } else {
            rest[n_rest++] = t;
        }
    }
    phl_forest *kept = NULL, *left_out = NULL;
    must(phl_forest_select(forest, rest, n_rest, &kept, error));
    must(phl_forest_select(forest, out, n_out, &left_out, error));
    options.states_auto = false;
    options.states = states;
    phl_run *run = train(kept, &options);
    struct held held = {.forest = left_out};
    phl_source *source = NULL;
    phl_score_options how;
    phl_score_options_init(&how);
    how.context = &held;
    must(phl_source_forest(left_out, &source, error));
    must(phl_score(run, source, &how, add_score, error));
    phl_source_free(source);
    phl_run_free(run);
    phl_forest_free(kept);
    phl_forest_free(left_out);
    return held.sum / held.nodes;
}

/* One chain, so that weights of chains play no role; with and without classes, and by EM. */
static void test_figures(void **state)
{
    (void)state;
    phl_forest *forest = letters(4, 90, true);
    for (int round = 0; round < 3; round++) {
        phl_train_options options = auto_options(20, 1, 12);
        options.per_class = round > 0;
        options.kind = round == 2 ? PHL_TD : PHL_TF;
        phl_run *run = train(forest, &options);
        phl_states_choice choice = choice_of(run);
        assert_int_equal(choice.trees, 9);
        static const uint32_t expected[] = {5, 10, 12};
        assert_in_range(choice.n, 2, 3);
        for (size_t i = 0; i < choice.n; i++) {
            assert_int_equal(choice.tried[i].states, expected[i]);
            check_close(choice.tried[i].nats, by_hand(forest, options, expected[i]), 1e-12);
        }
        /* On all trees, as if the number had been given. */
        options.states_auto = false;
        options.states = phl_run_states(run);
        phl_run *plain = train(forest, &options);
        must(phl_run_set_meta(plain, PHL_KEY_STATES_TRIED, phl_run_meta(run, PHL_KEY_STATES_TRIED),
                              error));
        for (size_t i = 0; i < plain->n_trace; i++) { /* but for the time it took */
            plain->trace[i].seconds = run->trace[i].seconds;
        }
        const char *what = difference(run, plain);
        assert_true(what == NULL);
        phl_run_free(plain);
        phl_run_free(run);
    }
    phl_forest_free(forest);
}

/* ---- the choice ---- */

/* Two letters need few states, twelve need many. */
static void test_need(void **state)
{
    (void)state;
    static const struct {
        unsigned kinds;
        uint32_t least, most;
    } needs[] = {{2, 5, 5}, {12, 20, 40}};
    for (size_t i = 0; i < 2; i++) {
        phl_forest *forest = letters(needs[i].kinds, 400, false);
        phl_train_options options = auto_options(100, 2, 40);
        phl_run *run = train(forest, &options);
        (void)choice_of(run);
        assert_in_range(phl_run_states(run), needs[i].least, needs[i].most);
        phl_run_free(run);
        phl_forest_free(forest);
    }
}

/* The choice and the run are the same for any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    phl_forest *forest = letters(6, 120, true);
    phl_train_options options = auto_options(12, 3, 11);
    options.per_class = true;
    phl_run *one = train(forest, &options);
    options.threads = 3;
    phl_run *three = train(forest, &options);
    assert_string_equal(phl_run_meta(one, PHL_KEY_STATES_TRIED),
                        phl_run_meta(three, PHL_KEY_STATES_TRIED));
    for (size_t i = 0; i < one->n_trace; i++) {
        one->trace[i].seconds = three->trace[i].seconds;
    }
    assert_true(difference(one, three) == NULL);
    phl_run_free(one);
    phl_run_free(three);
    phl_forest_free(forest);
}

/* Few trees: every second one is held out; of a class with a single tree none is. */
static void test_few_trees(void **state)
{
    (void)state;
    phl_forest *forest = trees("a\t(p (q))\na\t(p (q))\nb\t(q (p))\n");
    phl_train_options options = auto_options(6, 1, 3);
    options.per_class = true;
    phl_run *run = train(forest, &options);
    phl_states_choice choice = choice_of(run);
    assert_int_equal(choice.trees, 1);
    assert_int_equal(choice.n, 1);
    assert_int_equal(choice.tried[0].states, 3);
    assert_int_equal(phl_run_classes(run), 2);
    phl_run_free(run);
    phl_forest_free(forest);
}

/* ---- what is refused ---- */

static bool always(void *context)
{
    (void)context;
    return true;
}

static void check_refused(const phl_forest *forest, const phl_train_options *options,
                          phl_status expected, const char *words)
{
    phl_run *run = NULL;
    phl_error error = {0};
    assert_int_equal(phl_train(forest, options, &run, &error), expected);
    assert_non_null(strstr(error.message, words));
    assert_null(run);
}

static void test_refused(void **state)
{
    (void)state;
    phl_forest *forest = letters(2, 20, true), *single = trees("a\t(p)\nb\t(q)\n");
    phl_train_options options = auto_options(4, 1, 3), other = options;
    static const uint32_t sizes[] = {2};
    static const char *const classes[] = {"a"};
    other.kind = PHL_GRAMMAR;
    check_refused(forest, &other, PHL_ERR_ARGUMENT, "finds the number of annotations");
    other = options;
    other.partition = "[{\"slot\":1,\"blocks\":[0,1,1,0]}]";
    check_refused(forest, &other, PHL_ERR_ARGUMENT, "certain number of states");
    other = options;
    other.sizes = sizes;
    other.n_sizes = 1;
    check_refused(forest, &other, PHL_ERR_ARGUMENT, "certain number of states");
    other = options;
    other.piece = 1;
    other.pieces = 2;
    check_refused(forest, &other, PHL_ERR_ARGUMENT, "a piece of a training");
    other = options;
    other.piece_classes = classes;
    other.n_piece_classes = 1;
    other.per_class = true;
    check_refused(forest, &other, PHL_ERR_ARGUMENT, "a piece of a training");
    other = options;
    other.states_max = 0;
    check_refused(forest, &other, PHL_ERR_ARGUMENT, "must be from 1");
    other = options;
    other.per_class = true;
    check_refused(single, &other, PHL_ERR_EMPTY, "too few trees");
    other = options;
    other.cancel = always;
    check_refused(forest, &other, PHL_ERR_CANCELLED, "being chosen");

    phl_evaluate_options evaluate;
    phl_cross_validation *result = NULL;
    phl_error error = {0};
    phl_evaluate_options_init(&evaluate);
    evaluate.train = &options;
    evaluate.n_folds = 2;
    assert_int_equal(phl_cross_validate(forest, &evaluate, &result, &error), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "compares numbers of states"));
    phl_forest_free(forest);
    phl_forest_free(single);
}

/* Numbers of states that take too much memory end the search; the first one does not. */
static void test_memory(void **state)
{
    (void)state;
    phl_forest *forest = letters(3, 60, false);
    phl_train_options options = auto_options(4, 1, 100000);
    options.kind = PHL_TD;
    options.memory_limit = 20000;
    phl_run *run = train(forest, &options);
    assert_true(choice_of(run).n < 8);
    phl_run_free(run);
    options.memory_limit = 100;
    check_refused(forest, &options, PHL_ERR_LIMIT, "limit is");
    phl_forest_free(forest);
}

/* ---- the fact of a run ---- */

static void test_fact(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",         "x",       "3",        "3 5",        "3 5 x",
        "0 5 -1",   "3 0 -1",  "3 5.5 -1", "3 5 inf",    "3 5 -1 10",
        "3 5 -1 x", "-3 5 -1", "3 5 -1 ;", "3 1e9 -1.5", "3 5 -1 10 nan"};
    phl_run *run = random_run(&shapes[A_TF], SEED, false);
    phl_states_choice choice;
    char *text = NULL;
    size_t size = 0;
    assert_false(phl_states_choice_read(run, &choice));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        must(phl_run_set_meta(run, PHL_KEY_STATES_TRIED, bad[i], error));
        assert_false(phl_states_choice_read(run, &choice));
        must(phl_run_json(run, &text, &size, error));
        assert_null(strstr(text, "states_tried"));
        phl_free(text);
    }
    phl_text many = {0};
    must(phl_text_append_string(&many, "3", error));
    for (int i = 0; i <= PHL_MOST_STATES_TRIED; i++) {
        must(phl_text_append_string(&many, " 5 -1", error));
    }
    must(phl_text_append(&many, "", 1, error));
    must(phl_run_set_meta(run, PHL_KEY_STATES_TRIED, many.bytes, error));
    assert_false(phl_states_choice_read(run, &choice));
    phl_text_clear(&many);
    must(phl_run_set_meta(run, PHL_KEY_STATES_TRIED, "41 5 -1.5 10 -1.25 20 -1.25", error));
    assert_true(phl_states_choice_read(run, &choice));
    assert_int_equal(phl_states_choice_best(&choice), 10); /* the least of equals */
    must(phl_run_json(run, &text, &size, error));
    assert_non_null(strstr(text, "\"states_tried\":{\"trees\":41,\"tried\":["
                                 "{\"states\":5,\"log_likelihood_per_node\":-1.5},"
                                 "{\"states\":10,\"log_likelihood_per_node\":-1.25},"
                                 "{\"states\":20,\"log_likelihood_per_node\":-1.25}]}"));
    phl_free(text);
    phl_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures), cmocka_unit_test(test_need),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_few_trees),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_fact),
    };
    return cmocka_run_group_tests_name("train_states", tests, NULL, NULL);
}
