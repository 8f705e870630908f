/* members_store.c - the further models of a run; see run_file.h.
 *
 * Each is a whole run file of its own, stored as an array of bytes: all that is read from it goes
 * through the checks of a run file, and whoever takes the bytes out has a run that every command
 * can use.  Such a run holds nothing but its models, so there is no second level.
 */
#include <stdio.h>

#include "base/memory.h"
#include "store/run_file.h"

#define INSERT_MEMBER                                                                              \
    "INSERT INTO members (name, part, dtype, shape, checksum, data) VALUES (?1, ?2, ?3, ?4, ?5, "  \
    "?6)"

static const char of[] = "a further model";

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

static phl_status write_member(const phl_database *database, sqlite3_stmt *insert, size_t number,
                               const phl_run *member, phl_error *error)
{
    phl_database own = {0};
    unsigned char *bytes = NULL;
    size_t size = 0;
    char name[PHL_ARRAY_NAME];
    (void)snprintf(name, sizeof name, "run%zu", number);
    phl_status status = phl_database_create_in_memory(database->name, &own, error);
    if (status == PHL_OK) {
        status = phl_run_write_alone(&own, member, NULL, error);
    }
    if (status == PHL_OK) {
        status = phl_database_commit(&own, error);
    }
    if (status == PHL_OK) {
        status = phl_database_bytes(&own, &bytes, &size, error);
    }
    if (status == PHL_OK) {
        status = phl_array_write_table(database, insert, name, PHL_UINT8, bytes, size, 1, error);
    }
    sqlite3_free(bytes);
    phl_database_close(&own);
    return status;
}

phl_status phl_members_store(const phl_database *database, const phl_run *run, phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    if (run->n_members == 0) {
        return PHL_OK;
    }
    phl_status status = phl_statement_prepare(database, INSERT_MEMBER, &insert, error);
    for (size_t i = 0; status == PHL_OK && i < run->n_members; i++) {
        status = write_member(database, insert, i + 1, run->members[i], error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

/* Both sections anew, in one transaction. */
static phl_status write_sections(phl_database *database, const phl_run *run, phl_error *error)
{
    phl_status status = phl_database_begin(database, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_database_execute(database, "DELETE FROM expert; DELETE FROM members", error);
    if (status == PHL_OK) {
        status = phl_expert_store(database, run->expert, error);
    }
    if (status == PHL_OK) {
        status = phl_members_store(database, run, error);
    }
    if (status == PHL_OK) {
        status = phl_section_renew(database, PHL_SECTION_EXPERT, NULL, error);
    }
    if (status == PHL_OK) {
        status = phl_section_renew(database, PHL_SECTION_MEMBERS, NULL, error);
    }
    if (status == PHL_OK) {
        status = phl_run_open_check(database, error);
    }
    return phl_database_end(database, status, error);
}

phl_status phl_run_save_members(const phl_run *run, const char *path, phl_error *error)
{
    phl_database database = {0};
    int lock = -1;
    phl_status status = phl_run_place_lock(path, &lock, error);
    if (status == PHL_OK) {
        status = phl_database_open_writing(path, lock, &database, error);
    }
    if (status == PHL_OK) {
        status = write_sections(&database, run, error);
    }
    if (status == PHL_OK) {
        status = phl_database_fold(&database, error);
    }
    phl_database_close(&database);
    phl_run_place_unlock(&lock);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------------------------- */

/* Has the run that a member is more than models? */
static phl_status check_alone(phl_database *own, const phl_run *member, phl_error *error)
{
    static const phl_schema_number tables[] = {PHL_TABLE_MEMBERS, PHL_TABLE_EXPERT};
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof tables / sizeof *tables; i++) {
        phl_array_directory inner = {0};
        status = phl_array_directory_read(own, tables[i], &inner, error);
        if (status == PHL_OK && (inner.count > 0 || member->head != NULL)) {
            status =
                phl_database_damaged(own, error, "a further model that holds more than models");
        }
        phl_array_directory_clear(&inner);
    }
    return status;
}

static phl_status take_member(phl_database *own, phl_run *run, bool keep, phl_error *error)
{
    phl_run *member = NULL;
    phl_error misfit = {0};
    phl_status status = phl_run_open_alone(own, keep, &member, error);
    if (status == PHL_OK) {
        status = check_alone(own, member, error);
    }
    if (status == PHL_OK && keep) {
        status = phl_run_take_member(run, member, &misfit);
        if (status == PHL_ERR_ARGUMENT || status == PHL_ERR_LIMIT) {
            status = phl_database_damaged(own, error, "%s", misfit.message);
        }
    }
    if (status != PHL_OK || !keep) {
        phl_run_free(member);
    }
    return status;
}

static phl_status load_member(const phl_database *database, const phl_array_directory *directory,
                              const char *name, phl_run *run, bool keep, phl_error *error)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    phl_database own = {0};
    phl_status status =
        phl_array_load(database, directory, of, name, PHL_UINT8, 1, false, &bytes, &size, error);
    if (status == PHL_OK) {
        status = phl_database_open_bytes(bytes, size, database->name, &own, error);
    }
    if (status == PHL_OK) {
        status = take_member(&own, run, keep, error);
    }
    phl_database_close(&own);
    phl_free(bytes);
    return status;
}

phl_status phl_members_store_load(phl_database *database, phl_run *run, bool keep, size_t *found,
                                  phl_error *error)
{
    phl_array_directory directory = {0};
    size_t n = 0;
    *found = 0;
    if (database->format == 1) {
        return PHL_OK;
    }
    phl_status status = phl_section_verify(database, PHL_SECTION_MEMBERS, error);
    if (status == PHL_OK) {
        status = phl_array_directory_read(database, PHL_TABLE_MEMBERS, &directory, error);
    }
    for (size_t i = 0; status == PHL_OK && i < directory.count; i++) {
        char name[PHL_ARRAY_NAME];
        if (directory.entries[i].part > 0) {
            continue;
        }
        (void)snprintf(name, sizeof name, "run%zu", ++n);
        status = n < PHL_RUN_MOST_MODELS
                     ? load_member(database, &directory, name, run, keep, error)
                     : phl_database_damaged(database, error, "more models than a run can hold");
    }
    *found = n;
    phl_array_directory_clear(&directory);
    return status;
}
