/* beside.h - runs that are pooled with the run of a task: which of their models is for a tree, and
 * what they say in terms of the labels of the task's run.
 *
 * What is pooled is the prediction of one label: the product of what the runs say, each to the
 * power of one over their number.
 */
#ifndef PHL_TASK_BESIDE_H
#define PHL_TASK_BESIDE_H

#include "model/run.h"

enum { PHL_BESIDE_MOST = 32 }; /* runs in all */

typedef struct phl_beside {
    const phl_run *run; /* borrowed */
    size_t n_labels;    /* M of the task's run */
    uint32_t *row;      /* [labels of this run] their number in the task's run; M: not there */
    size_t missing;     /* labels of the task's run that this one lacks */
} phl_beside;

/* The run of the task first, then those of the options: *beside [1 + n].  Refuses runs that cannot
 * be used together.  Nothing is made, and *beside is NULL, if n is 0. */
phl_status phl_beside_create(const phl_run *run, const phl_run *const *with, size_t n,
                             phl_beside **beside, phl_error *error);
void phl_beside_free(phl_beside *beside, size_t n);

/* The model of a run that goes with a model of the task's run. */
const phl_model *phl_beside_model(const phl_run *run, const phl_model *model);

/* Logarithms [M + 1] of what a run says of a label: p over its own labels, and that of a label it
 * has never seen.  A label it lacks has its share of the latter; all zeros: it says nothing. */
void phl_beside_voice(const phl_beside *beside, const double *p, double unseen, double *log_p);
/* Their product p [width]; log_p [n][width].  p may be the first row of log_p. */
void phl_beside_pool(const double *log_p, size_t n, size_t width, double *p);

#endif
