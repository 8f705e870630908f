/* index.h - a forest prepared for inference with L slots.
 *
 * What a child tells its parent depends only on (slot, child), so the C^2-sized work is done once
 * per distinct pair.  Pairs are numbered by child, hence by level; pairs of slots beyond L are left
 * out (PHL_NO_PAIR): such a child tells its parent nothing in a bottom-up model, and uses the mean
 * transition (slot row L) in td, for which they are kept when `beyond` is set.
 * The empty slots of a node contribute to sp; their part depends only on the set of filled slots,
 * so those sets are numbered too.
 */
#ifndef PHL_MODEL_INDEX_H
#define PHL_MODEL_INDEX_H

#include "forest/forest.h"

#define PHL_NO_PAIR UINT32_MAX
#define PHL_NO_SET UINT32_MAX

typedef struct phl_index {
    const phl_forest *forest; /* borrowed */
    uint32_t slots;           /* L */

    size_t n_pairs;
    uint32_t *pair_row;   /* [n_pairs] slot - 1; L for every slot beyond L */
    uint32_t *pair_child; /* [n_pairs] ascending */
    uint32_t *first_pair; /* [n + 1] pairs of each child */
    uint32_t *link_pair;  /* [E] or PHL_NO_PAIR */

    size_t n_sets;
    uint32_t *set_of;    /* [n] set of filled slots of an internal node; PHL_NO_SET for a leaf */
    uint32_t *set_first; /* [n_sets + 1] into set_rows */
    uint32_t *set_rows;  /* slot - 1 of every filled slot up to L, ascending */

    double *root_weight; /* [n] weights of the trees with that root, added up */
} phl_index;

phl_status phl_index_create(const phl_forest *forest, uint32_t slots, bool beyond,
                            phl_index **index, phl_error *error);
void phl_index_free(phl_index *index);

/* Occurrences of each distinct subtree, trees counted by tree_weight (NULL: the forest's own
 * weights). To be released with phl_free. */
phl_status phl_index_occurrences(const phl_forest *forest, const double *tree_weight,
                                 double **times, phl_error *error);

/* For each label of the forest its row in emission of a model whose alphabet is `labels`: the same
 * name, or M (unseen).  To be released with phl_free. */
phl_status phl_index_map_labels(const phl_forest *forest, const phl_alphabet *labels,
                                uint32_t **rows, phl_error *error);

#endif
