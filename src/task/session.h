/* session.h - a forest prepared for one model, to ask about its trees one by one.
 *
 * Upward passes take most memory: n x C numbers and more per draw.  They are kept as long as they
 * fit the bytes given (the first always is); a pass that did not fit is run again when it is asked
 * for and then stays until another such one is.  Results do not depend on which passes are kept.
 * Loops over many trees should therefore have the draws outermost.
 */
#ifndef PHL_TASK_SESSION_H
#define PHL_TASK_SESSION_H

#include "model/scores.h"
#include "task/grammar_session.h"

typedef struct phl_session {
    const phl_model *model; /* borrowed */
    int threads;
    phl_prepared prepared;
    size_t n_draws;
    bool weighted;                         /* the draws have weights of their own */
    double *labels;                        /* [D][roots] log p_d(labels) */
    double *both;                          /* [D][roots] log p_d(labels, shape) */
    double *average_labels, *average_both; /* [roots] over draws, in probability space */
    phl_upward **upward;                   /* [D] NULL: not kept */
    phl_upward *spare;                     /* pass of a draw that is not kept, or NULL */
    size_t spare_draw;

    phl_grammar_session *grammar; /* of a grammar run, which has no upward passes; else NULL */
    uint64_t *nodes, *unknown;    /* then: of the forest's subtrees */

    phl_tree_view *view; /* for marginals and draws of states */
    double *work;        /* grows as needed */
    size_t work_capacity;
} phl_session;

/* Model and forest are borrowed.  threads: 0 = all cores.  bytes: for upward passes; the first is
 * kept in any case. */
phl_status phl_session_create(const phl_model *model, const phl_forest *forest, int threads,
                              uint64_t bytes, phl_session **session, phl_error *error);
void phl_session_free(phl_session *session);

/* Bytes for the upward passes of all sessions at a time: a quarter of the machine's memory. */
uint64_t phl_session_memory(void);

/* The upward pass of a draw, kept or run again. */
phl_status phl_session_upward(phl_session *session, size_t draw, const phl_upward **upward,
                              phl_error *error);

/* log p_d(labels) of a tree. */
static inline double phl_session_labels(const phl_session *session, size_t draw, size_t tree)
{
    const phl_roots *roots = &session->prepared.roots;
    return session->labels[draw * roots->n + roots->of_tree[tree]];
}

/* log p(tree), averaged over draws in probability space; with the shape term if `structure`. */
double phl_session_score(const phl_session *session, size_t tree, bool structure);

/* Below, arrays are node by node in pre-order.  *possible is false when the tree has probability 0
 * under the model; outputs are then untouched. */

/* p(x_u = d | all other labels) for every node: predictive [n][M + 1], the unseen symbol last. */
phl_status phl_session_predict(phl_session *session, size_t tree, double *predictive,
                               bool *possible, phl_error *error);

/* -log2 p(x_u | all other labels) into bits [n]; 0 where the label is unknown. */
phl_status phl_session_surprise(phl_session *session, size_t tree, double *bits, bool *possible,
                                phl_error *error);

/* Weights w_d p_d(labels) / sum of them [D] of a tree, w_d that of the draw; false, and nothing
 * written, if all are 0. */
bool phl_session_weights(const phl_session *session, size_t tree, double *weights);

/* A work space of upward passes of this session: *view is made if NULL, and turned to `upward`.
 * For marginals and draws of states only. */
phl_status phl_session_turn_view(phl_tree_view **view, const phl_upward *upward, phl_error *error);

/* Draw labels [n] of a tree from b of the states given: where the forest knows the label it is
 * repeated as a row of the model (-1: unseen); elsewhere one of the M labels, -1 if a state emits
 * none of them.  After phl_tree_draw_states of that tree in `view`. */
void phl_session_emit_labels(const phl_tree_view *view, const uint32_t *states, phl_rng *rng,
                             int32_t *labels);

#endif
