/* task_models.h - helpers for testing what uses a model: runs with random draws, and inference by
 * brute force, which shares no code with the library's.
 */
#ifndef PHL_TESTS_TASK_MODELS_H
#define PHL_TESTS_TASK_MODELS_H

#include <math.h>

#include "formats.h"
#include "model/run.h"
#include "models.h"

static inline phl_alphabet names_of(const char *const *names, size_t n)
{
    phl_alphabet made = {0};
    for (size_t i = 0; i < n; i++) {
        int32_t number;
        assert_int_equal(phl_alphabet_add(&made, names[i], strlen(names[i]), &number, NULL),
                         PHL_OK);
    }
    return made;
}

#define SEED 20260 /* of everything that is random here */

/* A run without draws over the labels a, b, c, ... (n_labels of them), one model per class or, with
 * n_classes 0, one for all. */
static inline phl_run *empty_run(phl_kind kind, uint32_t states, uint32_t slots, size_t n_labels,
                                 const char *const *classes, size_t n_classes)
{
    phl_alphabet label_names = names_of(letter, n_labels);
    phl_alphabet class_names = names_of(classes, n_classes);
    phl_run *run = NULL;
    must(phl_run_create(kind, states, slots, &label_names, &class_names, n_classes > 0, &run,
                        error));
    phl_alphabet_clear(&label_names);
    phl_alphabet_clear(&class_names);
    return run;
}

/* Add a draw to a model, which counts as trained on 1 + `model` more trees; takes over params. */
static inline void add_draw(phl_run *run, size_t model, phl_params *params)
{
    phl_draw draw = {.params = params, .log_joint = (double)run->models[model].n_draws};
    must(phl_model_add_draw(&run->models[model], &draw, error));
    run->models[model].trees += 1 + model;
    run->models[model].weight += 1.0 + (double)model;
}

static inline void add_random_draw(phl_run *run, size_t model, uint64_t seed, row_style style)
{
    phl_rng rng;
    phl_rng_init(&rng, seed, 0x7461736b, model, 0, run->models[model].n_draws);
    add_draw(run, model,
             random_params(&rng, run->kind, false, run->states, run->slots,
                           (uint32_t)run->labels.count, run->slots, style));
}

/* ---- Runs and trees -------------------------------------------------------------------------- */

static const phl_kind kinds[] = {PHL_SP, PHL_FULL, PHL_TF, PHL_TD};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Gaps, unknown labels, a label nobody knows (z), single nodes, repeated trees, a class that no run
 * below knows. */
static const char *const tiny = "left\t(a (b) (c))\n"
                                "right\t(a _ (b (c) (?)))\n"
                                "left\t(?)\n"
                                "right\t(b)\n"
                                "left\t(z (a (b)) (? _ (c)))\n"
                                "left\t(a (b) (c))\n"
                                "other\t(c (c (c)))\n";

/* Three states, two slots, labels a to c; a model for left and one for right, or one for all. */
static inline phl_run *random_run(phl_kind kind, bool per_class, size_t draws, row_style style)
{
    static const char *const classes[] = {"left", "right"};
    phl_run *run = empty_run(kind, 3, 2, 3, classes, per_class ? 2 : 0);
    for (size_t m = 0; m < run->n_models; m++) {
        for (size_t d = 0; d < draws; d++) {
            add_random_draw(run, m, SEED + (uint64_t)kind, style);
        }
    }
    return run;
}

/* Two draws each, in which only label `only` is possible; 3: none that has a name. */
static inline phl_run *one_label_run(bool per_class, size_t only)
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

/* ---- Tasks ----------------------------------------------------------------------------------- */

static inline phl_source *source_of(const phl_forest *forest)
{
    phl_source *source = NULL;
    must(phl_source_forest(forest, &source, error));
    return source;
}

/* A phl_score_fn: scores [trees], the context, without what is about nodes. */
static inline phl_status keep_score(const phl_tree_at *at, const phl_tree_score *score,
                                    void *context, phl_error *error)
{
    (void)error;
    phl_tree_score *scores = context;
    scores[at->number] = *score;
    scores[at->number].bits = scores[at->number].predictive = NULL;
    return PHL_OK;
}

/* Scores [trees] of a forest under a run's only model. */
static inline void score_forest(const phl_run *run, const phl_forest *forest, bool structure,
                                phl_tree_score *scores)
{
    phl_source *source = source_of(forest);
    phl_score_options options;
    phl_score_options_init(&options);
    options.structure = structure;
    options.context = scores;
    must(phl_score(run, source, &options, keep_score, error));
    phl_source_free(source);
}

/* A phl_classify_fn: posteriors [trees][2], the context. */
static inline phl_status keep_posterior(const phl_tree_at *at,
                                        const phl_classified_tree *classified, void *context,
                                        phl_error *error)
{
    (void)error;
    double *row = (double *)context + 2 * at->number;
    memcpy(row, classified->log_posterior, 2 * sizeof *row);
    assert_true(classified->best == (row[1] > row[0] ? 1 : 0));
    assert_true(at->class_index == classified->best);
    return PHL_OK;
}

/* A phl_forest_fn: the blocks as one forest, **context. */
static inline phl_status keep_forest(const phl_forest *block, void *context, phl_error *error)
{
    phl_forest **kept = context, *joined = NULL;
    const phl_forest *both[2] = {*kept, block};
    phl_status status =
        phl_forest_concat(*kept == NULL ? both + 1 : both, *kept == NULL ? 1 : 2, &joined, error);
    if (status == PHL_OK) {
        phl_forest_free(*kept);
        *kept = joined;
    }
    return status;
}

/* ---- Brute force ----------------------------------------------------------------------------- */

enum { MOST_NODES = 8, MOST_SLOTS = 8 };

/* A tree as a list, in pre-order. */
typedef struct listed {
    size_t n;
    size_t parent[MOST_NODES];
    uint32_t slot[MOST_NODES];
    bool leaf[MOST_NODES];
    int label[MOST_NODES]; /* in the run; M: unseen; -1: unknown */
} listed;

static inline listed list_tree(const phl_forest *forest, size_t tree, const phl_run *run)
{
    listed list = {0};
    phl_walk *walk = NULL;
    phl_visit visit;
    assert_int_equal(phl_walk_create(forest, &walk, NULL), PHL_OK);
    phl_walk_start(walk, tree);
    while (phl_walk_next(walk, &visit, NULL) > 0) {
        assert_true(visit.node < MOST_NODES);
        list.parent[visit.node] = visit.parent;
        list.slot[visit.node] = visit.slot;
        list.leaf[visit.node] = visit.leaf;
        list.label[visit.node] = -1;
        if (visit.label >= 0) {
            const char *name = phl_forest_label_name(forest, visit.label);
            int known = phl_alphabet_find(&run->labels, name, strlen(name));
            list.label[visit.node] = known < 0 ? (int)run->labels.count : known;
        }
        list.n++;
    }
    phl_walk_free(walk);
    return list;
}

/* A(state of u | states of its children), q = C where a slot is empty. */
static inline double transition(const phl_params *p, uint32_t j, const uint32_t *q)
{
    uint32_t c = p->states;
    if (p->kind == PHL_SP) {
        double sum = 0.0;
        for (uint32_t l = 0; l < p->slots; l++) {
            sum += p->switching[l] * p->transition[(l * (c + 1) + q[l]) * c + j];
        }
        return sum;
    }
    size_t row = 0;
    for (uint32_t a = 0; a < p->n_axes; a++) {
        row = row * p->axes[a].size + p->axes[a].block[q[p->axes[a].slot - 1]];
    }
    return p->core[row * c + j];
}

/* p(states, labels) without the shape; slots must not pass L. */
static inline double joint(const phl_params *p, const listed *t, const uint32_t *states,
                           const int *labels)
{
    uint32_t c = p->states;
    double product = 1.0;
    for (size_t u = 0; u < t->n; u++) {
        uint32_t q[MOST_SLOTS];
        for (uint32_t l = 0; l < p->slots; l++) {
            q[l] = c;
        }
        for (size_t v = u + 1; v < t->n; v++) {
            if (t->parent[v] == u) {
                q[t->slot[v] - 1] = states[v];
            }
        }
        if (p->kind == PHL_TD) {
            product *=
                u == 0
                    ? p->root[states[0]]
                    : p->transition[((t->slot[u] - 1) * c + states[t->parent[u]]) * c + states[u]];
        } else if (t->leaf[u]) {
            product *= p->prior[(t->slot[u] - 1) * c + states[u]];
        } else {
            product *= transition(p, states[u], q);
        }
        if (labels[u] >= 0) {
            product *= p->emission[(size_t)labels[u] * c + states[u]];
        }
    }
    return product;
}

/* p(labels): the sum over all states. */
static inline double brute(const phl_params *p, const listed *t, const int *labels)
{
    uint32_t states[MOST_NODES] = {0};
    double sum = 0.0;
    for (;;) {
        sum += joint(p, t, states, labels);
        size_t u = 0;
        while (u < t->n && ++states[u] == p->states) {
            states[u++] = 0;
        }
        if (u == t->n) {
            return sum;
        }
    }
}

/* Sum over the draws of a model; the average of p is this over their number. */
static inline double brute_draws(const phl_model *model, const listed *t, const int *labels)
{
    double sum = 0.0;
    for (size_t d = 0; d < model->n_draws; d++) {
        sum += brute(model->draws[d].params, t, labels);
    }
    return sum;
}

/* p(shape) from its definition (docs/maths.md). */
static inline double brute_shape(const phl_params *p, const listed *t)
{
    double product = p->root_kind[t->leaf[0] ? 0 : 1], none = 1.0;
    for (uint32_t l = 0; l < p->slots; l++) {
        none *= p->shape[3 * l];
    }
    for (size_t u = 0; u < t->n; u++) {
        for (uint32_t l = 0; !t->leaf[u] && l < p->slots; l++) {
            size_t outcome = 0;
            for (size_t v = u + 1; v < t->n; v++) {
                if (t->parent[v] == u && t->slot[v] == l + 1) {
                    outcome = t->leaf[v] ? 1 : 2;
                }
            }
            product *= p->shape[3 * l + outcome];
        }
        product /= t->leaf[u] ? 1.0 : 1.0 - none;
    }
    return product;
}

/* Sum over draws of p_d(labels) with node u set to `label`. */
static inline double with_label(const phl_model *model, listed t, size_t u, int label)
{
    t.label[u] = label;
    return brute_draws(model, &t, t.label);
}

#endif
