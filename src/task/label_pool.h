/* label_pool.h - the expert of a run on a batch of trees, pooled with its models.
 *
 * What is pooled is the prediction of one label at a time: p(x_u | what is known).  Labels drawn
 * together come from the first model alone; without one, each is drawn from its own prediction.
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

/* A word that a label is impossible is not taken literally. */
#define PHL_LABEL_POOL_LEAST 1e-9

/* Logarithms of what the voices say of a node, [voices][M + 1]: the chains, if the expert has any,
 * then the models, whose predictives `models` [n][M + 1] are given. */
void phl_label_pool_voices(const phl_expert_tables *tables, const uint32_t near[PHL_NEAR_PLACES],
                           const double *models, size_t n, double *log_p);

#endif
