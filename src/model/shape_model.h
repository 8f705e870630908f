/* shape_model.h - how trees of a class are shaped, drawn before their labels: docs/maths.md.
 *
 * A tree gets its number of nodes and its height, and hands them down: every node knows how many
 * nodes and levels are below it and divides them among its children, slot by slot.  What a slot
 * gets depends on the slot, the one before, what is left, the height and the depth; numbers of
 * times that this was seen are backed off from the whole of that to less and less of it.  No slot
 * is larger than the largest one in training; what could not be completed then has no chance.
 */
#ifndef PHL_MODEL_SHAPE_MODEL_H
#define PHL_MODEL_SHAPE_MODEL_H

#include "base/error.h"

/* What an event is about. */
typedef enum phl_shape_event {
    PHL_SHAPE_SIZE,   /* nodes of a tree; no context */
    PHL_SHAPE_HEIGHT, /* its height (bin), given the bin of its size */
    PHL_SHAPE_SLOT,   /* what a slot gets; see below */
    PHL_SHAPE_DROP,   /* by how much a child is lower than it could be (bin), given the bins of the
                         parent's height and the child's size */
    PHL_SHAPE_LABEL,  /* label of the root, given the bin of its number of children */
    PHL_SHAPE_EVENTS
} phl_shape_event;

/* Numbers are seen in bins: 1, 2, 3 by themselves, then two bins an octave.  Bin 0 is the number 0.
 */
enum { PHL_SHAPE_BINS = 64 }; /* of 32-bit numbers, 0 to 63 */
static inline uint32_t phl_shape_bin(uint32_t x)
{
    uint32_t octave = 0;
    while (octave < 31 && x >> (octave + 1) != 0) {
        octave++;
    }
    return x < 4 ? x : 2 * octave + (x >> (octave - 1) & 1);
}
void phl_shape_model_bin(uint32_t bin, uint64_t *first, uint64_t *last);

/* The context of a slot: whether a child so far is as high as it can be, the slot (up to 4), the
 * slot before, bins of the nodes left and of the parent's height, the parent's depth (up to 2). */
enum { PHL_SHAPE_CONTEXT = 6, PHL_SHAPE_SLOTS = 4, PHL_SHAPE_DEPTHS = 2 };
enum { PHL_BEFORE_NONE, PHL_BEFORE_EMPTY, PHL_BEFORE_LEAF, PHL_BEFORE_INTERNAL };

/* What a slot gets: nothing, or a child that is as high as can be or lower, with all nodes left
 * (bin 0) or less: 1 + 2 * bin + high. */
enum { PHL_SHAPE_EMPTY = 0, PHL_SHAPE_OUTCOMES = 1 + 2 * PHL_SHAPE_BINS };
static inline uint32_t phl_shape_outcome(uint32_t bin, bool high)
{
    return 1 + 2 * bin + high;
}

/* An event of a class that was seen: a row of the run file. */
typedef struct phl_shape_row {
    uint32_t class_index, event, context[PHL_SHAPE_CONTEXT], outcome;
    double count;
} phl_shape_row;

typedef struct phl_shape_model {
    uint32_t slots, labels;
    size_t n_classes;
    size_t n_rows, row_capacity;
    phl_shape_row *rows;          /* ascending, no two alike but for their counts */
    size_t n_cells;               /* derived: */
    struct phl_shape_cell *cells; /* counts of outcomes in all contexts, the shorter ones too */
    double *internal;             /* [n_classes] internal nodes seen */
} phl_shape_model;

/* Of no trees yet. */
phl_status phl_shape_model_create(uint32_t slots, uint32_t labels, size_t n_classes,
                                  phl_shape_model **model, phl_error *error);
void phl_shape_model_free(phl_shape_model *model);

/* Count the trees of a class, whose labels are rows of the run (label_row; numbers from `labels` on
 * do not count).  Then phl_shape_cells_finish makes the contexts. */
phl_status phl_shape_model_count(phl_shape_model *model, size_t class_index,
                                 const phl_forest *forest, const uint32_t *label_row,
                                 phl_error *error);
phl_status phl_shape_cells_finish(phl_shape_model *model, phl_error *error);

/* A copy, finished. */
phl_status phl_shape_model_clone(const phl_shape_model *model, phl_shape_model **copy,
                                 phl_error *error);

/* Are the rows what phl_shape_model_count could have made? */
bool phl_shape_model_is_sound(const phl_shape_model *model);

/* ---- Chances (shape_chances.c) --------------------------------------------------------------- */

/* A node whose slots are being filled. */
typedef struct phl_shape_node {
    uint32_t depth, height;
    uint32_t left; /* nodes below it that no child has yet */
    uint32_t slot; /* the next one */
    uint32_t before;
    bool reached; /* some child is as high as it can be */
} phl_shape_node;

/* Begin with a node of that many nodes and levels. */
phl_shape_node phl_shape_chances_begin(uint32_t size, uint32_t height, uint32_t depth);
/* What a node is like after its next slot got a child of this size and height; 0: nothing. */
void phl_shape_chances_pass(phl_shape_node *node, uint32_t size, uint32_t height);

/* Probability of each outcome of the node's next slot, while nodes are left. */
void phl_shape_chances_slot(const phl_shape_model *model, size_t class_index,
                            const phl_shape_node *node, double chances[PHL_SHAPE_OUTCOMES]);
/* Sizes that a child of this outcome can have. */
void phl_shape_chances_sizes(const phl_shape_model *model, const phl_shape_node *node,
                             uint32_t outcome, uint64_t *first, uint64_t *last);
/* Heights of a lower child of that size, *first to *last; where there are two or more, chances of
 * the bins of height of the parent - 1 - that of the child. */
void phl_shape_chances_drop(const phl_shape_model *model, size_t class_index, uint32_t height,
                            uint32_t size, uint32_t *first, uint32_t *last,
                            double chances[PHL_SHAPE_BINS]);
/* Heights of a tree of that size, and where there are two or more, chances of their bins. */
void phl_shape_chances_height(const phl_shape_model *model, size_t class_index, uint32_t size,
                              uint32_t *first, uint32_t *last, double chances[PHL_SHAPE_BINS]);
/* Of the labels of a root, [labels + 1], the last one for all that were not seen in training. */
void phl_shape_chances_label(const phl_shape_model *model, size_t class_index, uint32_t children,
                             double *chances);
/* Of the bins of a tree's size, beside the chances that sizes seen in training have by themselves:
 * *old of all of them together. */
void phl_shape_chances_size(const phl_shape_model *model, size_t class_index, double *old,
                            double chances[PHL_SHAPE_BINS]);
/* The size that has been reached when the chances of old ones are added up to `at` (0 to *old). */
uint32_t phl_shape_chances_old_size(const phl_shape_model *model, size_t class_index, double at);

#endif
