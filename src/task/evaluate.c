/* evaluate.c - cross-validation over folds and numbers of states.
 *
 * Training sees an alphabet of its own: a label or class that only the test fold has is unseen, as
 * it would be in use.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "task/classify.h"
#include "task/copies.h"

static phl_evaluate_options make_defaults(void)
{
    phl_evaluate_options defaults = {.size = sizeof defaults, .n_folds = 10, .structure = true};
    phl_train_options_init(&defaults.train);
    defaults.train.per_class = true;
    return defaults;
}

void phl_evaluate_options_init_sized(phl_evaluate_options *options, size_t size)
{
    phl_evaluate_options defaults = make_defaults();
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

/* What the callbacks of a training need. */
struct evaluating {
    const phl_forest *forest;
    const phl_evaluate_options *options;
    phl_evaluate_progress progress;
    bool cancelled;
    const uint32_t *fold;
    size_t *trees; /* [T] */
};

static void pass_progress(const phl_progress *training, void *context)
{
    struct evaluating *work = context;
    if (work->options->progress != NULL) {
        work->progress.training = training;
        work->options->progress(&work->progress, work->options->context);
    }
}

static void pass_report(const phl_error *note, void *context)
{
    struct evaluating *work = context;
    if (work->options->report != NULL) {
        work->options->report(note, work->options->context);
    }
}

static bool pass_cancel(void *context)
{
    struct evaluating *work = context;
    work->cancelled = work->cancelled || (work->options->cancel != NULL &&
                                          work->options->cancel(work->options->context));
    return work->cancelled;
}

/* ---------------------------------------------------------------------------------------------
 * One fold
 * ------------------------------------------------------------------------------------------- */

/* The trees inside the fold, over the names of the whole forest, or those outside, over their own.
 */
static phl_status cut(struct evaluating *work, bool inside, phl_forest **forest, phl_error *error)
{
    size_t n = 0;
    for (size_t t = 0; t < work->forest->n_trees; t++) {
        if ((work->fold[t] == work->progress.fold) == inside) {
            work->trees[n++] = t;
        }
    }
    return inside ? phl_forest_select(work->forest, work->trees, n, forest, error)
                  : phl_copy_trees(work->forest, work->trees, n, forest, error);
}

static phl_status train_fold(struct evaluating *work, phl_run **run, phl_error *error)
{
    phl_forest *rest = NULL;
    phl_status status = cut(work, false, &rest, error);
    if (status == PHL_OK) {
        phl_train_options options = work->options->train;
        options.states = work->progress.states;
        options.progress = pass_progress;
        options.report = pass_report;
        options.cancel = pass_cancel;
        options.context = work;
        status = phl_train(rest, &options, run, error);
    }
    phl_forest_free(rest);
    if (status == PHL_OK && pass_cancel(work)) {
        phl_run_free(*run);
        *run = NULL;
        status = phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
    }
    return status;
}

/* Held-out log-likelihood a node; scores [T][n_models], of which each tree has one that counts. */
static phl_status held_out(const phl_run *run, const phl_forest *test, const double *scores,
                           phl_fold_result *result, phl_error *error)
{
    uint64_t *nodes = NULL, *unknown = NULL;
    phl_status status = phl_count_nodes(test, &nodes, &unknown, error);
    if (status != PHL_OK) {
        return status;
    }
    double sum = 0.0, total = 0.0;
    for (size_t t = 0; t < test->n_trees; t++) {
        uint64_t size = nodes[test->tree_root[t]];
        int model = 0;
        if (run->per_class) {
            model = phl_run_find_class(run, phl_forest_class_name(test, test->tree_class[t]));
        }
        result->trees++;
        result->nodes += size;
        if (model >= 0) {
            double weight = phl_tree_weight(test, t);
            sum += weight * scores[t * run->n_models + (size_t)model];
            total += weight * (double)size;
        }
    }
    result->log_likelihood_per_node = total > 0.0 ? sum / total : (double)NAN;
    phl_free(nodes);
    phl_free(unknown);
    return PHL_OK;
}

static phl_status classify_fold(struct evaluating *work, const phl_run *run, const phl_forest *test,
                                double *scores, phl_measures *pooled, phl_fold_result *result,
                                phl_error *error)
{
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.structure = work->options->structure;
    options.prior = work->options->prior;
    options.threads = work->options->train.threads;
    options.report = pass_report;
    options.cancel = pass_cancel;
    options.context = work;
    phl_measures measures = {0};
    phl_evaluation evaluation = {0};
    double *posterior = phl_alloc(test->n_trees * run->n_models, sizeof *posterior, error);
    phl_status status = posterior == NULL
                            ? PHL_ERR_MEMORY
                            : phl_classify_scored(run, test, &options, posterior, scores, error);
    if (status == PHL_OK) {
        status = phl_measures_init(&measures, test->classes.count, error);
    }
    if (status == PHL_OK) {
        status = phl_measure_posteriors(run, test, posterior, true, &measures, error);
    }
    if (status == PHL_OK) {
        phl_measures_merge(pooled, &measures);
        status = phl_measures_finish(&measures, &test->classes, &evaluation, error);
    }
    if (status == PHL_OK) {
        result->accuracy = evaluation.accuracy;
        result->entropy_bits = evaluation.entropy_bits;
        result->log_loss = evaluation.log_loss;
    }
    phl_evaluation_clear(&evaluation);
    phl_measures_clear(&measures);
    phl_free(posterior);
    return status;
}

/* The scores of a run with one model. */
static phl_status score_fold(struct evaluating *work, const phl_run *run, const phl_forest *test,
                             double *scores, phl_error *error)
{
    phl_score_options options;
    phl_score_options_init(&options);
    options.structure = work->options->structure;
    options.threads = work->options->train.threads;
    options.cancel = pass_cancel;
    options.context = work;
    phl_tree_score *of_trees = phl_alloc(test->n_trees, sizeof *of_trees, error);
    phl_status status = of_trees == NULL
                            ? PHL_ERR_MEMORY
                            : phl_score(&run->models[0], test, &options, of_trees, error);
    for (size_t t = 0; status == PHL_OK && t < test->n_trees; t++) {
        scores[t] = of_trees[t].log_likelihood;
    }
    phl_free(of_trees);
    return status;
}

static phl_status run_fold(struct evaluating *work, phl_measures *pooled, phl_fold_result *result,
                           phl_error *error)
{
    phl_run *run = NULL;
    phl_forest *test = NULL;
    double *scores = NULL;
    result->accuracy = result->entropy_bits = result->log_loss = (double)NAN;
    phl_status status = train_fold(work, &run, error);
    if (status == PHL_OK) {
        status = cut(work, true, &test, error);
    }
    if (status == PHL_OK) {
        scores = phl_alloc(test->n_trees * run->n_models, sizeof *scores, error);
        status = scores == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status == PHL_OK) {
        status = run->per_class ? classify_fold(work, run, test, scores, pooled, result, error)
                                : score_fold(work, run, test, scores, error);
    }
    if (status == PHL_OK) {
        status = held_out(run, test, scores, result, error);
    }
    if (status == PHL_OK) {
        pass_progress(NULL, work);
    }
    phl_free(scores);
    phl_forest_free(test);
    phl_run_free(run);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * All folds of one number of states
 * ------------------------------------------------------------------------------------------- */

/* Mean and sd over the folds that have the figure, which begins `offset` bytes into each. */
static phl_status summarise(const phl_choice_result *choice, size_t n_folds, size_t offset,
                            double *mean, double *sd, phl_error *error)
{
    double *values = phl_alloc(n_folds, sizeof *values, error);
    if (values == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t n = 0;
    for (size_t f = 0; f < n_folds; f++) {
        double value;
        memcpy(&value, (const char *)&choice->folds[f] + offset, sizeof value);
        if (!isnan(value)) {
            values[n++] = value;
        }
    }
    phl_mean_sd(values, n, mean, sd);
    phl_free(values);
    return PHL_OK;
}

static phl_status summarise_all(phl_choice_result *choice, size_t n_folds, phl_error *error)
{
    const struct {
        size_t offset;
        double *mean, *sd;
    } figures[] = {
        {offsetof(phl_fold_result, accuracy), &choice->accuracy_mean, &choice->accuracy_sd},
        {offsetof(phl_fold_result, entropy_bits), &choice->entropy_mean, &choice->entropy_sd},
        {offsetof(phl_fold_result, log_loss), &choice->log_loss_mean, &choice->log_loss_sd},
        {offsetof(phl_fold_result, log_likelihood_per_node), &choice->log_likelihood_mean,
         &choice->log_likelihood_sd},
    };
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof figures / sizeof *figures; i++) {
        status =
            summarise(choice, n_folds, figures[i].offset, figures[i].mean, figures[i].sd, error);
    }
    return status;
}

static phl_status run_choice(struct evaluating *work, phl_choice_result *choice, phl_error *error)
{
    const phl_alphabet *classes = &work->forest->classes;
    phl_measures pooled = {0};
    phl_status status = phl_measures_init(&pooled, classes->count, error);
    choice->states = work->progress.states;
    choice->folds = phl_alloc_zero(work->progress.folds, sizeof *choice->folds, error);
    if (choice->folds == NULL) {
        status = PHL_ERR_MEMORY;
    }
    for (size_t f = 0; status == PHL_OK && f < work->progress.folds; f++) {
        work->progress.fold = f;
        status = run_fold(work, &pooled, &choice->folds[f], error);
    }
    if (status == PHL_OK) {
        status = summarise_all(choice, work->progress.folds, error);
    }
    if (status == PHL_OK && work->options->train.per_class) {
        status = phl_measures_finish(&pooled, classes, &choice->pooled, error);
    }
    phl_measures_clear(&pooled);
    return status;
}

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

/* ---------------------------------------------------------------------------------------------
 * Cross-validation
 * ------------------------------------------------------------------------------------------- */

/* Folds as given must be in range and none of them empty. */
static phl_status check_folds(const phl_forest *forest, const uint32_t *fold, size_t n_folds,
                              phl_error *error)
{
    uint64_t *count = phl_alloc_zero(n_folds, sizeof *count, error);
    if (count == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status = PHL_OK;
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        if (fold[t] >= n_folds) {
            status =
                phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                          "tree %zu is in fold %u of %zu (numbered from 0)", t, fold[t], n_folds);
        } else {
            count[fold[t]]++;
        }
    }
    for (size_t f = 0; status == PHL_OK && f < n_folds; f++) {
        if (count[f] == 0) {
            status = phl_raise(error, PHL_ERR_ARGUMENT, NULL, "fold %zu of %zu holds no tree", f,
                               n_folds);
        }
    }
    phl_free(count);
    return status;
}

static phl_status check_classes(const phl_forest *forest, phl_error *error)
{
    for (size_t t = 0; t < forest->n_trees; t++) {
        if (forest->tree_class[t] < 0) {
            phl_position position = {phl_tree_file(forest, t), phl_tree_line(forest, t), 0};
            return phl_raise_at(error, PHL_ERR_EMPTY, position,
                                "give every tree a class, or evaluate without classes",
                                "tree %zu has no class", t);
        }
    }
    return PHL_OK;
}

static phl_status check(const phl_forest *forest, const phl_evaluate_options *options,
                        phl_error *error)
{
    if (forest->n_trees == 0) {
        return phl_raise(error, PHL_ERR_EMPTY, NULL, "there are no trees to learn from");
    }
    if (options->n_folds < 2 || options->n_folds > forest->n_trees) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "%zu folds of %zu trees: expected at least 2 folds and a tree for each",
                         options->n_folds, forest->n_trees);
    }
    for (size_t i = 0; i < options->n_states; i++) {
        if (options->states[i] < 1) {
            return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "0 states, expected at least 1");
        }
    }
    phl_status status = options->train.per_class ? check_classes(forest, error) : PHL_OK;
    return status == PHL_OK && options->fold != NULL
               ? check_folds(forest, options->fold, options->n_folds, error)
               : status;
}

phl_status phl_cross_validate(const phl_forest *forest, const phl_evaluate_options *options,
                              phl_cross_validation *result, phl_error *error)
{
    phl_evaluate_options own, defaults = make_defaults();
    phl_status status =
        phl_options_take(&own, &defaults, sizeof own, options, "phl_evaluate", error);
    options = &own;
    if (status == PHL_OK) {
        status = check(forest, options, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    size_t n_choices = options->n_states > 0 ? options->n_states : 1;
    phl_cross_validation made = {.per_class = options->train.per_class,
                                 .n_folds = options->n_folds};
    struct evaluating work = {.forest = forest, .options = options};
    uint32_t *fold = phl_alloc(forest->n_trees, sizeof *fold, error);
    work.trees = phl_alloc(forest->n_trees, sizeof *work.trees, error);
    made.choices = phl_alloc_zero(n_choices, sizeof *made.choices, error);
    status = fold == NULL || work.trees == NULL || made.choices == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK && options->fold == NULL) {
        status = phl_folds_make(forest, options->n_folds, options->train.seed, fold, error);
    }
    work.fold = options->fold != NULL ? options->fold : fold;
    work.progress.choices = n_choices;
    work.progress.folds = options->n_folds;
    for (size_t i = 0; status == PHL_OK && i < n_choices; i++) {
        work.progress.choice = i;
        work.progress.states = options->n_states > 0 ? options->states[i] : options->train.states;
        made.n_choices = i + 1;
        status = run_choice(&work, &made.choices[i], error);
        if (status == PHL_OK &&
            is_better(&made.choices[i], &made.choices[made.winner], made.per_class)) {
            made.winner = i;
        }
    }
    phl_free(fold);
    phl_free(work.trees);
    if (status != PHL_OK) {
        phl_cross_validation_clear(&made);
        return status;
    }
    *result = made;
    return PHL_OK;
}

void phl_cross_validation_clear(phl_cross_validation *result)
{
    for (size_t i = 0; result->choices != NULL && i < result->n_choices; i++) {
        phl_free(result->choices[i].folds);
        phl_evaluation_clear(&result->choices[i].pooled);
    }
    phl_free(result->choices);
    memset(result, 0, sizeof *result);
}
