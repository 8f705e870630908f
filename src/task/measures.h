/* measures.h - collecting an evaluation item by item (docs/maths.md, measures).
 *
 * Items are added in a fixed order by one thread, so the sums have the same bits every time.
 */
#ifndef PHL_TASK_MEASURES_H
#define PHL_TASK_MEASURES_H

#include "forest/alphabet.h"

#define PHL_UNSEEN_NAME "(unseen)"

typedef struct phl_measures {
    size_t n_names;      /* that can be predicted */
    uint64_t *confusion; /* [n_names + 1][n_names], truths outside the names in the last row */
    uint64_t n, n_drawn, drawn_right, n_loss;
    double entropy_bits, loss; /* sums */
} phl_measures;

/* One prediction and its truth. */
typedef struct phl_item {
    size_t truth;        /* SIZE_MAX: outside the names */
    size_t predicted;    /* < n_names */
    size_t drawn;        /* SIZE_MAX: none was drawn */
    double entropy_bits; /* of the predictive distribution */
    double log_p;        /* log p(truth); NaN: the truth has no probability, no loss is counted */
} phl_item;

phl_status phl_measures_init(phl_measures *measures, size_t n_names, phl_error *error);
void phl_measures_clear(phl_measures *measures);
void phl_measures_add(phl_measures *measures, const phl_item *item);

/* All items of `from`, over the same names, as if they had been added after those of `measures`. */
void phl_measures_merge(phl_measures *measures, const phl_measures *from);

/* The figures; `names` has n_names entries. */
phl_status phl_measures_finish(const phl_measures *measures, const phl_alphabet *names,
                               phl_evaluation *evaluation, phl_error *error);

/* Entropy in bits of probabilities that sum to 1. */
double phl_entropy_bits(const double *p, size_t n);

#endif
