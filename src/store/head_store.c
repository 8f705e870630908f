/* head_store.c - the linear classifier of a run, as arrays; see run_file.h.
 *
 * Labels of the dictionary are those of the run.  A dictionary is made anew of what was stored,
 * feature by feature, so that one that holds a feature twice, or a subtree before its parts, is
 * refused.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "store/run_file.h"

#define INSERT_HEAD                                                                                \
    "INSERT INTO head (name, part, dtype, shape, checksum, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"

static const char of[] = "the classifier";

/* Names of the arrays of sequences. */
static const char *const sequences[PHL_FEATURE_GROUPS] = {
    [PHL_GROUP_B] = "sequence_b",
    [PHL_GROUP_BG] = "sequence_bg",
    [PHL_GROUP_L] = "sequence_l",
    [PHL_GROUP_P1] = "sequence_p1",
};

/* Numbers of a head that are no arrays, in the array "facts". */
enum {
    FACT_GROUPS,
    FACT_TEMPERATURE,
    FACT_CHOSEN,
    FACT_FOLDS,
    FACT_TREES,
    FACT_ROWS,
    FACT_PASSES,
    FACT_GAP,
    FACT_LOG_LOSS,
    FACTS
};

/* Those of a choice, in the array "choice". */
enum { CHOICE_COLUMNS = 8 };

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

static void put_choice(const phl_head_choice *choice, double *row)
{
    const double values[CHOICE_COLUMNS] = {(double)choice->groups,    choice->c,
                                           choice->log_loss,          choice->log_loss_se,
                                           choice->accuracy,          choice->temperature,
                                           choice->tempered_log_loss, choice->calibration_error};
    memcpy(row, values, sizeof values);
}

static phl_status write_choices(const phl_database *database, sqlite3_stmt *insert,
                                const phl_head *head, phl_error *error)
{
    double *rows = phl_alloc(phl_times(head->n_choices, CHOICE_COLUMNS), sizeof *rows, error);
    if (rows == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < head->n_choices; i++) {
        put_choice(&head->choices[i], rows + i * CHOICE_COLUMNS);
    }
    phl_status status = phl_array_write_table(database, insert, "choice", PHL_FLOAT64, rows,
                                              head->n_choices, CHOICE_COLUMNS, error);
    phl_free(rows);
    return status;
}

static phl_status write_dictionary(const phl_database *database, sqlite3_stmt *insert,
                                   const phl_dictionary *dictionary, phl_error *error)
{
    const phl_dictionary_subtrees *subtrees = &dictionary->subtrees;
    size_t n = subtrees->n;
    phl_status status = phl_array_write_table(database, insert, "subtree_symbol", PHL_UINT32,
                                              subtrees->symbol, n, 1, error);
    if (status == PHL_OK) {
        status = phl_array_write_table(database, insert, "subtree_first_link", PHL_UINT64,
                                       subtrees->first_link, n + 1, 1, error);
    }
    if (status == PHL_OK) {
        status = phl_array_write_table(database, insert, "subtree_link", PHL_UINT32,
                                       subtrees->links, (size_t)subtrees->first_link[n], 2, error);
    }
    for (int g = 0; status == PHL_OK && g < PHL_FEATURE_GROUPS; g++) {
        const phl_dictionary_sequences *own = &dictionary->sequences[g];
        if (sequences[g] != NULL) {
            status = phl_array_write_table(database, insert, sequences[g], PHL_UINT32, own->symbols,
                                           own->n, own->length, error);
        }
    }
    return status;
}

phl_status phl_head_store(const phl_database *database, const phl_head *head, phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    if (head == NULL) {
        return PHL_OK;
    }
    double facts[FACTS] = {[FACT_GROUPS] = (double)head->features->groups,
                           [FACT_TEMPERATURE] = head->temperature,
                           [FACT_CHOSEN] = (double)head->chosen,
                           [FACT_FOLDS] = (double)head->n_folds,
                           [FACT_TREES] = (double)head->trees,
                           [FACT_ROWS] = (double)head->rows,
                           [FACT_PASSES] = (double)head->passes,
                           [FACT_GAP] = head->gap,
                           [FACT_LOG_LOSS] = head->log_loss};
    phl_status status = phl_statement_prepare(database, INSERT_HEAD, &insert, error);
    if (status == PHL_OK) {
        status =
            phl_array_write_table(database, insert, "facts", PHL_FLOAT64, facts, FACTS, 1, error);
    }
    if (status == PHL_OK) {
        status = write_choices(database, insert, head, error);
    }
    if (status == PHL_OK) {
        status = write_dictionary(database, insert, &head->features->dictionary, error);
    }
    if (status == PHL_OK) {
        status =
            phl_array_write_table(database, insert, "weight", PHL_FLOAT64, head->weights,
                                  phl_features_count(head->features) + 1, head->n_classes, error);
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
    phl_head *head;
};

static phl_status damaged(const struct loading *work, const char *what, phl_error *error)
{
    return phl_database_damaged(work->database, error, "%s of the classifier", what);
}

/* A whole number from `least` to `most` in a double; false if it is none. */
static bool is_count(double value, double least, double most)
{
    return value >= least && value <= most && floor(value) == value;
}

static phl_status load_facts(struct loading *work, phl_error *error)
{
    const double large = 9007199254740992.0; /* 2^53 */
    double *facts = NULL;
    phl_head *head = work->head;
    phl_status status = phl_array_load_exactly(work->database, &work->directory, of, "facts",
                                               PHL_FLOAT64, 1, false, FACTS, &facts, error);
    if (status != PHL_OK) {
        return status;
    }
    if (!is_count(facts[FACT_GROUPS], 1, PHL_FEATURES_ALL) ||
        !is_count(facts[FACT_CHOSEN], 0, large) || !is_count(facts[FACT_FOLDS], 0, large) ||
        !is_count(facts[FACT_TREES], 0, large) || !is_count(facts[FACT_ROWS], 0, large) ||
        !is_count(facts[FACT_PASSES], 0, large) || !(facts[FACT_TEMPERATURE] > 0.0) ||
        !isfinite(facts[FACT_TEMPERATURE])) {
        status = damaged(work, "impossible facts", error);
    } else {
        head->features->groups = (unsigned)facts[FACT_GROUPS];
        head->temperature = facts[FACT_TEMPERATURE];
        head->chosen = (size_t)facts[FACT_CHOSEN];
        head->n_folds = (size_t)facts[FACT_FOLDS];
        head->trees = (uint64_t)facts[FACT_TREES];
        head->rows = (uint64_t)facts[FACT_ROWS];
        head->passes = (uint64_t)facts[FACT_PASSES];
        head->gap = facts[FACT_GAP];
        head->log_loss = facts[FACT_LOG_LOSS];
    }
    phl_free(facts);
    return status;
}

static phl_status load_choices(struct loading *work, phl_error *error)
{
    double *rows = NULL;
    size_t n = 0;
    phl_head *head = work->head;
    phl_status status = phl_array_load(work->database, &work->directory, of, "choice", PHL_FLOAT64,
                                       CHOICE_COLUMNS, false, &rows, &n, error);
    if (status == PHL_OK) {
        head->choices = phl_alloc(n, sizeof *head->choices, error);
        status = head->choices == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status == PHL_OK && head->chosen >= (n > 0 ? n : 1)) {
        status = damaged(work, "an impossible choice", error);
    }
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        const double *row = rows + i * CHOICE_COLUMNS;
        if (!is_count(row[0], 1, PHL_FEATURES_ALL)) {
            status = damaged(work, "an impossible choice", error);
        } else {
            head->choices[head->n_choices++] = (phl_head_choice){
                (unsigned)row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]};
        }
    }
    phl_free(rows);
    return status;
}

/* Nodes, the border and gaps have symbols below this. */
static size_t symbols_of(const struct loading *work)
{
    return work->run->labels.count + PHL_SYMBOL_FIRST_LABEL;
}

static phl_status add_subtrees(struct loading *work, const uint32_t *symbol, size_t n,
                               const uint64_t *first, const phl_link *links, size_t n_links,
                               phl_error *error)
{
    phl_dictionary *dictionary = &work->head->features->dictionary;
    phl_status status = PHL_OK;
    bool good = first[0] == 0 && first[n] == n_links;
    for (size_t s = 0; good && status == PHL_OK && s < n; s++) {
        uint32_t number = 0;
        good = symbol[s] >= PHL_SYMBOL_UNKNOWN && symbol[s] < symbols_of(work) &&
               first[s + 1] >= first[s] && first[s + 1] <= n_links;
        for (uint64_t k = first[s]; good && k < first[s + 1]; k++) {
            good = links[k].child < s && links[k].slot > (k > first[s] ? links[k - 1].slot : 0);
        }
        if (good) {
            status = phl_dictionary_add_subtree(dictionary, symbol[s], links + first[s],
                                                (size_t)(first[s + 1] - first[s]), &number, error);
            good = number == s;
        }
    }
    return status == PHL_OK && !good ? damaged(work, "impossible subtrees", error) : status;
}

static phl_status load_subtrees(struct loading *work, phl_error *error)
{
    uint32_t *symbol = NULL;
    uint64_t *first = NULL;
    phl_link *links = NULL;
    size_t n = 0, n_links = 0;
    phl_status status = phl_array_load(work->database, &work->directory, of, "subtree_symbol",
                                       PHL_UINT32, 1, false, &symbol, &n, error);
    if (status == PHL_OK) {
        status = phl_array_load_exactly(work->database, &work->directory, of, "subtree_first_link",
                                        PHL_UINT64, 1, false, n + 1, &first, error);
    }
    if (status == PHL_OK) {
        status = phl_array_load(work->database, &work->directory, of, "subtree_link", PHL_UINT32, 2,
                                false, &links, &n_links, error);
    }
    if (status == PHL_OK) {
        status = add_subtrees(work, symbol, n, first, links, n_links, error);
    }
    phl_free(symbol);
    phl_free(first);
    phl_free(links);
    return status;
}

static phl_status load_sequences(struct loading *work, int group, phl_error *error)
{
    phl_dictionary *dictionary = &work->head->features->dictionary;
    size_t length = dictionary->sequences[group].length, n = 0;
    uint32_t *symbols = NULL;
    phl_status status = phl_array_load(work->database, &work->directory, of, sequences[group],
                                       PHL_UINT32, length, false, &symbols, &n, error);
    bool good = true;
    for (size_t i = 0; status == PHL_OK && good && i < n; i++) {
        uint32_t number = 0;
        for (size_t k = 0; good && k < length; k++) {
            good = symbols[i * length + k] < symbols_of(work);
        }
        if (good) {
            status = phl_dictionary_add_sequence(dictionary, group, symbols + i * length, &number,
                                                 error);
            good = number == i;
        }
    }
    phl_free(symbols);
    return status == PHL_OK && !good ? damaged(work, "impossible features", error) : status;
}

static phl_status load_weights(struct loading *work, phl_error *error)
{
    phl_head *head = work->head;
    size_t n = phl_features_count(head->features) + 1;
    phl_status status =
        phl_array_load_exactly(work->database, &work->directory, of, "weight", PHL_FLOAT64,
                               head->n_classes, false, n, &head->weights, error);
    bool finite = true;
    for (size_t i = 0; status == PHL_OK && i < n * head->n_classes; i++) {
        finite = finite && isfinite(head->weights[i]);
    }
    return status == PHL_OK && !finite ? damaged(work, "weights that are no numbers", error)
                                       : status;
}

static phl_status load_head(struct loading *work, phl_error *error)
{
    work->head = phl_alloc_zero(1, sizeof *work->head, error);
    if (work->head == NULL) {
        return PHL_ERR_MEMORY;
    }
    if (!work->run->per_class || work->run->n_models < 2) {
        return damaged(work, "one class or none", error);
    }
    work->head->n_classes = work->run->n_models;
    work->head->features = phl_alloc_zero(1, sizeof *work->head->features, error);
    phl_status status =
        work->head->features == NULL
            ? PHL_ERR_MEMORY
            : phl_dictionary_init(&work->head->features->dictionary, &work->run->labels, error);
    if (status == PHL_OK) {
        status = load_facts(work, error);
    }
    if (status == PHL_OK) {
        status = load_choices(work, error);
    }
    if (status == PHL_OK) {
        status = load_subtrees(work, error);
    }
    for (int g = 0; status == PHL_OK && g < PHL_FEATURE_GROUPS; g++) {
        status = sequences[g] != NULL ? load_sequences(work, g, error) : PHL_OK;
    }
    return status == PHL_OK ? load_weights(work, error) : status;
}

phl_status phl_head_store_load(phl_database *database, const phl_run *run, phl_head **head,
                               phl_error *error)
{
    struct loading work = {.database = database, .run = run};
    if (database->format == 1) {
        return PHL_OK;
    }
    phl_status status = phl_section_verify(database, PHL_SECTION_HEAD, error);
    if (status == PHL_OK) {
        status = phl_array_directory_read(database, PHL_TABLE_HEAD, &work.directory, error);
    }
    if (status == PHL_OK && work.directory.count > 0) {
        status = load_head(&work, error);
    }
    phl_array_directory_clear(&work.directory);
    if (status != PHL_OK) {
        phl_head_free(work.head);
        return status;
    }
    *head = work.head;
    return PHL_OK;
}
