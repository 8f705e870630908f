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

/* Labels node by node in the pre-order of each tree, as numbers in `names` or PHL_UNKNOWN: called
 * once a tree, in order, to fill labels [n]. */
typedef phl_status (*phl_relabel_fn)(size_t tree, size_t n, int32_t *labels, void *context,
                                     phl_error *error);
phl_status phl_copy_relabelled(const phl_forest *forest, const phl_alphabet *names,
                               phl_relabel_fn relabel, void *context, phl_forest **copy,
                               phl_error *error);

/* Nodes of every distinct subtree, and how many of their labels are unknown: [n] each, to be
 * released with phl_free. */
phl_status phl_count_nodes(const phl_forest *forest, uint64_t **nodes, uint64_t **unknown,
                           phl_error *error);

#endif
