/* schema.h - the tables of a run file, format 1; described in docs/run-file.md.
 *
 * SQLite keeps these texts in the file, and a file with others is refused: a table that is really a
 * view, or has generated columns, is never run.
 */
#ifndef PHL_STORE_SCHEMA_H
#define PHL_STORE_SCHEMA_H

typedef struct phl_schema_table {
    const char *name;
    const char *sql;
} phl_schema_table;

/* Names without NUL and sizes of arrays come first, bytes last: SQLite then finds the small columns
 * without reading the large one. */
static const phl_schema_table phl_schema[] = {
    {"meta", "CREATE TABLE meta (\n"
             "    key TEXT NOT NULL PRIMARY KEY,\n"
             "    value TEXT NOT NULL\n"
             ") STRICT, WITHOUT ROWID"},
    {"label", "CREATE TABLE label (\n"
              "    id INTEGER PRIMARY KEY,\n"
              "    name TEXT NOT NULL UNIQUE\n"
              ") STRICT"},
    {"class", "CREATE TABLE class (\n"
              "    id INTEGER PRIMARY KEY,\n"
              "    name TEXT UNIQUE,\n"
              "    trees INTEGER NOT NULL,\n"
              "    weight REAL NOT NULL,\n"
              "    iterations INTEGER NOT NULL,\n"
              "    stop_reason TEXT NOT NULL\n"
              ") STRICT"},
    {"model", "CREATE TABLE model (\n"
              "    id INTEGER PRIMARY KEY,\n"
              "    class INTEGER NOT NULL REFERENCES class (id),\n"
              "    chain INTEGER NOT NULL,\n"
              "    iteration INTEGER NOT NULL,\n"
              "    kind TEXT NOT NULL,\n"
              "    soft INTEGER NOT NULL,\n"
              "    log_likelihood REAL,\n"
              "    log_joint REAL\n"
              ") STRICT"},
    {"tensor", "CREATE TABLE tensor (\n"
               "    model INTEGER NOT NULL REFERENCES model (id),\n"
               "    name TEXT NOT NULL,\n"
               "    slot INTEGER NOT NULL,\n"
               "    part INTEGER NOT NULL,\n"
               "    dtype TEXT NOT NULL,\n"
               "    shape TEXT NOT NULL,\n"
               "    checksum BLOB NOT NULL,\n"
               "    data BLOB NOT NULL,\n"
               "    PRIMARY KEY (model, name, slot, part)\n"
               ") STRICT"},
    {"trace", "CREATE TABLE trace (\n"
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
              ") STRICT"},
    {"forest", "CREATE TABLE forest (\n"
               "    name TEXT NOT NULL,\n"
               "    part INTEGER NOT NULL,\n"
               "    dtype TEXT NOT NULL,\n"
               "    shape TEXT NOT NULL,\n"
               "    checksum BLOB NOT NULL,\n"
               "    data BLOB NOT NULL,\n"
               "    PRIMARY KEY (name, part)\n"
               ") STRICT"},
    {"checkpoint", "CREATE TABLE checkpoint (\n"
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
                   ") STRICT"},
};

enum { PHL_SCHEMA_TABLES = sizeof phl_schema / sizeof *phl_schema };

#endif
