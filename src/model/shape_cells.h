/* shape_cells.h - counts of what was seen in a context, and in the shorter ones it is backed off
 * to; for shape_model.c and shape_chances.c. */
#ifndef PHL_MODEL_SHAPE_CELLS_H
#define PHL_MODEL_SHAPE_CELLS_H

#include "model/shape_model.h"

/* Contexts of an event, shortest first: the first `length[i]` values of the full one. */
enum { PHL_SHAPE_LEVELS = 5 };
typedef struct phl_shape_levels {
    size_t n, length[PHL_SHAPE_LEVELS];
} phl_shape_levels;

/* How often an outcome was seen in a context. */
typedef struct phl_shape_cell {
    uint32_t class_index, event, level, context[PHL_SHAPE_CONTEXT], outcome;
    double count;
} phl_shape_cell;

phl_shape_levels phl_shape_cells_levels(uint32_t event);

/* The context of the next slot. */
void phl_shape_cells_context(const phl_shape_node *node, uint32_t context[PHL_SHAPE_CONTEXT]);

/* The cells of a context at a level, ascending by outcome; *n may be 0. */
const phl_shape_cell *phl_shape_cells_find(const phl_shape_model *model, size_t class_index,
                                           uint32_t event, uint32_t level,
                                           const uint32_t context[PHL_SHAPE_CONTEXT], size_t *n);

#endif
