/* paper_sampler_state.h - what paper_sampler.c and paper_sampler_sizes.c share. */
#ifndef PHL_GIBBS_PAPER_SAMPLER_STATE_H
#define PHL_GIBBS_PAPER_SAMPLER_STATE_H

#include "gibbs/paper_sampler.h"

static inline void phl_paper_sampler_rng(const phl_paper_sampler *sampler, uint64_t purpose,
                                         uint64_t item, phl_rng *rng)
{
    const phl_gibbs *gibbs = sampler->gibbs;
    phl_rng_init(rng, gibbs->options.seed, purpose, gibbs->options.stream, gibbs->iteration, item);
}

/* z and its counts anew: the partitions changed. */
phl_status phl_paper_sampler_count_cells(phl_paper_sampler *sampler, phl_error *error);

/* Step 2. */
phl_status phl_paper_sampler_sizes_draw(phl_paper_sampler *sampler, double temperature,
                                        phl_error *error);

#endif
