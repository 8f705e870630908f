/* partition_slot.c - opening and closing a slot; see partitions.h. */
#include <string.h>

#include "base/memory.h"
#include "gibbs/partition_state.h"

/* ---------------------------------------------------------------------------------------------
 * Layouts
 * ------------------------------------------------------------------------------------------- */

/* An inactive slot: every cell is its own rest, in block 0. */
static phl_status lay_out_inactive(phl_partitions *partitions, phl_slot_layout *layout,
                                   phl_error *error)
{
    size_t n = partitions->n_cells, had = partitions->identity_capacity;
    phl_status status = phl_grow(&partitions->identity, &partitions->identity_capacity, n,
                                 sizeof *partitions->identity, error);
    if (status == PHL_OK && partitions->zeros_capacity < partitions->identity_capacity) {
        for (size_t z = had; z < partitions->identity_capacity; z++) {
            partitions->identity[z] = (uint32_t)z;
        }
        status = phl_grow(&partitions->zeros, &partitions->zeros_capacity,
                          partitions->identity_capacity, sizeof *partitions->zeros, error);
        if (status == PHL_OK) {
            memset(partitions->zeros, 0, partitions->zeros_capacity * sizeof *partitions->zeros);
        }
    }
    *layout = (phl_slot_layout){partitions->identity, partitions->zeros, n, n};
    return status;
}

phl_status phl_partition_slot_lay_out(phl_partitions *partitions, uint32_t e,
                                      phl_slot_layout *layout, phl_error *error)
{
    size_t n = partitions->n_cells, size = partitions->size[e], stride = partitions->stride[e];
    if (size == 1) {
        return lay_out_inactive(partitions, layout, error);
    }
    phl_status status =
        phl_grow(&partitions->rest, &partitions->rest_capacity, n, sizeof *partitions->rest, error);
    if (status == PHL_OK) {
        status = phl_grow(&partitions->digit, &partitions->digit_capacity, n,
                          sizeof *partitions->digit, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    size_t z = 0;
    for (size_t high = 0; z < n; high += stride) {
        for (size_t y = 0; y < size; y++) {
            for (size_t low = 0; low < stride; low++, z++) {
                partitions->rest[z] = (uint32_t)(high + low);
                partitions->digit[z] = (uint32_t)y;
            }
        }
    }
    *layout = (phl_slot_layout){partitions->rest, partitions->digit, n, n / size};
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Slabs
 * ------------------------------------------------------------------------------------------- */

phl_status phl_partition_slot_own(phl_partitions *partitions, uint32_t size, phl_error *error)
{
    size_t rests = partitions->layout.n_rest, c = partitions->states;
    bool borrowed = partitions->slab == partitions->cells;
    phl_status status = phl_grow(&partitions->own_slab, &partitions->own_slab_capacity,
                                 size * rests * c, sizeof *partitions->own_slab, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_grow(&partitions->own_slab_total, &partitions->own_slab_total_capacity,
                      size * rests, sizeof *partitions->own_slab_total, error);
    if (status != PHL_OK) {
        return status;
    }
    if (borrowed) { /* of an inactive slot: one slab */
        memcpy(partitions->own_slab, partitions->cells, rests * c * sizeof *partitions->cells);
        memcpy(partitions->own_slab_total, partitions->totals, rests * sizeof *partitions->totals);
    }
    if (status == PHL_OK) {
        partitions->slab = partitions->own_slab;
        partitions->slab_total = partitions->own_slab_total;
    }
    return status;
}

/* The cells of an active slot in slabs. */
static phl_status fill_slabs(phl_partitions *partitions, phl_error *error)
{
    const phl_slot_layout *layout = &partitions->layout;
    size_t c = partitions->states;
    partitions->slab = NULL;
    phl_status status =
        phl_partition_slot_own(partitions, (uint32_t)(layout->n_cells / layout->n_rest), error);
    for (size_t z = 0; status == PHL_OK && z < layout->n_cells; z++) {
        size_t at = layout->digit[z] * layout->n_rest + layout->rest[z];
        memcpy(partitions->own_slab + at * c, partitions->cells + z * c,
               c * sizeof *partitions->cells);
        partitions->own_slab_total[at] = partitions->totals[z];
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Blocks of the open slot
 * ------------------------------------------------------------------------------------------- */

uint32_t phl_partition_slot_members(const phl_partitions *partitions, uint32_t y)
{
    const uint32_t *block = phl_partitions_blocks(partitions, partitions->open);
    uint32_t count = 0;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        count += block[q] == y;
    }
    return count;
}

void phl_partition_slot_drop_block(phl_partitions *partitions, uint32_t gone)
{
    uint32_t *block = phl_partitions_blocks(partitions, partitions->open);
    uint32_t last = partitions->size[partitions->open] - 1;
    size_t rests = partitions->layout.n_rest, c = partitions->states;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        block[q] = block[q] == last ? gone : block[q];
    }
    if (gone != last) {
        memcpy(partitions->own_slab + gone * rests * c, partitions->own_slab + last * rests * c,
               rests * c * sizeof *partitions->own_slab);
        memcpy(partitions->own_slab_total + gone * rests, partitions->own_slab_total + last * rests,
               rests * sizeof *partitions->own_slab_total);
    }
    phl_partitions_set_size(partitions, partitions->open, last);
}

void phl_partition_slot_add_block(phl_partitions *partitions)
{
    uint32_t size = partitions->size[partitions->open];
    size_t rests = partitions->layout.n_rest, c = partitions->states;
    memset(partitions->own_slab + size * rests * c, 0, rests * c * sizeof *partitions->own_slab);
    memset(partitions->own_slab_total + size * rests, 0,
           rests * sizeof *partitions->own_slab_total);
    phl_partitions_set_size(partitions, partitions->open, size + 1);
}

void phl_partition_slot_move_value(phl_partitions *partitions, uint32_t value, uint32_t from,
                                   uint32_t to)
{
    const phl_slot_view *view = &partitions->view;
    size_t rests = partitions->layout.n_rest, c = partitions->states;
    for (uint32_t t = view->first_table[value]; t != PHL_NO_TABLE; t = view->tables[t].next) {
        const phl_slot_table *table = &view->tables[t];
        size_t old = from * rests + table->rest, new = to *rests + table->rest;
        for (uint32_t i = 0; i < table->n_terms; i++) {
            const phl_slot_term *term = &view->terms[table->first_term + i];
            partitions->own_slab[old * c + term->state] -= term->n;
            partitions->own_slab[new *c + term->state] += term->n;
        }
        partitions->own_slab_total[old] -= table->total;
        partitions->own_slab_total[new] += table->total;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Opening and closing
 * ------------------------------------------------------------------------------------------- */

phl_status phl_partition_slot_open(phl_partitions *partitions, uint32_t e, phl_rng *rng,
                                   phl_error *error)
{
    PHL_CHECK_BUG(!partitions->is_open, error);
    phl_status status = phl_partition_slot_lay_out(partitions, e, &partitions->layout, error);
    if (status != PHL_OK) {
        return status;
    }
    partitions->open = e;
    partitions->open_rng = *rng;
    memcpy(partitions->open_block, phl_partitions_blocks(partitions, e),
           ((size_t)partitions->states + 1) * sizeof *partitions->open_block);
    status = phl_slot_view_count(&partitions->view, partitions->counts, e, partitions->open_block,
                                 &partitions->layout, partitions->cells, partitions->live,
                                 partitions->n_live, rng, error);
    if (status == PHL_OK && partitions->size[e] > 1) {
        status = fill_slabs(partitions, error);
    } else {
        partitions->slab = partitions->cells;
        partitions->slab_total = partitions->totals;
    }
    partitions->is_open = status == PHL_OK;
    partitions->changed = false;
    return status;
}

phl_status phl_partition_slot_apply(phl_partitions *partitions, const uint32_t *rest, phl_rng *rng,
                                    phl_error *error)
{
    uint32_t e = partitions->open, size = partitions->size[e];
    size_t c = partitions->states, step = 1;
    phl_partitions_lay_out(partitions);
    for (uint32_t later = e + 1; later < partitions->n_eligible; later++) {
        step *= partitions->size[later];
    }
    phl_rng again = partitions->open_rng;
    phl_status status = phl_slot_apply(
        &partitions->view, partitions->counts, e, partitions->open_block, &partitions->layout, rest,
        phl_partitions_blocks(partitions, e), size, step, &again, rng, error);
    if (status == PHL_OK) {
        status = phl_partitions_reserve_cells(partitions, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    const int64_t *from = partitions->own_slab;
    size_t rests = partitions->n_cells / size;
    for (size_t y = 0; y < size; y++) {
        for (size_t r = 0; r < rests; r += step, from += step * c) {
            memcpy(partitions->cells + (r * size + y * step) * c, from, step * c * sizeof *from);
        }
    }
    phl_partitions_survey_cells(partitions);
    return PHL_OK;
}

phl_status phl_partition_slot_close(phl_partitions *partitions, phl_rng *rng, phl_error *error)
{
    PHL_CHECK_BUG(partitions->is_open, error);
    partitions->is_open = false;
    return partitions->changed
               ? phl_partition_slot_apply(partitions, partitions->layout.rest, rng, error)
               : PHL_OK;
}
