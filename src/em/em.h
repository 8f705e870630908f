/* em.h - one fit by expectation-maximisation: MAP under Dir(1 + s) priors on every table.
 *
 * The objective, log p(labels) + s * (sum of the logarithms of all parameters), never decreases.
 * The shape term depends on no hidden state and is fitted beside it: the mean of its posterior
 * under Dir(gamma), given the expected number of nodes rejected for having no child.
 */
#ifndef PHL_EM_EM_H
#define PHL_EM_EM_H

#include "model/infer.h"
#include "model/run.h"

typedef struct phl_em_options {
    uint64_t seed;
    uint64_t stream; /* class and restart: picks the random start */
    size_t iterations;
    double tolerance; /* relative gain of the objective; 0: go on to the limit */
    double smoothing; /* s */
    double gamma;     /* of the shape tables */
    int threads;
    /* Go on with a fit: params are those after `start` iterations, which were watched already, and
     * the objective was `previous` one iteration before. */
    bool resumed;
    size_t start;
    double previous;
    /* After every iteration (parameters as they entered it); false stops the fit. May be NULL. */
    bool (*watch)(const phl_trace_row *row, void *context);
    void *context;
} phl_em_options;

typedef struct phl_em_result {
    double log_likelihood, objective; /* of the parameters returned */
    size_t iterations;                /* steps taken */
    phl_stop_reason stop_reason;
} phl_em_result;

/* Random tables: every row from Dir(1, ..., 1). */
void phl_em_start(phl_params *params, uint64_t seed, uint64_t stream);

/* Fit params, starting from what they hold. */
phl_status phl_em_fit(const phl_index *index, const uint32_t *label_row, phl_params *params,
                      const phl_em_options *options, phl_em_result *result, phl_error *error);

/* s times the sum of the logarithms of all parameters but those of the shape. */
double phl_em_prior(const phl_params *params, double smoothing);

/* Parameters from counts: (n + s) / (sum n + k s) by rows, uniform where there is nothing. */
void phl_em_maximise(const phl_params *counts, double smoothing, phl_params *params);

/* The shape tables of params from the counts of a forest: (n + gamma) / (N + 3 gamma). */
phl_status phl_em_fit_shape(const phl_forest *forest, double gamma, phl_params *params,
                            phl_error *error);

#endif
