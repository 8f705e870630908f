/* cross_validate.c - cross-validation: every candidate in every fold.
 *
 * Training sees an alphabet of its own: a label or class that only the test fold has is unseen, as
 * it would be in use.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "forest/copy.h"
#include "forest/fingerprint.h"
#include "task/candidates.h"
#include "task/classify.h"
#include "task/work_file.h"
#include "train/cost.h"

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
    phl_candidates candidates;
    const phl_evaluate_options *options; /* those of the candidates */
    phl_trials trials;
    const phl_train_options *train; /* of the candidate at hand */
    phl_evaluate_progress progress;
    double left;           /* seconds expected when the trial began, */
    struct timespec began; /* which was then */
    struct timespec kept;  /* when the file was written last, */
    double writing;        /* and how long that took */
    bool cancelled;
    const uint32_t *fold;
    size_t *trees; /* [T] */
    struct testing *testing;
};

static double seconds_since(const struct timespec *then)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

static void pass_progress(const phl_progress *training, void *context)
{
    struct evaluating *work = context;
    if (work->options->progress != NULL) {
        double left = work->left - seconds_since(&work->began);
        work->progress.training = training;
        work->progress.seconds_left = left < 0.0 ? 0.0 : left;
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
        phl_train_options options = *work->train;
        options.progress = pass_progress;
        options.report = pass_report;
        options.cancel = pass_cancel;
        options.context = work;
        status = phl_candidates_train(&options, rest, run, error);
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

static phl_status classify_fold(struct evaluating *work, phl_source *source, phl_class_prior prior,
                                phl_trial_result *result, phl_error *error)
{
    struct testing *testing = work->testing;
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.structure = work->options->structure;
    options.prior = prior;
    options.threads = work->train->threads;
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
        status = phl_trial_keep(&testing->measures, result, error);
    }
    if (status == PHL_OK) {
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
    options.threads = work->train->threads;
    options.cancel = pass_cancel;
    options.context = work;
    return phl_score(work->testing->run, source, &options, take_score, error);
}

/* With one class prior. */
static phl_status test_prior(struct evaluating *work, phl_class_prior prior,
                             phl_trial_result *result, phl_error *error)
{
    struct testing *testing = work->testing;
    phl_source *source = NULL;
    phl_fold_result *fold = &result->fold;
    fold->accuracy = fold->entropy_bits = fold->log_loss = (double)NAN;
    testing->result = fold;
    testing->sum = testing->total = 0.0;
    phl_status status = phl_source_forest(testing->forest, &source, error);
    if (status == PHL_OK) {
        status = testing->run->per_class ? classify_fold(work, source, prior, result, error)
                                         : score_fold(work, source, error);
    }
    if (status == PHL_OK) {
        fold->log_likelihood_per_node =
            testing->total > 0.0 ? testing->sum / testing->total : (double)NAN;
    }
    phl_measures_clear(&testing->measures);
    phl_source_free(source);
    return status;
}

static phl_status test_fold(struct evaluating *work, const phl_run *run, phl_trial *trial,
                            phl_error *error)
{
    const phl_trials *trials = &work->trials;
    phl_forest *test = NULL;
    struct testing testing = {.run = run};
    work->testing = &testing;
    trial->results = phl_alloc_zero(trials->n_priors, sizeof *trial->results, error);
    phl_status status = trial->results == NULL ? PHL_ERR_MEMORY : cut(work, true, &test, error);
    if (status == PHL_OK) {
        testing.forest = test;
        status = phl_forest_count_nodes(test, &testing.nodes, &testing.unknown, error);
    }
    for (size_t p = 0; status == PHL_OK && p < trials->n_priors; p++) {
        status = test_prior(work, trials->priors[p], &trial->results[p], error);
    }
    if (status != PHL_OK) {
        phl_trial_clear(trial, trials->n_priors);
    }
    phl_free(testing.nodes);
    phl_free(testing.unknown);
    phl_forest_free(test);
    work->testing = NULL;
    return status;
}

/* The candidate at hand, trained on all folds but the one at hand and tested on that. */
static phl_status run_trial(struct evaluating *work, size_t number, phl_error *error)
{
    phl_trials *trials = &work->trials;
    phl_trial *trial = &trials->trials[number];
    const phl_candidate *candidate = &trials->candidates[number / trials->n_folds];
    phl_evaluate_progress *progress = &work->progress;
    phl_run *run = NULL;
    work->train = &work->candidates.train[number / trials->n_folds];
    progress->choice = number / trials->n_folds * trials->n_priors;
    progress->fold = number % trials->n_folds;
    progress->states = candidate->states;
    progress->kind = candidate->kind;
    progress->head = candidate->head;
    phl_trials_progress(trials, &progress->done, &progress->all, &work->left);
    (void)clock_gettime(CLOCK_MONOTONIC, &work->began);
    phl_status status = train_fold(work, &run, error);
    if (status == PHL_OK) {
        status = test_fold(work, run, trial, error);
    }
    trial->seconds = seconds_since(&work->began);
    phl_run_free(run);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * What is evaluated
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
    if (options->piece != 0 && options->work == NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "name a file to keep it in: " PHL_OPTION("evaluate.work"),
                         "a piece of an evaluation is of use only in a file");
    }
    phl_status status = work->candidates.per_class ? check_classes(forest, error) : PHL_OK;
    return status == PHL_OK && options->fold != NULL
               ? check_folds(forest, options->fold, options->n_folds, error)
               : status;
}

/* Words that tell this cross-validation from others. */
static phl_status describe(struct evaluating *work, phl_error *error)
{
    phl_trials *trials = &work->trials;
    const phl_forest *forest = work->forest;
    char fingerprint[33], folding[33], seed[32];
    phl_fingerprint digest = {0, 0};
    for (size_t t = 0; t < forest->n_trees; t++) {
        digest = phl_fingerprint_step(digest, work->fold[t]);
        trials->fold_trees[work->fold[t]]++;
    }
    (void)snprintf(folding, sizeof folding, "%016llx%016llx", (unsigned long long)digest.high,
                   (unsigned long long)digest.low);
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)work->candidates.train[0].seed);
    phl_status status = phl_forest_fingerprint(forest, true, fingerprint, error);
    if (status != PHL_OK) {
        return status;
    }
    trials->version = phl_copy_text(phl_version(), strlen(phl_version()), error);
    trials->fingerprint = phl_copy_text(fingerprint, strlen(fingerprint), error);
    trials->folding = phl_copy_text(folding, strlen(folding), error);
    trials->seed = phl_copy_text(seed, strlen(seed), error);
    return trials->version == NULL || trials->fingerprint == NULL || trials->folding == NULL ||
                   trials->seed == NULL
               ? PHL_ERR_MEMORY
               : phl_alphabet_copy(&forest->classes, &trials->classes, error);
}

/* The list of trials, none of them done. */
static phl_status prepare(struct evaluating *work, phl_error *error)
{
    phl_trials *trials = &work->trials;
    const phl_candidates *candidates = &work->candidates;
    phl_status status =
        phl_trials_init(trials, candidates->n, work->options->n_folds, candidates->n_priors, error);
    for (size_t c = 0; status == PHL_OK && c < candidates->n; c++) {
        phl_train_options options = phl_candidates_resolved(candidates, c);
        trials->candidates[c] = (phl_candidate){.kind = options.kind,
                                                .head = options.head,
                                                .states = options.states,
                                                .cost = phl_cost_training(&options, work->forest)};
        status = phl_candidates_config(candidates, c, work->forest->max_slot,
                                       &trials->candidates[c].config, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    memcpy(trials->priors, candidates->priors, candidates->n_priors * sizeof *trials->priors);
    trials->per_class = candidates->per_class;
    trials->structure = work->options->structure;
    trials->n_trees = work->forest->n_trees;
    status = describe(work, error);
    return status == PHL_OK && (work->options->piece != 0 || work->options->pieces != 0)
               ? phl_trials_choose_piece(trials, work->options->piece, work->options->pieces, error)
               : status;
}

/* ---------------------------------------------------------------------------------------------
 * Cross-validation
 * ------------------------------------------------------------------------------------------- */

/* Keep what is done, unless writing took more than a twentieth of the time since: of many small
 * trials the file is large, and is written whole. */
static phl_status keep(struct evaluating *work, phl_work_file *file, bool last, phl_error *error)
{
    struct timespec begin;
    if (!last && seconds_since(&work->kept) < 20.0 * work->writing) {
        return PHL_OK;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    phl_status status = phl_work_file_write(file, &work->trials, error);
    work->writing = seconds_since(&begin);
    (void)clock_gettime(CLOCK_MONOTONIC, &work->kept);
    return status;
}

/* What is not done yet, one after the other. */
static phl_status run_trials(struct evaluating *work, phl_work_file *file, phl_error *error)
{
    phl_trials *trials = &work->trials;
    phl_status status = PHL_OK;
    bool any = false;
    work->progress.choices = trials->n_candidates * trials->n_priors;
    work->progress.folds = trials->n_folds;
    for (size_t i = 0; status == PHL_OK && i < phl_trials_count(trials); i++) {
        if (trials->trials[i].elsewhere || trials->trials[i].results != NULL) {
            continue;
        }
        status = run_trial(work, i, error);
        if (status == PHL_OK) {
            any = true;
            status = keep(work, file, false, error);
        }
        if (status == PHL_OK) {
            phl_trials_progress(trials, &work->progress.done, &work->progress.all, &work->left);
            (void)clock_gettime(CLOCK_MONOTONIC, &work->began);
            pass_progress(NULL, work);
        }
    }
    phl_status kept = any ? keep(work, file, true, status == PHL_OK ? error : NULL) : PHL_OK;
    return status == PHL_OK ? kept : status;
}

static phl_status cross_validate(struct evaluating *work, phl_cross_validation **result,
                                 phl_error *error)
{
    const phl_forest *forest = work->forest;
    const phl_evaluate_options *options = work->options;
    phl_work_file file = {0};
    uint32_t *fold = phl_alloc(forest->n_trees, sizeof *fold, error);
    work->trees = phl_alloc(forest->n_trees, sizeof *work->trees, error);
    phl_status status = fold == NULL || work->trees == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK && options->fold == NULL) {
        status =
            phl_folds_make(forest, options->n_folds, work->candidates.train[0].seed, fold, error);
    }
    if (status == PHL_OK) {
        work->fold = options->fold != NULL ? options->fold : fold;
        status = prepare(work, error);
    }
    if (status == PHL_OK) {
        status = phl_work_file_open(&file, options->work, &work->trials, error);
    }
    if (status == PHL_OK) {
        status = run_trials(work, &file, error);
    }
    if (status == PHL_OK) {
        status = phl_trials_summarise(&work->trials, result, error);
    }
    phl_work_file_close(&file);
    phl_trials_clear(&work->trials);
    phl_free(fold);
    phl_free(work->trees);
    return status;
}

phl_status phl_cross_validate(const phl_forest *forest, const phl_evaluate_options *options,
                              phl_cross_validation **result, phl_error *error)
{
    struct evaluating work = {.forest = forest};
    phl_status status = phl_candidates_take(options, &work.candidates, error);
    work.options = &work.candidates.options;
    if (status == PHL_OK) {
        status = check(forest, &work, error);
    }
    if (status == PHL_OK) {
        status = cross_validate(&work, result, error);
    }
    phl_candidates_clear(&work.candidates);
    return status;
}
