/* kernel.h - what the passes of infer.h ask of each model.
 *
 * The passes (upward.c, expected_counts.c, tree.c) walk the forest; a kernel knows one model's
 * arithmetic at one node or one (slot, child) pair.  C states; b is the node's row of emission.
 */
#ifndef PHL_MODEL_KERNEL_H
#define PHL_MODEL_KERNEL_H

#include "model/infer.h"

/* Expected counts on their way from roots to leaves; see expected_counts.c. */
typedef struct phl_counting {
    const phl_upward *upward;
    phl_params *counts;
    double *outside;  /* [n][C] sum over occurrences of p(Q | labels) / beta */
    double *pair_sum; /* [n_pairs][width] what parents pass to a pair */
    double *set_sum;  /* sp: [n_sets][C] */
    double
        *flow; /* [C] of the node at hand: outside * b / norm (bottom-up), expected counts (td) */
    double *scratch;
} phl_counting;

typedef struct phl_kernel {
    /* Doubles of a message, and of scratch for the calls below. */
    size_t (*width)(const phl_params *params);
    size_t (*scratch)(const phl_upward *upward);
    /* Parameters changed: fill table, empty, twins. */
    phl_status (*prepare)(phl_upward *upward, phl_error *error);
    /* inside, beta, norm and messages of the subtrees begin .. end - 1, all of one height. */
    void (*run)(const phl_upward *upward, size_t begin, size_t end, double *scratch);
    /* A model with twins, else NULL: `run` is given groups, and does their first subtrees without
     * messages.  Then the messages twins->sent[begin .. end - 1]; in the end the copies among the
     * subtrees begin .. end - 1. */
    void (*send)(const phl_upward *upward, size_t begin, size_t end);
    void (*copy)(const phl_upward *upward, size_t begin, size_t end);
    /* log of what turns log_likelihood[root] into log p(labels): 0 but for td. */
    double (*root_term)(const phl_upward *upward, uint32_t s);

    /* Counts: what a root's unit weight adds to outside[s]; an internal node passes counting->flow
     * to its pairs (and counts what it owns); a pair adds to outside of its child (and counts what
     * it owns); at the end what is summed over sets. */
    void (*count_root)(phl_counting *counting, uint32_t s, double weight);
    void (*count_node)(phl_counting *counting, uint32_t s);
    void (*count_pair)(phl_counting *counting, uint32_t pair);
    void (*count_end)(phl_counting *counting);

    /* One tree: outside of the root; of the children of node u from outside of u. */
    void (*tree_root)(phl_tree_view *view);
    phl_status (*tree_children)(phl_tree_view *view, size_t u, phl_error *error);
    /* p(Q_u = i, Q_child = q) up to a factor, child c of node u. */
    phl_status (*tree_pair)(phl_tree_view *view, size_t u, size_t c, double *pair,
                            phl_error *error);

    /* Most probable states: delta[s] of an internal node relative to the sum of its children's best
     * (without the emission); states of the children of u, whose state is set. */
    void (*joint_inside)(phl_tree_view *view, uint32_t s, double *delta);
    void (*joint_children)(phl_tree_view *view, size_t u, uint32_t *states);

    /* Draw the states of the children of u given that of u. */
    void (*draw_children)(phl_tree_view *view, size_t u, phl_rng *rng, uint32_t *states);
} phl_kernel;

const phl_kernel *phl_kernel_of(phl_kind kind);
extern const phl_kernel phl_sp_kernel;
extern const phl_kernel phl_tf_kernel; /* tf, hard and soft, and full */
extern const phl_kernel phl_td_kernel;

/* The upward part of phl_tf_kernel, which has a file of its own (tf_upward.c). */
size_t phl_tf_upward_scratch(const phl_upward *upward);
phl_status phl_tf_upward_prepare(phl_upward *upward, phl_error *error);
void phl_tf_upward_run(const phl_upward *upward, size_t begin, size_t end, double *scratch);
void phl_tf_upward_send(const phl_upward *upward, size_t begin, size_t end);
void phl_tf_upward_copy(const phl_upward *upward, size_t begin, size_t end);

/* Row of emission of a distinct subtree: its label, the unseen symbol, or all 1 when unknown. */
static inline size_t phl_emission_row(const phl_upward *upward, uint32_t s)
{
    int32_t label = upward->index->forest->label[s];
    return label < 0 ? (size_t)upward->params->labels + 1 : upward->label_row[label];
}

static inline const double *phl_emission_of(const phl_upward *upward, uint32_t s)
{
    return upward->params->emission + phl_emission_row(upward, s) * upward->params->states;
}

/* Row of the prior of a leaf in `slot`. */
static inline size_t phl_leaf_row(const phl_params *params, uint32_t slot)
{
    return slot <= params->slots ? slot - 1 : params->slots;
}

static inline double phl_dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Largest number allowed in outside and flow: states of probability 0 can have unbounded ones,
 * which matter only when that probability is lifted by leaving a label out. */
#define PHL_FLOW_MAX 1e250

static inline double phl_clamp_flow(double value)
{
    return value < PHL_FLOW_MAX ? value : PHL_FLOW_MAX;
}

/* Node numbers in a view of the children of u, one after the other: first child, then the one
 * after child c. */
static inline size_t phl_first_child(size_t u)
{
    return u + 1;
}
static inline size_t phl_next_sibling(const phl_tree_view *view, size_t c)
{
    return c + (size_t)view->size[view->subtree[c]];
}

/* log, with -inf for 0 without raising a flag anybody looks at. */
double phl_kernel_log(double p);

/* Make room for n doubles of scratch. */
phl_status phl_tree_scratch(phl_tree_view *view, size_t n, phl_error *error);

#endif
