/* run_merge.c - pieces of a training put together; see phl_merge in phloem.h.
 *
 * The pieces become one run file that looks like a training interrupted after its last task, with
 * the checkpoint of every task.  Resuming that file does what needs all tasks, and nothing else is
 * left to do.
 */
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "store/checkpoint.h"
#include "train/pieces.h"
#include "train/train_config.h"

struct piece {
    const char *path;
    phl_run *run;
    bool *own; /* [tasks] */
    phl_database database;
    phl_array_directory checkpoints;
};

struct merge {
    size_t n, n_chains, n_tasks;
    struct piece *pieces; /* [n] */
    size_t *piece_of;     /* [tasks] SIZE_MAX: none */
};

/* ---------------------------------------------------------------------------------------------
 * Do they belong together?
 * ------------------------------------------------------------------------------------------- */

static phl_status refuse(const struct piece *piece, phl_status status, const char *remedy,
                         const char *message, phl_error *error)
{
    phl_position position = {piece->path, 0, 0};
    return phl_raise_at(error, status, position, remedy, "%s", message);
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_fact(const struct piece *a, const struct piece *b, const char *key)
{
    return same_text(phl_run_meta(a->run, key), phl_run_meta(b->run, key));
}

/* Is it a piece, of the training that the first one is of? */
static phl_status check_piece(const struct piece *piece, const struct piece *first,
                              phl_error *error)
{
    static const struct {
        const char *key, *message;
    } facts[] = {
        {"fingerprint_ordered", "this piece was trained on other trees, or in another order"},
        {"seed", "this piece was trained with another seed"},
        {"config", "this piece was trained with other options"},
        {"partition", "this piece was trained with another partition"},
    };
    const char *version = phl_run_meta(piece->run, "version");
    if (phl_run_meta(piece->run, PHL_KEY_PIECE) == NULL) {
        return refuse(piece, PHL_ERR_CHANGED, NULL, "this run is whole, not a piece of a training",
                      error);
    }
    if (!same_text(version, phl_version())) {
        return refuse(piece, PHL_ERR_CHANGED, "merge with the version that trained the pieces",
                      "this piece was trained by another version", error);
    }
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!same_fact(piece, first, facts[i].key)) {
            return refuse(piece, PHL_ERR_CHANGED, "leave it out, or train it again like the others",
                          facts[i].message, error);
        }
    }
    return phl_alphabet_equal(&piece->run->labels, &first->run->labels) &&
                   phl_alphabet_equal(&piece->run->classes, &first->run->classes)
               ? PHL_OK
               : refuse(piece, PHL_ERR_CHANGED, NULL,
                        "this piece has other labels or classes than the first one", error);
}

/* "class 3, chain 2", as far as there are several. */
static void name_task(const struct merge *merge, size_t task, char *text, size_t size)
{
    const phl_run *run = merge->pieces[0].run;
    const char *name = phl_run_class_name(run, task / merge->n_chains);
    (void)phl_remedy(text, size, "%s%.100s%schain or restart %zu", name == NULL ? "" : "class ",
                     name == NULL ? "" : name, name == NULL ? "" : ", ",
                     task % merge->n_chains + 1);
}

static phl_status take_tasks(struct merge *merge, size_t number, phl_error *error)
{
    struct piece *piece = &merge->pieces[number];
    char name[200];
    piece->own = phl_alloc_zero(merge->n_tasks, sizeof *piece->own, error);
    phl_status status = piece->own == NULL
                            ? PHL_ERR_MEMORY
                            : phl_pieces_read(phl_run_meta(piece->run, PHL_KEY_PIECE),
                                              merge->n_tasks, piece->own, error);
    for (size_t i = 0; status == PHL_OK && i < merge->n_tasks; i++) {
        if (piece->own[i] && merge->piece_of[i] != SIZE_MAX) {
            phl_position position = {piece->path, 0, 0};
            name_task(merge, i, name, sizeof name);
            return phl_raise_at(error, PHL_ERR_ARGUMENT, position, "leave one of them out",
                                "%s is in this piece and in %.200s", name,
                                merge->pieces[merge->piece_of[i]].path);
        }
        merge->piece_of[i] = piece->own[i] ? number : merge->piece_of[i];
    }
    return status;
}

static phl_status check_finished(const struct piece *piece, phl_error *error)
{
    for (size_t i = 0; i < piece->run->n_models; i++) {
        if (piece->run->models[i].stop_reason == PHL_STOP_INTERRUPTED) {
            return refuse(piece, PHL_ERR_ARGUMENT,
                          "finish it with " PHL_CALL(
                              "phl_resume") ", or "
                                            "take what there is: " PHL_OPTION("merge.partial"),
                          "the training of this piece is not finished", error);
        }
    }
    return PHL_OK;
}

static phl_status check_missing(const struct merge *merge, bool partial, size_t *missing,
                                phl_error *error)
{
    char name[200] = "";
    *missing = 0;
    for (size_t i = 0; i < merge->n_tasks; i++) {
        if (merge->piece_of[i] == SIZE_MAX && (*missing)++ == 0) {
            name_task(merge, i, name, sizeof name);
        }
    }
    return *missing == 0 || partial
               ? PHL_OK
               : phl_raise(error, PHL_ERR_ARGUMENT,
                           "give the pieces that are missing, or train them later: " PHL_OPTION(
                               "merge.partial"),
                           "%zu of %zu tasks are in none of the pieces, the first of them: %s",
                           *missing, merge->n_tasks, name);
}

static phl_status open_piece(struct merge *merge, size_t number, phl_error *error)
{
    struct piece *piece = &merge->pieces[number];
    phl_status status = phl_run_open(piece->path, &piece->run, error);
    if (status == PHL_OK) {
        status = check_piece(piece, &merge->pieces[0], error);
    }
    if (status == PHL_OK && piece->run->options == NULL) {
        status = phl_train_config_restore(piece->run, error);
    }
    return status;
}

static phl_status count_tasks(struct merge *merge, phl_error *error)
{
    const phl_run *run = merge->pieces[0].run;
    merge->n_chains = phl_pieces_chains(run->options);
    merge->n_tasks = phl_times(run->n_models, merge->n_chains);
    merge->piece_of = phl_alloc(merge->n_tasks, sizeof *merge->piece_of, error);
    for (size_t i = 0; merge->piece_of != NULL && i < merge->n_tasks; i++) {
        merge->piece_of[i] = SIZE_MAX;
    }
    return merge->piece_of == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

static phl_status gather(struct merge *merge, bool partial, size_t *missing, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < merge->n; i++) {
        status = open_piece(merge, i, error);
    }
    if (status == PHL_OK) {
        status = count_tasks(merge, error);
    }
    for (size_t i = 0; status == PHL_OK && i < merge->n; i++) {
        status = take_tasks(merge, i, error);
        if (status == PHL_OK && !partial) {
            status = check_finished(&merge->pieces[i], error);
        }
    }
    return status == PHL_OK ? check_missing(merge, partial, missing, error) : status;
}

static void clear_merge(struct merge *merge)
{
    for (size_t i = 0; merge->pieces != NULL && i < merge->n; i++) {
        struct piece *piece = &merge->pieces[i];
        phl_array_directory_clear(&piece->checkpoints);
        phl_database_close(&piece->database);
        phl_run_free(piece->run);
        phl_free(piece->own);
    }
    phl_free(merge->pieces);
    phl_free(merge->piece_of);
}

/* ---------------------------------------------------------------------------------------------
 * The run
 * ------------------------------------------------------------------------------------------- */

/* The draws of a class go into the run: all of a sampler's and a grammar's, those of EM that have
 * the best objective. */
static phl_status move_draws(const struct merge *merge, size_t class_index, phl_model *model,
                             phl_error *error)
{
    const phl_run *first = merge->pieces[0].run;
    bool best_alone = first->kind != PHL_GRAMMAR && first->options->learner == PHL_LEARNER_EM;
    phl_draw *best = NULL;
    phl_status status = PHL_OK;
    for (size_t task = 0; status == PHL_OK && task < merge->n_chains; task++) {
        size_t from = merge->piece_of[class_index * merge->n_chains + task];
        phl_model *part = from == SIZE_MAX ? NULL : &merge->pieces[from].run->models[class_index];
        for (size_t d = 0; status == PHL_OK && part != NULL && d < part->n_draws; d++) {
            phl_draw *draw = &part->draws[d];
            if (draw->chain != task || draw->params == NULL) {
                continue;
            }
            if (best_alone) {
                best = best == NULL || draw->log_joint > best->log_joint ? draw : best;
                continue;
            }
            phl_draw moved = *draw;
            draw->params = NULL;
            status = phl_model_add_draw(model, &moved, error);
        }
    }
    if (best == NULL || status != PHL_OK) {
        return status;
    }
    phl_draw moved = *best;
    best->params = NULL;
    return phl_model_add_draw(model, &moved, error);
}

static phl_status fill_models(const struct merge *merge, phl_run *run, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t c = 0; status == PHL_OK && c < run->n_models; c++) {
        const phl_model *known = &merge->pieces[0].run->models[c];
        run->models[c].trees = known->trees;
        run->models[c].weight = known->weight;
        for (size_t i = 0; i < merge->n; i++) {
            uint64_t iterations = merge->pieces[i].run->models[c].iterations;
            run->models[c].iterations =
                iterations > run->models[c].iterations ? iterations : run->models[c].iterations;
        }
        status = move_draws(merge, c, &run->models[c], error);
    }
    for (size_t i = 0; status == PHL_OK && i < merge->n; i++) {
        const phl_run *piece = merge->pieces[i].run;
        for (size_t t = 0; status == PHL_OK && t < piece->n_trace; t++) {
            status = phl_run_add_trace(run, &piece->trace[t], error);
        }
    }
    return status == PHL_OK ? phl_trace_order(run, error) : status;
}

/* An interrupted run with everything that the pieces have, but for checkpoints. */
static phl_status make_run(const struct merge *merge, phl_run **made, phl_error *error)
{
    const phl_run *first = merge->pieces[0].run;
    phl_run *run = NULL;
    phl_status status = phl_run_create(first->kind, first->states, first->slots, &first->labels,
                                       &first->classes, first->per_class, &run, error);
    if (status != PHL_OK) {
        return status;
    }
    for (size_t i = 0; status == PHL_OK && i < first->n_meta; i++) {
        if (strcmp(first->meta[i].key, PHL_KEY_PIECE) != 0) {
            status = phl_run_set_meta(run, first->meta[i].key, first->meta[i].value, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_run_set_options(run, first->options, first->earlier, first->n_earlier, error);
    }
    if (status == PHL_OK) {
        status = fill_models(merge, run, error);
    }
    if (status == PHL_OK && first->shapes != NULL) {
        status = phl_shape_model_clone(first->shapes, &run->shapes, error);
    }
    if (status != PHL_OK) {
        phl_run_free(run);
        return status;
    }
    *made = run;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The file
 * ------------------------------------------------------------------------------------------- */

static phl_status open_databases(const struct merge *merge, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < merge->n; i++) {
        struct piece *piece = &merge->pieces[i];
        status = phl_database_open(piece->path, &piece->database, error);
        if (status == PHL_OK) {
            status = phl_section_verify(&piece->database, PHL_SECTION_CHECKPOINT, error);
        }
        if (status == PHL_OK) {
            status = phl_array_directory_read(&piece->database, PHL_TABLE_CHECKPOINT,
                                              &piece->checkpoints, error);
        }
    }
    return status;
}

static phl_status copy_checkpoint(const struct merge *merge, size_t task,
                                  const phl_database *database, sqlite3_stmt *insert,
                                  phl_error *error)
{
    const struct piece *piece = &merge->pieces[merge->piece_of[task]];
    const phl_run *run = piece->run;
    phl_draw_kind kind = {run->kind, false, run->states, run->slots, (uint32_t)run->labels.count};
    int64_t owner = phl_checkpoint_owner(task / merge->n_chains, task % merge->n_chains);
    phl_train_task_state *state = NULL;
    phl_status status =
        phl_checkpoint_read(&piece->database, &piece->checkpoints, owner, &kind, &state, error);
    if (status != PHL_OK || state == NULL) { /* not begun */
        return status;
    }
    status = phl_checkpoint_write(database, insert, owner, state, error);
    phl_train_task_state_clear(state);
    phl_free(state);
    return status;
}

/* A phl_more_fn. */
static phl_status copy_checkpoints(phl_database *database, void *context, phl_error *error)
{
    const struct merge *merge = context;
    sqlite3_stmt *insert = NULL;
    phl_status status = phl_statement_prepare(database, PHL_INSERT_CHECKPOINT, &insert, error);
    for (size_t i = 0; status == PHL_OK && i < merge->n_tasks; i++) {
        if (merge->piece_of[i] != SIZE_MAX) {
            status = copy_checkpoint(merge, i, database, insert, error);
        }
    }
    (void)sqlite3_finalize(insert);
    return status == PHL_OK ? phl_section_renew(database, PHL_SECTION_CHECKPOINT, NULL, error)
                            : status;
}

/* The trees, from the first piece that holds them; NULL: none does.  Those of the others are looked
 * at, too: a piece with a damaged part is not to be trusted. */
static phl_status find_forest(const struct merge *merge, phl_forest **forest, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < merge->n; i++) {
        phl_forest *found = NULL;
        status = phl_forest_store_load(&merge->pieces[i].database, &found, error);
        if (*forest == NULL) {
            *forest = found;
        } else {
            phl_forest_free(found);
        }
    }
    return status;
}

static phl_status write_run(const struct merge *merge, const phl_run *run, bool replace,
                            bool need_forest, const char *path, phl_error *error)
{
    int lock = -1;
    phl_forest *forest = NULL;
    phl_status status = open_databases(merge, error);
    if (status == PHL_OK) {
        status = find_forest(merge, &forest, error);
    }
    if (status == PHL_OK && forest == NULL && need_forest) {
        status = phl_raise(error, PHL_ERR_ARGUMENT,
                           "give the trees they were trained on: " PHL_OPTION("merge.forest"),
                           "none of the pieces holds its trees");
    }
    if (status == PHL_OK) {
        status = phl_run_place_begin(path, replace, &lock, error);
    }
    if (status == PHL_OK) {
        status =
            phl_run_save_with(run, forest, copy_checkpoints, (void *)merge, path, &lock, error);
    }
    phl_run_place_unlock(&lock);
    phl_forest_free(forest);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The call
 * ------------------------------------------------------------------------------------------- */

static const phl_merge_options defaults = {.size = sizeof(phl_merge_options)};

void phl_merge_options_init_sized(phl_merge_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

/* The pieces as one file; *complete: all tasks are there. */
static phl_status join(const char *const *paths, size_t n_paths, const phl_merge_options *options,
                       const char *path, bool *complete, phl_run **run, phl_error *error)
{
    struct merge merge = {.n = n_paths,
                          .pieces = phl_alloc_zero(n_paths, sizeof(struct piece), error)};
    phl_run *made = NULL;
    size_t missing = 0;
    phl_status status = merge.pieces == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n_paths; i++) {
        merge.pieces[i].path = paths[i];
    }
    if (status == PHL_OK) {
        status = gather(&merge, options->partial, &missing, error);
    }
    if (status == PHL_OK) {
        status = make_run(&merge, &made, error);
    }
    if (status == PHL_OK) {
        *complete = missing == 0 && !options->partial && !options->no_finish;
        status = write_run(&merge, made, options->replace, *complete && options->forest == NULL,
                           path, error);
    }
    clear_merge(&merge);
    if (status != PHL_OK) {
        phl_run_free(made);
        return status;
    }
    *run = made;
    return PHL_OK;
}

phl_status phl_merge(const char *const *paths, size_t n_paths, const phl_merge_options *options,
                     const char *path, phl_run **run, phl_error *error)
{
    phl_merge_options own;
    phl_run *made = NULL, *finished = NULL;
    bool complete = false;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_merge", error);
    if (status == PHL_OK && n_paths == 0) {
        status = phl_raise(error, PHL_ERR_ARGUMENT, NULL, "there are no pieces to merge");
    }
    if (status == PHL_OK) {
        status = join(paths, n_paths, &own, path, &complete, &made, error);
    }
    if (status != PHL_OK || !complete) {
        if (status == PHL_OK) {
            *run = made;
        }
        return status;
    }
    phl_run_free(made);
    phl_resume_options resume;
    phl_resume_options_init(&resume);
    resume.threads = own.threads;
    resume.forest = own.forest;
    resume.memory_limit = own.memory_limit;
    resume.progress = own.progress;
    resume.report = own.report;
    resume.cancel = own.cancel;
    resume.context = own.context;
    status = phl_resume(path, &resume, &finished, error);
    if (status == PHL_OK) {
        *run = finished;
    }
    return status;
}
