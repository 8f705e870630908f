/* head_posteriors.c - class posteriors of many trees; see head_posteriors.h. */
#include "head/head_posteriors.h"

#include "base/memory.h"
#include "base/parallel.h"

/* Room for the values of one row. */
struct room {
    double *values;
    size_t capacity;
};

struct heading {
    const phl_head *head;
    struct room *rooms; /* [workers] */
    double *log_posterior;
};

static phl_status take_row(size_t item, const phl_feature_row *row, size_t chunk, int worker,
                           void *context, phl_error *error)
{
    (void)chunk;
    const struct heading *work = context;
    struct room *room = &work->rooms[worker];
    phl_status status =
        phl_grow(&room->values, &room->capacity, row->n, sizeof *room->values, error);
    if (status == PHL_OK) {
        phl_head_log_posterior(work->head, row, room->values,
                               work->log_posterior + item * work->head->n_classes);
    }
    return status;
}

phl_status phl_head_posteriors(const phl_head *head, const phl_forest *forest, const size_t *trees,
                               size_t n, int threads, phl_cancel_fn cancel, void *context,
                               double *log_posterior, phl_error *error)
{
    struct heading work = {.head = head, .log_posterior = log_posterior};
    size_t workers = (size_t)phl_parallel_threads(threads);
    phl_feature_index index = {0};
    work.rooms = phl_alloc_zero(workers, sizeof *work.rooms, error);
    phl_status status = work.rooms == NULL
                            ? PHL_ERR_MEMORY
                            : phl_feature_index_init(&index, forest, &head->features->dictionary,
                                                     head->features->groups, error);
    if (status == PHL_OK) {
        status = phl_feature_index_count(&index, trees, n, threads, take_row, &work, cancel,
                                         context, error);
    }
    for (size_t i = 0; work.rooms != NULL && i < workers; i++) {
        phl_free(work.rooms[i].values);
    }
    phl_free(work.rooms);
    phl_feature_index_clear(&index);
    return status;
}
