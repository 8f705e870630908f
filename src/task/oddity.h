/* oddity.h - how odd a tree is: the bits its labels cost, each given all the others.
 *
 * By the pool of an expert and a model.  A label never seen in training costs what the smoothing
 * leaves for such labels.
 */
#ifndef PHL_TASK_ODDITY_H
#define PHL_TASK_ODDITY_H

#include "task/label_pool.h"

/* Work space, and what was found of the last tree. */
typedef struct phl_oddity {
    phl_expert_tables *tables; /* borrowed */
    phl_neighbourhood nodes;
    double *log_p, *p, *predictive;
    size_t log_capacity, p_capacity, predictive_capacity;

    double *bits; /* [nodes] NaN where the label is unknown */
    size_t bits_capacity;
    double mean, most, oddity; /* NaN: no label is known */
} phl_oddity;

/* label_row numbers the labels of the walk's forest; session: of the model on that forest, or NULL.
 */
phl_status phl_oddity_of_tree(phl_oddity *oddity, phl_walk *walk, size_t tree,
                              const uint32_t *label_row, phl_session *session, phl_error *error);
void phl_oddity_clear(phl_oddity *oddity);

/* The share of training trees, each judged without itself, that are at least as odd: (1 + so many)
 * / (1 + all). */
double phl_oddity_share(const phl_expert *expert, double oddity);

#endif
