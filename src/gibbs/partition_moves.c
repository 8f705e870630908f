/* partition_moves.c - moves (a) reassign, (b) split and merge, (c) carry; see partitions.h.
 *
 * Moves (a) and (b) change the counts of the open slot's slabs alone; D_q, the children in state q
 * by the rest of the cell and the parent's state, stays as it was dealt.  Only cells that a value
 * touches are scored, and of those only the states it has.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "gibbs/partition_state.h"

/* Values of a slot in a block. */
static uint32_t block_count(const phl_partitions *partitions, const uint32_t *block, uint32_t y)
{
    uint32_t count = 0;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        count += block[q] == y;
    }
    return count;
}

/* Renumber so that block `gone` of the open slot, now empty, is filled by the last one. */
static void drop_block(phl_partitions *partitions, uint32_t gone)
{
    uint32_t *block = phl_blocks_of(partitions, partitions->open);
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
    phl_set_size(partitions, partitions->open, last);
}

/* A new block at the end of the open slot, with no counts. */
static void add_block(phl_partitions *partitions)
{
    uint32_t size = partitions->size[partitions->open];
    size_t rests = partitions->layout.n_rest, c = partitions->states;
    memset(partitions->own_slab + size * rests * c, 0, rests * c * sizeof *partitions->own_slab);
    memset(partitions->own_slab_total + size * rests, 0,
           rests * sizeof *partitions->own_slab_total);
    phl_set_size(partitions, partitions->open, size + 1);
}

static bool accept(double log_ratio, double log_proposal, double temperature, phl_rng *rng)
{
    double total = log_ratio / temperature + log_proposal;
    return total >= 0.0 || log(phl_rng_uniform(rng)) < total;
}

/* ---------------------------------------------------------------------------------------------
 * (a) Reassign
 * ------------------------------------------------------------------------------------------- */

/* Score of a cell with D put in, less its score without: counts [C] and total of the cell without
 * D. */
static double gain_of(const phl_partitions *partitions, const phl_slot_table *table,
                      const int64_t *counts, int64_t total, int64_t less)
{
    const phl_slot_part *part = partitions->view.parts + table->first_part;
    double gain = 0.0;
    for (uint32_t i = 0; i < table->n_parts; i++) {
        const phl_rising *rising = &partitions->rising[part[i].state];
        int64_t without = counts[part[i].state] - less * part[i].n;
        gain += phl_rising_get(rising, without + part[i].n) - phl_rising_get(rising, without);
    }
    total -= less * table->total;
    return gain - (phl_rising_get(&partitions->rising_total, total + table->total) -
                   phl_rising_get(&partitions->rising_total, total));
}

/* Score of D in cells of its own. */
static double score_alone(const phl_partitions *partitions, const phl_slot_table *table)
{
    const phl_slot_part *part = partitions->view.parts + table->first_part;
    double score = 0.0;
    for (uint32_t i = 0; i < table->n_parts; i++) {
        score += phl_rising_get(&partitions->rising[part[i].state], part[i].n);
    }
    return score - phl_rising_get(&partitions->rising_total, table->total);
}

/* Log-weights of all places for a value, relative to the value being nowhere: blocks 0 .. k - 1
 * and, at k, a block of its own.  For a value that is alone, its own block stands for that. */
static void weigh_places(phl_partitions *partitions, uint32_t value, bool alone, double *weights)
{
    uint32_t e = partitions->open, size = partitions->size[e];
    uint32_t own = phl_blocks_of(partitions, e)[value];
    uint32_t others = size - alone; /* blocks without the value */
    const phl_slot_table *tables = partitions->view.tables;
    size_t rests = partitions->layout.n_rest, c = partitions->states;
    double prior[2]; /* of `others` blocks, and of one more */
    for (uint32_t more = 0; more < 2; more++) {
        prior[more] = phl_sizes_allowed(partitions, e, others + more)
                          ? phl_size_prior(partitions, others + more)
                          : -INFINITY;
    }
    for (uint32_t y = 0; y <= size; y++) {
        bool fresh = alone ? y == own : y == size;
        double weight = alone && y == size ? -INFINITY : prior[fresh];
        for (uint32_t t = partitions->view.first_table[value];
             weight > -INFINITY && t != PHL_NO_TABLE; t = tables[t].next) {
            size_t cell = y * rests + tables[t].rest;
            weight += fresh ? score_alone(partitions, &tables[t])
                            : gain_of(partitions, &tables[t], partitions->slab + cell * c,
                                      partitions->slab_total[cell], y == own);
        }
        weights[y] = weight;
    }
}

/* Move the counts of a value between two slabs. */
static void move_counts(phl_partitions *partitions, uint32_t value, uint32_t from, uint32_t to)
{
    const phl_slot_view *view = &partitions->view;
    size_t rests = partitions->layout.n_rest, c = partitions->states;
    for (uint32_t t = view->first_table[value]; t != PHL_NO_TABLE; t = view->tables[t].next) {
        const phl_slot_table *table = &view->tables[t];
        size_t old = from * rests + table->rest, new = to *rests + table->rest;
        for (uint32_t i = 0; i < table->n_parts; i++) {
            const phl_slot_part *part = &view->parts[table->first_part + i];
            partitions->own_slab[old * c + part->state] -= part->n;
            partitions->own_slab[new *c + part->state] += part->n;
        }
        partitions->own_slab_total[old] -= table->total;
        partitions->own_slab_total[new] += table->total;
    }
}

phl_status phl_partitions_reassign(phl_partitions *partitions, uint32_t value, double temperature,
                                   phl_rng *rng, phl_error *error)
{
    PHL_CHECK_BUG(partitions->is_open, error);
    uint32_t *block = phl_blocks_of(partitions, partitions->open);
    uint32_t size = partitions->size[partitions->open], own = block[value];
    bool alone = size > 1 && block_count(partitions, block, own) == 1;
    if (partitions->states == 0) {
        return PHL_OK;
    }
    partitions->reassigned.tried++;
    weigh_places(partitions, value, alone, partitions->weights);
    for (uint32_t y = 0; temperature != 1.0 && y <= size; y++) {
        partitions->weights[y] /= temperature;
    }
    size_t place = phl_categorical_draw_log(rng, partitions->weights, (size_t)size + 1);
    if (place == PHL_NO_OUTCOME || place == own) {
        return PHL_OK;
    }
    phl_status status = phl_slabs_own(partitions, size + 1, error);
    if (status != PHL_OK) {
        return status;
    }
    partitions->reassigned.changed++;
    if (place == size) {
        add_block(partitions);
    }
    move_counts(partitions, value, own, (uint32_t)place);
    block[value] = (uint32_t)place;
    if (alone) {
        drop_block(partitions, own);
    }
    /* A value that no child has moves without any row noticing. */
    partitions->changed = partitions->changed || alone || place == size ||
                          partitions->view.first_table[value] != PHL_NO_TABLE;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * (b) Split and merge
 * ------------------------------------------------------------------------------------------- */

/* Room to gather in; all 0 between uses. */
static phl_status reserve_gathered(phl_partitions *partitions, phl_error *error)
{
    size_t n = partitions->layout.n_rest, c = partitions->states;
    size_t counts = partitions->gathered_capacity, marks = partitions->is_touched_capacity;
    phl_status status = phl_grow(&partitions->gathered, &partitions->gathered_capacity, n * c,
                                 sizeof *partitions->gathered, error);
    if (status == PHL_OK && partitions->gathered_capacity > counts) {
        memset(partitions->gathered + counts, 0,
               (partitions->gathered_capacity - counts) * sizeof *partitions->gathered);
    }
    if (status == PHL_OK) {
        status = phl_grow(&partitions->is_touched, &partitions->is_touched_capacity, n,
                          sizeof *partitions->is_touched, error);
    }
    if (status == PHL_OK && partitions->is_touched_capacity > marks) {
        memset(partitions->is_touched + marks, 0, partitions->is_touched_capacity - marks);
    }
    if (status == PHL_OK) {
        status = phl_grow(&partitions->touched, &partitions->touched_capacity, n,
                          sizeof *partitions->touched, error);
    }
    return status;
}

/* Add the counts of one value to `gathered`. */
static void gather(phl_partitions *partitions, uint32_t value)
{
    const phl_slot_view *view = &partitions->view;
    size_t c = partitions->states;
    for (uint32_t t = view->first_table[value]; t != PHL_NO_TABLE; t = view->tables[t].next) {
        const phl_slot_table *table = &view->tables[t];
        for (uint32_t i = 0; i < table->n_parts; i++) {
            const phl_slot_part *part = &view->parts[table->first_part + i];
            partitions->gathered[table->rest * c + part->state] += part->n;
        }
        if (!partitions->is_touched[table->rest]) {
            partitions->is_touched[table->rest] = 1;
            partitions->touched[partitions->n_touched++] = table->rest;
        }
    }
}

static void forget_gathered(phl_partitions *partitions)
{
    size_t c = partitions->states;
    for (size_t i = 0; i < partitions->n_touched; i++) {
        size_t rest = partitions->touched[i];
        partitions->is_touched[rest] = 0;
        memset(partitions->gathered + rest * c, 0, c * sizeof *partitions->gathered);
    }
    partitions->n_touched = 0;
}

/* Gain of moving the gathered values from block y of the open slot into a new block. */
static double split_gain(const phl_partitions *partitions, uint32_t y)
{
    size_t c = partitions->states, rests = partitions->layout.n_rest;
    uint32_t size = partitions->size[partitions->open];
    double gain = phl_size_prior(partitions, size + 1) - phl_size_prior(partitions, size);
    for (size_t i = 0; i < partitions->n_touched; i++) {
        size_t rest = partitions->touched[i], cell = y * rests + rest;
        const int64_t *moved = partitions->gathered + rest * c;
        const int64_t *counts = partitions->slab + cell * c;
        int64_t sum = 0, total = partitions->slab_total[cell];
        for (size_t j = 0; j < c; j++) {
            if (moved[j] > 0) {
                const phl_rising *rising = &partitions->rising[j];
                gain += phl_rising_get(rising, moved[j]) +
                        phl_rising_get(rising, counts[j] - moved[j]) -
                        phl_rising_get(rising, counts[j]);
                sum += moved[j];
            }
        }
        gain -= phl_rising_get(&partitions->rising_total, sum) +
                phl_rising_get(&partitions->rising_total, total - sum) -
                phl_rising_get(&partitions->rising_total, total);
    }
    return gain;
}

static phl_status try_split(phl_partitions *partitions, uint32_t first, uint32_t second,
                            double temperature, phl_rng *rng, phl_error *error)
{
    uint32_t e = partitions->open, size = partitions->size[e];
    uint32_t *block = phl_blocks_of(partitions, e);
    uint32_t y = block[first], members = 0;
    phl_status status = reserve_gathered(partitions, error);
    if (status != PHL_OK) {
        return status;
    }
    partitions->split.tried++;
    bool allowed = phl_sizes_allowed(partitions, e, size + 1);
    for (uint32_t q = 0; q <= partitions->states; q++) {
        bool member = block[q] == y;
        members += member;
        partitions->moved[q] = q == second || (member && q != first && phl_rng_bounded(rng, 2));
        if (partitions->moved[q] && allowed) {
            gather(partitions, q);
        }
    }
    /* The same two values lead back, and the merge is sure; each of the other members fell on its
     * side with probability 1/2. */
    bool accepted =
        allowed && accept(split_gain(partitions, y), (members - 2) * log(2.0), temperature, rng);
    forget_gathered(partitions);
    status = accepted ? phl_slabs_own(partitions, size + 1, error) : PHL_OK;
    if (!accepted || status != PHL_OK) {
        return status;
    }
    partitions->split.changed++;
    add_block(partitions);
    for (uint32_t q = 0; q <= partitions->states; q++) {
        if (partitions->moved[q]) {
            move_counts(partitions, q, y, size);
            block[q] = size;
        }
    }
    partitions->changed = true;
    return PHL_OK;
}

/* Gain of putting blocks y and w of the open slot together. */
static double merge_gain(const phl_partitions *partitions, uint32_t y, uint32_t w)
{
    size_t c = partitions->states, rests = partitions->layout.n_rest;
    uint32_t size = partitions->size[partitions->open];
    double gain = phl_size_prior(partitions, size - 1) - phl_size_prior(partitions, size);
    for (size_t rest = 0; rest < rests; rest++) {
        int64_t a_total = partitions->slab_total[y * rests + rest];
        int64_t b_total = partitions->slab_total[w * rests + rest];
        if (a_total == 0 || b_total == 0) {
            continue;
        }
        const int64_t *a = partitions->slab + (y * rests + rest) * c;
        const int64_t *b = partitions->slab + (w * rests + rest) * c;
        for (size_t j = 0; j < c; j++) {
            if (a[j] > 0 && b[j] > 0) {
                const phl_rising *rising = &partitions->rising[j];
                gain += phl_rising_get(rising, a[j] + b[j]) - phl_rising_get(rising, a[j]) -
                        phl_rising_get(rising, b[j]);
            }
        }
        gain -= phl_rising_get(&partitions->rising_total, a_total + b_total) -
                phl_rising_get(&partitions->rising_total, a_total) -
                phl_rising_get(&partitions->rising_total, b_total);
    }
    return gain;
}

static phl_status try_merge(phl_partitions *partitions, uint32_t first, uint32_t second,
                            double temperature, phl_rng *rng, phl_error *error)
{
    uint32_t e = partitions->open, size = partitions->size[e];
    uint32_t *block = phl_blocks_of(partitions, e);
    uint32_t y = block[first], w = block[second];
    uint32_t members = block_count(partitions, block, y) + block_count(partitions, block, w);
    partitions->merged.tried++;
    if (!phl_sizes_allowed(partitions, e, size - 1) ||
        !accept(merge_gain(partitions, y, w), -(double)(members - 2) * log(2.0), temperature,
                rng)) {
        return PHL_OK;
    }
    phl_status status = phl_slabs_own(partitions, size, error);
    if (status != PHL_OK) {
        return status;
    }
    partitions->merged.changed++;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        if (block[q] == w) {
            move_counts(partitions, q, w, y);
            block[q] = y;
        }
    }
    drop_block(partitions, w);
    partitions->changed = true;
    return PHL_OK;
}

phl_status phl_partitions_split_merge(phl_partitions *partitions, double temperature, phl_rng *rng,
                                      phl_error *error)
{
    PHL_CHECK_BUG(partitions->is_open, error);
    uint32_t values = partitions->states + 1;
    uint32_t first = (uint32_t)phl_rng_bounded(rng, values);
    uint32_t second = (uint32_t)phl_rng_bounded(rng, values - 1);
    second += second >= first;
    const uint32_t *block = phl_blocks_of(partitions, partitions->open);
    return block[first] == block[second]
               ? try_split(partitions, first, second, temperature, rng, error)
               : try_merge(partitions, first, second, temperature, rng, error);
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
    uint32_t size = partitions->size[a];
    partitions->size[a] = partitions->size[b];
    partitions->size[b] = size;
    for (size_t q = 0; q <= partitions->states; q++) {
        uint32_t block = phl_blocks_of(partitions, a)[q];
        phl_blocks_of(partitions, a)[q] = phl_blocks_of(partitions, b)[q];
        phl_blocks_of(partitions, b)[q] = block;
    }
}

/* Cells as they would be with the partition of slot `from` on the open slot, into own_slab by
 * (block, rest without `from`). */
static phl_status count_carried(phl_partitions *partitions, uint32_t from,
                                const phl_slot_layout *layout, phl_error *error)
{
    const phl_slot_view *view = &partitions->view;
    const uint32_t *block = phl_blocks_of(partitions, from);
    size_t c = partitions->states;
    partitions->slab = NULL;                                 /* own_slab need not hold the cells */
    phl_status status = phl_slabs_own(partitions, 1, error); /* one slab of all cells: enough */
    if (status != PHL_OK) {
        return status;
    }
    memset(partitions->own_slab, 0, layout->n_cells * c * sizeof *partitions->own_slab);
    memset(partitions->own_slab_total, 0, layout->n_cells * sizeof *partitions->own_slab_total);
    for (size_t t = 0; t < view->n_tables; t++) {
        const phl_slot_table *table = &view->tables[t];
        size_t at = block[table->value] * layout->n_rest + layout->rest[table->rest];
        for (uint32_t i = 0; i < table->n_parts; i++) {
            const phl_slot_part *part = &view->parts[table->first_part + i];
            partitions->own_slab[at * c + part->state] += part->n;
        }
        partitions->own_slab_total[at] += table->total;
    }
    return PHL_OK;
}

phl_status phl_partitions_carry(phl_partitions *partitions, double temperature, phl_rng *rng,
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
    phl_status status = phl_partitions_open(partitions, to, rng, error);
    if (status == PHL_OK) {
        status = phl_slot_lay_out(partitions, from, &layout, error);
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
                    ? phl_cell_score(partitions, partitions->own_slab + z * c)
                    : 0.0;
        gain -=
            partitions->totals[z] > 0 ? phl_cell_score(partitions, partitions->cells + z * c) : 0.0;
    }
    partitions->is_open = false;
    if (!accept(gain, 0.0, temperature, rng)) {
        return PHL_OK;
    }
    partitions->carried.changed++;
    exchange(partitions, from, to);
    return phl_slot_apply(partitions, layout.rest, rng, error);
}

/* ---------------------------------------------------------------------------------------------
 * A sweep
 * ------------------------------------------------------------------------------------------- */

static void shuffled(phl_rng *rng, uint32_t n, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    phl_shuffle(rng, n, order);
}

/* Moves (a) and (b) on slot e. */
static phl_status sweep_slot(phl_partitions *partitions, uint32_t e, double temperature,
                             phl_rng *rng, phl_error *error)
{
    uint32_t values = partitions->states + 1, *order = partitions->order + partitions->n_eligible;
    if (partitions->size[e] == 1 && !phl_sizes_allowed(partitions, e, 2)) {
        return PHL_OK; /* no move could change it */
    }
    phl_status status = phl_partitions_open(partitions, e, rng, error);
    shuffled(rng, values, order);
    for (uint32_t i = 0; status == PHL_OK && i < values; i++) {
        status = phl_partitions_reassign(partitions, order[i], temperature, rng, error);
    }
    if (status == PHL_OK) {
        status = phl_partitions_split_merge(partitions, temperature, rng, error);
    }
    return status == PHL_OK ? phl_partitions_close(partitions, rng, error) : status;
}

phl_status phl_partitions_sweep(phl_partitions *partitions, double temperature, phl_rng *rng,
                                phl_error *error)
{
    enum { CARRIES = 4 };
    phl_status status = PHL_OK;
    shuffled(rng, partitions->n_eligible, partitions->order);
    for (uint32_t i = 0; status == PHL_OK && i < partitions->n_eligible; i++) {
        status = sweep_slot(partitions, partitions->order[i], temperature, rng, error);
    }
    for (int i = 0; status == PHL_OK && i < CARRIES; i++) {
        status = phl_partitions_carry(partitions, temperature, rng, error);
    }
    return status;
}
