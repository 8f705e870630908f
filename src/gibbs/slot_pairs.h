/* slot_pairs.h - which slots of a forest can be active, and who stands in them.
 *
 * A slot is eligible when it is filled often enough to become active.  The (slot, child) pairs of
 * eligible slots (model/index.h), their parents, and how often they occur depend on the forest
 * alone: they are found once, and all chains on the forest share them.
 */
#ifndef PHL_GIBBS_SLOT_PAIRS_H
#define PHL_GIBBS_SLOT_PAIRS_H

#include "model/index.h"

#define PHL_NOT_ELIGIBLE UINT32_MAX
#define PHL_NOT_LONE (PHL_NO_PAIR - 1)

typedef struct phl_slot_pairs {
    const phl_index *index; /* borrowed */
    size_t n_leaves;        /* distinct; they come before all internal subtrees */
    uint32_t n_eligible;
    uint32_t *eligible;    /* [E] slots, ascending */
    uint32_t *eligible_of; /* [slots + 1] number of a slot in `eligible`, or PHL_NOT_ELIGIBLE */

    /* Pairs of each eligible slot, and the subtrees that have them. */
    size_t *first_pair;   /* [E + 1] */
    uint32_t *pair;       /* numbers of the index */
    size_t *first_parent; /* [pairs + 1] */
    uint32_t *parent;     /* subtrees, less n_leaves */
    int64_t *parent_end;  /* occurrences of the parents of the same pair up to this one */
    int64_t *pair_times;  /* [n_pairs of the index] occurrences of the pair */
    int64_t *free_times;  /* [n] occurrences as a root, and as a child in a slot not eligible */
    uint32_t *lone_pair;  /* [n] of a subtree that occurs once: its pair, or PHL_NO_PAIR when that
                             occurrence is free; PHL_NOT_LONE: it occurs more often */
} phl_slot_pairs;

/* Eligible slots are filled in at least `support` of the internal nodes (occurrences).  Weights of
 * trees are taken for whole numbers. */
phl_status phl_slot_pairs_create(const phl_index *index, double support, phl_slot_pairs **pairs,
                                 phl_error *error);
void phl_slot_pairs_free(phl_slot_pairs *pairs);

#endif
