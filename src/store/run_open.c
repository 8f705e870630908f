/* run_open.c - reading a run from a file that is not trusted.
 *
 * The digest is compared first, then rows are read by the very same SELECTs.  A hostile file can
 * have a good digest, so every number is checked all the same.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/chain_weights.h"
#include "store/run_file.h"
#include "train/train_config.h"

/* Columns of the table class. */
struct class_row {
    uint64_t trees, iterations;
    double weight;
    phl_stop_reason stop_reason;
};

/* What is gathered before the run itself can be made. */
struct gathered {
    phl_kind kind;
    uint32_t states, slots;
    int per_class; /* -1: not told */
    phl_meta *meta;
    size_t n_meta, meta_capacity;
    phl_alphabet labels, classes;
    struct class_row *rows;
    size_t n_rows, row_capacity;
};

static void clear_gathered(struct gathered *gathered)
{
    for (size_t i = 0; i < gathered->n_meta; i++) {
        phl_free(gathered->meta[i].key);
        phl_free(gathered->meta[i].value);
    }
    phl_free(gathered->meta);
    phl_alphabet_clear(&gathered->labels);
    phl_alphabet_clear(&gathered->classes);
    phl_free(gathered->rows);
}

/* ---------------------------------------------------------------------------------------------
 * Meta
 * ------------------------------------------------------------------------------------------- */

/* A whole number from 1 to 2^32 - 2; 0 if it is none. */
static uint32_t parse_size(const char *text)
{
    uint64_t number = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] < '0' || text[i] > '9' || i >= 10) {
            return 0;
        }
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    return number < UINT32_MAX ? (uint32_t)number : 0;
}

static phl_status take_fact(const phl_database *database, struct gathered *gathered,
                            const char *key, const char *value, phl_error *error)
{
    if (strcmp(key, PHL_KEY_MODEL) == 0) {
        gathered->kind = phl_kind_find(value);
    } else if (strcmp(key, PHL_KEY_STATES) == 0) {
        gathered->states = parse_size(value);
    } else if (strcmp(key, PHL_KEY_SLOTS) == 0) {
        gathered->slots = parse_size(value);
    } else if (strcmp(key, PHL_KEY_PER_CLASS) == 0) {
        gathered->per_class = strcmp(value, "1") == 0 ? 1 : strcmp(value, "0") == 0 ? 0 : -1;
    }
    if (phl_run_write_is_reserved(key)) {
        return PHL_OK;
    }
    if (gathered->n_meta > 0 && strcmp(gathered->meta[gathered->n_meta - 1].key, key) >= 0) {
        return phl_database_damaged(database, error, "its facts are out of order");
    }
    phl_status status = phl_grow(&gathered->meta, &gathered->meta_capacity, gathered->n_meta + 1,
                                 sizeof *gathered->meta, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_meta *fact = &gathered->meta[gathered->n_meta++];
    fact->value = NULL;
    fact->key = phl_copy_text(key, strlen(key), error);
    fact->value = fact->key == NULL ? NULL : phl_copy_text(value, strlen(value), error);
    return fact->value == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

static phl_status read_meta(phl_database *database, struct gathered *gathered, phl_error *error)
{
    sqlite3_stmt *select = NULL;
    bool row = false;
    gathered->per_class = -1;
    phl_status status = phl_schema_select(database, PHL_TABLE_META, NULL, &select, error);
    while (status == PHL_OK &&
           (status = phl_statement_step(database, select, &row, error)) == PHL_OK && row) {
        const char *key = NULL, *value = NULL;
        size_t length = 0;
        status = phl_statement_text(database, select, 0, false, &key, &length, error);
        if (status == PHL_OK) {
            status = phl_statement_text(database, select, 1, false, &value, &length, error);
        }
        if (status == PHL_OK) {
            status = take_fact(database, gathered, key, value, error);
        }
    }
    (void)sqlite3_finalize(select);
    bool stateless = gathered->kind == PHL_NO_KIND;
    if (status == PHL_OK && (gathered->kind == 0 || (gathered->states == 0) != stateless ||
                             gathered->slots == 0 || gathered->per_class < 0)) {
        status = phl_database_damaged(
            database, error, "its kind of model, states or slots are missing or impossible");
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Labels and classes
 * ------------------------------------------------------------------------------------------- */

/* Rows are numbered 0, 1, 2, ...: a cycle among the file's pages is found at its first turn. */
static phl_status read_id(const phl_database *database, sqlite3_stmt *select, size_t expected,
                          phl_error *error)
{
    int64_t id = 0;
    return phl_statement_int(database, select, 0, (int64_t)expected, (int64_t)expected, &id, error);
}

/* Name number `expected`, in column 1, which no other has. */
static phl_status read_name(phl_database *database, sqlite3_stmt *select, size_t expected,
                            phl_alphabet *alphabet, phl_error *error)
{
    const char *name = NULL;
    size_t length = 0;
    int32_t number = 0;
    phl_status status = phl_statement_text(database, select, 1, false, &name, &length, error);
    if (status == PHL_OK) {
        status = phl_alphabet_add(alphabet, name, length, &number, error);
    }
    if (status == PHL_OK && (size_t)number != expected) {
        status = phl_database_damaged(database, error, "a name occurs twice");
    }
    return status;
}

static phl_status read_labels(phl_database *database, struct gathered *gathered, phl_error *error)
{
    sqlite3_stmt *select = NULL;
    bool row = false;
    phl_status status = phl_schema_select(database, PHL_TABLE_LABEL, NULL, &select, error);
    while (status == PHL_OK &&
           (status = phl_statement_step(database, select, &row, error)) == PHL_OK && row) {
        size_t next = gathered->labels.count;
        status = read_id(database, select, next, error);
        if (status == PHL_OK) {
            status = read_name(database, select, next, &gathered->labels, error);
        }
    }
    (void)sqlite3_finalize(select);
    return status;
}

static phl_status read_stop_reason(phl_database *database, sqlite3_stmt *select, int column,
                                   phl_stop_reason *reason, phl_error *error)
{
    const char *text = NULL;
    size_t length = 0;
    phl_status status = phl_statement_text(database, select, column, false, &text, &length, error);
    if (status != PHL_OK) {
        return status;
    }
    *reason = phl_stop_reason_find(text);
    return *reason != 0 ? PHL_OK : phl_database_damaged(database, error, "an unknown stop reason");
}

static phl_status read_class(phl_database *database, sqlite3_stmt *select,
                             struct gathered *gathered, phl_error *error)
{
    size_t next = gathered->n_rows;
    int64_t number = 0, trees = 0, iterations = 0;
    const phl_statement_column columns[] = {
        {0, (int64_t)next, (int64_t)next, &number},
        {2, 0, INT64_MAX, &trees},
        {4, 0, INT64_MAX, &iterations},
    };
    phl_status status =
        phl_grow(&gathered->rows, &gathered->row_capacity, next + 1, sizeof *gathered->rows, error);
    if (status != PHL_OK) {
        return status;
    }
    struct class_row *made = &gathered->rows[gathered->n_rows++];
    memset(made, 0, sizeof *made);
    status = phl_statement_ints(database, select, columns, 3, error);
    if (status != PHL_OK) {
        return status;
    }
    if (gathered->per_class == 1) {
        status = read_name(database, select, next, &gathered->classes, error);
    } else if (next > 0 || sqlite3_column_type(select, 1) != SQLITE_NULL) {
        status = phl_database_damaged(database, error, "classes in a run that has none");
    }
    if (status != PHL_OK) {
        return status;
    }
    status = phl_statement_real(database, select, 3, &made->weight, error);
    if (status != PHL_OK) {
        return status;
    }
    if (!(isfinite(made->weight) && made->weight >= 0)) {
        return phl_database_damaged(database, error, "an impossible weight");
    }
    made->trees = (uint64_t)trees;
    made->iterations = (uint64_t)iterations;
    return read_stop_reason(database, select, 5, &made->stop_reason, error);
}

static phl_status read_classes(phl_database *database, struct gathered *gathered, phl_error *error)
{
    sqlite3_stmt *select = NULL;
    bool row = false;
    phl_status status = phl_schema_select(database, PHL_TABLE_CLASS, NULL, &select, error);
    while (status == PHL_OK &&
           (status = phl_statement_step(database, select, &row, error)) == PHL_OK && row) {
        status = read_class(database, select, gathered, error);
    }
    (void)sqlite3_finalize(select);
    if (status == PHL_OK && gathered->n_rows == 0) {
        status = phl_database_damaged(database, error, "it has no classes");
    }
    return status;
}

static phl_status make_run(struct gathered *gathered, phl_run **run, phl_error *error)
{
    phl_status status =
        phl_run_create(gathered->kind, gathered->states, gathered->slots, &gathered->labels,
                       &gathered->classes, gathered->per_class == 1, run, error);
    for (size_t i = 0; status == PHL_OK && i < gathered->n_rows; i++) {
        phl_model *model = &(*run)->models[i];
        model->trees = gathered->rows[i].trees;
        model->weight = gathered->rows[i].weight;
        model->iterations = gathered->rows[i].iterations;
        model->stop_reason = gathered->rows[i].stop_reason;
    }
    if (status == PHL_OK) { /* the run's now */
        (*run)->meta = gathered->meta;
        (*run)->n_meta = gathered->n_meta;
        (*run)->meta_capacity = gathered->meta_capacity;
        gathered->meta = NULL;
        gathered->n_meta = gathered->meta_capacity = 0;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Draws and traces
 * ------------------------------------------------------------------------------------------- */

static phl_status read_draw(phl_database *database, sqlite3_stmt *select, size_t id, bool keep,
                            const phl_array_directory *directory, phl_run *run, phl_error *error)
{
    phl_draw draw = {0};
    int64_t number = 0, class_index = 0, chain = 0, iteration = 0, soft = 0;
    const char *kind = NULL;
    size_t length = 0;
    const phl_statement_column columns[] = {
        {0, (int64_t)id, (int64_t)id, &number},
        {1, 0, (int64_t)run->n_models - 1, &class_index},
        {2, 0, UINT32_MAX, &chain},
        {3, 0, INT64_MAX, &iteration},
        {5, 0, 1, &soft},
    };
    phl_status status = phl_statement_ints(database, select, columns, 5, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_statement_text(database, select, 4, false, &kind, &length, error);
    if (status != PHL_OK) {
        return status;
    }
    if (phl_kind_find(kind) != run->kind) {
        return phl_database_damaged(database, error, "a model of another kind");
    }
    status = phl_statement_real(database, select, 6, &draw.log_likelihood, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_statement_real(database, select, 7, &draw.log_joint, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_draw_kind sizes = {run->kind, soft == 1, run->states, run->slots,
                           (uint32_t)run->labels.count};
    status = phl_draw_store_read(database, directory, (int64_t)id, &sizes, &draw.params, error);
    if (status != PHL_OK) {
        return status;
    }
    if (!keep) {
        phl_params_free(draw.params);
        return PHL_OK;
    }
    draw.chain = (size_t)chain;
    draw.iteration = (uint64_t)iteration;
    return phl_model_add_draw(&run->models[class_index], &draw, error);
}

static phl_status read_draws(phl_database *database, bool keep, phl_run *run, phl_error *error)
{
    phl_array_directory directory;
    sqlite3_stmt *select = NULL;
    bool row = false;
    phl_status status = phl_array_directory_read(database, PHL_TABLE_TENSOR, &directory, error);
    if (status == PHL_OK) {
        status = phl_schema_select(database, PHL_TABLE_MODEL, NULL, &select, error);
    }
    for (size_t id = 0;
         status == PHL_OK &&
         (status = phl_statement_step(database, select, &row, error)) == PHL_OK && row;
         id++) {
        status = read_draw(database, select, id, keep, &directory, run, error);
    }
    (void)sqlite3_finalize(select);
    phl_array_directory_clear(&directory);
    return status;
}

/* A number below 2^32 and the character after it; NULL if that is not what is there. */
static const char *parse_count(const char *text, char behind, uint32_t *count)
{
    uint64_t number = 0;
    int digits = 0;
    for (; *text >= '0' && *text <= '9' && digits < 10; text++, digits++) {
        number = number * 10 + (uint64_t)(*text - '0');
    }
    *count = (uint32_t)number;
    return digits > 0 && number <= UINT32_MAX && *text == behind ? text + 1 : NULL;
}

/* [[tried,changed],...] for some or all kinds of moves. */
static bool parse_moves(const char *text, phl_trace_row *row)
{
    const char *at = text;
    for (int move = 0; move < PHL_MOVE_TYPES; move++) {
        if (at[0] != (move > 0 ? ',' : '[') || at[1] != '[') {
            return false;
        }
        at = parse_count(at + 2, ',', &row->tried[move]);
        at = at == NULL ? NULL : parse_count(at, ']', &row->changed[move]);
        if (at == NULL) {
            return false;
        }
        if (strcmp(at, "]") == 0) {
            return true;
        }
    }
    return false;
}

static phl_status read_moves(phl_database *database, sqlite3_stmt *select, int column,
                             phl_trace_row *row, phl_error *error)
{
    const char *text = NULL;
    size_t length = 0;
    phl_status status = phl_statement_text(database, select, column, true, &text, &length, error);
    return status == PHL_OK && text != NULL && !parse_moves(text, row)
               ? phl_database_damaged(database, error, "an impossible value of moves")
               : status;
}

static phl_status read_trace_row(phl_database *database, sqlite3_stmt *select, phl_run *run,
                                 phl_error *error)
{
    phl_trace_row made = {0};
    int64_t number = 0, class_index = 0, chain = 0, iteration = 0, active = 0, sum_size = 0;
    const phl_statement_column columns[] = {
        {0, (int64_t)run->n_trace, (int64_t)run->n_trace, &number},
        {1, 0, (int64_t)run->n_models - 1, &class_index},
        {2, 0, UINT32_MAX, &chain},
        {3, 0, INT64_MAX, &iteration},
        {8, 0, UINT32_MAX, &active},
        {9, 0, UINT32_MAX, &sum_size},
    };
    double *const reals[] = {&made.temperature, &made.log_likelihood, &made.log_joint,
                             &made.seconds};
    phl_status status = phl_statement_ints(database, select, columns, 6, error);
    for (int i = 0; status == PHL_OK && i < 4; i++) {
        status = phl_statement_real(database, select, 4 + i, reals[i], error);
    }
    if (status != PHL_OK) {
        return status;
    }
    status = read_moves(database, select, 10, &made, error);
    if (status != PHL_OK) {
        return status;
    }
    made.class_index = (size_t)class_index;
    made.chain = (size_t)chain;
    made.iteration = (uint64_t)iteration;
    made.active = (uint32_t)active;
    made.sum_size = (uint32_t)sum_size;
    return phl_run_add_trace(run, &made, error);
}

static phl_status read_trace(phl_database *database, phl_run *run, phl_error *error)
{
    sqlite3_stmt *select = NULL;
    bool row = false;
    phl_status status = phl_schema_select(database, PHL_TABLE_TRACE, NULL, &select, error);
    while (status == PHL_OK &&
           (status = phl_statement_step(database, select, &row, error)) == PHL_OK && row) {
        status = read_trace_row(database, select, run, error);
    }
    (void)sqlite3_finalize(select);
    return status == PHL_OK ? phl_trace_order(run, error) : status;
}

/* ---------------------------------------------------------------------------------------------
 * All together
 * ------------------------------------------------------------------------------------------- */

/* How the run was trained.  What it predicts does not depend on that: a run that does not say, or
 * not in terms known here, is read all the same, and phl_resume says what is wrong. */
static phl_status read_options(phl_run *run, phl_error *error)
{
    phl_error wrong = {0};
    phl_status status = phl_train_config_restore(run, &wrong);
    if (status == PHL_ERR_MEMORY && error != NULL) {
        *error = wrong;
    }
    return status == PHL_ERR_MEMORY ? status : PHL_OK;
}

/* What a run is made of. */
static phl_status gather(phl_database *database, struct gathered *gathered, phl_error *error)
{
    phl_status status = read_meta(database, gathered, error);
    if (status != PHL_OK) {
        return status;
    }
    status = read_labels(database, gathered, error);
    return status == PHL_OK ? read_classes(database, gathered, error) : status;
}

/* What the chains count, where draws were kept. */
static phl_status read_weights(phl_database *database, phl_run *run, phl_error *error)
{
    bool good = true;
    phl_status status = phl_chain_weights_read(run, &good, error);
    return status == PHL_OK && !good
               ? phl_database_damaged(database, error, "the weights of its chains make no sense")
               : status;
}

phl_status phl_run_open_alone(phl_database *database, bool keep, phl_run **run, phl_error *error)
{
    struct gathered gathered;
    memset(&gathered, 0, sizeof gathered);
    phl_status status = phl_section_check(database, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_section_verify(database, PHL_SECTION_MODELS, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_section_verify(database, PHL_SECTION_TRACE, error);
    if (status != PHL_OK) {
        return status;
    }
    status = gather(database, &gathered, error);
    if (status == PHL_OK) {
        status = make_run(&gathered, run, error);
    }
    clear_gathered(&gathered);
    if (status != PHL_OK) {
        return status;
    }
    status = read_options(*run, error);
    if (status != PHL_OK) {
        return status;
    }
    status = read_draws(database, keep, *run, error);
    if (status == PHL_OK) {
        status = read_weights(database, *run, error);
    }
    if (status == PHL_OK) {
        status = read_trace(database, *run, error);
    }
    if (status == PHL_OK) {
        status = phl_head_store_load(database, *run, &(*run)->head, error);
    }
    return status;
}

/* Everything; draws are read but not kept unless `keep`. */
static phl_status read_run(phl_database *database, bool keep, phl_run **run, phl_error *error)
{
    size_t n_members = 0;
    phl_status status = phl_run_open_alone(database, keep, run, error);
    if (status == PHL_OK) {
        status = phl_members_store_load(database, *run, keep, &n_members, error);
    }
    if (status == PHL_OK) {
        status = phl_expert_store_load(database, *run, n_members, &(*run)->expert, error);
    }
    if (status == PHL_OK) {
        status = phl_shape_store_load(database, *run, &(*run)->shapes, error);
    }
    if (status == PHL_OK && (*run)->kind == PHL_NO_KIND && (*run)->head == NULL &&
        ((*run)->expert == NULL || n_members > 0)) {
        status = phl_database_damaged(database, error, "it holds neither models nor a classifier");
    }
    return status;
}

phl_status phl_run_open(const char *path, phl_run **run, phl_error *error)
{
    phl_database database;
    phl_run *made = NULL;
    phl_status status = phl_database_open(path, &database, error);
    if (status == PHL_OK) {
        status = read_run(&database, true, &made, error);
    }
    phl_database_close(&database);
    if (status != PHL_OK) {
        phl_run_free(made);
        return status;
    }
    *run = made;
    return PHL_OK;
}

phl_status phl_run_open_check(phl_database *database, phl_error *error)
{
    phl_run *run = NULL;
    phl_error refusal = {0};
    phl_status status = read_run(database, false, &run, &refusal);
    phl_run_free(run);
    if (status == PHL_ERR_SYNTAX) {
        return phl_raise(error, PHL_ERR_INTERNAL, "please report this",
                         "what was trained could not be read again: %s", refusal.message);
    }
    if (status != PHL_OK && error != NULL) {
        *error = refusal;
    }
    return status;
}

phl_status phl_run_open_trees(const char *path, phl_forest **forest, phl_error *error)
{
    phl_database database;
    phl_forest *found = NULL;
    phl_status status = phl_database_open(path, &database, error);
    if (status == PHL_OK) {
        status = phl_forest_store_load(&database, &found, error);
    }
    phl_database_close(&database);
    if (status == PHL_OK) {
        *forest = found;
    }
    return status;
}

phl_status phl_run_open_forest(phl_run *run, const char *path, phl_error *error)
{
    phl_forest *forest = NULL;
    phl_status status = phl_run_open_trees(path, &forest, error);
    if (status == PHL_OK) {
        phl_forest_free(run->forest);
        run->forest = forest;
    }
    return status;
}
