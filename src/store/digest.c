/* digest.c - digests over the rows of a run; see database.h, and docs/run-file.md for the bytes. */
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "store/database.h"

/* A table's share of a digest: the first `columns` columns of every row. */
struct source {
    phl_run_part part;
    const char *name;
    const char *select;
    int columns;
};

static const struct source sources[] = {
    {PHL_PART_MODELS, "meta", PHL_SELECT_META, 2},
    {PHL_PART_MODELS, "label", PHL_SELECT_LABEL, 2},
    {PHL_PART_MODELS, "class", PHL_SELECT_CLASS, 6},
    {PHL_PART_MODELS, "model", PHL_SELECT_MODEL, 8},
    {PHL_PART_MODELS, "tensor", PHL_SELECT_TENSOR, 7},
    {PHL_PART_TRACE, "trace", PHL_SELECT_TRACE, 11},
    {PHL_PART_FOREST, "forest", PHL_SELECT_FOREST, 7},
    {PHL_PART_CHECKPOINT, "checkpoint", PHL_SELECT_CHECKPOINT, 7},
};

const char *phl_part_key(phl_run_part part)
{
    static const char *const keys[] = {"digest", "digest_trace", "digest_forest",
                                       "digest_checkpoint"};
    return keys[part];
}

static bool is_digest_key(const char *key)
{
    for (int part = 0; part < PHL_RUN_PARTS; part++) {
        if (strcmp(key, phl_part_key((phl_run_part)part)) == 0) {
            return true;
        }
    }
    return false;
}

static void add_number(phl_sha256 *sha, char tag, uint64_t bits)
{
    unsigned char bytes[9] = {(unsigned char)tag};
    for (int i = 0; i < 8; i++) {
        bytes[1 + i] = (unsigned char)(bits >> (8 * i));
    }
    phl_sha256_add(sha, bytes, sizeof bytes);
}

static void add_bytes(phl_sha256 *sha, char tag, const void *bytes, size_t length)
{
    add_number(sha, tag, length);
    if (length > 0) {
        phl_sha256_add(sha, bytes, length);
    }
}

/* One value: a letter for its type, then 8 bytes or a length and bytes. */
static phl_status add_value(const phl_database *database, sqlite3_stmt *statement, int column,
                            phl_sha256 *sha, phl_error *error)
{
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_INTEGER) {
        add_number(sha, 'i', (uint64_t)sqlite3_column_int64(statement, column));
    } else if (type == SQLITE_FLOAT) {
        double value = sqlite3_column_double(statement, column);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        add_number(sha, 'r', bits);
    } else if (type == SQLITE_NULL) {
        phl_sha256_add(sha, "n", 1);
    } else {
        const void *bytes = sqlite3_column_blob(statement, column);
        size_t length = (size_t)sqlite3_column_bytes(statement, column);
        if (bytes == NULL && length > 0) {
            return phl_database_raise(database, SQLITE_NOMEM, error);
        }
        add_bytes(sha, type == SQLITE_TEXT ? 't' : 'b', bytes, length);
    }
    return PHL_OK;
}

/* All rows, or where `next` is given those from number *next on, which goes with them. */
static phl_status add_rows(const phl_database *database, const struct source *source, int64_t *next,
                           phl_sha256 *sha, phl_error *error)
{
    sqlite3_stmt *statement = NULL;
    bool row = false;
    bool meta = strcmp(source->name, "meta") == 0;
    phl_status status = phl_database_prepare(database, source->select, &statement, error);
    if (status == PHL_OK && next != NULL) {
        (void)sqlite3_bind_int64(statement, 1, *next);
    }
    while (status == PHL_OK &&
           (status = phl_database_step(database, statement, &row, error)) == PHL_OK && row) {
        const char *key = meta ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        if (key != NULL && is_digest_key(key)) {
            continue; /* a digest does not hold itself */
        }
        for (int column = 0; status == PHL_OK && column < source->columns; column++) {
            status = add_value(database, statement, column, sha, error);
        }
        if (next != NULL) {
            *next = sqlite3_column_int64(statement, 0) + 1;
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static phl_status add_table(const phl_database *database, const struct source *source,
                            phl_sha256 *sha, phl_error *error)
{
    add_bytes(sha, 'T', source->name, strlen(source->name));
    return add_rows(database, source, NULL, sha, error);
}

static void write_hex(const phl_sha256 *sha, char hex[PHL_DIGEST_SIZE])
{
    unsigned char digest[PHL_SHA256_SIZE];
    phl_sha256_finish(sha, digest);
    for (int i = 0; i < PHL_SHA256_SIZE; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
}

phl_status phl_part_digest(const phl_database *database, phl_run_part part,
                           char hex[PHL_DIGEST_SIZE], phl_error *error)
{
    phl_sha256 sha;
    phl_sha256_init(&sha);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (sources[i].part == part) {
            phl_status status = add_table(database, &sources[i], &sha, error);
            if (status != PHL_OK) {
                return status;
            }
        }
    }
    write_hex(&sha, hex);
    return PHL_OK;
}

static phl_status put_digest(const phl_database *database, phl_run_part part, const char *hex,
                             phl_error *error)
{
    sqlite3_stmt *statement = NULL;
    phl_status status = phl_database_prepare(
        database, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)", &statement, error);
    if (status == PHL_OK) {
        (void)sqlite3_bind_text(statement, 1, phl_part_key(part), -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(statement, 2, hex, -1, SQLITE_STATIC);
        status = phl_database_run(database, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

phl_status phl_part_seal(const phl_database *database, phl_run_part part, phl_error *error)
{
    char hex[PHL_DIGEST_SIZE];
    phl_status status = phl_part_digest(database, part, hex, error);
    return status == PHL_OK ? put_digest(database, part, hex, error) : status;
}

phl_status phl_trace_digest_seal(const phl_database *database, phl_trace_digest *running,
                                 phl_error *error)
{
    static const struct source rest = {PHL_PART_TRACE, "trace", PHL_SELECT_TRACE_FROM, 11};
    char hex[PHL_DIGEST_SIZE];
    if (!running->begun) {
        phl_sha256_init(&running->sha);
        add_bytes(&running->sha, 'T', rest.name, strlen(rest.name));
        running->begun = true;
    }
    phl_status status = add_rows(database, &rest, &running->next, &running->sha, error);
    if (status == PHL_OK) {
        write_hex(&running->sha, hex);
        status = put_digest(database, PHL_PART_TRACE, hex, error);
    }
    return status;
}

phl_status phl_part_verify(const phl_database *database, phl_run_part part, phl_error *error)
{
    static const char *const names[] = {"digest", "digest of the traces", "digest of the forest",
                                        "digest of the checkpoint"};
    char hex[PHL_DIGEST_SIZE];
    sqlite3_stmt *statement = NULL;
    bool row = false;
    phl_status status = phl_part_digest(database, part, hex, error);
    if (status == PHL_OK) {
        status = phl_database_prepare(database, "SELECT value FROM meta WHERE key = ?1", &statement,
                                      error);
    }
    if (status == PHL_OK) {
        (void)sqlite3_bind_text(statement, 1, phl_part_key(part), -1, SQLITE_STATIC);
        status = phl_database_step(database, statement, &row, error);
    }
    if (status == PHL_OK) {
        const char *stored = row ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        if (stored == NULL || strcmp(stored, hex) != 0) {
            status = phl_database_damaged(database, error, "its %s does not match", names[part]);
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}
