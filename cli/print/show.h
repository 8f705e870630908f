/* show.h - one draw of a model in words (show_model.c), from the JSON of its run. */
#ifndef PHLOEM_CLI_SHOW_H
#define PHLOEM_CLI_SHOW_H

#include "phloem.h"

#include <jansson.h>

/* A draw: an element of "draws" of an element of "classes" (docs: show --json). */
typedef struct shown_draw {
    const phl_run *run;
    const json_t *draw;
    size_t states, slots, labels;
    size_t top; /* entries to print of a list */
} shown_draw;

/* The table of slots, then each state: what it emits and what leads to it. */
void show_slots(const shown_draw *shown);
/* Which child positions matter over all draws: how often each slot had how many blocks. */
void show_sizes(const phl_run *run, const phl_model *model);
void show_partition(const shown_draw *shown);
void show_states(const shown_draw *shown);

/* ---- numbers (show_numbers.c) ---- */

/* Element of nested arrays of numbers; 0 outside. */
double number_at(const json_t *array, size_t i);
double number_at_2(const json_t *array, size_t i, size_t j);
double number_at_3(const json_t *array, size_t i, size_t j, size_t k);

/* Something with a weight; ordered by falling weight, then by number. */
typedef struct weighted {
    size_t number;
    double weight;
} weighted;
void sort_weighted(weighted *items, size_t n);

/* Active slots of tf and full. */
size_t modes_of(const shown_draw *shown);
const json_t *mode_of(const shown_draw *shown, size_t mode);
size_t mode_slot(const json_t *mode);
size_t mode_size(const shown_draw *shown, size_t mode);
/* Block of a child value (the likeliest one when soft); value C is the empty slot. */
size_t mode_block(const json_t *mode, size_t value);

/* How much the state in question depends on a slot, in bits: the information about it in the state
 * of the parent (td) or in the block of the slot (tf, full), those taken for equally likely. */
double slot_information(const shown_draw *shown, size_t slot);

#endif
