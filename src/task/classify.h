/* classify.h - what cross-validation shares with classification. */
#ifndef PHL_TASK_CLASSIFY_H
#define PHL_TASK_CLASSIFY_H

#include "model/run.h"
#include "task/measures.h"

/* phl_classify that also gives log p(tree | class) [T][K], unless log_likelihood is NULL. */
phl_status phl_classify_scored(const phl_run *run, const phl_forest *forest,
                               const phl_classify_options *options, double *log_posterior,
                               double *log_likelihood, phl_error *error);

/* Add every tree that has a class, with its posterior [T][K], to the measures, whose names are the
 * run's classes, or the forest's if `forest_names` (they must then hold all classes of the run). */
phl_status phl_measure_posteriors(const phl_run *run, const phl_forest *forest,
                                  const double *log_posterior, bool forest_names,
                                  phl_measures *measures, phl_error *error);

#endif
