/* rows.h - the hidden states of a forest as counts, told apart only as far as the posterior tells
 * them apart.
 *
 * A row is a distinct internal subtree, its state, the cell of the core it uses (the joint blocks
 * of its active children), and how many of its occurrences have them.  What the children are inside
 * their blocks is kept by (slot, child) pair: of the children of pair p, N_p(q) are in state q.
 *
 * That is all.  Which of the parents has which of the children is not kept: exchanging two
 * occurrences of the same subtree in the same slot, together with all below them, changes no count
 * as long as they are in one block, so given rows and N every such assignment has the same
 * probability.  A move that needs to know it draws it (slot_view.h), and may forget it afterwards.
 *
 * The first row of an internal subtree has its number less the number of leaves, which come before
 * all internal subtrees; further ones, of subtrees that occur in several states or cells, follow
 * behind the first rows of all.
 *
 * A slot is eligible when it is filled often enough to become active.
 */
#ifndef PHL_GIBBS_ROWS_H
#define PHL_GIBBS_ROWS_H

#include "base/random.h"
#include "model/index.h"

#define PHL_NO_ROW UINT32_MAX
#define PHL_NOT_ELIGIBLE UINT32_MAX
#define PHL_NOT_LONE (PHL_NO_PAIR - 1)
#define PHL_MANY UINT32_MAX

typedef struct phl_row {
    int64_t n; /* 0: a first row of a subtree that has none yet */
    uint32_t subtree, state;
    uint32_t cell;
    uint32_t next; /* row of the same subtree, or PHL_NO_ROW */
} phl_row;

typedef struct phl_rows {
    const phl_index *index; /* borrowed */
    uint32_t states;
    uint32_t n_eligible;
    uint32_t *eligible;    /* [E] slots, ascending */
    uint32_t *eligible_of; /* [slots + 1] number of a slot in `eligible`, or PHL_NOT_ELIGIBLE */

    /* Pairs of each eligible slot, and the subtrees that have them. */
    size_t *first_pair;   /* [E + 1] */
    uint32_t *pair;       /* numbers of the index */
    size_t *first_parent; /* [pairs + 1] */
    uint32_t *parent;     /* their first rows */
    int64_t *parent_end;  /* occurrences of the parents of the same pair up to this one */
    int64_t *pair_times;  /* [n_pairs of the index] occurrences of the pair */
    int64_t *free_times;  /* [n] occurrences as a root, and as a child in a slot not eligible */
    uint32_t *lone_pair;  /* [n] of a subtree that occurs once: its pair, or PHL_NO_PAIR when that
                             occurrence is free; PHL_NOT_LONE: it occurs more often */

    phl_row *row;
    size_t n_leaves, n_first; /* leaves and internal subtrees */
    size_t n_rows, row_capacity;
    int64_t *value;      /* [n_pairs of the index][C] N, of pairs with several states */
    uint32_t *one_value; /* [n_pairs of the index] the state of all children, PHL_MANY if several;
                            who sets `value` sets it with phl_rows_tell */
} phl_rows;

/* Eligible slots are filled in at least `support` of the internal nodes (occurrences).  Weights of
 * trees are taken for whole numbers. */
phl_status phl_rows_create(const phl_index *index, uint32_t states, double support, phl_rows **rows,
                           phl_error *error);
void phl_rows_free(phl_rows *rows);

/* Forget all rows; room is kept, and N is left as it is. */
void phl_rows_reset(phl_rows *rows);

phl_status phl_rows_add(phl_rows *rows, uint32_t subtree, uint32_t state, uint32_t cell, int64_t n,
                        phl_error *error);

static inline uint32_t phl_rows_first(const phl_rows *rows, uint32_t subtree)
{
    return subtree - (uint32_t)rows->n_leaves;
}

/* N of a pair in an eligible slot. */
static inline int64_t phl_rows_value(const phl_rows *rows, uint32_t pair, uint32_t state)
{
    uint32_t one = rows->one_value[pair];
    return one == PHL_MANY ? rows->value[(size_t)pair * rows->states + state]
           : one == state  ? rows->pair_times[pair]
                           : 0;
}

/* value[pair] was set: have its children one state? */
static inline void phl_rows_tell(phl_rows *rows, uint32_t pair)
{
    const int64_t *value = rows->value + (size_t)pair * rows->states;
    uint32_t last = 0, states = 0;
    for (uint32_t q = 0; q < rows->states; q++) {
        last = value[q] > 0 ? q : last;
        states += value[q] > 0;
    }
    rows->one_value[pair] = states > 1 ? PHL_MANY : last;
}

#endif
