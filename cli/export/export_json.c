/* export_json.c - a class as one JSON document; see export.h. */
#include "export/export.h"
#include "print/rows.h"

#include <stdlib.h>

static void put_chain(json_writer *json, const exported *e, size_t i)
{
    const phl_trace_row *row;
    size_t chain, warmup, draws;
    export_rows_chain(e, i, &chain, &warmup, &draws);
    json_out_open(json, '{', false);
    json_out_count(json, "chain", chain);
    json_out_count(json, "warmup", warmup);
    json_out_count(json, "draws", draws);
    json_out_array(json, "iteration", true);
    for (size_t k = 0; (row = phl_trace_get(e->model, chain, k)); k++) {
        json_out_integer(json, row->iteration);
    }
    json_out_close(json, ']');
    for (size_t c = 0; c < e->n_columns; c++) {
        json_out_array(json, e->columns[c].name, true);
        for (size_t k = 0; (row = phl_trace_get(e->model, chain, k)); k++) {
            json_out_real(json, export_rows_value(e, row, c));
        }
        json_out_close(json, ']');
    }
    json_out_close(json, '}');
}

/* Draws that predictions use; tf, full: with the blocks of their active slots. */
static void put_draw(json_writer *json, const exported *e, size_t d)
{
    const phl_draw *draw = phl_model_draw(e->model, d);
    json_out_open(json, '{', true);
    json_out_count(json, "chain", draw->chain);
    json_out_count(json, "iteration", draw->iteration);
    json_out_number(json, "log_joint", draw->log_joint);
    json_out_number(json, "log_likelihood", draw->log_likelihood);
    json_out_number(json, "weight", draw->weight);
    json_out_array(json, "slots", true);
    for (uint32_t slot = 1; slot <= phl_run_slots(e->run); slot++) {
        uint32_t size = phl_model_slot_size(e->model, d, slot);
        if (size > 1) {
            json_out_open(json, '{', true);
            json_out_count(json, "slot", slot);
            json_out_count(json, "blocks", size);
            json_out_close(json, '}');
        }
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

int export_json_write(const exported *e, const char *stem)
{
    rows_file result = {0};
    char *path = text_format("%s.json", stem);
    int code = rows_file_open(&result, path);
    if (code == EXIT_OK) {
        json_writer json;
        json_out_begin(&json, result.file);
        json_out_open(&json, '{', false);
        json_out_text(&json, "class", phl_run_class_name(e->run, e->index));
        json_out_text(&json, "model", phl_kind_name(phl_run_kind(e->run)));
        json_out_text(&json, "learner", e->gibbs ? "gibbs" : "em");
        json_out_array(&json, "chains", false);
        for (size_t i = 0; i < e->diagnosis->n_chains; i++) {
            put_chain(&json, e, i);
        }
        json_out_close(&json, ']');
        json_out_array(&json, "kept", false);
        for (size_t d = 0; d < phl_model_draws(e->model); d++) {
            put_draw(&json, e, d);
        }
        json_out_close(&json, ']');
        json_out_close(&json, '}');
    }
    code = rows_file_close(&result, code);
    free(path);
    return code;
}
