/* partition_carry.c - move (c): the partition of an active slot goes over to an inactive one; see
 * partitions.h.
 */
#include <string.h>

#include "gibbs/partition_state.h"

/* The number-th slot that is active or not. */
static uint32_t pick_slot(const phl_partitions *partitions, bool active, uint64_t number)
{
    uint32_t e = 0;
    while ((partitions->size[e] > 1) != active || number-- > 0) {
        e++;
    }
    return e;
}

/* Exchange what two slots hold. */
static void exchange(phl_partitions *partitions, uint32_t a, uint32_t b)
{
    uint32_t size = partitions->size[a];
    partitions->size[a] = partitions->size[b];
    partitions->size[b] = size;
    for (size_t q = 0; q <= partitions->states; q++) {
        uint32_t block = phl_partitions_blocks(partitions, a)[q];
        phl_partitions_blocks(partitions, a)[q] = phl_partitions_blocks(partitions, b)[q];
        phl_partitions_blocks(partitions, b)[q] = block;
    }
}

/* Cells as they would be with the partition of slot `from` on the open slot, into own_slab by
 * (block, rest without `from`). */
static phl_status count_carried(phl_partitions *partitions, uint32_t from,
                                const phl_slot_layout *layout, phl_error *error)
{
    const phl_slot_view *view = &partitions->view;
    const uint32_t *block = phl_partitions_blocks(partitions, from);
    size_t c = partitions->states;
    partitions->slab = NULL; /* own_slab need not hold the cells */
    phl_status status =
        phl_partition_slot_own(partitions, 1, error); /* one slab of all cells: enough */
    if (status != PHL_OK) {
        return status;
    }
    memset(partitions->own_slab, 0, layout->n_cells * c * sizeof *partitions->own_slab);
    memset(partitions->own_slab_total, 0, layout->n_cells * sizeof *partitions->own_slab_total);
    for (size_t t = 0; t < view->n_tables; t++) {
        const phl_slot_table *table = &view->tables[t];
        size_t at = block[table->value] * layout->n_rest + layout->rest[table->rest];
        for (uint32_t i = 0; i < table->n_terms; i++) {
            const phl_slot_term *term = &view->terms[table->first_term + i];
            partitions->own_slab[at * c + term->state] += term->n;
        }
        partitions->own_slab_total[at] += table->total;
    }
    return PHL_OK;
}

phl_status phl_partition_carry(phl_partitions *partitions, double temperature, phl_rng *rng,
                               phl_error *error)
{
    uint32_t active = partitions->n_active, inactive = partitions->n_eligible - active;
    size_t c = partitions->states;
    if (active == 0 || inactive == 0 || partitions->prior.fixed != NULL) {
        return PHL_OK;
    }
    partitions->carried.tried++;
    uint32_t from = pick_slot(partitions, true, phl_rng_bounded(rng, active));
    uint32_t to = pick_slot(partitions, false, phl_rng_bounded(rng, inactive));
    phl_slot_layout layout;
    phl_status status = phl_partition_slot_open(partitions, to, rng, error);
    if (status == PHL_OK) {
        status = phl_partition_slot_lay_out(partitions, from, &layout, error);
    }
    if (status == PHL_OK) {
        status = count_carried(partitions, from, &layout, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    double gain = 0.0; /* sizes are the same: the prior cancels, and so does the proposal */
    for (size_t z = 0; z < partitions->n_cells; z++) {
        gain += partitions->own_slab_total[z] > 0
                    ? phl_partitions_cell_score(partitions, partitions->own_slab + z * c)
                    : 0.0;
        gain -= partitions->totals[z] > 0
                    ? phl_partitions_cell_score(partitions, partitions->cells + z * c)
                    : 0.0;
    }
    partitions->is_open = false;
    if (!phl_partitions_accept(gain, 0.0, temperature, rng)) {
        return PHL_OK;
    }
    partitions->carried.changed++;
    exchange(partitions, from, to);
    return phl_partition_slot_apply(partitions, layout.rest, rng, error);
}
