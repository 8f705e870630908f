/* head_train.c - training a linear classifier; see head_train.h.
 *
 * Contents: what is tried, one fold with one set of features, choosing, all trees, many trees.
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

/* Trees by the probability of the answer, in bins of equal width. */
enum { BINS = 15 };
struct bin {
    double p, right; /* sums by weight */
};

/* How the trees of a test fold fare under one setting. */
struct tested {
    double weight, right;
    double loss[TEMPERATURES];
    struct bin bins[TEMPERATURES][BINS];
};

struct training {
    const phl_head_settings *options;
    size_t n_classes;
    phl_features *features;
    phl_head_rows rows;
    uint8_t *group;        /* [features] */
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
    work->features = NULL;
    work->group = NULL;
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

/* Features and rows of a forest, for some groups. */
static phl_status prepare(struct training *work, const phl_forest *forest, const uint32_t *fold,
                          unsigned groups, phl_error *error)
{
    const phl_head_settings *options = work->options;
    phl_features_options how;
    phl_distinct_trees distinct = {0};
    phl_features_options_init(&how);
    how.groups = groups;
    how.least_trees = options->least_trees;
    how.threads = options->threads;
    how.cancel = options->cancel;
    how.context = options->context;
    phl_status status = phl_features_learn(forest, &how, &distinct, &work->features, error);
    if (status == PHL_OK) {
        status = phl_head_rows_init(&work->rows, work->features, forest, &distinct,
                                    options->class_number, fold, options->threads, options->cancel,
                                    options->context, error);
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
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * One fold with one set of features
 * ------------------------------------------------------------------------------------------- */

/* The loss of a row, and how sure its answer is, at every temperature. */
static void add_losses(const struct fold_job *job, uint32_t truth, double weight, size_t best,
                       struct tested *tested)
{
    double top = job->z[best];
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
        size_t number = (size_t)(BINS / sum); /* the answer has 1/sum */
        struct bin *bin = &tested->bins[t][number < BINS ? number : BINS - 1];
        bin->p += weight / sum;
        bin->right += best == truth ? weight : 0.0;
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
            size_t length =
                phl_packed_rows_get(&rows->packed, row, scale, job->feature, job->value);
            for (size_t i = 0; i < length; i++) {
                uint32_t number = job->part.number[job->feature[i]];
                if (number != PHL_NO_FEATURE) {
                    job->feature[n] = number;
                    job->value[n++] = job->value[i];
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
        add_losses(job, target->class_number, target->weight, best, tested);
    }
}

static phl_status make_job(struct fold_job *job, phl_error *error)
{
    const struct training *work = job->work;
    size_t n_features = phl_features_count(work->features);
    job->feature = phl_alloc(work->rows.packed.widest, sizeof *job->feature, error);
    job->value = phl_alloc(work->rows.packed.widest, sizeof *job->value, error);
    job->z = phl_alloc(phl_times(2, work->n_classes), sizeof *job->z, error);
    if (job->feature == NULL || job->value == NULL || job->z == NULL) {
        return PHL_ERR_MEMORY;
    }
    job->scaled = job->z + work->n_classes;
    phl_status status =
        phl_head_rows_part_init(&job->part, &work->rows, work->group, n_features, work->n_classes,
                                job->fold, job->groups, work->options->least_trees, error);
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
    job->tested = (struct tested){0};
    for (size_t i = 0; status == PHL_OK && i < work->rows.n; i++) {
        test_row(job, i, &job->tested);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Choosing
 * ------------------------------------------------------------------------------------------- */

/* How far probabilities are from shares of right answers, over all folds. */
static double find_calibration_error(const struct training *work, size_t set, size_t temperature,
                                     double weight)
{
    const phl_head_settings *options = work->options;
    double gaps = 0.0;
    for (size_t b = 0; b < BINS; b++) {
        double gap = 0.0;
        for (size_t f = 0; f < options->n_folds; f++) {
            const struct bin *bin =
                &work->jobs[f * options->n_groups + set].tested.bins[temperature][b];
            gap += bin->right - bin->p;
        }
        gaps += fabs(gap);
    }
    return gaps / weight;
}

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
    *choice =
        (phl_head_choice){.groups = options->groups[set],
                          .c = options->c[work->c],
                          .log_loss = loss[one] / weight,
                          .log_loss_se = sqrt(fmax(variance, 0.0) / (double)folds),
                          .accuracy = right / weight,
                          .temperature = temperatures[best],
                          .tempered_log_loss = loss[best] / weight,
                          .calibration_error = find_calibration_error(work, set, best, weight)};
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

/* The features that the part uses, in the same order, become those of the head; the part is no
 * longer needed, nor are the rows. */
static phl_status keep_features(struct training *work, const phl_head_part *part, unsigned groups,
                                phl_head *head, phl_error *error)
{
    size_t n = phl_features_count(work->features);
    const phl_dictionary *all = &work->features->dictionary;
    if (part->problem.n_features == n) {
        head->features = work->features;
        head->features->groups = groups;
        work->features = NULL;
        return PHL_OK;
    }
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
    phl_status status = phl_head_rows_part_init(
        &part, &work->rows, work->group, phl_features_count(work->features), work->n_classes,
        PHL_HEAD_NO_FOLD, groups, options->least_trees, error);
    if (status == PHL_OK) {
        status = phl_logistic_create(&part.problem, options->seed, &logistic, error);
    }
    if (status == PHL_OK) {
        status = phl_logistic_solve(logistic, c, &limits, &fit, error);
    }
    if (status == PHL_OK) {
        head->weights = phl_logistic_take_weights(logistic);
    }
    phl_logistic_free(logistic);
    phl_head_rows_clear(&work->rows);
    if (status == PHL_OK) {
        status = keep_features(work, &part, groups, head, error);
    }
    head->passes = fit.passes;
    head->gap = fit.gap;
    head->log_loss = fit.loss;
    phl_head_rows_part_clear(&part);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Many trees
 * ------------------------------------------------------------------------------------------- */

/* Trees that settings are chosen on, where all would be too many. */
struct sample {
    size_t *tree;
    size_t n;
    uint32_t *fold; /* [n] */
    phl_forest *forest;
};

static void clear_sample(struct sample *sample)
{
    phl_free(sample->tree);
    phl_free(sample->fold);
    phl_forest_free(sample->forest);
}

/* Some distinct trees, with all that are equal to them. */
static phl_status draw_trees(const phl_forest *forest, const phl_distinct_trees *distinct,
                             uint64_t seed, struct sample *sample, phl_error *error)
{
    uint32_t *order = phl_alloc(distinct->n, sizeof *order, error);
    bool *drawn = phl_alloc_zero(distinct->n, sizeof *drawn, error);
    sample->tree = phl_alloc(forest->n_trees, sizeof *sample->tree, error);
    phl_status status =
        order == NULL || drawn == NULL || sample->tree == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK) {
        phl_rng rng;
        phl_rng_init(&rng, seed, PURPOSE_SAMPLE, 0, 0, 0);
        for (size_t i = 0; i < distinct->n; i++) {
            order[i] = (uint32_t)i;
        }
        phl_shuffle(&rng, distinct->n, order);
        for (size_t i = 0; i < SAMPLE_ROWS; i++) {
            drawn[order[i]] = true;
        }
        for (size_t t = 0; t < forest->n_trees; t++) {
            if (drawn[distinct->of_tree[t]]) {
                sample->tree[sample->n++] = t;
            }
        }
    }
    phl_free(order);
    phl_free(drawn);
    return status;
}

/* No trees where there are few enough. */
static phl_status draw_sample(const phl_forest *forest, const phl_head_settings *options,
                              struct sample *sample, phl_error *error)
{
    phl_distinct_trees distinct = {0};
    phl_status status = PHL_OK;
    if (forest->n_trees <= SAMPLE_ROWS || options->n_folds == 0) {
        return PHL_OK;
    }
    status = phl_features_distinct(forest, &distinct, error);
    if (status == PHL_OK && distinct.n > SAMPLE_ROWS) {
        status = draw_trees(forest, &distinct, options->seed, sample, error);
    }
    phl_features_clear_distinct(&distinct);
    if (status == PHL_OK && sample->n > 0) {
        sample->fold = phl_alloc(sample->n, sizeof *sample->fold, error);
        status = sample->fold == NULL
                     ? PHL_ERR_MEMORY
                     : phl_forest_select(forest, sample->tree, sample->n, &sample->forest, error);
    }
    for (size_t i = 0; status == PHL_OK && i < sample->n; i++) {
        sample->fold[i] = options->fold[sample->tree[i]];
    }
    return status;
}

/* Choose settings on a sample, whose features are forgotten again, or else on all trees. */
static phl_status choose_settings(struct training *work, const phl_forest *forest, phl_head *head,
                                  phl_error *error)
{
    const phl_head_settings *options = work->options;
    struct sample sample = {0};
    unsigned groups = 0;
    for (size_t i = 0; i < options->n_groups; i++) {
        groups |= options->groups[i];
    }
    phl_status status = draw_sample(forest, options, &sample, error);
    bool sampled = sample.n > 0;
    if (status == PHL_OK && sampled) {
        status = prepare(work, sample.forest, sample.fold, groups, error);
    } else if (status == PHL_OK) {
        status = prepare(work, forest, options->fold, groups, error);
    }
    if (status == PHL_OK && options->n_folds > 0) {
        status = choose(work, head, error);
    }
    clear_sample(&sample);
    if (status == PHL_OK && sampled) {
        clear_training(work);
        status = prepare(work, forest, options->fold, head->choices[head->chosen].groups, error);
    }
    return status;
}

phl_status phl_head_train(const phl_forest *forest, const phl_head_settings *options,
                          phl_head **head, phl_error *error)
{
    struct training work = {.options = options, .n_classes = options->n_classes};
    phl_head *made = phl_alloc_zero(1, sizeof *made, error);
    phl_status status = made == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK) {
        made->n_classes = work.n_classes;
        made->trees = forest->n_trees;
        made->temperature = 1.0;
        status = choose_settings(&work, forest, made, error);
    }
    if (status == PHL_OK) {
        const phl_head_choice *choice = made->choices != NULL ? &made->choices[made->chosen] : NULL;
        made->rows = work.rows.n;
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
