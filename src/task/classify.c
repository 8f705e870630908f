/* classify.c - class posteriors from one model per class.
 *
 * Contents: the class prior, posteriors, the task.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/numeric.h"
#include "base/options.h"
#include "task/classify.h"
#include "task/grammar_scores.h"
#include "task/use.h"

/* ---------------------------------------------------------------------------------------------
 * The class prior
 * ------------------------------------------------------------------------------------------- */

static const phl_classify_options defaults = {
    .size = sizeof(phl_classify_options),
    .structure = true,
    .prior = PHL_PRIOR_UNIFORM,
};

void phl_classify_options_init_sized(phl_classify_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

static phl_status check_per_class(const phl_run *run, phl_error *error)
{
    if (!run->per_class) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "train again with " PHL_OPTION("train.per_class"),
                         "the run was not trained per class: it has one model for all trees and "
                         "cannot tell classes apart");
    }
    return PHL_OK;
}

static phl_status fill_prior(const phl_run *run, phl_class_prior prior, double *log_prior,
                             phl_error *error)
{
    size_t n = run->n_models;
    if (prior != PHL_PRIOR_UNIFORM && prior != PHL_PRIOR_EMPIRICAL) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "there is no class prior number %d",
                         (int)prior);
    }
    for (size_t k = 0; k < n; k++) {
        const phl_model *model = &run->models[k];
        double weight = model->weight > 0.0 ? model->weight : (double)model->trees;
        log_prior[k] = prior == PHL_PRIOR_EMPIRICAL ? log(weight) : 0.0;
    }
    if (isinf(phl_log_normalise(log_prior, n))) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "use the uniform class prior",
                         "the run does not say how many trees each class was trained on");
    }
    return PHL_OK;
}

/* log p(class) [K], for a run trained per class; to be freed in any case. */
static phl_status make_prior(const phl_run *run, phl_class_prior prior, double **log_prior,
                             phl_error *error)
{
    phl_status status = check_per_class(run, error);
    if (status == PHL_OK) {
        *log_prior = phl_alloc(run->n_models, sizeof **log_prior, error);
        status = *log_prior == NULL ? PHL_ERR_MEMORY : fill_prior(run, prior, *log_prior, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Posteriors
 * ------------------------------------------------------------------------------------------- */

struct classifying {
    phl_use use;
    const phl_classify_options *options;
    phl_classify_fn each;           /* may be NULL */
    double *log_prior;              /* [K] */
    double *posterior, *likelihood; /* [K] of one tree */
    double temperature;             /* of the posterior */
    phl_measures *measures;         /* NULL: not wanted */
};

phl_item phl_classify_item(const phl_classified_tree *classified, size_t n, size_t truth)
{
    return (phl_item){
        .truth = truth,
        .predicted = classified->best,
        .drawn = SIZE_MAX,
        .entropy_bits = phl_measures_entropy_bits_of_logs(classified->log_posterior, n),
        .log_p = truth == SIZE_MAX ? (double)NAN : classified->log_posterior[truth],
    };
}

/* The posterior of a tree whose log-likelihoods are in work->likelihood. */
static phl_classified_tree find_posterior(const struct classifying *work)
{
    size_t n = work->use.run->n_models, best = 0;
    double *row = work->posterior;
    for (size_t k = 0; k < n; k++) {
        row[k] = work->log_prior[k] + work->likelihood[k] / work->temperature;
    }
    bool possible = !isinf(phl_log_normalise(row, n));
    if (!possible) {
        memcpy(row, work->log_prior, n * sizeof *row);
    }
    for (size_t k = 1; k < n; k++) {
        best = row[k] > row[best] ? k : best;
    }
    return (phl_classified_tree){.best = best,
                                 .log_posterior = row,
                                 .log_likelihood = work->likelihood,
                                 .possible = possible};
}

static phl_status take_tree(struct classifying *work, size_t tree, phl_error *error)
{
    phl_use *use = &work->use;
    const phl_forest *block = use->block;
    phl_classified_tree classified = find_posterior(work);
    phl_status status = PHL_OK;
    if (!classified.possible) {
        status = phl_use_count(use, &use->impossible, tree, error);
    }
    int32_t class_number = block->tree_class[tree];
    if (status == PHL_OK && work->measures != NULL && class_number >= 0) {
        size_t truth = phl_run_find_class(use->run, phl_forest_class_name(block, class_number));
        phl_item item = phl_classify_item(&classified, use->run->n_models, truth);
        phl_measures_add(work->measures, 0, &item);
    }
    if (status == PHL_OK && work->each != NULL) {
        phl_tree_at at = phl_use_at(use, tree, classified.best);
        status = work->each(&at, &classified, use->context, error);
    }
    return status;
}

static phl_status classify_block(struct classifying *work, phl_error *error)
{
    const phl_use *use = &work->use;
    phl_prepared prepared = {0};
    double *scores = NULL;
    size_t n = use->run->n_models;
    phl_status status = phl_scores_prepare(use->run, use->block, &prepared, error);
    if (status == PHL_OK) {
        scores = phl_alloc(n * prepared.roots.n, sizeof *scores, error);
        status = scores == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    bool structure = work->options->structure;
    if (status == PHL_OK && use->run->kind == PHL_GRAMMAR) {
        status = phl_grammar_scores_make(&prepared, use->run->models, n, structure, PHL_MEAN_LOG,
                                         use->threads, use->cancel, use->context, scores, error);
    } else if (status == PHL_OK) {
        status = phl_scores_average(&prepared, use->run->models, n, use->threads, use->cancel,
                                    use->context, structure ? NULL : scores,
                                    structure ? scores : NULL, error);
    }
    for (size_t t = 0; status == PHL_OK && t < use->block->n_trees; t++) {
        for (size_t k = 0; k < n; k++) {
            work->likelihood[k] = scores[k * prepared.roots.n + prepared.roots.of_tree[t]];
        }
        status = take_tree(work, t, error);
    }
    phl_free(scores);
    phl_scores_clear(&prepared);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The task
 * ------------------------------------------------------------------------------------------- */

static void tell_impossible(const phl_use *use)
{
    const phl_noted *noted = &use->impossible;
    if (noted->count == 0) {
        return;
    }
    phl_error note = {.status = PHL_OK};
    phl_position position = {noted->file, noted->line, 0};
    (void)phl_raise_at(&note, PHL_OK, position, NULL,
                       "%zu tree%s probability 0 under every class (the first is tree %zu): the "
                       "class prior stands in for the posterior",
                       noted->count, noted->count == 1 ? " has" : "s have", noted->first);
    phl_use_note(use, &note);
}

static phl_status classify(const phl_run *run, phl_source *source,
                           const phl_classify_options *options, phl_classify_fn each,
                           phl_measures *measures, bool tell_unseen, phl_error *error)
{
    struct classifying work = {.options = options,
                               .each = each,
                               .measures = measures,
                               .temperature = phl_grammar_scores_temperature(run)};
    phl_status status = phl_use_begin(&work.use, run, source, NULL, NULL, options->threads,
                                      options->report, options->cancel, options->context, error);
    work.use.count_unseen = work.use.count_unseen && tell_unseen;
    if (status == PHL_OK) {
        status = make_prior(run, options->prior, &work.log_prior, error);
    }
    if (status == PHL_OK) {
        work.posterior = phl_alloc(run->n_models, sizeof *work.posterior, error);
        work.likelihood = phl_alloc(run->n_models, sizeof *work.likelihood, error);
        status = work.posterior == NULL || work.likelihood == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    while (status == PHL_OK && (status = phl_use_next(&work.use, error)) == PHL_OK &&
           work.use.block != NULL) {
        status = classify_block(&work, error);
    }
    if (status == PHL_OK) {
        phl_use_tell(&work.use);
        tell_impossible(&work.use);
    }
    phl_free(work.log_prior);
    phl_free(work.posterior);
    phl_free(work.likelihood);
    phl_use_clear(&work.use);
    return status;
}

phl_status phl_classify_quietly(const phl_run *run, phl_source *source,
                                const phl_classify_options *options, phl_classify_fn each,
                                phl_error *error)
{
    return classify(run, source, options, each, NULL, false, error);
}

phl_status phl_classify(const phl_run *run, phl_source *source, const phl_classify_options *options,
                        phl_classify_fn each, phl_evaluation **evaluation, phl_error *error)
{
    phl_classify_options own;
    phl_measures measures = {0};
    phl_status status =
        phl_options_take(&own, &defaults, sizeof own, options, "phl_classify", error);
    if (status == PHL_OK && evaluation != NULL) {
        status = phl_measures_init(&measures, run->n_models, 1, false, error);
    }
    if (status == PHL_OK) {
        status =
            classify(run, source, &own, each, evaluation != NULL ? &measures : NULL, true, error);
    }
    if (status == PHL_OK && evaluation != NULL) {
        status = phl_measures_finish(&measures, &run->classes, evaluation, error);
    }
    phl_measures_clear(&measures);
    return status;
}
