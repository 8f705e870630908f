/* scores.c - log-probabilities of whole trees, averaged over draws; see scores.h. */
#include "model/scores.h"

#include <math.h>
#include <string.h>

#include "base/logs.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "model/chain_weights.h"
#include "model/grammar_scores.h"

/* Subtrees and links times draws: a tenth of a millisecond or so. */
static const size_t SMALL_WORK = 5000;

/* ---------------------------------------------------------------------------------------------
 * Distinct roots, and a forest made ready
 * ------------------------------------------------------------------------------------------- */

phl_status phl_scores_roots_init(const phl_forest *forest, phl_roots *roots, phl_error *error)
{
    memset(roots, 0, sizeof *roots);
    uint32_t *number = phl_alloc(forest->n_subtrees, sizeof *number, error);
    roots->of_tree = phl_alloc(forest->n_trees, sizeof *roots->of_tree, error);
    roots->tree = phl_alloc(forest->n_trees, sizeof *roots->tree, error);
    if (number == NULL || roots->of_tree == NULL || roots->tree == NULL) {
        phl_free(number);
        phl_scores_roots_clear(roots);
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        number[s] = UINT32_MAX;
    }
    for (size_t t = 0; t < forest->n_trees; t++) {
        uint32_t root = forest->tree_root[t];
        if (number[root] == UINT32_MAX) {
            number[root] = (uint32_t)roots->n;
            roots->tree[roots->n++] = t;
        }
        roots->of_tree[t] = number[root];
    }
    phl_free(number);
    return PHL_OK;
}

void phl_scores_roots_clear(phl_roots *roots)
{
    phl_free(roots->of_tree);
    phl_free(roots->tree);
    memset(roots, 0, sizeof *roots);
}

phl_status phl_scores_prepare(const phl_run *run, const phl_forest *forest, phl_prepared *prepared,
                              phl_error *error)
{
    memset(prepared, 0, sizeof *prepared);
    prepared->forest = forest;
    /* Only td hears children in slots beyond L (index.h). */
    phl_status status =
        phl_index_create(forest, run->slots, run->kind == PHL_TD, &prepared->index, error);
    if (status == PHL_OK) {
        status = phl_index_map_labels(forest, &run->labels, &prepared->label_row, error);
    }
    if (status == PHL_OK) {
        status = phl_scores_roots_init(forest, &prepared->roots, error);
    }
    if (status != PHL_OK) {
        phl_scores_clear(prepared);
    }
    return status;
}

void phl_scores_clear(phl_prepared *prepared)
{
    phl_index_free(prepared->index);
    phl_free(prepared->label_row);
    phl_scores_roots_clear(&prepared->roots);
    memset(prepared, 0, sizeof *prepared);
}

phl_status phl_scores_check_draws(const phl_model *model, phl_error *error)
{
    if (model->n_draws > 0) {
        return PHL_OK;
    }
    if (model->run->kind == PHL_NO_KIND) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "train a model with " PHL_CALL("phl_train"),
                         "the run holds %s alone, no model of trees",
                         model->run->expert != NULL ? "an expert" : "a classifier");
    }
    const char *name = phl_run_class_name(model->run, model->class_index);
    return phl_raise(error, PHL_ERR_ARGUMENT, "train again, or resume the run",
                     "the model%s%s holds no parameters: training stopped before it had any",
                     name != NULL ? " of class " : "", name != NULL ? name : "");
}

/* ---------------------------------------------------------------------------------------------
 * Scores
 * ------------------------------------------------------------------------------------------- */

/* The part of a root's scores that is no sum over its tree. */
static void start_scores(const phl_prepared *prepared, const phl_upward *upward, bool shape,
                         double *scores)
{
    const phl_roots *roots = &prepared->roots;
    const phl_forest *forest = prepared->forest;
    double kind[2] = {0.0, 0.0}; /* leaf, internal */
    for (int i = 0; shape && i < 2; i++) {
        kind[i] = log(upward->params->root_kind[i]);
    }
    for (size_t r = 0; r < roots->n; r++) {
        uint32_t root = forest->tree_root[roots->tree[r]];
        scores[r] = phl_upward_root(upward, root) + kind[forest->leaf_slot[root] != 0 ? 0 : 1];
    }
}

/* The other part, from one lane. */
static void add_sums(const phl_prepared *prepared, const phl_sums *sums, size_t lane,
                     double *scores)
{
    const phl_roots *roots = &prepared->roots;
    for (size_t r = 0; r < roots->n; r++) {
        size_t root = prepared->forest->tree_root[roots->tree[r]];
        scores[r] += sums->sum[root * sums->width + lane];
    }
}

void phl_scores_of_roots(const phl_prepared *prepared, const phl_upward *upward, phl_sums *sums,
                         double *labels, double *both)
{
    start_scores(prepared, upward, false, labels);
    start_scores(prepared, upward, true, both);
    phl_sums_set_labels(sums, 0, upward);
    phl_sums_run(sums, false);
    add_sums(prepared, sums, 0, labels);
    phl_sums_add_shape(sums, 0, upward->params);
    phl_sums_run(sums, true);
    add_sums(prepared, sums, 0, both);
}

/* For some of the n at a time. */
void phl_scores_average_draws(const double *scores, const phl_model *model, size_t draws, size_t n,
                              double *out)
{
    enum { SOME = 128 };
    bool weighted = model != NULL && phl_chain_weights_differ(model);
    double top[SOME], total[SOME], work[SOME], log_draws = weighted ? 0.0 : log((double)draws);
    if (draws == 1) {
        memcpy(out, scores, n * sizeof *out);
        return;
    }
    for (size_t first = 0; first < n; first += SOME) {
        size_t count = n - first < SOME ? n - first : SOME;
        const double *some = scores + first;
        for (size_t i = 0; i < count; i++) {
            top[i] = -INFINITY;
            total[i] = 0.0;
        }
        for (size_t d = 0; d < draws; d++) {
            for (size_t i = 0; i < count; i++) {
                top[i] = some[d * n + i] > top[i] ? some[d * n + i] : top[i];
            }
        }
        for (size_t i = 0; i < count; i++) {
            top[i] = top[i] > -INFINITY ? top[i] : 0.0; /* then the sum is 0 */
        }
        for (size_t d = 0; d < draws; d++) {
            double weight = weighted ? model->draws[d].weight : 1.0;
            for (size_t i = 0; i < count; i++) {
                work[i] = some[d * n + i] - top[i];
            }
            phl_exps(work, count, work);
            for (size_t i = 0; i < count; i++) {
                total[i] += weight * work[i];
            }
        }
        phl_logs(total, count, work);
        for (size_t i = 0; i < count; i++) {
            out[first + i] = top[i] + work[i] - log_draws;
        }
    }
}

/* What one thread works with. */
struct worker {
    phl_upward *upward;
    phl_sums *sums;
};

/* A number of models in a row, all their draws: the unit of memory and of parallel work. */
struct group {
    bool weighted;
    const phl_prepared *prepared;
    const phl_model *models; /* [n_models] */
    size_t n_models;
    size_t *first_job;     /* [n_models + 1] job = (model, draw) */
    size_t batch;          /* so many jobs are summed side by side */
    int inner_threads;     /* for one upward pass */
    struct worker *worker; /* [workers] */
    double *labels, *both; /* [jobs][roots] log p_d(labels), and of labels and shape; NULL: not
                              wanted */
};

static const phl_params *job_params(const struct group *group, size_t job)
{
    size_t m = 0;
    while (group->first_job[m + 1] <= job) {
        m++;
    }
    return group->models[m].draws[job - group->first_job[m]].params;
}

/* Upward pass, sums and upward scratch of a worker, made once for all its batches. */
static phl_status make_worker(const struct group *group, const phl_params *params,
                              struct worker *worker, phl_error *error)
{
    const phl_prepared *prepared = group->prepared;
    phl_status status = PHL_OK;
    if (worker->upward == NULL) {
        status =
            phl_upward_create(prepared->index, params, prepared->label_row, &worker->upward, error);
    }
    if (status == PHL_OK && (worker->sums == NULL || worker->sums->width < group->batch)) {
        phl_sums_free(worker->sums);
        worker->sums = NULL;
        status =
            phl_sums_create(prepared->forest, params->slots, group->batch, &worker->sums, error);
    }
    return status;
}

static phl_status score_batch(size_t chunk, size_t begin, size_t end, int worker, void *context,
                              phl_error *error)
{
    (void)chunk;
    const struct group *group = context;
    const phl_prepared *prepared = group->prepared;
    size_t n_roots = prepared->roots.n;
    struct worker *own = &group->worker[worker];
    phl_status status = make_worker(group, job_params(group, begin), own, error);
    if (status != PHL_OK) {
        return status;
    }
    for (size_t job = begin; job < end; job++) {
        phl_upward_turn(own->upward, job_params(group, job));
        status = phl_upward_norms(own->upward, group->inner_threads, error);
        if (status != PHL_OK) {
            return status;
        }
        if (group->labels != NULL) {
            start_scores(prepared, own->upward, false, group->labels + job * n_roots);
        }
        if (group->both != NULL) {
            start_scores(prepared, own->upward, true, group->both + job * n_roots);
        }
        phl_sums_set_labels(own->sums, job - begin, own->upward);
    }
    if (group->labels != NULL) {
        phl_sums_run(own->sums, false);
        for (size_t job = begin; job < end; job++) {
            add_sums(prepared, own->sums, job - begin, group->labels + job * n_roots);
        }
    }
    if (group->both != NULL) {
        for (size_t job = begin; job < end; job++) {
            phl_sums_add_shape(own->sums, job - begin, job_params(group, job));
        }
        phl_sums_run(own->sums, true);
        for (size_t job = begin; job < end; job++) {
            add_sums(prepared, own->sums, job - begin, group->both + job * n_roots);
        }
    }
    return PHL_OK;
}

static phl_status score_group(struct group *group, int threads, phl_cancel_fn cancel, void *context,
                              double *labels, double *both, phl_error *error)
{
    size_t n_roots = group->prepared->roots.n;
    size_t jobs = group->first_job[group->n_models];
    size_t workers = (size_t)phl_parallel_threads(threads);
    phl_status status = PHL_ERR_MEMORY;
    group->labels = labels == NULL ? NULL : phl_alloc(jobs * n_roots, sizeof *labels, error);
    group->both = both == NULL ? NULL : phl_alloc(jobs * n_roots, sizeof *both, error);
    if ((labels == NULL || group->labels != NULL) && (both == NULL || group->both != NULL)) {
        /* Few jobs: one after the other, each in all threads.  Otherwise batches of one size that
         * leave no thread without work. */
        bool few = jobs < workers;
        size_t batches = phl_chunk_count(jobs, PHL_SUM_LANES);
        batches = few || batches >= workers ? batches : workers;
        group->batch = phl_chunk_count(jobs, batches);
        group->inner_threads = few ? threads : 1;
        status = phl_parallel_chunks(jobs, group->batch, few ? 1 : threads, score_batch, group,
                                     cancel, context, error);
    }
    for (size_t m = 0; status == PHL_OK && m < group->n_models; m++) {
        size_t first = group->first_job[m] * n_roots, draws = group->models[m].n_draws;
        const phl_model *weighing = group->weighted ? &group->models[m] : NULL;
        if (labels != NULL) {
            phl_scores_average_draws(group->labels + first, weighing, draws, n_roots,
                                     labels + m * n_roots);
        }
        if (both != NULL) {
            phl_scores_average_draws(group->both + first, weighing, draws, n_roots,
                                     both + m * n_roots);
        }
    }
    phl_free(group->labels);
    phl_free(group->both);
    return status;
}

/* A grammar has one figure for labels and shape together; where it is asked for, it stands for
 * both.
 */
static phl_status average_grammars(const phl_prepared *prepared, const phl_model *models,
                                   size_t n_models, int threads, phl_cancel_fn cancel,
                                   void *context, double *labels, double *both, phl_error *error)
{
    double *out = both != NULL ? both : labels;
    phl_status status =
        phl_grammar_scores_make(prepared, models, n_models, both != NULL, PHL_MEAN_PROBABILITY,
                                threads, cancel, context, out, error);
    if (status == PHL_OK && both != NULL && labels != NULL) {
        memcpy(labels, both, n_models * prepared->roots.n * sizeof *labels);
    }
    return status;
}

phl_status phl_scores_average(const phl_prepared *prepared, const phl_model *models,
                              size_t n_models, bool weighted, int threads, phl_cancel_fn cancel,
                              void *context, double *labels, double *both, phl_error *error)
{
    size_t n_roots = prepared->roots.n, draws = 0;
    if (models->run->kind == PHL_GRAMMAR) {
        return average_grammars(prepared, models, n_models, threads, cancel, context, labels, both,
                                error);
    }
    for (size_t m = 0; m < n_models; m++) {
        draws += models[m].n_draws;
    }
    /* A few trees (a small block of many) are not worth waking other threads for. */
    if ((prepared->forest->n_subtrees + prepared->forest->n_links) * draws < SMALL_WORK) {
        threads = 1;
    }
    size_t workers = (size_t)phl_parallel_threads(threads);
    size_t *first_job = phl_alloc(n_models + 1, sizeof *first_job, error);
    struct worker *worker = phl_alloc_zero(workers, sizeof *worker, error);
    phl_status status = first_job == NULL || worker == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t m = 0; status == PHL_OK && m < n_models; m++) {
        status = phl_scores_check_draws(&models[m], error);
    }
    /* Whole models until every thread has a batch: so memory does not grow with classes x draws. */
    for (size_t m = 0; status == PHL_OK && m < n_models;) {
        struct group group = {.prepared = prepared,
                              .models = models + m,
                              .first_job = first_job,
                              .worker = worker,
                              .weighted = weighted};
        first_job[0] = 0;
        while (m + group.n_models < n_models &&
               first_job[group.n_models] < workers * PHL_SUM_LANES) {
            first_job[group.n_models + 1] =
                first_job[group.n_models] + models[m + group.n_models].n_draws;
            group.n_models++;
        }
        status = score_group(&group, threads, cancel, context,
                             labels == NULL ? NULL : labels + m * n_roots,
                             both == NULL ? NULL : both + m * n_roots, error);
        m += group.n_models;
    }
    for (size_t i = 0; worker != NULL && i < workers; i++) {
        phl_upward_free(worker[i].upward);
        phl_sums_free(worker[i].sums);
    }
    phl_free(worker);
    phl_free(first_job);
    return status;
}
