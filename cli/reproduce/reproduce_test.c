/* reproduce_test.c - how good a run is on the test trees; see reproduce.h.
 *
 * Contents: classification, labelling.
 */
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
    return status == PHL_ERR_CANCELLED ? EXIT_INTERRUPTED
                                       : library_error(r->parsed->command, error);
}

/* ---- classification ---- */

typedef struct class_test {
    reproduction *r;
    const phl_run *run;
    outcome *o;
    size_t n_trees, n_classes;
    double *log_posterior; /* [trees][classes] under the setting at hand */
    size_t *predicted;     /* [settings][trees] */
    double *probability;   /* [trees] headline */
} class_test;

/* The settings in the order of their names: structure slots or none, class prior uniform or
 * empirical. */
static int classify(class_test *t, size_t setting)
{
    phl_classify_options options;
    phl_evaluation evaluation = {0};
    phl_error error = {0};
    const phl_forest *forest = t->r->test.forest;
    phl_classify_options_init(&options);
    options.structure = setting < 2;
    options.prior = setting % 2 ? PHL_PRIOR_EMPIRICAL : PHL_PRIOR_UNIFORM;
    options.threads = threads_of(t->r->parsed);
    options.report = progress_report;
    options.cancel = interrupt_asked;
    options.context = &t->r->line;
    phl_status status = phl_classify(t->run, forest, &options, t->log_posterior, &error);
    if (status == PHL_OK) {
        status = phl_classify_evaluate(t->run, forest, t->log_posterior, &evaluation, &error);
    }
    if (status != PHL_OK) {
        return failure(t->r, status, &error);
    }
    for (size_t i = 0; i < t->n_trees; i++) {
        const double *row = t->log_posterior + i * t->n_classes;
        size_t best = phl_classify_best(row, t->n_classes);
        t->predicted[setting * t->n_trees + i] = best;
        if (setting == HEADLINE) {
            t->probability[i] = exp(row[best]);
        }
    }
    t->o->figures[setting][0] =
        (figure){evaluation.accuracy, evaluation.entropy_bits, evaluation.log_loss};
    if (setting == HEADLINE) {
        confusion_copy(&t->o->confusion, evaluation.names, evaluation.confusion,
                       evaluation.n_names);
    }
    phl_evaluation_clear(&evaluation);
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
        rows_text(&rows, tree_source(forest, i, source));
        rows_text(&rows, tree_class_name(forest, i));
        for (size_t s = 0; s < e->n_settings; s++) {
            rows_text(&rows, phl_run_class_name(t->run, t->predicted[s * t->n_trees + i]));
        }
        rows_real(&rows, t->probability[i], DIGITS_PROBABILITY);
    }
    rows_end(&rows);
}

static int test_classes(reproduction *r, const phl_run *run, outcome *o, FILE *file)
{
    class_test t = {.r = r, .run = run, .o = o};
    size_t settings = r->experiment->n_settings;
    int code = EXIT_OK;
    t.n_trees = phl_forest_trees(r->test.forest);
    t.n_classes = phl_run_classes(run);
    t.log_posterior = terminal_allocate(t.n_trees * t.n_classes, sizeof *t.log_posterior);
    t.predicted = terminal_allocate(settings * t.n_trees, sizeof *t.predicted);
    t.probability = terminal_allocate(t.n_trees, sizeof *t.probability);
    for (size_t s = 0; s < settings && code == EXIT_OK; s++) {
        code = classify(&t, s);
    }
    if (code == EXIT_OK) {
        print_classes(&t, file);
    }
    free(t.log_posterior);
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
    int32_t *run_label;     /* [labels of the forest] number in the run, or -1 */
    size_t n;               /* labels of the run, and "(unseen)" last */
    uint64_t *drawn, *best; /* [n][n] true by predicted */
} label_test;

static const char *name_of(const label_test *t, int32_t label)
{
    return label < 0 ? NULL : phl_run_label_name(t->run, (size_t)label);
}

/* Drawn labels of the tree in the picture are kept. */
static void keep_drawn(label_test *t, const phl_labelled_tree *tree)
{
    t->o->drawn = terminal_allocate(tree->n + 1, sizeof *t->o->drawn); /* ends with NULL */
    for (size_t u = 0; u < tree->n; u++) {
        const char *name = name_of(t, tree->drawn[u]);
        t->o->drawn[u] = text_format("%s", name ? name : "");
    }
}

static phl_status take_tree(const phl_labelled_tree *tree, void *context, phl_error *error)
{
    label_test *t = context;
    size_t m = phl_run_labels(t->run), row = 0;
    char source[SOURCE_SIZE];
    (void)error;
    tree_source(t->r->test.forest, tree->tree, source);
    for (size_t u = 0; u < tree->n; u++) {
        if (!tree->filled[u]) {
            continue;
        }
        const double *p = tree->probability + row++ * m;
        int32_t truth = tree->hidden[u] ? t->run_label[tree->truth[u]] : -1;
        if (tree->hidden[u] && tree->best[u] >= 0) {
            size_t i = truth < 0 ? t->n - 1 : (size_t)truth;
            t->drawn[i * t->n + (size_t)tree->drawn[u]]++;
            t->best[i * t->n + (size_t)tree->best[u]]++;
        }
        rows_count(&t->rows, tree->tree);
        rows_text(&t->rows, source);
        rows_count(&t->rows, u);
        rows_label(&t->rows, forest_label(t->r->test.forest, tree->truth[u]));
        rows_label(&t->rows, name_of(t, tree->best[u]));
        rows_real(&t->rows, tree->best[u] < 0 ? NAN : p[tree->best[u]], DIGITS_PROBABILITY);
        rows_label(&t->rows, name_of(t, tree->drawn[u]));
    }
    if (tree->tree == t->r->picture) {
        keep_drawn(t, tree);
    }
    return PHL_OK;
}

/* Figures label by label, and over all. */
static void measure(const reproduction *r, const confusion *c, figure *rows)
{
    for (size_t row = 0; row < r->experiment->n_rows; row++) {
        bool all = row == row_of_all(r);
        size_t name = all ? SIZE_MAX : confusion_find(c, row_name(r, row));
        bool known = all || name != SIZE_MAX;
        rows[row].accuracy = known ? confusion_accuracy(c, name) : NAN;
        rows[row].entropy = known ? confusion_entropy(c, name) : NAN;
        rows[row].log_loss = NAN;
    }
}

/* Without unseen labels the last row and column go. */
static void make_confusion(const label_test *t, const uint64_t *counts, bool unseen, confusion *c)
{
    size_t n = unseen ? t->n : t->n - 1;
    char **names = terminal_allocate(t->n, sizeof *names);
    uint64_t *kept = terminal_allocate(n * n, sizeof *kept);
    for (size_t i = 0; i < n; i++) {
        names[i] = i + 1 == t->n ? "(unseen)" : (char *)phl_run_label_name(t->run, i);
        memcpy(kept + i * n, counts + i * t->n, n * sizeof *kept);
    }
    confusion_copy(c, names, kept, n);
    free(names);
    free(kept);
}

static int test_labels(reproduction *r, const phl_run *run, outcome *o, FILE *file)
{
    static const char *const columns[] = {"tree",      "source",      "node", "label",
                                          "predicted", "probability", "drawn"};
    label_test t = {.r = r, .run = run, .o = o, .n = phl_run_labels(run) + 1};
    t.line.quiet = r->line.quiet;
    phl_label_options options;
    phl_evaluation evaluation = {0};
    phl_error error = {0};
    t.run_label = labels_in_run(run, r->test.forest);
    t.drawn = terminal_allocate(t.n * t.n, sizeof *t.drawn);
    t.best = terminal_allocate(t.n * t.n, sizeof *t.best);
    rows_begin(&t.rows, file, false, columns, sizeof columns / sizeof *columns);
    phl_label_options_init(&options);
    options.hide = 1;
    options.seed = o->seed;
    options.threads = threads_of(r->parsed);
    options.report = progress_report;
    options.cancel = interrupt_asked;
    options.context = &t;
    phl_status status =
        phl_label(phl_run_model(run, 0), r->test.forest, &options, take_tree, &evaluation, &error);
    if (status == PHL_OK) {
        confusion most_probable = {0};
        make_confusion(&t, t.drawn, evaluation.unseen > 0, &o->confusion);
        make_confusion(&t, t.best, evaluation.unseen > 0, &most_probable);
        measure(r, &o->confusion, o->figures[HEADLINE]);
        measure(r, &most_probable, o->figures[1]);
        o->figures[1][row_of_all(r)].log_loss = evaluation.log_loss;
        confusion_clear(&most_probable);
    }
    phl_evaluation_clear(&evaluation);
    free(t.run_label);
    free(t.drawn);
    free(t.best);
    return status == PHL_OK ? EXIT_OK : failure(r, status, &error);
}

int outcome_test(reproduction *r, const phl_run *run, outcome *o)
{
    result_file result = {0};
    char *path = path_join(r->folder, o->predictions);
    int code = result_open(&result, path);
    if (code == EXIT_OK) {
        code = r->experiment->labelling ? test_labels(r, run, o, result.file)
                                        : test_classes(r, run, o, result.file);
        code = result_close(&result, code);
        if (!interrupt_asked(NULL)) {
            interrupt_poll(true); /* closing ended it */
        }
    }
    free(path);
    return code;
}
