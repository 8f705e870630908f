/* head_train.c - training a linear classifier; see head_train.h.
 *
 * Contents: what is tried, one fold with one set of features, choosing, all trees.
 */
#include "head/head_train.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/logs.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/sampler.h"
#include "head/head_rows.h"

#define PURPOSE_SAMPLE 0x73616d68u /* "samh": rows that settings are chosen on */

enum {
    SAMPLE_ROWS = 20000, /* settings are chosen on so many distinct trees at most */
    CHOICE_PASSES = 40,
    LAST_PASSES = 300,
    TEMPERATURES = 13
};

static const double temperatures[TEMPERATURES] = {0.5,  0.6, 0.7, 0.8, 0.9, 1.0, 1.1,
                                                  1.25, 1.5, 2.0, 3.0, 5.0, 10.0};
static const double choice_tolerance = 2e-3;

phl_head_settings phl_head_train_defaults(void)
{
    static const unsigned groups[] = {PHL_FEATURE_S | PHL_FEATURE_B | PHL_FEATURE_BG,
                                      PHL_FEATURES_ALL};
    static const double c[] = {1.0, 3.0, 10.0, 30.0, 100.0, 300.0};
    return (phl_head_settings){.groups = groups,
                               .n_groups = sizeof groups / sizeof *groups,
                               .c = c,
                               .n_c = sizeof c / sizeof *c,
                               .least_trees = 1,
                               .tolerance = 1e-4};
}

/* ---------------------------------------------------------------------------------------------
 * What is tried
 * ------------------------------------------------------------------------------------------- */

/* How the trees of a test fold fare under one setting. */
struct tested {
    double weight, right;
    double loss[TEMPERATURES];
};

struct training {
    const phl_head_settings *options;
    size_t n_classes;
    phl_features *features;
    phl_head_rows rows;
    uint8_t *group; /* [features] */
    size_t *sample; /* rows that settings are chosen on; NULL: all */
    size_t n_sample;
    struct fold_job *jobs; /* [folds][sets] */
    size_t c;              /* number of the C at hand */
    bool *done;            /* [sets] a larger C did not help */
};

/* One fold with one set of features, for one C after the other. */
struct fold_job {
    const struct training *work;
    uint32_t fold;
    unsigned groups;
    phl_head_part part;
    phl_logistic *logistic; /* NULL: not begun */
    uint32_t *feature;      /* of one row, as far as the part has them */
    double *value;
    double *z, *scaled; /* [K] */
    struct tested tested;
};

static void clear_job(struct fold_job *job)
{
    phl_logistic_free(job->logistic);
    phl_head_rows_part_clear(&job->part);
    phl_free(job->feature);
    phl_free(job->value);
    phl_free(job->z);
}

static void clear_jobs(struct training *work)
{
    size_t n = work->options->n_folds * work->options->n_groups;
    for (size_t i = 0; work->jobs != NULL && i < n; i++) {
        clear_job(&work->jobs[i]);
    }
    phl_free(work->jobs);
    phl_free(work->done);
    work->jobs = NULL;
    work->done = NULL;
}

static void clear_training(struct training *work)
{
    clear_jobs(work);
    phl_features_free(work->features);
    phl_head_rows_clear(&work->rows);
    phl_free(work->group);
    phl_free(work->sample);
}

/* Too many rows are not needed to choose settings. */
static phl_status draw_sample(struct training *work, phl_error *error)
{
    size_t n = work->rows.n;
    if (n <= SAMPLE_ROWS) {
        return PHL_OK;
    }
    uint32_t *order = phl_alloc(n, sizeof *order, error);
    bool *drawn = phl_alloc_zero(n, sizeof *drawn, error);
    work->sample = phl_alloc(SAMPLE_ROWS, sizeof *work->sample, error);
    phl_status status =
        order == NULL || drawn == NULL || work->sample == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK) {
        phl_rng rng;
        phl_rng_init(&rng, work->options->seed, PURPOSE_SAMPLE, 0, 0, 0);
        for (size_t i = 0; i < n; i++) {
            order[i] = (uint32_t)i;
        }
        phl_shuffle(&rng, n, order);
        for (size_t i = 0; i < SAMPLE_ROWS; i++) {
            drawn[order[i]] = true;
        }
        for (size_t i = 0; i < n; i++) {
            if (drawn[i]) {
                work->sample[work->n_sample++] = i;
            }
        }
    }
    phl_free(order);
    phl_free(drawn);
    return status;
}

static uint64_t memory_limit(const phl_head_settings *options)
{
    if (options->memory_limit > 0) {
        return options->memory_limit;
    }
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : UINT64_MAX;
}

static phl_status check_memory(const struct training *work, phl_error *error)
{
    size_t features = phl_features_count(work->features);
    uint64_t needed = phl_logistic_memory(work->rows.n, features, work->n_classes);
    uint64_t limit = memory_limit(work->options);
    return needed <= limit
               ? PHL_OK
               : phl_raise(error, PHL_ERR_LIMIT,
                           "raise " PHL_OPTION_TO("train.memory_limit", "") ", or train on fewer "
                                                                            "classes",
                           "a linear head for %zu classes on %zu features of %zu distinct trees "
                           "needs %llu MB, more than the %llu MB allowed",
                           work->n_classes, features, work->rows.n,
                           (unsigned long long)(needed >> 20), (unsigned long long)(limit >> 20));
}

static phl_status prepare(struct training *work, const phl_forest *forest, phl_error *error)
{
    const phl_head_settings *options = work->options;
    phl_features_options how;
    phl_distinct_trees distinct = {0};
    phl_features_options_init(&how);
    how.groups = 0;
    for (size_t i = 0; i < options->n_groups; i++) {
        how.groups |= options->groups[i];
    }
    how.least_trees = options->least_trees;
    how.threads = options->threads;
    how.cancel = options->cancel;
    how.context = options->context;
    phl_status status = phl_features_learn(forest, &how, &distinct, &work->features, error);
    if (status == PHL_OK) {
        status = phl_head_rows_init(&work->rows, work->features, forest, &distinct,
                                    options->class_number, options->fold, options->threads,
                                    options->cancel, options->context, error);
    }
    phl_features_clear_distinct(&distinct);
    if (status == PHL_OK) {
        status = check_memory(work, error);
    }
    if (status == PHL_OK) {
        size_t n = phl_features_count(work->features);
        work->group = phl_alloc(n, sizeof *work->group, error);
        status = work->group == NULL ? PHL_ERR_MEMORY : PHL_OK;
        for (size_t f = 0; status == PHL_OK && f < n; f++) {
            work->group[f] = (uint8_t)phl_dictionary_group(&work->features->dictionary, f);
        }
    }
    return status == PHL_OK ? draw_sample(work, error) : status;
}

/* ---------------------------------------------------------------------------------------------
 * One fold with one set of features
 * ------------------------------------------------------------------------------------------- */

/* The loss of a row at every temperature. */
static void add_losses(const struct fold_job *job, uint32_t truth, double weight, double top,
                       struct tested *tested)
{
    size_t classes = job->work->n_classes;
    for (size_t t = 0; t < TEMPERATURES; t++) {
        double sum = 0.0;
        for (size_t k = 0; k < classes; k++) {
            job->scaled[k] = (job->z[k] - top) / temperatures[t];
        }
        double own = job->scaled[truth];
        phl_exps(job->scaled, classes, job->scaled);
        for (size_t k = 0; k < classes; k++) {
            sum += job->scaled[k];
        }
        tested->loss[t] += weight * (log(sum) - own);
    }
}

/* The trees of a row that are in the fold. */
static void test_row(struct fold_job *job, size_t row, struct tested *tested)
{
    const phl_head_rows *rows = &job->work->rows;
    size_t classes = job->work->n_classes, n = 0, best = 0;
    bool scored = false;
    for (uint64_t j = rows->first_target[row]; j < rows->first_target[row + 1]; j++) {
        const struct phl_head_target *target = &rows->target[j];
        if (target->fold != job->fold) {
            continue;
        }
        if (!scored) {
            double scale = phl_head_rows_scale(rows, row, job->groups);
            for (uint64_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
                uint32_t number = job->part.number[rows->feature[i]];
                if (number != PHL_NO_FEATURE) {
                    job->feature[n] = number;
                    job->value[n++] = rows->value[i] * scale;
                }
            }
            phl_logistic_scores(phl_logistic_weights(job->logistic), job->part.problem.n_features,
                                classes, n, job->feature, job->value, job->z);
            for (size_t k = 1; k < classes; k++) {
                best = job->z[k] > job->z[best] ? k : best;
            }
            scored = true;
        }
        tested->weight += target->weight;
        tested->right += best == target->class_number ? target->weight : 0.0;
        add_losses(job, target->class_number, target->weight, job->z[best], tested);
    }
}

static phl_status make_job(struct fold_job *job, phl_error *error)
{
    const struct training *work = job->work;
    size_t n_features = phl_features_count(work->features);
    job->feature = phl_alloc(n_features, sizeof *job->feature, error);
    job->value = phl_alloc(n_features, sizeof *job->value, error);
    job->z = phl_alloc(phl_times(2, work->n_classes), sizeof *job->z, error);
    if (job->feature == NULL || job->value == NULL || job->z == NULL) {
        return PHL_ERR_MEMORY;
    }
    job->scaled = job->z + work->n_classes;
    phl_status status = phl_head_rows_part_init(
        &job->part, &work->rows, work->group, n_features, work->n_classes, work->sample,
        work->n_sample, job->fold, job->groups, work->options->least_trees, error);
    return status == PHL_OK
               ? phl_logistic_create(&job->part.problem, work->options->seed, &job->logistic, error)
               : status;
}

static phl_status run_job(size_t chunk, size_t begin, size_t end, int worker, void *context,
                          phl_error *error)
{
    (void)begin;
    (void)end;
    (void)worker;
    const struct training *work = context;
    const phl_head_settings *options = work->options;
    size_t set = chunk % options->n_groups;
    struct fold_job *job = &work->jobs[chunk];
    phl_logistic_limits limits = {.tolerance = choice_tolerance, .most_passes = CHOICE_PASSES};
    phl_logistic_fit fit;
    if (work->done[set]) {
        return PHL_OK;
    }
    phl_status status = PHL_OK;
    if (job->logistic == NULL) {
        job->work = work;
        job->fold = (uint32_t)(chunk / options->n_groups);
        job->groups = options->groups[set];
        status = make_job(job, error);
    }
    if (status == PHL_OK) {
        status = phl_logistic_solve(job->logistic, options->c[work->c], &limits, &fit, error);
    }
    size_t n = work->sample != NULL ? work->n_sample : work->rows.n;
    job->tested = (struct tested){0};
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        test_row(job, work->sample != NULL ? work->sample[i] : i, &job->tested);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Choosing
 * ------------------------------------------------------------------------------------------- */

/* One set of features and the C at hand, over all folds; the temperature is 1 unless another gives
 * a lower loss. */
static void summarise(const struct training *work, size_t set, phl_head_choice *choice)
{
    const phl_head_settings *options = work->options;
    double weight = 0.0, right = 0.0, loss[TEMPERATURES] = {0}, means = 0.0, squares = 0.0;
    size_t folds = 0, one = 0;
    while (temperatures[one] != 1.0) {
        one++;
    }
    for (size_t f = 0; f < options->n_folds; f++) {
        const struct tested *tested = &work->jobs[f * options->n_groups + set].tested;
        if (tested->weight > 0.0) {
            double mean = tested->loss[one] / tested->weight;
            weight += tested->weight;
            right += tested->right;
            for (size_t t = 0; t < TEMPERATURES; t++) {
                loss[t] += tested->loss[t];
            }
            means += mean;
            squares += mean * mean;
            folds++;
        }
    }
    size_t best = one;
    for (size_t t = 0; t < TEMPERATURES; t++) {
        best = loss[t] < loss[best] ? t : best;
    }
    double variance =
        folds > 1 ? (squares - means * means / (double)folds) / (double)(folds - 1) : 0.0;
    *choice = (phl_head_choice){.groups = options->groups[set],
                                .c = options->c[work->c],
                                .log_loss = loss[one] / weight,
                                .log_loss_se = sqrt(fmax(variance, 0.0) / (double)folds),
                                .accuracy = right / weight,
                                .temperature = temperatures[best],
                                .tempered_log_loss = loss[best] / weight};
}

/* All sets with the C at hand; a set whose loss has risen is done. */
static bool take_choices(struct training *work, double *lowest, phl_head *head)
{
    bool more = false;
    for (size_t set = 0; set < work->options->n_groups; set++) {
        if (work->done[set]) {
            continue;
        }
        phl_head_choice *choice = &head->choices[head->n_choices];
        summarise(work, set, choice);
        work->done[set] = !(choice->tempered_log_loss < lowest[set]);
        lowest[set] = fmin(lowest[set], choice->tempered_log_loss);
        if (choice->tempered_log_loss < head->choices[head->chosen].tempered_log_loss) {
            head->chosen = head->n_choices;
        }
        head->n_choices++;
        more = more || !work->done[set];
    }
    return more;
}

static phl_status choose(struct training *work, phl_head *head, phl_error *error)
{
    const phl_head_settings *options = work->options;
    size_t jobs = options->n_folds * options->n_groups;
    double *lowest = phl_alloc(options->n_groups, sizeof *lowest, error);
    work->jobs = phl_alloc_zero(jobs, sizeof *work->jobs, error);
    work->done = phl_alloc_zero(options->n_groups, sizeof *work->done, error);
    head->choices = phl_alloc_zero(options->n_groups * options->n_c, sizeof *head->choices, error);
    bool more = lowest != NULL && work->jobs != NULL && work->done != NULL && head->choices != NULL;
    phl_status status = more ? PHL_OK : PHL_ERR_MEMORY;
    for (size_t i = 0; more && i < options->n_groups; i++) {
        lowest[i] = INFINITY;
    }
    for (work->c = 0; more && work->c < options->n_c; work->c++) {
        status = phl_parallel_chunks(jobs, 1, options->threads, run_job, work, options->cancel,
                                     options->context, error);
        more = status == PHL_OK && take_choices(work, lowest, head);
    }
    clear_jobs(work);
    phl_free(lowest);
    if (status == PHL_OK) {
        head->n_folds = options->n_folds;
        head->temperature = head->choices[head->chosen].temperature;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * All trees
 * ------------------------------------------------------------------------------------------- */

/* A dictionary of the features that the part uses, in the same order. */
static phl_status keep_features(const struct training *work, const phl_head_part *part,
                                unsigned groups, phl_head *head, phl_error *error)
{
    size_t n = phl_features_count(work->features);
    const phl_dictionary *all = &work->features->dictionary;
    bool *keep = phl_alloc(n, sizeof *keep, error);
    head->features = phl_alloc_zero(1, sizeof *head->features, error);
    phl_status status = keep == NULL || head->features == NULL
                            ? PHL_ERR_MEMORY
                            : phl_dictionary_init(&head->features->dictionary, &all->labels, error);
    for (size_t f = 0; status == PHL_OK && f < n; f++) {
        keep[f] = part->number[f] != PHL_NO_FEATURE;
    }
    if (status == PHL_OK) {
        head->features->groups = groups;
        status = phl_dictionary_select(all, keep, &head->features->dictionary, error);
    }
    phl_free(keep);
    return status;
}

static phl_status fit_all(struct training *work, unsigned groups, double c, phl_head *head,
                          phl_error *error)
{
    const phl_head_settings *options = work->options;
    phl_logistic_limits limits = {.tolerance = options->tolerance,
                                  .most_passes = LAST_PASSES,
                                  .cancel = options->cancel,
                                  .context = options->context};
    phl_head_part part;
    phl_logistic *logistic = NULL;
    phl_logistic_fit fit = {0};
    phl_status status =
        phl_head_rows_part_take(&part, &work->rows, work->group, phl_features_count(work->features),
                                work->n_classes, groups, options->least_trees, error);
    if (status == PHL_OK) {
        status = phl_logistic_create(&part.problem, options->seed, &logistic, error);
    }
    if (status == PHL_OK) {
        status = phl_logistic_solve(logistic, c, &limits, &fit, error);
    }
    if (status == PHL_OK) {
        status = keep_features(work, &part, groups, head, error);
    }
    if (status == PHL_OK) {
        size_t n = (part.problem.n_features + 1) * work->n_classes;
        head->weights = phl_alloc(n, sizeof *head->weights, error);
        status = head->weights == NULL ? PHL_ERR_MEMORY : PHL_OK;
        if (status == PHL_OK) {
            memcpy(head->weights, phl_logistic_weights(logistic), n * sizeof *head->weights);
        }
    }
    head->passes = fit.passes;
    head->gap = fit.gap;
    head->log_loss = fit.loss;
    phl_logistic_free(logistic);
    phl_head_rows_part_clear(&part);
    return status;
}

phl_status phl_head_train(const phl_forest *forest, const phl_head_settings *options,
                          phl_head **head, phl_error *error)
{
    struct training work = {.options = options, .n_classes = options->n_classes};
    phl_head *made = phl_alloc_zero(1, sizeof *made, error);
    phl_status status = made == NULL ? PHL_ERR_MEMORY : prepare(&work, forest, error);
    if (status == PHL_OK) {
        made->n_classes = work.n_classes;
        made->trees = forest->n_trees;
        made->rows = work.rows.n;
        made->temperature = 1.0;
        status = options->n_folds > 0 ? choose(&work, made, error) : PHL_OK;
    }
    if (status == PHL_OK) {
        const phl_head_choice *choice = made->choices != NULL ? &made->choices[made->chosen] : NULL;
        status = fit_all(&work, choice != NULL ? choice->groups : options->groups[0],
                         choice != NULL ? choice->c : options->c[0], made, error);
    }
    clear_training(&work);
    if (status != PHL_OK) {
        phl_head_free(made);
        return status;
    }
    *head = made;
    return PHL_OK;
}
