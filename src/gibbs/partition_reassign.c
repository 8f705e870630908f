/* partition_reassign.c - move (a): one value of the open slot to any block or a new one; see
 * partitions.h.
 *
 * Moves (a) and (b) change the counts of the open slot's slabs alone; D_q, the children in state q
 * by the rest of the cell and the parent's state, stays as it was dealt.  Only cells that a value
 * touches are scored, and of those only the states it has.
 */
#include <math.h>

#include "base/sampler.h"
#include "gibbs/partition_state.h"

/* Score of a cell with D put in, less its score without: counts [C] and total of the cell without
 * D. */
static double gain_of(const phl_partitions *partitions, const phl_slot_table *table,
                      const int64_t *counts, int64_t total, int64_t less)
{
    const phl_slot_term *term = partitions->view.terms + table->first_term;
    double gain = 0.0;
    for (uint32_t i = 0; i < table->n_terms; i++) {
        const phl_rising *rising = &partitions->rising[term[i].state];
        int64_t without = counts[term[i].state] - less * term[i].n;
        gain += phl_rising_get(rising, without + term[i].n) - phl_rising_get(rising, without);
    }
    total -= less * table->total;
    return gain - (phl_rising_get(&partitions->rising_total, total + table->total) -
                   phl_rising_get(&partitions->rising_total, total));
}

/* Score of D in cells of its own. */
static double score_alone(const phl_partitions *partitions, const phl_slot_table *table)
{
    const phl_slot_term *term = partitions->view.terms + table->first_term;
    double score = 0.0;
    for (uint32_t i = 0; i < table->n_terms; i++) {
        score += phl_rising_get(&partitions->rising[term[i].state], term[i].n);
    }
    return score - phl_rising_get(&partitions->rising_total, table->total);
}

/* Log-weights of all places for a value, relative to the value being nowhere: blocks 0 .. k - 1
 * and, at k, a block of its own.  For a value that is alone, its own block stands for that. */
static void weigh_places(phl_partitions *partitions, uint32_t value, bool alone, double *weights)
{
    uint32_t e = partitions->open, size = partitions->size[e];
    uint32_t own = phl_partitions_blocks(partitions, e)[value];
    uint32_t others = size - alone; /* blocks without the value */
    const phl_slot_table *tables = partitions->view.tables;
    size_t rests = partitions->layout.n_rest, c = partitions->states;
    double prior[2]; /* of `others` blocks, and of one more */
    for (uint32_t more = 0; more < 2; more++) {
        prior[more] = phl_partitions_size_allowed(partitions, e, others + more)
                          ? phl_partitions_size_prior(partitions, others + more)
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

phl_status phl_partition_reassign(phl_partitions *partitions, uint32_t value, double temperature,
                                  phl_rng *rng, phl_error *error)
{
    PHL_CHECK_BUG(partitions->is_open, error);
    uint32_t *block = phl_partitions_blocks(partitions, partitions->open);
    uint32_t size = partitions->size[partitions->open], own = block[value];
    bool alone = size > 1 && phl_partition_slot_members(partitions, own) == 1;
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
    phl_status status = phl_partition_slot_own(partitions, size + 1, error);
    if (status != PHL_OK) {
        return status;
    }
    partitions->reassigned.changed++;
    if (place == size) {
        phl_partition_slot_add_block(partitions);
    }
    phl_partition_slot_move_value(partitions, value, own, (uint32_t)place);
    block[value] = (uint32_t)place;
    if (alone) {
        phl_partition_slot_drop_block(partitions, own);
    }
    /* A value that no child has moves without any portion noticing. */
    partitions->changed = partitions->changed || alone || place == size ||
                          partitions->view.first_table[value] != PHL_NO_TABLE;
    return PHL_OK;
}
