/* run_writer.c - a run file that is written as training goes on, and always holds what was reached;
 * see checkpoint.h. */
#include <string.h>

#include "store/checkpoint.h"

/* Waiting for the disk takes longer than most of what is written: at most so often. */
#define SYNC_SECONDS 1.0

static phl_status count_rows(const phl_database *database, const char *select, int64_t *count,
                             phl_error *error)
{
    sqlite3_stmt *statement = NULL;
    bool row = false;
    phl_status status = phl_statement_prepare(database, select, &statement, error);
    if (status == PHL_OK) {
        status = phl_statement_step(database, statement, &row, error);
    }
    if (status == PHL_OK) {
        status = phl_statement_int(database, statement, 0, 0, INT64_MAX - 1, count, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static phl_status prepare(phl_run_writer *writer, phl_error *error)
{
    const struct {
        const char *sql;
        sqlite3_stmt **statement;
    } statements[] = {
        {PHL_INSERT_TRACE, &writer->trace},
        {PHL_INSERT_MODEL, &writer->model},
        {PHL_INSERT_TENSOR, &writer->tensor},
        {"DELETE FROM checkpoint WHERE class = ?1 AND chain = ?2", &writer->forget},
        {PHL_INSERT_CHECKPOINT, &writer->checkpoint},
        {"UPDATE class SET iterations = ?2 WHERE id = ?1", &writer->progress},
    };
    static const struct {
        phl_schema_number table;
        const char *where;
    } digested[] = {
        {PHL_TABLE_CLASS, "id = ?1"},
        {PHL_TABLE_MODEL, "id = ?1"},
        {PHL_TABLE_TENSOR, "model = ?1"},
        {PHL_TABLE_TRACE, "id >= ?1"},
        {PHL_TABLE_CHECKPOINT, "class = ?1 AND chain = ?2"},
    };
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof statements / sizeof *statements; i++) {
        status = phl_statement_prepare(&writer->database, statements[i].sql,
                                       statements[i].statement, error);
    }
    for (size_t i = 0; status == PHL_OK && i < sizeof digested / sizeof *digested; i++) {
        phl_schema_number table = digested[i].table;
        status = phl_schema_select(&writer->database, table, digested[i].where,
                                   &writer->digested[table], error);
    }
    return status;
}

static void unprepare(phl_run_writer *writer)
{
    sqlite3_stmt **const statements[] = {&writer->trace,  &writer->model,      &writer->tensor,
                                         &writer->forget, &writer->checkpoint, &writer->progress};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        (void)sqlite3_finalize(*statements[i]);
        *statements[i] = NULL;
    }
    for (int i = 0; i < PHL_SCHEMA_TABLES; i++) {
        (void)sqlite3_finalize(writer->digested[i]);
        writer->digested[i] = NULL;
    }
}

phl_status phl_run_writer_open(phl_run_writer *writer, phl_error *error)
{
    phl_database *database = &writer->database;
    phl_status status = phl_database_open_writing(writer->path, writer->lock, database, error);
    writer->is_open = true;
    if (status != PHL_OK) {
        return status;
    }
    status = prepare(writer, error);
    if (status != PHL_OK) {
        return status;
    }
    status = count_rows(database, "SELECT count(*) FROM trace", &writer->n_traces, error);
    if (status != PHL_OK) {
        return status;
    }
    status = count_rows(database, "SELECT count(*) FROM model", &writer->n_models, error);
    for (int section = 0; status == PHL_OK && section < PHL_SECTIONS; section++) {
        status =
            phl_section_digest(database, (phl_section)section, &writer->digests[section], error);
    }
    return status;
}

void phl_run_writer_close(phl_run_writer *writer)
{
    unprepare(writer);
    if (writer->is_open) {
        phl_database_close(&writer->database);
        writer->is_open = false;
    }
    phl_run_place_unlock(&writer->lock);
}

/* Rows enter a digest, or leave it before they change. */
static phl_status digest_rows(phl_run_writer *writer, phl_schema_number table, int64_t first,
                              int64_t second, bool leave, phl_error *error)
{
    phl_section section = table == PHL_TABLE_TRACE        ? PHL_SECTION_TRACE
                          : table == PHL_TABLE_CHECKPOINT ? PHL_SECTION_CHECKPOINT
                                                          : PHL_SECTION_MODELS;
    sqlite3_stmt *select = writer->digested[table];
    (void)sqlite3_bind_int64(select, 1, first);
    if (sqlite3_bind_parameter_count(select) > 1) {
        (void)sqlite3_bind_int64(select, 2, second);
    }
    phl_digest *digest = &writer->digests[section];
    return leave ? phl_digest_remove(&writer->database, table, select, digest, error)
                 : phl_digest_add(&writer->database, table, select, digest, error);
}

static phl_status write_traces(phl_run_writer *writer, const phl_train_task *task, phl_error *error)
{
    int64_t first = writer->n_traces;
    phl_status status = PHL_OK;
    for (size_t i = task->trace_saved; status == PHL_OK && i < task->n_trace; i++) {
        status = phl_run_write_trace(&writer->database, writer->trace, writer->n_traces++,
                                     &task->trace[i], error);
    }
    return status == PHL_OK ? digest_rows(writer, PHL_TABLE_TRACE, first, 0, false, error) : status;
}

static phl_status write_draws(phl_run_writer *writer, const phl_train_task *task, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = task->draws_saved; status == PHL_OK && i < task->n_draws; i++) {
        int64_t id = writer->n_models++;
        status = phl_run_write_model(&writer->database, writer->model, writer->tensor, id,
                                     task->class_index, &task->draws[i], error);
        if (status == PHL_OK) {
            status = digest_rows(writer, PHL_TABLE_MODEL, id, 0, false, error);
        }
        if (status == PHL_OK) {
            status = digest_rows(writer, PHL_TABLE_TENSOR, id, 0, false, error);
        }
    }
    return status;
}

/* The checkpoint of a task in place of the one before. */
static phl_status write_state(phl_run_writer *writer, const phl_train_task *task,
                              const phl_train_task_state *state, phl_error *error)
{
    const phl_database *database = &writer->database;
    int64_t class_index = (int64_t)task->class_index, chain = (int64_t)task->chain;
    phl_status status = digest_rows(writer, PHL_TABLE_CHECKPOINT, class_index, chain, true, error);
    if (status == PHL_OK) {
        (void)sqlite3_bind_int64(writer->forget, 1, class_index);
        (void)sqlite3_bind_int64(writer->forget, 2, chain);
        status = phl_statement_run(database, writer->forget, error);
    }
    if (status == PHL_OK) {
        status = phl_checkpoint_write(database, writer->checkpoint,
                                      phl_checkpoint_owner(task->class_index, task->chain), state,
                                      error);
    }
    return status == PHL_OK
               ? digest_rows(writer, PHL_TABLE_CHECKPOINT, class_index, chain, false, error)
               : status;
}

static phl_status write_progress(phl_run_writer *writer, const phl_train_task *task,
                                 const phl_train_task_state *state, phl_error *error)
{
    int64_t class_index = (int64_t)task->class_index;
    phl_status status = digest_rows(writer, PHL_TABLE_CLASS, class_index, 0, true, error);
    if (status == PHL_OK) {
        (void)sqlite3_bind_int64(writer->progress, 1, class_index);
        (void)sqlite3_bind_int64(writer->progress, 2, (sqlite3_int64)state->iteration);
        status = phl_statement_run(&writer->database, writer->progress, error);
    }
    return status == PHL_OK ? digest_rows(writer, PHL_TABLE_CLASS, class_index, 0, false, error)
                            : status;
}

/* What is new of a task, within a transaction. */
static phl_status write_news(phl_run_writer *writer, const phl_train_task *task,
                             const phl_train_task_state *state, phl_error *error)
{
    static const phl_section changed[] = {PHL_SECTION_MODELS, PHL_SECTION_TRACE,
                                          PHL_SECTION_CHECKPOINT};
    phl_status status = write_traces(writer, task, error);
    if (status != PHL_OK) {
        return status;
    }
    status = write_draws(writer, task, error);
    if (status != PHL_OK) {
        return status;
    }
    status = write_state(writer, task, state, error);
    if (status != PHL_OK) {
        return status;
    }
    status = write_progress(writer, task, state, error);
    for (size_t i = 0; status == PHL_OK && i < sizeof changed / sizeof *changed; i++) {
        status =
            phl_section_seal(&writer->database, changed[i], &writer->digests[changed[i]], error);
    }
    return status;
}

/* Where there is something to go on from, say so. */
static phl_status suggest_resume(const phl_run_writer *writer, phl_status status, phl_error *error)
{
    if (status == PHL_ERR_WRITE && error != NULL && error->remedy[0] == '\0') {
        phl_error known = *error;
        phl_position position = {writer->path, 0, 0};
        return phl_raise_at(
            error, status, position,
            "when that is fixed, " PHL_CALL("phl_resume") " goes on from the last checkpoint", "%s",
            known.message);
    }
    return status;
}

/* What a new file begins with beside the run: the first checkpoint. */
struct beginning {
    phl_run_writer *writer;
    const phl_train_task *task;
    const phl_train_task_state *state;
};

static phl_status write_beginning(phl_database *database, void *context, phl_error *error)
{
    const struct beginning *beginning = context;
    phl_run_writer *writer = beginning->writer;
    writer->database = *database;
    phl_status status = prepare(writer, error);
    for (int section = 0; status == PHL_OK && section < PHL_SECTIONS; section++) {
        status =
            phl_section_digest(database, (phl_section)section, &writer->digests[section], error);
    }
    if (status == PHL_OK) {
        status = write_news(writer, beginning->task, beginning->state, error);
    }
    unprepare(writer);
    memset(&writer->database, 0, sizeof writer->database); /* the caller's */
    writer->n_traces = writer->n_models = 0; /* counted again when the file is opened */
    return status;
}

/* A transaction, in the file that has the name; `durable`: on the disk when it ends.  Any other is
 * the system's to write: the end of this program does it no harm, and a power cut takes away that
 * one and those after it, as if they had not been. */
static phl_status begin(const phl_run_writer *writer, bool durable, phl_error *error)
{
    phl_status status = phl_run_place_check(writer->path, writer->lock, error);
    if (status == PHL_OK) {
        status = phl_database_execute(
            &writer->database,
            durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", error);
    }
    return status == PHL_OK ? phl_database_begin(&writer->database, error) : status;
}

phl_status phl_run_writer_save(const phl_train_task *task, const phl_train_task_state *state,
                               void *context, phl_error *error)
{
    phl_run_writer *writer = context;
    if (!writer->is_open) {
        struct beginning beginning = {writer, task, state};
        phl_status status = phl_run_save_with(task->training->run, writer->forest, write_beginning,
                                              &beginning, writer->path, &writer->lock, error);
        if (status != PHL_OK) {
            return status;
        }
        return suggest_resume(writer, phl_run_writer_open(writer, error), error);
    }
    phl_run_writer before = *writer;
    double seconds = phl_train_task_seconds(task);
    bool durable = seconds >= writer->synced_at + SYNC_SECONDS;
    phl_status status = begin(writer, durable, error);
    if (status == PHL_OK) {
        status = write_news(writer, task, state, error);
        status = phl_database_end(&writer->database, status, error);
    }
    if (status != PHL_OK) { /* taken back; other tasks may still come */
        writer->n_traces = before.n_traces;
        writer->n_models = before.n_models;
        memcpy(writer->digests, before.digests, sizeof writer->digests);
    } else if (durable) {
        writer->synced_at = seconds;
    }
    return suggest_resume(writer, status, error);
}

phl_status phl_run_writer_finish(phl_run_writer *writer, const phl_run *run, phl_error *error)
{
    PHL_CHECK_BUG(writer->is_open, error);
    phl_status status = begin(writer, true, error);
    if (status == PHL_OK) {
        status = phl_run_write_again(&writer->database, run, error);
        if (status == PHL_OK) {
            status = phl_run_open_check(&writer->database, error);
        }
        status = phl_database_end(&writer->database, status, error);
    }
    if (status == PHL_OK) {
        status = phl_database_fold(&writer->database, error);
    }
    return suggest_resume(writer, status, error);
}
