/* schema.c - the tables of a run file: making and checking them; see schema.h. */
#include "store/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Names without NUL and sizes of arrays come first, bytes last: SQLite then finds the small columns
 * without reading the large one. */
static const phl_schema_table tables[PHL_SCHEMA_TABLES] = {
    [PHL_TABLE_META] = {"meta",
                        "CREATE TABLE meta (\n"
                        "    key TEXT NOT NULL PRIMARY KEY,\n"
                        "    value TEXT NOT NULL\n"
                        ") STRICT, WITHOUT ROWID",
                        "SELECT key, value FROM meta", "ORDER BY key", 2},
    [PHL_TABLE_LABEL] = {"label",
                         "CREATE TABLE label (\n"
                         "    id INTEGER PRIMARY KEY,\n"
                         "    name TEXT NOT NULL UNIQUE\n"
                         ") STRICT",
                         "SELECT id, name FROM label", "ORDER BY id", 2},
    [PHL_TABLE_CLASS] = {"class",
                         "CREATE TABLE class (\n"
                         "    id INTEGER PRIMARY KEY,\n"
                         "    name TEXT UNIQUE,\n"
                         "    trees INTEGER NOT NULL,\n"
                         "    weight REAL NOT NULL,\n"
                         "    iterations INTEGER NOT NULL,\n"
                         "    stop_reason TEXT NOT NULL\n"
                         ") STRICT",
                         "SELECT id, name, trees, weight, iterations, stop_reason FROM class",
                         "ORDER BY id", 6},
    [PHL_TABLE_MODEL] = {"model",
                         "CREATE TABLE model (\n"
                         "    id INTEGER PRIMARY KEY,\n"
                         "    class INTEGER NOT NULL REFERENCES class (id),\n"
                         "    chain INTEGER NOT NULL,\n"
                         "    iteration INTEGER NOT NULL,\n"
                         "    kind TEXT NOT NULL,\n"
                         "    soft INTEGER NOT NULL,\n"
                         "    log_likelihood REAL,\n"
                         "    log_joint REAL\n"
                         ") STRICT",
                         "SELECT id, class, chain, iteration, kind, soft, log_likelihood, "
                         "log_joint FROM model",
                         "ORDER BY id", 8},
    [PHL_TABLE_TENSOR] = {"tensor",
                          "CREATE TABLE tensor (\n"
                          "    model INTEGER NOT NULL REFERENCES model (id),\n"
                          "    name TEXT NOT NULL,\n"
                          "    slot INTEGER NOT NULL,\n"
                          "    part INTEGER NOT NULL,\n"
                          "    dtype TEXT NOT NULL,\n"
                          "    shape TEXT NOT NULL,\n"
                          "    checksum BLOB NOT NULL,\n"
                          "    data BLOB NOT NULL,\n"
                          "    PRIMARY KEY (model, name, slot, part)\n"
                          ") STRICT",
                          "SELECT model, name, slot, part, dtype, shape, checksum, rowid, "
                          "length(data) FROM tensor",
                          "ORDER BY model, name, slot, part", 7},
    [PHL_TABLE_TRACE] = {"trace",
                         "CREATE TABLE trace (\n"
                         "    id INTEGER PRIMARY KEY,\n"
                         "    class INTEGER NOT NULL REFERENCES class (id),\n"
                         "    chain INTEGER NOT NULL,\n"
                         "    iteration INTEGER NOT NULL,\n"
                         "    temperature REAL,\n"
                         "    log_likelihood REAL,\n"
                         "    log_joint REAL,\n"
                         "    seconds REAL,\n"
                         "    active INTEGER NOT NULL,\n"
                         "    sum_size INTEGER NOT NULL,\n"
                         "    moves TEXT\n"
                         ") STRICT",
                         "SELECT id, class, chain, iteration, temperature, log_likelihood, "
                         "log_joint, seconds, active, sum_size, moves FROM trace",
                         "ORDER BY id", 11},
    [PHL_TABLE_FOREST] = {"forest",
                          "CREATE TABLE forest (\n"
                          "    name TEXT NOT NULL,\n"
                          "    part INTEGER NOT NULL,\n"
                          "    dtype TEXT NOT NULL,\n"
                          "    shape TEXT NOT NULL,\n"
                          "    checksum BLOB NOT NULL,\n"
                          "    data BLOB NOT NULL,\n"
                          "    PRIMARY KEY (name, part)\n"
                          ") STRICT",
                          "SELECT 0, name, 0, part, dtype, shape, checksum, rowid, length(data) "
                          "FROM forest",
                          "ORDER BY name, part", 7},
    [PHL_TABLE_CHECKPOINT] = {"checkpoint",
                              "CREATE TABLE checkpoint (\n"
                              "    class INTEGER NOT NULL REFERENCES class (id),\n"
                              "    chain INTEGER NOT NULL,\n"
                              "    name TEXT NOT NULL,\n"
                              "    slot INTEGER NOT NULL,\n"
                              "    part INTEGER NOT NULL,\n"
                              "    dtype TEXT NOT NULL,\n"
                              "    shape TEXT NOT NULL,\n"
                              "    checksum BLOB NOT NULL,\n"
                              "    data BLOB NOT NULL,\n"
                              "    PRIMARY KEY (class, chain, name, slot, part)\n"
                              ") STRICT",
                              "SELECT class << 32 | chain, name, slot, part, dtype, shape, "
                              "checksum, rowid, length(data) FROM checkpoint",
                              "ORDER BY class, chain, name, slot, part", 7},
    [PHL_TABLE_SECTION] = {"section",
                           "CREATE TABLE section (\n"
                           "    name TEXT NOT NULL PRIMARY KEY,\n"
                           "    version INTEGER NOT NULL,\n"
                           "    required INTEGER NOT NULL,\n"
                           "    digest BLOB NOT NULL\n"
                           ") STRICT, WITHOUT ROWID",
                           "SELECT name, version, required, digest FROM section", "ORDER BY name",
                           0},
    [PHL_TABLE_HEAD] = {"head",
                        "CREATE TABLE head (\n"
                        "    name TEXT NOT NULL,\n"
                        "    part INTEGER NOT NULL,\n"
                        "    dtype TEXT NOT NULL,\n"
                        "    shape TEXT NOT NULL,\n"
                        "    checksum BLOB NOT NULL,\n"
                        "    data BLOB NOT NULL,\n"
                        "    PRIMARY KEY (name, part)\n"
                        ") STRICT",
                        "SELECT 0, name, 0, part, dtype, shape, checksum, rowid, length(data) "
                        "FROM head",
                        "ORDER BY name, part", 7},
    [PHL_TABLE_EXPERT] = {"expert",
                          "CREATE TABLE expert (\n"
                          "    name TEXT NOT NULL,\n"
                          "    part INTEGER NOT NULL,\n"
                          "    dtype TEXT NOT NULL,\n"
                          "    shape TEXT NOT NULL,\n"
                          "    checksum BLOB NOT NULL,\n"
                          "    data BLOB NOT NULL,\n"
                          "    PRIMARY KEY (name, part)\n"
                          ") STRICT",
                          "SELECT 0, name, 0, part, dtype, shape, checksum, rowid, length(data) "
                          "FROM expert",
                          "ORDER BY name, part", 7},
    [PHL_TABLE_MEMBERS] = {"members",
                           "CREATE TABLE members (\n"
                           "    name TEXT NOT NULL,\n"
                           "    part INTEGER NOT NULL,\n"
                           "    dtype TEXT NOT NULL,\n"
                           "    shape TEXT NOT NULL,\n"
                           "    checksum BLOB NOT NULL,\n"
                           "    data BLOB NOT NULL,\n"
                           "    PRIMARY KEY (name, part)\n"
                           ") STRICT",
                           "SELECT 0, name, 0, part, dtype, shape, checksum, rowid, length(data) "
                           "FROM members",
                           "ORDER BY name, part", 7},
    [PHL_TABLE_SHAPES] = {"shapes",
                          "CREATE TABLE shapes (\n"
                          "    name TEXT NOT NULL,\n"
                          "    part INTEGER NOT NULL,\n"
                          "    dtype TEXT NOT NULL,\n"
                          "    shape TEXT NOT NULL,\n"
                          "    checksum BLOB NOT NULL,\n"
                          "    data BLOB NOT NULL,\n"
                          "    PRIMARY KEY (name, part)\n"
                          ") STRICT",
                          "SELECT 0, name, 0, part, dtype, shape, checksum, rowid, length(data) "
                          "FROM shapes",
                          "ORDER BY name, part", 7},
};

const phl_schema_table *phl_schema_of(phl_schema_number number)
{
    return &tables[number];
}

phl_status phl_schema_create(const phl_database *database, phl_error *error)
{
    phl_status status = PHL_OK;
    for (int i = 0; status == PHL_OK && i < PHL_SCHEMA_TABLES; i++) {
        status = phl_database_execute(database, tables[i].create, error);
    }
    return status;
}

phl_status phl_schema_select(const phl_database *database, phl_schema_number number,
                             const char *where, sqlite3_stmt **statement, phl_error *error)
{
    const phl_schema_table *table = &tables[number];
    char sql[400];
    (void)snprintf(sql, sizeof sql, "%s%s%s %s", table->select, where != NULL ? " WHERE " : "",
                   where != NULL ? where : "", table->order);
    return phl_statement_prepare(database, sql, statement, error);
}

/* ---------------------------------------------------------------------------------------------
 * Checks
 * ------------------------------------------------------------------------------------------- */

static phl_status check_table(phl_database *database, sqlite3_stmt *statement,
                              const phl_schema_table *table, phl_error *error)
{
    bool row = false;
    (void)sqlite3_bind_text(statement, 1, table->name, -1, SQLITE_STATIC);
    phl_status status = phl_statement_step(database, statement, &row, error);
    if (status != PHL_OK) {
        return status;
    }
    const char *type = row ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    const char *sql = row ? (const char *)sqlite3_column_text(statement, 1) : NULL;
    if (type == NULL || sql == NULL || strcmp(type, "table") != 0 ||
        strcmp(sql, table->create) != 0) {
        status = phl_database_damaged(database, error, "table %s is %s", table->name,
                                      row ? "not as it should be" : "missing");
    }
    (void)sqlite3_reset(statement);
    return status;
}

/* Indexes that come with the table are there and no others: SQLite chooses the way to rows, and
 * must write to every index. */
static phl_status check_indexes(phl_database *database, const phl_schema_table *table,
                                phl_error *error)
{
    char sql[64];
    sqlite3_stmt *statement = NULL;
    bool row = false;
    (void)snprintf(sql, sizeof sql, "PRAGMA index_list(%s)", table->name);
    phl_status status = phl_statement_prepare(database, sql, &statement, error);
    while (status == PHL_OK &&
           (status = phl_statement_step(database, statement, &row, error)) == PHL_OK && row) {
        const char *origin = (const char *)sqlite3_column_text(statement, 3);
        if (origin == NULL || strcmp(origin, "c") == 0) {
            status = phl_database_damaged(database, error, "table %s has an index of its own",
                                          table->name);
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

phl_status phl_schema_check(phl_database *database, phl_error *error)
{
    sqlite3_stmt *statement = NULL;
    int count = database->format == 1 ? PHL_TABLE_SECTION : PHL_SCHEMA_TABLES;
    phl_status status = phl_statement_prepare(
        database, "SELECT type, sql FROM sqlite_schema WHERE name = ?1", &statement, error);
    for (int i = 0; status == PHL_OK && i < count; i++) {
        status = check_table(database, statement, &tables[i], error);
    }
    (void)sqlite3_finalize(statement);
    for (int i = 0; status == PHL_OK && i < count; i++) {
        status = check_indexes(database, &tables[i], error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Walks
 * ------------------------------------------------------------------------------------------- */

/* Count rows.  Where `ordered`, their keys, text or integers, come in strictly ascending order: no
 * page is met twice. */
static phl_status walk(phl_database *database, const char *sql, bool ordered, size_t *count,
                       phl_error *error)
{
    sqlite3_stmt *statement = NULL;
    phl_text before = {NULL, 0, 0};
    int64_t last = INT64_MIN;
    bool row = false;
    *count = 0;
    phl_status status = phl_statement_prepare(database, sql, &statement, error);
    while (status == PHL_OK &&
           (status = phl_statement_step(database, statement, &row, error)) == PHL_OK && row) {
        bool ascending = true;
        if (ordered && sqlite3_column_type(statement, 0) == SQLITE_TEXT) {
            const char *key = NULL;
            size_t length = 0;
            status = phl_statement_text(database, statement, 0, false, &key, &length, error);
            if (status == PHL_OK) {
                ascending = before.length == 0 || strcmp(before.bytes, key) < 0;
                before.length = 0;
                status = phl_text_append(&before, key, length + 1, error);
            }
        } else if (ordered) { /* NULL, the name of the only class, is 0 */
            int64_t key = sqlite3_column_int64(statement, 0);
            ascending = before.length == 0 && key > last;
            last = key;
        }
        if (status == PHL_OK && !ascending) {
            status = phl_database_damaged(database, error, "its tables are out of order");
        }
        ++*count;
    }
    phl_text_clear(&before);
    (void)sqlite3_finalize(statement);
    return status;
}

phl_status phl_schema_walk(phl_database *database, phl_error *error)
{
    static const struct {
        const char *rows, *entries;
        bool ordered; /* entries; those of arrays are compared when they are read */
    } ways[] = {
        {"SELECT id FROM label NOT INDEXED",
         "SELECT name FROM label INDEXED BY sqlite_autoindex_label_1 ORDER BY name", true},
        {"SELECT id FROM class NOT INDEXED",
         "SELECT name FROM class INDEXED BY sqlite_autoindex_class_1 ORDER BY name", true},
        {"SELECT rowid FROM tensor NOT INDEXED",
         "SELECT 0 FROM tensor INDEXED BY sqlite_autoindex_tensor_1", false},
        {"SELECT rowid FROM forest NOT INDEXED",
         "SELECT 0 FROM forest INDEXED BY sqlite_autoindex_forest_1", false},
        {"SELECT rowid FROM head NOT INDEXED",
         "SELECT 0 FROM head INDEXED BY sqlite_autoindex_head_1", false},
        {"SELECT rowid FROM expert NOT INDEXED",
         "SELECT 0 FROM expert INDEXED BY sqlite_autoindex_expert_1", false},
        {"SELECT rowid FROM members NOT INDEXED",
         "SELECT 0 FROM members INDEXED BY sqlite_autoindex_members_1", false},
        {"SELECT rowid FROM checkpoint NOT INDEXED",
         "SELECT 0 FROM checkpoint INDEXED BY sqlite_autoindex_checkpoint_1", false},
    };
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof ways / sizeof *ways; i++) {
        size_t rows = 0, entries = 0;
        status = walk(database, ways[i].rows, true, &rows, error);
        if (status == PHL_OK) {
            status = walk(database, ways[i].entries, ways[i].ordered, &entries, error);
        }
        if (status == PHL_OK && rows != entries) {
            status = phl_database_damaged(database, error, "an index does not fit its table");
        }
    }
    return status;
}
