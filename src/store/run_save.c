/* run_save.c - writing a run to a new file, complete or not at all.
 *
 * The run is written to a file beside its final name, in one transaction that SQLite syncs to the
 * disk, and then put in place in one step.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/placing.h"
#include "store/run_file.h"

/* What a file could not hold, or would not be accepted again. */
static phl_status check_run(const phl_run *run, phl_error *error)
{
    for (size_t i = 0; i < run->n_meta; i++) {
        if (phl_key_is_reserved(run->meta[i].key)) {
            return phl_raise(error, PHL_ERR_ARGUMENT, "use another key",
                             "'%s' is not free for facts about a run", run->meta[i].key);
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

/* *there: a file that is to be replaced. */
static phl_status check_target(const char *path, bool replace, bool *there, phl_error *error)
{
    phl_position position = {path, 0, 0};
    struct stat info;
    *there = false;
    if (strcmp(path, "-") == 0) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "a run is a file: give its name",
                         "a run cannot be written to standard output");
    }
    if (stat(path, &info) != 0) {
        return errno == ENOENT ? PHL_OK
                               : phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write");
    }
    if (!S_ISREG(info.st_mode)) {
        return phl_raise_at(error, PHL_ERR_WRITE, position, "a run is a file: give its name",
                            "cannot write: it is %s",
                            S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
    }
    if (!replace) {
        return phl_raise_at(error, PHL_ERR_WRITE, position,
                            "choose another name, or replace it with --force",
                            "the file exists already");
    }
    *there = true;
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
        status = phl_database_commit(&database, error);
    }
    phl_database_close(&database);
    return status;
}

phl_status phl_run_make_file(const phl_run *run, const phl_forest *forest, phl_more_fn more,
                             void *context, const char *path, bool replace, int *lock,
                             phl_error *error)
{
    phl_placing placing = {.file = -1};
    int old_lock = -1;
    bool there = false;
    phl_status status = check_run(run, error);
    if (status == PHL_OK) {
        status = check_target(path, replace, &there, error);
    }
    if (status == PHL_OK && there && *lock < 0) {
        status = phl_run_lock(path, &old_lock, error);
    }
    if (status == PHL_OK) {
        status = phl_placing_open(&placing, path, error);
    }
    if (status == PHL_OK) {
        status = write_file(run, forest, more, context, placing.temporary, path, error);
    }
    if (status == PHL_OK) {
        status = phl_run_put(&placing, *lock >= 0 ? *lock : old_lock, error);
    }
    if (status == PHL_OK) { /* locked since it was made */
        phl_run_unlock(lock);
        *lock = placing.file;
        placing.file = -1;
    }
    phl_placing_close(&placing);
    phl_run_unlock(&old_lock);
    return status;
}

phl_status phl_run_save(const phl_run *run, const char *path, bool replace, phl_error *error)
{
    int lock = -1;
    phl_status status =
        phl_run_make_file(run, run->forest, NULL, NULL, path, replace, &lock, error);
    phl_run_unlock(&lock);
    return status;
}
