/* partition_moves.c - moves (a) reassign, (b) split and merge, (c) carry; see partitions.h.
 *
 * A move first gathers, from the lists of rows, the counts D of the values that would change block,
 * by (rest of the cell, state): only those cells change.  Rows are cut only when a move is
 * accepted.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "learn/partition_state.h"

static uint32_t *blocks_of(phl_partitions *partitions, uint32_t e)
{
    return partitions->block + (size_t)e * (partitions->states + 1);
}

/* Values of slot e in a block. */
static uint32_t block_count(phl_partitions *partitions, uint32_t e, uint32_t block)
{
    uint32_t count = 0;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        count += blocks_of(partitions, e)[q] == block;
    }
    return count;
}

/* Add the counts of one value to `gathered`. */
static void gather(phl_partitions *partitions, uint32_t e, uint32_t value)
{
    const phl_rows *rows = partitions->rows;
    const phl_row_list *list = phl_rows_list(rows, e, value);
    size_t c = partitions->states;
    size_t own = blocks_of(partitions, e)[value] * partitions->stride[e];
    for (size_t i = 0; i < list->count; i++) {
        uint32_t row = list->rows[i];
        int64_t count = phl_rows_count(rows, row, e, value);
        if (count == 0) {
            continue; /* dealt away since it was listed */
        }
        size_t rest = rows->row[row].cell - own;
        partitions->gathered[rest * c + rows->row[row].state] += count;
        if (!partitions->is_touched[rest]) {
            partitions->is_touched[rest] = true;
            partitions->touched[partitions->n_touched++] = (uint32_t)rest;
        }
    }
}

static void forget_gathered(phl_partitions *partitions)
{
    size_t c = partitions->states;
    for (size_t i = 0; i < partitions->n_touched; i++) {
        size_t rest = partitions->touched[i];
        partitions->is_touched[rest] = false;
        memset(partitions->gathered + rest * c, 0, c * sizeof *partitions->gathered);
    }
    partitions->n_touched = 0;
}

/* Score of a cell with `sign` times the gathered counts of its rest added. */
static double changed_score(phl_partitions *partitions, size_t cell, size_t rest, int64_t sign,
                            int64_t *sum)
{
    size_t c = partitions->states;
    const int64_t *counts = partitions->cells + cell * c;
    const int64_t *delta = partitions->gathered + rest * c;
    for (size_t j = 0; j < c; j++) {
        sum[j] = counts[j] + sign * delta[j];
    }
    return phl_cell_score(partitions, sum);
}

/* Give slot e new blocks: refine the rows of the values that moved away from others, then count
 * anew. */
static phl_status apply(phl_partitions *partitions, uint32_t e, const bool *moved, bool has_rows,
                        phl_rng *rng, phl_error *error)
{
    phl_status status = PHL_OK;
    if (has_rows) {
        status = phl_rows_refine(partitions->rows, e, moved, rng, error);
    }
    return status == PHL_OK ? phl_partitions_count(partitions, error) : status;
}

/* Renumber so that block `gone`, now empty, is filled by the last one. */
static void drop_block(phl_partitions *partitions, uint32_t e, uint32_t gone)
{
    uint32_t *block = blocks_of(partitions, e);
    uint32_t last = --partitions->size[e];
    for (uint32_t q = 0; q <= partitions->states; q++) {
        block[q] = block[q] == last ? gone : block[q];
    }
}

/* ---------------------------------------------------------------------------------------------
 * (a) Reassign
 * ------------------------------------------------------------------------------------------- */

/* Log-weights of all places for a value, relative to the value being nowhere: blocks 0 .. k - 1
 * and, at k, a block of its own.  For a value that is alone, its own block stands for that. */
static void weigh_places(phl_partitions *partitions, uint32_t e, uint32_t value, bool alone,
                         double *weights)
{
    uint32_t size = partitions->size[e], own = blocks_of(partitions, e)[value];
    size_t stride = partitions->stride[e], c = partitions->states;
    int64_t *sum = partitions->other; /* [C] */
    uint32_t others = size - alone;   /* blocks without the value */
    for (uint32_t y = 0; y <= size; y++) {
        bool fresh = alone ? y == own : y == size;
        uint32_t new_size = fresh ? others + 1 : others;
        weights[y] = (alone && y == size) || !phl_sizes_allowed(partitions, e, new_size)
                         ? -INFINITY
                         : phl_size_prior(partitions, new_size);
        for (size_t i = 0; weights[y] > -INFINITY && i < partitions->n_touched; i++) {
            size_t rest = partitions->touched[i], cell = rest + y * stride;
            if (fresh) {
                weights[y] += phl_cell_score(partitions, partitions->gathered + rest * c);
            } else if (y == own) {
                weights[y] += phl_cell_score(partitions, partitions->cells + cell * c) -
                              changed_score(partitions, cell, rest, -1, sum);
            } else {
                weights[y] += changed_score(partitions, cell, rest, 1, sum) -
                              phl_cell_score(partitions, partitions->cells + cell * c);
            }
        }
    }
}

phl_status phl_partitions_reassign(phl_partitions *partitions, uint32_t e, uint32_t value,
                                   double temperature, phl_rng *rng, phl_error *error)
{
    uint32_t size = partitions->size[e];
    uint32_t own = blocks_of(partitions, e)[value];
    bool alone = block_count(partitions, e, own) == 1;
    phl_status status = phl_grow(&partitions->other, &partitions->other_capacity,
                                 partitions->states, sizeof *partitions->other, error);
    if (status != PHL_OK || partitions->states == 0) {
        return status;
    }
    partitions->reassigned.tried++;
    gather(partitions, e, value);
    weigh_places(partitions, e, value, alone, partitions->weights);
    for (uint32_t y = 0; y <= size; y++) {
        partitions->weights[y] /= temperature;
    }
    size_t place = phl_categorical_draw_log(rng, partitions->weights, (size_t)size + 1);
    bool has_rows = partitions->n_touched > 0;
    forget_gathered(partitions);
    if (place == PHL_NO_OUTCOME || place == own) {
        return PHL_OK;
    }
    partitions->reassigned.changed++;
    memset(partitions->moved, 0, ((size_t)partitions->states + 1) * sizeof *partitions->moved);
    partitions->moved[value] = true;
    blocks_of(partitions, e)[value] = (uint32_t)place;
    if (place == size) {
        partitions->size[e]++;
    } else if (alone) {
        drop_block(partitions, e, own);
    } else if (!has_rows) {
        return PHL_OK; /* no row shows the value: nothing is counted differently */
    }
    return apply(partitions, e, partitions->moved, has_rows, rng, error);
}

/* ---------------------------------------------------------------------------------------------
 * (b) Split and merge
 * ------------------------------------------------------------------------------------------- */

static bool accept(double log_ratio, double log_proposal, double temperature, phl_rng *rng)
{
    double total = log_ratio / temperature + log_proposal;
    return total >= 0.0 || log(phl_rng_uniform(rng)) < total;
}

/* Gain of moving the gathered values from block y of slot e into a new block. */
static double split_gain(phl_partitions *partitions, uint32_t e, uint32_t y)
{
    size_t c = partitions->states, stride = partitions->stride[e];
    double gain = phl_size_prior(partitions, partitions->size[e] + 1) -
                  phl_size_prior(partitions, partitions->size[e]);
    for (size_t i = 0; i < partitions->n_touched; i++) {
        size_t rest = partitions->touched[i], cell = rest + y * stride;
        gain += changed_score(partitions, cell, rest, -1, partitions->other) +
                phl_cell_score(partitions, partitions->gathered + rest * c) -
                phl_cell_score(partitions, partitions->cells + cell * c);
    }
    return gain;
}

static phl_status try_split(phl_partitions *partitions, uint32_t e, uint32_t first, uint32_t second,
                            double temperature, phl_rng *rng, phl_error *error)
{
    uint32_t *block = blocks_of(partitions, e);
    uint32_t y = block[first], members = 0;
    partitions->split.tried++;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        bool member = block[q] == y;
        members += member;
        partitions->moved[q] = q == second || (member && q != first && phl_rng_bounded(rng, 2));
        if (partitions->moved[q]) {
            gather(partitions, e, q);
        }
    }
    bool has_rows = partitions->n_touched > 0;
    bool accepted = false;
    if (phl_sizes_allowed(partitions, e, partitions->size[e] + 1)) {
        /* The same two values lead back, and the merge is sure; each of the other members fell on
         * its side with probability 1/2. */
        accepted = accept(split_gain(partitions, e, y), (members - 2) * log(2.0), temperature, rng);
    }
    forget_gathered(partitions);
    if (!accepted) {
        return PHL_OK;
    }
    partitions->split.changed++;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        block[q] = partitions->moved[q] ? partitions->size[e] : block[q];
    }
    partitions->size[e]++;
    return apply(partitions, e, partitions->moved, has_rows, rng, error);
}

/* Gain of putting blocks y and w of slot e together. */
static double merge_gain(phl_partitions *partitions, uint32_t e, uint32_t y, uint32_t w)
{
    size_t c = partitions->states, stride = partitions->stride[e], size = partitions->size[e];
    double gain = phl_size_prior(partitions, partitions->size[e] - 1) -
                  phl_size_prior(partitions, partitions->size[e]);
    for (size_t cell = 0; cell < partitions->n_cells; cell++) {
        if (cell / stride % size != y) {
            continue; /* each pair of cells once, at its cell in block y */
        }
        const int64_t *a = partitions->cells + cell * c;
        const int64_t *b = partitions->cells + (cell - y * stride + w * stride) * c;
        for (size_t j = 0; j < c; j++) {
            partitions->other[j] = a[j] + b[j];
        }
        gain += phl_cell_score(partitions, partitions->other) - phl_cell_score(partitions, a) -
                phl_cell_score(partitions, b);
    }
    return gain;
}

static phl_status try_merge(phl_partitions *partitions, uint32_t e, uint32_t first, uint32_t second,
                            double temperature, phl_rng *rng, phl_error *error)
{
    uint32_t *block = blocks_of(partitions, e);
    uint32_t y = block[first], w = block[second];
    partitions->merged.tried++;
    uint32_t members = block_count(partitions, e, y) + block_count(partitions, e, w);
    if (!phl_sizes_allowed(partitions, e, partitions->size[e] - 1) ||
        !accept(merge_gain(partitions, e, y, w), -(double)(members - 2) * log(2.0), temperature,
                rng)) {
        return PHL_OK;
    }
    partitions->merged.changed++;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        block[q] = block[q] == w ? y : block[q];
    }
    drop_block(partitions, e, w);
    return phl_partitions_count(partitions, error); /* rows stay whole */
}

phl_status phl_partitions_split_merge(phl_partitions *partitions, uint32_t e, double temperature,
                                      phl_rng *rng, phl_error *error)
{
    uint32_t values = partitions->states + 1;
    phl_status status = phl_grow(&partitions->other, &partitions->other_capacity,
                                 partitions->states, sizeof *partitions->other, error);
    if (status != PHL_OK) {
        return status;
    }
    uint32_t first = (uint32_t)phl_rng_bounded(rng, values);
    uint32_t second = (uint32_t)phl_rng_bounded(rng, values - 1);
    second += second >= first;
    const uint32_t *block = blocks_of(partitions, e);
    return block[first] == block[second]
               ? try_split(partitions, e, first, second, temperature, rng, error)
               : try_merge(partitions, e, first, second, temperature, rng, error);
}

/* ---------------------------------------------------------------------------------------------
 * (c) Carry
 * ------------------------------------------------------------------------------------------- */

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
    size_t values = (size_t)partitions->states + 1;
    uint32_t size = partitions->size[a];
    partitions->size[a] = partitions->size[b];
    partitions->size[b] = size;
    for (size_t q = 0; q < values; q++) {
        uint32_t block = partitions->block[a * values + q];
        partitions->block[a * values + q] = partitions->block[b * values + q];
        partitions->block[b * values + q] = block;
    }
}

/* Cells as they would be with the partition of slot `from` on slot `to`, into partitions->other:
 * the cell of a row without `from`, plus the blocks its margin in `to` falls into. */
static void count_carried(phl_partitions *partitions, uint32_t from, uint32_t to)
{
    const phl_rows *rows = partitions->rows;
    const uint32_t *block = blocks_of(partitions, from);
    size_t c = partitions->states, stride = partitions->stride[from];
    memset(partitions->other, 0, partitions->n_cells * c * sizeof *partitions->other);
    for (uint32_t q = 0; q <= partitions->states; q++) {
        const phl_row_list *list = phl_rows_list(rows, to, q);
        for (size_t i = 0; i < list->count; i++) {
            size_t row = list->rows[i];
            int64_t count = phl_rows_count(rows, row, to, q);
            size_t own = block[phl_rows_some_value(rows, row, from)];
            size_t cell = rows->row[row].cell - own * stride + block[q] * stride;
            partitions->other[cell * c + rows->row[row].state] += count;
        }
    }
}

static phl_status apply_carry(phl_partitions *partitions, uint32_t from, uint32_t to, phl_rng *rng,
                              phl_error *error)
{
    phl_status status = PHL_OK;
    exchange(partitions, from, to);
    for (uint32_t y = 0; status == PHL_OK && y + 1 < partitions->size[to]; y++) {
        for (uint32_t q = 0; q <= partitions->states; q++) {
            partitions->moved[q] = blocks_of(partitions, to)[q] == y;
        }
        status = phl_rows_refine(partitions->rows, to, partitions->moved, rng, error);
    }
    return status == PHL_OK ? phl_partitions_count(partitions, error) : status;
}

phl_status phl_partitions_carry(phl_partitions *partitions, double temperature, phl_rng *rng,
                                phl_error *error)
{
    uint32_t active = partitions->n_active, inactive = partitions->n_eligible - active;
    size_t c = partitions->states;
    if (active == 0 || inactive == 0 || partitions->prior.fixed != NULL) {
        return PHL_OK;
    }
    phl_status status = phl_grow(&partitions->other, &partitions->other_capacity,
                                 partitions->n_cells * c, sizeof *partitions->other, error);
    if (status != PHL_OK) {
        return status;
    }
    partitions->carried.tried++;
    uint32_t from = pick_slot(partitions, true, phl_rng_bounded(rng, active));
    uint32_t to = pick_slot(partitions, false, phl_rng_bounded(rng, inactive));
    count_carried(partitions, from, to);
    double gain = 0.0; /* sizes are the same: the prior cancels, and so does the proposal */
    for (size_t z = 0; z < partitions->n_cells; z++) {
        gain += phl_cell_score(partitions, partitions->other + z * c) -
                phl_cell_score(partitions, partitions->cells + z * c);
    }
    if (!accept(gain, 0.0, temperature, rng)) {
        return PHL_OK;
    }
    partitions->carried.changed++;
    return apply_carry(partitions, from, to, rng, error);
}

/* ---------------------------------------------------------------------------------------------
 * A sweep
 * ------------------------------------------------------------------------------------------- */

/* What is done, and in which order, depends on no partition: the order is drawn beforehand. */
phl_status phl_partitions_sweep(phl_partitions *partitions, double temperature, phl_rng *rng,
                                phl_error *error)
{
    enum { CARRIES = 4 };
    uint32_t values = partitions->states + 1;
    size_t n = (size_t)partitions->n_eligible * values;
    uint32_t *order = phl_alloc(n, sizeof *order, error);
    if (order == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    phl_shuffle(rng, n, order);
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = phl_partitions_reassign(partitions, order[i] / values, order[i] % values,
                                         temperature, rng, error);
    }
    for (uint32_t e = 0; status == PHL_OK && e < partitions->n_eligible; e++) {
        status = phl_partitions_split_merge(partitions, e, temperature, rng, error);
    }
    for (int i = 0; status == PHL_OK && i < CARRIES; i++) {
        status = phl_partitions_carry(partitions, temperature, rng, error);
    }
    phl_free(order);
    return status;
}
