/* section.c - the sections of a run file; see section.h. */
#include "store/section.h"

#include <string.h>

static const struct {
    const char *name, *spoken; /* spoken: "its digest of ... does not match" */
    int version;
    bool required;
    phl_schema_number first, last; /* tables */
} sections[PHL_SECTIONS] = {
    [PHL_SECTION_MODELS] = {"models", "the models", 2, true, PHL_TABLE_META, PHL_TABLE_TENSOR},
    [PHL_SECTION_TRACE] = {"trace", "the traces", 1, false, PHL_TABLE_TRACE, PHL_TABLE_TRACE},
    [PHL_SECTION_FOREST] = {"forest", "the forest", 2, false, PHL_TABLE_FOREST, PHL_TABLE_FOREST},
    [PHL_SECTION_CHECKPOINT] = {"checkpoint", "the checkpoint", 2, false, PHL_TABLE_CHECKPOINT,
                                PHL_TABLE_CHECKPOINT},
    [PHL_SECTION_HEAD] = {"head", "the classifier", 2, true, PHL_TABLE_HEAD, PHL_TABLE_HEAD},
    [PHL_SECTION_EXPERT] = {"expert", "the expert", 2, true, PHL_TABLE_EXPERT, PHL_TABLE_EXPERT},
    [PHL_SECTION_MEMBERS] = {"members", "further models", 2, true, PHL_TABLE_MEMBERS,
                             PHL_TABLE_MEMBERS},
    [PHL_SECTION_SHAPES] = {"shapes", "the model of shapes", 2, true, PHL_TABLE_SHAPES,
                            PHL_TABLE_SHAPES},
};

/* ---------------------------------------------------------------------------------------------
 * Which there are
 * ------------------------------------------------------------------------------------------- */

/* Names are words, fit to be printed: letters, digits, '_' and '-'. */
static bool is_name(const char *name, size_t length)
{
    bool good = length > 0 && length <= 40;
    for (size_t i = 0; good && i < length; i++) {
        char c = name[i];
        good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    }
    return good;
}

static phl_status raise_unknown(const phl_database *database, const char *name, int64_t version,
                                int known, phl_error *error)
{
    phl_position position = {database->name, 0, 0};
    return known == 0
               ? phl_raise_at(error, PHL_ERR_FORMAT, position, "use a newer version of phloem",
                              "the run has a section '%s', which phloem %s does not know", name,
                              phl_version())
               : phl_raise_at(error, PHL_ERR_FORMAT, position, "use a newer version of phloem",
                              "the run has version %lld of section '%s', of which phloem %s knows "
                              "version %d",
                              (long long)version, name, phl_version(), known);
}

/* The present row; known sections are counted in `seen`. */
static phl_status check_row(phl_database *database, sqlite3_stmt *select, int *seen,
                            phl_error *error)
{
    const char *name = NULL;
    size_t length = 0;
    int64_t version = 0, required = 0;
    phl_status status = phl_statement_text(database, select, 0, false, &name, &length, error);
    if (status == PHL_OK) {
        status = phl_statement_int(database, select, 1, 1, INT32_MAX, &version, error);
    }
    if (status == PHL_OK) {
        status = phl_statement_int(database, select, 2, 0, 1, &required, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    if (!is_name(name, length)) {
        return phl_database_damaged(database, error, "a section with a strange name");
    }
    for (int i = 0; i < PHL_SECTIONS; i++) {
        if (strcmp(sections[i].name, name) == 0) {
            ++*seen;
            return version <= sections[i].version
                       ? PHL_OK
                       : raise_unknown(database, name, version, sections[i].version, error);
        }
    }
    return required == 0 ? PHL_OK : raise_unknown(database, name, version, 0, error);
}

phl_status phl_section_check(phl_database *database, phl_error *error)
{
    sqlite3_stmt *select = NULL;
    bool row = false;
    int seen = 0;
    if (database->format == 1) {
        return PHL_OK;
    }
    phl_status status = phl_schema_select(database, PHL_TABLE_SECTION, NULL, &select, error);
    while (status == PHL_OK &&
           (status = phl_statement_step(database, select, &row, error)) == PHL_OK && row) {
        status = check_row(database, select, &seen, error);
    }
    (void)sqlite3_finalize(select);
    return status == PHL_OK && seen != PHL_SECTIONS
               ? phl_database_damaged(database, error, "it lacks a section")
               : status;
}

/* ---------------------------------------------------------------------------------------------
 * Digests
 * ------------------------------------------------------------------------------------------- */

phl_status phl_section_digest(phl_database *database, phl_section section, phl_digest *digest,
                              phl_error *error)
{
    phl_status status = PHL_OK;
    memset(digest, 0, sizeof *digest);
    for (int i = (int)sections[section].first; status == PHL_OK && i <= (int)sections[section].last;
         i++) {
        sqlite3_stmt *select = NULL;
        phl_schema_number table = (phl_schema_number)i;
        status = phl_schema_select(database, table, NULL, &select, error);
        if (status == PHL_OK) {
            status = phl_digest_add(database, table, select, digest, error);
        }
        (void)sqlite3_finalize(select);
    }
    return status;
}

phl_status phl_section_seal(const phl_database *database, phl_section section,
                            const phl_digest *digest, phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    phl_status status = phl_statement_prepare(
        database, "INSERT OR REPLACE INTO section VALUES (?1, ?2, ?3, ?4)", &insert, error);
    if (status == PHL_OK) {
        (void)sqlite3_bind_text(insert, 1, sections[section].name, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int(insert, 2, sections[section].version);
        (void)sqlite3_bind_int(insert, 3, sections[section].required);
        (void)sqlite3_bind_blob(insert, 4, digest->bytes, PHL_DIGEST_SIZE, SQLITE_STATIC);
        status = phl_statement_run(database, insert, error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

phl_status phl_section_renew(phl_database *database, phl_section section, phl_digest *digest,
                             phl_error *error)
{
    phl_digest made;
    phl_status status = phl_section_digest(database, section, &made, error);
    if (status == PHL_OK && digest != NULL) {
        *digest = made;
    }
    return status == PHL_OK ? phl_section_seal(database, section, &made, error) : status;
}

phl_status phl_section_verify(phl_database *database, phl_section section, phl_error *error)
{
    phl_digest digest;
    sqlite3_stmt *select = NULL;
    bool row = false;
    if (database->format == 1) {
        return phl_format1_verify(database, section, error);
    }
    phl_status status = phl_section_digest(database, section, &digest, error);
    if (status == PHL_OK) {
        status = phl_schema_select(database, PHL_TABLE_SECTION, "name = ?1", &select, error);
    }
    if (status == PHL_OK) {
        (void)sqlite3_bind_text(select, 1, sections[section].name, -1, SQLITE_STATIC);
        status = phl_statement_step(database, select, &row, error);
    }
    if (status == PHL_OK) {
        const void *stored = row ? sqlite3_column_blob(select, 3) : NULL;
        if (stored == NULL || sqlite3_column_bytes(select, 3) != PHL_DIGEST_SIZE ||
            memcmp(stored, digest.bytes, PHL_DIGEST_SIZE) != 0) {
            status = phl_database_damaged(database, error, "its digest of %s does not match",
                                          sections[section].spoken);
        }
    }
    (void)sqlite3_finalize(select);
    return status;
}
