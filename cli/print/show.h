/* show.h - one draw of a model in words (show_model.c), from its tensors. */
#ifndef PHLOEM_CLI_SHOW_H
#define PHLOEM_CLI_SHOW_H

#include "phloem.h"

/* A draw and its tensors; those its model lacks have no data. */
typedef struct shown_draw {
    const phl_run *run;
    size_t states, slots, labels;
    size_t top; /* entries to print of a list */
    phl_tensor prior, emission, weights, transition, root, core, shape;
    size_t n_axes; /* active slots of tf and full */
    phl_tensor *axes;
} shown_draw;

void shown_begin(shown_draw *shown, const phl_run *run, const phl_draw *draw, size_t top);
void shown_end(shown_draw *shown);

/* The table of slots, then each state: what it emits and what leads to it. */
void show_model_slots(const shown_draw *shown);
/* Which child positions matter over all draws: how often each slot had how many blocks.  Returns
 * the exit code. */
int show_model_sizes(const phl_run *run, const phl_model *model);
void show_model_partition(const shown_draw *shown);
void show_model_states(const shown_draw *shown);

/* A block of an active slot, as the states in it: "{0 3 empty}". */
void show_model_block(const shown_draw *shown, const phl_tensor *axis, size_t block, char *text,
                      size_t size);

/* A draw of a grammar: the `top` most frequent labels and what their annotations stand for. */
void show_grammar(const phl_run *run, const phl_draw *draw, size_t top);

/* ---- numbers (shown.c) ---- */

/* Element of a tensor with so many axes. */
double shown_number(const phl_tensor *tensor, size_t i);
double shown_number_2(const phl_tensor *tensor, size_t i, size_t j);
double shown_number_3(const phl_tensor *tensor, size_t i, size_t j, size_t k);

/* Something with a weight; ordered by falling weight, then by number. */
typedef struct weighted {
    size_t number;
    double weight;
} weighted;
void shown_sort(weighted *items, size_t n);
/* All slots, those that matter most first (show_model.c); to be freed. */
weighted *show_model_rank_slots(const shown_draw *shown);

/* Blocks of an active slot. */
size_t shown_axis_size(const shown_draw *shown, size_t axis);
/* Block of a child value (the likeliest one when soft); value C is the empty slot. */
size_t shown_axis_block(const phl_tensor *axis, size_t value);

/* The core as rows of probabilities, one for each choice of blocks; the last slot runs fastest. */
size_t shown_core_rows(const shown_draw *shown);
double shown_core_at(const shown_draw *shown, size_t row, size_t state);

/* How much the state in question depends on a slot, in bits: the information about it in the state
 * of the parent (td) or in the block of the slot (tf, full), those taken for equally likely. */
double shown_slot_information(const shown_draw *shown, size_t slot);

/* The linear head of a run: what was chosen, and the `top` features that speak most for the classes
 * first .. last - 1 (show_head.c). */
phl_status show_head(const phl_run *run, size_t first, size_t last, size_t top, phl_error *error);
/* The features that speak most for a class, against the mean of all classes, heaviest first: at
 * most `room`; how many there are. */
size_t show_head_heaviest(const phl_head *head, size_t n_classes, size_t class_index,
                          weighted *heaviest, size_t room);
/* "S+B+BG" */
char *show_head_groups(unsigned groups, char *text, size_t size);

#endif
