/* test_task.c - scoring, decoding and classification against brute force on tiny trees, with
 * several draws per model; which model is for which tree.
 */
#include "check.h"
#include "task/session.h"
#include "task_models.h"

#define CLOSE 1e-11

/* ---- Sessions -------------------------------------------------------------------------------- */

static void check_session(phl_session *session, const phl_run *run, const phl_forest *forest)
{
    const phl_model *model = &run->models[0];
    enum { WIDTH = 4 };
    for (size_t tree = 0; tree < phl_forest_trees(forest); tree++) {
        listed t = list_tree(forest, tree, run);
        double draws = (double)model->n_draws, expected = 0;
        for (size_t d = 0; d < model->n_draws; d++) {
            const phl_params *params = model->draws[d].params;
            expected += brute(params, &t, t.label) * brute_shape(params, &t);
        }
        check_close(exp(phl_session_score(session, tree, false)),
                    brute_draws(model, &t, t.label) / draws, CLOSE);
        check_close(exp(phl_session_score(session, tree, true)), expected / draws, CLOSE);

        double predictive[MOST_NODES * WIDTH], bits[MOST_NODES];
        bool possible = false;
        must(phl_session_predict(session, tree, predictive, &possible, error));
        assert_true(possible);
        must(phl_session_surprise(session, tree, bits, &possible, error));
        assert_true(possible);
        for (size_t u = 0; u < t.n; u++) {
            double rest = with_label(model, t, u, -1);
            for (int x = 0; x < WIDTH; x++) {
                check_close(predictive[u * WIDTH + (size_t)x], with_label(model, t, u, x) / rest,
                            CLOSE);
            }
            double p = t.label[u] < 0 ? 1.0 : with_label(model, t, u, t.label[u]) / rest;
            check_close(1 + bits[u], 1 - log2(p), CLOSE);
        }
    }
}

static void test_session(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t draws = 1; draws <= 3; draws++) {
            phl_run *run = random_run(kinds[k], false, draws, ROWS_PLAIN);
            phl_session *session = NULL;
            must(phl_session_create(&run->models[0], forest, 1, UINT64_MAX, &session, error));
            check_session(session, run, forest);
            phl_session_free(session);
            /* The same when passes do not fit and are run again. */
            must(phl_session_create(&run->models[0], forest, 2, 0, &session, error));
            assert_true(draws == 1 || session->upward[1] == NULL);
            check_session(session, run, forest);
            phl_session_free(session);
            phl_run_free(run);
        }
    }
    phl_forest_free(forest);
}

/* The same through the task: bits and predictives node by node. */
struct scored_nodes {
    const phl_run *run;
    phl_session *session;
    size_t trees;
};

static phl_status check_nodes(const phl_tree_at *at, const phl_tree_score *score, void *context,
                              phl_error *error)
{
    struct scored_nodes *all = context;
    double predictive[MOST_NODES * 4], bits[MOST_NODES];
    bool possible = false;
    assert_int_equal(phl_session_predict(all->session, at->tree, predictive, &possible, error),
                     PHL_OK);
    assert_int_equal(phl_session_surprise(all->session, at->tree, bits, &possible, error), PHL_OK);
    listed t = list_tree(at->block, at->tree, all->run);
    assert_true(at->number == all->trees++ && at->class_index == 0 && score->nodes == t.n);
    assert_true(score->log_likelihood == phl_session_score(all->session, at->tree, true));
    assert_memory_equal(score->predictive, predictive, t.n * 4 * sizeof *predictive);
    for (size_t u = 0; u < t.n; u++) {
        assert_true(t.label[u] < 0 ? isnan(score->bits[u]) : score->bits[u] == bits[u]);
    }
    return PHL_OK;
}

static void test_score_nodes(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    phl_source *source = source_of(forest);
    for (size_t k = 0; k < KINDS; k++) {
        phl_run *run = random_run(kinds[k], false, 2, ROWS_PLAIN);
        struct scored_nodes all = {.run = run};
        must(phl_session_create(&run->models[0], forest, 1, UINT64_MAX, &all.session, error));
        phl_score_options options;
        phl_score_options_init(&options);
        options.structure = options.bits = options.predictive = true;
        options.context = &all;
        must(phl_score(run, source, &options, check_nodes, error));
        assert_true(all.trees == phl_forest_trees(forest));
        phl_session_free(all.session);
        phl_run_free(run);
    }
    phl_source_free(source);
    phl_forest_free(forest);
}

/* ---- Decoding -------------------------------------------------------------------------------- */

/* States of one draw of the only tree. */
static phl_status check_states(const phl_tree_at *at, const phl_decoded_tree *decoded,
                               void *context, phl_error *error)
{
    (void)error;
    const phl_run *run = context;
    const phl_params *params = run->models[0].draws[decoded->draw].params;
    listed t = list_tree(at->block, at->tree, run);
    double total = brute(params, &t, t.label);
    const double *marginals = decoded->marginals, *pairs = decoded->pairs;
    assert_true(decoded->possible);
    if (run->kind != PHL_SP) { /* there the switches are part of the assignment */
        check_close(exp(decoded->log_joint), joint(params, &t, decoded->joint, t.label), CLOSE);
    }
    /* p(Q_0 = q, labels) from all states of the others. */
    double expected[3] = {0};
    for (unsigned code = 0; code < 81; code++) {
        uint32_t q[4] = {code % 3, code / 3 % 3, code / 9 % 3, code / 27};
        expected[q[0]] += joint(params, &t, q, t.label);
    }
    for (size_t q = 0; q < 3; q++) {
        check_close(marginals[q], expected[q] / total, CLOSE);
        check_close(pairs[9 + q * 3] + pairs[9 + q * 3 + 1] + pairs[9 + q * 3 + 2], marginals[q],
                    CLOSE);
        assert_true(pairs[q] == 0 && marginals[q] <= marginals[decoded->best[0]]);
    }
    return PHL_OK;
}

static void test_decode(void **state)
{
    (void)state;
    phl_forest *forest = trees("(a (b) (c (a)))\n");
    phl_source *source = source_of(forest);
    for (size_t k = 0; k < KINDS; k++) {
        phl_run *run = random_run(kinds[k], false, 3, ROWS_PLAIN);
        phl_decode_options options;
        phl_decode_options_init(&options);
        assert_true(options.draw == PHL_DEFAULT && options.marginals && !options.pairs);
        options.pairs = options.joint = true;
        options.context = run;
        for (size_t i = 0; i < 4; i++) {
            options.draw = i < 3 ? i : PHL_DEFAULT;
            must(phl_decode(run, source, &options, check_states, error));
        }
        phl_run_free(run);
    }
    phl_source_free(source);
    phl_forest_free(forest);
}

/* ---- Models and classes ---------------------------------------------------------------------- */

/* What a task was told about each tree. */
struct told {
    size_t n;
    size_t number[32], class_index[32];
    double log_likelihood[32];
};

static phl_status tell_score(const phl_tree_at *at, const phl_tree_score *score, void *context,
                             phl_error *error)
{
    (void)error;
    struct told *told = context;
    told->number[told->n] = at->number;
    told->class_index[told->n] = at->class_index;
    told->log_likelihood[told->n++] = score->log_likelihood;
    return PHL_OK;
}

static phl_status stop_at_two(const phl_tree_at *at, const phl_tree_score *score, void *context,
                              phl_error *error)
{
    (void)tell_score(at, score, context, error);
    return at->number == 1 ? PHL_ERR_LIMIT : PHL_OK;
}

/* The model of a tree's class, of the class named, or every one; in the order of the trees. */
static void test_models(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    phl_source *source = source_of(forest);
    phl_run *run = random_run(PHL_SP, true, 2, ROWS_PLAIN);
    struct told every = {0}, own = {0}, named = {0}, stopped = {0};
    phl_error e = {0};
    phl_score_options options;
    phl_score_options_init(&options);
    options.every_class = true;
    options.context = &every;
    must(phl_score(run, source, &options, tell_score, error));
    assert_true(every.n == 14);
    options.every_class = false;
    options.context = &own;
    /* The last tree is of a class the run does not know: those before it are scored. */
    assert_int_equal(phl_score(run, source, &options, tell_score, &e), PHL_ERR_CLASS);
    assert_string_equal(e.message, "class 'other' was never trained");
    assert_true(own.n == 6 && e.line == 7);
    static const size_t expected[6] = {0, 1, 0, 1, 0, 0};
    for (size_t t = 0; t < 6; t++) {
        assert_true(own.number[t] == t && own.class_index[t] == expected[t]);
        assert_true(own.log_likelihood[t] == every.log_likelihood[2 * t + expected[t]]);
    }
    options.class_name = "right";
    options.context = &named;
    must(phl_score(run, source, &options, tell_score, error));
    assert_true(named.n == 7);
    for (size_t t = 0; t < 7; t++) {
        assert_true(named.class_index[t] == 1);
        assert_true(named.log_likelihood[t] == every.log_likelihood[2 * t + 1]);
    }
    options.context = &stopped; /* a callback that has enough */
    assert_int_equal(phl_score(run, source, &options, stop_at_two, &e), PHL_ERR_LIMIT);
    assert_true(stopped.n == 2);
    options.class_name = "up";
    assert_int_equal(phl_score(run, source, &options, tell_score, &e), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "the run has left, right"));
    phl_source_free(source);
    phl_forest_free(forest);

    forest = trees("left\t(a)\n(b)\n");
    source = source_of(forest);
    own.n = 0;
    options.class_name = NULL;
    options.context = &own;
    assert_int_equal(phl_score(run, source, &options, tell_score, &e), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "the tree has no class"));
    assert_true(own.n == 1);
    phl_source_free(source);
    phl_forest_free(forest);
    phl_run_free(run);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    phl_forest *forest = trees("(a)\n");
    phl_source *source = source_of(forest);
    phl_run *run = random_run(PHL_SP, false, 1, ROWS_PLAIN);
    phl_run *nothing = empty_run(PHL_SP, 2, 2, 2, NULL, 0);
    phl_evaluation *evaluation = NULL;
    phl_error e = {0};
    phl_tree_score scores[1];
    phl_score_options score;
    phl_score_options_init(&score);
    score.context = scores;
    assert_int_equal(phl_score(nothing, source, &score, keep_score, &e), PHL_ERR_ARGUMENT);
    score.bits = true;
    assert_int_equal(phl_score(nothing, source, &score, keep_score, &e), PHL_ERR_ARGUMENT);
    assert_int_equal(phl_decode(nothing, source, NULL, check_states, &e), PHL_ERR_ARGUMENT);
    assert_int_equal(phl_label(nothing, source, NULL, NULL, NULL, &e), PHL_ERR_ARGUMENT);
    assert_int_equal(phl_sample(nothing, source, NULL, keep_forest, &e), PHL_ERR_ARGUMENT);
    assert_int_equal(phl_sample(nothing, NULL, NULL, keep_forest, &e), PHL_ERR_ARGUMENT);
    score.class_name = "left";
    assert_int_equal(phl_score(run, source, &score, keep_score, &e), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "not trained per class"));
    phl_decode_options decode;
    phl_decode_options_init(&decode);
    decode.draw = 1;
    assert_int_equal(phl_decode(run, source, &decode, check_states, &e), PHL_ERR_ARGUMENT);
    assert_int_equal(phl_classify(run, source, NULL, NULL, &evaluation, &e), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "not trained per class"));
    assert_non_null(strstr(e.remedy, "train.per_class"));
    assert_null(evaluation);
    phl_label_options label;
    phl_label_options_init(&label);
    const double bad[] = {-0.1, 1.5, (double)NAN};
    for (size_t i = 0; i < 3; i++) {
        label.hide = bad[i];
        assert_int_equal(phl_label(run, source, &label, NULL, NULL, &e), PHL_ERR_ARGUMENT);
    }
    label.hide = 0;
    label.no_draw = label.fill_drawn = true;
    assert_int_equal(phl_label(run, source, &label, NULL, NULL, &e), PHL_ERR_ARGUMENT);
    phl_run_free(run);
    phl_run_free(nothing);
    phl_source_free(source);
    phl_forest_free(forest);
}

/* ---- Classification and scoring -------------------------------------------------------------- */

static void test_classify(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    phl_source *source = source_of(forest);
    size_t n = phl_forest_trees(forest);
    for (size_t k = 0; k < KINDS; k++) {
        phl_run *run = random_run(kinds[k], true, 1 + k, ROWS_PLAIN);
        for (int variant = 0; variant < 4; variant++) {
            phl_classify_options options;
            phl_classify_options_init(&options);
            assert_true(options.structure && options.prior == PHL_PRIOR_CHOSEN);
            options.structure = variant % 2 == 0;
            options.prior = variant / 2 == 0 ? PHL_PRIOR_UNIFORM : PHL_PRIOR_EMPIRICAL;
            double posterior[32];
            phl_evaluation *e = NULL;
            options.context = posterior;
            must(phl_classify(run, source, &options, keep_posterior, &e, error));
            uint64_t right = 0;
            double loss = 0;
            for (size_t tree = 0; tree < n; tree++) {
                listed t = list_tree(forest, tree, run);
                double p[2] = {0};
                for (size_t m = 0; m < 2; m++) {
                    const phl_model *model = &run->models[m];
                    for (size_t d = 0; d < model->n_draws; d++) {
                        const phl_params *params = model->draws[d].params;
                        p[m] += brute(params, &t, t.label) *
                                (options.structure ? brute_shape(params, &t) : 1.0);
                    }
                    /* Class 1 was trained on twice as many trees as class 0. */
                    p[m] *= options.prior == PHL_PRIOR_EMPIRICAL ? (double)(1 + m) : 1.0;
                }
                check_close(exp(posterior[2 * tree]), p[0] / (p[0] + p[1]), CLOSE);
                check_close(exp(posterior[2 * tree + 1]), p[1] / (p[0] + p[1]), CLOSE);
                size_t truth = phl_run_find_class(
                    run, phl_forest_class_name(forest, phl_tree_class(forest, tree)));
                right += truth == (posterior[2 * tree + 1] > posterior[2 * tree] ? 1u : 0u);
                loss -= truth != SIZE_MAX ? log(p[truth] / (p[0] + p[1])) : 0;
            }
            assert_true(e->n == n && e->unseen == 1 && e->n_names == 3);
            check_close(e->best->accuracy, (double)right / (double)n, CLOSE);
            check_close(e->log_loss, loss / (double)(n - 1), CLOSE);
            assert_null(e->drawn);
            phl_evaluation_free(e);
        }
        phl_run_free(run);
    }
    phl_source_free(source);
    phl_forest_free(forest);
}

static void test_score(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    phl_run *run = random_run(PHL_SP, false, 3, ROWS_PLAIN);
    for (int structure = 0; structure < 2; structure++) {
        phl_tree_score scores[16];
        score_forest(run, forest, structure == 1, scores);
        phl_session *session = NULL;
        must(phl_session_create(&run->models[0], forest, 1, UINT64_MAX, &session, error));
        for (size_t tree = 0; tree < phl_forest_trees(forest); tree++) {
            listed t = list_tree(forest, tree, run);
            uint64_t labels = 0;
            for (size_t u = 0; u < t.n; u++) {
                labels += t.label[u] >= 0;
            }
            assert_true(scores[tree].log_likelihood ==
                        phl_session_score(session, tree, structure == 1));
            assert_true(scores[tree].nodes == t.n && scores[tree].labels == labels);
            if (labels == 0) {
                assert_true(isnan(scores[tree].bits_per_label));
            } else {
                check_close(scores[tree].bits_per_label,
                            -log2(brute_draws(&run->models[0], &t, t.label) / 3) / (double)labels,
                            CLOSE);
            }
        }
        phl_session_free(session);
    }
    phl_run_free(run);
    phl_forest_free(forest);
}

int main(void)
{
    print_message("seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session),       cmocka_unit_test(test_score_nodes),
        cmocka_unit_test(test_decode),        cmocka_unit_test(test_models),
        cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_classify),
        cmocka_unit_test(test_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
