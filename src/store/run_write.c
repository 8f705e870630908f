/* run_write.c - the content of a run as rows of its tables; see run_file.h. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "store/run_file.h"

bool phl_run_write_is_reserved(const char *key)
{
    static const char *const keys[] = {PHL_KEY_MODEL, PHL_KEY_STATES, PHL_KEY_SLOTS,
                                       PHL_KEY_PER_CLASS};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return strncmp(key, "digest", 6) == 0;
}

static void bind_text(sqlite3_stmt *statement, int parameter, const char *text)
{
    (void)sqlite3_bind_text(statement, parameter, text, -1, SQLITE_STATIC);
}

/* Counts are below 2^63: SQLite's integers have a sign. */
static void bind_count(sqlite3_stmt *statement, int parameter, uint64_t count)
{
    (void)sqlite3_bind_int64(statement, parameter,
                             count > INT64_MAX ? INT64_MAX : (sqlite3_int64)count);
}

/* A command line may hold any bytes; what is no UTF-8 is stored as \xNN. */
static phl_status append_utf8(phl_text *text, const char *bytes, phl_error *error)
{
    size_t left = strlen(bytes);
    phl_status status = PHL_OK;
    while (status == PHL_OK && left > 0) {
        size_t good = phl_utf8_check(bytes, left);
        status = phl_text_append(text, bytes, good, error);
        if (status == PHL_OK && good < left) {
            status = phl_text_append_format(text, error, "\\x%02x", (unsigned char)bytes[good]);
            good++;
        }
        bytes += good;
        left -= good;
    }
    return status == PHL_OK ? phl_text_append(text, "", 1, error) : status;
}

static phl_status write_fact(const phl_database *database, sqlite3_stmt *insert, const char *key,
                             const char *value, phl_error *error)
{
    phl_text plain = {NULL, 0, 0};
    phl_status status = append_utf8(&plain, value, error);
    if (status == PHL_OK) {
        bind_text(insert, 1, key);
        bind_text(insert, 2, plain.bytes);
        status = phl_statement_run(database, insert, error);
    }
    phl_text_clear(&plain);
    return status;
}

static phl_status write_meta(const phl_database *database, const phl_run *run, phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    char states[16], slots[16];
    (void)snprintf(states, sizeof states, "%u", run->states);
    (void)snprintf(slots, sizeof slots, "%u", run->slots);
    const char *const facts[][2] = {
        {PHL_KEY_MODEL, phl_kind_name(run->kind)},
        {PHL_KEY_STATES, states},
        {PHL_KEY_SLOTS, slots},
        {PHL_KEY_PER_CLASS, run->per_class ? "1" : "0"},
    };
    phl_status status = phl_statement_prepare(
        database, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)", &insert, error);
    for (size_t i = 0; status == PHL_OK && i < sizeof facts / sizeof *facts; i++) {
        status = write_fact(database, insert, facts[i][0], facts[i][1], error);
    }
    for (size_t i = 0; status == PHL_OK && i < run->n_meta; i++) {
        status = write_fact(database, insert, run->meta[i].key, run->meta[i].value, error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

static phl_status write_labels(const phl_database *database, const phl_run *run, phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    phl_status status =
        phl_statement_prepare(database, "INSERT INTO label VALUES (?1, ?2)", &insert, error);
    for (size_t i = 0; status == PHL_OK && i < run->labels.count; i++) {
        bind_count(insert, 1, i);
        bind_text(insert, 2, phl_alphabet_name(&run->labels, i));
        status = phl_statement_run(database, insert, error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

static phl_status write_classes(const phl_database *database, const phl_run *run, phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    phl_status status = phl_statement_prepare(
        database, "INSERT INTO class VALUES (?1, ?2, ?3, ?4, ?5, ?6)", &insert, error);
    for (size_t i = 0; status == PHL_OK && i < run->n_models; i++) {
        const phl_model *model = &run->models[i];
        bind_count(insert, 1, i);
        bind_text(insert, 2, phl_run_class_name(run, i)); /* NULL: no name */
        bind_count(insert, 3, model->trees);
        (void)sqlite3_bind_double(insert, 4, model->weight);
        bind_count(insert, 5, model->iterations);
        bind_text(insert, 6, phl_stop_reason_name(model->stop_reason));
        status = phl_statement_run(database, insert, error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

phl_status phl_run_write_model(const phl_database *database, sqlite3_stmt *insert,
                               sqlite3_stmt *insert_tensor, int64_t id, size_t class_index,
                               const phl_draw *draw, phl_error *error)
{
    bind_count(insert, 1, (uint64_t)id);
    bind_count(insert, 2, class_index);
    bind_count(insert, 3, draw->chain);
    bind_count(insert, 4, draw->iteration);
    bind_text(insert, 5, phl_kind_name(draw->params->kind));
    bind_count(insert, 6, draw->params->soft);
    (void)sqlite3_bind_double(insert, 7, draw->log_likelihood);
    (void)sqlite3_bind_double(insert, 8, draw->log_joint);
    phl_status status = phl_statement_run(database, insert, error);
    return status == PHL_OK ? phl_draw_store_write(database, insert_tensor, id, draw->params, error)
                            : status;
}

static phl_status write_draws(const phl_database *database, const phl_run *run, phl_error *error)
{
    sqlite3_stmt *insert = NULL, *insert_tensor = NULL;
    int64_t id = 0;
    phl_status status = phl_statement_prepare(database, PHL_INSERT_MODEL, &insert, error);
    if (status == PHL_OK) {
        status = phl_statement_prepare(database, PHL_INSERT_TENSOR, &insert_tensor, error);
    }
    for (size_t i = 0; i < run->n_models; i++) {
        for (size_t d = 0; status == PHL_OK && d < run->models[i].n_draws; d++, id++) {
            status = phl_run_write_model(database, insert, insert_tensor, id, i,
                                         &run->models[i].draws[d], error);
        }
    }
    (void)sqlite3_finalize(insert_tensor);
    (void)sqlite3_finalize(insert);
    return status;
}

/* [[tried,changed],...], or NULL when nothing was tried. */
static const char *moves_text(const phl_trace_row *row, char *text, size_t size)
{
    bool any = false;
    size_t used = 0;
    for (int move = 0; move < PHL_MOVE_TYPES; move++) {
        any = any || row->tried[move] != 0 || row->changed[move] != 0;
        used += (size_t)snprintf(text + used, size - used, "%s[%u,%u]", move > 0 ? "," : "[",
                                 row->tried[move], row->changed[move]);
    }
    (void)snprintf(text + used, size - used, "]");
    return any ? text : NULL;
}

phl_status phl_run_write_trace(const phl_database *database, sqlite3_stmt *insert, int64_t id,
                               const phl_trace_row *row, phl_error *error)
{
    char moves[32 * PHL_MOVE_TYPES];
    bind_count(insert, 1, (uint64_t)id);
    bind_count(insert, 2, row->class_index);
    bind_count(insert, 3, row->chain);
    bind_count(insert, 4, row->iteration);
    (void)sqlite3_bind_double(insert, 5, row->temperature);
    (void)sqlite3_bind_double(insert, 6, row->log_likelihood);
    (void)sqlite3_bind_double(insert, 7, row->log_joint);
    (void)sqlite3_bind_double(insert, 8, row->seconds);
    bind_count(insert, 9, row->active);
    bind_count(insert, 10, row->sum_size);
    bind_text(insert, 11, moves_text(row, moves, sizeof moves));
    return phl_statement_run(database, insert, error);
}

static phl_status write_trace(const phl_database *database, const phl_run *run, phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    phl_status status = phl_statement_prepare(database, PHL_INSERT_TRACE, &insert, error);
    for (size_t i = 0; status == PHL_OK && i < run->n_trace; i++) {
        status = phl_run_write_trace(database, insert, (int64_t)i, &run->trace[i], error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

phl_status phl_run_write_alone(phl_database *database, const phl_run *run, const phl_forest *forest,
                               phl_error *error)
{
    static phl_status (*const writers[])(const phl_database *, const phl_run *, phl_error *) = {
        write_meta, write_labels, write_classes, write_draws, write_trace};
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof writers / sizeof *writers; i++) {
        status = writers[i](database, run, error);
    }
    if (status == PHL_OK && forest != NULL) {
        status = phl_forest_store(database, forest, error);
    }
    if (status == PHL_OK) {
        status = phl_head_store(database, run->head, error);
    }
    if (status == PHL_OK) {
        status = phl_expert_store(database, run->expert, error);
    }
    if (status == PHL_OK) {
        status = phl_shape_store(database, run->shapes, error);
    }
    for (int section = 0; status == PHL_OK && section < PHL_SECTIONS; section++) {
        status = phl_section_renew(database, (phl_section)section, NULL, error);
    }
    return status;
}

phl_status phl_run_write(phl_database *database, const phl_run *run, const phl_forest *forest,
                         phl_error *error)
{
    phl_status status = phl_run_write_alone(database, run, forest, error);
    if (status == PHL_OK && run->n_members > 0) {
        status = phl_members_store(database, run, error);
        if (status == PHL_OK) {
            status = phl_section_renew(database, PHL_SECTION_MEMBERS, NULL, error);
        }
    }
    return status;
}

phl_status phl_run_write_again(phl_database *database, const phl_run *run, phl_error *error)
{
    phl_status status =
        phl_database_execute(database,
                             "DELETE FROM trace; DELETE FROM tensor; DELETE FROM model; "
                             "DELETE FROM class; DELETE FROM head",
                             error);
    if (status == PHL_OK) { /* facts that are known at the end only */
        status = write_meta(database, run, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    status = write_classes(database, run, error);
    if (status != PHL_OK) {
        return status;
    }
    status = write_draws(database, run, error);
    if (status != PHL_OK) {
        return status;
    }
    status = write_trace(database, run, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_head_store(database, run->head, error);
    static const phl_section changed[] = {PHL_SECTION_MODELS, PHL_SECTION_TRACE, PHL_SECTION_HEAD};
    for (size_t i = 0; status == PHL_OK && i < sizeof changed / sizeof *changed; i++) {
        status = phl_section_renew(database, changed[i], NULL, error);
    }
    return status;
}
