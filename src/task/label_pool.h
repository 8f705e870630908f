/* label_pool.h - the expert of a run on a batch of trees, pooled with its model.
 *
 * What is pooled is the prediction of one label at a time: p(x_u | what is known).  Labels drawn
 * together come from the model alone; without one, each is drawn from its own prediction.
 */
#ifndef PHL_TASK_LABEL_POOL_H
#define PHL_TASK_LABEL_POOL_H

#include "task/label_batch.h"

/* What one thread needs. */
phl_status phl_label_pool_init(phl_label_batch *batch, phl_error *error);

/* After the models of the batch have predicted: each row becomes the product of the voices. */
phl_status phl_label_pool_run(phl_label_batch *batch, phl_error *error);

/* The neighbourhoods of a tree of `walk`; label_row numbers its labels as the expert does. */
phl_status phl_label_pool_look(phl_walk *walk, size_t tree, const uint32_t *label_row,
                               size_t n_labels, phl_neighbourhood *nodes, phl_error *error);

/* Logarithms of what the voices say of a node, [voices][M + 1]: the chains, then the model, whose
 * predictive [M + 1] is given (NULL: there is none). */
void phl_label_pool_voices(const phl_expert_tables *tables, const uint32_t near[PHL_NEAR_PLACES],
                           const double *model, double *log_p);

#endif
