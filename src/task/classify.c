/* classify.c - class posteriors from one model a class.
 *
 * Contents: the class prior, posteriors, evaluation, forests in blocks.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/numeric.h"
#include "base/options.h"
#include "task/classify.h"
#include "task/scores.h"

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

/* Trees that no class can have made. */
struct impossible {
    size_t count;
    size_t first; /* the first of them */
};

static void report_impossible(const phl_classify_options *options, struct impossible impossible,
                              const char *file, uint64_t line)
{
    if (impossible.count == 0 || options->report == NULL) {
        return;
    }
    phl_error note = {.status = PHL_OK};
    phl_position position = {file, line, 0};
    phl_raise_at(&note, PHL_OK, position, NULL,
                 "%zu tree%s probability 0 under every class (the first is tree %zu): the class "
                 "prior stands in for the posterior",
                 impossible.count, impossible.count == 1 ? " has" : "s have", impossible.first);
    options->report(&note, options->context);
}

/* Posteriors, and likelihoods unless NULL, of all trees of a forest. */
static phl_status classify_trees(const phl_run *run, const phl_forest *forest,
                                 const phl_classify_options *options, const double *log_prior,
                                 double *log_posterior, double *log_likelihood,
                                 struct impossible *impossible, phl_error *error)
{
    phl_prepared prepared = {0};
    double *scores = NULL;
    size_t n = run->n_models;
    phl_status status = phl_prepare(run, forest, &prepared, error);
    if (status == PHL_OK) {
        scores = phl_alloc(n * prepared.roots.n, sizeof *scores, error);
        status = scores == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status == PHL_OK) {
        status = phl_average_scores(&prepared, run->models, n, options->threads, options->cancel,
                                    options->context, options->structure ? NULL : scores,
                                    options->structure ? scores : NULL, error);
    }
    *impossible = (struct impossible){0, 0};
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        double *row = log_posterior + t * n;
        for (size_t k = 0; k < n; k++) {
            double score = scores[k * prepared.roots.n + prepared.roots.of_tree[t]];
            row[k] = log_prior[k] + score;
            if (log_likelihood != NULL) {
                log_likelihood[t * n + k] = score;
            }
        }
        if (isinf(phl_log_normalise(row, n))) {
            memcpy(row, log_prior, n * sizeof *row);
            impossible->first = impossible->count == 0 ? t : impossible->first;
            impossible->count++;
        }
    }
    phl_free(scores);
    phl_prepared_clear(&prepared);
    return status;
}

phl_status phl_classify_scored(const phl_run *run, const phl_forest *forest,
                               const phl_classify_options *options, double *log_posterior,
                               double *log_likelihood, phl_error *error)
{
    struct impossible impossible = {0, 0};
    double *log_prior = NULL;
    phl_status status = make_prior(run, options->prior, &log_prior, error);
    if (status == PHL_OK) {
        status = classify_trees(run, forest, options, log_prior, log_posterior, log_likelihood,
                                &impossible, error);
    }
    if (status == PHL_OK && impossible.count > 0) {
        report_impossible(options, impossible, phl_tree_file(forest, impossible.first),
                          phl_tree_line(forest, impossible.first));
    }
    phl_free(log_prior);
    return status;
}

phl_status phl_classify(const phl_run *run, const phl_forest *forest,
                        const phl_classify_options *options, double *log_posterior,
                        phl_error *error)
{
    phl_classify_options own;
    phl_status status =
        phl_options_take(&own, &defaults, sizeof own, options, "phl_classify", error);
    if (status != PHL_OK) {
        return status;
    }
    return phl_classify_scored(run, forest, &own, log_posterior, NULL, error);
}

size_t phl_classify_best(const double *log_posterior, size_t n_classes)
{
    size_t best = 0;
    for (size_t k = 1; k < n_classes; k++) {
        best = log_posterior[k] > log_posterior[best] ? k : best;
    }
    return best;
}

/* ---------------------------------------------------------------------------------------------
 * Evaluation
 * ------------------------------------------------------------------------------------------- */

/* Entropy in bits of a distribution given by logarithms. */
static double entropy_of_logs(const double *log_p, size_t n)
{
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        sum -= isinf(log_p[k]) ? 0.0 : exp(log_p[k]) * log_p[k];
    }
    return sum > 0.0 ? sum / log(2.0) : 0.0;
}

phl_status phl_measure_posteriors(const phl_run *run, const phl_forest *forest,
                                  const double *log_posterior, bool forest_names,
                                  phl_measures *measures, phl_error *error)
{
    size_t n = run->n_models;
    int32_t *model_of = phl_alloc(forest->classes.count, sizeof *model_of, error);
    if (model_of == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < forest->classes.count; i++) {
        model_of[i] = phl_alphabet_find(&run->classes, phl_alphabet_name(&forest->classes, i),
                                        phl_alphabet_length(&forest->classes, i));
    }
    for (size_t t = 0; t < forest->n_trees; t++) {
        int32_t class_number = forest->tree_class[t];
        if (class_number < 0) {
            continue;
        }
        const double *row = log_posterior + t * n;
        int32_t model = model_of[class_number];
        phl_item item = {
            .truth = model < 0 ? SIZE_MAX : (size_t)model,
            .predicted = phl_classify_best(row, n),
            .drawn = SIZE_MAX,
            .entropy_bits = entropy_of_logs(row, n),
            .log_p = model < 0 ? (double)NAN : row[model],
        };
        if (forest_names) {
            item.truth = (size_t)class_number;
            item.predicted = (size_t)phl_alphabet_find(
                &forest->classes, phl_alphabet_name(&run->classes, item.predicted),
                phl_alphabet_length(&run->classes, item.predicted));
        }
        phl_measures_add(measures, &item);
    }
    phl_free(model_of);
    return PHL_OK;
}

phl_status phl_classify_evaluate(const phl_run *run, const phl_forest *forest,
                                 const double *log_posterior, phl_evaluation *evaluation,
                                 phl_error *error)
{
    phl_measures measures = {0};
    phl_status status = check_per_class(run, error);
    if (status == PHL_OK) {
        status = phl_measures_init(&measures, run->n_models, error);
    }
    if (status == PHL_OK) {
        status = phl_measure_posteriors(run, forest, log_posterior, false, &measures, error);
    }
    if (status == PHL_OK) {
        status = phl_measures_finish(&measures, &run->classes, evaluation, error);
    }
    phl_measures_clear(&measures);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Forests in blocks
 * ------------------------------------------------------------------------------------------- */

struct phl_classifier {
    const phl_run *run;
    phl_classify_options options;
    double *log_prior; /* [K] */
    phl_measures measures;
    size_t n_trees; /* of the blocks so far */
    struct impossible impossible;
    char *file; /* of the first impossible tree, */
    uint64_t line;
};

phl_status phl_classifier_create(const phl_run *run, const phl_classify_options *options,
                                 phl_classifier **classifier, phl_error *error)
{
    phl_classifier *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->run = run;
    phl_status status = phl_options_take(&made->options, &defaults, sizeof defaults, options,
                                         "phl_classify", error);
    if (status == PHL_OK) {
        status = make_prior(run, made->options.prior, &made->log_prior, error);
    }
    if (status == PHL_OK) {
        status = phl_measures_init(&made->measures, run->n_models, error);
    }
    if (status != PHL_OK) {
        phl_classifier_free(made);
        return status;
    }
    *classifier = made;
    return PHL_OK;
}

void phl_classifier_free(phl_classifier *classifier)
{
    if (classifier == NULL) {
        return;
    }
    phl_measures_clear(&classifier->measures);
    phl_free(classifier->log_prior);
    phl_free(classifier->file);
    phl_free(classifier);
}

static phl_status count_impossible(phl_classifier *classifier, const phl_forest *block,
                                   struct impossible found, phl_error *error)
{
    const char *file = found.count == 0 ? NULL : phl_tree_file(block, found.first);
    if (classifier->impossible.count == 0 && found.count > 0) {
        if (file != NULL) {
            classifier->file = phl_copy_text(file, strlen(file), error);
            if (classifier->file == NULL) {
                return PHL_ERR_MEMORY;
            }
        }
        classifier->line = phl_tree_line(block, found.first);
        classifier->impossible.first = classifier->n_trees + found.first;
    }
    classifier->impossible.count += found.count;
    return PHL_OK;
}

phl_status phl_classifier_add(phl_classifier *classifier, const phl_forest *block,
                              double *log_posterior, phl_error *error)
{
    const phl_run *run = classifier->run;
    struct impossible found;
    phl_status status = classify_trees(run, block, &classifier->options, classifier->log_prior,
                                       log_posterior, NULL, &found, error);
    if (status == PHL_OK) {
        status = count_impossible(classifier, block, found, error);
    }
    if (status == PHL_OK) {
        status =
            phl_measure_posteriors(run, block, log_posterior, false, &classifier->measures, error);
    }
    if (status == PHL_OK) {
        classifier->n_trees += block->n_trees;
    }
    return status;
}

phl_status phl_classifier_finish(phl_classifier *classifier, phl_evaluation *evaluation,
                                 phl_error *error)
{
    report_impossible(&classifier->options, classifier->impossible, classifier->file,
                      classifier->line);
    return evaluation == NULL ? PHL_OK
                              : phl_measures_finish(&classifier->measures,
                                                    &classifier->run->classes, evaluation, error);
}
