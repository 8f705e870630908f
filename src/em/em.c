/* em.c - one fit by expectation-maximisation; see em.h. */
#include "em/em.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "model/purposes.h"

static bool is_shape(const phl_table *table)
{
    return strcmp(table->name, "shape_prior") == 0 || strcmp(table->name, "root_kind") == 0;
}

static double *cell(const phl_table *table, size_t row, size_t column)
{
    return table->data + row * table->row_stride + column * table->column_stride;
}

void phl_em_start(phl_params *params, uint64_t seed, uint64_t stream)
{
    phl_table table;
    for (size_t t = 0; phl_params_table(params, t, &table); t++) {
        phl_rng rng;
        phl_rng_init(&rng, seed, PHL_PURPOSE_EM_START, stream, 0, t);
        for (size_t r = 0; r < table.rows; r++) {
            double sum = 0.0;
            for (size_t c = 0; c < table.columns; c++) {
                double draw = phl_rng_exponential(&rng);
                *cell(&table, r, c) = draw;
                sum += draw;
            }
            for (size_t c = 0; c < table.columns; c++) {
                *cell(&table, r, c) /= sum;
            }
        }
    }
    phl_params_complete(params);
}

double phl_em_prior(const phl_params *params, double smoothing)
{
    phl_table table;
    double sum = 0.0;
    for (size_t t = 0; smoothing > 0.0 && phl_params_table(params, t, &table); t++) {
        for (size_t r = 0; !is_shape(&table) && r < table.rows; r++) {
            for (size_t c = 0; c < table.columns; c++) {
                sum += log(*cell(&table, r, c));
            }
        }
    }
    return smoothing * sum;
}

void phl_em_maximise(const phl_params *counts, double smoothing, phl_params *params)
{
    phl_table from, to;
    for (size_t t = 0; phl_params_table(counts, t, &from); t++) {
        (void)phl_params_table(params, t, &to);
        for (size_t r = 0; !is_shape(&from) && r < from.rows; r++) {
            double sum = 0.0;
            for (size_t c = 0; c < from.columns; c++) {
                sum += *cell(&from, r, c) + smoothing;
            }
            for (size_t c = 0; c < from.columns; c++) {
                *cell(&to, r, c) =
                    sum > 0.0 ? (*cell(&from, r, c) + smoothing) / sum : 1.0 / (double)from.columns;
            }
        }
    }
    phl_params_complete(params);
}

/* Fill the slots' tables given `rejected` internal nodes that had no child; returns the probability
 * that all slots are absent. */
static double set_shape(const phl_params *counts, double internal, double rejected, double gamma,
                        phl_params *params)
{
    double all_absent = 1.0;
    double sum = internal + rejected + 3.0 * gamma;
    for (size_t l = 0; l < params->slots; l++) {
        const double *n = counts->shape + 3 * l;
        double *o = params->shape + 3 * l;
        for (int k = 0; k < 3; k++) {
            o[k] = sum > 0.0 ? (n[k] + (k == 0 ? rejected : 0.0) + gamma) / sum : 1.0 / 3.0;
        }
        all_absent *= o[0];
    }
    return all_absent;
}

/* Every internal node seen stands for p0 / (1 - p0) rejected ones, in which all slots are absent:
 * the optimum is where r = N p0(r) / (1 - p0(r)), found by bisection.  Where every node has one
 * child and gamma is 0 there is no finite optimum; the search ends at a million rejected nodes per
 * node seen. */
phl_status phl_em_fit_shape(const phl_forest *forest, double gamma, phl_params *params,
                            phl_error *error)
{
    phl_params *counts = NULL;
    phl_status status = phl_params_clone_empty(params, &counts, error);
    if (status == PHL_OK) {
        status = phl_shape_counts(forest, NULL, counts, error);
    }
    if (status != PHL_OK) {
        phl_params_free(counts);
        return status;
    }
    double roots = counts->root_kind[0] + counts->root_kind[1] + 2.0 * gamma;
    for (int kind = 0; kind < 2; kind++) {
        params->root_kind[kind] = roots > 0.0 ? (counts->root_kind[kind] + gamma) / roots : 0.5;
    }
    double internal = counts->shape[0] + counts->shape[1] + counts->shape[2];
    double low = 0.0, high = log1p(1e6 * internal); /* of log(1 + r) */
    for (int step = 0; step < 100; step++) {
        double middle = (low + high) / 2.0;
        double rejected = expm1(middle);
        double p0 = set_shape(counts, internal, rejected, gamma, params);
        /* Far out both sides agree to rounding: the smallest r that will do is taken. */
        if (rejected * (1.0 - p0) < internal * p0 * (1.0 - 1e-9)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (void)set_shape(counts, internal, expm1(low), gamma, params);
    phl_params_free(counts);
    return PHL_OK;
}

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double data_log_likelihood(const phl_upward *upward)
{
    const double *weight = upward->index->root_weight;
    double sum = 0.0;
    for (uint32_t s = 0; s < upward->index->forest->n_subtrees; s++) {
        if (weight[s] > 0.0) {
            sum += weight[s] * (upward->log_likelihood[s] + phl_upward_root(upward, s));
        }
    }
    return sum;
}

phl_status phl_em_fit(const phl_index *index, const uint32_t *label_row, phl_params *params,
                      const phl_em_options *options, phl_em_result *result, phl_error *error)
{
    phl_params *counts = NULL;
    phl_upward *upward = NULL;
    double began = seconds_now();
    double previous = options->resumed ? options->previous : -INFINITY;
    bool watched = options->resumed;
    phl_status status = phl_params_clone_empty(params, &counts, error);
    if (status == PHL_OK) {
        status = phl_upward_create(index, params, label_row, &upward, error);
    }
    if (status == PHL_OK) {
        status = phl_em_fit_shape(index->forest, options->gamma, params, error);
    }
    memset(result, 0, sizeof *result);
    result->iterations = options->resumed ? options->start : 0;
    while (status == PHL_OK) {
        status = phl_upward_run(upward, options->threads, error);
        if (status != PHL_OK) {
            break;
        }
        result->log_likelihood = data_log_likelihood(upward);
        result->objective = result->log_likelihood + phl_em_prior(params, options->smoothing);
        phl_trace_row row = {.iteration = result->iterations,
                             .temperature = 1.0,
                             .log_likelihood = result->log_likelihood,
                             .log_joint = result->objective,
                             .active = params->n_axes,
                             .seconds = seconds_now() - began};
        double gain = result->objective - previous;
        if (!watched && options->watch != NULL && !options->watch(&row, options->context)) {
            result->stop_reason = PHL_STOP_INTERRUPTED;
        } else if (result->iterations == options->iterations) {
            result->stop_reason = PHL_STOP_ITERATIONS;
        } else if (result->iterations > 0 && gain <= options->tolerance * fabs(previous) &&
                   options->tolerance > 0.0) {
            result->stop_reason = PHL_STOP_TOLERANCE;
        }
        if (result->stop_reason != 0) {
            break;
        }
        watched = false;
        previous = result->objective;
        phl_params_clear(counts);
        status = phl_expected_counts(upward, NULL, options->threads, counts, error);
        if (status == PHL_OK) {
            phl_em_maximise(counts, options->smoothing, params);
            result->iterations++;
        }
    }
    phl_upward_free(upward);
    phl_params_free(counts);
    return status;
}
