/* grow_grammar.h - whole trees drawn from a grammar, labels and shape together. */
#ifndef PHL_TASK_GROW_GRAMMAR_H
#define PHL_TASK_GROW_GRAMMAR_H

#include "base/rng.h"
#include "forest/builder.h"
#include "grammar/backoff.h"

typedef struct phl_grow_grammar {
    const phl_backoff *backoff; /* borrowed */
    const int32_t *label_of;    /* number of each label in the builder; borrowed */
    double *weights;            /* [states + 2] */
    struct phl_growing_node *stack;
    size_t capacity;
} phl_grow_grammar;

/* Of a backoff at a time: weights are made for it. */
phl_status phl_grow_grammar_turn(phl_grow_grammar *growing, const phl_backoff *backoff,
                                 phl_error *error);
void phl_grow_grammar_clear(phl_grow_grammar *growing);

/* One attempt at a tree, which is left open in the builder: *size 0 when it passed max_nodes.  No
 * label is the unseen one. */
phl_status phl_grow_grammar_tree(phl_grow_grammar *growing, phl_builder *builder, size_t max_nodes,
                                 phl_rng *rng, size_t *size, phl_error *error);

#endif
