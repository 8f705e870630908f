/* statement.c - statements of the database that a run is, and the columns of their rows; see
 * database.h. */
#include <math.h>

#include "base/text.h"
#include "store/database.h"

phl_status phl_statement_prepare(const phl_database *database, const char *sql,
                                 sqlite3_stmt **statement, phl_error *error)
{
    int code = sqlite3_prepare_v2(database->db, sql, -1, statement, NULL);
    return code == SQLITE_OK ? PHL_OK : phl_database_raise(database, code, error);
}

phl_status phl_statement_step(const phl_database *database, sqlite3_stmt *statement, bool *row,
                              phl_error *error)
{
    int code = sqlite3_step(statement);
    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? PHL_OK
                                                     : phl_database_raise(database, code, error);
}

phl_status phl_statement_run(const phl_database *database, sqlite3_stmt *statement,
                             phl_error *error)
{
    bool row = false;
    phl_status status = phl_statement_step(database, statement, &row, error);
    (void)sqlite3_reset(statement);
    return status;
}

static phl_status raise_column(const phl_database *database, sqlite3_stmt *statement, int column,
                               phl_error *error)
{
    const char *name = sqlite3_column_name(statement, column);
    return phl_database_damaged(database, error, "an impossible value of %s",
                                name != NULL ? name : "a column");
}

phl_status phl_statement_int(const phl_database *database, sqlite3_stmt *statement, int column,
                             int64_t smallest, int64_t largest, int64_t *value, phl_error *error)
{
    int64_t found = sqlite3_column_int64(statement, column);
    if (sqlite3_column_type(statement, column) != SQLITE_INTEGER || found < smallest ||
        found > largest) {
        return raise_column(database, statement, column, error);
    }
    *value = found;
    return PHL_OK;
}

phl_status phl_statement_ints(const phl_database *database, sqlite3_stmt *statement,
                              const phl_statement_column *columns, size_t n, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        const phl_statement_column *c = &columns[i];
        status =
            phl_statement_int(database, statement, c->column, c->least, c->most, c->value, error);
    }
    return status;
}

phl_status phl_statement_real(const phl_database *database, sqlite3_stmt *statement, int column,
                              double *value, phl_error *error)
{
    int type = sqlite3_column_type(statement, column);
    if (type != SQLITE_FLOAT && type != SQLITE_NULL) {
        return raise_column(database, statement, column, error);
    }
    *value = type == SQLITE_NULL ? (double)NAN : sqlite3_column_double(statement, column);
    return PHL_OK;
}

phl_status phl_statement_text(phl_database *database, sqlite3_stmt *statement, int column,
                              bool optional, const char **text, size_t *length, phl_error *error)
{
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_NULL && optional) {
        *text = NULL;
        *length = 0;
        return PHL_OK;
    }
    if (type != SQLITE_TEXT) {
        return raise_column(database, statement, column, error);
    }
    const char *found = (const char *)sqlite3_column_text(statement, column);
    if (found == NULL) {
        return phl_database_raise(database, SQLITE_NOMEM, error);
    }
    size_t bytes = (size_t)sqlite3_column_bytes(statement, column);
    if (phl_utf8_check(found, bytes) != bytes) {
        return raise_column(database, statement, column, error);
    }
    *text = found;
    *length = bytes;
    return phl_database_spend(database, bytes, error);
}
