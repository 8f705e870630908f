/* seed_state.h - what seed.c and seed_sizes.c share. */
#ifndef PHL_GIBBS_SEED_STATE_H
#define PHL_GIBBS_SEED_STATE_H

#include "gibbs/seed.h"

static inline void phl_seed_rng(const phl_seed *seed, uint64_t purpose, uint64_t item, phl_rng *rng)
{
    const phl_gibbs *gibbs = seed->gibbs;
    phl_rng_init(rng, gibbs->options.seed, purpose, gibbs->options.stream, gibbs->iteration, item);
}

/* z and its counts anew: the partitions changed. */
phl_status phl_seed_count_cells(phl_seed *seed, phl_error *error);

/* Step 2. */
phl_status phl_seed_draw_sizes(phl_seed *seed, phl_error *error);

#endif
