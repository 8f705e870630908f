/* copies.h - copies of a forest with other labels, or of some of its trees with only their names.
 *
 * Classes, weights, ids and sources of the trees are kept.  Copies share as the original does.
 */
#ifndef PHL_TASK_COPIES_H
#define PHL_TASK_COPIES_H

#include "forest/forest.h"

/* Every label unknown; the names of labels stay.  Work grows with distinct subtrees. */
phl_status phl_copy_shapes(const phl_forest *forest, phl_forest **copy, phl_error *error);

/* Some of the trees, with an alphabet of labels and classes of their own: what a learner may know
 * of them. */
phl_status phl_copy_trees(const phl_forest *forest, const size_t *trees, size_t n,
                          phl_forest **copy, phl_error *error);

/* A copy with other labels, tree by tree: node by node in the pre-order of each, as numbers in
 * `names` or PHL_UNKNOWN.  Trees that are not added are left out.  Clear in any case. */
typedef struct phl_relabelling {
    const phl_forest *forest;
    phl_builder *builder;
    phl_walk *walk;
} phl_relabelling;

phl_status phl_relabelling_begin(phl_relabelling *work, const phl_forest *forest,
                                 const phl_alphabet *names, phl_error *error);
phl_status phl_relabelling_add(phl_relabelling *work, size_t tree, const int32_t *labels,
                               phl_error *error);
phl_status phl_relabelling_finish(phl_relabelling *work, phl_forest **copy, phl_error *error);
void phl_relabelling_clear(phl_relabelling *work);

/* Nodes of every distinct subtree, and how many of their labels are unknown: [n] each, to be
 * released with phl_free. */
phl_status phl_count_nodes(const phl_forest *forest, uint64_t **nodes, uint64_t **unknown,
                           phl_error *error);

#endif
