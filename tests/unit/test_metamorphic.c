/* test_metamorphic.c - inference whose results must not change, or must change in a known way, when
 * the question is put differently: sharing, names of states, models that are the same under two
 * names.
 *
 * All random, from SEED; nothing here is statistical, so no false alarms.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model_checks.h"

#define SEED 8128

/* Every result for one tree of two prepared forests; state j of `a` is map[j] of `b` (NULL: the
 * same names). */
static void check_same_tree(prepared *a, prepared *b, size_t tree, const uint32_t *map)
{
    size_t c = a->params->states;
    size_t m = a->params->labels;
    double log_likelihood = phl_upward_tree(a->upward, tree);
    check_near(log_likelihood, phl_upward_tree(b->upward, tree), EXACT, EXACT);
    bool possible = true;
    bool other = true;
    must(phl_tree_marginals(a->view, tree, &possible, error));
    must(phl_tree_marginals(b->view, tree, &other, error));
    assert_true(possible == other);
    assert_true(possible == (log_likelihood > -INFINITY));
    size_t n = a->view->n;
    assert_true(n == b->view->n);
    if (!possible) {
        return;
    }
    double *first = must_alloc(c * c + m + 1, sizeof *first);
    double *second = must_alloc(c * c + m + 1, sizeof *second);
    uint32_t *states = must_alloc(n, sizeof *states);
    for (size_t u = 0; u < n; u++) {
        for (size_t j = 0; j < c; j++) {
            size_t k = map != NULL ? map[j] : j;
            check_near(a->view->marginal[u * c + j], b->view->marginal[u * c + k], EXACT, 1e-18);
        }
        phl_tree_predictive(a->view, u, first);
        phl_tree_predictive(b->view, u, second);
        for (size_t d = 0; d <= m; d++) {
            check_near(first[d], second[d], EXACT, 1e-18);
        }
        if (u == 0) {
            continue;
        }
        must(phl_tree_pair(a->view, u, first, error));
        must(phl_tree_pair(b->view, u, second, error));
        for (size_t i = 0; i < c; i++) {
            for (size_t q = 0; q < c; q++) {
                size_t from = i * c + q;
                size_t to = map != NULL ? map[i] * c + map[q] : from;
                check_near(first[from], second[to], EXACT, 1e-18);
            }
        }
    }
    double best = 0;
    double other_best = 0;
    must(phl_tree_most_probable(a->view, tree, states, &best, &possible, error));
    must(phl_tree_most_probable(b->view, tree, states, &other_best, &possible, error));
    check_near(best, other_best, EXACT, EXACT);
    phl_free(first);
    phl_free(second);
    phl_free(states);
}

/* ---- Sharing -------------------------------------------------------------------------------- */

static void check_sharing(const phl_forest *forest, const struct kind *kind, uint32_t states,
                          row_style style, uint64_t item)
{
    phl_rng rng;
    phl_rng_init(&rng, SEED, 1, kind->kind, kind->soft, item);
    phl_forest *single = unshared_copy(forest);
    assert_true(phl_forest_is_shared(forest) && !phl_forest_is_shared(single));
    assert_true(phl_forest_subtrees(forest) < phl_forest_subtrees(single));
    /* One slot and one label fewer than the forest has: the rest lies beyond. */
    uint32_t slots = phl_forest_max_slot(forest);
    uint32_t labels = (uint32_t)phl_forest_labels(forest);
    phl_params *params = random_params(&rng, kind->kind, kind->soft, states, slots - (slots > 2),
                                       labels - 1, 3, style);
    phl_alphabet alphabet = {0};
    for (uint32_t d = 0; d + 1 < labels; d++) {
        const char *name = phl_forest_label_name(forest, (int32_t)d);
        must(phl_alphabet_add(&alphabet, name, strlen(name), &(int32_t){0}, error));
    }
    prepared a = prepare(forest, &alphabet, params, 1);
    prepared b = prepare(single, &alphabet, params, 1);
    double *shapes = must_alloc(phl_forest_subtrees(forest), sizeof *shapes);
    double *single_shapes = must_alloc(phl_forest_subtrees(single), sizeof *single_shapes);
    phl_shape_run(params, forest, shapes);
    phl_shape_run(params, single, single_shapes);
    for (size_t t = 0; t < phl_forest_trees(forest); t++) {
        check_same_tree(&a, &b, t, NULL);
        check_near(phl_shape_tree(params, forest, shapes, t),
                   phl_shape_tree(params, single, single_shapes, t), EXACT, EXACT);
    }
    phl_params *counts = count(&a);
    phl_params *single_counts = count(&b);
    check_tables(counts, single_counts, EXACT, 1e-15);
    /* Whole numbers, or halves: exactly. */
    for (size_t i = 0; i < 3 * (size_t)params->slots; i++) {
        assert_true(counts->shape[i] == single_counts->shape[i]);
    }
    assert_true(counts->root_kind[0] == single_counts->root_kind[0]);
    assert_true(counts->root_kind[1] == single_counts->root_kind[1]);
    phl_params_free(counts);
    phl_params_free(single_counts);
    phl_free(shapes);
    phl_free(single_shapes);
    unprepare(&a);
    unprepare(&b);
    phl_alphabet_clear(&alphabet);
    phl_params_free(params);
    phl_forest_free(single);
}

static void test_sharing(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 5, 10};
    phl_forest *symm = symm_forest(SEED, 40);
    phl_forest *documents = document_forest(SEED, 15);
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            row_style style = i % 2 == 0 ? ROWS_PLAIN : ROWS_SKEWED;
            check_sharing(symm, &kinds[k], sizes[i], style, i);
            if (kinds[k].kind != PHL_FULL) { /* (C + 1)^L cells */
                check_sharing(documents, &kinds[k], sizes[i], style, 10 + i);
            }
        }
        for (uint64_t i = 0; i < 30; i++) {
            phl_rng rng;
            phl_rng_init(&rng, SEED, 2, k, 0, i);
            double weights[60];
            for (size_t t = 0; t < 60; t++) {
                weights[t] = 0.5 * (1 + random_below(&rng, 6));
            }
            uint32_t slots = 1 + random_below(&rng, 4);
            phl_forest *forest =
                random_forest(&rng, 60, 12, slots, 2 + random_below(&rng, 3), weights, 1);
            check_sharing(forest, &kinds[k], 1 + random_below(&rng, 4), (row_style)(i % ROW_STYLES),
                          100 + i);
            phl_forest_free(forest);
        }
    }
    phl_forest_free(symm);
    phl_forest_free(documents);
}

/* ---- Names of states ------------------------------------------------------------------------ */

/* The same model with state j called map[j]. */
static phl_params *renamed(const phl_params *params, const uint32_t *map)
{
    size_t c = params->states;
    phl_params *made = NULL;
    must(phl_params_create(params->kind, params->states, params->slots, params->labels,
                           params->axes, params->n_axes, 0, &made, error));
    uint32_t *value = must_alloc(c + 1, sizeof *value); /* of child values: bottom stays */
    for (size_t q = 0; q <= c; q++) {
        value[q] = q < c ? map[q] : (uint32_t)c;
    }
    for (size_t j = 0; j < c; j++) {
        for (size_t d = 0; d <= params->labels; d++) {
            made->emission[d * c + map[j]] = params->emission[d * c + j];
        }
        for (size_t l = 0; params->prior != NULL && l < params->slots; l++) {
            made->prior[l * c + map[j]] = params->prior[l * c + j];
        }
        if (params->root != NULL) {
            made->root[map[j]] = params->root[j];
        }
    }
    if (params->switching != NULL) {
        memcpy(made->switching, params->switching, params->slots * sizeof *made->switching);
    }
    size_t rows = params->kind == PHL_SP ? c + 1 : c;
    for (size_t l = 0; params->transition != NULL && l < params->slots; l++) {
        for (size_t q = 0; q < rows; q++) {
            for (size_t j = 0; j < c; j++) {
                made->transition[(l * rows + value[q]) * c + map[j]] =
                    params->transition[(l * rows + q) * c + j];
            }
        }
    }
    for (size_t r = 0; params->core != NULL && r < params->core_rows; r++) {
        size_t row = r;
        if (params->kind == PHL_FULL) { /* blocks are values */
            row = 0;
            for (size_t l = 0, below = params->core_rows, rest = r; l < params->slots; l++) {
                below /= c + 1;
                row = row * (c + 1) + value[rest / below];
                rest %= below;
            }
        }
        for (size_t j = 0; j < c; j++) {
            made->core[row * c + map[j]] = params->core[r * c + j];
        }
    }
    for (uint32_t a = 0; params->kind == PHL_TF && a < params->n_axes; a++) {
        size_t k = params->axes[a].size;
        for (size_t q = 0; q <= c; q++) {
            if (params->axes[a].block != NULL) {
                made->axes[a].block[value[q]] = params->axes[a].block[q];
            } else {
                memcpy(made->axes[a].matrix + value[q] * k, params->axes[a].matrix + q * k,
                       k * sizeof(double));
            }
        }
    }
    memcpy(made->root_kind, params->root_kind, sizeof made->root_kind);
    memcpy(made->shape, params->shape, 3 * params->slots * sizeof *made->shape);
    phl_params_complete(made);
    phl_free(value);
    return made;
}

static void test_renaming_states(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        for (uint64_t i = 0; i < 60; i++) {
            phl_rng rng;
            phl_rng_init(&rng, SEED, 3, k, 0, i);
            uint32_t c = 2 + random_below(&rng, 4);
            uint32_t slots = 1 + random_below(&rng, 3);
            phl_forest *forest = random_forest(&rng, 20, 10, slots, 3, NULL, 1);
            phl_params *params = random_params(&rng, kinds[k].kind, kinds[k].soft, c, slots, 3, 3,
                                               (row_style)(i % ROW_STYLES));
            uint32_t map[8];
            for (uint32_t j = 0; j < c; j++) { /* a cycle: no state keeps its name */
                map[j] = (j + 1) % c;
            }
            phl_params *other = renamed(params, map);
            must(phl_params_check(other, error));
            prepared a = prepare(forest, &forest->labels, params, 1);
            prepared b = prepare(forest, &forest->labels, other, 1);
            for (size_t t = 0; t < phl_forest_trees(forest); t++) {
                check_same_tree(&a, &b, t, map);
            }
            phl_params *counts = count(&a);
            phl_params *other_counts = count(&b);
            phl_params *expected = renamed(counts, map);
            check_tables(other_counts, expected, EXACT, 1e-15);
            phl_params_free(counts);
            phl_params_free(other_counts);
            phl_params_free(expected);
            unprepare(&a);
            unprepare(&b);
            phl_params_free(params);
            phl_params_free(other);
            phl_forest_free(forest);
        }
    }
}

/* ---- The same model under two names ---------------------------------------------------------- */

static void copy_tables(const phl_params *from, phl_params *to)
{
    phl_table f;
    phl_table t;
    for (size_t i = 0; phl_params_table(from, i, &f); i++) {
        assert_true(phl_params_table(to, i, &t));
        assert_string_equal(f.name, t.name);
        for (size_t r = 0; r < f.rows; r++) {
            for (size_t c = 0; c < f.columns; c++) {
                t.data[r * t.row_stride + c * t.column_stride] =
                    f.data[r * f.row_stride + c * f.column_stride];
            }
        }
    }
    phl_params_complete(to);
}

static void test_identity_partitions_are_full(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 60; i++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, 4, 0, 0, i);
        uint32_t c = 1 + random_below(&rng, 4);
        uint32_t slots = 1 + random_below(&rng, 3);
        phl_forest *forest = random_forest(&rng, 20, 10, slots, 3, NULL, 1);
        phl_params *full =
            random_params(&rng, PHL_FULL, false, c, slots, 3, 0, (row_style)(i % ROW_STYLES));
        phl_params *tf = identity_tf(c, slots, 3);
        copy_tables(full, tf);
        prepared a = prepare(forest, &forest->labels, full, 1);
        prepared b = prepare(forest, &forest->labels, tf, 1);
        for (size_t t = 0; t < phl_forest_trees(forest); t++) {
            check_same_tree(&a, &b, t, NULL);
        }
        phl_params *counts = count(&a);
        phl_params *tf_counts = count(&b);
        check_tables(tf_counts, counts, EXACT, 1e-15);
        phl_params_free(counts);
        phl_params_free(tf_counts);
        unprepare(&a);
        unprepare(&b);
        phl_params_free(full);
        phl_params_free(tf);
        phl_forest_free(forest);
    }
}

/* An ordinary hidden Markov model, forward-backward with scaling. */
struct hmm {
    size_t states, length;
    const double *start;                /* [C] */
    const double *step;                 /* [C][C] from, to */
    const double **emitted;             /* [length] -> [C] */
    double *forward, *backward, *scale; /* [length][C], [length] */
};

static double hmm_run(struct hmm *h, double *start_counts, double *step_counts)
{
    size_t c = h->states;
    double log_p = 0;
    for (size_t t = 0; t < h->length; t++) {
        h->scale[t] = 0;
        for (size_t j = 0; j < c; j++) {
            double sum = 0;
            for (size_t i = 0; t > 0 && i < c; i++) {
                sum += h->forward[(t - 1) * c + i] * h->step[i * c + j];
            }
            h->forward[t * c + j] = (t == 0 ? h->start[j] : sum) * h->emitted[t][j];
            h->scale[t] += h->forward[t * c + j];
        }
        for (size_t j = 0; j < c; j++) {
            h->forward[t * c + j] /= h->scale[t];
        }
        log_p += log(h->scale[t]);
    }
    for (size_t t = h->length; t-- > 0;) {
        for (size_t i = 0; i < c; i++) {
            double sum = 0;
            for (size_t j = 0; t + 1 < h->length && j < c; j++) {
                double via = h->step[i * c + j] * h->emitted[t + 1][j] *
                             h->backward[(t + 1) * c + j] / h->scale[t + 1];
                step_counts[i * c + j] += h->forward[t * c + i] * via;
                sum += via;
            }
            h->backward[t * c + i] = t + 1 == h->length ? 1.0 : sum;
        }
    }
    for (size_t j = 0; j < c; j++) {
        start_counts[j] += h->forward[j] * h->backward[j];
    }
    return log_p;
}

/* A chain: labels from the root down. */
static void add_chain(phl_builder *builder, const int *labels, size_t length)
{
    for (size_t u = 0; u < length; u++) {
        must(phl_builder_open(builder, labels[u] < 0 ? NULL : letter[labels[u]], 1, error));
    }
    for (size_t u = 0; u < length; u++) {
        must(phl_builder_close(builder, error));
    }
    must(phl_builder_end_tree(builder, NULL, error));
}

static void check_chains(phl_rng *rng, const struct kind *kind, row_style style)
{
    enum { CHAINS = 12, LONGEST = 300, LABELS = 3 };
    uint32_t c = 1 + random_below(rng, 5);
    phl_params *params = random_params(rng, kind->kind, kind->soft, c, 1, LABELS, 1, style);
    if (kind->kind == PHL_TF && !kind->soft) {
        phl_params_free(params);
        params = identity_tf(c, 1, LABELS);
        random_tables(rng, style, params);
    }
    int(*labels)[LONGEST] = must_alloc(CHAINS, sizeof *labels);
    size_t length[CHAINS];
    phl_builder *builder = new_builder(false);
    for (size_t t = 0; t < CHAINS; t++) {
        length[t] = t == 0 ? LONGEST : 1 + random_below(rng, LONGEST);
        for (size_t u = 0; u < length[t]; u++) {
            labels[t][u] = t == 0 && u < LABELS ? (int)u : (int)random_below(rng, LABELS + 1) - 1;
        }
        add_chain(builder, labels[t], length[t]);
    }
    phl_forest *forest = finish_forest(builder);

    /* The step from a child value to its parent's state (bottom-up), or from parent to child. */
    double *step = must_alloc((size_t)c * c, sizeof *step);
    for (size_t q = 0; q < c; q++) {
        for (size_t j = 0; j < c; j++) {
            if (params->transition != NULL) {
                step[q * c + j] = params->transition[q * c + j];
            } else if (params->n_axes == 0) {
                step[q * c + j] = params->core[j];
            } else if (params->soft) {
                size_t k = params->axes[0].size;
                for (size_t z = 0; z < k; z++) {
                    step[q * c + j] += params->axes[0].matrix[q * k + z] * params->core[z * c + j];
                }
            } else {
                step[q * c + j] = params->core[params->axes[0].block[q] * c + j];
            }
        }
    }
    bool down = kind->kind == PHL_TD;
    const double *emitted[LONGEST];
    double *start_counts = must_alloc(c, sizeof(double));
    double *step_counts = must_alloc((size_t)c * c, sizeof(double));
    struct hmm h = {.states = c, .step = step, .emitted = emitted};
    h.start = down ? params->root : params->prior;
    h.forward = must_alloc((size_t)LONGEST * c, sizeof(double));
    h.backward = must_alloc((size_t)LONGEST * c, sizeof(double));
    h.scale = must_alloc(LONGEST, sizeof(double));
    prepared p = prepare(forest, &forest->labels, params, 1);
    for (size_t t = 0; t < CHAINS; t++) {
        h.length = length[t];
        for (size_t u = 0; u < length[t]; u++) { /* bottom-up: the leaf comes first */
            int label = labels[t][down ? u : length[t] - 1 - u];
            uint32_t row =
                label < 0 ? LABELS + 1 : p.label_row[phl_forest_find_label(forest, letter[label])];
            emitted[u] = params->emission + row * c;
        }
        check_close(phl_upward_tree(p.upward, t), hmm_run(&h, start_counts, step_counts), EXACT);
    }
    phl_params *counts = count(&p);
    for (size_t j = 0; j < c; j++) {
        check_close((down ? counts->root : counts->prior)[j], start_counts[j], 1e-11);
    }
    if (!params->soft && params->n_axes <= 1 && (params->core == NULL || params->n_axes == 1)) {
        for (size_t q = 0; q < c; q++) {
            for (size_t j = 0; j < c; j++) {
                double found = params->transition != NULL
                                   ? counts->transition[q * c + j]
                                   : counts->core[params->axes[0].block[q] * c + j];
                check_close(found, step_counts[q * c + j], 1e-11);
            }
        }
    }
    phl_params_free(counts);
    unprepare(&p);
    phl_free(h.forward);
    phl_free(h.backward);
    phl_free(h.scale);
    phl_free(start_counts);
    phl_free(step_counts);
    phl_free(step);
    phl_free(labels);
    phl_forest_free(forest);
    phl_params_free(params);
}

static void test_chains_are_hidden_markov_models(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        for (uint64_t i = 0; i < 20; i++) {
            phl_rng rng;
            phl_rng_init(&rng, SEED, 5, k, 0, i);
            check_chains(&rng, &kinds[k], i % 2 == 0 ? ROWS_PLAIN : ROWS_SKEWED);
        }
    }
}

/* A star: the root's label is unknown, `first` leaves say "a", the `second` ones after them "b".
 * Each leaf is weak evidence, all together speak with more than 1e308 to 1, and the last ones
 * decide; nothing may be lost on the way there.  L = 1, so every leaf but the first lies beyond. */
static void test_wide_node_keeps_all_evidence(void **state)
{
    (void)state;
    enum { FIRST = 400, SECOND = 600 };
    phl_builder *builder = new_builder(false);
    must(phl_builder_open(builder, NULL, 1, error));
    for (uint32_t i = 0; i < FIRST + SECOND; i++) {
        must(phl_builder_open(builder, letter[i < FIRST ? 0 : 1], i + 1, error));
        must(phl_builder_close(builder, error));
    }
    must(phl_builder_close(builder, error));
    must(phl_builder_end_tree(builder, NULL, error));
    phl_forest *forest = finish_forest(builder);

    phl_params *params = NULL;
    must(phl_params_create(PHL_TD, 2, 1, 2, NULL, 0, 0, &params, error));
    static const double emission[] = {0.9, 0.1, 0.1, 0.9, 0, 0};
    static const double transition[] = {0.99, 0.01, 0.01, 0.99};
    memcpy(params->emission, emission, sizeof emission);
    memcpy(params->transition, transition, sizeof transition);
    params->root[0] = params->root[1] = 0.5;
    phl_params_complete(params);

    double agrees = log(0.99 * 0.9 + 0.01 * 0.1);
    double differs = log(0.99 * 0.1 + 0.01 * 0.9);
    double zero = FIRST * agrees + SECOND * differs; /* root in state 0; the other is far larger */
    double one = FIRST * differs + SECOND * agrees;
    prepared p = prepare(forest, &forest->labels, params, 1);
    check_close(phl_upward_tree(p.upward, 0), log(0.5) + one + log1p(exp(zero - one)), EXACT);
    bool possible = false;
    must(phl_tree_marginals(p.view, 0, &possible, error));
    assert_true(possible);
    check_close(p.view->marginal[1], 1.0, EXACT);
    /* A leaf that says "a" below a root in state 1. */
    double leaf = 0.01 * 0.9 / (0.01 * 0.9 + 0.99 * 0.1);
    check_close(p.view->marginal[2], leaf, EXACT);
    phl_params *counts = count(&p);
    check_close(counts->root[1], 1.0, EXACT);
    unprepare(&p);
    phl_params_free(counts);
    phl_params_free(params);
    phl_forest_free(forest);
}

int main(void)
{
    print_message("seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_renaming_states),
        cmocka_unit_test(test_identity_partitions_are_full),
        cmocka_unit_test(test_chains_are_hidden_markov_models),
        cmocka_unit_test(test_wide_node_keeps_all_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
