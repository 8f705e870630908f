/* models.h - random models and random trees for tests.
 *
 * Everything is a function of the random stream given.
 */
#ifndef PHL_TESTS_MODELS_H
#define PHL_TESTS_MODELS_H

#include "base/rng.h"
#include "forest/forest.h"
#include "forests.h"
#include "gibbs/slot_pairs.h"
#include "model/infer.h"
#include "must.h"

extern const char *const letter[26]; /* "a" .. "z": names of labels */

/* Uniform on 0 .. bound - 1. */
uint32_t random_below(phl_rng *rng, uint32_t bound);

/* ---- Models ---------------------------------------------------------------------------------- */

typedef enum row_style {
    ROWS_PLAIN,  /* all probabilities positive */
    ROWS_ZEROS,  /* a third of the cells exactly 0 */
    ROWS_SKEWED, /* over six orders of magnitude */
    ROW_STYLES
} row_style;

/* One distribution. */
void random_row(phl_rng *rng, row_style style, double *row, size_t columns, size_t stride);

/* All tables of a model, completed. */
void random_tables(phl_rng *rng, row_style style, phl_params *params);

/* A model; tf has up to max_active active slots with random partitions or, if soft, matrices. */
phl_params *random_params(phl_rng *rng, phl_kind kind, bool soft, uint32_t states, uint32_t slots,
                          uint32_t labels, uint32_t max_active, row_style style);

/* The partitions of a hard tf model as JSON, for phl_train_options; released with phl_free. */
char *partition_json(const phl_params *params);

/* A model on a forest: the upward pass done, a view ready. */
typedef struct prepared {
    const phl_forest *forest;
    const phl_params *params;
    phl_index *index;
    phl_slot_pairs *pairs; /* every slot eligible */
    uint32_t *label_row;
    phl_upward *upward;
    phl_tree_view *view;
} prepared;
prepared prepare(const phl_forest *forest, const phl_alphabet *labels, const phl_params *params,
                 int threads);
void unprepare(prepared *p);

/* ---- Trees ----------------------------------------------------------------------------------- */

#define MAX_SHAPE 16

/* A tree without labels, in pre-order; the root has slot 1. */
typedef struct shape {
    unsigned size;
    unsigned parent[MAX_SHAPE];
    uint32_t slot[MAX_SHAPE];
} shape;

/* Every shape of 1 .. size nodes with slots 1 .. slots; released with phl_free. */
shape *all_shapes(unsigned size, uint32_t slots, size_t *count);

uint32_t shape_max_slot(const shape *s);

/* Up to `size` nodes, at most MAX_SHAPE. */
shape random_shape(phl_rng *rng, unsigned size, uint32_t slots);

/* Add a tree; labels[u] NULL: unknown. */
void add_tree(phl_builder *builder, const shape *s, const char *const *labels, double weight,
              const char *class_name);

phl_builder *new_builder(bool no_sharing);
phl_forest *finish_forest(phl_builder *builder); /* and free the builder */

#endif
