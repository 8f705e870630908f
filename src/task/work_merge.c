/* work_merge.c - files that keep pieces of a cross-validation, put together; see phloem.h. */
#include <string.h>

#include "base/memory.h"
#include "task/work_file.h"

static phl_status check_finished(const phl_trials *piece, const char *path, phl_error *error)
{
    size_t done, all;
    double left;
    phl_position position = {path, 0, 0};
    phl_trials_progress(piece, &done, &all, &left);
    return done == all
               ? PHL_OK
               : phl_raise_at(error, PHL_ERR_ARGUMENT, position,
                              "finish it by the command that began it, or take what there "
                              "is: " PHL_OPTION("merge.partial"),
                              "%zu of %zu trainings of this piece are not done", all - done, all);
}

/* What a piece keeps becomes part of the whole; from [trials] says where each came from. */
static phl_status take(phl_trials *whole, phl_trials *piece, size_t number,
                       const char *const *paths, size_t *from, bool partial, phl_error *error)
{
    phl_position position = {paths[number], 0, 0};
    const char *difference = strcmp(piece->version, phl_version()) != 0
                                 ? "another version of phloem"
                                 : phl_trials_differ(whole, piece);
    char name[120];
    if (difference != NULL) {
        return phl_raise_at(error, PHL_ERR_CHANGED, position,
                            "leave it out, or evaluate it again like the others",
                            "this piece is of %s", difference);
    }
    phl_status status = partial ? PHL_OK : check_finished(piece, paths[number], error);
    if (status != PHL_OK) {
        return status;
    }
    for (size_t i = 0; i < phl_trials_count(whole); i++) {
        phl_trial *trial = &piece->trials[i];
        if (trial->results == NULL) {
            continue;
        }
        if (from[i] != SIZE_MAX) {
            phl_trials_name(whole, i, name, sizeof name);
            return phl_raise_at(error, PHL_ERR_ARGUMENT, position, "leave one of them out",
                                "%s is in this piece and in %.200s", name, paths[from[i]]);
        }
        from[i] = number;
        whole->trials[i].seconds = trial->seconds;
        whole->trials[i].results = trial->results;
        trial->results = NULL;
    }
    return PHL_OK;
}

static phl_status check_missing(const phl_trials *whole, phl_error *error)
{
    char name[120] = "";
    size_t missing = 0;
    for (size_t i = 0; i < phl_trials_count(whole); i++) {
        if (whole->trials[i].results == NULL && missing++ == 0) {
            phl_trials_name(whole, i, name, sizeof name);
        }
    }
    return missing == 0
               ? PHL_OK
               : phl_raise(error, PHL_ERR_ARGUMENT,
                           "give the pieces that are missing, or take what there is: " PHL_OPTION(
                               "merge.partial"),
                           "%zu of %zu trainings are in none of the pieces, the first of them: %s",
                           missing, phl_trials_count(whole), name);
}

/* Read the pieces; the first one becomes the whole, without trials of its own. */
static phl_status gather(const char *const *paths, size_t n_paths, bool partial, phl_trials *whole,
                         size_t **from, phl_error *error)
{
    phl_status status = phl_work_file_read(paths[0], -1, whole, error);
    if (status != PHL_OK) {
        return status;
    }
    size_t n = phl_trials_count(whole);
    *from = phl_alloc(n, sizeof **from, error);
    status = *from == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        (*from)[i] = SIZE_MAX;
        phl_trial_clear(&whole->trials[i], whole->n_priors);
        whole->trials[i].elsewhere = false;
    }
    whole->in_pieces = false;
    for (size_t k = 0; status == PHL_OK && k < n_paths; k++) {
        phl_trials piece = {0};
        status = phl_work_file_read(paths[k], -1, &piece, error);
        if (status == PHL_OK) {
            status = take(whole, &piece, k, paths, *from, partial, error);
        }
        phl_trials_clear(&piece);
    }
    return status == PHL_OK && !partial ? check_missing(whole, error) : status;
}

phl_status phl_work_merge(const char *const *paths, size_t n_paths, const char *path, bool replace,
                          bool partial, phl_cross_validation **result, phl_error *error)
{
    phl_trials whole = {0};
    phl_cross_validation *made = NULL;
    size_t *from = NULL;
    if (n_paths == 0) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "there are no pieces to merge");
    }
    phl_status status = gather(paths, n_paths, partial, &whole, &from, error);
    if (status == PHL_OK) {
        status = phl_trials_summarise(&whole, &made, error);
    }
    if (status == PHL_OK && path != NULL) {
        status = phl_work_file_save(&whole, path, replace, error);
    }
    phl_free(from);
    phl_trials_clear(&whole);
    if (status != PHL_OK) {
        phl_cross_validation_free(made);
        return status;
    }
    *result = made;
    return PHL_OK;
}
