/* classify_head.h - class posteriors of the linear head of a run. */
#ifndef PHL_TASK_CLASSIFY_HEAD_H
#define PHL_TASK_CLASSIFY_HEAD_H

#include "head/head.h"
#include "task/scores.h"

/* log p(class | tree) of every distinct root: log_posterior [roots][K]. */
phl_status phl_classify_head(const phl_head *head, const phl_forest *block, const phl_roots *roots,
                             int threads, phl_cancel_fn cancel, void *context,
                             double *log_posterior, phl_error *error);

#endif
