/* infer.h - exact inference with given parameters: see docs/maths.md.
 *
 * Two views of the same quantities.  Per distinct subtree (upward pass, expected counts): work
 * grows with distinct subtrees.  Per tree (marginals, most probable states, draws): node by node in
 * pre-order, for output.
 *
 * Bottom-up family, for a distinct subtree s with label row x:
 *   inside(j)  = p(Q = j | labels strictly below s)
 *   beta(j)    = p(Q = j | labels of the subtree)              = b_j(x) inside(j) / norm
 * td: inside(j) = scaled product of the children's messages, beta(j) = scaled p(labels of the
 * subtree | Q = j).  In both, log_likelihood[s] = log p(labels of the subtree) for a root s.
 */
#ifndef PHL_MODEL_INFER_H
#define PHL_MODEL_INFER_H

#include "base/rng.h"
#include "model/index.h"
#include "model/params.h"
#include "model/twins.h"

/* ---- Upward: once per distinct subtree ------------------------------------------------------- */

typedef struct phl_upward {
    const phl_index *index;    /* borrowed */
    const phl_params *params;  /* borrowed */
    const uint32_t *label_row; /* borrowed; [labels of the forest] row in emission */
    double *inside;            /* [n][C] */
    double *beta;              /* [n][C] */
    double *norm;              /* [n] sum of b inside; 0 when the subtree has probability 0 */
    double *exponent;          /* td: [n] inside was divided by 2^exponent; else NULL */
    double *log_likelihood; /* [n] of the subtree below and including s; -inf when impossible.  td:
                               only scaled, see phl_upward_tree.  Set by phl_upward_score */
    size_t width, message_capacity; /* doubles per message; room for all */
    double *message; /* [n_pairs][width] sp: phi_l sum_q A(i|q) beta(q); td: sum_q A(q|i) beta(q);
                        tf: m_l(z) of active slots */
    double *empty;   /* sp: [n_sets][C] part of the empty slots */
    phl_twins twins; /* tf, full: which subtrees are copies of others */
    double *table, *scratch; /* derived from the parameters; of all workers */
    uint32_t *members;       /* tf: states by block of each active slot */
    size_t table_capacity, scratch_capacity, members_capacity;
} phl_upward;

phl_status phl_upward_create(const phl_index *index, const phl_params *params,
                             const uint32_t *label_row, phl_upward **upward, phl_error *error);
void phl_upward_free(phl_upward *upward);

/* Bytes in use. */
uint64_t phl_upward_bytes(const phl_upward *upward);

/* Run the pass (again, after parameters changed): inside, beta, norm and messages.  threads as in
 * parallel.h. */
phl_status phl_upward_pass(phl_upward *upward, int threads, phl_error *error);

/* The same, but without the copies of twins: norm and messages are set for all, inside and beta for
 * the first of each group only. */
phl_status phl_upward_norms(phl_upward *upward, int threads, phl_error *error);

/* Other parameters for the next pass, of the same kind and sizes. */
static inline void phl_upward_turn(phl_upward *upward, const phl_params *params)
{
    upward->params = params;
}

/* After the pass: log_likelihood. */
phl_status phl_upward_score(phl_upward *upward, int threads, phl_error *error);

/* Both. */
phl_status phl_upward_run(phl_upward *upward, int threads, phl_error *error);

/* log of what the root of a tree adds to the sum over its subtrees: 0 but for td.  After the pass.
 */
double phl_upward_root(const phl_upward *upward, uint32_t root);

/* After phl_upward_score: log p(labels) of a tree, without the shape term. */
double phl_upward_tree(const phl_upward *upward, size_t tree);

/* After the pass, bottom-up models: sum over distinct subtrees of times * log norm.  With the
 * occurrences of phl_index_occurrences that is log p(labels) of all trees. */
double phl_upward_total(const phl_upward *upward, const double *times);

/* ---- Expected counts: once per distinct subtree ---------------------------------------------- */

/* Add the posterior expectation of every sufficient statistic to `counts` (same sizes as params),
 * trees weighted by tree_weight (NULL: weights of the forest).  Trees of probability 0 add nothing.
 * Shape counts are not touched. */
phl_status phl_expected_counts(const phl_upward *upward, const double *tree_weight, int threads,
                               phl_params *counts, phl_error *error);

/* ---- Shape term ------------------------------------------------------------------------------ */

/* log p(shape of the subtree below s, itself given as internal or leaf), per distinct subtree [n];
 * and of a tree. */
void phl_shape_run(const phl_params *params, const phl_forest *forest, double *log_shape);
double phl_shape_tree(const phl_params *params, const phl_forest *forest, const double *log_shape,
                      size_t tree);
/* log_shape as something that every internal node adds, *node, and every child: child [L + 1][2], a
 * leaf or internal, by slot, row L beyond it; consecutive numbers are `stride` apart.  A slot that
 * is never empty cannot be told this way: then all are 0, and false is returned. */
bool phl_shape_tables(const phl_params *params, double *node, double *child, size_t stride);
/* Add what each subtree by itself has in log_shape to terms [n]. */
void phl_shape_add(const phl_params *params, const phl_forest *forest, double *terms);
/* Add shape counts of the weighted trees to counts->shape and counts->root_kind. */
phl_status phl_shape_counts(const phl_forest *forest, const double *tree_weight, phl_params *counts,
                            phl_error *error);

/* ---- One tree, node by node -------------------------------------------------------------------
 */

/* Work space for trees of one upward pass; arrays grow as needed. */
typedef struct phl_tree_view {
    const phl_upward *upward; /* borrowed */
    size_t n;                 /* nodes of the tree at hand, in pre-order */
    size_t subtree_capacity, parent_capacity, slot_capacity, link_capacity, outside_capacity,
        marginal_capacity, cavity_capacity, scratch_capacity;
    uint32_t *subtree; /* [n] */
    size_t *parent;    /* [n] SIZE_MAX at the root */
    uint32_t *slot;    /* [n] */
    uint64_t *link;    /* [n] link from the parent; not set at the root */
    double *outside;   /* [n][C] */
    double *marginal;  /* [n][C] p(Q_u | all labels) */
    double *cavity;    /* [n][C] p(Q_u | all labels but that of u) */
    double *scratch;
    uint64_t *size; /* [n_subtrees] nodes below each distinct subtree, itself included */
    double *delta;  /* [n_subtrees][C] log-probability of the best states below, made on demand */
    double *best;   /* [n_subtrees] max over states of delta */
} phl_tree_view;

phl_status phl_tree_view_create(const phl_upward *upward, phl_tree_view **view, phl_error *error);
void phl_tree_view_free(phl_tree_view *view);

/* Marginals and cavities of a tree.  *possible is false, and nothing else is valid but n, subtree,
 * parent and slot, when the tree has probability 0. */
phl_status phl_tree_marginals(phl_tree_view *view, size_t tree, bool *possible, phl_error *error);

/* After phl_tree_marginals: p(Q_parent(u) = i, Q_u = q | labels) into pair [C][C], i by rows; u is
 * not the root. */
phl_status phl_tree_pair(phl_tree_view *view, size_t u, double *pair, phl_error *error);

/* After phl_tree_marginals: p(x_u = d | all other labels), d = 0 .. M with M the unseen symbol,
 * into predictive [M + 1]; sums to 1. */
void phl_tree_predictive(const phl_tree_view *view, size_t u, double *predictive);

/* Most probable joint states (with switches for sp, blocks for soft tf), one per node into states
 * [n]; *log_joint is the log-probability of labels and that assignment. */
phl_status phl_tree_most_probable(phl_tree_view *view, size_t tree, uint32_t *states,
                                  double *log_joint, bool *possible, phl_error *error);

/* A draw from p(Q | labels) into states [n]. */
phl_status phl_tree_draw_states(phl_tree_view *view, size_t tree, phl_rng *rng, uint32_t *states,
                                bool *possible, phl_error *error);

#endif
