/* state_counts.h - the hidden states of a forest as counts, told apart only as far as the posterior
 * tells them apart.
 *
 * A portion is a distinct internal subtree, its state, the cell of the core it uses (the joint
 * blocks of its active children), and how many of its occurrences have them.  What the children are
 * inside their blocks is kept by (slot, child) pair: of the children of pair p, N_p(q) are in state
 * q.
 *
 * That is all.  Which of the parents has which of the children is not kept: exchanging two
 * occurrences of the same subtree in the same slot, together with all below them, changes no count
 * as long as they are in one block, so given portions and N every such assignment has the same
 * probability.  A move that needs to know it draws it (slot_view.h), and may forget it afterwards.
 *
 * The first portion of an internal subtree has its number less the number of leaves, which come
 * before all internal subtrees; further ones, of subtrees that occur in several states or cells,
 * follow after the first portions of all.
 */
#ifndef PHL_GIBBS_STATE_COUNTS_H
#define PHL_GIBBS_STATE_COUNTS_H

#include "base/rng.h"
#include "gibbs/slot_pairs.h"

#define PHL_NO_PORTION UINT32_MAX
#define PHL_MANY UINT32_MAX

typedef struct phl_portion {
    int64_t n; /* 0: a first portion of a subtree that has none yet */
    uint32_t subtree, state;
    uint32_t cell;
    uint32_t next; /* portion of the same subtree, or PHL_NO_PORTION */
} phl_portion;

typedef struct phl_state_counts {
    const phl_slot_pairs *pairs; /* borrowed */
    uint32_t states;
    phl_portion *portion;
    size_t n_first; /* internal subtrees */
    size_t n_portions, portion_capacity;
    int64_t *value;      /* [n_pairs of the index][C] N, of pairs with several states */
    uint32_t *one_value; /* [n_pairs of the index] the state of all children, PHL_MANY if several;
                            who sets `value` sets it with phl_state_counts_tell */
} phl_state_counts;

phl_status phl_state_counts_create(const phl_slot_pairs *pairs, uint32_t states,
                                   phl_state_counts **counts, phl_error *error);
void phl_state_counts_free(phl_state_counts *counts);

/* Forget all portions; room is kept, and N is left as it is. */
void phl_state_counts_reset(phl_state_counts *counts);

phl_status phl_state_counts_add(phl_state_counts *counts, uint32_t subtree, uint32_t state,
                                uint32_t cell, int64_t n, phl_error *error);

static inline uint32_t phl_state_counts_first(const phl_state_counts *counts, uint32_t subtree)
{
    return subtree - (uint32_t)counts->pairs->n_leaves;
}

/* N of a pair in an eligible slot. */
static inline int64_t phl_state_counts_value(const phl_state_counts *counts, uint32_t pair,
                                             uint32_t state)
{
    uint32_t one = counts->one_value[pair];
    return one == PHL_MANY ? counts->value[(size_t)pair * counts->states + state]
           : one == state  ? counts->pairs->pair_times[pair]
                           : 0;
}

/* value[pair] was set: have its children one state? */
static inline void phl_state_counts_tell(phl_state_counts *counts, uint32_t pair)
{
    const int64_t *value = counts->value + (size_t)pair * counts->states;
    uint32_t last = 0, states = 0;
    for (uint32_t q = 0; q < counts->states; q++) {
        last = value[q] > 0 ? q : last;
        states += value[q] > 0;
    }
    counts->one_value[pair] = states > 1 ? PHL_MANY : last;
}

#endif
