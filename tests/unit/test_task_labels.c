/* test_task_labels.c - labelling and sampling against brute force on tiny trees, with several draws
 * a model; zero probabilities; the same results for any number of threads.
 *
 * Statistical checks compare frequencies with exact probabilities; each states how many there are.
 * A frequency fails at 6 standard deviations: a false alarm with probability 2e-9 each, for a fresh
 * seed.
 */
#include "check.h"
#include "forest/copy.h"
#include "task/session.h"
#include "task_models.h"

#define CLOSE 1e-11

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

static phl_status keep(const phl_tree_at *at, const phl_labelled_tree *tree, void *context,
                       phl_error *error)
{
    (void)error;
    kept *all = context;
    kept_tree *own = &all->trees[all->n];
    assert_true(at->number == all->n++);
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

/* Notes, but those on labels never seen. */
static void note(const phl_error *error, void *context)
{
    kept *all = context;
    assert_int_equal(error->status, PHL_OK);
    all->notes += strstr(error->message, "never seen") == NULL;
}

static kept label_trees(const phl_run *run, const phl_forest *forest, double hide, int threads,
                        phl_evaluation **evaluation)
{
    kept all = {0};
    phl_source *source = source_of(forest);
    phl_label_options options;
    phl_label_options_init(&options);
    options.hide = hide;
    options.threads = threads;
    options.report = note;
    options.context = &all;
    must(phl_label(run, source, &options, keep, evaluation, error));
    phl_source_free(source);
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
        check_close(evaluation->best->accuracy, (double)right / (double)n, CLOSE);
        check_close(evaluation->drawn->accuracy, (double)drawn_right / (double)n, CLOSE);
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
            phl_evaluation *e = NULL;
            kept all = label_trees(run, forest, hide[i], 1, &e);
            assert_true(all.notes == 0);
            check_labelled(run, forest, &all, e);
            for (size_t tree = 0; i == 1 && tree < all.n; tree++) {
                assert_true(all.trees[tree].n_filled == all.trees[tree].n);
            }
            phl_evaluation_free(e);
            phl_run_free(run);
        }
    }
    phl_forest_free(forest);
}

/* Labels drawn jointly: 27 frequencies of the labels of a chain, of 40,000 equal trees. */
static phl_status count_drawn(const phl_tree_at *at, const phl_labelled_tree *tree, void *context,
                              phl_error *error)
{
    (void)at;
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
        phl_source *source = source_of(forest);
        must(phl_label(run, source, &options, count_drawn, NULL, error));
        phl_source_free(source);
        listed t = list_tree(forest, 0, run);
        double rest = brute_draws(&run->models[0], &t, t.label);
        for (int code = 0; code < 27; code++) {
            int x[3] = {code / 9, code / 3 % 3, code % 3};
            double p = x[2] == 1 ? brute_draws(&run->models[0], &t, x) / rest : 0;
            check_frequency(counts[code], TREES, p);
        }
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
    phl_evaluation *e = NULL;
    phl_source *source = source_of(forest);
    must(phl_label(run, source, &options, NULL, &e, error));
    check_frequency(e->n, stats->nodes, 0.2);
    assert_true(e->unseen == e->n); /* labels are 0 to 3, the run knows a to c */
    assert_true(e->best->accuracy == 0 && isfinite(e->log_loss));
    phl_evaluation_free(e);
    phl_source_free(source);
    phl_stats_free(stats);
    phl_forest_free(forest);
    phl_run_free(run);
}

static void test_label_filled(void **state)
{
    (void)state;
    phl_forest *forest = trees(tiny);
    phl_source *source = source_of(forest);
    phl_run *run = random_run(PHL_SP, false, 2, ROWS_PLAIN);
    phl_evaluation *e = NULL;
    kept all = label_trees(run, forest, 0, 1, &e);
    assert_true(e->n == 0 && e->n_names == 0);
    phl_evaluation_free(e);
    for (int drawn = 0; drawn < 2; drawn++) {
        phl_forest *filled = NULL;
        phl_label_options options;
        phl_label_options_init(&options);
        options.filled = keep_forest;
        options.fill_drawn = drawn == 1;
        options.no_draw = drawn == 0;
        options.context = &filled;
        must(phl_label(run, source, &options, NULL, NULL, error));
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
    phl_source_free(source);
    phl_forest_free(forest);
}

/* ---- Probability zero ------------------------------------------------------------------------ */

/* Nothing about a tree of probability 0. */
static phl_status check_impossible(const phl_tree_at *at, const phl_decoded_tree *decoded,
                                   void *context, phl_error *error)
{
    (void)context;
    (void)error;
    bool possible = at->tree == 2;
    assert_true(decoded->possible == possible && (decoded->marginals != NULL) == possible);
    assert_true((decoded->pairs != NULL) == possible && (decoded->joint != NULL) == possible);
    return PHL_OK;
}

static phl_status check_infinite(const phl_tree_at *at, const phl_tree_score *score, void *context,
                                 phl_error *error)
{
    (void)context;
    (void)error;
    if (at->tree == 0) {
        assert_true(score->bits[0] == INFINITY && score->bits[1] == INFINITY);
        assert_true(score->predictive == NULL && score->log_likelihood == -INFINITY);
    } else if (at->tree == 1) {
        assert_true(score->bits[0] == INFINITY && isnan(score->bits[1]));
    } else {
        assert_non_null(score->predictive);
    }
    return PHL_OK;
}

static void note_any(const phl_error *error, void *context)
{
    assert_int_equal(error->status, PHL_OK);
    *(size_t *)context += 1;
}

static void test_impossible_states(const phl_run *run, phl_source *source)
{
    size_t notes = 0;
    phl_decode_options decode;
    phl_decode_options_init(&decode);
    decode.pairs = decode.joint = true;
    decode.draw = 1;
    decode.report = note_any;
    decode.context = &notes;
    must(phl_decode(run, source, &decode, check_impossible, error));
    assert_true(notes == 1); /* the labels are known */
    phl_score_options score;
    phl_score_options_init(&score);
    score.bits = score.predictive = true;
    must(phl_score(run, source, &score, check_infinite, error));
}

static void count_note(const phl_error *error, void *context)
{
    (void)context;
    assert_non_null(strstr(error->message, "2 trees have probability 0 under every class"));
}

static void test_impossible(void **state)
{
    (void)state;
    phl_forest *forest = trees("left\t(a (b))\nleft\t(b (?))\nleft\t(a (?) (a))\n");
    phl_source *source = source_of(forest);
    phl_run *run = one_label_run(true, 0);
    double posterior[6];
    phl_classify_options classify;
    phl_classify_options_init(&classify);
    classify.prior = PHL_PRIOR_EMPIRICAL;
    classify.report = count_note;
    classify.context = posterior;
    must(phl_classify(run, source, &classify, keep_posterior, NULL, error));
    for (size_t tree = 0; tree < 2; tree++) {
        check_close(exp(posterior[2 * tree]), 1.0 / 3, CLOSE);
        check_close(exp(posterior[2 * tree + 1]), 2.0 / 3, CLOSE);
    }
    phl_run_free(run);

    run = one_label_run(false, 0);
    phl_tree_score scores[3];
    score_forest(run, forest, false, scores);
    assert_true(scores[0].log_likelihood == -INFINITY && scores[0].bits_per_label == INFINITY);
    check_close(1 + scores[2].log_likelihood, 1, CLOSE);
    phl_session *session = NULL;
    must(phl_session_create(&run->models[0], forest, 1, UINT64_MAX, &session, error));
    double values[64] = {7};
    bool possible = true;
    must(phl_session_predict(session, 0, values, &possible, error));
    assert_true(!possible && values[0] == 7);
    must(phl_session_surprise(session, 0, values, &possible, error));
    assert_true(!possible && values[0] == 7);
    phl_session_free(session);
    test_impossible_states(run, source);

    /* Labelling falls back on the shape: the label is a, whatever the contradiction says. */
    phl_evaluation *e = NULL;
    kept all = label_trees(run, forest, 0, 1, NULL);
    assert_true(all.notes == 1);
    assert_true(!all.trees[0].possible && all.trees[0].n_filled == 0);
    assert_true(!all.trees[1].possible && all.trees[2].possible);
    assert_true(all.trees[1].best[1] == 0 && all.trees[1].drawn[1] == 0);
    assert_true(all.trees[1].best[0] == 1 && all.trees[1].drawn[0] == 1);
    check_close(all.trees[1].probability[0][0], 1.0, CLOSE);
    /* A hidden label the model holds impossible costs an infinite loss, and nothing is NaN. */
    all = label_trees(run, forest, 1, 1, &e);
    assert_true(all.notes == 0 && isinf(e->log_loss) && e->predictive_entropy_bits == 0);
    assert_true(e->n == 5);
    check_close(e->best->accuracy, 3.0 / 5, CLOSE);
    phl_evaluation_free(e);
    phl_run_free(run);

    /* All mass on the unseen symbol: predictions are even, drawn labels follow the best. */
    run = one_label_run(false, 3);
    all = label_trees(run, forest, 1, 1, NULL);
    check_close(all.trees[0].probability[0][2], 1.0 / 3, CLOSE);
    check_close(all.trees[0].unseen[0], 1.0, CLOSE);
    assert_true(all.trees[0].drawn[0] == 0);
    phl_run_free(run);
    phl_source_free(source);
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
    double predictive[MOST_NODES * 4];
    bool possible = false;
    phl_session *session = NULL;
    must(phl_session_create(&run->models[0], forest, 1, UINT64_MAX, &session, error));
    check_close(exp(phl_session_score(session, 0, false)), brute(params, &t, t.label) / 2, CLOSE);
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
            phl_evaluation *e = NULL;
            kept all = label_trees(run, forest, i % 2 == 0 ? 0.5 : 0, 1, &e);
            for (size_t tree = 0; tree < all.n; tree++) {
                for (size_t row = 0; row < all.trees[tree].n_filled; row++) {
                    const double *p = all.trees[tree].probability[row];
                    check_close(p[0] + p[1] + p[2], 1.0, CLOSE);
                }
            }
            assert_true(e->n == 0 || (!isnan(e->log_loss) && !isnan(e->best->accuracy)));
            phl_evaluation_free(e);
            phl_run_free(run);
        }
    }
    phl_forest_free(forest);
}

/* ---- Sampling -------------------------------------------------------------------------------- */

static phl_status drop_forest(const phl_forest *block, void *context, phl_error *error)
{
    (void)block;
    (void)context;
    (void)error;
    return PHL_OK;
}

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
    size_t notes = 0;
    options.class_name = "right";
    options.context = &forest;
    must(phl_sample(run, NULL, &options, keep_forest, error));
    assert_true(phl_forest_trees(forest) == TREES);
    options.report = note_any;
    options.context = &notes;
    must(phl_sample(run, NULL, &options, drop_forest, error));
    assert_true(notes == 0); /* none was thrown away */
    options.report = NULL;
    assert_string_equal(phl_forest_class_name(forest, phl_tree_class(forest, 5)), "right");
    must(phl_copy_trees(forest, NULL, phl_forest_trees(forest), PHL_COPY_SHAPES, &shapes, error));
    phl_roots roots;
    must(phl_scores_roots_init(shapes, &roots, error));
    uint64_t *counts = must_alloc(roots.n, sizeof *counts);
    for (size_t t = 0; t < TREES; t++) {
        counts[roots.of_tree[t]]++;
    }
    uint64_t *nodes = NULL, *unknown = NULL;
    must(phl_forest_count_nodes(shapes, &nodes, &unknown, error));
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

    /* Labels of single nodes: one more frequency per label. */
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
    options.context = &fewer;
    must(phl_sample(run, NULL, &options, keep_forest, error));
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
    phl_scores_roots_clear(&roots);
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
    phl_forest *forest = NULL;
    options.context = &forest;
    must(phl_sample(run, NULL, &options, keep_forest, error));
    assert_true(phl_forest_trees(forest) == 10 && phl_forest_subtrees(forest) <= 3);
    phl_forest_free(forest);
    forest = NULL;
    size_t notes = 0;
    options.report = note_any;
    options.context = &notes;
    must(phl_sample(run, NULL, &options, drop_forest, error));
    assert_true(notes == 1); /* some were thrown away */
    options.report = NULL;
    options.context = &forest;
    params->root_kind[0] = 0;
    params->root_kind[1] = 1;
    phl_error e = {0};
    assert_int_equal(phl_sample(run, NULL, &options, keep_forest, &e), PHL_ERR_LIMIT);
    assert_null(forest);
    options.trees = 0;
    assert_int_equal(phl_sample(run, NULL, &options, keep_forest, &e), PHL_ERR_ARGUMENT);
    phl_run_free(run);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* Posteriors [trees][k]. */
struct rows {
    size_t k;
    double *posterior;
};

static phl_status keep_rows(const phl_tree_at *at, const phl_classified_tree *classified,
                            void *context, phl_error *error)
{
    (void)error;
    const struct rows *rows = context;
    memcpy(rows->posterior + at->number * rows->k, classified->log_posterior,
           rows->k * sizeof *rows->posterior);
    return PHL_OK;
}

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
    phl_evaluation *first = NULL;
    phl_source *source = source_of(forest);
    char fingerprints[2][33];
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        phl_classify_options classify;
        phl_classify_options_init(&classify);
        classify.threads = threads[i];
        struct rows rows = {k, i == 0 ? expected : posterior};
        classify.context = &rows;
        must(phl_classify(run, source, &classify, keep_rows, NULL, error));
        phl_forest *filled = NULL, *drawn = NULL;
        char fingerprint[33], filled_fingerprint[33];
        phl_label_options label;
        phl_label_options_init(&label);
        label.threads = threads[i];
        label.hide = 0.3;
        label.filled = keep_forest;
        label.fill_drawn = true;
        label.context = &filled;
        phl_evaluation *e = NULL;
        must(phl_label(run, source, &label, NULL, &e, error));
        must(phl_forest_fingerprint(filled, true, filled_fingerprint, error));
        phl_forest_free(filled);
        phl_sample_options sample;
        phl_sample_options_init(&sample);
        sample.threads = threads[i];
        sample.context = &drawn;
        must(phl_sample(run, source, &sample, keep_forest, error));
        must(phl_forest_fingerprint(drawn, true, fingerprint, error));
        phl_forest_free(drawn);
        if (i == 0) {
            first = e;
            memcpy(fingerprints[0], fingerprint, sizeof fingerprint);
            memcpy(fingerprints[1], filled_fingerprint, sizeof fingerprint);
            continue;
        }
        assert_memory_equal(posterior, expected, n * k * sizeof *posterior);
        assert_true(e->n == first->n && e->best->accuracy == first->best->accuracy &&
                    e->drawn->accuracy == first->drawn->accuracy &&
                    e->log_loss == first->log_loss &&
                    e->predictive_entropy_bits == first->predictive_entropy_bits);
        assert_string_equal(fingerprint, fingerprints[0]);
        assert_string_equal(filled_fingerprint, fingerprints[1]);
        phl_evaluation_free(e);
    }
    phl_evaluation_free(first);
    phl_source_free(source);
    phl_free(expected);
    phl_free(posterior);
    phl_run_free(run);
    phl_forest_free(forest);
}

int main(void)
{
    print_message("seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_label),         cmocka_unit_test(test_drawn_law),
        cmocka_unit_test(test_hiding),        cmocka_unit_test(test_label_filled),
        cmocka_unit_test(test_impossible),    cmocka_unit_test(test_one_draw_impossible),
        cmocka_unit_test(test_zeros),         cmocka_unit_test(test_sample_trees),
        cmocka_unit_test(test_sample_limits), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
