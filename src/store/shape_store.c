/* shape_store.c - the model of shapes of a run, as arrays; see run_file.h.
 *
 * What was seen is stored; counts in shorter contexts follow from it.
 */
#include <string.h>

#include "base/memory.h"
#include "store/run_file.h"

#define INSERT_SHAPES                                                                              \
    "INSERT INTO shapes (name, part, dtype, shape, checksum, data) VALUES (?1, ?2, ?3, ?4, ?5, "   \
    "?6)"

static const char of[] = "the model of shapes";

enum { COLUMNS = 3 + PHL_SHAPE_CONTEXT }; /* class, event, context, outcome */

phl_status phl_shape_store(const phl_database *database, const phl_shape_model *shapes,
                           phl_error *error)
{
    sqlite3_stmt *insert = NULL;
    if (shapes == NULL) {
        return PHL_OK;
    }
    size_t n = shapes->n_rows;
    uint32_t *events = phl_alloc(phl_times(n, COLUMNS), sizeof *events, error);
    double *counts = phl_alloc(n, sizeof *counts, error);
    phl_status status = events == NULL || counts == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        uint32_t *event = events + i * COLUMNS;
        event[0] = shapes->rows[i].class_index;
        event[1] = shapes->rows[i].event;
        memcpy(event + 2, shapes->rows[i].context, sizeof shapes->rows[i].context);
        event[COLUMNS - 1] = shapes->rows[i].outcome;
        counts[i] = shapes->rows[i].count;
    }
    if (status == PHL_OK) {
        status = phl_statement_prepare(database, INSERT_SHAPES, &insert, error);
    }
    if (status == PHL_OK) {
        status =
            phl_array_write_table(database, insert, "event", PHL_UINT32, events, n, COLUMNS, error);
    }
    if (status == PHL_OK) {
        status = phl_array_write_table(database, insert, "count", PHL_FLOAT64, counts, n, 1, error);
    }
    (void)sqlite3_finalize(insert);
    phl_free(events);
    phl_free(counts);
    return status;
}

static phl_status load_rows(const phl_database *database, const phl_array_directory *directory,
                            phl_shape_model *shapes, phl_error *error)
{
    uint32_t *events = NULL;
    double *counts = NULL;
    size_t n = 0;
    phl_status status = phl_array_load(database, directory, of, "event", PHL_UINT32, COLUMNS, false,
                                       &events, &n, error);
    if (status == PHL_OK) {
        status = phl_array_load_exactly(database, directory, of, "count", PHL_FLOAT64, 1, false, n,
                                        &counts, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&shapes->rows, &shapes->row_capacity, n, sizeof *shapes->rows, error);
    }
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        const uint32_t *event = events + i * COLUMNS;
        phl_shape_row *row = &shapes->rows[shapes->n_rows++];
        row->class_index = event[0];
        row->event = event[1];
        memcpy(row->context, event + 2, sizeof row->context);
        row->outcome = event[COLUMNS - 1];
        row->count = counts[i];
    }
    phl_free(events);
    phl_free(counts);
    if (status == PHL_OK && !phl_shape_model_is_sound(shapes)) {
        status = phl_database_damaged(database, error, "an impossible model of shapes");
    }
    return status == PHL_OK ? phl_shape_cells_finish(shapes, error) : status;
}

phl_status phl_shape_store_load(phl_database *database, const phl_run *run,
                                phl_shape_model **shapes, phl_error *error)
{
    phl_array_directory directory = {0};
    phl_shape_model *made = NULL;
    if (database->format == 1) {
        return PHL_OK;
    }
    phl_status status = phl_section_verify(database, PHL_SECTION_SHAPES, error);
    if (status == PHL_OK) {
        status = phl_array_directory_read(database, PHL_TABLE_SHAPES, &directory, error);
    }
    if (status == PHL_OK && directory.count > 0) {
        status = phl_shape_model_create(run->slots, (uint32_t)run->labels.count, run->n_models,
                                        &made, error);
        if (status == PHL_OK) {
            status = load_rows(database, &directory, made, error);
        }
    }
    phl_array_directory_clear(&directory);
    if (status != PHL_OK) {
        phl_shape_model_free(made);
        return status;
    }
    *shapes = made;
    return PHL_OK;
}
