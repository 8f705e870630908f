/* candidates.h - what the options of a cross-validation compare: ways to train. */
#ifndef PHL_TASK_CANDIDATES_H
#define PHL_TASK_CANDIDATES_H

#include "base/error.h"

typedef struct phl_candidates {
    phl_evaluate_options options; /* as taken */
    size_t n;
    phl_train_options *train; /* [n] with their states, as the caller gave them */
    const phl_class_prior *priors;
    size_t n_priors;
    bool per_class;
} phl_candidates;

/* Zeroed before; cleared in any case.  Points into the caller's options. */
phl_status phl_candidates_take(const phl_evaluate_options *given, phl_candidates *candidates,
                               phl_error *error);
void phl_candidates_clear(phl_candidates *candidates);

/* Its options with every default replaced. */
phl_train_options phl_candidates_resolved(const phl_candidates *candidates, size_t number);

/* Everything about it that shapes a result on trees with so many slots, as text to be released with
 * phl_free. */
phl_status phl_candidates_config(const phl_candidates *candidates, size_t number, uint32_t slots,
                                 char **config, phl_error *error);

/* Train it; of kind PHL_NO_KIND, a linear classifier alone. */
phl_status phl_candidates_train(const phl_train_options *options, const phl_forest *forest,
                                phl_run **run, phl_error *error);

#endif
