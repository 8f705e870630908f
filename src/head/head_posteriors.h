/* head_posteriors.h - class posteriors of many trees under a linear head. */
#ifndef PHL_HEAD_HEAD_POSTERIORS_H
#define PHL_HEAD_HEAD_POSTERIORS_H

#include "head/head.h"

/* log p(class | tree) of the trees listed: log_posterior [n][K]. */
phl_status phl_head_posteriors(const phl_head *head, const phl_forest *forest, const size_t *trees,
                               size_t n, int threads, phl_cancel_fn cancel, void *context,
                               double *log_posterior, phl_error *error);

#endif
