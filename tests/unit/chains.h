/* chains.h - chains of the blocked sampler with given parameters, for tests of its first step. */
#ifndef PHL_TESTS_CHAINS_H
#define PHL_TESTS_CHAINS_H

#include "gibbs/gibbs.h"
#include "models.h"

/* Copy all tables of a model into another with the same ones. */
void copy_tables(const phl_params *params, phl_params *into);

/* A chain with the parameters given. */
phl_gibbs *chain_of(const prepared *p, const phl_params *params, uint64_t seed);

/* How many nodes in state j have value q in eligible slot e, out[j][q]: dealt by opening the slot.
 */
void open_slot(phl_gibbs *gibbs, uint32_t e, phl_rng *rng, int64_t *out);

#endif
