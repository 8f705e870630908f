/* test_chain_weights.c - what chains count: stacking against a grid, weights of draws, the fact of
 * a run file, and what averages over draws make of it. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "folder.h"
#include "forests.h"
#include "model/chain_weights.h"
#include "task/session.h"
#include "task_models.h"

/* ---- stacking ---- */

static double objective(const double *scores, const double *m, size_t chains, size_t n,
                        const double *weights)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double p = 0.0;
        for (size_t k = 0; k < chains; k++) {
            p += weights[k] * exp(scores[k * n + i]);
        }
        sum += m[i] * log(p);
    }
    for (size_t k = 0; k < chains; k++) {
        sum += log(weights[k]);
    }
    return sum;
}

/* No point of a grid is better than what is found. */
static void test_stacking(void **state)
{
    (void)state;
    enum { CHAINS = 3, N = 40, STEPS = 100 };
    double scores[CHAINS * N], m[N], weights[CHAINS];
    phl_rng rng;
    phl_rng_init(&rng, 7, 1, 2, 3, 4);
    for (size_t round = 0; round < 20; round++) {
        for (size_t i = 0; i < N; i++) {
            m[i] = 1.0 + (double)(i % 3);
            for (size_t k = 0; k < CHAINS; k++) {
                scores[k * N + i] = -3.0 * phl_rng_uniform(&rng) - 0.2 * (double)(k * round);
            }
        }
        must(phl_chain_weights_stack(scores, m, CHAINS, N, weights, error));
        check_close(weights[0] + weights[1] + weights[2], 1.0, 1e-12);
        double found = objective(scores, m, CHAINS, N, weights);
        for (int a = 1; a < STEPS; a++) {
            for (int b = 1; a + b < STEPS; b++) {
                double at[] = {(double)a / STEPS, (double)b / STEPS,
                               (double)(STEPS - a - b) / STEPS};
                assert_true(objective(scores, m, CHAINS, N, at) <= found + 1e-4);
            }
        }
    }
}

/* Equal chains count the same; one that is far below hardly counts; impossible trees do no harm. */
static void test_plain_cases(void **state)
{
    (void)state;
    double m[] = {1.0, 1.0, 98.0}, weights[2];
    double same[] = {-5.0, -6.0, -7.0, -5.0, -6.0, -7.0};
    must(phl_chain_weights_stack(same, m, 2, 3, weights, error));
    check_close(weights[0], 0.5, 1e-12);
    double below[] = {-5.0, -6.0, -7.0, -35.0, -36.0, -37.0};
    must(phl_chain_weights_stack(below, m, 2, 3, weights, error));
    check_close(weights[1], 1.0 / 102.0, 1e-4); /* the prior's one tree of 102 */
    double never[] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    must(phl_chain_weights_stack(never, m, 2, 3, weights, error));
    check_close(weights[0], 0.5, 1e-12);
    double some[] = {-INFINITY, -1.0, -INFINITY, -INFINITY, -INFINITY, -1.0};
    must(phl_chain_weights_stack(some, m, 2, 3, weights, error));
    check_close(weights[1], 99.0 / 101.0, 1e-4);
}

/* ---- draws and facts ---- */

/* A run of tf with two classes; chains 0 and 1 of the first, which keeps 2 and 1 draws. */
static phl_run *weighed_run(void)
{
    static const char *const classes[] = {"left", "right"};
    phl_run *run = empty_run(PHL_TF, 2, 3, 2, classes, 2);
    for (uint64_t d = 0; d < 3; d++) {
        add_random_draw(run, 0, d + 1, ROWS_PLAIN);
        run->models[0].draws[d].chain = d / 2;
    }
    add_random_draw(run, 1, 9, ROWS_PLAIN);
    return run;
}

static void test_facts(void **state)
{
    (void)state;
    phl_run *run = weighed_run();
    phl_model *model = &run->models[0];
    bool good = false;
    must(phl_chain_weights_record(run, error));
    assert_null(phl_run_meta(run, "weights"));
    assert_false(phl_chain_weights_differ(model));
    phl_chain_weights_apply(model, (double[]){0.25, 0.75}, 2);
    check_close(model->draws[0].weight, 0.125, 1e-12);
    check_close(model->draws[1].weight, 0.125, 1e-12);
    check_close(model->draws[2].weight, 0.75, 1e-12);
    must(phl_chain_weights_record(run, error));
    assert_string_equal(phl_run_meta(run, "weights"), "[[0.25,0.75],[]]");
    model->draws[0].weight = model->draws[1].weight = model->draws[2].weight = 0.0;
    must(phl_chain_weights_read(run, &good, error));
    assert_true(good);
    check_close(model->draws[2].weight, 0.75, 1e-12);
    /* What was recorded is, to the bit, what is read. */
    for (int i = 1; i < 100; i++) {
        phl_chain_weights_apply(model, (double[]){i / 301.0, (300 - i) / 307.0}, 2);
        must(phl_chain_weights_record(run, error));
        double kept[] = {model->draws[0].weight, model->draws[1].weight, model->draws[2].weight};
        must(phl_chain_weights_read(run, &good, error));
        for (size_t d = 0; d < 3; d++) {
            assert_true(model->draws[d].weight == kept[d]);
        }
    }
    /* A chain of weight 0 still counts where it alone finds a tree possible. */
    phl_chain_weights_apply(model, (double[]){0.0, 1.0}, 2);
    assert_true(model->draws[0].weight > 0.0 && model->draws[0].weight < 1e-9);
    static const char *const bad[] = {
        "",          "x",          "[]",           "[[0.5,0.5]]", "[1,2]", "[[0.5],{}]",
        "[[-1],[]]", "[[2,0],[]]", "[[\"1\"],[]]", "[[null],[]]", "{}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        must(phl_run_set_meta(run, "weights", bad[i], error));
        must(phl_chain_weights_read(run, &good, error));
        assert_false(good);
    }
    phl_run_free(run);
}

/* ---- averages ---- */

/* Scores and weights of a tree by hand: sum_d w_d p_d. */
static void test_averages(void **state)
{
    (void)state;
    phl_run *run = weighed_run();
    phl_model *model = &run->models[0];
    phl_forest *forest = trees("(a (b) (a))\n(b)\n");
    phl_session *session = NULL;
    phl_chain_weights_apply(model, (double[]){0.2, 0.8}, 2);
    must(phl_session_create(model, forest, 1, phl_session_memory(), &session, error));
    for (size_t tree = 0; tree < 2; tree++) {
        double sum = 0.0, weights[3];
        for (size_t d = 0; d < 3; d++) {
            sum += model->draws[d].weight * exp(phl_session_labels(session, d, tree));
        }
        check_close(phl_session_score(session, tree, false), log(sum), 1e-12);
        assert_true(phl_session_weights(session, tree, weights));
        for (size_t d = 0; d < 3; d++) {
            check_close(weights[d],
                        model->draws[d].weight * exp(phl_session_labels(session, d, tree)) / sum,
                        1e-12);
        }
    }
    phl_session_free(session);
    phl_forest_free(forest);
    phl_run_free(run);
}

/* ---- a training ---- */

/* Chains of a training get weights, the file keeps them, one chain has none. */
static void test_training(void **state)
{
    (void)state;
    for (size_t chains = 1; chains <= 3; chains += 2) {
        phl_forest *forest = symm_forest(SEED, 10);
        phl_train_options options;
        phl_train_options_init(&options);
        options.kind = PHL_TF;
        options.states = 3;
        options.iterations = 12;
        options.keep = 2;
        options.chains = chains;
        phl_run *run = NULL, *again = NULL;
        const char *path = in_folder("weights.run");
        must(phl_train(forest, &options, &run, error));
        must(phl_run_save(run, path, true, error));
        must(phl_run_open(path, &again, error));
        const phl_model *model = phl_run_model(run, 0), *read = phl_run_model(again, 0);
        double sum = 0.0;
        for (size_t d = 0; d < phl_model_draws(model); d++) {
            sum += phl_model_draw(model, d)->weight;
            check_close(phl_model_draw(read, d)->weight, phl_model_draw(model, d)->weight, 1e-12);
        }
        check_close(sum, chains == 1 ? 0.0 : 1.0, 1e-12);
        phl_run_free(run);
        phl_run_free(again);
        phl_forest_free(forest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacking), cmocka_unit_test(test_plain_cases),
        cmocka_unit_test(test_facts),    cmocka_unit_test(test_averages),
        cmocka_unit_test(test_training),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
