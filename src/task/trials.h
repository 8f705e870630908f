/* trials.h - a cross-validation as a list of trials, done or not.
 *
 * A candidate is a way to train: model, number of states, head.  A trial is one candidate trained
 * on all folds but one and tested on that one, once with each class prior.  Trials do not depend on
 * each other: they may be done in any order, in several programs, and be kept in a file
 * (work_file.h).  What comes out of all of them is computed from what they keep, in a fixed order.
 */
#ifndef PHL_TASK_TRIALS_H
#define PHL_TASK_TRIALS_H

#include "task/measures.h"

enum { PHL_MOST_TRIALS = 1000000 };

/* How often a class was taken for another. */
typedef struct phl_taken {
    uint32_t truth, predicted;
    uint64_t count;
} phl_taken;

/* A trial with one class prior: its figures, and what sums over folds are made of. */
typedef struct phl_trial_result {
    phl_fold_result fold;
    phl_measure_sums sums;
    phl_measure_bin bins[PHL_MEASURE_BINS];
    phl_taken *taken; /* [n_taken] ascending */
    size_t n_taken;
} phl_trial_result;

typedef struct phl_trial {
    phl_trial_result *results; /* [priors]; NULL: not done */
    double seconds;            /* that it took, somewhere */
    bool elsewhere;            /* not a trial of this piece */
} phl_trial;

typedef struct phl_candidate {
    phl_kind kind;
    phl_head_kind head;
    uint32_t states;
    double cost;  /* expected seconds of a training on all trees (train/cost.h) */
    char *config; /* everything that shapes the result, as JSON */
} phl_candidate;

typedef struct phl_trials {
    char *version, *fingerprint, *folding, *seed; /* of the trees in order; of their folds */
    bool per_class, structure, in_pieces;
    size_t n_trees, n_folds, n_priors, n_candidates;
    uint64_t *fold_trees; /* [n_folds] */
    phl_class_prior *priors;
    phl_candidate *candidates;
    phl_alphabet classes;
    phl_trial *trials; /* [n_candidates][n_folds] */
} phl_trials;

/* Zeroed before; the arrays of these lengths, zeroed. */
phl_status phl_trials_init(phl_trials *trials, size_t n_candidates, size_t n_folds, size_t n_priors,
                           phl_error *error);
void phl_trials_clear(phl_trials *trials);
void phl_trial_clear(phl_trial *trial, size_t n_priors);

static inline size_t phl_trials_count(const phl_trials *trials)
{
    return trials->n_candidates * trials->n_folds;
}

/* What differs between two cross-validations, in words that follow "it is of"; NULL: nothing. */
const char *phl_trials_differ(const phl_trials *a, const phl_trials *b);

/* "model tf, 10 states, linear head, fold 3" */
void phl_trials_name(const phl_trials *trials, size_t trial, char *text, size_t size);

/* Mark the trials that are not of a piece, from 1; pieces cost about the same. */
phl_status phl_trials_choose_piece(phl_trials *trials, size_t piece, size_t pieces,
                                   phl_error *error);

/* Trials of this piece: how many there are, how many are done; seconds that the others will take,
 * NaN as long as none is done. */
void phl_trials_progress(const phl_trials *trials, size_t *done, size_t *all, double *left);

/* Measures of one part, as what a trial keeps of them. */
phl_status phl_trial_keep(const phl_measures *measures, phl_trial_result *result, phl_error *error);

/* The table, and what is best. */
phl_status phl_trials_summarise(const phl_trials *trials, phl_cross_validation **result,
                                phl_error *error);

#endif
