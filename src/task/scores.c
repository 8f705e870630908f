/* scores.c - log-probabilities of whole trees, averaged over draws; see scores.h. */
#include "task/scores.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"

/* ---------------------------------------------------------------------------------------------
 * Distinct roots, and a forest made ready
 * ------------------------------------------------------------------------------------------- */

phl_status phl_roots_init(const phl_forest *forest, phl_roots *roots, phl_error *error)
{
    memset(roots, 0, sizeof *roots);
    uint32_t *number = phl_alloc(forest->n_subtrees, sizeof *number, error);
    roots->of_tree = phl_alloc(forest->n_trees, sizeof *roots->of_tree, error);
    roots->tree = phl_alloc(forest->n_trees, sizeof *roots->tree, error);
    if (number == NULL || roots->of_tree == NULL || roots->tree == NULL) {
        phl_free(number);
        phl_roots_clear(roots);
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

void phl_roots_clear(phl_roots *roots)
{
    phl_free(roots->of_tree);
    phl_free(roots->tree);
    memset(roots, 0, sizeof *roots);
}

phl_status phl_prepare(const phl_run *run, const phl_forest *forest, phl_prepared *prepared,
                       phl_error *error)
{
    memset(prepared, 0, sizeof *prepared);
    prepared->forest = forest;
    /* Only td hears children in slots beyond L (index.h). */
    phl_status status =
        phl_index_create(forest, run->slots, run->kind == PHL_TD, &prepared->index, error);
    if (status == PHL_OK) {
        status = phl_map_labels(forest, &run->labels, &prepared->label_row, error);
    }
    if (status == PHL_OK) {
        status = phl_roots_init(forest, &prepared->roots, error);
    }
    if (status != PHL_OK) {
        phl_prepared_clear(prepared);
    }
    return status;
}

void phl_prepared_clear(phl_prepared *prepared)
{
    phl_index_free(prepared->index);
    phl_free(prepared->label_row);
    phl_roots_clear(&prepared->roots);
    memset(prepared, 0, sizeof *prepared);
}

phl_status phl_check_draws(const phl_model *model, phl_error *error)
{
    if (model->n_draws > 0) {
        return PHL_OK;
    }
    const char *name = phl_run_class_name(model->run, model->class_index);
    return phl_raise(error, PHL_ERR_ARGUMENT, "train again, or resume the run",
                     "the model%s%s holds no parameters: training stopped before it had any",
                     name != NULL ? " of class " : "", name != NULL ? name : "");
}

/* ---------------------------------------------------------------------------------------------
 * Scores
 * ------------------------------------------------------------------------------------------- */

phl_status phl_root_scores(const phl_prepared *prepared, const phl_upward *upward, double *labels,
                           double *shape, phl_error *error)
{
    const phl_roots *roots = &prepared->roots;
    const phl_forest *forest = prepared->forest;
    for (size_t r = 0; r < roots->n; r++) {
        labels[r] = phl_upward_tree(upward, roots->tree[r]);
    }
    if (shape == NULL) {
        return PHL_OK;
    }
    double *log_shape = phl_alloc(forest->n_subtrees, sizeof *log_shape, error);
    if (log_shape == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_shape_run(upward->params, forest, log_shape);
    for (size_t r = 0; r < roots->n; r++) {
        shape[r] = phl_shape_tree(upward->params, forest, log_shape, roots->tree[r]);
    }
    phl_free(log_shape);
    return PHL_OK;
}

/* A number of models in a row, all their draws: the unit of memory and of parallel work. */
struct group {
    const phl_prepared *prepared;
    const phl_model *models; /* [n_models] */
    size_t n_models;
    size_t *first_job;      /* [n_models + 1] job = (model, draw) */
    int inner_threads;      /* for one upward pass */
    double *labels, *shape; /* [jobs][roots]; shape NULL when not wanted */
};

static phl_status score_job(size_t block, size_t begin, size_t end, int worker, void *context,
                            phl_error *error)
{
    (void)block;
    (void)worker;
    const struct group *group = context;
    size_t n_roots = group->prepared->roots.n;
    phl_status status = PHL_OK;
    for (size_t job = begin; status == PHL_OK && job < end; job++) {
        size_t m = 0;
        while (group->first_job[m + 1] <= job) {
            m++;
        }
        const phl_params *params = group->models[m].draws[job - group->first_job[m]].params;
        phl_upward *upward = NULL;
        status = phl_upward_create(group->prepared->index, params, group->prepared->label_row,
                                   &upward, error);
        if (status == PHL_OK) {
            status = phl_upward_run(upward, group->inner_threads, error);
        }
        if (status == PHL_OK) {
            status =
                phl_root_scores(group->prepared, upward, group->labels + job * n_roots,
                                group->shape == NULL ? NULL : group->shape + job * n_roots, error);
        }
        phl_upward_free(upward);
    }
    return status;
}

/* log (1/D sum_d exp(labels + shape)) of every root and model. */
static phl_status average(const struct group *group, const double *shape, double *out,
                          phl_error *error)
{
    size_t n_roots = group->prepared->roots.n;
    size_t most = 0;
    for (size_t m = 0; m < group->n_models; m++) {
        most = group->models[m].n_draws > most ? group->models[m].n_draws : most;
    }
    double *values = phl_alloc(most, sizeof *values, error);
    if (values == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t m = 0; m < group->n_models; m++) {
        size_t draws = group->models[m].n_draws;
        for (size_t r = 0; r < n_roots; r++) {
            for (size_t d = 0; d < draws; d++) {
                size_t at = (group->first_job[m] + d) * n_roots + r;
                values[d] = group->labels[at] + (shape != NULL ? shape[at] : 0.0);
            }
            out[m * n_roots + r] =
                draws == 1 ? values[0] : phl_log_sum(values, draws) - log((double)draws);
        }
    }
    phl_free(values);
    return PHL_OK;
}

static phl_status score_group(struct group *group, int threads, phl_cancel_fn cancel, void *context,
                              double *labels, double *both, phl_error *error)
{
    size_t n_roots = group->prepared->roots.n;
    size_t jobs = group->first_job[group->n_models];
    int workers = phl_thread_count(threads);
    phl_status status = PHL_ERR_MEMORY;
    group->labels = phl_alloc(jobs * n_roots, sizeof *group->labels, error);
    group->shape = both == NULL ? NULL : phl_alloc(jobs * n_roots, sizeof *group->shape, error);
    if (group->labels != NULL && (both == NULL || group->shape != NULL)) {
        /* Few jobs: one after the other, each in all threads. */
        bool few = jobs < (size_t)workers;
        group->inner_threads = few ? threads : 1;
        status = phl_parallel_blocks(jobs, 1, few ? 1 : threads, score_job, group, cancel, context,
                                     error);
    }
    if (status == PHL_OK && labels != NULL) {
        status = average(group, NULL, labels, error);
    }
    if (status == PHL_OK && both != NULL) {
        status = average(group, group->shape, both, error);
    }
    phl_free(group->labels);
    phl_free(group->shape);
    return status;
}

phl_status phl_average_scores(const phl_prepared *prepared, const phl_model *models,
                              size_t n_models, int threads, phl_cancel_fn cancel, void *context,
                              double *labels, double *both, phl_error *error)
{
    size_t n_roots = prepared->roots.n;
    size_t workers = (size_t)phl_thread_count(threads);
    size_t *first_job = phl_alloc(n_models + 1, sizeof *first_job, error);
    phl_status status = first_job == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t m = 0; status == PHL_OK && m < n_models; m++) {
        status = phl_check_draws(&models[m], error);
    }
    /* Whole models until every thread has a job: so memory does not grow with classes x draws. */
    for (size_t m = 0; status == PHL_OK && m < n_models;) {
        struct group group = {.prepared = prepared, .models = models + m, .first_job = first_job};
        first_job[0] = 0;
        while (m + group.n_models < n_models && first_job[group.n_models] < workers) {
            first_job[group.n_models + 1] =
                first_job[group.n_models] + models[m + group.n_models].n_draws;
            group.n_models++;
        }
        status = score_group(&group, threads, cancel, context,
                             labels == NULL ? NULL : labels + m * n_roots,
                             both == NULL ? NULL : both + m * n_roots, error);
        m += group.n_models;
    }
    phl_free(first_job);
    return status;
}
