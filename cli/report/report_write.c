/* report_write.c - the document of a report as a whole, and the page around it; see report.h.
 *
 * Contents: the runs, facts of a run, test trees, sections, the top, the page.
 */
#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "forests.h"

enum { SCHEMA_VERSION = 1 };

/* ---- the runs ---- */

static bool is_trained(const phl_run *run)
{
    bool trained = phl_run_kind(run) != PHL_NO_KIND && !phl_run_meta(run, "piece");
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        trained = trained && phl_model_draws(phl_run_model(run, i)) > 0;
    }
    return trained;
}

int report_write_open(report *r, const char *const *paths, size_t n, const cli_command *command)
{
    phl_error error = {0};
    r->runs = terminal_allocate(n, sizeof *r->runs);
    for (size_t i = 0; i < n; i++) {
        report_run *run = &r->runs[r->n_runs++];
        run->path = paths[i];
        phl_status status = phl_run_open(paths[i], &run->run, &error);
        if (status == PHL_OK) {
            status = phl_run_open_trees(paths[i], &run->trees, &error);
        }
        if (status != PHL_OK) {
            return usage_report(command, &error);
        }
        run->trained = is_trained(run->run);
    }
    return EXIT_OK;
}

void report_write_clear(report *r)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        if (r->runs[i].diagnosed) {
            phl_diagnosis_clear(&r->runs[i].diagnosis);
        }
        phl_forest_free(r->runs[i].trees);
        phl_run_free(r->runs[i].run);
    }
    for (size_t i = 0; i < r->n_alerts; i++) {
        free(r->alerts[i].class_name);
        free(r->alerts[i].text);
        free(r->alerts[i].advice);
    }
    free(r->runs);
    free(r->alerts);
    phl_forest_free(r->test);
}

/* ---- facts of a run ---- */

/* The options of the training, as the run file has them: numbers, texts and truths. */
static void put_settings(json_writer *json, const phl_run *run)
{
    const char *text = phl_run_meta(run, "config");
    phl_json config = {0};
    phl_error error;
    json_out_object(json, "settings", true);
    if (text && phl_json_load(text, &config, &error) == PHL_OK) {
        const phl_json_value *value = NULL;
        while ((value = phl_json_next(config.values, value))) {
            if (phl_json_is(value, PHL_JSON_NUMBER)) {
                report_values_real(json, value->key, phl_json_number_of(value), 15);
            } else if (phl_json_is(value, PHL_JSON_STRING)) {
                report_values_text(json, value->key, phl_json_string_of(value));
            } else if (phl_json_is(value, PHL_JSON_TRUE) || phl_json_is(value, PHL_JSON_FALSE)) {
                json_out_truth(json, value->key, phl_json_is(value, PHL_JSON_TRUE));
            }
        }
    }
    json_out_close(json, '}');
    phl_json_clear(&config);
}

/* Seconds until the last iteration of any chain; NaN: not known. */
static double seconds_of(const phl_run *run)
{
    double seconds = (double)NAN;
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        const phl_model *model = phl_run_model(run, i);
        const phl_trace_row *row;
        for (size_t c = 0; c < phl_trace_chains(model); c++) {
            for (size_t k = 0; (row = phl_trace_get(model, c, k)); k++) {
                seconds = seconds > row->seconds ? seconds : row->seconds;
            }
        }
    }
    return seconds;
}

static void put_classes(json_writer *json, const phl_run *run)
{
    json_out_array(json, "classes", false);
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        const phl_model *model = phl_run_model(run, i);
        json_out_open(json, '{', true);
        report_values_text(json, "name", phl_run_class_name(run, i));
        json_out_count(json, "trees", phl_model_trees(model));
        json_out_count(json, "draws", phl_model_draws(model));
        if (phl_run_kind(run) != PHL_NO_KIND) {
            json_out_count(json, "iterations", phl_model_iterations(model));
            report_values_real(json, "log_likelihood", phl_model_log_likelihood(model), 10);
            json_out_text(json, "stop_reason", phl_stop_reason_name(phl_model_stop_reason(model)));
        }
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

/* What trees held out said of the rules to classify by. */
static void put_held_out(json_writer *json, const phl_run *run)
{
    static const char *const rules[] = {"generative", "head", "both"};
    const char *held = phl_run_meta(run, "held_out");
    char *at = NULL;
    double trees = held ? strtod(held, &at) : 0;
    json_out_array(json, "held_out", true);
    for (size_t i = 0; trees >= 1 && i < sizeof rules / sizeof *rules; i++) {
        double loss = strtod(at, &at), accuracy = strtod(at, &at);
        if (accuracy >= 0) {
            json_out_open(json, '{', true);
            json_out_text(json, "rule", rules[i]);
            report_values_real(json, "trees", trees, 10);
            report_values_real(json, "accuracy", accuracy, 6);
            report_values_real(json, "log_loss", loss, 6);
            json_out_close(json, '}');
        }
    }
    json_out_close(json, ']');
}

static void put_facts(report *r, size_t index)
{
    static const char *const facts[] = {"command", "version",     "seed",        "fingerprint",
                                        "rule",    "class_prior", "temperature", "form"};
    const phl_run *run = r->runs[index].run;
    json_writer *json = r->json;
    uint64_t trees = 0;
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        trees += phl_model_trees(phl_run_model(run, i));
    }
    report_values_text(json, "path", r->runs[index].path);
    json_out_text(json, "model", phl_kind_name(phl_run_kind(run)));
    json_out_truth(json, "head", phl_run_head(run) != NULL);
    json_out_truth(json, "per_class", phl_run_per_class(run));
    json_out_count(json, "states", phl_run_states(run));
    json_out_count(json, "slots", phl_run_slots(run));
    json_out_count(json, "labels", phl_run_labels(run));
    json_out_count(json, "trees", trees);
    report_values_real(json, "seconds", seconds_of(run), 6);
    json_out_object(json, "facts", false);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        json_out_text(json, facts[i], phl_run_meta(run, facts[i]));
    }
    json_out_close(json, '}');
    put_settings(json, run);
    put_classes(json, run);
    put_held_out(json, run);
}

static void check_run(report *r, size_t index)
{
    const report_run *run = &r->runs[index];
    if (phl_run_meta(run->run, "piece")) {
        report_values_alert(r, index, true, "piece", NULL,
                            "put the pieces together with 'phloem merge'",
                            "the run is a piece of a training");
    } else if (!run->trained && phl_run_kind(run->run) != PHL_NO_KIND) {
        report_values_alert(r, index, true, "not-trained", NULL,
                            "go on with 'phloem resume', or train again",
                            "training was interrupted before every model had an iteration; test "
                            "trees are not looked at");
    }
    if (!run->trees) {
        report_values_alert(r, index, false, "no-trees", NULL, NULL,
                            "the run file does not hold the trees it was trained on: there is "
                            "nothing to show of them");
    }
}

/* ---- test trees ---- */

/* Where each test tree comes from, and where it is in the table of subtrees. */
static void put_test_trees(report *r)
{
    size_t n = phl_forest_trees(r->test);
    int32_t *number = terminal_allocate(phl_forest_subtrees(r->test) + 1, sizeof *number);
    uint32_t *roots = terminal_allocate(n + 1, sizeof *roots);
    char source[SOURCE_SIZE];
    const char *before = NULL;
    for (size_t t = 0; t < n; t++) {
        roots[t] = phl_tree_root(r->test, t);
    }
    report_trees_table(r->json, r->test, roots, n, number);
    json_out_array(r->json, "root", true);
    for (size_t t = 0; t < n; t++) {
        if (number[roots[t]] < 0) {
            json_out_raw(r->json, "-1");
        } else {
            json_out_integer(r->json, (uint64_t)number[roots[t]]);
        }
    }
    json_out_close(r->json, ']');
    /* A file's name once, then lines. */
    json_out_array(r->json, "source", true);
    for (size_t t = 0; t < n; t++) {
        const char *file = phl_tree_file(r->test, t);
        bool again = file && before && strcmp(file, before) == 0 && phl_tree_line(r->test, t);
        if (again) {
            json_out_integer(r->json, phl_tree_line(r->test, t));
        } else {
            report_values_name(r->json, file ? forest_tree_source(r->test, t, source) : NULL);
        }
        before = file;
    }
    json_out_close(r->json, ']');
    free(number);
    free(roots);
}

static phl_status put_test(report *r, phl_error *error)
{
    if (!r->test) {
        json_out_text(r->json, "test", NULL);
        return PHL_OK;
    }
    json_out_object(r->json, "test", false);
    phl_status status = report_data_write(r, r->test, "data", error);
    put_test_trees(r);
    json_out_close(r->json, '}');
    return status;
}

/* ---- sections ---- */

static phl_status put_run(report *r, size_t index, phl_error *error)
{
    check_run(r, index);
    json_out_open(r->json, '{', false);
    put_facts(r, index);
    phl_status status = report_convergence_write(r, index, error);
    if (status == PHL_OK) {
        status = report_data_write(r, r->runs[index].trees, "data", error);
    }
    if (status == PHL_OK) {
        status = report_learned_write(r, index, error);
    }
    if (status == PHL_OK) {
        status = report_test_write(r, index, error);
    }
    json_out_close(r->json, '}');
    return status;
}

/* Everything that alerts come from, as members of the document. */
static phl_status put_sections(report *r, phl_error *error)
{
    phl_status status = put_test(r, error);
    json_out_array(r->json, "runs", false);
    for (size_t i = 0; status == PHL_OK && i < r->n_runs; i++) {
        status = put_run(r, i, error);
    }
    json_out_close(r->json, ']');
    return status;
}

/* ---- the top ---- */

static void put_verdict(json_writer *json, const report *r)
{
    size_t trouble = 0;
    char text[200];
    for (size_t i = 0; i < r->n_alerts; i++) {
        trouble += r->alerts[i].trouble;
    }
    size_t notes = r->n_alerts - trouble;
    json_out_object(json, "verdict", true);
    json_out_text(json, "level", trouble ? "trouble" : notes ? "notes" : "fine");
    if (trouble) {
        snprintf(text, sizeof text, "%zu %s to look into", trouble,
                 trouble == 1 ? "thing" : "things");
    } else {
        snprintf(text, sizeof text, "%s can be trusted%s",
                 r->n_runs == 1 ? "this run" : "these runs", notes ? ", with notes" : "");
    }
    json_out_text(json, "text", text);
    json_out_count(json, "trouble", trouble);
    json_out_count(json, "notes", notes);
    json_out_close(json, '}');
    json_out_array(json, "alerts", false);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < r->n_alerts; i++) {
            const report_alert *alert = &r->alerts[i];
            if (alert->trouble != (pass == 0)) {
                continue;
            }
            json_out_open(json, '{', true);
            json_out_text(json, "level", alert->trouble ? "trouble" : "note");
            json_out_text(json, "code", alert->code);
            json_out_count(json, "run", alert->run);
            report_values_text(json, "class", alert->class_name);
            json_out_text(json, "text", alert->text);
            json_out_text(json, "advice", alert->advice);
            json_out_close(json, '}');
        }
    }
    json_out_close(json, ']');
}

static void begin(json_writer *json, FILE *file, bool page)
{
    if (page) {
        json_out_begin_compact(json, file);
    } else {
        json_out_begin(json, file);
    }
}

/* The members after the top into *text; to be freed. */
static phl_status make_sections(report *r, bool page, char **text, phl_error *error)
{
    size_t size = 0;
    json_writer json;
    FILE *memory = open_memstream(text, &size);
    if (!memory) {
        terminal_message("out of memory");
        exit(EXIT_SYSTEM);
    }
    begin(&json, memory, page);
    r->json = &json;
    /* Without the brace of the document: its members go behind others. */
    json.depth = 1;
    phl_status status = put_sections(r, error);
    r->json = NULL;
    int reason = terminal_flush(memory);
    fclose(memory);
    if (reason != 0) {
        terminal_message("out of memory");
        exit(EXIT_SYSTEM);
    }
    return status;
}

static void put_document(const report *r, FILE *file, bool page, const char *sections)
{
    json_writer json;
    begin(&json, file, page);
    json_out_open(&json, '{', false);
    json_out_text(&json, "format", "phloem-report");
    json_out_count(&json, "format_version", SCHEMA_VERSION);
    json_out_text(&json, "version", phl_version());
    report_values_text(&json, "command", r->command);
    put_verdict(&json, r);
    json_out_raw(&json, sections + strspn(sections, "\n "));
    json_out_close(&json, '}');
}

/* ---- the page ---- */

int report_write(report *r, FILE *file, bool page, const cli_command *command)
{
    phl_error error = {0};
    char *sections = NULL;
    int code = EXIT_OK;
    if (make_sections(r, page, &sections, &error) != PHL_OK) {
        code = usage_report(command, &error);
    } else if (page) {
        const char *mark = strstr(report_page, REPORT_PAGE_MARK);
        fwrite(report_page, 1, (size_t)(mark - report_page), file);
        put_document(r, file, true, sections);
        fputs(mark + strlen(REPORT_PAGE_MARK), file);
    } else {
        put_document(r, file, false, sections);
    }
    free(sections);
    return code;
}
