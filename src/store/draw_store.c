/* draw_store.c - the parameters of one draw as tensors; see run_file.h.
 *
 * Names, types and shapes are those of model/tensor.c, whatever the layout in memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/tensor.h"
#include "store/run_file.h"

/* ---------------------------------------------------------------------------------------------
 * Shapes
 * ------------------------------------------------------------------------------------------- */

/* "[3,10]", terminated, in place of what `text` held. */
static phl_status write_shape(const phl_tensor *tensor, phl_text *text, phl_error *error)
{
    text->length = 0;
    phl_status status = phl_text_append(text, "[", 1, error);
    for (size_t a = 0; status == PHL_OK && a < tensor->n_axes; a++) {
        status = phl_text_append_format(text, error, a > 0 ? ",%zu" : "%zu", tensor->shape[a]);
    }
    return status == PHL_OK ? phl_text_append(text, "]", 2, error) : status; /* and a NUL */
}

/* All axes but the last one lie one after the other. */
static phl_array array_of(const phl_tensor *tensor)
{
    size_t last = tensor->n_axes - 1, rows = 1;
    for (size_t a = 0; a < last; a++) {
        rows *= tensor->shape[a];
    }
    phl_array array = {.name = tensor->name,
                       .slot = tensor->slot,
                       .dtype = tensor->dtype,
                       .data = (void *)tensor->data,
                       .rows = rows,
                       .columns = tensor->shape[last],
                       .row_stride = last > 0 ? tensor->strides[last - 1] : tensor->shape[last],
                       .column_stride = tensor->strides[last]};
    return array;
}

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

/* Rows of floats, each divided by its sum: what phl_params_round leaves.  `floats` has room for all
 * numbers of the tensor, in the order of the file; false if something would be lost. */
static bool narrow(const phl_array *array, float *floats)
{
    const double *data = array->data;
    for (size_t r = 0; r < array->rows; r++) {
        float *row = floats + r * array->columns;
        const double *from = data + r * array->row_stride;
        double sum = 0.0;
        for (size_t c = 0; c < array->columns; c++) {
            row[c] = (float)from[c * array->column_stride];
            sum += row[c];
        }
        for (size_t c = 0; c < array->columns; c++) {
            if (!(sum > 0.0) || row[c] / sum != from[c * array->column_stride]) {
                return false;
            }
        }
    }
    return true;
}

static void widen(const phl_array *array, const float *floats)
{
    double *data = array->data;
    for (size_t r = 0; r < array->rows; r++) {
        const float *row = floats + r * array->columns;
        double sum = 0.0;
        for (size_t c = 0; c < array->columns; c++) {
            sum += row[c];
        }
        for (size_t c = 0; c < array->columns; c++) {
            data[r * array->row_stride + c * array->column_stride] = row[c] / sum;
        }
    }
}

static phl_array array_of_floats(const phl_array *array, float *floats)
{
    phl_array narrow =
        phl_array_flat(array->name, PHL_FLOAT32, floats, array->rows * array->columns);
    narrow.slot = array->slot;
    return narrow;
}

/* A table as it is or, where nothing is lost, as floats. */
static phl_status write_table(const phl_database *database, sqlite3_stmt *insert,
                              const phl_array *array, const char *shape, phl_error *error)
{
    float *floats = phl_alloc(array->rows * array->columns, sizeof *floats, error);
    if (floats == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_array small = array_of_floats(array, floats);
    phl_status status =
        phl_array_write(database, insert, narrow(array, floats) ? &small : array, shape, error);
    phl_free(floats);
    return status;
}

phl_status phl_draw_store_write(const phl_database *database, sqlite3_stmt *insert, int64_t model,
                                const phl_params *params, phl_error *error)
{
    phl_text shape = {NULL, 0, 0};
    phl_tensor tensor;
    phl_status status = PHL_OK;
    (void)sqlite3_bind_int64(insert, 8, model);
    for (size_t i = 0; status == PHL_OK && phl_tensor_of(params, i, &tensor); i++) {
        phl_array array = array_of(&tensor);
        status = write_shape(&tensor, &shape, error);
        if (status == PHL_OK) {
            status = params->kind != PHL_GRAMMAR && tensor.dtype == PHL_FLOAT64
                         ? write_table(database, insert, &array, shape.bytes, error)
                         : phl_array_write(database, insert, &array, shape.bytes, error);
        }
    }
    phl_text_clear(&shape);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------------------------- */

/* Blocks are numbered from 0 without a gap; *size is how many there are.  Linear, so that a hostile
 * file costs no more than its length. */
static phl_status count_blocks(const phl_database *database, const uint32_t *block, uint32_t states,
                               uint32_t *size, phl_error *error)
{
    size_t values = (size_t)states + 1;
    unsigned char *used = phl_alloc_zero(values, 1, error);
    if (used == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status = PHL_OK;
    uint32_t largest = 0, distinct = 0;
    for (size_t q = 0; status == PHL_OK && q < values; q++) {
        if (block[q] > states) {
            status = phl_database_damaged(database, error, "a partition names block %u", block[q]);
            break;
        }
        distinct += used[block[q]] == 0;
        used[block[q]] = 1;
        largest = block[q] > largest ? block[q] : largest;
    }
    if (status == PHL_OK && distinct != largest + 1) {
        status = phl_database_damaged(database, error, "a partition has an empty block");
    }
    phl_free(used);
    *size = distinct;
    return status;
}

static phl_status read_partition(const phl_database *database, const phl_array_directory *directory,
                                 const phl_entry *entry, uint32_t states, phl_axis *axis,
                                 phl_error *error)
{
    char shape[32];
    size_t values = (size_t)states + 1;
    (void)snprintf(shape, sizeof shape, "[%zu]", values);
    if (phl_array_directory_bytes(directory, entry) != values * sizeof *axis->block) {
        return phl_database_damaged(database, error, "a partition of another size");
    }
    axis->block = phl_alloc(values, sizeof *axis->block, error);
    phl_status status = axis->block == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK) {
        phl_array array = phl_array_flat("partition", PHL_INT32, axis->block, values);
        array.slot = entry->slot;
        status = phl_array_read(database, directory, entry->owner, &array, shape, error);
    }
    if (status == PHL_OK) {
        status = count_blocks(database, axis->block, states, &axis->size, error);
    }
    return status;
}

/* The active slots, from the tensors `partition` or `mode` of a model.  A mode matrix is left to be
 * read with the other tables; here its room is made, of the size of what is stored. */
static phl_status read_axes(const phl_database *database, const phl_array_directory *directory,
                            const phl_entry *first, size_t count, const phl_draw_kind *kind,
                            phl_axis **axes, uint32_t *n_axes, phl_error *error)
{
    const char *name = kind->soft ? "mode" : "partition";
    *axes = phl_alloc_zero(count, sizeof **axes, error);
    phl_status status = *axes == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < count; i++) {
        const phl_entry *entry = &first[i];
        if (strcmp(entry->name, name) != 0 || entry->part != 0) {
            continue;
        }
        phl_axis *axis = &(*axes)[(*n_axes)++];
        axis->slot = entry->slot;
        if (!kind->soft) {
            status = read_partition(database, directory, entry, kind->states, axis, error);
            continue;
        }
        uint64_t bytes = phl_array_directory_bytes(directory, entry);
        uint64_t row = ((uint64_t)kind->states + 1) * phl_array_dtype_width(entry->dtype);
        if (bytes == 0 || bytes % row != 0 || bytes / row > kind->states + 1) {
            status = phl_database_damaged(database, error, "a mode matrix of another size");
            continue;
        }
        axis->size = (uint32_t)(bytes / row);
        axis->matrix =
            phl_alloc_zero(((size_t)kind->states + 1) * axis->size, sizeof(double), error);
        status = axis->matrix == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    return status;
}

static void free_axes(phl_axis *axes, uint32_t n_axes)
{
    for (uint32_t a = 0; a < n_axes; a++) {
        phl_free(axes[a].block);
        phl_free(axes[a].matrix);
    }
    phl_free(axes);
}

/* Does a model of these sizes fit the bytes stored?  In memory it has a row beyond L and a row of
 * ones more, at most twice as much. */
static bool sizes_fit(const phl_draw_kind *kind, const phl_axis *axes, uint32_t n_axes,
                      uint64_t stored)
{
    return phl_params_bytes(kind->kind, kind->states, kind->slots, kind->labels, axes, n_axes) <=
           2 * stored + 1024;
}

static phl_status read_table(const phl_database *database, const phl_array_directory *directory,
                             int64_t model, const phl_array *array, const char *shape,
                             phl_error *error)
{
    const phl_entry *entry = phl_array_directory_find(directory, model, array->name, array->slot);
    if (entry == NULL || entry->dtype != PHL_FLOAT32) {
        return phl_array_read(database, directory, model, array, shape, error);
    }
    float *floats = phl_alloc(array->rows * array->columns, sizeof *floats, error);
    if (floats == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_array small = array_of_floats(array, floats);
    phl_status status = phl_array_read(database, directory, model, &small, shape, error);
    if (status == PHL_OK) {
        widen(array, floats);
    }
    phl_free(floats);
    return status;
}

/* Partitions are there already. */
static phl_status read_tables(const phl_database *database, const phl_array_directory *directory,
                              int64_t model, phl_params *params, phl_error *error)
{
    phl_text shape = {NULL, 0, 0};
    phl_tensor tensor;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && phl_tensor_of(params, i, &tensor); i++) {
        phl_array array = array_of(&tensor);
        if (tensor.dtype == PHL_INT32) {
            continue;
        }
        status = write_shape(&tensor, &shape, error);
        if (status == PHL_OK) {
            status = read_table(database, directory, model, &array, shape.bytes, error);
        }
    }
    phl_text_clear(&shape);
    return status;
}

/* full has the identity partition in every slot. */
static bool is_identity(const phl_axis *axes, uint32_t n_axes, uint32_t states, uint32_t slots)
{
    bool same = n_axes == slots;
    for (uint32_t a = 0; same && a < n_axes; a++) {
        same = axes[a].slot == a + 1;
        for (uint32_t q = 0; same && q <= states; q++) {
            same = axes[a].block[q] == q;
        }
    }
    return same;
}

/* Make and fill the parameters, now that the active slots are known. */
static phl_status read_params(const phl_database *database, const phl_array_directory *directory,
                              int64_t model, const phl_draw_kind *kind, const phl_axis *axes,
                              uint32_t n_axes, phl_params **params, phl_error *error)
{
    bool core = kind->kind == PHL_TF || kind->kind == PHL_FULL;
    if ((!core && n_axes > 0) || (kind->soft && kind->kind != PHL_TF) ||
        (kind->kind == PHL_FULL && !is_identity(axes, n_axes, kind->states, kind->slots))) {
        return phl_database_damaged(database, error, "partitions that a model of kind %s lacks",
                                    phl_kind_name(kind->kind));
    }
    phl_status status = phl_params_create(kind->kind, kind->states, kind->slots, kind->labels, axes,
                                          n_axes, 0, params, error);
    if (status == PHL_OK) {
        (*params)->soft = kind->soft; /* without active slots nothing else tells */
        status = read_tables(database, directory, model, *params, error);
    }
    if (status == PHL_OK) {
        phl_params_complete(*params);
        status = phl_params_check(*params, error);
    }
    if (status != PHL_OK && status != PHL_ERR_MEMORY && status != PHL_ERR_READ &&
        (error == NULL || error->file[0] == '\0')) {
        char what[200] = "impossible parameters"; /* a complaint that does not name the file */
        if (error != NULL) {
            memcpy(what, error->message, sizeof what - 1);
            what[sizeof what - 1] = '\0';
        }
        status = phl_database_damaged(database, error, "%s", what);
    }
    return status;
}

phl_status phl_draw_store_read(const phl_database *database, const phl_array_directory *directory,
                               int64_t model, const phl_draw_kind *kind, phl_params **params,
                               phl_error *error)
{
    if (kind->kind == PHL_GRAMMAR) {
        return phl_grammar_store_read(database, directory, model, kind, params, error);
    }
    size_t count = 0;
    const phl_entry *first = phl_array_directory_owner(directory, model, &count);
    phl_axis *axes = NULL;
    uint32_t n_axes = 0;
    phl_params *made = NULL;
    uint64_t stored = 0;
    for (size_t i = 0; i < count; i++) {
        stored += first[i].length * (first[i].dtype == PHL_FLOAT32 ? 2 : 1);
    }
    phl_status status = read_axes(database, directory, first, count, kind, &axes, &n_axes, error);
    if (status == PHL_OK && !sizes_fit(kind, axes, n_axes, stored)) {
        status = phl_database_damaged(database, error,
                                      "a model's tables are too small for its "
                                      "states, slots and labels");
    }
    if (status == PHL_OK) {
        status = read_params(database, directory, model, kind, axes, n_axes, &made, error);
    }
    free_axes(axes, n_axes);
    if (status != PHL_OK) {
        phl_params_free(made);
        return status;
    }
    *params = made;
    return PHL_OK;
}
