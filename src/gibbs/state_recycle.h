/* state_recycle.h - a search for better hidden states, for the warm-up alone.
 *
 * A try puts the nodes of state b into another state a, and then divides state d between d and b,
 * by groups of subtrees with one label (label_groups.h): b begins in the blocks of d and with half
 * of its base weight, every group goes to either by a fair coin, and a few scans of Metropolis
 * steps with all tables integrated out follow.  What comes out is kept if the log-joint did not
 * fall.
 *
 * That is greedy: it climbs, and does not leave the posterior as it is.  It must not happen in
 * iterations from which draws are kept.
 *
 * Only counts that step 3 looks at are changed: of cells, labels and leaves, the partitions and
 * lambda0.  Portions and pairs (state_counts.h) no longer belong to them afterwards; step 1 makes
 * them anew.
 */
#ifndef PHL_GIBBS_STATE_RECYCLE_H
#define PHL_GIBBS_STATE_RECYCLE_H

#include "gibbs/gibbs.h"

struct phl_state_recycle {
    phl_move_count count;
    /* Nodes to divide, by group: leaves by row of pi, internal ones by cell, known labels by row.
     */
    struct phl_recycle_entry *entries;
    size_t n_entries, entry_capacity;
    struct phl_recycle_group *groups;
    size_t n_groups, group_capacity;
    uint32_t *entry_of; /* [cells and rows] entry + 1 in the group at hand */
    size_t entry_of_capacity;
    int64_t *kept, *given; /* [cells and rows] nodes on the side of d, and of b */
    size_t kept_capacity, given_capacity;
    int64_t *label_kept, *label_given; /* [M + 1] */
    /* What a try may have to take back. */
    int64_t *cells, *emission, *prior;
    size_t cells_capacity, emission_capacity, prior_capacity;
    uint32_t *size, *block; /* [E], [E][C + 1] */
    double *log_lambda0;
};

phl_status phl_state_recycle_create(const phl_gibbs *gibbs, phl_state_recycle **recycle,
                                    phl_error *error);
void phl_state_recycle_free(phl_state_recycle *recycle);

/* The tries of the iteration under way, if it is one of the warm-up that has any. */
phl_status phl_state_recycle_search(phl_gibbs *gibbs, phl_error *error);

#endif
