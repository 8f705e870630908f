/* chain_weights.c - how much chains count; see chain_weights.h.
 *
 * Contents: draws, facts of a run, stacking.
 */
#include "model/chain_weights.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

static const char key[] = "weights";

/* ---- draws ---- */

static size_t draws_of(const phl_model *model, size_t chain)
{
    size_t n = 0;
    for (size_t d = 0; d < model->n_draws; d++) {
        n += model->draws[d].chain == chain;
    }
    return n;
}

/* Every draw counts a little: where it alone finds a tree possible, it is asked. */
static double weight_of(const double *weights, size_t n, size_t chain)
{
    static const double least = 1e-9;
    return chain < n && weights[chain] > least ? weights[chain] : least;
}

void phl_chain_weights_apply(phl_model *model, const double *weights, size_t n)
{
    double total = 0.0;
    for (size_t d = 0; d < model->n_draws; d++) {
        size_t chain = model->draws[d].chain;
        model->draws[d].weight = weight_of(weights, n, chain) / (double)draws_of(model, chain);
        total += model->draws[d].weight;
    }
    for (size_t d = 0; d < model->n_draws; d++) {
        model->draws[d].weight /= total;
    }
}

/* ---- facts of a run ---- */

/* "[0.5,0.25,0.25]", or "[]" where all draws count the same. */
static phl_status append_weights(const phl_model *model, phl_text *text, phl_error *error)
{
    size_t n = 0;
    bool differ = phl_chain_weights_differ(model);
    for (size_t d = 0; differ && d < model->n_draws; d++) {
        n = model->draws[d].chain >= n ? model->draws[d].chain + 1 : n;
    }
    phl_status status = phl_text_append_string(text, "[", error);
    for (size_t k = 0; status == PHL_OK && k < n; k++) {
        double weight = 0.0;
        char number[32];
        for (size_t d = 0; d < model->n_draws; d++) {
            weight += model->draws[d].chain == k ? model->draws[d].weight : 0.0;
        }
        phl_text_of_double(weight, number);
        status = phl_text_append_format(text, error, "%s%s", k > 0 ? "," : "", number);
    }
    return status == PHL_OK ? phl_text_append_string(text, "]", error) : status;
}

phl_status phl_chain_weights_record(phl_run *run, phl_error *error)
{
    bool any = false;
    for (size_t i = 0; i < run->n_models; i++) {
        any = any || phl_chain_weights_differ(&run->models[i]);
    }
    if (!any) {
        return PHL_OK;
    }
    phl_text text = {0};
    phl_status status = phl_text_append_string(&text, "[", error);
    for (size_t i = 0; status == PHL_OK && i < run->n_models; i++) {
        status = i > 0 ? phl_text_append_string(&text, ",", error) : PHL_OK;
        if (status == PHL_OK) {
            status = append_weights(&run->models[i], &text, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_text_append(&text, "]", 2, error); /* and its end */
    }
    if (status == PHL_OK) {
        status = phl_run_set_meta(run, key, text.bytes, error);
    }
    phl_text_clear(&text);
    /* What a file gives back: sums over draws, divided again, differ in their last bits. */
    bool good = true;
    return status == PHL_OK ? phl_chain_weights_read(run, &good, error) : status;
}

/* The weights of one model from their array. */
static phl_status read_model(const phl_json_value *array, phl_model *model, bool *good,
                             phl_error *error)
{
    *good = phl_json_is(array, PHL_JSON_ARRAY) && phl_json_size_of(array) <= PHL_CHAINS_WEIGHED;
    size_t n = *good ? phl_json_size_of(array) : 0, k = 0;
    double *weights = phl_alloc_zero(n, sizeof *weights, error);
    if (weights == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (const phl_json_value *value = NULL; *good && (value = phl_json_next(array, value)) != NULL;
         k++) {
        weights[k] = phl_json_is(value, PHL_JSON_NUMBER) ? phl_json_number_of(value) : -1.0;
        *good = weights[k] >= 0.0 && weights[k] <= 1.0;
    }
    /* Without draws yet there is nothing to weigh. */
    if (*good && n > 0 && model->n_draws > 0) {
        phl_chain_weights_apply(model, weights, n);
    }
    phl_free(weights);
    return PHL_OK;
}

phl_status phl_chain_weights_read(phl_run *run, bool *good, phl_error *error)
{
    const char *text = phl_run_meta(run, key);
    *good = true;
    if (text == NULL) {
        return PHL_OK;
    }
    phl_json json = {0};
    phl_error unread = {0};
    phl_status status = phl_json_load(text, &json, &unread);
    *good = status == PHL_OK && phl_json_is(json.values, PHL_JSON_ARRAY) &&
            phl_json_size_of(json.values) == run->n_models;
    if (status == PHL_ERR_MEMORY) {
        if (error != NULL) {
            *error = unread;
        }
        return status;
    }
    const phl_json_value *array = NULL;
    status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && *good && i < run->n_models; i++) {
        array = phl_json_next(json.values, array);
        status = read_model(array, &run->models[i], good, error);
    }
    phl_json_clear(&json);
    return status;
}

/* ---- stacking ---- */

/* Densities relative to the best chain of each tree, which change no optimum; false: no tree is
 * possible.  Trees that are not have zeros. */
static bool relate(const double *scores, size_t chains, size_t n, double *relative)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        double top = -INFINITY;
        for (size_t k = 0; k < chains; k++) {
            top = scores[k * n + i] > top ? scores[k * n + i] : top;
        }
        any = any || top > -INFINITY;
        for (size_t k = 0; k < chains; k++) {
            relative[k * n + i] = top > -INFINITY ? exp(scores[k * n + i] - top) : 0.0;
        }
    }
    return any;
}

/* A step of EM, which never lowers the objective; returns the largest change of a weight. */
static double improve(const double *relative, const double *m, size_t chains, size_t n,
                      double *next, double *weights)
{
    double total = (double)chains, most = 0.0;
    for (size_t k = 0; k < chains; k++) {
        next[k] = 1.0; /* the prior */
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < chains; k++) {
            sum += weights[k] * relative[k * n + i];
        }
        for (size_t k = 0; sum > 0.0 && k < chains; k++) {
            next[k] += m[i] * weights[k] * relative[k * n + i] / sum;
        }
        total += sum > 0.0 ? m[i] : 0.0;
    }
    for (size_t k = 0; k < chains; k++) {
        double weight = next[k] / total;
        most = fabs(weight - weights[k]) > most ? fabs(weight - weights[k]) : most;
        weights[k] = weight;
    }
    return most;
}

phl_status phl_chain_weights_stack(const double *scores, const double *m, size_t chains, size_t n,
                                   double *weights, phl_error *error)
{
    enum { MOST_STEPS = 1000 };
    double *relative = phl_alloc(phl_times(chains, n), sizeof *relative, error);
    double *next = phl_alloc(chains, sizeof *next, error);
    if (relative == NULL || next == NULL) {
        phl_free(relative);
        phl_free(next);
        return PHL_ERR_MEMORY;
    }
    for (size_t k = 0; k < chains; k++) {
        weights[k] = 1.0 / (double)chains;
    }
    if (relate(scores, chains, n, relative)) {
        for (int step = 0; step < MOST_STEPS; step++) {
            if (improve(relative, m, chains, n, next, weights) < 1e-6) {
                break;
            }
        }
    }
    phl_free(relative);
    phl_free(next);
    return PHL_OK;
}
