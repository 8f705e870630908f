/* database.h - the SQLite database that a run is: opening, statements, errors in plain words.
 *
 * A database is used by one thread at a time.  A file that is opened is not trusted: whatever it
 * holds, reading it takes time and memory in proportion to its size.
 */
#ifndef PHL_STORE_DATABASE_H
#define PHL_STORE_DATABASE_H

#include <sqlite3.h>

#include "base/error.h"
#include "base/sha256.h"

#define PHL_RUN_APPLICATION_ID 0x50484c4du /* "PHLM" */
#define PHL_RUN_FORMAT 2u                  /* user_version */

typedef struct phl_database {
    sqlite3 *db;
    const char *name; /* file as the user calls it, for messages; borrowed */
    bool writing;
    uint32_t format;
    /* Of a file that is not trusted: bytes of text and blobs, and thousands of steps of SQLite's
     * machine, that may still be spent.  A file whose rows share their pages would otherwise unfold
     * to any size.  UINT64_MAX: no end. */
    uint64_t budget, steps;
} phl_database;

/* Make an empty run of an empty file and begin the one transaction it is written in. */
phl_status phl_database_create(const char *file, const char *name, phl_database *database,
                               phl_error *error);
phl_status phl_database_commit(phl_database *database, phl_error *error);

/* The same in memory; its bytes once it is committed, to be released with sqlite3_free. */
phl_status phl_database_create_in_memory(const char *name, phl_database *database,
                                         phl_error *error);
phl_status phl_database_bytes(const phl_database *database, unsigned char **bytes, size_t *size,
                              phl_error *error);
/* Open such bytes for reading, as careful as below; they are borrowed. */
phl_status phl_database_open_bytes(unsigned char *bytes, size_t size, const char *name,
                                   phl_database *database, phl_error *error);

/* Open for reading without trusting the file, and begin a read transaction: what is read is one
 * state of the run, whoever writes to it meanwhile.  Refuses what is no run, is newer, or has
 * another schema. */
phl_status phl_database_open(const char *path, phl_database *database, phl_error *error);

/* Open for reading and writing with a write-ahead log, as careful as above; others may read
 * meanwhile.  It must be the file that is open as `lock`. */
phl_status phl_database_open_writing(const char *path, int lock, phl_database *database,
                                     phl_error *error);
phl_status phl_database_begin(const phl_database *database, phl_error *error);
/* Commit what was begun, or take it back when `status` is a failure.  Returns the first failure. */
phl_status phl_database_end(const phl_database *database, phl_status status, phl_error *error);
/* Take bytes that are there to be read off the budget; damage when it is spent. */
phl_status phl_database_spend(phl_database *database, uint64_t bytes, phl_error *error);
/* Does a write-ahead log lie beside the file (behind symbolic links)? */
bool phl_database_has_log(const phl_database *database);
/* Fold the write-ahead log back into the one file.  Fails when somebody who reads an earlier state
 * does not end within some seconds: then the run is the file and its log together. */
phl_status phl_database_fold(const phl_database *database, phl_error *error);
/* The same for a file that is to be replaced, a run or not: what lies beside it does not belong to
 * it any more, and nobody makes a log for it again.  It must be the file that is open as `lock`. */
phl_status phl_database_settle(const char *file, const char *name, int lock, phl_error *error);
phl_status phl_database_execute(const phl_database *database, const char *sql, phl_error *error);

/* Fine on a zeroed or half-opened database.  Statements must be finalised before. */
void phl_database_close(phl_database *database);

/* Raise what SQLite's result code means to the user. */
phl_status phl_database_raise(const phl_database *database, int code, phl_error *error);

/* Raise: the file is damaged; what says how, as far as it is known. */
phl_status phl_database_damaged(const phl_database *database, phl_error *error, const char *what,
                                ...) PHL_PRINTF(3, 4);

phl_status phl_statement_prepare(const phl_database *database, const char *sql,
                                 sqlite3_stmt **statement, phl_error *error);
/* *row tells whether there is one. */
phl_status phl_statement_step(const phl_database *database, sqlite3_stmt *statement, bool *row,
                              phl_error *error);
/* Run a statement that gives no rows, and make it ready for the next time. */
phl_status phl_statement_run(const phl_database *database, sqlite3_stmt *statement,
                             phl_error *error);

/* Columns of the present row; another type or a value out of range means damage. */
phl_status phl_statement_int(const phl_database *database, sqlite3_stmt *statement, int column,
                             int64_t smallest, int64_t largest, int64_t *value, phl_error *error);
/* NULL is NaN, which SQLite does not store. */
/* Several such columns. */
typedef struct phl_statement_column {
    int column;
    int64_t least, most, *value;
} phl_statement_column;
phl_status phl_statement_ints(const phl_database *database, sqlite3_stmt *statement,
                              const phl_statement_column *columns, size_t n, phl_error *error);
phl_status phl_statement_real(const phl_database *database, sqlite3_stmt *statement, int column,
                              double *value, phl_error *error);
/* Valid UTF-8 without NUL, terminated, until the next step.  Where `optional`, NULL gives NULL. */
phl_status phl_statement_text(phl_database *database, sqlite3_stmt *statement, int column,
                              bool optional, const char **text, size_t *length, phl_error *error);

#endif
