/* partition_state.h - what partitions.c, partition_slot.c and the moves share. */
#ifndef PHL_GIBBS_PARTITION_STATE_H
#define PHL_GIBBS_PARTITION_STATE_H

#include <math.h>

#include "gibbs/partitions.h"

/* log B(alpha lambda0 + n) / B(alpha lambda0) of one cell, counts [C]. */
double phl_partitions_cell_score(const phl_partitions *partitions, const int64_t *counts);

/* log of p(k) / S(C + 1, k), up to a constant. */
static inline double phl_partitions_size_prior(const phl_partitions *partitions, uint32_t size)
{
    return -partitions->prior.phi * size -
           phl_stirling_get(&partitions->stirling, (size_t)partitions->states + 1, size);
}

/* Is a proposal taken?  Only the target is tempered. */
static inline bool phl_partitions_accept(double log_ratio, double log_proposal, double temperature,
                                         phl_rng *rng)
{
    double total = log_ratio / temperature + log_proposal;
    return total >= 0.0 || log(phl_rng_uniform(rng)) < total;
}

/* Would slot e with that many blocks stay within the confines? */
bool phl_partitions_size_allowed(const phl_partitions *partitions, uint32_t e, uint32_t size);

static inline uint32_t *phl_partitions_blocks(const phl_partitions *partitions, uint32_t e)
{
    return partitions->block + (size_t)e * (partitions->states + 1);
}

/* Set the size of slot e, and what follows from it but for the layout. */
void phl_partitions_set_size(phl_partitions *partitions, uint32_t e, uint32_t size);

/* Strides from sizes. */
void phl_partitions_lay_out(phl_partitions *partitions);

/* Room for the cells there are; totals and live cells from their counts. */
phl_status phl_partitions_reserve_cells(phl_partitions *partitions, phl_error *error);
void phl_partitions_survey_cells(phl_partitions *partitions);

/* Slabs of `size` blocks that may be written to: counts as they are, new ones 0. */
phl_status phl_partition_slot_own(phl_partitions *partitions, uint32_t size, phl_error *error);

/* Of the open slot: values in block y; a new block at the end, with no counts; renumbering so that
 * block `gone`, now empty, is filled by the last one; the counts of a value from one slab to
 * another.
 */
uint32_t phl_partition_slot_members(const phl_partitions *partitions, uint32_t y);
void phl_partition_slot_add_block(phl_partitions *partitions);
void phl_partition_slot_drop_block(phl_partitions *partitions, uint32_t gone);
void phl_partition_slot_move_value(phl_partitions *partitions, uint32_t value, uint32_t from,
                                   uint32_t to);

/* The open slot, dealt by its layout, gets its partition of now: portions and cells.  `rest` tells
 * the rest of every old cell, own_slab the counts by (block, rest). */
phl_status phl_partition_slot_apply(phl_partitions *partitions, const uint32_t *rest, phl_rng *rng,
                                    phl_error *error);

/* Division of the cells into slot e and the rest, for an active slot in partitions->rest and
 * ->digit. */
phl_status phl_partition_slot_lay_out(phl_partitions *partitions, uint32_t e,
                                      phl_slot_layout *layout, phl_error *error);

#endif
