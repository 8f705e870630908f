/* expert_store.c - the expert of a run, as arrays; see run_file.h.
 *
 * Tables of contexts are not stored: they are made of the neighbourhoods when they are needed.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "store/run_file.h"

#define INSERT_EXPERT                                                                              \
    "INSERT INTO expert (name, part, dtype, shape, checksum, data) VALUES (?1, ?2, ?3, ?4, ?5, "   \
    "?6)"

static const char of[] = "the expert";

/* Numbers of an expert that are no arrays, in the array "facts". */
enum {
    FACT_LABELS,
    FACT_VOICES,
    FACT_STRENGTH,
    FACT_DISCOUNT,
    FACT_TREES,
    FACT_HIDDEN,
    FACT_ACCURACY,
    FACT_LOG_LOSS,
    FACTS
};

enum { COLUMNS = PHL_NEAR_PLACES + 1 }; /* of a neighbourhood, with the label */

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

static phl_status write_rows(const phl_database *database, sqlite3_stmt *insert,
                             const phl_expert *expert, phl_error *error)
{
    size_t n = expert->n_rows;
    uint32_t *symbols = phl_alloc(phl_times(n, COLUMNS), sizeof *symbols, error);
    double *counts = phl_alloc(n, sizeof *counts, error);
    phl_status status = symbols == NULL || counts == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        memcpy(symbols + i * COLUMNS, expert->rows[i].near, sizeof expert->rows[i].near);
        symbols[i * COLUMNS + PHL_NEAR_PLACES] = expert->rows[i].label;
        counts[i] = expert->rows[i].count;
    }
    if (status == PHL_OK) {
        status = phl_array_write_table(database, insert, "neighbourhood", PHL_UINT32, symbols, n,
                                       COLUMNS, error);
    }
    if (status == PHL_OK) {
        status = phl_array_write_table(database, insert, "count", PHL_FLOAT64, counts, n, 1, error);
    }
    phl_free(symbols);
    phl_free(counts);
    return status;
}

static phl_status write_weights(const phl_database *database, sqlite3_stmt *insert,
                                const phl_expert *expert, phl_error *error)
{
    double weights[PHL_EXPERT_PATTERNS * PHL_EXPERT_MOST_VOICES];
    for (size_t i = 0; i < PHL_EXPERT_PATTERNS; i++) {
        memcpy(weights + i * expert->n_voices, expert->weights[i],
               expert->n_voices * sizeof *weights);
    }
    return phl_array_write_table(database, insert, "weight", PHL_FLOAT64, weights,
                                 PHL_EXPERT_PATTERNS, expert->n_voices, error);
}

phl_status phl_expert_store(const phl_database *database, const phl_expert *expert,
                            phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    if (expert == NULL) {
        return PHL_OK;
    }
    double facts[FACTS] = {
        [FACT_LABELS] = (double)expert->n_labels, [FACT_VOICES] = (double)expert->n_voices,
        [FACT_STRENGTH] = expert->strength,       [FACT_DISCOUNT] = expert->discount,
        [FACT_TREES] = (double)expert->trees,     [FACT_HIDDEN] = (double)expert->hidden,
        [FACT_ACCURACY] = expert->accuracy,       [FACT_LOG_LOSS] = expert->log_loss};
    phl_status status = phl_statement_prepare(database, INSERT_EXPERT, &insert, error);
    if (status == PHL_OK) {
        status =
            phl_array_write_table(database, insert, "facts", PHL_FLOAT64, facts, FACTS, 1, error);
    }
    if (status == PHL_OK) {
        status = write_rows(database, insert, expert, error);
    }
    if (status == PHL_OK) {
        status = write_weights(database, insert, expert, error);
    }
    if (status == PHL_OK) {
        status = phl_array_write_table(database, insert, "oddity", PHL_FLOAT64, expert->odd,
                                       expert->n_odd, 1, error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------------------------- */

struct loading {
    const phl_database *database;
    phl_array_directory directory;
    const phl_run *run;
    size_t n_members; /* of the run in the file */
    phl_expert *expert;
};

static bool is_count(double value, double least, double most)
{
    return value >= least && value <= most && floor(value) == value;
}

static phl_status load_facts(struct loading *work, phl_error *error)
{
    const double large = 9007199254740992.0; /* 2^53 */
    double *facts = NULL, labels = (double)work->run->labels.count;
    phl_expert *expert = work->expert;
    phl_status status = phl_array_load_exactly(work->database, &work->directory, of, "facts",
                                               PHL_FLOAT64, 1, false, FACTS, &facts, error);
    if (status != PHL_OK) {
        return status;
    }
    double models = work->run->kind == PHL_NO_KIND ? 0.0 : (double)(1 + work->n_members);
    double chains = facts[FACT_VOICES] - models;
    if (!is_count(facts[FACT_LABELS], labels, labels) ||
        !(chains == 0.0 || chains == PHL_EXPERT_CHAINS) || !is_count(facts[FACT_TREES], 0, large) ||
        !is_count(facts[FACT_HIDDEN], 0, large)) {
        status = phl_database_damaged(work->database, error, "impossible facts of the expert");
    } else {
        expert->n_labels = (size_t)facts[FACT_LABELS];
        expert->n_chains = (size_t)chains;
        expert->n_voices = (size_t)facts[FACT_VOICES];
        expert->strength = facts[FACT_STRENGTH];
        expert->discount = facts[FACT_DISCOUNT];
        expert->trees = (uint64_t)facts[FACT_TREES];
        expert->hidden = (uint64_t)facts[FACT_HIDDEN];
        expert->accuracy = facts[FACT_ACCURACY];
        expert->log_loss = facts[FACT_LOG_LOSS];
    }
    phl_free(facts);
    return status;
}

static phl_status load_rows(struct loading *work, phl_error *error)
{
    uint32_t *symbols = NULL;
    double *counts = NULL;
    phl_expert *expert = work->expert;
    size_t n = 0;
    phl_status status = phl_array_load(work->database, &work->directory, of, "neighbourhood",
                                       PHL_UINT32, COLUMNS, false, &symbols, &n, error);
    if (status == PHL_OK) {
        status = phl_array_load_exactly(work->database, &work->directory, of, "count", PHL_FLOAT64,
                                        1, false, n, &counts, error);
    }
    if (status == PHL_OK) {
        expert->rows = phl_alloc(n, sizeof *expert->rows, error);
        status = expert->rows == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        phl_expert_row *row = &expert->rows[expert->n_rows++];
        memcpy(row->near, symbols + i * COLUMNS, sizeof row->near);
        row->label = symbols[i * COLUMNS + PHL_NEAR_PLACES];
        row->count = counts[i];
    }
    phl_free(symbols);
    phl_free(counts);
    return status;
}

static phl_status load_weights(struct loading *work, phl_error *error)
{
    double *weights = NULL;
    phl_expert *expert = work->expert;
    phl_status status =
        phl_array_load_exactly(work->database, &work->directory, of, "weight", PHL_FLOAT64,
                               expert->n_voices, false, PHL_EXPERT_PATTERNS, &weights, error);
    for (size_t i = 0; status == PHL_OK && i < PHL_EXPERT_PATTERNS; i++) {
        memcpy(expert->weights[i], weights + i * expert->n_voices,
               expert->n_voices * sizeof *weights);
    }
    phl_free(weights);
    return status;
}

static phl_status load_expert(struct loading *work, phl_error *error)
{
    work->expert = phl_alloc_zero(1, sizeof *work->expert, error);
    phl_status status = work->expert == NULL ? PHL_ERR_MEMORY : load_facts(work, error);
    if (status == PHL_OK) {
        status = load_rows(work, error);
    }
    if (status == PHL_OK) {
        status = load_weights(work, error);
    }
    if (status == PHL_OK) {
        status = phl_array_load(work->database, &work->directory, of, "oddity", PHL_FLOAT64, 1,
                                false, &work->expert->odd, &work->expert->n_odd, error);
    }
    return status == PHL_OK && !phl_expert_is_sound(work->expert)
               ? phl_database_damaged(work->database, error, "an impossible expert")
               : status;
}

phl_status phl_expert_store_load(phl_database *database, const phl_run *run, size_t n_members,
                                 phl_expert **expert, phl_error *error)
{
    struct loading work = {.database = database, .run = run, .n_members = n_members};
    if (database->format == 1) {
        return PHL_OK;
    }
    phl_status status = phl_section_verify(database, PHL_SECTION_EXPERT, error);
    if (status == PHL_OK) {
        status = phl_array_directory_read(database, PHL_TABLE_EXPERT, &work.directory, error);
    }
    if (status == PHL_OK && work.directory.count > 0) {
        status = load_expert(&work, error);
    }
    phl_array_directory_clear(&work.directory);
    if (status != PHL_OK) {
        phl_expert_free(work.expert);
        return status;
    }
    *expert = work.expert;
    return PHL_OK;
}
