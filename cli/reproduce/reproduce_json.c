/* reproduce_json.c - results.json: every figure of every run, and what it came from. */
#include "print/rows.h"
#include "reproduce/reproduce.h"

#include <stdlib.h>

static void spread_json(json_writer *json, const char *key, double mean, double sd)
{
    json_out_key(json, key);
    json_out_open(json, '{', true);
    json_out_number(json, "mean", mean);
    json_out_number(json, "sd", sd);
    json_out_close(json, '}');
}

static void data_json(json_writer *json, const char *key, const data_set *set)
{
    json_out_key(json, key);
    json_out_open(json, '{', true);
    json_out_text(json, "path", set->path);
    json_out_count(json, "trees", phl_forest_trees(set->forest));
    json_out_text(json, "fingerprint", set->fingerprint);
    json_out_close(json, '}');
}

static void paper_json(json_writer *json, const reproduction *r)
{
    static const char *const models[PAPER_MODELS] = {"sp", "tf"};
    json_out_key(json, "paper");
    json_out_open(json, '{', false);
    json_out_text(json, "source", paper_source);
    json_out_key(json, "rows");
    json_out_open(json, '[', false);
    for (size_t i = 0; i < PAPER_ROWS; i++) {
        const paper_row *row = &r->paper->rows[i];
        for (size_t m = 0; m < PAPER_MODELS; m++) {
            json_out_open(json, '{', true);
            json_out_text(json, r->experiment->labelling ? "label" : "states", row->name);
            json_out_text(json, "model", models[m]);
            spread_json(json, "accuracy", row->accuracy[m].mean, row->accuracy[m].sd);
            spread_json(json, "entropy", row->entropy[m].mean, row->entropy[m].sd);
            json_out_close(json, '}');
        }
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

/* What a line of figures is about. */
static void begin_line(json_writer *json, const reproduction *r, size_t setting, size_t row)
{
    json_out_open(json, '{', true);
    json_out_text(json, "setting", r->experiment->settings[setting]);
    if (reproduce_settings_row_name(r, row)) {
        json_out_text(json, "label", reproduce_settings_row_name(r, row));
    }
}

static void summary_json(json_writer *json, const reproduction *r, const cell *c)
{
    json_out_key(json, "summary");
    json_out_open(json, '[', false);
    for (size_t s = 0; s < r->experiment->n_settings; s++) {
        for (size_t row = 0; row < r->experiment->n_rows; row++) {
            const figure *mean = &c->mean[s][row], *sd = &c->sd[s][row];
            begin_line(json, r, s, row);
            spread_json(json, "accuracy", 100 * mean->accuracy, 100 * sd->accuracy);
            spread_json(json, "entropy", 100 * mean->entropy, 100 * sd->entropy);
            spread_json(json, "log_loss", mean->log_loss, sd->log_loss);
            json_out_close(json, '}');
        }
    }
    json_out_close(json, ']');
}

static void figures_json(json_writer *json, const reproduction *r, const outcome *o)
{
    json_out_key(json, "figures");
    json_out_open(json, '[', false);
    for (size_t s = 0; s < r->experiment->n_settings; s++) {
        for (size_t row = 0; row < r->experiment->n_rows; row++) {
            const figure *f = &o->figures[s][row];
            begin_line(json, r, s, row);
            json_out_number(json, "accuracy", 100 * f->accuracy);
            json_out_number(json, "entropy", 100 * f->entropy);
            json_out_number(json, "log_loss", f->log_loss);
            json_out_close(json, '}');
        }
    }
    json_out_close(json, ']');
}

static void run_json(json_writer *json, const reproduction *r, const outcome *o)
{
    size_t *order = evaluation_names_in_order(o->evaluation);
    json_out_open(json, '{', false);
    json_out_count(json, "seed", o->seed);
    json_out_text(json, "file", o->file);
    json_out_text(json, "predictions", o->predictions);
    json_out_text(json, "command", o->command);
    json_out_text(json, "version", o->version);
    json_out_text(json, "fingerprint", o->fingerprint);
    json_out_key(json, "config");
    json_out_raw(json, o->config[0] ? o->config : "null");
    figures_json(json, r, o);
    evaluation_confusion_json(json, o->evaluation, o->confusion, order);
    free(order);
    json_out_close(json, '}');
}

static void cell_json(json_writer *json, const reproduction *r, const cell *c)
{
    json_out_open(json, '{', false);
    json_out_text(json, "model", c->model->name);
    json_out_count(json, "states", c->states);
    json_out_count(json, "best_seed", c->outcomes[c->best].seed);
    summary_json(json, r, c);
    json_out_key(json, "runs");
    json_out_open(json, '[', false);
    for (size_t run = 0; run < r->runs; run++) {
        run_json(json, r, &c->outcomes[run]);
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

static void print_results(const reproduction *r, FILE *file)
{
    json_writer json;
    json_out_begin(&json, file);
    json_out_open(&json, '{', false);
    json_out_count(&json, "format", 1);
    json_out_text(&json, "experiment", r->experiment->name);
    json_out_text(&json, "version", phl_version());
    json_out_text(&json, "units",
                  "accuracy in percent, entropy 100 times bits as in the paper, log_loss in nats");
    json_out_text(&json, "headline", r->experiment->settings[HEADLINE]);
    json_out_count(&json, "seed", r->seed);
    json_out_count(&json, "runs", r->runs);
    json_out_truth(&json, "generated", r->generated);
    data_json(&json, "train", &r->train);
    data_json(&json, "test", &r->test);
    paper_json(&json, r);
    json_out_key(&json, "models");
    json_out_open(&json, '[', false);
    for (size_t i = 0; i < r->n_cells; i++) {
        cell_json(&json, r, &r->cells[i]);
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
}

int reproduce_json_write(const reproduction *r)
{
    rows_file result = {0};
    char *path = text_path(r->folder, "results.json");
    int code = rows_file_open(&result, path);
    if (code == EXIT_OK) {
        print_results(r, result.file);
        code = rows_file_close(&result, code);
    }
    free(path);
    return code;
}
