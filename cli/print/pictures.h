/* pictures.h - pictures of results as SVG. */
#ifndef PHLOEM_CLI_PICTURES_H
#define PHLOEM_CLI_PICTURES_H

#include "print/evaluations.h"

#include <stdio.h>

/* A tree with the labels given, node by node in pre-order; those that differ from the tree's own
 * are red.  Children that are not there leave a little room, so that left and right can be told.
 * Returns an exit code. */
int picture_tree(FILE *file, const phl_forest *forest, size_t tree, char *const *labels,
                 const char *title);

/* A confusion matrix of an evaluation, names in order, each row shaded by its shares. */
void picture_confusion(FILE *file, const phl_evaluation *evaluation, const phl_confusion *confusion,
                       const char *title);

#endif
