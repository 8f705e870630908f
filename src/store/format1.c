/* format1.c - digests of runs of format 1, which Phloem 0.1.0 wrote; see section.h.
 *
 * There each digest is one SHA-256 over all rows of its tables in order, in hexadecimal under a key
 * in meta that the digest leaves out.
 */
#include <stdio.h>
#include <string.h>

#include "store/section.h"

enum { SECTIONS = PHL_SECTION_CHECKPOINT + 1 }; /* later ones are not in format 1 */

static const char *const keys[SECTIONS] = {"digest", "digest_trace", "digest_forest",
                                           "digest_checkpoint"};

static bool is_digest_key(const char *key)
{
    for (int i = 0; i < SECTIONS; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

static phl_status add_table(phl_database *database, phl_schema_number table, phl_sha256 *sha,
                            phl_error *error)
{
    const phl_schema_table *of = phl_schema_of(table);
    sqlite3_stmt *select = NULL;
    bool row = false;
    phl_digest_name(of->name, sha);
    phl_status status = phl_schema_select(database, table, NULL, &select, error);
    while (status == PHL_OK &&
           (status = phl_statement_step(database, select, &row, error)) == PHL_OK && row) {
        const char *key =
            table == PHL_TABLE_META ? (const char *)sqlite3_column_text(select, 0) : NULL;
        if (key != NULL && is_digest_key(key)) {
            continue;
        }
        for (int column = 0; status == PHL_OK && column < of->digested; column++) {
            status = phl_digest_value(database, select, column, sha, error);
        }
    }
    (void)sqlite3_finalize(select);
    return status;
}

phl_status phl_format1_verify(phl_database *database, phl_section section, phl_error *error)
{
    static const char *const names[SECTIONS] = {"digest", "digest of the traces",
                                                "digest of the forest", "digest of the checkpoint"};
    static const phl_schema_number tables[SECTIONS][2] = {
        {PHL_TABLE_META, PHL_TABLE_TENSOR},
        {PHL_TABLE_TRACE, PHL_TABLE_TRACE},
        {PHL_TABLE_FOREST, PHL_TABLE_FOREST},
        {PHL_TABLE_CHECKPOINT, PHL_TABLE_CHECKPOINT}};
    phl_sha256 sha;
    phl_sha256_init(&sha);
    phl_status status = PHL_OK;
    for (int i = (int)tables[section][0]; status == PHL_OK && i <= (int)tables[section][1]; i++) {
        status = add_table(database, (phl_schema_number)i, &sha, error);
    }
    unsigned char digest[PHL_SHA256_SIZE];
    char hex[2 * PHL_SHA256_SIZE + 1];
    phl_sha256_finish(&sha, digest);
    for (int i = 0; i < PHL_SHA256_SIZE; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
    sqlite3_stmt *select = NULL;
    bool row = false;
    if (status == PHL_OK) {
        status = phl_schema_select(database, PHL_TABLE_META, "key = ?1", &select, error);
    }
    if (status == PHL_OK) {
        (void)sqlite3_bind_text(select, 1, keys[section], -1, SQLITE_STATIC);
        status = phl_statement_step(database, select, &row, error);
    }
    if (status == PHL_OK) {
        const char *stored = row ? (const char *)sqlite3_column_text(select, 1) : NULL;
        if (stored == NULL || strcmp(stored, hex) != 0) {
            status = phl_database_damaged(database, error, "its %s does not match", names[section]);
        }
    }
    (void)sqlite3_finalize(select);
    return status;
}
