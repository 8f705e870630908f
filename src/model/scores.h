/* scores.h - log-probabilities of whole trees, averaged over the draws of a model.
 *
 * Equal trees share their root in the forest, so everything is computed once per distinct root.
 * Averages are taken in probability space: log (1/D sum_d p_d).
 */
#ifndef PHL_MODEL_SCORES_H
#define PHL_MODEL_SCORES_H

#include "model/infer.h"
#include "model/run.h"
#include "model/sums.h"

/* The distinct roots of a forest, numbered by first appearance. */
typedef struct phl_roots {
    size_t n;
    uint32_t *of_tree; /* [T] root number of each tree */
    size_t *tree;      /* [n] first tree with that root */
} phl_roots;

phl_status phl_scores_roots_init(const phl_forest *forest, phl_roots *roots, phl_error *error);
void phl_scores_roots_clear(phl_roots *roots);

/* A forest made ready for the models of one run: what all draws share. */
typedef struct phl_prepared {
    const phl_forest *forest; /* borrowed */
    phl_index *index;
    uint32_t *label_row;
    phl_roots roots;
} phl_prepared;

phl_status phl_scores_prepare(const phl_run *run, const phl_forest *forest, phl_prepared *prepared,
                              phl_error *error);
void phl_scores_clear(phl_prepared *prepared);

/* log p_d of every root under the upward pass of one draw: of the labels, and of labels and shape
 * together.  sums: one lane, as work space. */
void phl_scores_of_roots(const phl_prepared *prepared, const phl_upward *upward, phl_sums *sums,
                         double *labels, double *both);

/* out [n]: log of the mean over draws of e^scores, scores [draws][n]; by the weights of the model's
 * draws, or NULL: all count the same. */
void phl_scores_average_draws(const double *scores, const phl_model *model, size_t draws, size_t n,
                              double *out);

/* Averages over draws for models [n_models] of one run: scores [n_models][roots] of the labels, and
 * `both` [n_models][roots] of labels and shape together; either may be NULL.  Draws count by their
 * weights, or all the same. */
phl_status phl_scores_average(const phl_prepared *prepared, const phl_model *models,
                              size_t n_models, bool weighted, int threads, phl_cancel_fn cancel,
                              void *context, double *labels, double *both, phl_error *error);

/* PHL_ERR_ARGUMENT if the model has no draw. */
phl_status phl_scores_check_draws(const phl_model *model, phl_error *error);

#endif
