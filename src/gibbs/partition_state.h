/* partition_state.h - what partitions.c, partition_slot.c and partition_moves.c share. */
#ifndef PHL_GIBBS_PARTITION_STATE_H
#define PHL_GIBBS_PARTITION_STATE_H

#include "gibbs/partitions.h"

/* log B(alpha lambda0 + n) / B(alpha lambda0) of one cell, counts [C]. */
double phl_cell_score(const phl_partitions *partitions, const int64_t *counts);

/* log of p(k) / S(C + 1, k), up to a constant. */
static inline double phl_size_prior(const phl_partitions *partitions, uint32_t size)
{
    return -partitions->prior.phi * size -
           phl_stirling_get(&partitions->stirling, (size_t)partitions->states + 1, size);
}

/* Would slot e with that many blocks stay within the confines? */
bool phl_sizes_allowed(const phl_partitions *partitions, uint32_t e, uint32_t size);

static inline uint32_t *phl_blocks_of(const phl_partitions *partitions, uint32_t e)
{
    return partitions->block + (size_t)e * (partitions->states + 1);
}

/* Set the size of slot e, and what follows from it but for the layout. */
void phl_set_size(phl_partitions *partitions, uint32_t e, uint32_t size);

/* Strides from sizes. */
void phl_lay_out(phl_partitions *partitions);

/* Room for the cells there are; totals and live cells from their counts. */
phl_status phl_cells_reserve(phl_partitions *partitions, phl_error *error);
void phl_cells_survey(phl_partitions *partitions);

/* Slabs of `size` blocks that may be written to: counts as they are, new ones 0. */
phl_status phl_slabs_own(phl_partitions *partitions, uint32_t size, phl_error *error);

/* The open slot, dealt by its layout, gets its partition of now: rows and cells.  `rest` tells the
 * rest of every old cell, own_slab the counts by (block, rest). */
phl_status phl_slot_apply(phl_partitions *partitions, const uint32_t *rest, phl_rng *rng,
                          phl_error *error);

/* Division of the cells into slot e and the rest, for an active slot in partitions->rest and
 * ->digit. */
phl_status phl_slot_lay_out(phl_partitions *partitions, uint32_t e, phl_slot_layout *layout,
                            phl_error *error);

#endif
