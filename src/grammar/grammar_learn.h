/* grammar_learn.h - learning a tree grammar: expectation-maximisation with splits and merges.
 *
 * Every tenth tree of each class is held out.  Annotations are split in stages; in each, EM runs on
 * the trees of all classes together, then on each class; how much is smoothed and shared is chosen,
 * and so is the stage, by the held-out trees: by the class posterior at its best temperature where
 * there are classes, by the likelihood where there is one model.  The chosen grammar then takes some
 * steps on all trees.
 */
#ifndef PHL_GRAMMAR_GRAMMAR_LEARN_H
#define PHL_GRAMMAR_GRAMMAR_LEARN_H

#include "grammar/grammar.h"

/* Where learning is. */
typedef struct phl_learn_step {
    size_t step, steps;    /* of all, at most */
    double log_likelihood; /* of the training trees that are not held out, pooled tables */
    double held_out;       /* figure of the stage, a tree (see above); NaN: not known yet */
    uint32_t stage;        /* splits so far */
    size_t states;         /* annotations of all labels together */
} phl_learn_step;

typedef struct phl_learn_options {
    bool pair; /* form */
    uint64_t seed, stream;
    uint32_t most;     /* annotations of a label */
    size_t iterations; /* of EM in a stage */
    int threads;
    /* After every step; false: stop. */
    bool (*watch)(const phl_learn_step *step, void *context);
    void *context;
} phl_learn_options;

typedef struct phl_learn_data {
    const phl_forest *forest;
    const uint32_t *symbol_of; /* [labels of the forest] */
    uint32_t labels;           /* M */
    const int32_t *class_of;   /* [trees] 0 .. n_classes - 1; NULL: one model */
    size_t n_classes;
} phl_learn_data;

typedef struct phl_learned {
    phl_grammar *grammar;
    uint32_t stage;     /* that was chosen */
    double held_out;    /* its figure, and */
    double before;      /* that of the stage before; NaN: there is none */
    size_t n_held;      /* trees held out: */
    uint32_t *held;     /* [n_held] their numbers, ascending */
    double *held_score; /* [n_held][n_classes] log p under the model of each class, before the steps
                           on all trees */
} phl_learned;

/* *learned is untouched when the watch said stop, and the status PHL_ERR_CANCELLED. */
phl_status phl_grammar_learn(const phl_learn_data *data, const phl_learn_options *options,
                             phl_learned *learned, phl_error *error);
void phl_learned_clear(phl_learned *learned);

/* Mean log posterior of the classes of trees: log prior(c) + score(t, c) / temperature, normalised.
 * score [n][n_classes], weights NULL: 1 each. */
double phl_grammar_posterior(const double *score, const int32_t *class_of, const double *weight,
                             size_t n, const double *log_prior, size_t n_classes,
                             double temperature);
/* The temperature that makes it largest; its value in *best (may be NULL). */
double phl_grammar_temperature(const double *score, const int32_t *class_of, const double *weight,
                               size_t n, const double *log_prior, size_t n_classes, double *best);

#endif
