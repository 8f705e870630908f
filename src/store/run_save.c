/* run_save.c - writing a run to a new file, complete or not at all.
 *
 * The run is written to a file beside its final name, in one transaction that SQLite syncs to the
 * disk, and then put in place in one step.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/run_file.h"

/* ---------------------------------------------------------------------------------------------
 * Content
 * ------------------------------------------------------------------------------------------- */

bool phl_key_is_reserved(const char *key)
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
        status = phl_database_run(database, insert, error);
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
    phl_status status =
        phl_database_prepare(database, "INSERT INTO meta VALUES (?1, ?2)", &insert, error);
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
        phl_database_prepare(database, "INSERT INTO label VALUES (?1, ?2)", &insert, error);
    for (size_t i = 0; status == PHL_OK && i < run->labels.count; i++) {
        bind_count(insert, 1, i);
        bind_text(insert, 2, phl_alphabet_name(&run->labels, i));
        status = phl_database_run(database, insert, error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

static phl_status write_classes(const phl_database *database, const phl_run *run, phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    phl_status status = phl_database_prepare(
        database, "INSERT INTO class VALUES (?1, ?2, ?3, ?4, ?5, ?6)", &insert, error);
    for (size_t i = 0; status == PHL_OK && i < run->n_models; i++) {
        const phl_model *model = &run->models[i];
        bind_count(insert, 1, i);
        bind_text(insert, 2, phl_run_class_name(run, i)); /* NULL: no name */
        bind_count(insert, 3, model->trees);
        (void)sqlite3_bind_double(insert, 4, model->weight);
        bind_count(insert, 5, model->iterations);
        bind_text(insert, 6, model->stop_reason);
        status = phl_database_run(database, insert, error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

static phl_status write_draws(const phl_database *database, const phl_run *run, phl_error *error)
{
    sqlite3_stmt *insert = NULL, *insert_tensor = NULL;
    int64_t id = 0;
    phl_status status = phl_database_prepare(
        database, "INSERT INTO model VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", &insert, error);
    if (status == PHL_OK) {
        status = phl_database_prepare(database, PHL_INSERT_TENSOR, &insert_tensor, error);
    }
    for (size_t i = 0; i < run->n_models; i++) {
        for (size_t d = 0; status == PHL_OK && d < run->models[i].n_draws; d++, id++) {
            const phl_draw *draw = &run->models[i].draws[d];
            bind_count(insert, 1, (uint64_t)id);
            bind_count(insert, 2, i);
            bind_count(insert, 3, draw->chain);
            bind_count(insert, 4, draw->iteration);
            bind_text(insert, 5, phl_kind_name(draw->params->kind));
            bind_count(insert, 6, draw->params->soft);
            (void)sqlite3_bind_double(insert, 7, draw->log_likelihood);
            (void)sqlite3_bind_double(insert, 8, draw->log_joint);
            status = phl_database_run(database, insert, error);
            if (status == PHL_OK) {
                status = phl_draw_write(database, insert_tensor, id, draw->params, error);
            }
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

static phl_status write_trace(const phl_database *database, const phl_run *run, phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    phl_status status = phl_database_prepare(
        database, "INSERT INTO trace VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        &insert, error);
    for (size_t i = 0; status == PHL_OK && i < run->n_trace; i++) {
        const phl_trace_row *row = &run->trace[i];
        char moves[32 * PHL_MOVE_TYPES];
        bind_count(insert, 1, i);
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
        status = phl_database_run(database, insert, error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

static phl_status write_content(const phl_database *database, const phl_run *run, phl_error *error)
{
    static phl_status (*const writers[])(const phl_database *, const phl_run *, phl_error *) = {
        write_meta, write_labels, write_classes, write_draws, write_trace};
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof writers / sizeof *writers; i++) {
        status = writers[i](database, run, error);
    }
    if (status == PHL_OK && run->forest != NULL) {
        status = phl_forest_store(database, run->forest, error);
    }
    for (int part = PHL_PART_MODELS; status == PHL_OK && part <= PHL_PART_FOREST; part++) {
        status = phl_part_seal(database, (phl_part)part, error);
    }
    return status;
}

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

/* ---------------------------------------------------------------------------------------------
 * Files
 * ------------------------------------------------------------------------------------------- */

/* The path behind symbolic links, and the permissions of a file that is replaced (0: none there).
 */
static phl_status find_target(const char *path, bool replace, char **target, mode_t *mode,
                              phl_error *error)
{
    phl_position position = {path, 0, 0};
    struct stat info;
    *mode = 0;
    if (strcmp(path, "-") == 0) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "a run is a file: give its name",
                         "a run cannot be written to standard output");
    }
    if (stat(path, &info) != 0) {
        if (errno != ENOENT) {
            return phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write");
        }
        *target = phl_copy_text(path, strlen(path), error);
        return *target == NULL ? PHL_ERR_MEMORY : PHL_OK;
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
    *mode = info.st_mode & 07777;
    *target = realpath(path, NULL);
    return *target == NULL ? phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write")
                           : PHL_OK;
}

/* An empty file in the folder of `target`; its path is to be released with phl_free. */
static phl_status make_temporary(const char *target, const char *path, mode_t mode,
                                 char **temporary, phl_error *error)
{
    size_t size = strlen(target) + 48;
    char *made = phl_alloc(size, 1, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    const char *slash = strrchr(target, '/');
    int folder = slash == NULL ? 0 : (int)(slash - target + 1);
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        (void)snprintf(made, size, "%.*s.%.200s.%ld-%u.tmp", folder, target, target + folder,
                       (long)getpid(), attempt);
        int file = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0) {
            if (mode != 0) {
                (void)fchmod(file, mode);
            }
            (void)close(file);
            *temporary = made;
            return PHL_OK;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    int cause = errno;
    phl_free(made);
    return phl_raise_errno(error, PHL_ERR_WRITE, cause, path, "cannot write");
}

/* A journal or log left beside the target by a killed program belongs to the file that is no more:
 * SQLite would play it into the new one.  `scratch` is as long as a temporary name. */
static void remove_leftovers(const char *target, char *scratch)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};
    size_t length = strlen(target);
    memcpy(scratch, target, length);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        memcpy(scratch + length, endings[i], strlen(endings[i]) + 1);
        (void)unlink(scratch);
    }
}

/* Make a rename last through a power failure.  Not every file system can. */
static void sync_folder(const char *target, char *scratch)
{
    const char *slash = strrchr(target, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - target) + 1;
    memcpy(scratch, target, length);
    memcpy(scratch + length, ".", 2);
    int folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
}

/* On success the temporary name is gone. */
static phl_status put_in_place(const char *temporary, const char *target, const char *path,
                               bool replace, phl_error *error)
{
    if (!replace) {
        /* Unlike rename, link fails when somebody else has made the target meanwhile. */
        if (link(temporary, target) == 0) {
            (void)unlink(temporary);
            return PHL_OK;
        }
        if (errno == EEXIST) {
            phl_position position = {path, 0, 0};
            return phl_raise_at(error, PHL_ERR_WRITE, position,
                                "choose another name, or replace it with --force",
                                "the file exists already");
        }
    }
    return rename(temporary, target) == 0
               ? PHL_OK
               : phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write");
}

phl_status phl_run_save(const phl_run *run, const char *path, bool replace, phl_error *error)
{
    char *target = NULL, *temporary = NULL;
    mode_t mode = 0;
    phl_database database = {0};
    phl_status status = check_run(run, error);
    if (status == PHL_OK) {
        status = find_target(path, replace, &target, &mode, error);
    }
    if (status == PHL_OK) {
        status = make_temporary(target, path, mode, &temporary, error);
    }
    if (status != PHL_OK) {
        phl_free(target);
        return status;
    }
    status = phl_database_create(temporary, path, &database, error);
    if (status == PHL_OK) {
        status = write_content(&database, run, error);
    }
    if (status == PHL_OK) {
        status = phl_database_commit(&database, error);
    }
    phl_database_close(&database);
    if (status == PHL_OK) {
        status = put_in_place(temporary, target, path, replace, error);
    }
    if (status == PHL_OK) {
        remove_leftovers(target, temporary);
        sync_folder(target, temporary);
    } else {
        (void)unlink(temporary);
    }
    phl_free(temporary);
    phl_free(target);
    return status;
}
