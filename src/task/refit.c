/* refit.c - what a cross-validation chose, trained on all trees; see phl_refit in phloem.h. */
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/options.h"
#include "model/run.h"
#include "task/candidates.h"
#include "train/train_config.h"

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Is the run in the file the training that is wanted, as far as it got? */
static phl_status is_same(const char *path, const phl_forest *forest,
                          const phl_train_options *resolved, bool *same, phl_error *error)
{
    phl_run *run = NULL;
    char fingerprint[33], *config = NULL;
    phl_status status = phl_run_open(path, &run, error);
    if (status == PHL_OK) {
        status = phl_forest_fingerprint(forest, true, fingerprint, error);
    }
    if (status == PHL_OK) {
        status = phl_train_config_text(resolved, run->slots, &config, error);
    }
    if (status == PHL_OK) {
        *same = same_text(phl_run_meta(run, "config"), config) &&
                same_text(phl_run_meta(run, "fingerprint_ordered"), fingerprint) &&
                same_text(phl_run_meta(run, "partition"), resolved->partition) &&
                phl_run_meta(run, "piece") == NULL;
    }
    phl_free(config);
    phl_run_free(run);
    return status;
}

static phl_status go_on(const char *path, const phl_forest *forest, const phl_train_options *train,
                        const phl_file_options *file, phl_run **run, phl_error *error)
{
    phl_resume_options resume;
    phl_resume_options_init(&resume);
    resume.threads = train->threads;
    resume.forest = forest;
    resume.memory_limit = train->memory_limit;
    resume.checkpoint_seconds = file->checkpoint_seconds;
    resume.progress = train->progress;
    resume.report = train->report;
    resume.cancel = train->cancel;
    resume.context = train->context;
    return phl_resume(path, &resume, run, error);
}

static phl_status refit(const phl_candidates *candidates, size_t number, const phl_forest *forest,
                        const phl_file_options *file, const char *path, phl_run **run,
                        phl_error *error)
{
    const phl_train_options *train = &candidates->train[number];
    phl_train_options resolved = phl_candidates_resolved(candidates, number);
    struct stat known;
    bool there = !file->replace && lstat(path, &known) == 0, same = false;
    phl_status status = PHL_OK;
    if (there && train->kind != PHL_NO_KIND && phl_run_recognise(path)) {
        status = is_same(path, forest, &resolved, &same, error);
    }
    if (status == PHL_OK && there && !same) {
        phl_position position = {path, 0, 0};
        status = phl_raise_at(error, PHL_ERR_WRITE, position,
                              "name another file, or replace it: " PHL_OPTION("file.replace"),
                              "this file exists already, and is not the training that was chosen");
    }
    if (status != PHL_OK) {
        return status;
    }
    if (same) {
        return go_on(path, forest, train, file, run, error);
    }
    if (train->kind != PHL_NO_KIND) {
        return phl_train_file(forest, train, file, path, run, error);
    }
    phl_run *made = NULL;
    status = phl_candidates_train(train, forest, &made, error);
    if (status == PHL_OK) {
        status = phl_run_save(made, path, file->replace, error);
    }
    if (status != PHL_OK) {
        phl_run_free(made);
        return status;
    }
    *run = made;
    return PHL_OK;
}

phl_status phl_refit(const phl_forest *forest, const phl_evaluate_options *options, size_t choice,
                     const phl_file_options *file, const char *path, phl_run **run,
                     phl_error *error)
{
    phl_candidates candidates = {0};
    phl_file_options usual, how;
    phl_file_options_init(&usual);
    phl_status status = phl_options_take(&how, &usual, sizeof how, file, "phl_file", error);
    if (status == PHL_OK) {
        status = phl_candidates_take(options, &candidates, error);
    }
    if (status == PHL_OK && choice / candidates.n_priors >= candidates.n) {
        status = phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                           "there is no choice %zu of %zu; choices are counted from 0", choice,
                           candidates.n * candidates.n_priors);
    }
    if (status == PHL_OK) {
        status = refit(&candidates, choice / candidates.n_priors, forest, &how, path, run, error);
    }
    phl_candidates_clear(&candidates);
    return status;
}
