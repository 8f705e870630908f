/* forest.h - how a forest lies in memory.
 *
 * n distinct subtrees, numbered by height (children before parents), E links of distinct subtrees,
 * T trees.  4 + 4 + 8 + 8 bytes per subtree, 8 per link, 16 per tree (24 with weights, 32 with
 * ids). Immutable once finished, so any number of threads may read it.
 */
#ifndef PHL_FOREST_FOREST_H
#define PHL_FOREST_FOREST_H

#include "forest/alphabet.h"

struct phl_forest {
    phl_alphabet labels;
    phl_alphabet classes;
    phl_alphabet files; /* sources of trees */
    phl_alphabet ids;   /* ids of trees */
    bool borrows_names; /* the alphabets are another forest's (forest_cut.h) */
    bool shared;
    uint32_t max_slot;

    size_t n_subtrees, n_links, n_levels, n_trees;
    int32_t *label;        /* [n] or PHL_UNKNOWN */
    uint32_t *leaf_slot;   /* [n] slot of a leaf; 0 for an internal node */
    uint64_t *first_link;  /* [n + 1] */
    int64_t *multiplicity; /* [n] occurrences over all trees */
    phl_link *links;       /* [E] ascending slots within a node */
    uint32_t *level;       /* [n_levels + 1] first subtree of each height */

    uint32_t *tree_root; /* [T] */
    int32_t *tree_class; /* [T] or PHL_NO_CLASS */
    uint32_t *tree_file; /* [T] number in files + 1; 0 = none */
    uint32_t *tree_line; /* [T] 0 = not known (also past 2^32 - 1) */
    double *tree_weight; /* [T]; NULL when every weight is 1 */
    int32_t *tree_id;    /* [T] number in ids or -1; NULL when no tree has one */
};

/* Nodes of every distinct subtree, itself included, and how many of their labels are unknown: [n]
 * each, to be released with phl_free. */
phl_status phl_forest_count_nodes(const phl_forest *forest, uint64_t **nodes, uint64_t **unknown,
                                  phl_error *error);

#endif
