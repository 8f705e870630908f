/* grammar_session.c - a forest under one model of a grammar run; see grammar_session.h. */
#include "task/grammar_session.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---------------------------------------------------------------------------------------------
 * Making one
 * ------------------------------------------------------------------------------------------- */

static phl_status prepare(phl_grammar_session *session, const phl_forest *forest,
                          const uint32_t *label_row, phl_error *error)
{
    size_t starts = session->grammars.n;
    session->backoffs = phl_alloc_zero(starts, sizeof *session->backoffs, error);
    session->values = phl_alloc_zero(starts, sizeof *session->values, error);
    phl_status status =
        session->backoffs == NULL || session->values == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t s = 0; status == PHL_OK && s < starts; s++) {
        const phl_grammar *grammar = session->grammars.grammars[s];
        phl_lists **lists = &session->lists[grammar->pair];
        status = phl_backoff_create(grammar, session->part, &session->backoffs[s], error);
        if (status == PHL_OK && forest != NULL && *lists == NULL) {
            status = phl_lists_create_bare(forest, label_row, grammar->labels, grammar->pair, lists,
                                           error);
        }
    }
    return status;
}

phl_status phl_grammar_session_create(const phl_model *model, const phl_forest *forest,
                                      const uint32_t *label_row, uint64_t bytes,
                                      phl_grammar_session **session, phl_error *error)
{
    phl_grammar_session *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->part = model->class_index;
    made->bytes = bytes;
    phl_status status = phl_grammar_scores_open(model->run, &made->grammars, error);
    if (status == PHL_OK) {
        status = prepare(made, forest, label_row, error);
    }
    if (status != PHL_OK) {
        phl_grammar_session_free(made);
        return status;
    }
    *session = made;
    return PHL_OK;
}

void phl_grammar_session_free(phl_grammar_session *session)
{
    if (session == NULL) {
        return;
    }
    phl_outlook_free(session->outlook);
    for (size_t s = 0; s < session->grammars.n; s++) {
        phl_values_free(session->values == NULL ? NULL : session->values[s]);
        phl_backoff_free(session->backoffs == NULL ? NULL : session->backoffs[s]);
    }
    phl_values_free(session->spare);
    phl_free(session->values);
    phl_free(session->backoffs);
    phl_lists_free(session->lists[0]);
    phl_lists_free(session->lists[1]);
    phl_grammar_scores_close(&session->grammars);
    phl_free(session->room);
    phl_free(session);
}

phl_status phl_grammar_session_values(phl_grammar_session *session, size_t start,
                                      const phl_values **values, phl_error *error)
{
    if (session->values[start] != NULL) {
        *values = session->values[start];
        return PHL_OK;
    }
    if (session->spare == NULL || session->spare_start != start) {
        phl_values_free(session->spare);
        session->spare = NULL;
        const phl_backoff *backoff = session->backoffs[start];
        phl_status status =
            phl_values_create(session->lists[backoff->pair], backoff, &session->spare, error);
        if (status != PHL_OK) {
            return status;
        }
        session->spare_start = start;
    }
    *values = session->spare;
    uint64_t bytes = (uint64_t)session->spare->first[session->spare->lists->n] * sizeof(double);
    if (bytes <= session->bytes) {
        session->bytes -= bytes;
        session->values[start] = session->spare;
        session->spare = NULL;
    }
    return PHL_OK;
}

phl_status phl_grammar_session_score(phl_grammar_session *session, size_t start,
                                     const size_t *trees, size_t n, double *log_p, phl_error *error)
{
    const phl_values *values = NULL;
    phl_status status = phl_grammar_session_values(session, start, &values, error);
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        log_p[i] = phl_values_tree(values, trees[i]);
    }
    return status;
}

phl_status phl_grammar_session_turn(phl_outlook **outlook, const phl_values *values,
                                    phl_error *error)
{
    return *outlook == NULL ? phl_outlook_create(values, outlook, error)
                            : phl_outlook_turn(*outlook, values, error);
}

/* ---------------------------------------------------------------------------------------------
 * Predictives
 * ------------------------------------------------------------------------------------------- */

void phl_grammar_session_sum_labels(const phl_backoff *backoff, const double *weights, double *out)
{
    double total = 0.0;
    for (size_t x = 0; x <= backoff->labels; x++) {
        out[x] = 0.0;
        for (size_t k = backoff->state[x]; k < backoff->state[x + 1]; k++) {
            out[x] += weights[k];
        }
        total += out[x];
    }
    for (size_t x = 0; total > 0.0 && x <= backoff->labels; x++) {
        out[x] /= total;
    }
}

/* Sums over the starts, node by node: sum_d p_d(all other labels) p_d(x_u | all other labels). */
struct summing {
    const phl_backoff *backoff;
    double log_p;                    /* of the tree under the start at hand */
    double *row, *top, *total, *sum; /* [M + 1]; [n] largest log-weight so far; [n]; [n][M + 1] */
};

static phl_status add_node(const phl_outlook_node *node, void *context, phl_error *error)
{
    (void)error;
    struct summing *summing = context;
    size_t u = node->node, width = (size_t)summing->backoff->labels + 1;
    double *row = summing->row, *sum = summing->sum + u * width, log_weight = summing->log_p;
    phl_grammar_session_sum_labels(summing->backoff, node->weights, row);
    if (node->label != PHL_SYMBOL_HIDDEN) {
        log_weight -= log(row[node->label]);
    }
    if (!isfinite(log_weight)) { /* p(x_u | ...) underflowed */
        return PHL_OK;
    }
    if (log_weight > summing->top[u]) {
        double scale = exp(summing->top[u] - log_weight);
        for (size_t i = 0; i < width; i++) {
            sum[i] *= scale;
        }
        summing->total[u] *= scale;
        summing->top[u] = log_weight;
    }
    double weight = exp(log_weight - summing->top[u]);
    for (size_t i = 0; i < width; i++) {
        sum[i] += weight * row[i];
    }
    summing->total[u] += weight;
    return PHL_OK;
}

phl_status phl_grammar_session_predict(phl_grammar_session *session, const double *log_p,
                                       size_t tree, size_t nodes, double *predictive,
                                       bool *possible, phl_error *error)
{
    size_t width = (size_t)session->backoffs[0]->labels + 1;
    phl_status status = phl_grow(&session->room, &session->room_capacity, width + 2 * nodes,
                                 sizeof *session->room, error);
    if (status != PHL_OK) {
        return status;
    }
    struct summing summing = {.row = session->room,
                              .top = session->room + width,
                              .total = session->room + width + nodes,
                              .sum = predictive};
    *possible = false;
    for (size_t u = 0; u < nodes; u++) {
        summing.top[u] = -INFINITY;
        summing.total[u] = 0.0;
    }
    memset(predictive, 0, nodes * width * sizeof *predictive);
    for (size_t s = 0; status == PHL_OK && s < session->grammars.n; s++) {
        const phl_values *values = NULL;
        if (isinf(log_p[s])) {
            continue;
        }
        *possible = true;
        status = phl_grammar_session_values(session, s, &values, error);
        if (status == PHL_OK) {
            status = phl_grammar_session_turn(&session->outlook, values, error);
        }
        if (status == PHL_OK) {
            summing.backoff = session->backoffs[s];
            summing.log_p = log_p[s];
            status = phl_outlook_nodes(session->outlook, tree, true, add_node, &summing, error);
        }
    }
    for (size_t u = 0; status == PHL_OK && u < nodes; u++) {
        for (size_t i = 0; i < width; i++) {
            predictive[u * width + i] = summing.total[u] > 0.0
                                            ? predictive[u * width + i] / summing.total[u]
                                            : 1.0 / (double)width;
        }
    }
    return status;
}

/* As the bits are: sums of w_d / p_d(x_u | all other labels). */
struct surprise {
    const phl_backoff *backoff;
    double weight, *row, *sum; /* row [M + 1] */
};

static phl_status add_surprise(const phl_outlook_node *node, void *context, phl_error *error)
{
    (void)error;
    const struct surprise *surprise = context;
    double p = 1.0;
    if (node->label != PHL_SYMBOL_HIDDEN) {
        phl_grammar_session_sum_labels(surprise->backoff, node->weights, surprise->row);
        p = surprise->row[node->label];
    }
    surprise->sum[node->node] += surprise->weight / p;
    return PHL_OK;
}

phl_status phl_grammar_session_surprise(phl_grammar_session *session, const double *weights,
                                        size_t tree, size_t nodes, double *sums, phl_error *error)
{
    size_t width = (size_t)session->backoffs[0]->labels + 1;
    phl_status status =
        phl_grow(&session->room, &session->room_capacity, width, sizeof *session->room, error);
    memset(sums, 0, nodes * sizeof *sums);
    for (size_t s = 0; status == PHL_OK && s < session->grammars.n; s++) {
        const phl_values *values = NULL;
        if (!(weights[s] > 0.0)) {
            continue;
        }
        status = phl_grammar_session_values(session, s, &values, error);
        if (status == PHL_OK) {
            status = phl_grammar_session_turn(&session->outlook, values, error);
        }
        if (status == PHL_OK) {
            struct surprise surprise = {.backoff = session->backoffs[s],
                                        .weight = weights[s],
                                        .row = session->room,
                                        .sum = sums};
            status =
                phl_outlook_nodes(session->outlook, tree, true, add_surprise, &surprise, error);
        }
    }
    return status;
}
