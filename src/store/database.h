/* database.h - the SQLite database that a run is: schema, opening, errors in plain words, digests.
 *
 * The schema and the digests are described for users in docs/run-file.md.  A database is used by
 * one thread at a time.
 */
#ifndef PHL_STORE_DATABASE_H
#define PHL_STORE_DATABASE_H

#include <sqlite3.h>

#include "base/error.h"
#include "base/sha256.h"

#define PHL_RUN_APPLICATION_ID 0x50484c4du /* "PHLM" */
#define PHL_RUN_FORMAT 1u                  /* user_version */

typedef struct phl_database {
    sqlite3 *db;
    const char *name; /* file as the user calls it, for messages; borrowed */
    bool writing;
    uint64_t budget; /* reading: bytes of text and blobs that may still be taken; a file whose rows
                        share their pages would otherwise unfold to any size */
} phl_database;

/* Make an empty run of an empty file and begin the one transaction it is written in. */
phl_status phl_database_create(const char *file, const char *name, phl_database *database,
                               phl_error *error);
phl_status phl_database_commit(phl_database *database, phl_error *error);

/* Open for reading without trusting the file, and begin a read transaction: what is read is one
 * state of the run, whoever writes to it meanwhile.  Refuses what is no run, is newer, or has
 * another schema. */
phl_status phl_database_open(const char *path, phl_database *database, phl_error *error);

/* Open for reading and writing with a write-ahead log, as careful as above; others may read
 * meanwhile. */
phl_status phl_database_open_writing(const char *path, phl_database *database, phl_error *error);
phl_status phl_database_begin(const phl_database *database, phl_error *error);
/* Commit what was begun, or take it back when `status` is a failure.  Returns the first failure. */
phl_status phl_database_end(const phl_database *database, phl_status status, phl_error *error);
/* Does a write-ahead log lie beside the file (behind symbolic links)? */
bool phl_database_has_log(const phl_database *database);
/* Fold the write-ahead log back into the one file; put off as long as somebody reads. */
void phl_database_fold(const phl_database *database);
phl_status phl_database_execute(const phl_database *database, const char *sql, phl_error *error);

/* Fine on a zeroed or half-opened database.  Statements must be finalised before. */
void phl_database_close(phl_database *database);

/* Raise what SQLite's result code means to the user. */
phl_status phl_database_raise(const phl_database *database, int code, phl_error *error);

/* Raise: the file is damaged; what says how, as far as it is known. */
phl_status phl_database_damaged(const phl_database *database, phl_error *error, const char *what,
                                ...) PHL_PRINTF(3, 4);

phl_status phl_database_prepare(const phl_database *database, const char *sql,
                                sqlite3_stmt **statement, phl_error *error);
/* *row tells whether there is one. */
phl_status phl_database_step(const phl_database *database, sqlite3_stmt *statement, bool *row,
                             phl_error *error);
/* Run a statement that gives no rows, and make it ready for the next time. */
phl_status phl_database_run(const phl_database *database, sqlite3_stmt *statement,
                            phl_error *error);

/* Columns of the present row; another type or a value out of range means damage. */
phl_status phl_column_int(const phl_database *database, sqlite3_stmt *statement, int column,
                          int64_t smallest, int64_t largest, int64_t *value, phl_error *error);
/* NULL is NaN, which SQLite does not store. */
phl_status phl_column_real(const phl_database *database, sqlite3_stmt *statement, int column,
                           double *value, phl_error *error);
/* Valid UTF-8 without NUL, terminated, until the next step.  Where `optional`, NULL gives NULL. */
phl_status phl_column_text(phl_database *database, sqlite3_stmt *statement, int column,
                           bool optional, const char **text, size_t *length, phl_error *error);

/* ---- What is read, in the order it is digested in ------------------------------------------- */

#define PHL_SELECT_META "SELECT key, value FROM meta ORDER BY key"
#define PHL_SELECT_LABEL "SELECT id, name FROM label ORDER BY id"
#define PHL_SELECT_CLASS                                                                           \
    "SELECT id, name, trees, weight, iterations, stop_reason FROM class ORDER BY id"
#define PHL_SELECT_MODEL                                                                           \
    "SELECT id, class, chain, iteration, kind, soft, log_likelihood, log_joint FROM model "        \
    "ORDER BY id"
#define PHL_SELECT_TENSOR                                                                          \
    "SELECT model, name, slot, part, dtype, shape, checksum, rowid, length(data) FROM tensor "     \
    "ORDER BY model, name, slot, part"
#define PHL_TRACE_COLUMNS                                                                          \
    "SELECT id, class, chain, iteration, temperature, log_likelihood, log_joint, seconds, "        \
    "active, sum_size, moves FROM trace "
#define PHL_SELECT_TRACE PHL_TRACE_COLUMNS "ORDER BY id"
#define PHL_SELECT_TRACE_FROM PHL_TRACE_COLUMNS "WHERE id >= ?1 ORDER BY id"
#define PHL_SELECT_FOREST                                                                          \
    "SELECT 0, name, 0, part, dtype, shape, checksum, rowid, length(data) FROM forest "            \
    "ORDER BY name, part"

#define PHL_SELECT_CHECKPOINT                                                                      \
    "SELECT class << 32 | chain, name, slot, part, dtype, shape, checksum, rowid, length(data) "   \
    "FROM checkpoint ORDER BY class, chain, name, slot, part"

/* Digests of the parts of a run, each under its own key in meta: what models are made of, the
 * traces, the forest trained on, where training stood.  Rows are digested as they lie in the
 * database, so that writer and reader see the same; the bytes of arrays enter through their
 * checksums. */
typedef enum phl_run_part {
    PHL_PART_MODELS,
    PHL_PART_TRACE,
    PHL_PART_FOREST,
    PHL_PART_CHECKPOINT,
    PHL_RUN_PARTS
} phl_run_part;

#define PHL_DIGEST_SIZE 65 /* 64 hexadecimal digits and a NUL */
const char *phl_part_key(phl_run_part part);
phl_status phl_part_digest(const phl_database *database, phl_run_part part,
                           char hex[PHL_DIGEST_SIZE], phl_error *error);
/* Writing: put the digest into meta, once everything else is there. */
phl_status phl_part_seal(const phl_database *database, phl_run_part part, phl_error *error);
/* Reading: compare it. */
phl_status phl_part_verify(const phl_database *database, phl_run_part part, phl_error *error);

/* The digest of the traces while they grow: a call takes in the rows from number `next` on and puts
 * the digest into meta.  Start with a zeroed struct. */
typedef struct phl_trace_digest {
    phl_sha256 sha;
    int64_t next;
    bool begun;
} phl_trace_digest;
phl_status phl_trace_digest_seal(const phl_database *database, phl_trace_digest *running,
                                 phl_error *error);

#endif
