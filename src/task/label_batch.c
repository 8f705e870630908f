/* label_batch.c - predicting and drawing the labels of a batch of trees; see label_batch.h. */
#include "task/label_batch.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/sampler.h"
#include "model/purposes.h"
#include "task/copies.h"
#include "task/measures.h"

/* Numbers kept for the trees of a batch; a larger tree is a batch of its own. */
static const size_t batch_size = (size_t)1 << 23;

phl_status phl_batch_init(phl_batch *batch, phl_error *error)
{
    batch->n_labels = batch->model->run->labels.count;
    phl_status status = phl_count_nodes(batch->forest, &batch->nodes, &batch->unknown, error);
    if (status == PHL_OK) {
        status = phl_walk_create(batch->forest, &batch->walk, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    int n_workers = phl_parallel_threads(batch->options->threads);
    batch->shape_of_root =
        phl_alloc_zero(batch->session[0]->prepared.roots.n, sizeof *batch->shape_of_root, error);
    batch->workers = phl_alloc_zero((size_t)n_workers, sizeof *batch->workers, error);
    if (batch->shape_of_root == NULL || batch->workers == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (; batch->n_workers < n_workers; batch->n_workers++) {
        phl_batch_worker *worker = &batch->workers[batch->n_workers];
        worker->predictive = phl_alloc(batch->n_labels + 1, sizeof *worker->predictive, error);
        if (worker->predictive == NULL) {
            return PHL_ERR_MEMORY;
        }
    }
    return PHL_OK;
}

void phl_batch_clear(phl_batch *batch)
{
    for (int w = 0; w < batch->n_workers; w++) {
        phl_tree_view_free(batch->workers[w].view[0]);
        phl_tree_view_free(batch->workers[w].view[1]);
        phl_free(batch->workers[w].predictive);
        phl_free(batch->workers[w].states);
    }
    phl_free(batch->workers);
    phl_free(batch->nodes);
    phl_free(batch->unknown);
    phl_walk_free(batch->walk);
    phl_free(batch->shapes);
    phl_free(batch->members);
    phl_free(batch->shape_of_root);
    phl_free(batch->weights);
    phl_free(batch->row_node);
    phl_free(batch->probability);
    phl_free(batch->unseen);
    phl_free(batch->entropy);
    phl_free(batch->best);
    phl_free(batch->drawn);
}

/* ---------------------------------------------------------------------------------------------
 * Filling
 * ------------------------------------------------------------------------------------------- */

/* Enter a tree's shape unless the batch has it. */
static phl_status add_shape(phl_batch *batch, size_t tree, size_t *shape, phl_error *error)
{
    const phl_session *session = batch->session[0];
    uint32_t root = session->prepared.roots.of_tree[tree];
    if (batch->shape_of_root[root] != 0) {
        *shape = batch->shape_of_root[root] - 1;
        return PHL_OK;
    }
    uint32_t subtree = batch->forest->tree_root[tree];
    size_t draws = session->n_draws;
    phl_status status = phl_grow(&batch->shapes, &batch->shape_capacity, batch->n_shapes + 1,
                                 sizeof *batch->shapes, error);
    if (status == PHL_OK) {
        status = phl_grow(&batch->weights, &batch->weights_capacity, (batch->n_shapes + 1) * draws,
                          sizeof *batch->weights, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_batch_shape *made = &batch->shapes[batch->n_shapes];
    double *weights = batch->weights + batch->n_shapes * draws;
    made->tree = tree;
    made->n = (size_t)batch->nodes[subtree];
    made->n_rows = (size_t)batch->unknown[subtree];
    made->first_row = batch->n_rows;
    made->possible = phl_session_weights(session, tree, weights);
    if (!made->possible && made->n_rows > 0 &&
        !phl_session_weights(batch->session[1], tree, weights)) {
        return phl_raise(error, PHL_ERR_INTERNAL, "please report this",
                         "a shape without labels has probability 0");
    }
    batch->n_rows += made->n_rows;
    batch->shape_of_root[root] = ++batch->n_shapes;
    *shape = batch->n_shapes - 1;
    return PHL_OK;
}

static phl_status add_member(phl_batch *batch, size_t tree, phl_error *error)
{
    size_t shape = 0;
    phl_status status = add_shape(batch, tree, &shape, error);
    if (status == PHL_OK) {
        status = phl_grow(&batch->members, &batch->member_capacity, batch->n_members + 1,
                          sizeof *batch->members, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_batch_member *made = &batch->members[batch->n_members++];
    made->tree = tree;
    made->shape = shape;
    made->first_drawn = batch->n_drawn;
    made->pick = SIZE_MAX;
    if (!batch->options->no_draw && batch->shapes[shape].n_rows > 0) {
        size_t draws = batch->session[0]->n_draws;
        batch->n_drawn += batch->shapes[shape].n;
        /* As phl_session_draw_labels does. */
        phl_rng_init(&made->rng, batch->options->seed, PHL_PURPOSE_LABELS,
                     batch->model->class_index, 0, tree);
        made->pick = phl_categorical_draw(&made->rng, batch->weights + shape * draws, draws);
    }
    return PHL_OK;
}

/* Room for the batch's rows, and the node of each. */
static phl_status reserve_rows(phl_batch *batch, phl_error *error)
{
    size_t rows = batch->n_rows, m = batch->n_labels;
    phl_status status =
        phl_grow(&batch->row_node, &batch->row_node_capacity, rows, sizeof *batch->row_node, error);
    if (status == PHL_OK) {
        status = phl_grow(&batch->probability, &batch->probability_capacity, rows * m,
                          sizeof *batch->probability, error);
    }
    if (status == PHL_OK) {
        status =
            phl_grow(&batch->unseen, &batch->unseen_capacity, rows, sizeof *batch->unseen, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&batch->entropy, &batch->entropy_capacity, rows, sizeof *batch->entropy,
                          error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&batch->best, &batch->best_capacity, rows, sizeof *batch->best, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&batch->drawn, &batch->drawn_capacity, batch->n_drawn,
                          sizeof *batch->drawn, error);
    }
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
        phl_walk_start(batch->walk, batch->shapes[s].tree);
        while ((more = phl_walk_next(batch->walk, &visit, error)) > 0) {
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

phl_status phl_batch_fill(phl_batch *batch, size_t tree, size_t *end, phl_error *error)
{
    for (size_t i = 0; i < batch->n_members; i++) {
        size_t before = batch->members[i].tree;
        batch->shape_of_root[batch->session[0]->prepared.roots.of_tree[before]] = 0;
    }
    batch->n_shapes = batch->n_members = batch->n_rows = batch->n_drawn = 0;
    phl_status status = PHL_OK;
    do {
        status = add_member(batch, tree++, error);
    } while (status == PHL_OK && tree < batch->forest->n_trees &&
             batch->n_rows * (batch->n_labels + 1) + batch->n_drawn + batch->n_members <
                 batch_size);
    *end = tree;
    return status == PHL_OK ? reserve_rows(batch, error) : status;
}

/* ---------------------------------------------------------------------------------------------
 * Predicting
 * ------------------------------------------------------------------------------------------- */

struct pass {
    phl_batch *batch;
    const phl_upward *upward;
    int side; /* of session[] */
    size_t draw;
};

/* Add w_d p_d(x_u | known labels) to the rows of a shape. */
static phl_status predict_shape(const struct pass *pass, size_t s, phl_batch_worker *worker,
                                phl_error *error)
{
    phl_batch *batch = pass->batch;
    const phl_batch_shape *shape = &batch->shapes[s];
    double weight = batch->weights[s * batch->session[0]->n_draws + pass->draw];
    bool mine = shape->possible == (pass->side == 0);
    if (!mine || shape->n_rows == 0 || !(weight > 0.0)) {
        return PHL_OK;
    }
    phl_tree_view **view = &worker->view[pass->side];
    bool possible = false;
    phl_status status = phl_view_turn(view, pass->upward, error);
    if (status == PHL_OK) {
        status = phl_tree_marginals(*view, shape->tree, &possible, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    PHL_CHECK_BUG(possible, error);
    size_t m = batch->n_labels;
    for (size_t row = shape->first_row; row < shape->first_row + shape->n_rows; row++) {
        double *sum = batch->probability + row * m;
        phl_tree_predictive(*view, batch->row_node[row], worker->predictive);
        for (size_t i = 0; i < m; i++) {
            sum[i] += weight * worker->predictive[i];
        }
        batch->unseen[row] += weight * worker->predictive[m];
    }
    return PHL_OK;
}

static phl_status draw_member(const struct pass *pass, size_t i, phl_batch_worker *worker,
                              phl_error *error)
{
    phl_batch *batch = pass->batch;
    phl_batch_member *member = &batch->members[i];
    const phl_batch_shape *shape = &batch->shapes[member->shape];
    if (member->pick != pass->draw || shape->possible != (pass->side == 0)) {
        return PHL_OK;
    }
    phl_tree_view **view = &worker->view[pass->side];
    bool possible = false;
    phl_status status = phl_view_turn(view, pass->upward, error);
    if (status == PHL_OK) {
        status = phl_grow(&worker->states, &worker->states_capacity, shape->n,
                          sizeof *worker->states, error);
    }
    if (status == PHL_OK) {
        status = phl_tree_draw_states(*view, member->tree, &member->rng, worker->states, &possible,
                                      error);
    }
    if (status != PHL_OK) {
        return status;
    }
    PHL_CHECK_BUG(possible, error);
    phl_emit_labels(*view, worker->states, &member->rng, batch->drawn + member->first_drawn);
    return PHL_OK;
}

/* Items: the shapes of the batch, then its trees. */
static phl_status run_pass(size_t chunk, size_t begin, size_t end, int worker, void *context,
                           phl_error *error)
{
    (void)chunk;
    const struct pass *pass = context;
    size_t n_shapes = pass->batch->n_shapes;
    phl_batch_worker *own = &pass->batch->workers[worker];
    phl_status status = PHL_OK;
    for (size_t i = begin; status == PHL_OK && i < end; i++) {
        status = i < n_shapes ? predict_shape(pass, i, own, error)
                              : draw_member(pass, i - n_shapes, own, error);
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
    phl_batch *batch = context;
    size_t m = batch->n_labels;
    for (size_t s = begin; s < end; s++) {
        const phl_batch_shape *shape = &batch->shapes[s];
        for (size_t row = shape->first_row; row < shape->first_row + shape->n_rows; row++) {
            double *p = batch->probability + row * m;
            double sum = phl_sum_chunk(p, m);
            size_t best = 0;
            for (size_t i = 0; i < m; i++) {
                p[i] = sum > 0.0 ? p[i] / sum : 1.0 / (double)m;
                best = p[i] > p[best] ? i : best;
            }
            batch->best[row] = m > 0 ? (int32_t)best : -1;
            batch->entropy[row] = phl_entropy_bits(p, m);
        }
    }
    return PHL_OK;
}

phl_status phl_batch_run(phl_batch *batch, phl_error *error)
{
    const phl_label_options *options = batch->options;
    phl_status status = PHL_OK;
    for (int side = 0; side < 2 && batch->session[side] != NULL; side++) {
        for (size_t d = 0; status == PHL_OK && d < batch->session[side]->n_draws; d++) {
            struct pass pass = {.batch = batch, .side = side, .draw = d};
            status = phl_session_upward(batch->session[side], d, &pass.upward, error);
            if (status == PHL_OK) {
                status =
                    phl_parallel_chunks(batch->n_shapes + batch->n_members, 1, options->threads,
                                        run_pass, &pass, options->cancel, options->context, error);
            }
        }
    }
    if (status == PHL_OK) {
        status = phl_parallel_chunks(batch->n_shapes, 1, options->threads, finish_shapes, batch,
                                     options->cancel, options->context, error);
    }
    return status;
}
