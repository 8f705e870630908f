/* run_save.c - writing a run to a new file, complete or not at all.
 *
 * The run is written to a file beside its final name, in one transaction, and then put in place in
 * one step (run_place.h).
 */
#include <errno.h>

#include "store/run_file.h"

/* What a file could not hold, or would not be accepted again. */
static phl_status check_run(const phl_run *run, phl_error *error)
{
    for (size_t i = 0; i < run->n_meta; i++) {
        if (phl_run_write_is_reserved(run->meta[i].key)) {
            return phl_raise(error, PHL_ERR_ARGUMENT, "use another key",
                             "'%s' is reserved and cannot be a fact about a run", run->meta[i].key);
        }
    }
    for (size_t i = 0; i < run->n_models; i++) {
        for (size_t d = 0; d < run->models[i].n_draws; d++) {
            const phl_params *params = run->models[i].draws[d].params;
            PHL_CHECK_BUG(params->kind == run->kind && params->states == run->states &&
                              params->slots == run->slots && params->labels == run->labels.count,
                          error);
        }
    }
    return PHL_OK;
}

/* The complete run in a file of its own, closed. */
static phl_status write_file(const phl_run *run, const phl_forest *forest, phl_more_fn more,
                             void *context, const char *file, const char *path, phl_error *error)
{
    phl_database database = {0};
    phl_status status = phl_database_create(file, path, &database, error);
    if (status == PHL_OK) {
        status = phl_run_write(&database, run, forest, error);
    }
    if (status == PHL_OK && more != NULL) {
        status = more(&database, context, error);
    }
    if (status == PHL_OK) {
        status = phl_run_open_check(&database, error);
    }
    if (status == PHL_OK) {
        status = phl_database_commit(&database, error);
    }
    phl_database_close(&database);
    return status;
}

phl_status phl_run_save_with(const phl_run *run, const phl_forest *forest, phl_more_fn more,
                             void *context, const char *path, int *lock, phl_error *error)
{
    phl_placing placing = {.file = -1};
    phl_status status = check_run(run, error);
    if (status == PHL_OK) {
        status = phl_placing_open(&placing, path, error);
    }
    if (status == PHL_OK && placing.temporary == NULL) {
        status = phl_raise_errno(error, PHL_ERR_WRITE, EEXIST, path, "cannot write");
    }
    if (status == PHL_OK) {
        status = write_file(run, forest, more, context, placing.temporary, path, error);
    }
    if (status == PHL_OK) {
        status = phl_run_place_commit(&placing, lock, error);
    }
    phl_placing_close(&placing);
    return status;
}

phl_status phl_run_save(const phl_run *run, const char *path, bool replace, phl_error *error)
{
    int lock = -1;
    phl_status status = phl_run_place_begin(path, replace, &lock, error);
    if (status == PHL_OK) {
        status = phl_run_save_with(run, run->forest, NULL, NULL, path, &lock, error);
    }
    phl_run_place_unlock(&lock);
    return status;
}
