/* forest_cut.h - pieces of a forest that share its names.
 *
 * A piece holds some of the trees, in their order, and the subtrees below them, numbered as
 * phl_forest_select would number them.  Its alphabets are the forest's own, which must outlive it.
 * A piece takes time and memory in proportion to itself, not to the forest: many of them together
 * cost little more than the forest.
 */
#ifndef PHL_FOREST_FOREST_CUT_H
#define PHL_FOREST_FOREST_CUT_H

#include "forest/forest.h"

/* Work space for pieces of one forest (borrowed); zeroed by phl_forest_cut_begin. */
typedef struct phl_forest_cutter {
    const phl_forest *forest;
    uint32_t *number;  /* [n] of each subtree in the piece at hand + 1; 0: not in it */
    uint32_t *members; /* subtrees of the piece */
    size_t n_members, member_capacity;
} phl_forest_cutter;

phl_status phl_forest_cut_begin(phl_forest_cutter *cutter, const phl_forest *forest,
                                phl_error *error);
void phl_forest_cut_end(phl_forest_cutter *cutter); /* fine on a zeroed one */

/* The piece of `n` trees, numbers ascending; released with phl_forest_free. */
phl_status phl_forest_cut(phl_forest_cutter *cutter, const size_t *trees, size_t n,
                          phl_forest **piece, phl_error *error);

#endif
