/* root_labels.h - labels of roots, drawn before the others: bottom-up models do not know which node
 * is the root. */
#ifndef PHL_TASK_ROOT_LABELS_H
#define PHL_TASK_ROOT_LABELS_H

#include "model/run.h"

/* A copy of shapes (no label known) in which the labels of roots are known, for a run with a model
 * of shapes.  nodes: of each subtree.  Tree t is number first_ordinal + t for the random numbers.
 */
phl_status phl_root_labels_draw(const phl_model *model, const phl_forest *shapes,
                                const uint64_t *nodes, uint64_t seed, size_t first_ordinal,
                                phl_forest **rooted, phl_error *error);

#endif
