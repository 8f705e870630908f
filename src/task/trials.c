/* trials.c - a cross-validation as a list of trials; see trials.h.
 *
 * Contents: the list, pieces and time, what a trial keeps, the table, what is best.
 */
#include "task/trials.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "train/pieces.h"

/* ---------------------------------------------------------------------------------------------
 * The list
 * ------------------------------------------------------------------------------------------- */

phl_status phl_trials_init(phl_trials *trials, size_t n_candidates, size_t n_folds, size_t n_priors,
                           phl_error *error)
{
    if (n_folds > PHL_MOST_TRIALS || n_candidates > PHL_MOST_TRIALS / n_folds || n_priors > 64) {
        return phl_raise(error, PHL_ERR_LIMIT, "compare less, or in fewer folds",
                         "%zu candidates, %zu folds and %zu class priors: at most %d trainings and "
                         "64 priors are compared",
                         n_candidates, n_folds, n_priors, PHL_MOST_TRIALS);
    }
    trials->fold_trees = phl_alloc_zero(n_folds, sizeof *trials->fold_trees, error);
    trials->priors = phl_alloc_zero(n_priors, sizeof *trials->priors, error);
    trials->candidates = phl_alloc_zero(n_candidates, sizeof *trials->candidates, error);
    trials->trials = phl_alloc_zero(n_candidates * n_folds, sizeof *trials->trials, error);
    if (trials->fold_trees == NULL || trials->priors == NULL || trials->candidates == NULL ||
        trials->trials == NULL) {
        return PHL_ERR_MEMORY; /* whoever clears it finds no lengths yet */
    }
    trials->n_candidates = n_candidates;
    trials->n_folds = n_folds;
    trials->n_priors = n_priors;
    return PHL_OK;
}

void phl_trial_clear(phl_trial *trial, size_t n_priors)
{
    for (size_t p = 0; trial->results != NULL && p < n_priors; p++) {
        phl_free(trial->results[p].taken);
    }
    phl_free(trial->results);
    trial->results = NULL;
}

void phl_trials_clear(phl_trials *trials)
{
    for (size_t i = 0; i < phl_trials_count(trials); i++) {
        phl_trial_clear(&trials->trials[i], trials->n_priors);
    }
    for (size_t c = 0; c < trials->n_candidates; c++) {
        phl_free(trials->candidates[c].config);
    }
    phl_free(trials->version);
    phl_free(trials->fingerprint);
    phl_free(trials->folding);
    phl_free(trials->seed);
    phl_free(trials->fold_trees);
    phl_free(trials->priors);
    phl_free(trials->candidates);
    phl_free(trials->trials);
    phl_alphabet_clear(&trials->classes);
    memset(trials, 0, sizeof *trials);
}

static bool same_candidates(const phl_trials *a, const phl_trials *b)
{
    bool same = a->n_candidates == b->n_candidates && a->n_priors == b->n_priors &&
                memcmp(a->priors, b->priors, a->n_priors * sizeof *a->priors) == 0;
    for (size_t c = 0; same && c < a->n_candidates; c++) {
        const phl_candidate *x = &a->candidates[c], *y = &b->candidates[c];
        same = x->kind == y->kind && x->head == y->head && x->states == y->states &&
               x->cost == y->cost && strcmp(x->config, y->config) == 0;
    }
    return same;
}

const char *phl_trials_differ(const phl_trials *a, const phl_trials *b)
{
    return strcmp(a->version, b->version) != 0 ? "another version of phloem"
           : a->n_trees != b->n_trees || strcmp(a->fingerprint, b->fingerprint) != 0
               ? "other trees, or in another order"
           : strcmp(a->seed, b->seed) != 0 ? "another seed"
           : a->n_folds != b->n_folds || strcmp(a->folding, b->folding) != 0 ||
                   memcmp(a->fold_trees, b->fold_trees, a->n_folds * sizeof *a->fold_trees) != 0
               ? "other folds"
           : a->per_class != b->per_class || a->structure != b->structure || !same_candidates(a, b)
               ? "other models or options"
           : !phl_alphabet_equal(&a->classes, &b->classes) ? "other classes"
                                                           : NULL;
}

void phl_trials_name(const phl_trials *trials, size_t trial, char *text, size_t size)
{
    const phl_candidate *candidate = &trials->candidates[trial / trials->n_folds];
    size_t fold = trial % trials->n_folds + 1;
    if (candidate->kind == PHL_NO_KIND) {
        (void)phl_remedy(text, size, "linear classifier, fold %zu", fold);
    } else {
        (void)phl_remedy(text, size, "model %s, %u state%s%s, fold %zu",
                         phl_kind_name(candidate->kind), candidate->states,
                         candidate->states == 1 ? "" : "s",
                         candidate->head == PHL_HEAD_LINEAR ? ", linear head" : "", fold);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Pieces and time
 * ------------------------------------------------------------------------------------------- */

static double cost_of(const phl_trials *trials, size_t trial)
{
    uint64_t left_out = trials->fold_trees[trial % trials->n_folds];
    return trials->candidates[trial / trials->n_folds].cost * (double)(trials->n_trees - left_out) /
           (double)trials->n_trees;
}

phl_status phl_trials_choose_piece(phl_trials *trials, size_t piece, size_t pieces,
                                   phl_error *error)
{
    size_t n = phl_trials_count(trials);
    if (piece < 1 || piece > pieces) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "there is no piece %zu of %zu; pieces are counted from 1", piece, pieces);
    }
    if (pieces > n) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "ask for fewer pieces",
                         "there %s %zu training%s, which cannot be cut into %zu pieces",
                         n == 1 ? "is" : "are", n, n == 1 ? "" : "s", pieces);
    }
    double *cost = phl_alloc(n, sizeof *cost, error);
    size_t *piece_of = phl_alloc(n, sizeof *piece_of, error);
    phl_status status = cost == NULL || piece_of == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        cost[i] = cost_of(trials, i);
    }
    if (status == PHL_OK) {
        status = phl_pieces_deal(cost, n, pieces, piece_of, error);
    }
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        trials->trials[i].elsewhere = piece_of[i] != piece - 1;
    }
    trials->in_pieces = status == PHL_OK;
    phl_free(cost);
    phl_free(piece_of);
    return status;
}

/* How much slower than expected the trials of a candidate are; of any like it, or of all, as long
 * as none of its own is done. */
static double pace_of(const phl_trials *trials, size_t candidate)
{
    double spent[3] = {0.0, 0.0, 0.0}, expected[3] = {0.0, 0.0, 0.0};
    for (size_t i = 0; i < phl_trials_count(trials); i++) {
        if (trials->trials[i].results == NULL) {
            continue;
        }
        size_t other = i / trials->n_folds;
        bool like = trials->candidates[other].kind == trials->candidates[candidate].kind;
        for (int k = 0; k < 3; k++) {
            if (k == 2 || (k == 1 ? like : other == candidate)) {
                spent[k] += trials->trials[i].seconds;
                expected[k] += cost_of(trials, i);
            }
        }
    }
    for (int k = 0; k < 3; k++) {
        if (expected[k] > 0.0) {
            return spent[k] / expected[k];
        }
    }
    return (double)NAN;
}

void phl_trials_progress(const phl_trials *trials, size_t *done, size_t *all, double *left)
{
    *done = *all = 0;
    *left = 0.0;
    for (size_t c = 0; c < trials->n_candidates; c++) {
        double cost = 0.0;
        for (size_t f = 0; f < trials->n_folds; f++) {
            const phl_trial *trial = &trials->trials[c * trials->n_folds + f];
            *all += !trial->elsewhere;
            *done += !trial->elsewhere && trial->results != NULL;
            cost += trial->elsewhere || trial->results != NULL
                        ? 0.0
                        : cost_of(trials, c * trials->n_folds + f);
        }
        *left += cost > 0.0 ? cost * pace_of(trials, c) : 0.0;
    }
}

/* ---------------------------------------------------------------------------------------------
 * What a trial keeps
 * ------------------------------------------------------------------------------------------- */

phl_status phl_trial_keep(const phl_measures *measures, phl_trial_result *result, phl_error *error)
{
    size_t side = measures->n_names + 1, n = 0;
    for (size_t i = 0; i < side * side; i++) {
        n += measures->best[i] > 0;
    }
    result->taken = phl_alloc(n, sizeof *result->taken, error);
    if (result->taken == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < side * side; i++) {
        if (measures->best[i] > 0) {
            result->taken[result->n_taken++] =
                (phl_taken){(uint32_t)(i / side), (uint32_t)(i % side), measures->best[i]};
        }
    }
    result->sums = measures->parts[0];
    memcpy(result->bins, measures->bins, sizeof result->bins);
    return PHL_OK;
}

/* As if its items were added now. */
static void pool(const phl_trial_result *result, phl_measures *pooled)
{
    phl_measures one = {.n_parts = 1, .parts = (phl_measure_sums *)&result->sums};
    uint64_t none = 0;
    one.best = &none; /* of no names */
    memcpy(one.bins, result->bins, sizeof one.bins);
    phl_measures_merge(pooled, &one);
    for (size_t i = 0; i < result->n_taken; i++) {
        const phl_taken *taken = &result->taken[i];
        pooled->best[taken->truth * (pooled->n_names + 1) + taken->predicted] += taken->count;
    }
}

/* ---------------------------------------------------------------------------------------------
 * The table
 * ------------------------------------------------------------------------------------------- */

/* Mean, sd and standard error over the folds that have the figure, which begins `offset` bytes into
 * each; `values` has room for all of them. */
static void summarise(const phl_choice_result *choice, size_t n_folds, size_t offset,
                      double *values, double *mean, double *sd, double *se)
{
    size_t n = 0;
    for (size_t f = 0; f < n_folds; f++) {
        double value;
        memcpy(&value, (const char *)&choice->folds[f] + offset, sizeof value);
        if (!isnan(value)) {
            values[n++] = value;
        }
    }
    phl_mean_sd(values, n, mean, sd);
    *se = *sd / sqrt((double)n);
}

static phl_status summarise_all(phl_choice_result *choice, size_t n_folds, phl_error *error)
{
    const struct {
        size_t offset;
        double *mean, *sd, *se;
    } figures[] = {
        {offsetof(phl_fold_result, accuracy), &choice->accuracy_mean, &choice->accuracy_sd,
         &choice->accuracy_se},
        {offsetof(phl_fold_result, entropy_bits), &choice->entropy_mean, &choice->entropy_sd,
         &choice->entropy_se},
        {offsetof(phl_fold_result, log_loss), &choice->log_loss_mean, &choice->log_loss_sd,
         &choice->log_loss_se},
        {offsetof(phl_fold_result, log_likelihood_per_node), &choice->log_likelihood_mean,
         &choice->log_likelihood_sd, &choice->log_likelihood_se},
    };
    double *values = phl_alloc(n_folds, sizeof *values, error);
    if (values == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        summarise(choice, n_folds, figures[i].offset, values, figures[i].mean, figures[i].sd,
                  figures[i].se);
    }
    phl_free(values);
    return PHL_OK;
}

static phl_status fill_choice(const phl_trials *trials, size_t number, bool complete,
                              phl_choice_result *choice, phl_error *error)
{
    size_t prior = number % trials->n_priors, c = number / trials->n_priors;
    const phl_candidate *candidate = &trials->candidates[c];
    phl_measures pooled = {0};
    choice->states = candidate->states;
    choice->kind = candidate->kind;
    choice->head = candidate->head;
    choice->prior = trials->priors[prior];
    choice->cost = candidate->cost;
    choice->folds = phl_alloc_zero(trials->n_folds, sizeof *choice->folds, error);
    phl_status status = choice->folds == NULL
                            ? PHL_ERR_MEMORY
                            : phl_measures_init(&pooled, trials->classes.count, 1, false, error);
    for (size_t f = 0; status == PHL_OK && f < trials->n_folds; f++) {
        const phl_trial *trial = &trials->trials[c * trials->n_folds + f];
        phl_fold_result *fold = &choice->folds[f];
        fold->accuracy = fold->entropy_bits = fold->log_loss = (double)NAN;
        fold->log_likelihood_per_node = (double)NAN;
        if (trial->results != NULL) {
            *fold = trial->results[prior].fold;
            pool(&trial->results[prior], &pooled);
        }
    }
    if (status == PHL_OK) {
        status = summarise_all(choice, complete ? trials->n_folds : 0, error);
    }
    if (status == PHL_OK && complete && trials->per_class) {
        status = phl_measures_finish(&pooled, &trials->classes, &choice->pooled, error);
    }
    phl_measures_clear(&pooled);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * What is best
 * ------------------------------------------------------------------------------------------- */

/* -1: a is better, 1: b is, 0: neither; a figure that is not known is the worst. */
static int compare(double a, double b, bool higher)
{
    if (isnan(a) || isnan(b)) {
        return (int)isnan(a) - (int)isnan(b);
    }
    return a == b ? 0 : (a > b) == higher ? -1 : 1;
}

static bool is_better(const phl_choice_result *a, const phl_choice_result *b, bool per_class)
{
    int order = 0;
    if (per_class) {
        order = compare(a->accuracy_mean, b->accuracy_mean, true);
        order = order != 0 ? order : compare(a->log_loss_mean, b->log_loss_mean, false);
    } else {
        order = compare(a->log_likelihood_mean, b->log_likelihood_mean, true);
    }
    return order != 0 ? order < 0 : a->states < b->states;
}

static double figure_of(const phl_choice_result *choice, bool per_class)
{
    return per_class ? choice->accuracy_mean : choice->log_likelihood_mean;
}

/* The winner, those that are near it, and the cheapest of these. */
static void choose(phl_cross_validation *made)
{
    for (size_t i = 1; i < made->n_choices; i++) {
        if (is_better(&made->choices[i], &made->choices[made->winner], made->per_class)) {
            made->winner = i;
        }
    }
    const phl_choice_result *winner = &made->choices[made->winner];
    double se = made->per_class ? winner->accuracy_se : winner->log_likelihood_se;
    double least = figure_of(winner, made->per_class) - (isfinite(se) ? se : 0.0);
    made->chosen = made->winner;
    for (size_t i = 0; i < made->n_choices; i++) {
        phl_choice_result *choice = &made->choices[i];
        const phl_choice_result *before = &made->choices[made->chosen];
        choice->is_near = i == made->winner || figure_of(choice, made->per_class) >= least;
        if (choice->is_near &&
            (choice->cost < before->cost ||
             (choice->cost == before->cost && is_better(choice, before, made->per_class)))) {
            made->chosen = i;
        }
    }
}

phl_status phl_trials_summarise(const phl_trials *trials, phl_cross_validation **result,
                                phl_error *error)
{
    size_t n = trials->n_candidates * trials->n_priors;
    phl_cross_validation *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->per_class = trials->per_class;
    made->n_folds = trials->n_folds;
    made->all = phl_trials_count(trials);
    for (size_t i = 0; i < made->all; i++) {
        made->done += trials->trials[i].results != NULL;
    }
    made->choices = phl_alloc_zero(n, sizeof *made->choices, error);
    phl_status status = made->choices == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        made->n_choices = i + 1;
        status = fill_choice(trials, i, made->done == made->all, &made->choices[i], error);
    }
    if (status != PHL_OK) {
        phl_cross_validation_free(made);
        return status;
    }
    if (made->done == made->all) {
        choose(made);
    }
    *result = made;
    return PHL_OK;
}

void phl_cross_validation_free(phl_cross_validation *result)
{
    if (result == NULL) {
        return;
    }
    for (size_t i = 0; result->choices != NULL && i < result->n_choices; i++) {
        phl_free(result->choices[i].folds);
        phl_evaluation_free(result->choices[i].pooled);
    }
    phl_free(result->choices);
    phl_free(result);
}
