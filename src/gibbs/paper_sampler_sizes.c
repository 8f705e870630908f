/* paper_sampler_sizes.c - step 2 of the sampler of the paper: sizes and partitions (Algorithm 2).
 *
 * A proposal takes the place of the partitions; it is counted and scored from scratch, and undone
 * if it is not taken.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "gibbs/paper_sampler_state.h"
#include "gibbs/partition_state.h"
#include "model/purposes.h"

/* Cut a random block of slot e, one of at least two values, in two at random. */
static void split_block(phl_partitions *partitions, uint32_t e, phl_rng *rng)
{
    size_t values = (size_t)partitions->states + 1;
    uint32_t *block = partitions->block + e * values, size = partitions->size[e];
    uint32_t chosen = 0, candidates = 0, all = 0, moved = 0;
    for (uint32_t z = 0; z < size; z++) {
        uint32_t count = 0;
        for (size_t q = 0; q < values; q++) {
            count += block[q] == z;
        }
        /* each of the blocks that can be cut with the same probability */
        if (count > 1 && phl_rng_bounded(rng, ++candidates) == 0) {
            chosen = z;
            all = count;
        }
    }
    while (moved == 0 || moved == all) {
        moved = 0;
        for (size_t q = 0; q < values; q++) {
            if (block[q] == chosen || block[q] == size) {
                bool moves = phl_rng_bounded(rng, 2) == 1;
                block[q] = moves ? size : chosen;
                moved += moves;
            }
        }
    }
    partitions->size[e]++;
}

/* Merge two random blocks of slot e; the last block takes the number that is left over. */
static void merge_blocks(phl_partitions *partitions, uint32_t e, phl_rng *rng)
{
    size_t values = (size_t)partitions->states + 1;
    uint32_t *block = partitions->block + e * values, last = partitions->size[e] - 1;
    uint32_t kept = (uint32_t)phl_rng_bounded(rng, partitions->size[e]);
    uint32_t gone = (uint32_t)phl_rng_bounded(rng, last);
    gone += gone >= kept;
    for (size_t q = 0; q < values; q++) {
        block[q] = block[q] == gone ? kept : block[q];
    }
    for (size_t q = 0; q < values; q++) {
        block[q] = block[q] == last ? gone : block[q];
    }
    partitions->size[e]--;
}

static uint32_t count_active(const phl_partitions *partitions)
{
    uint32_t active = 0;
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        active += partitions->size[e] > 1;
    }
    return active;
}

/* A random slot, active or not as asked for; there must be one. */
static uint32_t pick_slot(const phl_partitions *partitions, bool active, phl_rng *rng)
{
    uint32_t e = 0;
    uint32_t n = count_active(partitions);
    uint64_t skip = phl_rng_bounded(rng, active ? n : partitions->n_eligible - n);
    for (;; e++) {
        if ((partitions->size[e] > 1) == active && skip-- == 0) {
            return e;
        }
    }
}

/* Back to the partition slot e had. */
static void restore_slot(phl_paper_sampler *sampler, uint32_t e)
{
    phl_partitions *partitions = sampler->gibbs->partitions;
    size_t values = (size_t)partitions->states + 1;
    partitions->size[e] = sampler->old_size[e];
    memcpy(partitions->block + e * values, sampler->old_block + e * values,
           values * sizeof *partitions->block);
}

/* The proposal of Algorithm 2 in place of the partitions; false when it is outside the confines.
 * *grown tells its first move. */
static bool propose_sizes(phl_paper_sampler *sampler, phl_rng *rng, bool *grown)
{
    phl_partitions *partitions = sampler->gibbs->partitions;
    const phl_partition_prior *prior = &partitions->prior;
    uint32_t e = (uint32_t)phl_rng_bounded(rng, partitions->n_eligible);
    bool grow = phl_rng_bounded(rng, 2) == 0;
    grow = partitions->size[e] == 1 || (grow && partitions->size[e] <= partitions->states);
    *grown = grow;
    if (grow) {
        split_block(partitions, e, rng);
    } else {
        merge_blocks(partitions, e, rng);
    }
    if (count_active(partitions) > prior->slots_max) {
        merge_blocks(partitions, pick_slot(partitions, true, rng), rng);
        if (count_active(partitions) > prior->slots_max) {
            restore_slot(sampler, e);
        }
    }
    uint32_t active = count_active(partitions);
    if (active < prior->slots_min && active < partitions->n_eligible) {
        split_block(partitions, pick_slot(partitions, false, rng), rng);
    }
    active = count_active(partitions);
    double cells = 1.0;
    for (uint32_t i = 0; i < partitions->n_eligible; i++) {
        cells *= partitions->size[i];
    }
    return active >= prior->slots_min && active <= prior->slots_max &&
           cells <= (double)prior->core_max && cells <= (double)UINT32_MAX;
}

/* log L(k) p(k) of the paper. */
static double size_score(const phl_partitions *partitions)
{
    double sum = 0.0;
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        sum -= partitions->prior.phi * partitions->size[e];
    }
    for (size_t z = 0; z < partitions->n_cells; z++) {
        sum += phl_partitions_cell_score(partitions, partitions->cells + z * partitions->states);
    }
    return sum;
}

phl_status phl_paper_sampler_sizes_draw(phl_paper_sampler *sampler, double temperature,
                                        phl_error *error)
{
    phl_gibbs *gibbs = sampler->gibbs;
    phl_partitions *partitions = gibbs->partitions;
    size_t e_count = partitions->n_eligible, values = (size_t)partitions->states + 1;
    phl_status status =
        phl_partitions_set_base(partitions, gibbs->alpha, gibbs->log_lambda0, error);
    if (status != PHL_OK || gibbs->options.fixed_partitions || partitions->prior.fixed != NULL ||
        e_count == 0) {
        return status;
    }
    phl_rng rng;
    bool grown;
    phl_paper_sampler_rng(sampler, PHL_PURPOSE_PAPER_SIZES, 0, &rng);
    double before = size_score(partitions);
    memcpy(sampler->old_size, partitions->size, e_count * sizeof *sampler->old_size);
    memcpy(sampler->old_block, partitions->block, e_count * values * sizeof *sampler->old_block);
    bool taken = propose_sizes(sampler, &rng, &grown);
    if (taken) {
        status = phl_paper_sampler_count_cells(sampler, error);
        if (status != PHL_OK) {
            return status;
        }
        double gain = size_score(partitions) - before;
        taken = log(phl_rng_uniform(&rng)) < gain / temperature;
    }
    sampler->sizes_tried++;
    sampler->sizes_taken += taken;
    partitions->split.tried += grown;
    partitions->split.changed += grown && taken;
    partitions->merged.tried += !grown;
    partitions->merged.changed += !grown && taken;
    if (taken) {
        return PHL_OK;
    }
    for (uint32_t e = 0; e < e_count; e++) {
        restore_slot(sampler, e);
    }
    return phl_paper_sampler_count_cells(sampler, error);
}
