/* label_batch_predict.c - predicting and drawing the labels of a batch of trees; see label_batch.h.
 */
#include "base/memory.h"
#include "base/parallel.h"
#include "model/purposes.h"
#include "task/label_pool.h"
#include "task/measures.h"

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

static phl_status run_parts(phl_label_batch *batch, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < batch->n_parts; i++) {
        status = run_part(batch, &batch->parts[i], error);
    }
    return status;
}

phl_status phl_label_batch_predict(phl_label_batch *batch, phl_error *error)
{
    phl_status status = run_parts(batch, error);
    for (size_t i = 0; status == PHL_OK && i < batch->n_followers; i++) {
        status = run_parts(&batch->followers[i], error);
    }
    return status == PHL_OK && batch->tables != NULL ? phl_label_pool_run(batch, error) : status;
}

phl_status phl_label_batch_predict_best(phl_label_batch *batch, phl_error *error)
{
    const phl_use *use = batch->use;
    return phl_parallel_chunks(batch->n_shapes, 1, use->threads, finish_shapes, batch, use->cancel,
                               use->context, error);
}
