/* measures.h - collecting an evaluation item by item.
 *
 * Items are added in a fixed order by one thread, so the sums have the same bits every time.  They
 * may belong to several parts (the models of a run): means are taken part by part and weighted by
 * their items, so that they do not depend on how the items of different parts are mixed.
 */
#ifndef PHL_TASK_MEASURES_H
#define PHL_TASK_MEASURES_H

#include "forest/alphabet.h"

/* Items by the probability of what was predicted, in bins of equal width. */
enum { PHL_MEASURE_BINS = 15 };
typedef struct phl_measure_bin {
    uint64_t n, right;
    double p;
} phl_measure_bin;

/* Sums over the items of one part. */
typedef struct phl_measure_sums {
    bool used; /* the part takes part, items or not */
    uint64_t n, right, n_drawn, drawn_right, n_loss;
    double entropy_bits, loss;
} phl_measure_sums;

typedef struct phl_measures {
    size_t n_names;  /* that can be predicted */
    uint64_t *best;  /* [n_names + 1][n_names + 1], truths outside the names in the last row */
    uint64_t *drawn; /* the same of drawn names; NULL: none are */
    size_t n_parts;
    phl_measure_sums *parts;
    phl_measure_bin bins[PHL_MEASURE_BINS]; /* of all parts together */
} phl_measures;

/* One prediction and its truth. */
typedef struct phl_item {
    size_t truth;        /* SIZE_MAX: outside the names */
    size_t predicted;    /* < n_names */
    size_t drawn;        /* SIZE_MAX: none was drawn */
    double entropy_bits; /* of the predictive distribution */
    double log_p;        /* log p(truth); NaN: the truth has no probability, no loss is counted */
    double p;            /* of what is predicted; NaN: not known */
} phl_item;

phl_status phl_measures_init(phl_measures *measures, size_t n_names, size_t n_parts, bool drawn,
                             phl_error *error);
void phl_measures_clear(phl_measures *measures);
void phl_measures_add(phl_measures *measures, size_t part, const phl_item *item);

/* All items of `from`, over the same names and parts and without drawn names, as if they had been
 * added after those of `measures`. */
void phl_measures_merge(phl_measures *measures, const phl_measures *from);

/* The figures; `names` has n_names entries.  The measures are used up, and cleared. */
phl_status phl_measures_finish(phl_measures *measures, const phl_alphabet *names,
                               phl_evaluation **evaluation, phl_error *error);

/* The 95 % interval of a share of n (Wilson 1927); NaN without any. */
void phl_measures_interval(double share, uint64_t n, double *low, double *high);

/* Entropy in bits of probabilities that sum to 1; of logarithms of such. */
double phl_measures_entropy_bits(const double *p, size_t n);
double phl_measures_entropy_bits_of_logs(const double *log_p, size_t n);

#endif
