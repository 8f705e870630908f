/* partition_split_merge.c - move (b): a block of the open slot is split, or two are merged; see
 * partitions.h.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "gibbs/partition_state.h"

/* Room to gather in; all 0 between uses. */
static phl_status reserve_gathered(phl_partitions *partitions, phl_error *error)
{
    size_t n = partitions->layout.n_rest, c = partitions->states;
    size_t counts = partitions->gathered_capacity, marks = partitions->is_touched_capacity;
    phl_status status = phl_grow(&partitions->gathered, &partitions->gathered_capacity, n * c,
                                 sizeof *partitions->gathered, error);
    if (status != PHL_OK) {
        return status;
    }
    if (partitions->gathered_capacity > counts) {
        memset(partitions->gathered + counts, 0,
               (partitions->gathered_capacity - counts) * sizeof *partitions->gathered);
    }
    status = phl_grow(&partitions->is_touched, &partitions->is_touched_capacity, n,
                      sizeof *partitions->is_touched, error);
    if (status != PHL_OK) {
        return status;
    }
    if (partitions->is_touched_capacity > marks) {
        memset(partitions->is_touched + marks, 0, partitions->is_touched_capacity - marks);
    }
    return phl_grow(&partitions->touched, &partitions->touched_capacity, n,
                    sizeof *partitions->touched, error);
}

/* Add the counts of one value to `gathered`. */
static void gather(phl_partitions *partitions, uint32_t value)
{
    const phl_slot_view *view = &partitions->view;
    size_t c = partitions->states;
    for (uint32_t t = view->first_table[value]; t != PHL_NO_TABLE; t = view->tables[t].next) {
        const phl_slot_table *table = &view->tables[t];
        for (uint32_t i = 0; i < table->n_terms; i++) {
            const phl_slot_term *term = &view->terms[table->first_term + i];
            partitions->gathered[table->rest * c + term->state] += term->n;
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
    double gain = phl_partitions_size_prior(partitions, size + 1) -
                  phl_partitions_size_prior(partitions, size);
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
    uint32_t *block = phl_partitions_blocks(partitions, e);
    uint32_t y = block[first], members = 0;
    phl_status status = reserve_gathered(partitions, error);
    if (status != PHL_OK) {
        return status;
    }
    partitions->split.tried++;
    bool allowed = phl_partitions_size_allowed(partitions, e, size + 1);
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
    bool accepted = allowed && phl_partitions_accept(split_gain(partitions, y),
                                                     (members - 2) * log(2.0), temperature, rng);
    forget_gathered(partitions);
    status = accepted ? phl_partition_slot_own(partitions, size + 1, error) : PHL_OK;
    if (!accepted || status != PHL_OK) {
        return status;
    }
    partitions->split.changed++;
    phl_partition_slot_add_block(partitions);
    for (uint32_t q = 0; q <= partitions->states; q++) {
        if (partitions->moved[q]) {
            phl_partition_slot_move_value(partitions, q, y, size);
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
    double gain = phl_partitions_size_prior(partitions, size - 1) -
                  phl_partitions_size_prior(partitions, size);
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
    uint32_t *block = phl_partitions_blocks(partitions, e);
    uint32_t y = block[first], w = block[second];
    uint32_t members =
        phl_partition_slot_members(partitions, y) + phl_partition_slot_members(partitions, w);
    partitions->merged.tried++;
    if (!phl_partitions_size_allowed(partitions, e, size - 1) ||
        !phl_partitions_accept(merge_gain(partitions, y, w), -(double)(members - 2) * log(2.0),
                               temperature, rng)) {
        return PHL_OK;
    }
    phl_status status = phl_partition_slot_own(partitions, size, error);
    if (status != PHL_OK) {
        return status;
    }
    partitions->merged.changed++;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        if (block[q] == w) {
            phl_partition_slot_move_value(partitions, q, w, y);
            block[q] = y;
        }
    }
    phl_partition_slot_drop_block(partitions, w);
    partitions->changed = true;
    return PHL_OK;
}

phl_status phl_partition_split_merge(phl_partitions *partitions, double temperature, phl_rng *rng,
                                     phl_error *error)
{
    PHL_CHECK_BUG(partitions->is_open, error);
    uint32_t values = partitions->states + 1;
    uint32_t first = (uint32_t)phl_rng_bounded(rng, values);
    uint32_t second = (uint32_t)phl_rng_bounded(rng, values - 1);
    second += second >= first;
    const uint32_t *block = phl_partitions_blocks(partitions, partitions->open);
    return block[first] == block[second]
               ? try_split(partitions, first, second, temperature, rng, error)
               : try_merge(partitions, first, second, temperature, rng, error);
}
