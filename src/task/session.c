/* session.c - one model on one forest, tree by tree; see session.h.
 *
 * Contents: making a session, the passes of its draws, averages over draws, labels from states.
 */
#include "task/session.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "model/chain_weights.h"

/* ---------------------------------------------------------------------------------------------
 * Making a session
 * ------------------------------------------------------------------------------------------- */

uint64_t phl_session_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages / 4 * (uint64_t)size : UINT64_C(1) << 30;
}

static phl_status run_pass(const phl_session *session, size_t draw, phl_upward **upward,
                           phl_error *error)
{
    phl_upward *made = NULL;
    phl_status status =
        phl_upward_create(session->prepared.index, session->model->draws[draw].params,
                          session->prepared.label_row, &made, error);
    if (status == PHL_OK) {
        status = phl_upward_run(made, session->threads, error);
    }
    if (status != PHL_OK) {
        phl_upward_free(made);
        return status;
    }
    *upward = made;
    return PHL_OK;
}

/* Run every pass once, for the scores, and keep what fits. */
static phl_status run_passes(phl_session *session, uint64_t bytes, phl_error *error)
{
    size_t n_roots = session->prepared.roots.n;
    uint64_t used = 0;
    phl_sums *sums = NULL;
    phl_status status =
        phl_sums_create(session->prepared.forest, session->model->run->slots, 1, &sums, error);
    for (size_t d = 0; status == PHL_OK && d < session->n_draws; d++) {
        phl_upward *upward = NULL;
        status = run_pass(session, d, &upward, error);
        if (status == PHL_OK) {
            phl_scores_of_roots(&session->prepared, upward, sums, session->labels + d * n_roots,
                                session->both + d * n_roots);
        }
        if (status == PHL_OK && (d == 0 || phl_upward_bytes(upward) <= bytes - used)) {
            used +=
                phl_upward_bytes(upward) <= bytes - used ? phl_upward_bytes(upward) : bytes - used;
            session->upward[d] = upward;
        } else {
            phl_upward_free(upward);
        }
    }
    phl_sums_free(sums);
    return status;
}

/* The same for a grammar: of labels and shape together. */
static phl_status score_starts(phl_session *session, uint64_t bytes, phl_error *error)
{
    const phl_prepared *prepared = &session->prepared;
    size_t n_roots = prepared->roots.n;
    phl_status status = phl_grammar_session_create(
        session->model, prepared->forest, prepared->label_row, bytes, &session->grammar, error);
    if (status == PHL_OK) {
        status =
            phl_forest_count_nodes(prepared->forest, &session->nodes, &session->unknown, error);
    }
    session->n_draws = status == PHL_OK ? session->grammar->grammars.n : 0;
    for (size_t d = 0; status == PHL_OK && d < session->n_draws; d++) {
        status = phl_grammar_session_score(session->grammar, d, prepared->roots.tree, n_roots,
                                           session->labels + d * n_roots, error);
        memcpy(session->both + d * n_roots, session->labels + d * n_roots,
               n_roots * sizeof *session->both);
    }
    return status;
}

phl_status phl_session_create(const phl_model *model, const phl_forest *forest, int threads,
                              uint64_t bytes, phl_session **session, phl_error *error)
{
    phl_status status = phl_scores_check_draws(model, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_session *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->model = model;
    made->threads = threads;
    made->n_draws = model->n_draws;
    made->weighted = phl_chain_weights_differ(model);
    status = phl_scores_prepare(model->run, forest, &made->prepared, error);
    if (status == PHL_OK) {
        size_t scores = made->n_draws * made->prepared.roots.n;
        made->labels = phl_alloc(scores, sizeof *made->labels, error);
        made->both = phl_alloc(scores, sizeof *made->both, error);
        made->upward = phl_alloc_zero(made->n_draws, sizeof *made->upward, error);
        made->average_labels =
            phl_alloc(made->prepared.roots.n, sizeof *made->average_labels, error);
        made->average_both = phl_alloc(made->prepared.roots.n, sizeof *made->average_both, error);
        status = made->labels == NULL || made->both == NULL || made->upward == NULL ||
                         made->average_labels == NULL || made->average_both == NULL
                     ? PHL_ERR_MEMORY
                 : model->run->kind == PHL_GRAMMAR ? score_starts(made, bytes, error)
                                                   : run_passes(made, bytes, error);
    }
    if (status == PHL_OK) {
        size_t n_roots = made->prepared.roots.n;
        phl_scores_average_draws(made->labels, model, made->n_draws, n_roots, made->average_labels);
        phl_scores_average_draws(made->both, model, made->n_draws, n_roots, made->average_both);
    }
    if (status != PHL_OK) {
        phl_session_free(made);
        return status;
    }
    *session = made;
    return PHL_OK;
}

void phl_session_free(phl_session *session)
{
    if (session == NULL) {
        return;
    }
    phl_tree_view_free(session->view);
    for (size_t d = 0; session->upward != NULL && d < session->n_draws; d++) {
        phl_upward_free(session->upward[d]);
    }
    phl_upward_free(session->spare);
    phl_grammar_session_free(session->grammar);
    phl_free(session->nodes);
    phl_free(session->unknown);
    phl_free(session->upward);
    phl_free(session->labels);
    phl_free(session->both);
    phl_free(session->average_labels);
    phl_free(session->average_both);
    phl_free(session->work);
    phl_scores_clear(&session->prepared);
    phl_free(session);
}

/* ---------------------------------------------------------------------------------------------
 * The passes of its draws
 * ------------------------------------------------------------------------------------------- */

phl_status phl_session_upward(phl_session *session, size_t draw, const phl_upward **upward,
                              phl_error *error)
{
    if (session->upward[draw] != NULL) {
        *upward = session->upward[draw];
        return PHL_OK;
    }
    if (session->spare == NULL || session->spare_draw != draw) {
        phl_upward_free(session->spare);
        session->spare = NULL;
        phl_status status = run_pass(session, draw, &session->spare, error);
        if (status != PHL_OK) {
            return status;
        }
        session->spare_draw = draw;
    }
    *upward = session->spare;
    return PHL_OK;
}

phl_status phl_session_turn_view(phl_tree_view **view, const phl_upward *upward, phl_error *error)
{
    if (*view == NULL) {
        return phl_tree_view_create(upward, view, error);
    }
    /* Passes of one session have the same forest and C; what a view keeps from tree to tree depends
     * on no more (but for decoding). */
    (*view)->upward = upward;
    return PHL_OK;
}

/* Marginals of one tree and draw in session->view. */
static phl_status view_tree(phl_session *session, size_t draw, size_t tree, bool *possible,
                            phl_error *error)
{
    const phl_upward *upward = NULL;
    phl_status status = phl_session_upward(session, draw, &upward, error);
    if (status == PHL_OK) {
        status = phl_session_turn_view(&session->view, upward, error);
    }
    return status == PHL_OK ? phl_tree_marginals(session->view, tree, possible, error) : status;
}

static phl_status reserve_work(phl_session *session, size_t doubles, phl_error *error)
{
    return phl_grow(&session->work, &session->work_capacity, doubles, sizeof *session->work, error);
}

/* ---------------------------------------------------------------------------------------------
 * Averages over draws
 * ------------------------------------------------------------------------------------------- */

double phl_session_score(const phl_session *session, size_t tree, bool structure)
{
    const double *average = structure ? session->average_both : session->average_labels;
    return average[session->prepared.roots.of_tree[tree]];
}

/* log p_d(labels) of a tree, with the log-weight of the draw where they differ. */
static double weighted_labels(const phl_session *session, size_t draw, size_t tree)
{
    return phl_session_labels(session, draw, tree) +
           (session->weighted ? log(session->model->draws[draw].weight) : 0.0);
}

bool phl_session_weights(const phl_session *session, size_t tree, double *weights)
{
    double largest = -INFINITY, sum = 0.0;
    for (size_t d = 0; d < session->n_draws; d++) {
        double log_p = weighted_labels(session, d, tree);
        largest = log_p > largest ? log_p : largest;
    }
    if (isinf(largest)) {
        return false;
    }
    for (size_t d = 0; d < session->n_draws; d++) {
        weights[d] = exp(weighted_labels(session, d, tree) - largest);
        sum += weights[d];
    }
    for (size_t d = 0; d < session->n_draws; d++) {
        weights[d] /= sum;
    }
    return true;
}

/* p_d(x_u | all other labels) of node u, whose label is known, after phl_tree_marginals. */
static double known_label(const phl_tree_view *view, size_t u)
{
    const phl_upward *upward = view->upward;
    size_t c = upward->params->states;
    int32_t label = upward->index->forest->label[view->subtree[u]];
    const double *emission = upward->params->emission + upward->label_row[label] * c;
    double sum = 0.0;
    for (size_t j = 0; j < c; j++) {
        sum += view->cavity[u * c + j] * emission[j];
    }
    return sum;
}

/* Add the predictives of one draw to the running weighted sums: node u has log-weight
 * log p_d(labels but x_u); `top` [n] is the largest so far, `total` [n] the sum of weights relative
 * to it. */
static void add_predictives(const phl_tree_view *view, double log_p, double *row, double *top,
                            double *total, double *predictive)
{
    const phl_forest *forest = view->upward->index->forest;
    size_t width = (size_t)view->upward->params->labels + 1;
    for (size_t u = 0; u < view->n; u++) {
        double log_weight = log_p;
        if (forest->label[view->subtree[u]] >= 0) {
            log_weight -= log(known_label(view, u));
        }
        if (!isfinite(log_weight)) { /* p(x_u | ...) underflowed */
            continue;
        }
        double *sum = predictive + u * width;
        if (log_weight > top[u]) {
            double scale = exp(top[u] - log_weight);
            for (size_t i = 0; i < width; i++) {
                sum[i] *= scale;
            }
            total[u] *= scale;
            top[u] = log_weight;
        }
        double weight = exp(log_weight - top[u]);
        phl_tree_predictive(view, u, row);
        for (size_t i = 0; i < width; i++) {
            sum[i] += weight * row[i];
        }
        total[u] += weight;
    }
}

/* log p_d [D] of a tree, into the work space. */
static phl_status gather_log_p(phl_session *session, size_t tree, phl_error *error)
{
    phl_status status = reserve_work(session, session->n_draws, error);
    for (size_t d = 0; status == PHL_OK && d < session->n_draws; d++) {
        session->work[d] = phl_session_labels(session, d, tree);
    }
    return status;
}

static size_t count_nodes(const phl_session *session, size_t tree)
{
    return (size_t)session->nodes[session->prepared.forest->tree_root[tree]];
}

/* Draws under which the tree has probability 0 do not enter: for a node with unknown label their
 * weight is exactly 0. */
phl_status phl_session_predict(phl_session *session, size_t tree, double *predictive,
                               bool *possible, phl_error *error)
{
    phl_status status = PHL_OK;
    size_t width = session->model->run->labels.count + 1;
    double *row = NULL, *top = NULL, *total = NULL;
    size_t n = 0;
    if (session->grammar != NULL) {
        status = gather_log_p(session, tree, error);
        return status == PHL_OK ? phl_grammar_session_predict(session->grammar, session->work, tree,
                                                              count_nodes(session, tree),
                                                              predictive, possible, error)
                                : status;
    }
    for (size_t d = 0; status == PHL_OK && d < session->n_draws; d++) {
        double log_p = weighted_labels(session, d, tree);
        bool fine = false;
        if (isinf(log_p)) {
            continue;
        }
        status = view_tree(session, d, tree, &fine, error);
        if (status != PHL_OK || !fine) {
            continue;
        }
        if (n == 0) {
            n = session->view->n;
            status = reserve_work(session, width + 2 * n, error);
            if (status != PHL_OK) {
                break;
            }
            row = session->work;
            top = row + width;
            total = top + n;
            memset(predictive, 0, n * width * sizeof *predictive);
            for (size_t u = 0; u < n; u++) {
                top[u] = -INFINITY;
                total[u] = 0.0;
            }
        }
        add_predictives(session->view, log_p, row, top, total, predictive);
    }
    for (size_t u = 0; status == PHL_OK && u < n; u++) {
        for (size_t i = 0; i < width; i++) {
            predictive[u * width + i] =
                total[u] > 0.0 ? predictive[u * width + i] / total[u] : 1.0 / (double)width;
        }
    }
    if (status == PHL_OK) {
        *possible = n > 0;
    }
    return status;
}

/* The same as below for a grammar. */
static phl_status surprise_of_grammar(phl_session *session, size_t tree, const double *weights,
                                      double *bits, phl_error *error)
{
    size_t n = count_nodes(session, tree);
    phl_status status =
        phl_grammar_session_surprise(session->grammar, weights, tree, n, bits, error);
    for (size_t u = 0; status == PHL_OK && u < n; u++) {
        bits[u] = bits[u] > 1.0 ? log2(bits[u]) : 0.0; /* rounding, and unknown labels */
    }
    return status;
}

/* p(x_u | rest) = sum_d p_d(x) / sum_d [p_d(x) / p_d(x_u | rest)], a harmonic mean. */
phl_status phl_session_surprise(phl_session *session, size_t tree, double *bits, bool *possible,
                                phl_error *error)
{
    const phl_forest *forest = session->prepared.forest;
    phl_status status = reserve_work(session, session->n_draws, error);
    if (status != PHL_OK) {
        return status;
    }
    double *weights = session->work;
    *possible = phl_session_weights(session, tree, weights);
    size_t n = 0;
    if (session->grammar != NULL) {
        return *possible ? surprise_of_grammar(session, tree, weights, bits, error) : PHL_OK;
    }
    for (size_t d = 0; *possible && status == PHL_OK && d < session->n_draws; d++) {
        bool fine = false;
        if (weights[d] > 0.0) {
            status = view_tree(session, d, tree, &fine, error);
        }
        if (status != PHL_OK || !fine) {
            continue;
        }
        const phl_tree_view *view = session->view;
        for (size_t u = 0; u < view->n; u++) {
            bool known = forest->label[view->subtree[u]] >= 0;
            bits[u] =
                (n == 0 ? 0.0 : bits[u]) + (known ? weights[d] / known_label(view, u) : weights[d]);
        }
        n = view->n;
    }
    for (size_t u = 0; status == PHL_OK && u < n; u++) {
        bits[u] = forest->label[session->view->subtree[u]] >= 0 ? log2(bits[u]) : 0.0;
        bits[u] = bits[u] > 0.0 ? bits[u] : 0.0; /* rounding */
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Labels from states
 * ------------------------------------------------------------------------------------------- */

/* One of the M labels from b of a state. */
static int32_t emit_label(const phl_params *params, uint32_t state, phl_rng *rng)
{
    const double *b = params->emission + state; /* [M + 2][C]: a column */
    size_t c = params->states, m = params->labels;
    double sum = 0.0;
    int32_t last = -1;
    for (size_t i = 0; i < m; i++) {
        sum += b[i * c];
    }
    double left = phl_rng_uniform(rng) * sum;
    for (size_t i = 0; i < m; i++) {
        if (b[i * c] > 0.0) {
            last = (int32_t)i;
            left -= b[i * c];
            if (left < 0.0) {
                break;
            }
        }
    }
    return last;
}

void phl_session_emit_labels(const phl_tree_view *view, const uint32_t *states, phl_rng *rng,
                             int32_t *labels)
{
    const phl_upward *upward = view->upward;
    const phl_params *params = upward->params;
    for (size_t u = 0; u < view->n; u++) {
        int32_t label = upward->index->forest->label[view->subtree[u]];
        if (label >= 0) {
            uint32_t row = upward->label_row[label];
            labels[u] = row < params->labels ? (int32_t)row : -1;
        } else {
            labels[u] = emit_label(params, states[u], rng);
        }
    }
}
