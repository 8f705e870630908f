/* chain_weights.h - how much the chains of a model count when predictions average over draws.
 *
 * A chain shares its weight evenly among its kept draws (phl_draw.weight).  In a run file the
 * weights are the fact "weights": for each class an array of the weights of chains 0, 1, ..., or an
 * empty one where all draws count the same, as JSON.
 */
#ifndef PHL_MODEL_CHAIN_WEIGHTS_H
#define PHL_MODEL_CHAIN_WEIGHTS_H

#include "model/run.h"

/* Beyond so many chains all count the same. */
#define PHL_CHAINS_WEIGHED 1000

/* Give the draws of a model their weights; weights [n] by chain, from 0 to 1; they are made to add
 * up to 1. */
void phl_chain_weights_apply(phl_model *model, const double *weights, size_t n);

/* The weights of all models into the facts of the run; none, if all draws count the same. */
phl_status phl_chain_weights_record(phl_run *run, phl_error *error);
/* The other way.  *good is false, and all draws count the same, if the fact makes no sense. */
phl_status phl_chain_weights_read(phl_run *run, bool *good, phl_error *error);

/* Do the draws of a model count differently? */
static inline bool phl_chain_weights_differ(const phl_model *model)
{
    for (size_t d = 0; d < model->n_draws; d++) {
        if (model->draws[d].weight > 0.0) {
            return true;
        }
    }
    return false;
}

/* Weights that maximise sum_i m_i log sum_k w_k e^{scores_ki} + sum_k log w_k: stacking of
 * predictive distributions (Yao, Vehtari, Simpson & Gelman 2018), with a prior Dir(2) that keeps
 * chains which differ by nothing alike.  scores [chains][n] log-densities of n trees under each
 * chain, m [n] how much a tree counts; weights [chains] come out and add up to 1, equal if no tree
 * is possible. */
phl_status phl_chain_weights_stack(const double *scores, const double *m, size_t chains, size_t n,
                                   double *weights, phl_error *error);

#endif
