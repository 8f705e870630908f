/* paper_sampler.h - one chain of the sampler of the paper (Castellana & Bacciu 2019, Algorithms
 * 1-3), for comparison with the blocked sampler of gibbs.h.
 *
 * THIS SAMPLER DOES NOT LEAVE THE POSTERIOR INVARIANT.  It exists to reproduce the figures of the
 * paper and their spread; to learn a model use the blocked sampler.  Where it departs from a proper
 * sampler: the acceptance ratio of step 1 leaves out the normalisers of its proposal and is
 * tempered while annealing, and the one of step 2 leaves out the proposal ratio of splits and
 * merges.
 *
 * One iteration, at temperature T(m):
 *   1. Q and z, tree by tree (Algorithm 1).  Proposed for every node, leaves first: a leaf in slot
 * l Q' ~ pi^l(j) b_j(x), an internal node Q' ~ lambda_z(j) b_j(x) with the OLD z of its children;
 *      then z' from the new states of the children.  The tree takes all of it with probability
 *        min(1, [prod_u lambda_z'(Q') lambda_z'(Q) / (lambda_z(Q) lambda_z(Q'))]^(1/T)).
 *      The factor b is not in the printed algorithm; the authors ran it with it.
 *   2. One slot drawn at random gets one block more (a random block is cut in two at random) or one
 *      less (two random blocks are merged), with the repairs of Algorithm 2 when the number of
 *      active slots leaves [Lmin, Lmax]; taken with probability min(1, [L(k') p(k') / (L(k)
 * p(k))]^(1/T)), L with lambda integrated out, p(k) = e^(-phi k): no division by the number of
 * partitions.
 *   3. lambda0 by table counts (Algorithm 3), then lambda, pi, b: the same as in the blocked
 * sampler.
 *
 * Nothing is shared: Q and z are kept for every occurrence of a node, and a tree of weight w is w
 * trees.  z is a function of Q and the partitions (hard clustering), so what a checkpoint needs
 * beside (params, log lambda0, alpha, alpha0) is Q alone.
 *
 * The paper: T0 = 20, m0 = 5 for classification, T0 = 10, m0 = 20 for labelling, Lmin = 1.
 */
#ifndef PHL_GIBBS_PAPER_SAMPLER_H
#define PHL_GIBBS_PAPER_SAMPLER_H

#include "gibbs/gibbs.h"

#define PHL_PAPER_SAMPLER_NONE UINT32_MAX

/* An occurrence of a node. */
typedef struct phl_paper_sampler_node {
    uint32_t parent;    /* number of the parent; of no use at a root */
    uint32_t eligible;  /* number of its slot among the eligible ones; PHL_PAPER_SAMPLER_NONE for a
                           root and  for slots that cannot be active: it tells its parent nothing */
    uint32_t leaf_row;  /* row of pi; PHL_PAPER_SAMPLER_NONE: internal */
    uint32_t label_row; /* row of b */
} phl_paper_sampler_node;

typedef struct phl_paper_sampler {
    phl_gibbs
        *gibbs; /* parameters, partitions, counts, lambda0, iteration and the figures of the
                   iteration done last, all as in the blocked sampler; its portions stay empty */
    size_t n_nodes, n_trees;       /* occurrences; weights written out */
    size_t *first;                 /* [n_trees + 1] nodes of a tree, in pre-order */
    phl_paper_sampler_node *nodes; /* [n_nodes] */
    uint32_t *state;               /* [n_nodes] Q */
    uint32_t *cell; /* [n_nodes] z of the children as a row of the core; 0 at a leaf */
    uint64_t trees_tried, trees_taken; /* proposals of step 1, in all iterations */
    uint64_t sizes_tried, sizes_taken; /* of step 2; by their first move also in gibbs->partitions,
                                          as split and merged */

    /* Work space. */
    uint32_t *new_state, *new_cell; /* [n_nodes] the proposal of step 1 */
    uint32_t empty_cell;            /* z of a node all of whose slots are empty */
    uint32_t *offset;               /* [E][C] what a child's state adds to it, modulo 2^32 */
    uint32_t *old_size;             /* [E] partitions to go back to in step 2 */
    uint32_t *old_block;            /* [E][C + 1] */
    double *weights;                /* [C] */
} phl_paper_sampler;

/* A chain at its start: two blocks in one random eligible slot (or in slots_min of them), as in the
 * blocked sampler; all tables drawn from their priors ("we use flat priors to generate the initial
 * probability distribution"), and Q drawn from them from the leaves to the root as in step 1.  From
 * uniform tables, the start of the blocked sampler, the chain does better than the paper's.
 * The pairs, of trees of one class, and label_row are borrowed. */
phl_status phl_paper_sampler_create(const phl_slot_pairs *pairs, const uint32_t *label_row,
                                    uint32_t states, uint32_t labels,
                                    const phl_gibbs_options *options, phl_paper_sampler **sampler,
                                    phl_error *error);
void phl_paper_sampler_free(phl_paper_sampler *sampler);

/* One iteration, at a temperature of 1 or more. */
phl_status phl_paper_sampler_step(phl_paper_sampler *sampler, double temperature, phl_error *error);

/* Put a new chain where another one was, hard, with Q [n_nodes].  Nothing of the state is kept;
 * what follows is what followed then. */
phl_status phl_paper_sampler_restore(phl_paper_sampler *sampler, const phl_chain_state *state,
                                     const uint32_t *hidden, phl_error *error);

#endif
