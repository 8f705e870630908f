/* grow_shape.h - shapes of whole trees drawn from a run's model of shapes. */
#ifndef PHL_TASK_GROW_SHAPE_H
#define PHL_TASK_GROW_SHAPE_H

#include "base/rng.h"
#include "forest/builder.h"
#include "model/shape_model.h"

/* Zero-initialised, with the model. */
typedef struct phl_grow_shape {
    const phl_shape_model *model; /* borrowed */
    size_t class_index;
    phl_shape_node *stack;
    size_t capacity;
} phl_grow_shape;

void phl_grow_shape_clear(phl_grow_shape *growing);

/* One tree, left open in the builder; all labels are unknown.  *size 0: it would have more than
 * max_nodes nodes. */
phl_status phl_grow_shape_tree(phl_grow_shape *growing, phl_builder *builder, size_t max_nodes,
                               phl_rng *rng, size_t *size, phl_error *error);

#endif
