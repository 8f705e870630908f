/* schema.h - the tables of a run file, formats 1 and 2; described in docs/run-file.md.
 *
 * SQLite keeps the texts of CREATE in the file, and a file with others is refused: a table that is
 * really a view, or has generated columns, is never run.
 */
#ifndef PHL_STORE_SCHEMA_H
#define PHL_STORE_SCHEMA_H

#include "store/database.h"

typedef enum phl_schema_number {
    PHL_TABLE_META,
    PHL_TABLE_LABEL,
    PHL_TABLE_CLASS,
    PHL_TABLE_MODEL,
    PHL_TABLE_TENSOR,
    PHL_TABLE_TRACE,
    PHL_TABLE_FOREST,
    PHL_TABLE_CHECKPOINT,
    PHL_TABLE_SECTION, /* this and those after it are not in format 1 */
    PHL_TABLE_HEAD,
    PHL_TABLE_EXPERT,
    PHL_TABLE_MEMBERS,
    PHL_TABLE_SHAPES,
    PHL_SCHEMA_TABLES
} phl_schema_number;

/* Rows are always read by `select` and `order`; the first `digested` columns enter the digest.  In
 * tables of arrays a row number and the length of the data follow after them. */
typedef struct phl_schema_table {
    const char *name;
    const char *create;
    const char *select, *order;
    int digested;
} phl_schema_table;
const phl_schema_table *phl_schema_of(phl_schema_number number);

/* All tables, in an empty database. */
phl_status phl_schema_create(const phl_database *database, phl_error *error);

/* Are they there, exactly so and without indexes of somebody else's?  To be asked before anything
 * else is read. */
phl_status phl_schema_check(phl_database *database, phl_error *error);

/* The rows of a table in order; `where`, a condition with parameters, may be NULL. */
phl_status phl_schema_select(const phl_database *database, phl_schema_number number,
                             const char *where, sqlite3_stmt **statement, phl_error *error);

/* Before a file that others made is written to: what reading did not come across, indexes and the
 * other order of some tables, is a tree as well and has no more rows.  SQLite would follow pages
 * that point at each other for ever when it empties a table. */
phl_status phl_schema_walk(phl_database *database, phl_error *error);

#endif
