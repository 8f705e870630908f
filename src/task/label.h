/* label.h - hiding labels, shared by the two halves of labelling. */
#ifndef PHL_TASK_LABEL_H
#define PHL_TASK_LABEL_H

#include "forest/forest.h"

/* A copy of the forest in which each known label is unknown with probability `hide`, 0 < hide <= 1:
 * a pure function of (seed, tree, labels of the tree).  Label numbers stay. */
phl_status phl_hide_labels(const phl_forest *forest, double hide, uint64_t seed,
                           phl_forest **hidden, phl_error *error);

/* The caller's options, NULL: the defaults. */
phl_status phl_label_options_take(const phl_label_options *given, phl_label_options *taken,
                                  phl_error *error);

/* phl_label with a context of its own for `labelled`. */
phl_status phl_label_with(const phl_model *model, const phl_forest *forest,
                          const phl_label_options *options, phl_labelled_fn labelled,
                          void *labelled_context, phl_evaluation *evaluation, phl_error *error);

#endif
