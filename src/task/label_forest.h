/* label_forest.h - forests before and after labelling (label_forest.c). */
#ifndef PHL_TASK_LABEL_FOREST_H
#define PHL_TASK_LABEL_FOREST_H

#include "forest/copy.h"

/* A copy of the forest in which each known label is unknown with probability `hide`, 0 < hide <= 1:
 * a pure function of (seed, first_ordinal + number of the tree, labels of the tree).  Label numbers
 * stay. */
phl_status phl_label_forest_hide(const phl_forest *forest, double hide, uint64_t seed,
                                 size_t first_ordinal, phl_forest **hidden, phl_error *error);

/* A copy of a block whose labels are filled in tree by tree. */
typedef struct phl_label_forest {
    phl_copy copy;
    int32_t *of_run; /* number in the copy of each label of the run */
    int32_t *labels; /* of one tree */
    size_t capacity;
} phl_label_forest;

phl_status phl_label_forest_begin(phl_label_forest *filling, const phl_run *run,
                                  const phl_forest *block, phl_error *error);
phl_status phl_label_forest_add(phl_label_forest *filling, size_t tree,
                                const phl_labelled_tree *labelled, bool drawn, phl_error *error);
phl_status phl_label_forest_finish(phl_label_forest *filling, phl_forest **filled,
                                   phl_error *error);
void phl_label_forest_clear(phl_label_forest *filling);

#endif
