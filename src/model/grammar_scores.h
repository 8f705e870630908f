/* grammar_scores.h - log-probabilities of whole trees under the grammars of a run.
 *
 * A grammar says how probable labels and shape are together.  Labels given the shape: divided by
 * the probability of the tree with every label unknown.
 */
#ifndef PHL_MODEL_GRAMMAR_SCORES_H
#define PHL_MODEL_GRAMMAR_SCORES_H

#include "grammar/grammar.h"
#include "model/scores.h"

/* The grammars of a run: starts that every class has. */
typedef struct phl_grammars {
    size_t n;
    phl_grammar **grammars; /* [n] */
    size_t *draws;          /* [n][models] number of the draw */
} phl_grammars;

/* PHL_ERR_ARGUMENT when there is none. */
phl_status phl_grammar_scores_open(const phl_run *run, phl_grammars *grammars, phl_error *error);
void phl_grammar_scores_close(phl_grammars *grammars);

/* How the starts are averaged. */
typedef enum phl_grammar_mean {
    PHL_MEAN_PROBABILITY, /* log of the mean of p: as draws of other models */
    PHL_MEAN_LOG          /* mean of log p: what classes are compared by */
} phl_grammar_mean;

/* scores [n_models][roots] of models first .. first + n_models - 1 of the run; shape: of labels and
 * shape, else of labels given the shape. */
phl_status phl_grammar_scores_make(const phl_prepared *prepared, const phl_model *models,
                                   size_t n_models, bool shape, phl_grammar_mean mean, int threads,
                                   phl_cancel_fn cancel, void *context, double *scores,
                                   phl_error *error);

#endif
