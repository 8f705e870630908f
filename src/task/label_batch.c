/* label_batch.c - predicting and drawing the labels of a batch of trees; see label_batch.h.
 *
 * Contents: all blocks, one block, filling a batch, predicting.
 */
#include "task/label_batch.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/sampler.h"
#include "forest/copy.h"
#include "model/purposes.h"
#include "task/label_forest.h"
#include "task/label_pool.h"
#include "task/measures.h"

/* Numbers kept for the trees of a batch; a larger tree is a batch of its own. */
static const size_t batch_size = (size_t)1 << 23;

/* ---------------------------------------------------------------------------------------------
 * All blocks
 * ------------------------------------------------------------------------------------------- */

phl_status phl_label_batch_init(phl_label_batch *batch, const phl_use *use,
                                const phl_label_options *options, phl_error *error)
{
    *batch = (phl_label_batch){.use = use, .options = options, .n_labels = use->run->labels.count};
    int n_workers = phl_parallel_threads(use->threads);
    batch->workers = phl_alloc_zero((size_t)n_workers, sizeof *batch->workers, error);
    if (batch->workers == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (; batch->n_workers < n_workers; batch->n_workers++) {
        phl_label_batch_worker *worker = &batch->workers[batch->n_workers];
        worker->predictive = phl_alloc(batch->n_labels + 1, sizeof *worker->predictive, error);
        if (worker->predictive == NULL) {
            return PHL_ERR_MEMORY;
        }
    }
    return use->run->expert != NULL ? phl_label_pool_init(batch, error) : PHL_OK;
}

void phl_label_batch_clear(phl_label_batch *batch)
{
    phl_label_batch_close(batch);
    for (int w = 0; w < batch->n_workers; w++) {
        phl_free(batch->workers[w].predictive);
        phl_free(batch->workers[w].states);
        phl_free(batch->workers[w].drawn);
        phl_neighbourhood_clear(&batch->workers[w].nodes);
        phl_free(batch->workers[w].voices);
    }
    phl_expert_tables_free(batch->tables);
    phl_free(batch->workers);
    phl_free(batch->shapes);
    phl_free(batch->members);
    phl_free(batch->weights);
    phl_free(batch->row_node);
    phl_free(batch->probability);
    phl_free(batch->unseen);
    phl_free(batch->entropy);
    phl_free(batch->best);
    phl_free(batch->drawn);
    *batch = (phl_label_batch){0};
}

/* ---------------------------------------------------------------------------------------------
 * One block
 * ------------------------------------------------------------------------------------------- */

/* Passes of all models share what memory there is for them. */
static phl_status open_session(const phl_label_batch *batch, const phl_label_batch_part *part,
                               const phl_forest *forest, phl_session **session, phl_error *error)
{
    return phl_session_create(part->model, forest, batch->use->threads,
                              phl_session_memory() / batch->n_parts, session, error);
}

static phl_status open_part(const phl_label_batch *batch, const phl_use_portion *portion,
                            phl_label_batch_part *part, phl_error *error)
{
    const phl_label_options *options = batch->options;
    part->model = portion->model;
    part->forest = portion->forest;
    part->first_ordinal = portion->first_ordinal;
    phl_status status = PHL_OK;
    if (options->hide > 0.0) {
        status = phl_label_forest_hide(portion->forest, options->hide, options->seed,
                                       portion->first_ordinal, &part->hidden, error);
        part->forest = part->hidden;
    }
    if (status != PHL_OK) {
        return status;
    }
    if (batch->use->run->kind != PHL_NO_KIND || batch->use->run->expert == NULL) {
        status = open_session(batch, part, part->forest, &part->session[0], error);
    }
    if (status != PHL_OK) {
        return status;
    }
    status = phl_scores_roots_init(part->forest, &part->roots, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_index_map_labels(part->forest, &batch->use->run->labels, &part->label_row, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_forest_count_nodes(part->forest, &part->nodes, &part->unknown, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_walk_create(part->forest, &part->walk, error);
    if (status != PHL_OK) {
        return status;
    }
    part->views = phl_alloc_zero((size_t)batch->n_workers, sizeof *part->views, error);
    part->shape_of_root = phl_alloc_zero(part->roots.n, sizeof *part->shape_of_root, error);
    return part->views == NULL || part->shape_of_root == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

phl_status phl_label_batch_open(phl_label_batch *batch, const phl_use_portions *portions,
                                phl_error *error)
{
    batch->n_shapes = batch->n_members = 0;
    batch->parts = phl_alloc_zero(portions->n, sizeof *batch->parts, error);
    batch->n_parts = batch->parts == NULL ? 0 : portions->n;
    phl_status status = batch->parts == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < portions->n; i++) {
        status = open_part(batch, &portions->portions[i], &batch->parts[i], error);
    }
    return status;
}

void phl_label_batch_close(phl_label_batch *batch)
{
    for (int w = 0; w < batch->n_workers; w++) { /* they borrow what the sessions hold */
        phl_outlook_free(batch->workers[w].outlook);
        batch->workers[w].outlook = NULL;
    }
    for (size_t i = 0; i < batch->n_parts; i++) {
        phl_label_batch_part *part = &batch->parts[i];
        for (int w = 0; part->views != NULL && w < batch->n_workers; w++) {
            phl_tree_view_free(part->views[w][0]);
            phl_tree_view_free(part->views[w][1]);
        }
        phl_session_free(part->session[0]);
        phl_session_free(part->session[1]);
        phl_scores_roots_clear(&part->roots);
        phl_free(part->label_row);
        phl_forest_free(part->hidden);
        phl_forest_free(part->shapes);
        phl_walk_free(part->walk);
        phl_free(part->nodes);
        phl_free(part->unknown);
        phl_free(part->views);
        phl_free(part->shape_of_root);
        phl_free(part->shapes_in);
        phl_free(part->members_in);
    }
    phl_free(batch->parts);
    batch->parts = NULL;
    batch->n_parts = 0;
}

bool phl_label_batch_is_impossible(const phl_label_batch *batch, const phl_use_portions *portions,
                                   size_t tree)
{
    const phl_label_batch_part *part = &batch->parts[portions->of_tree[tree]];
    const phl_session *session = part->session[0];
    size_t place = portions->place[tree];
    if (session == NULL || part->unknown[part->forest->tree_root[place]] == 0) {
        return false;
    }
    for (size_t d = 0; d < session->n_draws; d++) {
        if (!isinf(phl_session_labels(session, d, place))) {
            return false;
        }
    }
    return true;
}

phl_status phl_label_batch_add_shapes(phl_label_batch *batch, size_t number, phl_error *error)
{
    phl_label_batch_part *part = &batch->parts[number];
    if (part->session[1] != NULL) {
        return PHL_OK;
    }
    phl_status status = phl_copy_trees(part->forest, NULL, phl_forest_trees(part->forest),
                                       PHL_COPY_SHAPES, &part->shapes, error);
    return status == PHL_OK ? open_session(batch, part, part->shapes, &part->session[1], error)
                            : status;
}

/* ---------------------------------------------------------------------------------------------
 * Filling a batch
 * ------------------------------------------------------------------------------------------- */

/* Enter a number into a list of a part. */
static phl_status list(size_t **numbers, size_t *n, size_t *capacity, size_t number,
                       phl_error *error)
{
    phl_status status = phl_grow(numbers, capacity, *n + 1, sizeof **numbers, error);
    if (status == PHL_OK) {
        (*numbers)[(*n)++] = number;
    }
    return status;
}

/* Enter a tree's shape unless the batch has it. */
static phl_status add_shape(phl_label_batch *batch, size_t number, size_t place, size_t *shape,
                            phl_error *error)
{
    phl_label_batch_part *part = &batch->parts[number];
    const phl_session *session = part->session[0];
    uint32_t root = part->roots.of_tree[place];
    if (part->shape_of_root[root] != 0) {
        *shape = part->shape_of_root[root] - 1;
        return PHL_OK;
    }
    uint32_t subtree = part->forest->tree_root[place];
    size_t draws = session == NULL ? 0 : session->n_draws;
    phl_status status = phl_grow(&batch->shapes, &batch->shape_capacity, batch->n_shapes + 1,
                                 sizeof *batch->shapes, error);
    if (status == PHL_OK) {
        status = phl_grow(&batch->weights, &batch->weights_capacity, batch->n_weights + draws,
                          sizeof *batch->weights, error);
    }
    if (status == PHL_OK) {
        status =
            list(&part->shapes_in, &part->n_shapes, &part->shapes_capacity, batch->n_shapes, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_label_batch_shape *made = &batch->shapes[batch->n_shapes];
    double *weights = batch->weights + batch->n_weights;
    *made = (phl_label_batch_shape){.part = number,
                                    .place = place,
                                    .n = (size_t)part->nodes[subtree],
                                    .n_rows = (size_t)part->unknown[subtree],
                                    .first_row = batch->n_rows,
                                    .first_weight = batch->n_weights};
    made->possible = session == NULL || phl_session_weights(session, place, weights);
    if (!made->possible && made->n_rows > 0 &&
        !phl_session_weights(part->session[1], place, weights)) {
        /* Trained models give every shape a chance; forged ones need not. */
        return phl_raise(error, PHL_ERR_SYNTAX, "use an undamaged copy of the run, or train again",
                         "the model holds a tree of this shape for impossible, whatever its "
                         "labels");
    }
    batch->n_weights += draws;
    batch->n_rows += made->n_rows;
    part->shape_of_root[root] = ++batch->n_shapes;
    *shape = batch->n_shapes - 1;
    return PHL_OK;
}

static phl_status add_member(phl_label_batch *batch, const phl_use_portions *portions, size_t tree,
                             phl_error *error)
{
    size_t shape = 0, number = portions->of_tree[tree], place = portions->place[tree];
    phl_label_batch_part *part = &batch->parts[number];
    phl_status status = add_shape(batch, number, place, &shape, error);
    if (status == PHL_OK) {
        status = phl_grow(&batch->members, &batch->member_capacity, batch->n_members + 1,
                          sizeof *batch->members, error);
    }
    if (status == PHL_OK) {
        status = list(&part->members_in, &part->n_members, &part->members_capacity,
                      batch->n_members, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_label_batch_member *made = &batch->members[batch->n_members++];
    *made = (phl_label_batch_member){.tree = tree,
                                     .part = number,
                                     .place = place,
                                     .shape = shape,
                                     .first_drawn = batch->n_drawn,
                                     .pick = SIZE_MAX};
    if (!batch->options->no_draw && batch->shapes[shape].n_rows > 0) {
        batch->n_drawn += batch->shapes[shape].n;
        phl_rng_init(&made->rng, batch->options->seed, PHL_PURPOSE_LABELS, part->model->class_index,
                     0, part->first_ordinal + place);
        made->pick = part->session[0] == NULL
                         ? 0
                         : phl_categorical_draw(&made->rng,
                                                batch->weights + batch->shapes[shape].first_weight,
                                                part->session[0]->n_draws);
    }
    return PHL_OK;
}

/* Room for the batch's rows, and the node of each. */
static phl_status reserve_rows(phl_label_batch *batch, phl_error *error)
{
    size_t rows = batch->n_rows, m = batch->n_labels;
    const phl_room rooms[] = {
        PHL_ROOM(batch->row_node, batch->row_node_capacity, rows),
        PHL_ROOM(batch->probability, batch->probability_capacity, rows * m),
        PHL_ROOM(batch->unseen, batch->unseen_capacity, rows),
        PHL_ROOM(batch->entropy, batch->entropy_capacity, rows),
        PHL_ROOM(batch->best, batch->best_capacity, rows),
        PHL_ROOM(batch->drawn, batch->drawn_capacity, batch->n_drawn),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (status != PHL_OK || rows == 0) {
        return status;
    }
    memset(batch->unseen, 0, rows * sizeof *batch->unseen);
    if (m > 0) {
        memset(batch->probability, 0, rows * m * sizeof *batch->probability);
    }
    for (size_t s = 0; s < batch->n_shapes; s++) {
        size_t row = batch->shapes[s].first_row;
        phl_visit visit;
        int more;
        phl_walk *walk = batch->parts[batch->shapes[s].part].walk;
        phl_walk_start(walk, batch->shapes[s].place);
        while ((more = phl_walk_next(walk, &visit, error)) > 0) {
            if (visit.label < 0) {
                batch->row_node[row++] = visit.node;
            }
        }
        if (more < 0) {
            return (phl_status)more;
        }
    }
    return PHL_OK;
}

phl_status phl_label_batch_fill(phl_label_batch *batch, const phl_use_portions *portions,
                                size_t tree, size_t *end, phl_error *error)
{
    for (size_t i = 0; i < batch->n_members; i++) {
        const phl_label_batch_member *before = &batch->members[i];
        phl_label_batch_part *part = &batch->parts[before->part];
        part->shape_of_root[part->roots.of_tree[before->place]] = 0;
    }
    for (size_t i = 0; i < batch->n_parts; i++) {
        batch->parts[i].n_shapes = batch->parts[i].n_members = 0;
    }
    batch->n_shapes = batch->n_members = batch->n_rows = batch->n_drawn = batch->n_weights = 0;
    phl_status status = PHL_OK;
    do {
        status = add_member(batch, portions, tree++, error);
    } while (status == PHL_OK && tree < portions->n_trees &&
             batch->n_rows * (batch->n_labels + 1) + batch->n_drawn + batch->n_members <
                 batch_size);
    *end = tree;
    return status == PHL_OK ? reserve_rows(batch, error) : status;
}

/* ---------------------------------------------------------------------------------------------
 * Predicting
 * ------------------------------------------------------------------------------------------- */

struct pass {
    phl_label_batch *batch;
    phl_label_batch_part *part;
    const phl_upward *upward;
    const phl_values *values; /* of a grammar; else NULL */
    int side;                 /* of session[] */
    size_t draw;
};

/* Add w_d p_d(x_u | known labels) to a row. */
static void add_row(phl_label_batch *batch, size_t row, double weight, const double *predictive)
{
    size_t m = batch->n_labels;
    double *sum = batch->probability + row * m;
    for (size_t i = 0; i < m; i++) {
        sum[i] += weight * predictive[i];
    }
    batch->unseen[row] += weight * predictive[m];
}

/* The rows of a grammar's shape. */
struct filling {
    const struct pass *pass;
    double *predictive, weight;
    size_t row;
};

static phl_status fill_node(const phl_outlook_node *node, void *context, phl_error *error)
{
    (void)error;
    struct filling *filling = context;
    if (node->label == PHL_SYMBOL_HIDDEN) {
        phl_grammar_session_sum_labels(filling->pass->values->backoff, node->weights,
                                       filling->predictive);
        add_row(filling->pass->batch, filling->row++, filling->weight, filling->predictive);
    }
    return PHL_OK;
}

static phl_status predict_grammar(const struct pass *pass, const phl_label_batch_shape *shape,
                                  double weight, int number, phl_error *error)
{
    phl_label_batch_worker *worker = &pass->batch->workers[number];
    struct filling filling = {
        .pass = pass, .predictive = worker->predictive, .weight = weight, .row = shape->first_row};
    phl_status status = phl_grammar_session_turn(&worker->outlook, pass->values, error);
    return status == PHL_OK
               ? phl_outlook_nodes(worker->outlook, shape->place, false, fill_node, &filling, error)
               : status;
}

static phl_status predict_shape(const struct pass *pass, size_t s, int number, phl_error *error)
{
    phl_label_batch *batch = pass->batch;
    phl_label_batch_worker *worker = &batch->workers[number];
    const phl_label_batch_shape *shape = &batch->shapes[s];
    double weight = batch->weights[shape->first_weight + pass->draw];
    bool mine = shape->possible == (pass->side == 0);
    if (!mine || shape->n_rows == 0 || !(weight > 0.0)) {
        return PHL_OK;
    }
    if (pass->values != NULL) {
        return predict_grammar(pass, shape, weight, number, error);
    }
    phl_tree_view **view = &pass->part->views[number][pass->side];
    bool possible = false;
    phl_status status = phl_session_turn_view(view, pass->upward, error);
    if (status == PHL_OK) {
        status = phl_tree_marginals(*view, shape->place, &possible, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    PHL_CHECK_BUG(possible, error);
    for (size_t row = shape->first_row; row < shape->first_row + shape->n_rows; row++) {
        phl_tree_predictive(*view, batch->row_node[row], worker->predictive);
        add_row(batch, row, weight, worker->predictive);
    }
    return PHL_OK;
}

static phl_status draw_grammar(const struct pass *pass, phl_label_batch_member *member, size_t n,
                               int number, phl_error *error)
{
    phl_label_batch *batch = pass->batch;
    phl_label_batch_worker *worker = &batch->workers[number];
    phl_status status =
        phl_grow(&worker->drawn, &worker->drawn_capacity, n, sizeof *worker->drawn, error);
    if (status == PHL_OK) {
        status = phl_grammar_session_turn(&worker->outlook, pass->values, error);
    }
    if (status == PHL_OK) {
        status =
            phl_outlook_draw(worker->outlook, member->place, &member->rng, worker->drawn, error);
    }
    for (size_t u = 0; status == PHL_OK && u < n; u++) {
        uint32_t symbol = worker->drawn[u].symbol;
        batch->drawn[member->first_drawn + u] = symbol < batch->n_labels ? (int32_t)symbol : -1;
    }
    return status;
}

static phl_status draw_member(const struct pass *pass, size_t i, int number, phl_error *error)
{
    phl_label_batch *batch = pass->batch;
    phl_label_batch_worker *worker = &batch->workers[number];
    phl_label_batch_member *member = &batch->members[i];
    const phl_label_batch_shape *shape = &batch->shapes[member->shape];
    if (member->pick != pass->draw || shape->possible != (pass->side == 0)) {
        return PHL_OK;
    }
    if (pass->values != NULL) {
        return draw_grammar(pass, member, shape->n, number, error);
    }
    phl_tree_view **view = &pass->part->views[number][pass->side];
    bool possible = false;
    phl_status status = phl_session_turn_view(view, pass->upward, error);
    if (status == PHL_OK) {
        status = phl_grow(&worker->states, &worker->states_capacity, shape->n,
                          sizeof *worker->states, error);
    }
    if (status == PHL_OK) {
        status = phl_tree_draw_states(*view, member->place, &member->rng, worker->states, &possible,
                                      error);
    }
    if (status != PHL_OK) {
        return status;
    }
    PHL_CHECK_BUG(possible, error);
    phl_session_emit_labels(*view, worker->states, &member->rng,
                            batch->drawn + member->first_drawn);
    return PHL_OK;
}

/* Items: the shapes of the part in the batch, then its trees. */
static phl_status run_pass(size_t chunk, size_t begin, size_t end, int worker, void *context,
                           phl_error *error)
{
    (void)chunk;
    const struct pass *pass = context;
    const phl_label_batch_part *part = pass->part;
    phl_status status = PHL_OK;
    for (size_t i = begin; status == PHL_OK && i < end; i++) {
        status = i < part->n_shapes
                     ? predict_shape(pass, part->shapes_in[i], worker, error)
                     : draw_member(pass, part->members_in[i - part->n_shapes], worker, error);
    }
    return status;
}

/* Renormalise the rows of shapes over the M labels, find the best label and the entropy. */
static phl_status finish_shapes(size_t chunk, size_t begin, size_t end, int worker, void *context,
                                phl_error *error)
{
    (void)chunk;
    (void)worker;
    (void)error;
    phl_label_batch *batch = context;
    size_t m = batch->n_labels;
    for (size_t s = begin; s < end; s++) {
        const phl_label_batch_shape *shape = &batch->shapes[s];
        for (size_t row = shape->first_row; row < shape->first_row + shape->n_rows; row++) {
            double *p = batch->probability + row * m;
            double sum = phl_sum_chunk(p, m);
            size_t best = 0;
            for (size_t i = 0; i < m; i++) {
                p[i] = sum > 0.0 ? p[i] / sum : 1.0 / (double)m;
                best = p[i] > p[best] ? i : best;
            }
            batch->best[row] = m > 0 ? (int32_t)best : -1;
            batch->entropy[row] = phl_measures_entropy_bits(p, m);
        }
    }
    return PHL_OK;
}

static phl_status run_part(phl_label_batch *batch, phl_label_batch_part *part, phl_error *error)
{
    const phl_use *use = batch->use;
    size_t items = part->n_shapes + part->n_members;
    phl_status status = PHL_OK;
    for (int side = 0; side < 2 && part->session[side] != NULL && items > 0; side++) {
        for (size_t d = 0; status == PHL_OK && d < part->session[side]->n_draws; d++) {
            struct pass pass = {.batch = batch, .part = part, .side = side, .draw = d};
            phl_grammar_session *grammar = part->session[side]->grammar;
            status = grammar != NULL
                         ? phl_grammar_session_values(grammar, d, &pass.values, error)
                         : phl_session_upward(part->session[side], d, &pass.upward, error);
            if (status == PHL_OK) {
                status = phl_parallel_chunks(items, 1, use->threads, run_pass, &pass, use->cancel,
                                             use->context, error);
            }
        }
    }
    return status;
}

phl_status phl_label_batch_run(phl_label_batch *batch, phl_error *error)
{
    const phl_use *use = batch->use;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < batch->n_parts; i++) {
        status = run_part(batch, &batch->parts[i], error);
    }
    if (status == PHL_OK && batch->tables != NULL) {
        status = phl_label_pool_run(batch, error);
    }
    if (status == PHL_OK) {
        status = phl_parallel_chunks(batch->n_shapes, 1, use->threads, finish_shapes, batch,
                                     use->cancel, use->context, error);
    }
    return status;
}
