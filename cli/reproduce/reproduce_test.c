/* reproduce_test.c - how good a run is on the test trees; see reproduce.h.
 *
 * Contents: classification, labelling.
 */
#include "forests.h"
#include "interrupt.h"
#include "print/rows.h"
#include "reproduce/reproduce.h"
#include "runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The exit code of a call that failed; of an interruption the caller tells. */
static int failure(const reproduction *r, phl_status status, const phl_error *error)
{
    return status == PHL_ERR_CANCELLED ? EXIT_INTERRUPTED : usage_report(r->parsed->command, error);
}

static void test_options(reproduction *r, int *threads, phl_report_fn *report,
                         phl_cancel_fn *cancel)
{
    *threads = arguments_threads(r->parsed);
    *report = r->line.quiet ? NULL : progress_report;
    *cancel = interrupt_asked;
}

/* ---- classification ---- */

typedef struct class_test {
    progress_line line; /* first: what callbacks report to */
    reproduction *r;
    const phl_run *run;
    outcome *o;
    phl_source *source;
    size_t setting; /* at hand */
    size_t n_trees;
    size_t *predicted;   /* [settings][trees] */
    double *probability; /* [trees] headline */
} class_test;

static phl_status take_class(const phl_tree_at *at, const phl_classified_tree *tree, void *context,
                             phl_error *error)
{
    class_test *t = context;
    (void)error;
    t->predicted[t->setting * t->n_trees + at->tree] = tree->best;
    if (t->setting == HEADLINE) {
        t->probability[at->tree] = exp(tree->log_posterior[tree->best]);
    }
    return PHL_OK;
}

/* The settings in the order of their names: structure slots or none, class prior uniform or
 * empirical. */
static int classify(class_test *t, size_t setting)
{
    phl_classify_options options;
    phl_evaluation *e = NULL;
    phl_error error = {0};
    phl_classify_options_init(&options);
    options.structure = setting < 2;
    options.prior = setting % 2 ? PHL_PRIOR_EMPIRICAL : PHL_PRIOR_UNIFORM;
    test_options(t->r, &options.threads, &options.report, &options.cancel);
    options.context = t;
    t->setting = setting;
    phl_status status = phl_classify(t->run, t->source, &options, take_class, &e, &error);
    if (status != PHL_OK) {
        return failure(t->r, status, &error);
    }
    t->o->figures[setting][0] = (figure){e->best->accuracy, e->best->entropy_bits, e->log_loss};
    if (setting == HEADLINE) {
        t->o->evaluation = e;
        t->o->confusion = e->best;
    } else {
        phl_evaluation_free(e);
    }
    return EXIT_OK;
}

static void print_classes(const class_test *t, FILE *file)
{
    const experiment *e = t->r->experiment;
    const phl_forest *forest = t->r->test.forest;
    const char *columns[4 + MOST_SETTINGS] = {"tree", "source", "class"};
    char source[SOURCE_SIZE];
    row_writer rows;
    for (size_t s = 0; s < e->n_settings; s++) {
        columns[3 + s] = e->settings[s];
    }
    columns[3 + e->n_settings] = "probability";
    rows_begin(&rows, file, false, columns, 4 + e->n_settings);
    for (size_t i = 0; i < t->n_trees; i++) {
        rows_count(&rows, i);
        rows_text(&rows, forest_tree_source(forest, i, source));
        rows_text(&rows, forest_tree_class(forest, i));
        for (size_t s = 0; s < e->n_settings; s++) {
            rows_text(&rows, phl_run_class_name(t->run, t->predicted[s * t->n_trees + i]));
        }
        rows_real(&rows, t->probability[i], DIGITS_PROBABILITY);
    }
    rows_end(&rows);
}

static int test_classes(reproduction *r, const phl_run *run, outcome *o, FILE *file)
{
    class_test t = {.line.quiet = r->line.quiet, .r = r, .run = run, .o = o};
    size_t settings = r->experiment->n_settings;
    phl_error error = {0};
    phl_status status = phl_source_forest(r->test.forest, &t.source, &error);
    int code = status == PHL_OK ? EXIT_OK : failure(r, status, &error);
    t.n_trees = phl_forest_trees(r->test.forest);
    t.predicted = terminal_allocate(settings * t.n_trees, sizeof *t.predicted);
    t.probability = terminal_allocate(t.n_trees, sizeof *t.probability);
    for (size_t s = 0; s < settings && code == EXIT_OK; s++) {
        code = classify(&t, s);
    }
    if (code == EXIT_OK) {
        print_classes(&t, file);
    }
    phl_source_free(t.source);
    free(t.predicted);
    free(t.probability);
    return code;
}

/* ---- labelling ---- */

typedef struct label_test {
    progress_line line; /* first: what callbacks report to */
    reproduction *r;
    const phl_run *run;
    outcome *o;
    row_writer rows;
} label_test;

/* Drawn labels of the tree in the picture are kept. */
static void keep_drawn(label_test *t, const phl_labelled_tree *tree)
{
    t->o->drawn = terminal_allocate(tree->n + 1, sizeof *t->o->drawn); /* ends with NULL */
    for (size_t u = 0; u < tree->n; u++) {
        const char *name = phl_run_label_name(t->run, tree->drawn[u]);
        t->o->drawn[u] = text_format("%s", name ? name : "");
    }
}

static phl_status take_tree(const phl_tree_at *at, const phl_labelled_tree *tree, void *context,
                            phl_error *error)
{
    label_test *t = context;
    size_t m = phl_run_labels(t->run), row = 0;
    char source[SOURCE_SIZE];
    (void)error;
    forest_tree_source(at->block, at->tree, source);
    for (size_t u = 0; u < tree->n; u++) {
        if (!tree->filled[u]) {
            continue;
        }
        const double *p = tree->probability + row++ * m;
        rows_count(&t->rows, at->number);
        rows_text(&t->rows, source);
        rows_count(&t->rows, u);
        rows_label(&t->rows, forest_label(at->block, tree->truth[u]));
        rows_label(&t->rows, phl_run_label_name(t->run, tree->best[u]));
        rows_real(&t->rows, tree->best[u] < 0 ? NAN : p[tree->best[u]], DIGITS_PROBABILITY);
        rows_label(&t->rows, phl_run_label_name(t->run, tree->drawn[u]));
    }
    if (at->number == t->r->picture) {
        keep_drawn(t, tree);
    }
    return PHL_OK;
}

/* Figures label by label, and over all; names in order, as in results.json. */
static void take_figures(const reproduction *r, const phl_evaluation *e, const phl_confusion *c,
                         figure *rows)
{
    size_t n = e->n_names, *order = evaluation_names_in_order(e);
    uint64_t *counts = terminal_allocate(n * n, sizeof *counts);
    for (size_t i = 0; i < n * n; i++) {
        counts[i] = c->counts[order[i / n] * n + order[i % n]];
    }
    for (size_t row = 0; row < r->experiment->n_rows; row++) {
        rows[row] = (figure){NAN, NAN, NAN};
        for (size_t i = 0; row != reproduce_settings_row_of_all(r) && i < n; i++) {
            if (strcmp(evaluation_name(e, order[i]), reproduce_settings_row_name(r, row)) == 0) {
                rows[row].accuracy = c->measures[order[i]].accuracy;
                rows[row].entropy = phl_confusion_entropy(counts, n, i);
            }
        }
    }
    rows[reproduce_settings_row_of_all(r)] =
        (figure){c->accuracy, phl_confusion_entropy(counts, n, SIZE_MAX), NAN};
    free(order);
    free(counts);
}

static int test_labels(reproduction *r, const phl_run *run, outcome *o, FILE *file)
{
    static const char *const columns[] = {"tree",      "source",      "node", "label",
                                          "predicted", "probability", "drawn"};
    label_test t = {.line.quiet = r->line.quiet, .r = r, .run = run, .o = o};
    phl_label_options options;
    phl_source *source = NULL;
    phl_error error = {0};
    rows_begin(&t.rows, file, false, columns, sizeof columns / sizeof *columns);
    phl_label_options_init(&options);
    options.hide = 1;
    options.seed = o->seed;
    test_options(r, &options.threads, &options.report, &options.cancel);
    options.context = &t;
    phl_status status = phl_source_forest(r->test.forest, &source, &error);
    if (status == PHL_OK) {
        status = phl_label(run, source, &options, take_tree, &o->evaluation, &error);
    }
    phl_source_free(source);
    if (status != PHL_OK) {
        return failure(r, status, &error);
    }
    o->confusion = o->evaluation->drawn;
    take_figures(r, o->evaluation, o->evaluation->drawn, o->figures[HEADLINE]);
    take_figures(r, o->evaluation, o->evaluation->best, o->figures[1]);
    o->figures[1][reproduce_settings_row_of_all(r)].log_loss = o->evaluation->log_loss;
    return EXIT_OK;
}

int reproduce_test_outcome(reproduction *r, const phl_run *run, outcome *o)
{
    rows_file result = {0};
    char *path = text_path(r->folder, o->predictions);
    int code = rows_file_open(&result, path);
    if (code == EXIT_OK) {
        code = r->experiment->labelling ? test_labels(r, run, o, result.file)
                                        : test_classes(r, run, o, result.file);
        code = rows_file_close(&result, code);
        if (!interrupt_asked(NULL)) {
            interrupt_poll(true); /* closing ended it */
        }
    }
    free(path);
    return code;
}
