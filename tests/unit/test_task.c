/* test_task.c - sessions, classification, scoring, labelling and sampling against brute force on
 * tiny trees, with several draws a model; zero probabilities; the same results for any number of
 * threads.
 *
 * Statistical checks compare frequencies with exact probabilities; each states how many there are.
 * A frequency fails at 6 standard deviations: a false alarm with probability 2e-9 each, for a fresh
 * seed.
 */
#include "check.h"
#include "task/copies.h"
#include "task/session.h"
#include "task_models.h"

#define SEED 20260
#define CLOSE 1e-11

static const phl_kind kinds[] = {PHL_SP, PHL_FULL, PHL_TF, PHL_TD};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const char *const two_classes[] = {"left", "right"};

/* Gaps, unknown labels, a label nobody knows (z), single nodes, repeated trees. */
static const char *const tiny = "left\t(a (b) (c))\n"
                                "right\t(a _ (b (c) (?)))\n"
                                "left\t(?)\n"
                                "right\t(b)\n"
                                "left\t(z (a (b)) (? _ (c)))\n"
                                "left\t(a (b) (c))\n"
                                "other\t(c (c (c)))\n";

static phl_run *random_run(phl_kind kind, bool per_class, size_t draws, row_style style)
{
    phl_run *run = empty_run(kind, 3, 2, 3, two_classes, per_class ? 2 : 0);
    for (size_t m = 0; m < run->n_models; m++) {
        for (size_t d = 0; d < draws; d++) {
            add_random_draw(run, m, SEED + (uint64_t)kind, style);
        }
    }
    return run;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

/* Sum over draws of p_d(labels) with node u set to `label`. */
static double with_label(const phl_model *model, listed t, size_t u, int label)
{
    t.label[u] = label;
    return brute_draws(model, &t, t.label);
}

static void check_session(phl_session *session, const phl_run *run, const phl_forest *forest)
{
    const phl_model *model = &run->models[0];
    enum { WIDTH = 4 };
    for (size_t tree = 0; tree < phl_forest_trees(forest); tree++) {
        listed t = list_tree(forest, tree, run);
        double draws = (double)model->n_draws, score = 0, both = 0, expected = 0;
        for (size_t d = 0; d < model->n_draws; d++) {
            const phl_params *params = model->draws[d].params;
            expected += brute(params, &t, t.label) * brute_shape(params, &t);
        }
        must(phl_session_score(session, tree, false, &score, error));
        must(phl_session_score(session, tree, true, &both, error));
        check_close(exp(score), brute_draws(model, &t, t.label) / draws, CLOSE);
        check_close(exp(both), expected / draws, CLOSE);

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
            must(phl_session_create(&run->models[0], forest, 1, &session, error));
            check_session(session, run, forest);
            phl_session_free(session);
            /* The same when passes do not fit and are run again. */
            must(phl_session_create_within(&run->models[0], forest, 2, 0, &session, error));
            assert_true(draws == 1 || session->upward[1] == NULL);
            check_session(session, run, forest);
            phl_session_free(session);
            phl_run_free(run);
        }
    }
    phl_forest_free(forest);
}

/* States of each draw: decoding a draw after another one gives that draw's own answer. */
static void test_session_states(void **state)
{
    (void)state;
    phl_forest *forest = trees("(a (b) (c (a)))\n");
    for (size_t k = 0; k < KINDS; k++) {
        phl_run *run = random_run(kinds[k], false, 3, ROWS_PLAIN);
        listed t = list_tree(forest, 0, run);
        for (uint64_t memory = 0; memory < 2; memory++) {
            phl_session *session = NULL;
            must(phl_session_create_within(&run->models[0], forest, 1, memory << 40, &session,
                                           error));
            for (size_t i = 0; i < 6; i++) {
                size_t d = i * 2 % 3;
                const phl_params *params = run->models[0].draws[d].params;
                double total = brute(params, &t, t.label), log_joint = 0;
                double marginals[MOST_NODES * 3], pairs[MOST_NODES * 9];
                uint32_t states[MOST_NODES];
                bool possible = false;
                must(phl_session_decode(session, d, 0, states, &log_joint, &possible, error));
                assert_true(possible);
                if (kinds[k] != PHL_SP) { /* there the switches are part of the assignment */
                    check_close(exp(log_joint), joint(params, &t, states, t.label), CLOSE);
                }
                must(phl_session_marginals(session, d, 0, marginals, &possible, error));
                must(phl_session_pairs(session, d, 0, pairs, &possible, error));
                /* p(Q_0 = q, labels) from all states of the others. */
                double expected[3] = {0};
                for (unsigned code = 0; code < 81; code++) {
                    uint32_t q[4] = {code % 3, code / 3 % 3, code / 9 % 3, code / 27};
                    expected[q[0]] += joint(params, &t, q, t.label);
                }
                for (size_t q = 0; q < 3; q++) {
                    check_close(marginals[q], expected[q] / total, CLOSE);
                    check_close(pairs[9 + q * 3] + pairs[9 + q * 3 + 1] + pairs[9 + q * 3 + 2],
                                marginals[q], CLOSE);
                }
            }
            phl_session_free(session);
        }
        phl_run_free(run);
    }
    phl_forest_free(forest);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    phl_forest *forest = trees("(a)\n");
    phl_run *run = random_run(PHL_SP, false, 1, ROWS_PLAIN);
    phl_run *nothing = empty_run(PHL_SP, 2, 2, 2, NULL, 0);
    phl_session *session = NULL;
    phl_error e = {0};
    double values[16];
    bool possible;
    assert_int_equal(phl_session_create(&nothing->models[0], forest, 1, &session, &e),
                     PHL_ERR_ARGUMENT);
    must(phl_session_create(&run->models[0], forest, 1, &session, error));
    assert_int_equal(phl_session_score(session, 1, false, values, &e), PHL_ERR_ARGUMENT);
    assert_int_equal(phl_session_marginals(session, 1, 0, values, &possible, &e), PHL_ERR_ARGUMENT);
    phl_session_free(session);
    assert_int_equal(phl_classify(run, forest, NULL, values, &e), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "not trained per class"));
    assert_non_null(strstr(e.remedy, "train.per_class"));
    phl_label_options label;
    phl_label_options_init(&label);
    const double bad[] = {-0.1, 1.5, (double)NAN};
    for (size_t i = 0; i < 3; i++) {
        label.hide = bad[i];
        assert_int_equal(phl_label(&run->models[0], forest, &label, NULL, NULL, &e),
                         PHL_ERR_ARGUMENT);
    }
    phl_run_free(run);
    phl_run_free(nothing);
    phl_forest_free(forest);
}

/* ---- Classification and scoring -------------------------------------------------------------- */

static void test_classify(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    size_t n = phl_forest_trees(forest);
    for (size_t k = 0; k < KINDS; k++) {
        phl_run *run = random_run(kinds[k], true, 1 + k, ROWS_PLAIN);
        for (int variant = 0; variant < 4; variant++) {
            phl_classify_options options;
            phl_classify_options_init(&options);
            assert_true(options.structure && options.prior == PHL_PRIOR_UNIFORM);
            options.structure = variant % 2 == 0;
            options.prior = variant / 2 == 0 ? PHL_PRIOR_UNIFORM : PHL_PRIOR_EMPIRICAL;
            double posterior[32];
            must(phl_classify(run, forest, &options, posterior, error));
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
                int truth = phl_run_find_class(
                    run, phl_forest_class_name(forest, phl_tree_class(forest, tree)));
                right += truth == (int)phl_classify_best(posterior + 2 * tree, 2);
                loss -= truth >= 0 ? log(p[truth] / (p[0] + p[1])) : 0;
            }
            phl_evaluation e = {0};
            must(phl_classify_evaluate(run, forest, posterior, &e, error));
            assert_true(e.n == n && e.unseen == 1 && e.n_names == 3);
            check_close(e.accuracy, (double)right / (double)n, CLOSE);
            check_close(e.log_loss, loss / (double)(n - 1), CLOSE);
            assert_true(isnan(e.accuracy_drawn));
            phl_evaluation_clear(&e);
        }
        phl_run_free(run);
    }
    phl_forest_free(forest);
}

static void test_score(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    phl_run *run = random_run(PHL_SP, false, 3, ROWS_PLAIN);
    for (int structure = 0; structure < 2; structure++) {
        phl_score_options options;
        phl_score_options_init(&options);
        assert_false(options.structure);
        options.structure = structure == 1;
        phl_tree_score scores[16];
        must(phl_score(&run->models[0], forest, &options, scores, error));
        phl_session *session = NULL;
        must(phl_session_create(&run->models[0], forest, 1, &session, error));
        for (size_t tree = 0; tree < phl_forest_trees(forest); tree++) {
            listed t = list_tree(forest, tree, run);
            uint64_t labels = 0;
            for (size_t u = 0; u < t.n; u++) {
                labels += t.label[u] >= 0;
            }
            double expected = 0;
            must(phl_session_score(session, tree, structure == 1, &expected, error));
            assert_true(scores[tree].log_likelihood == expected);
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

/* ---- Labelling ------------------------------------------------------------------------------- */

/* What phl_label hands out, kept. */
typedef struct kept_tree {
    size_t n, n_filled;
    int32_t truth[MOST_NODES], best[MOST_NODES], drawn[MOST_NODES];
    bool hidden[MOST_NODES], filled[MOST_NODES], possible;
    double probability[MOST_NODES][3], unseen[MOST_NODES];
} kept_tree;

typedef struct kept {
    size_t n, notes;
    kept_tree trees[16];
} kept;

static phl_status keep(const phl_labelled_tree *tree, void *context, phl_error *error)
{
    (void)error;
    kept *all = context;
    kept_tree *own = &all->trees[all->n];
    assert_true(tree->tree == all->n++);
    own->n = tree->n;
    own->n_filled = tree->n_filled;
    own->possible = tree->possible;
    memcpy(own->truth, tree->truth, tree->n * sizeof *tree->truth);
    memcpy(own->best, tree->best, tree->n * sizeof *tree->best);
    memcpy(own->drawn, tree->drawn, tree->n * sizeof *tree->drawn);
    memcpy(own->hidden, tree->hidden, tree->n * sizeof *tree->hidden);
    memcpy(own->filled, tree->filled, tree->n * sizeof *tree->filled);
    memcpy(own->probability, tree->probability, tree->n_filled * 3 * sizeof(double));
    memcpy(own->unseen, tree->unseen, tree->n_filled * sizeof(double));
    return PHL_OK;
}

static void note(const phl_error *error, void *context)
{
    kept *all = context;
    assert_int_equal(error->status, PHL_OK);
    all->notes++;
}

static kept label_trees(const phl_run *run, const phl_forest *forest, double hide, int threads,
                        phl_evaluation *evaluation)
{
    kept all = {0};
    phl_label_options options;
    phl_label_options_init(&options);
    options.hide = hide;
    options.threads = threads;
    options.report = note;
    options.context = &all;
    must(phl_label(&run->models[0], forest, &options, keep, evaluation, error));
    assert_true(all.n == phl_forest_trees(forest));
    return all;
}

/* Rows against brute force, given which labels inference could see. */
static void check_labelled(const phl_run *run, const phl_forest *forest, const kept *all,
                           const phl_evaluation *evaluation)
{
    const phl_model *model = &run->models[0];
    uint64_t n = 0, right = 0, drawn_right = 0;
    double loss = 0;
    for (size_t tree = 0; tree < all->n; tree++) {
        const kept_tree *own = &all->trees[tree];
        listed t = list_tree(forest, tree, run);
        listed seen = t;
        size_t row = 0;
        assert_true(own->n == t.n && own->possible);
        for (size_t u = 0; u < t.n; u++) {
            assert_true(own->filled[u] == (own->hidden[u] || t.label[u] < 0));
            seen.label[u] = own->filled[u] ? -1 : t.label[u];
        }
        for (size_t u = 0; u < t.n; u++) {
            if (!own->filled[u]) {
                int32_t known = t.label[u] < 3 ? t.label[u] : -1;
                assert_true(own->best[u] == known && own->drawn[u] == known);
                continue;
            }
            double p[4], rest = brute_draws(model, &seen, seen.label);
            int best = 0;
            for (int x = 0; x < 4; x++) {
                p[x] = with_label(model, seen, u, x) / rest;
                best = x < 3 && p[x] > p[best] ? x : best;
            }
            for (int x = 0; x < 3; x++) {
                check_close(own->probability[row][x], p[x] / (1 - p[3]), CLOSE);
            }
            check_close(own->unseen[row], p[3], CLOSE);
            assert_int_equal(own->best[u], best);
            assert_true(own->drawn[u] >= 0 && own->drawn[u] < 3);
            if (own->hidden[u]) {
                n++;
                right += t.label[u] == best;
                drawn_right += t.label[u] == own->drawn[u];
                loss -= log(t.label[u] < 3 ? p[t.label[u]] / (1 - p[3]) : p[3]);
            }
            row++;
        }
        assert_true(row == own->n_filled);
    }
    assert_true(evaluation->n == n);
    if (n > 0) {
        check_close(evaluation->accuracy, (double)right / (double)n, CLOSE);
        check_close(evaluation->accuracy_drawn, (double)drawn_right / (double)n, CLOSE);
        check_close(evaluation->log_loss, loss / (double)n, CLOSE);
    }
}

static void test_label(void **state)
{
    (void)state;
    static const double hide[] = {0, 1, 0.4};
    phl_forest *forest = trees(tiny);
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < 3; i++) {
            phl_run *run = random_run(kinds[k], false, 1 + k, ROWS_PLAIN);
            phl_evaluation e = {0};
            kept all = label_trees(run, forest, hide[i], 1, &e);
            assert_true(all.notes == 0);
            check_labelled(run, forest, &all, &e);
            for (size_t tree = 0; i == 1 && tree < all.n; tree++) {
                assert_true(all.trees[tree].n_filled == all.trees[tree].n);
            }
            phl_evaluation_clear(&e);
            phl_run_free(run);
        }
    }
    phl_forest_free(forest);
}

/* Labels drawn jointly: 27 frequencies of the labels of a chain, of 40,000 equal trees. */
static phl_status count_drawn(const phl_labelled_tree *tree, void *context, phl_error *error)
{
    (void)error;
    uint64_t *counts = context;
    counts[tree->drawn[0] * 9 + tree->drawn[1] * 3 + tree->drawn[2]]++;
    return PHL_OK;
}

static void check_frequency(uint64_t count, uint64_t n, double p)
{
    double expected = (double)n * p, sd = sqrt(expected * (1 - p));
    if (!(fabs((double)count - expected) <= 6 * sd + 1e-9)) {
        print_error("seed %d: %llu of %llu, expected %g +- %g\n", SEED, (unsigned long long)count,
                    (unsigned long long)n, expected, sd);
        fail();
    }
}

static void test_drawn_law(void **state)
{
    (void)state;
    enum { TREES = 40000 };
    for (size_t k = 0; k < KINDS; k++) {
        phl_run *run = random_run(kinds[k], false, 2, ROWS_PLAIN);
        /* Without mass on the unseen symbol the drawn labels have the model's own law. */
        for (size_t d = 0; d < 2; d++) {
            phl_params *params = run->models[0].draws[d].params;
            for (size_t j = 0; j < 3; j++) {
                double left = 1 - params->emission[9 + j];
                for (size_t x = 0; x < 3; x++) {
                    params->emission[x * 3 + j] /= left;
                }
                params->emission[9 + j] = 0;
            }
        }
        phl_builder *builder = new_builder(false);
        shape chain = {.size = 3, .parent = {0, 0, 1}, .slot = {1, 2, 1}};
        const char *labels[3] = {NULL, NULL, "b"};
        for (size_t i = 0; i < TREES; i++) {
            add_tree(builder, &chain, labels, 1, NULL);
        }
        phl_forest *forest = finish_forest(builder);
        uint64_t counts[27] = {0};
        phl_label_options options;
        phl_label_options_init(&options);
        options.seed = SEED + k;
        options.context = counts;
        must(phl_label(&run->models[0], forest, &options, count_drawn, NULL, error));
        listed t = list_tree(forest, 0, run);
        double rest = brute_draws(&run->models[0], &t, t.label);
        for (int code = 0; code < 27; code++) {
            int x[3] = {code / 9, code / 3 % 3, code % 3};
            double p = x[2] == 1 ? brute_draws(&run->models[0], &t, x) / rest : 0;
            check_frequency(counts[code], TREES, p);
        }
        /* The session draws the same. */
        phl_session *session = NULL;
        must(phl_session_create(&run->models[0], forest, 1, &session, error));
        uint64_t again[27] = {0};
        for (size_t tree = 0; tree < TREES; tree++) {
            int32_t drawn[3];
            bool possible = false;
            must(phl_session_draw_labels(session, SEED + k, tree, drawn, &possible, error));
            again[drawn[0] * 9 + drawn[1] * 3 + drawn[2]]++;
        }
        assert_memory_equal(again, counts, sizeof counts);
        phl_session_free(session);
        phl_forest_free(forest);
        phl_run_free(run);
    }
}

static void test_hiding(void **state)
{
    (void)state;
    phl_symm_options symm;
    phl_symm_options_init(&symm);
    symm.trees_per_class = 60;
    phl_forest *forest = NULL;
    must(phl_generate_symm(&symm, &forest, error));
    phl_run *run = empty_run(PHL_SP, 2, 3, 3, NULL, 0);
    add_random_draw(run, 0, 7, ROWS_PLAIN);
    phl_stats *stats = NULL;
    must(phl_stats_compute(forest, &stats, error));
    phl_label_options options;
    phl_label_options_init(&options);
    options.hide = 0.2;
    phl_evaluation e = {0};
    must(phl_label(&run->models[0], forest, &options, NULL, &e, error));
    check_frequency(e.n, stats->nodes, 0.2);
    assert_true(e.unseen == e.n); /* labels are 0 to 3, the run knows a to c */
    assert_true(e.accuracy == 0 && isfinite(e.log_loss));
    phl_evaluation_clear(&e);
    phl_stats_free(stats);
    phl_forest_free(forest);
    phl_run_free(run);
}

static void test_label_forest(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    phl_run *run = random_run(PHL_SP, false, 2, ROWS_PLAIN);
    phl_label_options options;
    phl_label_options_init(&options);
    phl_evaluation e = {0};
    kept all = label_trees(run, forest, 0, 1, &e);
    assert_true(e.n == 0);
    phl_evaluation_clear(&e);
    for (int drawn = 0; drawn < 2; drawn++) {
        phl_forest *filled = NULL;
        must(phl_label_forest(&run->models[0], forest, &options, drawn == 1, &filled, error));
        for (size_t tree = 0; tree < all.n; tree++) {
            listed before = list_tree(forest, tree, run), after = list_tree(filled, tree, run);
            const kept_tree *own = &all.trees[tree];
            assert_string_equal(phl_forest_class_name(filled, phl_tree_class(filled, tree)),
                                phl_forest_class_name(forest, phl_tree_class(forest, tree)));
            for (size_t u = 0; u < before.n; u++) {
                int32_t chosen = drawn == 1 ? own->drawn[u] : own->best[u];
                assert_int_equal(after.label[u], before.label[u] >= 0 ? before.label[u] : chosen);
            }
        }
        phl_forest_free(filled);
    }
    phl_run_free(run);
    phl_forest_free(forest);
}

/* ---- Probability zero ------------------------------------------------------------------------ */

/* A model in which only label `only` is possible. */
static phl_run *one_label_run(bool per_class, size_t only)
{
    phl_run *run = random_run(PHL_SP, per_class, 2, ROWS_PLAIN);
    for (size_t m = 0; m < run->n_models; m++) {
        for (size_t d = 0; d < 2; d++) {
            phl_params *params = run->models[m].draws[d].params;
            for (size_t i = 0; i < 12; i++) {
                params->emission[i] = i / 3 == only ? 1.0 : 0.0;
            }
        }
    }
    return run;
}

static void test_impossible(void **state)
{
    (void)state;
    phl_forest *forest = trees("left\t(a (b))\nleft\t(b (?))\nleft\t(a (?) (a))\n");
    phl_run *run = one_label_run(true, 0);
    double posterior[6];
    kept all = {0};
    phl_classify_options classify;
    phl_classify_options_init(&classify);
    classify.prior = PHL_PRIOR_EMPIRICAL;
    classify.report = note;
    classify.context = &all;
    must(phl_classify(run, forest, &classify, posterior, error));
    assert_true(all.notes == 1);
    for (size_t tree = 0; tree < 2; tree++) {
        check_close(exp(posterior[2 * tree]), 1.0 / 3, CLOSE);
        check_close(exp(posterior[2 * tree + 1]), 2.0 / 3, CLOSE);
    }
    phl_run_free(run);

    run = one_label_run(false, 0);
    phl_tree_score scores[3];
    must(phl_score(&run->models[0], forest, NULL, scores, error));
    assert_true(scores[0].log_likelihood == -INFINITY && scores[0].bits_per_label == INFINITY);
    check_close(1 + scores[2].log_likelihood, 1, CLOSE);
    phl_session *session = NULL;
    must(phl_session_create(&run->models[0], forest, 1, &session, error));
    double values[64] = {7};
    int32_t labels[4];
    uint32_t states[4];
    bool possible = true;
    must(phl_session_predict(session, 0, values, &possible, error));
    assert_true(!possible && values[0] == 7);
    must(phl_session_surprise(session, 0, values, &possible, error));
    assert_true(!possible && values[0] == 7);
    must(phl_session_marginals(session, 1, 0, values, &possible, error));
    assert_true(!possible && values[0] == 7);
    must(phl_session_decode(session, 1, 0, states, values, &possible, error));
    assert_false(possible);
    must(phl_session_draw_labels(session, 1, 0, labels, &possible, error));
    assert_false(possible);
    phl_session_free(session);

    /* Labelling falls back on the shape: the label is a, whatever the contradiction says. */
    phl_evaluation e = {0};
    all = label_trees(run, forest, 0, 1, &e);
    phl_evaluation_clear(&e);
    assert_true(all.notes == 1);
    assert_true(!all.trees[0].possible && all.trees[0].n_filled == 0);
    assert_true(!all.trees[1].possible && all.trees[2].possible);
    assert_true(all.trees[1].best[1] == 0 && all.trees[1].drawn[1] == 0);
    assert_true(all.trees[1].best[0] == 1 && all.trees[1].drawn[0] == 1);
    check_close(all.trees[1].probability[0][0], 1.0, CLOSE);
    /* A hidden label the model holds impossible costs an infinite loss, and nothing is NaN. */
    all = label_trees(run, forest, 1, 1, &e);
    assert_true(all.notes == 0 && isinf(e.log_loss) && e.predictive_entropy_bits == 0);
    assert_true(e.n == 5);
    check_close(e.accuracy, 3.0 / 5, CLOSE);
    phl_evaluation_clear(&e);
    phl_run_free(run);

    /* All mass on the unseen symbol: predictions are even, drawn labels follow the best. */
    run = one_label_run(false, 3);
    all = label_trees(run, forest, 1, 1, &e);
    check_close(all.trees[0].probability[0][2], 1.0 / 3, CLOSE);
    check_close(all.trees[0].unseen[0], 1.0, CLOSE);
    assert_true(all.trees[0].drawn[0] == 0);
    phl_evaluation_clear(&e);
    phl_run_free(run);
    phl_forest_free(forest);
}

/* One of two draws excludes the tree: the other decides alone. */
static void test_one_draw_impossible(void **state)
{
    (void)state;
    phl_forest *forest = trees("(b (?) (a))\n");
    phl_run *run = one_label_run(false, 0);
    phl_run *other = random_run(PHL_SP, false, 2, ROWS_PLAIN);
    memcpy(run->models[0].draws[1].params->emission, other->models[0].draws[1].params->emission,
           12 * sizeof(double));
    listed t = list_tree(forest, 0, run);
    const phl_params *params = run->models[0].draws[1].params;
    double predictive[MOST_NODES * 4], score;
    bool possible = false;
    phl_session *session = NULL;
    must(phl_session_create(&run->models[0], forest, 1, &session, error));
    must(phl_session_score(session, 0, false, &score, error));
    check_close(exp(score), brute(params, &t, t.label) / 2, CLOSE);
    must(phl_session_predict(session, 0, predictive, &possible, error));
    assert_true(possible);
    for (int x = 0; x < 4; x++) {
        listed with = t;
        with.label[1] = x;
        check_close(predictive[4 + x],
                    brute(params, &with, with.label) / brute(params, &t, t.label), CLOSE);
    }
    phl_session_free(session);
    phl_run_free(run);
    phl_run_free(other);
    phl_forest_free(forest);
}

/* Random models with zeros: every figure is a number or infinite, rows sum to 1. */
static void test_zeros(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    for (size_t k = 0; k < KINDS; k++) {
        for (uint64_t i = 0; i < 50; i++) {
            phl_run *run = empty_run(kinds[k], 3, 2, 3, NULL, 0);
            add_random_draw(run, 0, i, ROWS_ZEROS);
            add_random_draw(run, 0, i, ROWS_ZEROS);
            phl_evaluation e = {0};
            kept all = label_trees(run, forest, i % 2 == 0 ? 0.5 : 0, 1, &e);
            for (size_t tree = 0; tree < all.n; tree++) {
                for (size_t row = 0; row < all.trees[tree].n_filled; row++) {
                    const double *p = all.trees[tree].probability[row];
                    check_close(p[0] + p[1] + p[2], 1.0, CLOSE);
                }
            }
            assert_true(e.n == 0 || (!isnan(e.log_loss) && !isnan(e.accuracy)));
            phl_evaluation_clear(&e);
            phl_run_free(run);
        }
    }
    phl_forest_free(forest);
}

/* ---- Sampling -------------------------------------------------------------------------------- */

/* Frequencies of all shapes that are expected at least 20 times, of 30,000 trees, a model kind. */
static void test_sample_trees(void **state)
{
    (void)state;
    enum { TREES = 30000 };
    phl_run *run = random_run(PHL_SP, true, 2, ROWS_PLAIN);
    const phl_model *model = &run->models[1];
    for (size_t d = 0; d < 2; d++) { /* small trees */
        static const double absent[6] = {0.5, 0.4, 0.1, 0.7, 0.2, 0.1};
        memcpy(model->draws[d].params->shape, absent, sizeof absent);
        model->draws[d].params->root_kind[0] = d == 0 ? 0.2 : 0.6;
        model->draws[d].params->root_kind[1] = d == 0 ? 0.8 : 0.4;
    }
    phl_sample_options options;
    phl_sample_options_init(&options);
    options.trees = TREES;
    options.seed = SEED;
    phl_forest *forest = NULL, *shapes = NULL;
    uint64_t rejected = 99;
    must(phl_sample_trees(model, &options, &forest, &rejected, error));
    assert_true(rejected == 0 && phl_forest_trees(forest) == TREES);
    assert_string_equal(phl_forest_class_name(forest, phl_tree_class(forest, 5)), "right");
    must(phl_copy_shapes(forest, &shapes, error));
    phl_roots roots;
    must(phl_roots_init(shapes, &roots, error));
    uint64_t *counts = must_alloc(roots.n, sizeof *counts);
    for (size_t t = 0; t < TREES; t++) {
        counts[roots.of_tree[t]]++;
    }
    uint64_t *nodes = NULL, *unknown = NULL;
    must(phl_count_nodes(shapes, &nodes, &unknown, error));
    size_t checked = 0;
    for (size_t r = 0; r < roots.n; r++) {
        if (nodes[phl_tree_root(shapes, roots.tree[r])] > MOST_NODES) {
            continue;
        }
        listed t = list_tree(shapes, roots.tree[r], run);
        double p = brute_shape(model->draws[0].params, &t) / 2 +
                   brute_shape(model->draws[1].params, &t) / 2;
        if (p * TREES >= 20) {
            check_frequency(counts[r], TREES, p);
            checked++;
        }
    }
    assert_true(checked >= 15);
    print_message("seed %d: %zu shapes checked\n", SEED, checked);

    /* Labels of single nodes: one more frequency a label. */
    uint64_t singles = 0, of_label[3] = {0};
    for (size_t t = 0; t < TREES; t++) {
        if (nodes[phl_tree_root(shapes, t)] == 1) {
            const char *name =
                phl_forest_label_name(forest, phl_subtree_label(forest, phl_tree_root(forest, t)));
            of_label[name[0] - 'a']++;
            singles++;
        }
    }
    for (size_t x = 0; x < 3; x++) {
        double p = 0;
        for (size_t d = 0; d < 2; d++) {
            const phl_params *params = model->draws[d].params;
            for (size_t j = 0; j < 3; j++) {
                p += (d == 0 ? 0.25 : 0.75) * params->prior[j] * params->emission[x * 3 + j] /
                     (1 - params->emission[9 + j]);
            }
        }
        check_frequency(of_label[x], singles, p);
    }

    /* Fewer trees are the same trees. */
    phl_forest *fewer = NULL;
    options.trees = 10;
    must(phl_sample_trees(model, &options, &fewer, NULL, error));
    char one[33], two[33];
    size_t first[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    phl_forest *head = NULL;
    must(phl_forest_select(forest, first, 10, &head, error));
    must(phl_forest_fingerprint(fewer, true, one, error));
    must(phl_forest_fingerprint(head, true, two, error));
    assert_string_equal(one, two);
    phl_forest_free(head);
    phl_forest_free(fewer);
    phl_free(counts);
    phl_free(nodes);
    phl_free(unknown);
    phl_roots_clear(&roots);
    phl_forest_free(shapes);
    phl_forest_free(forest);
    phl_run_free(run);
}

static void test_sample_limits(void **state)
{
    (void)state;
    phl_run *run = random_run(PHL_SP, false, 1, ROWS_PLAIN);
    phl_params *params = run->models[0].draws[0].params;
    static const double always[6] = {0, 0, 1, 0, 0, 1};
    memcpy(params->shape, always, sizeof always);
    params->root_kind[0] = 0.5;
    params->root_kind[1] = 0.5;
    phl_sample_options options;
    phl_sample_options_init(&options);
    options.max_nodes = 50;
    kept all = {0};
    options.report = note;
    options.context = &all;
    phl_forest *forest = NULL;
    uint64_t rejected = 0;
    must(phl_sample_trees(&run->models[0], &options, &forest, &rejected, error));
    assert_true(rejected > 0 && all.notes == 1 && phl_forest_subtrees(forest) <= 3);
    phl_forest_free(forest);
    forest = NULL;
    params->root_kind[0] = 0;
    params->root_kind[1] = 1;
    phl_error e = {0};
    assert_int_equal(phl_sample_trees(&run->models[0], &options, &forest, NULL, &e), PHL_ERR_LIMIT);
    assert_null(forest);
    options.trees = 0;
    assert_int_equal(phl_sample_trees(&run->models[0], &options, &forest, NULL, &e),
                     PHL_ERR_ARGUMENT);
    phl_run_free(run);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void test_threads(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 3, 4, 8};
    phl_documents_options documents;
    phl_documents_options_init(&documents);
    documents.trees_per_class = 15;
    documents.vocabulary = 10;
    phl_forest *forest = NULL;
    must(phl_generate_documents(&documents, &forest, error));
    size_t n = phl_forest_trees(forest);
    phl_train_options train;
    phl_train_options_init(&train);
    train.kind = PHL_SP;
    train.states = 3;
    train.iterations = 3;
    train.per_class = true;
    train.restarts = 1;
    train.threads = 1;
    phl_run *run = NULL;
    must(phl_train(forest, &train, &run, error));
    size_t k = phl_run_classes(run);
    double *expected = must_alloc(n * k, sizeof *expected);
    double *posterior = must_alloc(n * k, sizeof *posterior);
    phl_evaluation first = {0};
    char fingerprints[2][33];
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        phl_classify_options classify;
        phl_classify_options_init(&classify);
        classify.threads = threads[i];
        must(phl_classify(run, forest, &classify, i == 0 ? expected : posterior, error));
        phl_label_options label;
        phl_label_options_init(&label);
        label.threads = threads[i];
        label.hide = 0.3;
        phl_evaluation e = {0};
        must(phl_label(&run->models[1], forest, &label, NULL, &e, error));
        phl_sample_options sample;
        phl_sample_options_init(&sample);
        sample.threads = threads[i];
        phl_forest *drawn = NULL;
        char fingerprint[33], filled_fingerprint[33];
        must(phl_sample_labels(&run->models[1], forest, &sample, &drawn, error));
        must(phl_forest_fingerprint(drawn, true, fingerprint, error));
        phl_forest_free(drawn);
        must(phl_label_forest(&run->models[1], forest, &label, true, &drawn, error));
        must(phl_forest_fingerprint(drawn, true, filled_fingerprint, error));
        phl_forest_free(drawn);
        if (i == 0) {
            first = e;
            memcpy(fingerprints[0], fingerprint, sizeof fingerprint);
            memcpy(fingerprints[1], filled_fingerprint, sizeof fingerprint);
            continue;
        }
        assert_memory_equal(posterior, expected, n * k * sizeof *posterior);
        assert_true(e.n == first.n && e.accuracy == first.accuracy &&
                    e.accuracy_drawn == first.accuracy_drawn && e.log_loss == first.log_loss &&
                    e.predictive_entropy_bits == first.predictive_entropy_bits);
        assert_string_equal(fingerprint, fingerprints[0]);
        assert_string_equal(filled_fingerprint, fingerprints[1]);
        phl_evaluation_clear(&e);
    }
    phl_evaluation_clear(&first);
    phl_free(expected);
    phl_free(posterior);
    phl_run_free(run);
    phl_forest_free(forest);
}

int main(void)
{
    print_message("seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_session_states),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_classify),
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_label),
        cmocka_unit_test(test_drawn_law),
        cmocka_unit_test(test_hiding),
        cmocka_unit_test(test_label_forest),
        cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_one_draw_impossible),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_sample_trees),
        cmocka_unit_test(test_sample_limits),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
