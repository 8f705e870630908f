/* partition_sweep.c - one sweep of all partition moves; see partitions.h. */
#include "base/sampler.h"
#include "gibbs/partition_state.h"

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
    if (partitions->size[e] == 1 && !phl_partitions_size_allowed(partitions, e, 2)) {
        return PHL_OK; /* no move could change it */
    }
    phl_status status = phl_partition_slot_open(partitions, e, rng, error);
    shuffled(rng, values, order);
    for (uint32_t i = 0; status == PHL_OK && i < values; i++) {
        status = phl_partition_reassign(partitions, order[i], temperature, rng, error);
    }
    if (status == PHL_OK) {
        status = phl_partition_split_merge(partitions, temperature, rng, error);
    }
    return status == PHL_OK ? phl_partition_slot_close(partitions, rng, error) : status;
}

phl_status phl_partition_sweep(phl_partitions *partitions, double temperature, phl_rng *rng,
                               phl_error *error)
{
    enum { CARRIES = 4 };
    phl_status status = PHL_OK;
    shuffled(rng, partitions->n_eligible, partitions->order);
    for (uint32_t i = 0; status == PHL_OK && i < partitions->n_eligible; i++) {
        status = sweep_slot(partitions, partitions->order[i], temperature, rng, error);
    }
    for (int i = 0; status == PHL_OK && i < CARRIES; i++) {
        status = phl_partition_carry(partitions, temperature, rng, error);
    }
    return status;
}
