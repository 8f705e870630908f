/* oddity.h - how odd a tree is: the bits its labels cost, each given all the others.
 *
 * By the pool of the members of a run, and of several runs.  A label never seen in training costs
 * what the smoothing leaves for such labels.
 */
#ifndef PHL_TASK_ODDITY_H
#define PHL_TASK_ODDITY_H

#include "task/beside.h"
#include "task/label_pool.h"

/* What one run says of the trees of a forest. */
typedef struct phl_oddity_source {
    phl_expert_tables *tables;  /* NULL: the run has a model alone */
    const uint32_t *label_row;  /* of the forest's labels in the run */
    phl_session *const *models; /* [n_models] its members, on the forest */
    size_t n_models, n_labels;
    const phl_beside *beside; /* how it is pooled; NULL: there is one run */
} phl_oddity_source;

/* What is kept of a tree for one source. */
typedef struct phl_oddity_view {
    phl_neighbourhood nodes;
    double *predictive; /* [models][nodes][M + 1] */
    double *log_p, *p;  /* [voices][M + 1], [M + 1] of a node */
    size_t predictive_capacity, log_capacity, p_capacity;
} phl_oddity_view;

/* Work space, and what was found of the last tree. */
typedef struct phl_oddity {
    phl_oddity_view *views; /* of each source */
    size_t n_views;
    double *voices; /* [sources][M + 1], with several of them */
    size_t voices_capacity;

    double *bits; /* [nodes] NaN where the label is unknown */
    size_t bits_capacity;
    double mean, most, oddity; /* NaN: no label is known */
} phl_oddity;

/* Tree number `tree` of the forest that `walk` goes over; the first source is the task's run. */
phl_status phl_oddity_of_tree(phl_oddity *oddity, const phl_oddity_source *sources,
                              size_t n_sources, phl_walk *walk, size_t tree, phl_error *error);
void phl_oddity_clear(phl_oddity *oddity);

/* The share of training trees, each judged without itself, that are at least as odd: (1 + so many)
 * / (1 + all). */
double phl_oddity_share(const phl_expert *expert, double oddity);

#endif
