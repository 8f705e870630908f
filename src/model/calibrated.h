/* calibrated.h - how a run turns what its models and its head say of a tree into probabilities of
 * classes, as training chose it by trees held out; facts of the run.
 *
 *   models:  p(c) proportional to prior(c) p(tree | c)^(1/T)
 *   both:    p(c) proportional to p_models(c)^u p_head(c)^v
 */
#ifndef PHL_MODEL_CALIBRATED_H
#define PHL_MODEL_CALIBRATED_H

#include "model/run.h"

/* One way to classify, on the trees held out; what is fitted for it, is fitted on the others of
 * them. */
typedef struct phl_rule_figure {
    double log_loss, accuracy; /* NaN: not known */
} phl_rule_figure;

typedef struct phl_calibrated {
    double temperature; /* T */
    phl_class_prior prior;
    double *log_prior;                          /* [K] learned; NULL: none */
    phl_rule rule;                              /* PHL_RULE_DEFAULT: none was chosen */
    double weights[2];                          /* u, v */
    size_t trees;                               /* held out; 0: nothing was fitted */
    phl_rule_figure figures[PHL_RULE_BOTH + 1]; /* by rule */
} phl_calibrated;

/* Without any facts: T = 1, a uniform prior, u = v = 1/2. */
phl_calibrated phl_calibrated_none(void);

/* Into the facts of the run, and from them.  Facts that make no sense are passed over.  Clear in
 * any case. */
phl_status phl_calibrated_record(phl_run *run, const phl_calibrated *calibrated, phl_error *error);
phl_status phl_calibrated_restore(const phl_run *run, phl_calibrated *calibrated, phl_error *error);
void phl_calibrated_clear(phl_calibrated *calibrated);

/* log p(class) [K] before a tree is seen; PHL_PRIOR_CHOSEN: that of the facts. */
phl_status phl_calibrated_prior(const phl_run *run, const phl_calibrated *calibrated,
                                phl_class_prior prior, double *log_prior, phl_error *error);

/* The posterior of the models, [K], from log p(tree | class), in place or not.  False: the tree has
 * probability 0 under all of them, and the prior stands in. */
bool phl_calibrated_models(const phl_calibrated *calibrated, const double *log_prior, size_t n,
                           const double *likelihood, double *posterior);
/* Both: the posterior of the models becomes that of both. */
void phl_calibrated_both(const phl_calibrated *calibrated, size_t n, const double *head,
                         double *posterior);

#endif
