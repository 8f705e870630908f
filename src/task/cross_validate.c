/* cross_validate.c - cross-validation over folds and numbers of states.
 *
 * Training sees an alphabet of its own: a label or class that only the test fold has is unseen, as
 * it would be in use.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "forest/copy.h"
#include "task/classify.h"
#include "train/train_options.h"

static const phl_evaluate_options defaults = {.size = sizeof(phl_evaluate_options),
                                              .n_folds = 10,
                                              .structure = true,
                                              .prior = PHL_PRIOR_CHOSEN};

void phl_evaluate_options_init_sized(phl_evaluate_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

/* A fold that is tested. */
struct testing {
    const phl_run *run;
    const phl_forest *forest;
    uint64_t *nodes, *unknown; /* of its subtrees */
    phl_measures measures;     /* over the classes of the whole forest */
    double sum, total;         /* weighted log-likelihoods, and nodes */
    phl_fold_result *result;
};

/* What callbacks need. */
struct evaluating {
    const phl_forest *forest;
    const phl_evaluate_options *options;
    phl_train_options train;
    phl_evaluate_progress progress;
    bool cancelled;
    const uint32_t *fold;
    size_t *trees; /* [T] */
    struct testing *testing;
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
                  : phl_copy_trees(work->forest, work->trees, n, PHL_COPY_USED, forest, error);
}

static phl_status train_fold(struct evaluating *work, phl_run **run, phl_error *error)
{
    phl_forest *rest = NULL;
    phl_status status = cut(work, false, &rest, error);
    if (status == PHL_OK) {
        phl_train_options options = work->train;
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

/* Count a tree, and its log-likelihood under the model of its own class, if there is one. */
static void hold_out(struct testing *testing, size_t tree, bool known, double log_likelihood)
{
    const phl_forest *test = testing->forest;
    uint64_t size = testing->nodes[test->tree_root[tree]];
    testing->result->trees++;
    testing->result->nodes += size;
    if (known) {
        double weight = phl_tree_weight(test, tree);
        testing->sum += weight * log_likelihood;
        testing->total += weight * (double)size;
    }
}

static phl_status take_classified(const phl_tree_at *at, const phl_classified_tree *classified,
                                  void *context, phl_error *error)
{
    (void)error;
    struct testing *testing = ((struct evaluating *)context)->testing;
    const phl_run *run = testing->run;
    const phl_forest *test = testing->forest;
    int32_t truth = test->tree_class[at->tree];
    size_t model = phl_run_find_class(run, phl_forest_class_name(test, truth));
    /* Names are those of the whole forest, which has all classes of the run. */
    phl_item item = phl_classify_item(classified, run->n_models, model);
    item.truth = (size_t)truth;
    item.predicted = (size_t)phl_forest_find_class(test, phl_run_class_name(run, classified->best));
    phl_measures_add(&testing->measures, 0, &item);
    bool known = model != SIZE_MAX && classified->log_likelihood != NULL;
    hold_out(testing, at->tree, known, known ? classified->log_likelihood[model] : (double)NAN);
    return PHL_OK;
}

static phl_status take_score(const phl_tree_at *at, const phl_tree_score *score, void *context,
                             phl_error *error)
{
    (void)error;
    hold_out(((struct evaluating *)context)->testing, at->tree, true, score->log_likelihood);
    return PHL_OK;
}

static phl_status classify_fold(struct evaluating *work, phl_source *source, phl_measures *pooled,
                                phl_error *error)
{
    struct testing *testing = work->testing;
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.structure = work->options->structure;
    options.prior = work->options->prior;
    options.threads = work->train.threads;
    options.report = pass_report;
    options.cancel = pass_cancel;
    options.context = work;
    phl_evaluation *evaluation = NULL;
    phl_status status =
        phl_measures_init(&testing->measures, testing->forest->classes.count, 1, false, error);
    if (status == PHL_OK) {
        status = phl_classify_quietly(testing->run, source, &options, take_classified, error);
    }
    if (status == PHL_OK) {
        phl_measures_merge(pooled, &testing->measures);
        status =
            phl_measures_finish(&testing->measures, &testing->forest->classes, &evaluation, error);
    }
    if (status == PHL_OK) {
        testing->result->accuracy = evaluation->best->accuracy;
        testing->result->entropy_bits = evaluation->best->entropy_bits;
        testing->result->log_loss = evaluation->log_loss;
    }
    phl_evaluation_free(evaluation);
    return status;
}

/* A run with one model. */
static phl_status score_fold(struct evaluating *work, phl_source *source, phl_error *error)
{
    phl_score_options options;
    phl_score_options_init(&options);
    options.structure = work->options->structure;
    options.threads = work->train.threads;
    options.cancel = pass_cancel;
    options.context = work;
    return phl_score(work->testing->run, source, &options, take_score, error);
}

static phl_status test_fold(struct evaluating *work, const phl_run *run, phl_measures *pooled,
                            phl_fold_result *result, phl_error *error)
{
    phl_forest *test = NULL;
    phl_source *source = NULL;
    struct testing testing = {.run = run, .result = result};
    work->testing = &testing;
    phl_status status = cut(work, true, &test, error);
    if (status == PHL_OK) {
        testing.forest = test;
        status = phl_forest_count_nodes(test, &testing.nodes, &testing.unknown, error);
    }
    if (status == PHL_OK) {
        status = phl_source_forest(test, &source, error);
    }
    if (status == PHL_OK) {
        status = run->per_class ? classify_fold(work, source, pooled, error)
                                : score_fold(work, source, error);
    }
    if (status == PHL_OK) {
        result->log_likelihood_per_node =
            testing.total > 0.0 ? testing.sum / testing.total : (double)NAN;
    }
    phl_measures_clear(&testing.measures);
    phl_free(testing.nodes);
    phl_free(testing.unknown);
    phl_source_free(source);
    phl_forest_free(test);
    work->testing = NULL;
    return status;
}

static phl_status run_fold(struct evaluating *work, phl_measures *pooled, phl_fold_result *result,
                           phl_error *error)
{
    phl_run *run = NULL;
    result->accuracy = result->entropy_bits = result->log_loss = (double)NAN;
    phl_status status = train_fold(work, &run, error);
    if (status == PHL_OK) {
        status = test_fold(work, run, pooled, result, error);
    }
    if (status == PHL_OK) {
        pass_progress(NULL, work);
    }
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
    phl_status status = phl_measures_init(&pooled, classes->count, 1, false, error);
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
    if (status == PHL_OK && work->train.per_class) {
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

static phl_status check(const phl_forest *forest, const struct evaluating *work, phl_error *error)
{
    const phl_evaluate_options *options = work->options;
    if (forest->n_trees == 0) {
        return phl_raise(error, PHL_ERR_EMPTY, NULL, "there are no trees to learn from");
    }
    if (options->n_folds < 2 || options->n_folds > forest->n_trees) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "%zu folds of %zu trees: expected at least 2 folds and a tree for each",
                         options->n_folds, forest->n_trees);
    }
    if (work->train.states_auto) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "give the numbers to compare: " PHL_OPTION("evaluate.states"),
                         "cross-validation compares numbers of states itself");
    }
    for (size_t i = 0; i < options->n_states; i++) {
        if (options->states[i] < 1) {
            return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "0 states, expected at least 1");
        }
    }
    phl_status status = work->train.per_class ? check_classes(forest, error) : PHL_OK;
    return status == PHL_OK && options->fold != NULL
               ? check_folds(forest, options->fold, options->n_folds, error)
               : status;
}

/* Every number of states, with the folds and everything else in place. */
static phl_status run_choices(struct evaluating *work, phl_cross_validation *made, phl_error *error)
{
    const phl_evaluate_options *options = work->options;
    size_t n_choices = options->n_states > 0 ? options->n_states : 1;
    made->choices = phl_alloc_zero(n_choices, sizeof *made->choices, error);
    phl_status status = made->choices == NULL ? PHL_ERR_MEMORY : PHL_OK;
    work->progress.choices = n_choices;
    work->progress.folds = options->n_folds;
    for (size_t i = 0; status == PHL_OK && i < n_choices; i++) {
        work->progress.choice = i;
        work->progress.states = options->n_states > 0 ? options->states[i] : work->train.states;
        made->n_choices = i + 1;
        status = run_choice(work, &made->choices[i], error);
        if (status == PHL_OK &&
            is_better(&made->choices[i], &made->choices[made->winner], made->per_class)) {
            made->winner = i;
        }
    }
    return status;
}

static phl_status cross_validate(struct evaluating *work, phl_cross_validation **result,
                                 phl_error *error)
{
    const phl_forest *forest = work->forest;
    const phl_evaluate_options *options = work->options;
    uint32_t *fold = phl_alloc(forest->n_trees, sizeof *fold, error);
    work->trees = phl_alloc(forest->n_trees, sizeof *work->trees, error);
    phl_cross_validation *made = phl_alloc_zero(1, sizeof *made, error);
    phl_status status =
        fold == NULL || work->trees == NULL || made == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK && options->fold == NULL) {
        status = phl_folds_make(forest, options->n_folds, work->train.seed, fold, error);
    }
    if (status == PHL_OK) {
        work->fold = options->fold != NULL ? options->fold : fold;
        made->per_class = work->train.per_class;
        made->n_folds = options->n_folds;
        status = run_choices(work, made, error);
    }
    phl_free(fold);
    phl_free(work->trees);
    if (status != PHL_OK) {
        phl_cross_validation_free(made);
        return status;
    }
    *result = made;
    return PHL_OK;
}

phl_status phl_cross_validate(const phl_forest *forest, const phl_evaluate_options *options,
                              phl_cross_validation **result, phl_error *error)
{
    phl_evaluate_options own;
    struct evaluating work = {.forest = forest, .options = &own};
    phl_status status =
        phl_options_take(&own, &defaults, sizeof own, options, "phl_evaluate", error);
    if (status == PHL_OK) {
        status = phl_train_options_take(own.train, &work.train, error);
        work.train.per_class = work.train.per_class || own.train == NULL;
        phl_train_options resolved = work.train;
        phl_train_options_resolve(&resolved);
        work.train.states = resolved.states;
    }
    if (status == PHL_OK) {
        status = check(forest, &work, error);
    }
    return status == PHL_OK ? cross_validate(&work, result, error) : status;
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
