/* sample.c - trees drawn from a model: labels for given shapes, and whole trees.
 *
 * Whole trees are grown as shapes without labels first; then both kinds go the same way: one draw
 * of the model per tree, hidden states given the shape alone, labels from the states.  A grammar
 * makes labels and shape of whole trees together.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/parallel.h"
#include "forest/builder.h"
#include "forest/copy.h"
#include "model/chain_weights.h"
#include "model/purposes.h"
#include "task/grow_grammar.h"
#include "task/grow_shape.h"
#include "task/root_labels.h"
#include "task/session.h"
#include "task/use.h"

static const phl_sample_options defaults = {
    .size = sizeof(phl_sample_options),
    .seed = 42,
    .trees = 10,
    .max_nodes = 10000,
    .max_attempts = 1000,
};

void phl_sample_options_init_sized(phl_sample_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

/* Whole trees are made in blocks of so many trees or nodes. */
enum { BLOCK_TREES = 100000, BLOCK_NODES = 1000000 };

/* Which of its draws the model uses for tree number `tree`, for its shape and its labels. */
static size_t pick_draw(const phl_model *model, size_t n_draws, uint64_t seed, size_t tree)
{
    phl_rng rng;
    phl_rng_init(&rng, seed, PHL_PURPOSE_PICK, model->class_index, 0, tree);
    if (!phl_chain_weights_differ(model)) {
        return (size_t)phl_rng_bounded(&rng, n_draws);
    }
    double left = phl_rng_uniform(&rng);
    size_t last = 0;
    for (size_t d = 0; d < model->n_draws && left >= 0.0; d++) {
        last = model->draws[d].weight > 0.0 ? d : last;
        left -= model->draws[d].weight;
    }
    return last;
}

/* ---------------------------------------------------------------------------------------------
 * Labels for the shapes of one model
 * ------------------------------------------------------------------------------------------- */

struct worker {
    phl_tree_view *view;
    phl_upward *bare; /* of a draw for which a root's label is impossible */
    size_t bare_draw;
    uint32_t *states;
    size_t states_capacity;
    phl_outlook *outlook; /* of a grammar's trees */
    phl_grammar_state *drawn;
    size_t drawn_capacity;
};

struct labels {
    const phl_use *use;
    const phl_model *model;
    uint64_t seed;
    size_t first_ordinal;
    const phl_forest *shapes; /* labels unknown, */
    phl_forest *rooted;       /* but for those of roots in this copy; NULL: there is none */
    phl_prepared prepared;
    uint64_t *nodes, *unknown;
    uint32_t *unknown_row; /* [labels of the shapes] the row of an unknown label for all */
    size_t *first;         /* [T + 1] where each tree's labels begin */
    int32_t *labels;
    struct worker *workers;
    int n_workers;
    const phl_upward *upward; /* of the draw at hand */
    const phl_values *values; /* the same for a grammar; else NULL */
    phl_grammar_session *grammar;
    size_t draw, n_draws;
};

static phl_status sample_grammar(struct labels *work, struct worker *own, size_t tree, phl_rng *rng,
                                 phl_error *error)
{
    size_t n = work->first[tree + 1] - work->first[tree];
    phl_status status = phl_grow(&own->drawn, &own->drawn_capacity, n, sizeof *own->drawn, error);
    if (status == PHL_OK) {
        status = phl_grammar_session_turn(&own->outlook, work->values, error);
    }
    if (status == PHL_OK) {
        status = phl_outlook_draw(own->outlook, tree, rng, own->drawn, error);
    }
    for (size_t u = 0; status == PHL_OK && u < n; u++) {
        work->labels[work->first[tree] + u] = (int32_t)own->drawn[u].symbol;
    }
    return status;
}

/* States where the draw holds the root's label for impossible, as without smoothing it may: then
 * the others are drawn as if it were unknown. */
static phl_status draw_without_root(struct labels *work, struct worker *own, size_t tree,
                                    phl_rng *rng, phl_error *error)
{
    bool possible = false;
    phl_status status = PHL_OK;
    if (own->bare == NULL || own->bare_draw != work->draw) {
        phl_upward_free(own->bare);
        own->bare = NULL;
        own->bare_draw = work->draw;
        status = phl_upward_create(work->prepared.index, work->model->draws[work->draw].params,
                                   work->unknown_row, &own->bare, error);
        if (status == PHL_OK) {
            status = phl_upward_run(own->bare, 1, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_session_turn_view(&own->view, own->bare, error);
    }
    if (status == PHL_OK) {
        status = phl_tree_draw_states(own->view, tree, rng, own->states, &possible, error);
    }
    if (status == PHL_OK) {
        PHL_CHECK_BUG(possible, error);
        status = phl_session_turn_view(&own->view, work->upward, error);
    }
    return status;
}

static phl_status sample_tree(size_t chunk, size_t begin, size_t end, int worker, void *context,
                              phl_error *error)
{
    (void)chunk;
    struct labels *work = context;
    struct worker *own = &work->workers[worker];
    phl_status status = PHL_OK;
    for (size_t t = begin; status == PHL_OK && t < end; t++) {
        if (pick_draw(work->model, work->n_draws, work->seed, work->first_ordinal + t) !=
            work->draw) {
            continue;
        }
        size_t n = work->first[t + 1] - work->first[t];
        bool possible = false;
        phl_rng rng;
        phl_rng_init(&rng, work->seed, PHL_PURPOSE_SAMPLE, work->model->class_index, 0,
                     work->first_ordinal + t);
        if (work->values != NULL) {
            status = sample_grammar(work, own, t, &rng, error);
            continue;
        }
        status = phl_session_turn_view(&own->view, work->upward, error);
        if (status != PHL_OK) {
            return status;
        }
        status = phl_grow(&own->states, &own->states_capacity, n, sizeof *own->states, error);
        if (status != PHL_OK) {
            return status;
        }
        status = phl_tree_draw_states(own->view, t, &rng, own->states, &possible, error);
        if (status == PHL_OK && !possible) {
            status = draw_without_root(work, own, t, &rng, error);
        }
        if (status == PHL_OK) {
            phl_session_emit_labels(own->view, own->states, &rng, work->labels + work->first[t]);
        }
    }
    return status;
}

/* All trees that use one draw of the model. */
static phl_status sample_draw(struct labels *work, size_t draw, phl_error *error)
{
    const phl_use *use = work->use;
    size_t n_trees = work->shapes->n_trees, t = 0;
    while (t < n_trees &&
           pick_draw(work->model, work->n_draws, work->seed, work->first_ordinal + t) != draw) {
        t++;
    }
    if (t == n_trees) {
        return PHL_OK;
    }
    phl_upward *upward = NULL;
    phl_status status = PHL_OK;
    if (work->grammar != NULL) {
        status = phl_grammar_session_values(work->grammar, draw, &work->values, error);
    } else {
        status = phl_upward_create(work->prepared.index, work->model->draws[draw].params,
                                   work->prepared.label_row, &upward, error);
        if (status == PHL_OK) {
            status = phl_upward_run(upward, use->threads, error);
        }
    }
    if (status == PHL_OK) {
        work->upward = upward;
        work->draw = draw;
        status = phl_parallel_chunks(n_trees, 16, use->threads, sample_tree, work, use->cancel,
                                     use->context, error);
    }
    phl_upward_free(upward);
    return status;
}

/* The labels of roots come first. */
static phl_status know_roots(struct labels *work, phl_error *error)
{
    uint64_t *nodes = NULL, *unknown = NULL;
    phl_status status = phl_forest_count_nodes(work->shapes, &nodes, &unknown, error);
    if (status == PHL_OK) {
        status = phl_root_labels_draw(work->model, work->shapes, nodes, work->seed,
                                      work->first_ordinal, &work->rooted, error);
    }
    phl_free(nodes);
    phl_free(unknown);
    work->shapes = status == PHL_OK ? work->rooted : work->shapes;
    return status;
}

static phl_status prepare(struct labels *work, phl_error *error)
{
    if (work->model->run->shapes != NULL) {
        phl_status status = know_roots(work, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    const phl_forest *shapes = work->shapes;
    phl_status status = phl_scores_prepare(work->model->run, shapes, &work->prepared, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_forest_count_nodes(shapes, &work->nodes, &work->unknown, error);
    if (status != PHL_OK) {
        return status;
    }
    work->n_draws = work->model->n_draws;
    if (work->model->run->kind == PHL_GRAMMAR) {
        status = phl_grammar_session_create(work->model, shapes, work->prepared.label_row, 0,
                                            &work->grammar, error);
        work->n_draws = status == PHL_OK ? work->grammar->grammars.n : 0;
    }
    if (status != PHL_OK) {
        return status;
    }
    work->n_workers = phl_parallel_threads(work->use->threads);
    work->workers = phl_alloc_zero((size_t)work->n_workers, sizeof *work->workers, error);
    work->first = phl_alloc(shapes->n_trees + 1, sizeof *work->first, error);
    work->unknown_row = phl_alloc(shapes->labels.count, sizeof *work->unknown_row, error);
    if (work->workers == NULL || work->first == NULL || work->unknown_row == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < shapes->labels.count; i++) {
        work->unknown_row[i] = (uint32_t)work->model->run->labels.count + 1;
    }
    work->first[0] = 0;
    for (size_t t = 0; t < shapes->n_trees; t++) {
        work->first[t + 1] = work->first[t] + (size_t)work->nodes[shapes->tree_root[t]];
    }
    work->labels = phl_alloc(work->first[shapes->n_trees], sizeof *work->labels, error);
    return work->labels == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

/* Everything but the labels and where they begin. */
static void release_work(struct labels *work)
{
    for (int w = 0; work->workers != NULL && w < work->n_workers; w++) {
        phl_tree_view_free(work->workers[w].view);
        phl_upward_free(work->workers[w].bare);
        phl_free(work->workers[w].states);
        phl_outlook_free(work->workers[w].outlook);
        phl_free(work->workers[w].drawn);
    }
    phl_grammar_session_free(work->grammar);
    phl_free(work->workers);
    phl_free(work->nodes);
    phl_free(work->unknown);
    phl_free(work->unknown_row);
    phl_forest_free(work->rooted);
    work->rooted = NULL;
    phl_scores_clear(&work->prepared);
}

/* Into work->labels; model, seed, shapes and the like are set.  clear_labels in any case. */
static phl_status draw_labels(struct labels *work, phl_error *error)
{
    phl_status status = phl_scores_check_draws(work->model, error);
    if (status == PHL_OK) {
        status = prepare(work, error);
    }
    for (size_t d = 0; status == PHL_OK && d < work->n_draws; d++) {
        status = sample_draw(work, d, error);
    }
    release_work(work);
    return status;
}

static void clear_labels(struct labels *work)
{
    phl_free(work->first);
    phl_free(work->labels);
}

/* ---------------------------------------------------------------------------------------------
 * Given shapes
 * ------------------------------------------------------------------------------------------- */

struct sampling {
    phl_use use;
    const phl_sample_options *options;
    phl_forest_fn each;
    uint64_t rejected; /* shapes thrown away */
};

/* What was copied, if status is fine; the copy is used up. */
static phl_status give(const struct sampling *work, phl_copy *copy, phl_status status,
                       phl_error *error)
{
    phl_forest *made = NULL;
    if (status == PHL_OK) {
        status = phl_copy_finish(copy, &made, error);
    }
    if (status == PHL_OK) {
        status = work->each(made, work->use.context, error);
    }
    phl_forest_free(made);
    phl_copy_clear(copy);
    return status;
}

/* The block with the labels drawn for each of its portions. */
static phl_status give_relabelled(struct sampling *work, const phl_use_portions *portions,
                                  const struct labels *drawn, phl_error *error)
{
    phl_copy copy;
    phl_status status =
        phl_copy_begin_relabelled(&copy, work->use.block, &work->use.run->labels, error);
    for (size_t t = 0; status == PHL_OK && t < portions->n_trees; t++) {
        const struct labels *own = &drawn[portions->of_tree[t]];
        status =
            phl_copy_add_relabelled(&copy, t, own->labels + own->first[portions->place[t]], error);
    }
    return give(work, &copy, status, error);
}

static phl_status sample_portions(struct sampling *work, const phl_use_portions *portions,
                                  phl_error *error)
{
    struct labels *drawn = phl_alloc_zero(portions->n, sizeof *drawn, error);
    phl_status status = drawn == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < portions->n; i++) {
        const phl_use_portion *portion = &portions->portions[i];
        phl_forest *bare = NULL;
        status = phl_copy_trees(portion->forest, NULL, phl_forest_trees(portion->forest),
                                PHL_COPY_SHAPES, &bare, error);
        if (status == PHL_OK) {
            drawn[i] = (struct labels){.use = &work->use,
                                       .model = portion->model,
                                       .seed = work->options->seed,
                                       .first_ordinal = portion->first_ordinal,
                                       .shapes = bare};
            status = draw_labels(&drawn[i], error);
        }
        phl_forest_free(bare);
    }
    if (status == PHL_OK) {
        status = give_relabelled(work, portions, drawn, error);
    }
    for (size_t i = 0; drawn != NULL && i < portions->n; i++) {
        clear_labels(&drawn[i]);
    }
    phl_free(drawn);
    return status;
}

static phl_status sample_shapes(struct sampling *work, phl_error *error)
{
    phl_status status = PHL_OK;
    while (status == PHL_OK && (status = phl_use_next(&work->use, error)) == PHL_OK &&
           work->use.block != NULL) {
        phl_use_portions portions;
        status = phl_use_portions_make(&work->use, &portions, error);
        if (status == PHL_OK && portions.n_trees > 0) {
            status = sample_portions(work, &portions, error);
        }
        if (status == PHL_OK) {
            status = phl_use_portions_finish(&work->use, &portions, error);
        }
        phl_use_portions_clear(&portions);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Shapes that grow
 * ------------------------------------------------------------------------------------------- */

enum { ABSENT, LEAF, INTERNAL };

/* A node that waits for its children to be drawn, or to be closed. */
struct pending {
    uint32_t slot;
    bool leaf;
    bool close; /* its children are done */
};

struct growing {
    const phl_params *params;
    double *some_from; /* [L + 1] probability that some slot from l + 1 on is not absent */
    struct pending *stack;
    size_t depth, capacity;
    size_t nodes; /* of the trees that were kept */

    phl_grow_grammar grammar; /* of a grammar run: */
    phl_backoff *const *backoffs;
    size_t n_backoffs; /* its starts; 0: it is of another kind */
    int32_t *label_of;

    phl_grow_shape shape; /* of a run with a model of shapes */
};

/* 1 - prod_{m > l} o^m(absent) for l = L .. 0, without cancellation: some(l) = (1 - a) + a some(l +
 * 1). */
static void prepare_growing(struct growing *growing, const phl_params *params)
{
    growing->params = params;
    growing->some_from[params->slots] = 0.0;
    for (size_t l = params->slots; l-- > 0;) {
        const double *o = params->shape + 3 * l;
        growing->some_from[l] = o[LEAF] + o[INTERNAL] + o[ABSENT] * growing->some_from[l + 1];
    }
}

/* The outcome of slot l + 1 of an internal node, given that not all of them are absent and whether
 * one before it is not. */
static int draw_slot(const struct growing *growing, size_t l, bool some, phl_rng *rng)
{
    const double *o = growing->params->shape + 3 * l;
    double absent = some ? o[ABSENT] : o[ABSENT] * growing->some_from[l + 1];
    double at = phl_rng_uniform(rng) * (absent + o[LEAF] + o[INTERNAL]) - absent;
    if (absent > 0.0 && at < 0.0) {
        return ABSENT;
    }
    return o[INTERNAL] > 0.0 && (at >= o[LEAF] || o[LEAF] <= 0.0) ? INTERNAL : LEAF;
}

static phl_status push(struct growing *growing, struct pending node, phl_error *error)
{
    phl_status status = phl_grow(&growing->stack, &growing->capacity, growing->depth + 1,
                                 sizeof *growing->stack, error);
    if (status == PHL_OK) {
        growing->stack[growing->depth++] = node;
    }
    return status;
}

/* One attempt at a tree, which is left open in the builder: *size 0 when it passed max_nodes or the
 * model cannot make such a node. */
static phl_status grow_tree(struct growing *growing, phl_builder *builder, size_t max_nodes,
                            phl_rng *rng, size_t *size, phl_error *error)
{
    const phl_params *params = growing->params;
    struct pending root = {.slot = 1, .leaf = phl_rng_uniform(rng) < params->root_kind[0]};
    growing->depth = 0;
    *size = 0;
    size_t made = 0, waiting = 1;
    phl_status status = push(growing, root, error);
    while (status == PHL_OK && growing->depth > 0) {
        struct pending node = growing->stack[--growing->depth];
        if (node.close) {
            status = phl_builder_close(builder, error);
            continue;
        }
        if (made + waiting > max_nodes || (!node.leaf && growing->some_from[0] <= 0.0)) {
            return PHL_OK;
        }
        made++;
        waiting--;
        status = phl_builder_open_label(builder, PHL_UNKNOWN, node.slot, error);
        node.close = true;
        if (status == PHL_OK) {
            status = push(growing, node, error);
        }
        bool some = false;
        for (size_t l = 0; status == PHL_OK && !node.leaf && l < params->slots; l++) {
            int outcome = draw_slot(growing, l, some, rng);
            if (outcome != ABSENT) {
                struct pending child = {.slot = (uint32_t)l + 1, .leaf = outcome == LEAF};
                some = true;
                waiting++;
                status = push(growing, child, error);
            }
        }
    }
    *size = made;
    return status;
}

/* Tree number `tree`; attempts thrown away are counted. */
static phl_status grow_until(struct sampling *work, struct growing *growing, phl_builder *builder,
                             const phl_model *model, size_t tree, phl_error *error)
{
    const phl_sample_options *options = work->options;
    size_t draws = growing->n_backoffs > 0 ? growing->n_backoffs : model->n_draws;
    size_t draw = pick_draw(model, draws, options->seed, tree);
    if (growing->n_backoffs > 0) {
        phl_status status =
            phl_grow_grammar_turn(&growing->grammar, growing->backoffs[draw], error);
        if (status != PHL_OK) {
            return status;
        }
    } else if (growing->shape.model == NULL) {
        prepare_growing(growing, model->draws[draw].params);
    }
    for (size_t attempt = 0; attempt < options->max_attempts; attempt++) {
        size_t size = 0;
        phl_rng rng;
        phl_status status = phl_use_check_cancel(&work->use, error);
        if (status != PHL_OK) {
            return status;
        }
        phl_rng_init(&rng, options->seed, PHL_PURPOSE_SHAPE, model->class_index, attempt, tree);
        status = growing->n_backoffs > 0
                     ? phl_grow_grammar_tree(&growing->grammar, builder, options->max_nodes, &rng,
                                             &size, error)
                 : growing->shape.model != NULL
                     ? phl_grow_shape_tree(&growing->shape, builder, options->max_nodes, &rng,
                                           &size, error)
                     : grow_tree(growing, builder, options->max_nodes, &rng, &size, error);
        if (status != PHL_OK || size > 0) {
            growing->nodes += size;
            return status;
        }
        phl_builder_abandon_tree(builder);
        work->rejected++;
    }
    return phl_raise(error, PHL_ERR_LIMIT,
                     "raise " PHL_OPTION("sample.max_nodes") "; the model's trees may never end",
                     "tree %zu did not end within %zu nodes in any of %zu attempts", tree,
                     options->max_nodes, options->max_attempts);
}

/* The labels of the run in a builder. */
static phl_status enter_labels(const phl_run *run, phl_builder *builder, struct growing *growing,
                               phl_error *error)
{
    growing->label_of = phl_alloc(run->labels.count, sizeof *growing->label_of, error);
    phl_status status = growing->label_of == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < run->labels.count; i++) {
        status =
            phl_builder_label(builder, phl_alphabet_name(&run->labels, i),
                              phl_alphabet_length(&run->labels, i), &growing->label_of[i], error);
    }
    growing->grammar.label_of = growing->label_of;
    return status;
}

/* A block of shapes, or of a grammar's whole trees, from tree number `tree` on; *end is the first
 * that is left out. */
static phl_status grow_shapes(struct sampling *work, const phl_model *model,
                              const phl_grammar_session *grammar, size_t tree, size_t *end,
                              phl_forest **shapes, phl_error *error)
{
    phl_builder *builder = NULL;
    struct growing growing = {0};
    if (grammar != NULL) {
        growing.backoffs = grammar->backoffs;
        growing.n_backoffs = grammar->grammars.n;
    } else {
        growing.shape.model = model->run->shapes;
        growing.shape.class_index = model->class_index;
    }
    phl_tree_info info = {.class_name = phl_run_class_name(model->run, model->class_index)};
    phl_status status = phl_builder_create(NULL, &builder, error);
    if (status == PHL_OK) {
        growing.some_from =
            phl_alloc((size_t)model->run->slots + 1, sizeof *growing.some_from, error);
        status = growing.some_from == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status == PHL_OK && grammar != NULL) {
        status = enter_labels(model->run, builder, &growing, error);
    }
    size_t n = 0;
    for (; status == PHL_OK && tree + n < work->options->trees && n < BLOCK_TREES &&
           growing.nodes < BLOCK_NODES;
         n++) {
        status = grow_until(work, &growing, builder, model, tree + n, error);
        if (status == PHL_OK) {
            status = phl_builder_end_tree(builder, &info, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_builder_finish(builder, shapes, error);
    }
    *end = tree + n;
    phl_builder_free(builder);
    phl_free(growing.some_from);
    phl_free(growing.stack);
    phl_grow_grammar_clear(&growing.grammar);
    phl_grow_shape_clear(&growing.shape);
    phl_free(growing.label_of);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Whole trees
 * ------------------------------------------------------------------------------------------- */

/* A block of shapes with labels drawn for it. */
static phl_status give_grown(struct sampling *work, const phl_model *model,
                             const phl_forest *shapes, size_t first_ordinal, phl_error *error)
{
    struct labels drawn = {.use = &work->use,
                           .model = model,
                           .seed = work->options->seed,
                           .first_ordinal = first_ordinal,
                           .shapes = shapes};
    phl_copy copy = {0};
    phl_status status = draw_labels(&drawn, error);
    if (status == PHL_OK) {
        status = phl_copy_begin_relabelled(&copy, shapes, &model->run->labels, error);
    }
    for (size_t t = 0; status == PHL_OK && t < shapes->n_trees; t++) {
        status = phl_copy_add_relabelled(&copy, t, drawn.labels + drawn.first[t], error);
    }
    status = give(work, &copy, status, error);
    clear_labels(&drawn);
    return status;
}

static phl_status sample_model(struct sampling *work, const phl_model *model, phl_error *error)
{
    phl_status status = phl_scores_check_draws(model, error);
    phl_grammar_session *grammar = NULL;
    if (status == PHL_OK && model->run->kind == PHL_GRAMMAR) {
        status = phl_grammar_session_create(model, NULL, NULL, 0, &grammar, error);
    }
    for (size_t tree = 0; status == PHL_OK && tree < work->options->trees;) {
        size_t first = tree;
        phl_forest *shapes = NULL;
        status = grow_shapes(work, model, grammar, first, &tree, &shapes, error);
        if (status == PHL_OK) {
            status = grammar != NULL ? work->each(shapes, work->use.context, error)
                                     : give_grown(work, model, shapes, first, error);
        }
        phl_forest_free(shapes);
    }
    phl_grammar_session_free(grammar);
    return status;
}

static void tell_rejected(const struct sampling *work)
{
    if (work->rejected > 0) {
        phl_error note = {.status = PHL_OK};
        (void)phl_raise(
            &note, PHL_OK, "raise " PHL_OPTION("sample.max_nodes") " to keep larger ones",
            "%llu tree%s discarded for exceeding %zu nodes", (unsigned long long)work->rejected,
            work->rejected == 1 ? " was" : "s were", work->options->max_nodes);
        phl_use_note(&work->use, &note);
    }
}

static phl_status sample_whole(struct sampling *work, phl_error *error)
{
    const phl_sample_options *options = work->options;
    const phl_use *use = &work->use;
    if (options->trees == 0 || options->max_nodes == 0 || options->max_attempts == 0) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "%zu trees of at most %zu nodes in %zu attempts: each must be at least 1",
                         options->trees, options->max_nodes, options->max_attempts);
    }
    phl_status status = PHL_OK;
    for (size_t m = 0; status == PHL_OK && m < use->run->n_models; m++) {
        if (use->named == SIZE_MAX || use->named == m) {
            work->rejected = 0;
            status = sample_model(work, &use->run->models[m], error);
            if (status == PHL_OK) {
                tell_rejected(work);
            }
        }
    }
    return status;
}

phl_status phl_sample(const phl_run *run, phl_source *shapes, const phl_sample_options *options,
                      phl_forest_fn each, phl_error *error)
{
    phl_sample_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_sample", error);
    if (status != PHL_OK) {
        return status;
    }
    struct sampling work = {.options = &own, .each = each};
    status = phl_use_begin(&work.use, run, shapes, PHL_OPTION("sample.class_name"), own.class_name,
                           own.threads, own.report, own.cancel, own.context, error);
    work.use.count_unseen = false; /* labels that shapes have are not looked at */
    if (status == PHL_OK) {
        status = shapes != NULL ? sample_shapes(&work, error) : sample_whole(&work, error);
    }
    phl_use_clear(&work.use);
    return status;
}
