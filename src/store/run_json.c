/* run_json.c - a run as JSON: the output of `show --json`, which docs/run-file.md describes.
 *
 * Numbers are written with 15 digits where that gives the same double when read, else with 17,
 * which always does.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/run_file.h"

/* The writer carries its first failure along, so that each call need not be looked at. */
struct writer {
    phl_text text;
    phl_status status;
    phl_error *error;
};

static void put(struct writer *writer, const char *string)
{
    if (writer->status == PHL_OK) {
        writer->status = phl_text_append_string(&writer->text, string, writer->error);
    }
}

static void put_count(struct writer *writer, uint64_t number)
{
    if (writer->status == PHL_OK) {
        writer->status = phl_text_append_format(&writer->text, writer->error, "%llu",
                                                (unsigned long long)number);
    }
}

static void put_name(struct writer *writer, const char *name)
{
    if (name == NULL) {
        put(writer, "null");
    } else if (writer->status == PHL_OK) {
        writer->status = phl_text_append_json(&writer->text, name, strlen(name), writer->error);
    }
}

/* printf follows the program's locale, JSON does not: whatever stands between the digits is the
 * decimal point. */
static void put_number(struct writer *writer, double number)
{
    char digits[48], plain[48];
    if (!isfinite(number)) { /* no parameter is; JSON has no word for it */
        put(writer, "null");
        return;
    }
    (void)snprintf(digits, sizeof digits, "%.15g", number);
    if (strtod(digits, NULL) != number) {
        (void)snprintf(digits, sizeof digits, "%.17g", number);
    }
    size_t used = 0;
    bool pointed = false;
    for (const char *at = digits; *at != '\0'; at++) {
        if ((*at >= '0' && *at <= '9') || *at == '-' || *at == '+' || *at == 'e') {
            plain[used++] = *at;
        } else if (!pointed) {
            plain[used++] = '.';
            pointed = true;
        }
    }
    plain[used] = '\0';
    put(writer, plain);
}

/* ---------------------------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------------------------- */

/* Columns `first` and on of one row, as a list. */
static void put_row(struct writer *writer, const phl_table *table, size_t row, size_t first,
                    size_t count)
{
    put(writer, "[");
    for (size_t c = first; c < first + count; c++) {
        put(writer, c > first ? "," : "");
        put_number(writer, table->data[row * table->row_stride + c * table->column_stride]);
    }
    put(writer, "]");
}

/* Rows `first` and on, as a list of lists. */
static void put_rows(struct writer *writer, const phl_table *table, size_t first, size_t count,
                     size_t columns)
{
    put(writer, "[");
    for (size_t r = first; r < first + count; r++) {
        put(writer, r > first ? "," : "");
        put_row(writer, table, r, 0, columns);
    }
    put(writer, "]");
}

/* [slots][rows a slot][columns] */
static void put_transition(struct writer *writer, const phl_table *table, size_t slots)
{
    size_t rows = table->rows / slots;
    put(writer, "[");
    for (size_t l = 0; l < slots; l++) {
        put(writer, l > 0 ? "," : "");
        put_rows(writer, table, l * rows, rows, table->columns);
    }
    put(writer, "]");
}

/* The last column of emission belongs to the unseen symbol. */
static void put_emission(struct writer *writer, const phl_table *table)
{
    size_t labels = table->columns - 1;
    put_rows(writer, table, 0, table->rows, labels);
    put(writer, ",\n\"unseen\":[");
    for (size_t j = 0; j < table->rows; j++) {
        put(writer, j > 0 ? "," : "");
        put_number(writer, table->data[j * table->row_stride + labels * table->column_stride]);
    }
    put(writer, "]");
}

static void put_core(struct writer *writer, const phl_params *params, const phl_table *table)
{
    phl_text shape = {NULL, 0, 0};
    if (writer->status == PHL_OK) {
        writer->status = phl_table_shape(params, table, &shape, writer->error);
    }
    put(writer, "{\"shape\":");
    put(writer, writer->status == PHL_OK ? shape.bytes : "");
    put(writer, ",\"data\":[");
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c < table->columns; c++) {
            put(writer, r + c > 0 ? "," : "");
            put_number(writer, table->data[r * table->row_stride + c * table->column_stride]);
        }
    }
    put(writer, "]}");
    phl_text_clear(&shape);
}

/* Active slots: their partitions, or mode matrices when soft. */
static void put_modes(struct writer *writer, const phl_params *params)
{
    put(writer, params->soft ? ",\n\"mode\":[" : ",\n\"partition\":[");
    for (uint32_t a = 0; a < params->n_modes; a++) {
        const phl_mode *mode = &params->modes[a];
        put(writer, a > 0 ? ",{\"slot\":" : "{\"slot\":");
        put_count(writer, mode->slot);
        if (mode->matrix != NULL) {
            phl_table matrix = {
                "mode",     mode->slot, mode->matrix, (size_t)params->states + 1, mode->size,
                mode->size, 1};
            put(writer, ",\"matrix\":");
            put_rows(writer, &matrix, 0, matrix.rows, matrix.columns);
        } else {
            put(writer, ",\"blocks\":[");
            for (uint32_t q = 0; q <= params->states; q++) {
                put(writer, q > 0 ? "," : "");
                put_count(writer, mode->block[q]);
            }
            put(writer, "]");
        }
        put(writer, "}");
    }
    put(writer, "]");
}

static void put_table(struct writer *writer, const phl_params *params, const phl_table *table)
{
    if (strcmp(table->name, "core") == 0) {
        put_modes(writer, params);
    }
    put(writer, ",\n\"");
    put(writer, table->name);
    put(writer, "\":");
    if (strcmp(table->name, "emission") == 0) {
        put_emission(writer, table);
    } else if (strcmp(table->name, "transition") == 0) {
        put_transition(writer, table, params->slots);
    } else if (strcmp(table->name, "core") == 0) {
        put_core(writer, params, table);
    } else if (strcmp(table->name, "prior") == 0 || strcmp(table->name, "shape_prior") == 0) {
        put_rows(writer, table, 0, table->rows, table->columns);
    } else {
        put_row(writer, table, 0, 0, table->columns);
    }
}

/* ---------------------------------------------------------------------------------------------
 * The run
 * ------------------------------------------------------------------------------------------- */

static void put_draw(struct writer *writer, const phl_draw *draw)
{
    phl_table table;
    put(writer, "{\"chain\":");
    put_count(writer, draw->chain);
    put(writer, ",\"iteration\":");
    put_count(writer, draw->iteration);
    for (size_t i = 0; phl_params_table(draw->params, i, &table); i++) {
        if (strcmp(table.name, "mode") != 0) { /* these are listed slot by slot */
            put_table(writer, draw->params, &table);
        }
    }
    put(writer, "}");
}

phl_status phl_run_json(const phl_run *run, char **text, size_t *size, phl_error *error)
{
    struct writer writer = {{NULL, 0, 0}, PHL_OK, error};
    put(&writer, "{\"format\":1,\"model\":");
    put_name(&writer, phl_kind_name(run->kind));
    put(&writer, ",\"states\":");
    put_count(&writer, run->states);
    put(&writer, ",\"slots\":");
    put_count(&writer, run->slots);
    put(&writer, ",\n\"labels\":[");
    for (size_t i = 0; i < run->labels.count; i++) {
        put(&writer, i > 0 ? "," : "");
        put_name(&writer, phl_alphabet_name(&run->labels, i));
    }
    put(&writer, "],\n\"classes\":[");
    for (size_t i = 0; i < run->n_models; i++) {
        const phl_model *model = &run->models[i];
        put(&writer, i > 0 ? ",\n{\"class\":" : "\n{\"class\":");
        put_name(&writer, phl_run_class_name(run, i));
        put(&writer, ",\"trees\":");
        put_count(&writer, model->trees);
        put(&writer, ",\"draws\":[");
        for (size_t d = 0; d < model->n_draws; d++) {
            put(&writer, d > 0 ? ",\n" : "\n");
            put_draw(&writer, &model->draws[d]);
        }
        put(&writer, "]}");
    }
    put(&writer, "]}\n");
    if (writer.status == PHL_OK) { /* terminated, for those who take it as a string */
        writer.status = phl_text_append(&writer.text, "", 1, error);
    }
    if (writer.status != PHL_OK) {
        phl_text_clear(&writer.text);
        return writer.status;
    }
    *text = writer.text.bytes;
    *size = writer.text.length - 1;
    return PHL_OK;
}
