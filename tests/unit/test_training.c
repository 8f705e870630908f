/* test_training.c - fits that must come out the same when the question is put differently: order of
 * trees, weights, threads; and fits whose result is known.
 *
 * All random, from SEED; nothing here is statistical, so no false alarms.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/run.h"
#include "model_checks.h"

#define SEED 8128
#define FITTED 1e-10 /* relative, after a training */

struct trained {
    const char *name;
    phl_kind kind;
};
static const struct trained trainable[] = {
    {"sp", PHL_SP}, {"full", PHL_FULL}, {"tf", PHL_TF}, {"td", PHL_TD}};
#define TRAINABLE (sizeof trainable / sizeof trainable[0])

static phl_train_options fit_options(phl_kind kind, uint32_t states, size_t iterations)
{
    phl_train_options options = train_options(kind, states, iterations);
    options.learner = PHL_LEARNER_EM;
    options.tolerance = 0;
    return options;
}

/* Train; tf gets the partitions of `like`. */
static phl_run *train(const phl_forest *forest, phl_train_options options, const phl_params *like)
{
    phl_run *run = NULL;
    char *partition = options.kind == PHL_TF ? partition_json(like) : NULL;
    options.partition = partition;
    must(phl_train(forest, &options, &run, error));
    phl_free(partition);
    return run;
}

static phl_params *random_partitions(phl_rng *rng, uint32_t states, uint32_t slots)
{
    return random_params(rng, PHL_TF, false, states, slots, 2, 3, ROWS_PLAIN);
}

static void check_same_fit(const phl_run *actual, const phl_run *expected)
{
    assert_true(actual->n_models == expected->n_models && actual->n_trace == expected->n_trace);
    for (size_t i = 0; i < expected->n_trace; i++) {
        check_close(actual->trace[i].log_joint, expected->trace[i].log_joint, FITTED);
        check_close(actual->trace[i].log_likelihood, expected->trace[i].log_likelihood, FITTED);
    }
    for (size_t m = 0; m < expected->n_models; m++) {
        const phl_draw *a = &actual->models[m].draws[0];
        const phl_draw *e = &expected->models[m].draws[0];
        check_close(a->log_joint, e->log_joint, FITTED);
        check_tables(a->params, e->params, 1e-7, 1e-10);
    }
}

/* Trees in another order: the same fit.  The best objective is compared at 1e-10, parameters, which
 * rounding may move further where the objective is flat, at 1e-7. */
static void test_order_of_trees(void **state)
{
    (void)state;
    for (size_t k = 0; k < TRAINABLE; k++) {
        for (uint64_t i = 0; i < 10; i++) {
            phl_rng rng;
            phl_rng_init(&rng, SEED, 6, k, 0, i);
            uint32_t slots = 1 + random_below(&rng, 3);
            uint32_t c = 1 + random_below(&rng, 4);
            phl_forest *forest = random_forest(&rng, 40, 10, slots, 3, NULL, 1);
            phl_params *like = random_partitions(&rng, c, slots);
            size_t order[40];
            for (size_t t = 0; t < 40; t++) {
                order[t] = (t * 17 + 5) % 40;
            }
            phl_forest *other = NULL;
            must(phl_forest_select(forest, order, 40, &other, error));
            phl_train_options options = fit_options(trainable[k].kind, c, 20);
            options.seed = i;
            options.per_class = i % 2 == 1;
            phl_run *expected = train(forest, options, like);
            phl_run *actual = train(other, options, like);
            check_same_fit(actual, expected);
            phl_run_free(expected);
            phl_run_free(actual);
            phl_params_free(like);
            phl_forest_free(other);
            phl_forest_free(forest);
        }
    }
}

/* Every tree twice with half its weight: the same fit. */
static void test_doubled_data_with_half_weights(void **state)
{
    (void)state;
    for (size_t k = 0; k < TRAINABLE; k++) {
        for (uint64_t i = 0; i < 10; i++) {
            phl_rng rng;
            phl_rng_init(&rng, SEED, 7, k, 0, i);
            uint32_t slots = 1 + random_below(&rng, 3);
            uint32_t c = 1 + random_below(&rng, 4);
            double weights[30];
            for (size_t t = 0; t < 30; t++) {
                weights[t] = 0.1 + 3 * phl_rng_uniform(&rng);
            }
            phl_params *like = random_partitions(&rng, c, slots);
            phl_rng copy = rng;
            phl_forest *once = random_forest(&rng, 30, 10, slots, 3, weights, 1);
            phl_forest *twice = random_forest(&copy, 30, 10, slots, 3, weights, 2);
            assert_true(phl_forest_trees(twice) == 2 * phl_forest_trees(once));
            phl_train_options options = fit_options(trainable[k].kind, c, 20);
            options.smoothing = i % 2 == 0 ? 0.01 : 0;
            phl_run *expected = train(once, options, like);
            phl_run *actual = train(twice, options, like);
            check_same_fit(actual, expected);
            phl_run_free(expected);
            phl_run_free(actual);
            phl_params_free(like);
            phl_forest_free(once);
            phl_forest_free(twice);
        }
    }
}

/* tf with identity partitions, trained, is full, trained: they have the same tables and start
 * alike. */
static void test_identity_partitions_train_as_full(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, 8, 0, 0, i);
        uint32_t slots = 1 + random_below(&rng, 3);
        uint32_t c = 1 + random_below(&rng, 4);
        phl_forest *forest = random_forest(&rng, 40, 10, slots, 3, NULL, 1);
        phl_params *like = identity_tf(c, slots, 3);
        phl_run *full = train(forest, fit_options(PHL_FULL, c, 20), like);
        phl_run *tf = train(forest, fit_options(PHL_TF, c, 20), like);
        check_same_fit(tf, full);
        phl_run_free(full);
        phl_run_free(tf);
        phl_params_free(like);
        phl_forest_free(forest);
    }
}

/* One state: labels are independent, so their frequencies are known at once. */
static void test_one_state_is_multinomial(void **state)
{
    (void)state;
    enum { LABELS = 4 };
    for (size_t k = 0; k < TRAINABLE; k++) {
        for (uint64_t i = 0; i < 10; i++) {
            phl_rng rng;
            phl_rng_init(&rng, SEED, 9, k, 0, i);
            double weights[25];
            for (size_t t = 0; t < 25; t++) {
                weights[t] = 0.1 + 3 * phl_rng_uniform(&rng);
            }
            uint32_t slots = 1 + random_below(&rng, 3);
            phl_forest *forest = random_forest(&rng, 25, 10, slots, LABELS, weights, 1);
            phl_params *like = random_partitions(&rng, 1, slots);
            double s = i % 2 == 0 ? 0.25 : 0;
            phl_train_options options = fit_options(trainable[k].kind, 1, 5);
            options.smoothing = s;
            phl_run *run = train(forest, options, like);
            const phl_draw *draw = &run->models[0].draws[0];

            double n[LABELS] = {0};
            double total = 0;
            phl_walk *walk = NULL;
            must(phl_walk_create(forest, &walk, error));
            for (size_t t = 0; t < phl_forest_trees(forest); t++) {
                phl_visit visit;
                phl_error problem;
                phl_walk_start(walk, t);
                while (phl_walk_next(walk, &visit, &problem) == 1) {
                    if (visit.label != PHL_UNKNOWN) {
                        n[visit.label] += weights[t];
                        total += weights[t];
                    }
                }
            }
            phl_walk_free(walk);
            size_t labels = phl_forest_labels(forest);
            double log_likelihood = 0;
            for (size_t d = 0; d <= labels; d++) {
                double seen = d < labels ? n[d] : 0;
                double b = (seen + s) / (total + s * (double)(labels + 1));
                check_near(draw->params->emission[d], b, EXACT, 0);
                log_likelihood += seen > 0 ? seen * log(b) : 0;
            }
            check_close(draw->log_likelihood, log_likelihood, EXACT);
            phl_run_free(run);
            phl_params_free(like);
            phl_forest_free(forest);
        }
    }
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void check_same_bytes(const phl_run *actual, const phl_run *expected)
{
    assert_true(actual->n_models == expected->n_models && actual->n_trace == expected->n_trace);
    for (size_t i = 0; i < expected->n_trace; i++) {
        const phl_trace_row *a = &actual->trace[i];
        const phl_trace_row *e = &expected->trace[i];
        assert_true(a->class_index == e->class_index && a->chain == e->chain);
        assert_true(a->iteration == e->iteration);
        assert_memory_equal(&a->log_joint, &e->log_joint, sizeof a->log_joint);
        assert_memory_equal(&a->log_likelihood, &e->log_likelihood, sizeof a->log_likelihood);
    }
    for (size_t m = 0; m < expected->n_models; m++) {
        const phl_draw *a = &actual->models[m].draws[0];
        const phl_draw *e = &expected->models[m].draws[0];
        assert_true(a->chain == e->chain && a->iteration == e->iteration);
        assert_int_equal(actual->models[m].stop_reason, expected->models[m].stop_reason);
        phl_table from;
        phl_table to;
        for (size_t t = 0; phl_params_table(e->params, t, &from); t++) {
            assert_true(phl_params_table(a->params, t, &to));
            /* Rows and columns together fill the table without gaps. */
            assert_memory_equal(to.data, from.data, from.rows * from.columns * sizeof(double));
        }
    }
}

static void test_same_bytes_for_any_threads(void **state)
{
    (void)state;
    static const int threads[] = {2, 3, 4, 8, 0};
    phl_forest *documents = document_forest(SEED, 40);
    phl_forest *symm = symm_forest(SEED, 100);
    for (size_t k = 0; k < TRAINABLE; k++) {
        for (int variant = 0; variant < 3; variant++) {
            const phl_forest *forest = trainable[k].kind == PHL_FULL ? symm : documents;
            phl_rng rng;
            phl_rng_init(&rng, SEED, 10, k, 0, (uint64_t)variant);
            phl_params *like = random_partitions(&rng, 4, phl_forest_max_slot(forest));
            phl_train_options options = fit_options(trainable[k].kind, 4, 5);
            options.per_class = variant == 1;
            options.restarts = variant == 2 ? 3 : 1;
            phl_run *expected = train(forest, options, like);
            for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
                options.threads = threads[t];
                phl_run *actual = train(forest, options, like);
                check_same_bytes(actual, expected);
                phl_run_free(actual);
            }
            phl_run_free(expected);
            phl_params_free(like);
        }
    }
    phl_forest_free(documents);
    phl_forest_free(symm);
}

/* The upward pass alone, on levels wide enough to be divided. */
static void test_same_messages_for_any_threads(void **state)
{
    (void)state;
    static const int threads[] = {2, 3, 4, 8, 0};
    phl_forest *shared = document_forest(SEED + 1, 60);
    phl_forest *forest = unshared_copy(shared);
    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].kind == PHL_FULL) {
            continue;
        }
        phl_rng rng;
        phl_rng_init(&rng, SEED, 11, k, 0, 0);
        phl_params *params =
            random_params(&rng, kinds[k].kind, kinds[k].soft, 5, phl_forest_max_slot(forest),
                          (uint32_t)phl_forest_labels(forest), 3, ROWS_PLAIN);
        prepared expected = prepare(forest, &forest->labels, params, 1);
        phl_params *expected_counts = count(&expected);
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            prepared actual = prepare(forest, &forest->labels, params, threads[t]);
            size_t n = phl_forest_subtrees(forest);
            assert_memory_equal(actual.upward->beta, expected.upward->beta, n * 5 * sizeof(double));
            assert_memory_equal(actual.upward->log_likelihood, expected.upward->log_likelihood,
                                n * sizeof(double));
            phl_params *counts = NULL;
            must(phl_params_clone_empty(params, &counts, error));
            must(phl_expected_counts(actual.upward, NULL, threads[t], counts, error));
            must(phl_shape_counts(forest, NULL, counts, error));
            check_tables(counts, expected_counts, 0, 0);
            phl_params_free(counts);
            unprepare(&actual);
        }
        phl_params_free(expected_counts);
        unprepare(&expected);
        phl_params_free(params);
    }
    phl_forest_free(shared);
    phl_forest_free(forest);
}

/* Draws of tf in which a slot is active. */
static size_t draws_with_slot(const phl_forest *forest, double support, uint32_t slot)
{
    phl_error error;
    phl_run *run = NULL;
    phl_train_options options = train_options(PHL_TF, 3, 40);
    options.chains = 2;
    options.slot_support = support;
    assert_int_equal(phl_train(forest, &options, &run, &error), PHL_OK);
    const phl_model *model = phl_run_model(run, 0);
    size_t active = 0;
    for (size_t draw = 0; draw < phl_model_draws(model); draw++) {
        active += phl_model_slot_size(model, draw, slot) > 1;
    }
    phl_run_free(run);
    return active;
}

/* Slot 2 decides the label of the root, but is filled in 40 of 400 nodes: it is used when that is
 * support enough, and never when it is not. */
static void test_slots_below_the_support_stay_inactive(void **state)
{
    (void)state;
    char text[16384];
    size_t used = 0;
    for (int tree = 0; tree < 400; tree++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n",
                                 tree % 10 == 0 ? "(b (x) (y))" : "(a (x))");
    }
    phl_forest *forest = NULL;
    phl_error error;
    assert_int_equal(phl_forest_read_memory(text, used, "test", NULL, &forest, NULL, &error),
                     PHL_OK);
    assert_true(draws_with_slot(forest, 0.05, 2) > 0);
    assert_int_equal(draws_with_slot(forest, 0.2, 2), 0);
    phl_forest_free(forest);
}

int main(void)
{
    print_message("seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_trees),
        cmocka_unit_test(test_doubled_data_with_half_weights),
        cmocka_unit_test(test_identity_partitions_train_as_full),
        cmocka_unit_test(test_one_state_is_multinomial),
        cmocka_unit_test(test_same_bytes_for_any_threads),
        cmocka_unit_test(test_same_messages_for_any_threads),
        cmocka_unit_test(test_slots_below_the_support_stay_inactive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
