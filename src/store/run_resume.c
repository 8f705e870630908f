/* run_resume.c - going on with a training from its run file; see phl_resume in phloem.h. */
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "store/checkpoint.h"
#include "train/pieces.h"
#include "train/train_config.h"
#include "train/train_head.h"

/* What is known about the run before training goes on. */
struct resumption {
    const char *path;
    phl_run *known;     /* as it lies in the file */
    phl_forest *forest; /* from the file; NULL: the caller's is used */
    bool extended;
    phl_array_directory directory;
    phl_database database; /* open for reading while states are restored */
    phl_run_writer writer;
};

/* ---------------------------------------------------------------------------------------------
 * What the file says
 * ------------------------------------------------------------------------------------------- */

static phl_status raise_here(const struct resumption *r, phl_error *error, phl_status status,
                             const char *remedy, const char *message)
{
    phl_position position = {r->path, 0, 0};
    return phl_raise_at(error, status, position, remedy, "%s", message);
}

static phl_status check_options(struct resumption *r, phl_error *error)
{
    const char *version = phl_run_meta(r->known, "version");
    phl_position position = {r->path, 0, 0};
    if (r->known->kind == PHL_NO_KIND) {
        return raise_here(r, error, PHL_ERR_ARGUMENT, NULL,
                          r->known->expert != NULL
                              ? "the run holds an expert alone, whose training is written at its "
                                "end: there is nothing to go on with"
                              : "the run holds a classifier alone, whose training is written at "
                                "its end: there is nothing to go on with");
    }
    if (phl_run_meta(r->known, "config") == NULL || phl_run_meta(r->known, "seed") == NULL ||
        version == NULL) {
        return raise_here(r, error, PHL_ERR_ARGUMENT, "train anew",
                          "the run does not say how it was trained");
    }
    if (strcmp(version, phl_version()) != 0) {
        return phl_raise_at(error, PHL_ERR_FORMAT, position,
                            "resume with that version, or train again",
                            "checkpoints can be used only by the version that wrote them, which "
                            "was %.40s; this is %s",
                            version, phl_version());
    }
    /* What opening it passed over. */
    phl_status status =
        r->known->options == NULL ? phl_train_config_restore(r->known, error) : PHL_OK;
    return status == PHL_OK || error == NULL ? status : phl_error_locate(error, position);
}

/* More iterations than were asked for before.  What was asked for is remembered: draws kept until
 * then stay as they are. */
static phl_status extend(struct resumption *r, size_t iterations, phl_error *error)
{
    phl_run *known = r->known;
    phl_train_options options = *known->options;
    phl_position position = {r->path, 0, 0};
    if (iterations == 0 || iterations == options.iterations) {
        return PHL_OK;
    }
    if (known->kind == PHL_GRAMMAR) {
        return phl_raise_at(error, PHL_ERR_ARGUMENT, position, "train anew",
                            "a model of kind grammar ends by itself: there is nothing to extend");
    }
    if (iterations < options.iterations) {
        return phl_raise_at(error, PHL_ERR_ARGUMENT, position, "ask for more than that",
                            "the run is meant for %zu iterations, which cannot become %zu",
                            options.iterations, iterations);
    }
    size_t *earlier = phl_alloc(known->n_earlier + 1, sizeof *earlier, error);
    if (earlier == NULL) {
        return PHL_ERR_MEMORY;
    }
    memcpy(earlier, known->earlier, known->n_earlier * sizeof *earlier);
    earlier[known->n_earlier] = options.iterations;
    options.iterations = iterations;
    phl_status status = phl_run_set_options(known, &options, earlier, known->n_earlier + 1, error);
    phl_free(earlier);
    r->extended = status == PHL_OK;
    return status;
}

/* The trees to train on: the caller's if there are any, else the file's. */
static phl_status find_forest(struct resumption *r, const phl_forest *given,
                              const phl_forest **forest, phl_error *error)
{
    const char *expected = phl_run_meta(r->known, "fingerprint_ordered");
    char found[33];
    phl_status status = PHL_OK;
    if (given == NULL) {
        status = phl_forest_store_load(&r->database, &r->forest, error);
        if (status == PHL_OK && r->forest == NULL) {
            return raise_here(r, error, PHL_ERR_ARGUMENT,
                              "give the trees it was trained on: " PHL_OPTION("resume.forest"),
                              "the run does not hold its trees");
        }
    }
    *forest = given == NULL ? r->forest : given;
    if (status != PHL_OK) {
        return status;
    }
    status = phl_forest_fingerprint(*forest, true, found, error);
    if (status == PHL_OK && (expected == NULL || strcmp(expected, found) != 0 ||
                             (*forest)->max_slot != r->known->slots ||
                             !phl_alphabet_equal(&(*forest)->labels, &r->known->labels))) {
        status = raise_here(r, error, PHL_ERR_CHANGED,
                            "give the same files in the same order, with the same options for "
                            "reading",
                            "these are not the trees that the run was trained on");
    }
    return status;
}

static bool is_finished(const phl_run *run)
{
    for (size_t i = 0; i < run->n_models; i++) {
        if (run->models[i].stop_reason == PHL_STOP_INTERRUPTED) {
            return false;
        }
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------
 * Restoring
 * ------------------------------------------------------------------------------------------- */

static phl_status restore_state(struct resumption *r, phl_train_task *task, phl_error *error)
{
    const phl_run *known = r->known;
    phl_draw_kind kind = {known->kind, false, known->states, known->slots,
                          (uint32_t)known->labels.count};
    return phl_checkpoint_read(&r->database, &r->directory,
                               phl_checkpoint_owner(task->class_index, task->chain), &kind,
                               &task->from, error);
}

/* The task that a row belongs to and that goes on from where it stood; NULL: none. */
static phl_train_task *task_of(const phl_training *training, size_t class_index, size_t chain)
{
    phl_train_task *task = chain < training->n_chains
                               ? &training->tasks[class_index * training->n_chains + chain]
                               : NULL;
    return task != NULL && task->from != NULL ? task : NULL;
}

/* The traces of all tasks.  All of them are in the file. */
static phl_status restore_traces(const phl_run *known, const phl_training *training,
                                 phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < known->n_trace; i++) {
        const phl_trace_row *row = &known->trace[i];
        phl_train_task *task = task_of(training, row->class_index, row->chain);
        if (task != NULL) {
            status = phl_grow(&task->trace, &task->trace_capacity, task->n_trace + 1,
                              sizeof *task->trace, error);
        }
        if (task != NULL && status == PHL_OK) {
            task->trace[task->n_trace++] = *row;
            task->trace_saved = task->n_trace;
        }
    }
    return status;
}

/* The draws that the tasks of a class have kept: the last ones of each chain.  Others are earlier,
 * from where the chain was when it was interrupted before there was anything to keep. */
static phl_status restore_draws(phl_model *model, const phl_training *training, size_t class_index,
                                phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t d = model->n_draws; d-- > 0;) {
        phl_train_task *task = task_of(training, class_index, model->draws[d].chain);
        if (task == NULL || task->draws_saved == task->from->kept) {
            model->draws[d].chain = SIZE_MAX; /* no task's */
        } else {
            task->draws_saved++;
        }
    }
    for (size_t d = 0; status == PHL_OK && d < model->n_draws; d++) {
        phl_train_task *task = task_of(training, class_index, model->draws[d].chain);
        if (task != NULL) {
            phl_draw draw = model->draws[d];
            model->draws[d].params = NULL; /* the task's now */
            status = phl_train_task_add_draw(task, &draw, error);
        }
    }
    return status;
}

static phl_status check_task(const struct resumption *r, const phl_train_task *task,
                             phl_error *error)
{
    bool sampled = task->training->options.learner == PHL_LEARNER_GIBBS;
    const phl_train_task_state *from = task->from;
    return from == NULL || (task->n_trace > 0 &&
                            task->trace[task->n_trace - 1].iteration == from->iteration &&
                            task->n_draws == from->kept && sampled == (from->log_lambda0 != NULL))
               ? PHL_OK
               : phl_database_damaged(&r->database, error,
                                      "a checkpoint that does not fit its trace and draws");
}

/* Every task to where it stood, in time that grows with the file alone. */
static phl_status restore_tasks(struct resumption *r, const phl_training *training,
                                phl_error *error)
{
    size_t n = training->n_classes * training->n_chains;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = restore_state(r, &training->tasks[i], error);
    }
    if (status == PHL_OK) {
        status = restore_traces(r->known, training, error);
    }
    for (size_t i = 0; status == PHL_OK && i < training->n_classes; i++) {
        status = restore_draws(&r->known->models[i], training, i, error);
    }
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = check_task(r, &training->tasks[i], error);
    }
    return status;
}

/* What is asked for now stands in the file before anything is done, so that whoever resumes after a
 * kill goes on to the same end. */
static phl_status announce(struct resumption *r, const phl_run *run, phl_error *error)
{
    phl_database *database = &r->writer.database;
    sqlite3_stmt *update = NULL;
    phl_status status = phl_database_begin(database, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_statement_prepare(database, "UPDATE meta SET value = ?1 WHERE key = 'config'",
                                   &update, error);
    if (status == PHL_OK) {
        (void)sqlite3_bind_text(update, 1, phl_run_meta(run, "config"), -1, SQLITE_STATIC);
        status = phl_statement_run(database, update, error);
    }
    (void)sqlite3_finalize(update);
    if (status == PHL_OK) {
        status =
            phl_database_execute(database, "UPDATE class SET stop_reason = 'interrupted'", error);
    }
    if (status == PHL_OK) {
        status = phl_section_renew(database, PHL_SECTION_MODELS,
                                   &r->writer.digests[PHL_SECTION_MODELS], error);
    }
    return phl_database_end(database, status, error);
}

/* The clock goes on where it stopped. */
static void restore_clock(const phl_run *known, phl_training *training)
{
    double seconds = 0.0;
    for (size_t i = 0; i < known->n_trace; i++) {
        seconds = known->trace[i].seconds > seconds ? known->trace[i].seconds : seconds;
    }
    training->began.tv_sec -= (time_t)(seconds < 1e9 ? seconds : 1e9);
}

/* A phl_keeper's restore. */
static phl_status restore(phl_training *training, void *context, phl_error *error)
{
    struct resumption *r = context;
    if (training->n_classes != r->known->n_models ||
        !phl_alphabet_equal(&training->run->classes, &r->known->classes)) {
        return raise_here(r, error, PHL_ERR_CHANGED, NULL,
                          "the classes are not those that the run was trained on");
    }
    phl_status status = phl_pieces_restore(training, phl_run_meta(r->known, PHL_KEY_PIECE), error);
    const char *tried = phl_run_meta(r->known, PHL_KEY_STATES_TRIED);
    if (status == PHL_OK && tried != NULL) {
        status = phl_run_set_meta(training->run, PHL_KEY_STATES_TRIED, tried, error);
    }
    if (status == PHL_OK) {
        status = restore_tasks(r, training, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    restore_clock(r->known, training);
    phl_array_directory_clear(&r->directory);
    phl_database_close(&r->database);
    status = phl_run_writer_open(&r->writer, error);
    return status == PHL_OK && r->extended ? announce(r, training->run, error) : status;
}

/* A phl_keeper's save. */
static phl_status save(const phl_train_task *task, const phl_train_task_state *state, void *context,
                       phl_error *error)
{
    struct resumption *r = context;
    return phl_run_writer_save(task, state, &r->writer, error);
}

/* ---------------------------------------------------------------------------------------------
 * The call
 * ------------------------------------------------------------------------------------------- */

static const phl_resume_options defaults = {
    .size = sizeof(phl_resume_options),
    .checkpoint_seconds = 30.0,
};

void phl_resume_options_init_sized(phl_resume_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

/* Everything there is to know from the file; *finished: nothing is left to do. */
static phl_status look(struct resumption *r, const phl_resume_options *options, bool *finished,
                       phl_error *error)
{
    phl_status status = phl_run_open(r->path, &r->known, error);
    if (status == PHL_OK) {
        status = check_options(r, error);
    }
    if (status == PHL_OK) {
        status = extend(r, options->iterations, error);
    }
    if (status == PHL_OK) {
        status = phl_database_open(r->path, &r->database, error);
    }
    if (status == PHL_OK && r->database.format != PHL_RUN_FORMAT) {
        return raise_here(r, error, PHL_ERR_FORMAT,
                          "its models can be used; resume with that version, or train again",
                          "the run was written by an earlier version, whose checkpoints this one "
                          "does not read");
    }
    *finished = status == PHL_OK && !r->extended && is_finished(r->known);
    if (status != PHL_OK || *finished) {
        return status;
    }
    status = phl_section_verify(&r->database, PHL_SECTION_CHECKPOINT, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_array_directory_read(&r->database, PHL_TABLE_CHECKPOINT, &r->directory, error);
    if (status != PHL_OK) {
        return status;
    }
    if (r->directory.count == 0) {
        status = raise_here(r, error, PHL_ERR_ARGUMENT, "train anew",
                            "the run holds no checkpoint to go on from");
    }
    return status == PHL_OK ? phl_schema_walk(&r->database, error) : status;
}

static phl_status go_on(struct resumption *r, const phl_resume_options *options, phl_run **run,
                        phl_error *error)
{
    const phl_forest *forest = NULL;
    phl_keeper keeper = {
        .seconds = options->checkpoint_seconds, .restore = restore, .save = save, .context = r};
    phl_train_options train = *r->known->options;
    train.threads = options->threads;
    train.memory_limit = options->memory_limit;
    train.progress = options->progress;
    train.report = options->report;
    train.cancel = options->cancel;
    train.context = options->context;
    uint32_t *fold = NULL;
    phl_status status = find_forest(r, options->forest, &forest, error);
    if (status == PHL_OK) {
        status =
            phl_train_head_restore_folds(r->known, forest->n_trees, &fold, &train.n_folds, error);
        train.fold = fold;
    }
    if (status == PHL_OK) {
        status = phl_train_kept(forest, &train, r->known->earlier, r->known->n_earlier, &keeper,
                                run, error);
    }
    phl_free(fold);
    return status == PHL_OK ? phl_run_writer_finish(&r->writer, *run, error) : status;
}

/* A program killed right at the end may have left the log beside the file. */
static phl_status tidy(struct resumption *r, phl_error *error)
{
    bool logged = phl_database_has_log(&r->database);
    phl_database_close(&r->database);
    if (!logged) {
        return PHL_OK;
    }
    phl_status status = phl_run_writer_open(&r->writer, error);
    return status == PHL_OK ? phl_database_fold(&r->writer.database, error) : status;
}

phl_status phl_resume(const char *path, const phl_resume_options *options, phl_run **run,
                      phl_error *error)
{
    phl_resume_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_resume", error);
    if (status != PHL_OK) {
        return status;
    }
    options = &own;
    struct resumption r = {.path = path, .writer = {.path = path, .lock = -1}};
    phl_run *made = NULL;
    bool finished = false;
    status = phl_run_place_lock(path, &r.writer.lock, error);
    if (status == PHL_OK) {
        status = look(&r, options, &finished, error);
    }
    if (status == PHL_OK && finished) {
        status = tidy(&r, error);
        made = r.known;
        r.known = NULL;
    } else if (status == PHL_OK) {
        status = go_on(&r, options, &made, error);
    }
    phl_array_directory_clear(&r.directory);
    phl_database_close(&r.database);
    phl_run_writer_close(&r.writer);
    phl_forest_free(r.forest);
    phl_run_free(r.known);
    if (status != PHL_OK) {
        phl_run_free(made);
        return status;
    }
    *run = made;
    return PHL_OK;
}
