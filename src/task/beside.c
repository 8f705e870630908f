/* beside.c - runs that are pooled with the run of a task; see beside.h. */
#include "task/beside.h"

#include <string.h>

#include "base/logs.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/scores.h"
#include "task/label_pool.h"
#include "task/use.h"

const phl_model *phl_beside_model(const phl_run *run, const phl_model *model)
{
    const char *name = phl_run_class_name(model->run, model->class_index);
    size_t number = run->per_class && name != NULL ? phl_run_find_class(run, name) : 0;
    return number < run->n_models ? &run->models[number] : NULL;
}

/* Every model of the task's run has one that goes with it, with parameters. */
static phl_status check_models(const phl_run *run, const phl_run *with, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < run->n_models; i++) {
        const phl_model *model = phl_beside_model(with, &run->models[i]);
        char shown[PHL_EXCERPT_SIZE];
        const char *name = phl_run_class_name(run, i);
        if (model == NULL) {
            status = phl_raise(error, PHL_ERR_ARGUMENT, "pool runs of the same classes",
                               "a run to be pooled was never trained on class '%s'",
                               phl_text_excerpt(name, strlen(name), shown));
        } else if (with->kind != PHL_NO_KIND || with->expert == NULL) {
            status = phl_scores_check_draws(model, error);
        }
    }
    return status;
}

static phl_status check(const phl_run *run, const phl_run *with, phl_error *error)
{
    if (with->per_class && !run->per_class) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "name the run that was trained per class first",
                         "a run to be pooled was trained per class, the first one was not");
    }
    phl_status status = phl_use_check_whole(with, error);
    return status == PHL_OK ? check_models(run, with, error) : status;
}

static phl_status map_labels(const phl_run *run, phl_beside *beside, phl_error *error)
{
    const phl_alphabet *labels = &beside->run->labels;
    beside->n_labels = beside->missing = run->labels.count;
    beside->row = phl_alloc(labels->count, sizeof *beside->row, error);
    for (size_t i = 0; beside->row != NULL && i < labels->count; i++) {
        int32_t found = phl_alphabet_find(&run->labels, phl_alphabet_name(labels, i),
                                          phl_alphabet_length(labels, i));
        beside->row[i] = found < 0 ? (uint32_t)run->labels.count : (uint32_t)found;
        beside->missing -= found >= 0;
    }
    if (beside->row != NULL && beside->missing == run->labels.count && run->labels.count > 0) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "pool runs that were trained on trees of a kind",
                         "a run to be pooled has no label in common with the first one");
    }
    return beside->row == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

phl_status phl_beside_create(const phl_run *run, const phl_run *const *with, size_t n,
                             phl_beside **beside, phl_error *error)
{
    *beside = NULL;
    if (n == 0) {
        return PHL_OK;
    }
    if (n >= PHL_BESIDE_MOST) {
        return phl_raise(error, PHL_ERR_LIMIT, NULL, "%zu runs to pool, at most %d are possible",
                         n + 1, PHL_BESIDE_MOST);
    }
    phl_beside *made = phl_alloc_zero(n + 1, sizeof *made, error);
    phl_status status = made == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i <= n; i++) {
        made[i].run = i == 0 ? run : with[i - 1];
        status = i > 0 ? check(run, made[i].run, error) : PHL_OK;
        if (status == PHL_OK) {
            status = map_labels(run, &made[i], error);
        }
    }
    if (status != PHL_OK) {
        phl_beside_free(made, n);
        return status;
    }
    *beside = made;
    return PHL_OK;
}

void phl_beside_free(phl_beside *beside, size_t n)
{
    for (size_t i = 0; beside != NULL && i <= n; i++) {
        phl_free(beside[i].row);
    }
    phl_free(beside);
}

void phl_beside_voice(const phl_beside *beside, const double *p, double unseen, double *log_p)
{
    size_t m = beside->n_labels, own = beside->run->labels.count;
    double share = unseen / (double)(beside->missing + 1);
    for (size_t x = 0; x <= m; x++) {
        log_p[x] = share;
    }
    for (size_t y = 0; y < own; y++) {
        if (beside->row[y] < m) {
            log_p[beside->row[y]] = p[y];
        } else {
            log_p[m] += p[y];
        }
    }
    for (size_t x = 0; x <= m; x++) {
        log_p[x] = log_p[x] > PHL_LABEL_POOL_LEAST ? log_p[x] : PHL_LABEL_POOL_LEAST;
    }
    phl_logs(log_p, m + 1, log_p);
}

void phl_beside_pool(const double *log_p, size_t n, size_t width, double *p)
{
    double power[PHL_BESIDE_MOST];
    for (size_t i = 0; i < n; i++) {
        power[i] = 1.0 / (double)n;
    }
    phl_expert_pool(log_p, power, n, width, p);
}
