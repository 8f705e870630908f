/* cmd_label.c - phloem label: unknown labels filled in, and how often that is right.
 *
 * Contents: options, predictions, evaluation, trees, the command.
 */
#include "commands.h"
#include "forests.h"
#include "interrupt.h"
#include "print/evaluations.h"
#include "print/progress.h"
#include "print/rows.h"
#include "runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct labelling {
    progress_line line; /* first: what callbacks report to */
    const cli_arguments *parsed;
    const phl_run *run;
    const phl_forest *forest;
    tree_groups groups;
    phl_label_options options;
    bool evaluated;
    int32_t *run_label;    /* [labels of the forest] number in the run, or -1 */
    uint64_t *drawn_right; /* [labels of the run + 1] by the true label */
    uint64_t filled;
    phl_evaluation whole; /* of one group; of several: */
    evaluation_pool pool;
    const phl_evaluation *evaluation; /* the one that holds */
    /* Predictions. */
    const tree_group *group; /* at hand */
    row_writer *rows;        /* NULL: not wanted */
    char **text_of;          /* [trees] rows of a tree, when they do not come in order */
    size_t *size_of;
} labelling;

/* ---- options ---- */

/* --hide all|FRACTION */
static int hide_of(const cli_arguments *parsed, double *hide)
{
    const char *text = arguments_string(parsed, "hide");
    char *end = NULL;
    *hide = 0;
    if (!text) {
        return EXIT_OK;
    }
    if (strcmp(text, "all") == 0) {
        *hide = 1;
        return EXIT_OK;
    }
    *hide = strspn(text, "0123456789.eE+-") == strlen(text) ? strtod(text, &end) : -1;
    if (!end || end == text || *end || !(*hide > 0 && *hide <= 1)) {
        return usage_error(parsed->command,
                           "option --hide: found '%.100s', expected 'all' or a fraction above 0 "
                           "and up to 1",
                           text);
    }
    return EXIT_OK;
}

static int check_options(const cli_arguments *parsed)
{
    const char *output = arguments_path(parsed, "output");
    const char *predictions = arguments_path(parsed, "predictions");
    bool trees_out = output && strcmp(output, "-") == 0;
    bool rows_out = predictions && strcmp(predictions, "-") == 0;
    if (arguments_flag(parsed, "drawn") && !output) {
        return usage_error(parsed->command, "option --drawn says which labels go into the trees "
                                            "written with --output; that is missing");
    }
    if (arguments_flag(parsed, "json") && !arguments_given(parsed, "hide")) {
        return usage_error(parsed->command, "option --json is for the evaluation; add --hide");
    }
    if (trees_out + rows_out + arguments_given(parsed, "hide") > 1) {
        return usage_error(parsed->command,
                           "only one of the evaluation (--hide), the trees (--output) and "
                           "the predictions (--predictions) can go to standard output");
    }
    if (arguments_flag(parsed, "probabilities") && !predictions &&
        (output || arguments_given(parsed, "hide"))) {
        return usage_error(parsed->command, "option --probabilities adds to the predictions; say "
                                            "where these go with --predictions FILE");
    }
    return EXIT_OK;
}

/* ---- predictions ---- */

enum { FIXED_COLUMNS = 7 };
static const char *const fixed_columns[FIXED_COLUMNS] = {
    "tree", "source", "node", "label", "predicted", "probability", "drawn"};

static const char *run_label(const labelling *l, int32_t label)
{
    return label < 0 ? NULL : phl_run_label_name(l->run, (size_t)label);
}

static void print_rows(labelling *l, const phl_labelled_tree *t, size_t tree)
{
    size_t m = phl_run_labels(l->run), row = 0;
    char source[SOURCE_SIZE];
    tree_source(l->forest, tree, source);
    for (size_t u = 0; u < t->n; u++) {
        if (!t->filled[u]) {
            continue;
        }
        const double *p = t->probability + row++ * m;
        rows_count(l->rows, tree);
        rows_text(l->rows, source);
        rows_count(l->rows, u);
        rows_label(l->rows, forest_label(l->forest, t->truth[u]));
        rows_label(l->rows, run_label(l, t->best[u]));
        rows_real(l->rows, t->best[u] < 0 ? NAN : p[t->best[u]], DIGITS_PROBABILITY);
        rows_label(l->rows, run_label(l, t->drawn[u]));
        for (size_t i = 0; FIXED_COLUMNS + i < l->rows->n_columns; i++) {
            rows_real(l->rows, p[i], DIGITS_PROBABILITY);
        }
    }
}

static phl_status take_tree(const phl_labelled_tree *t, void *context, phl_error *error)
{
    labelling *l = context;
    size_t tree = l->group->trees ? l->group->trees[t->tree] : t->tree;
    (void)error;
    l->filled += t->n_filled;
    for (size_t u = 0; u < t->n; u++) {
        int32_t truth = t->hidden[u] ? l->run_label[t->truth[u]] : -1;
        l->drawn_right[truth < 0 ? phl_run_labels(l->run) : (size_t)truth] +=
            truth >= 0 && t->drawn[u] == truth;
    }
    if (!l->rows) {
        return PHL_OK;
    }
    if (!l->text_of) {
        print_rows(l, t, tree);
        return PHL_OK;
    }
    /* Kept until all trees before it are there. */
    FILE *file = l->rows->file;
    l->rows->file = open_memstream(&l->text_of[tree], &l->size_of[tree]);
    if (!l->rows->file) {
        terminal_message("memory is used up");
        exit(EXIT_SYSTEM);
    }
    print_rows(l, t, tree);
    fclose(l->rows->file);
    l->rows->file = file;
    return PHL_OK;
}

static void print_kept(labelling *l)
{
    for (size_t t = 0; l->text_of && t < l->groups.n_trees; t++) {
        if (l->text_of[t]) {
            fwrite(l->text_of[t], 1, l->size_of[t], l->rows->file);
            free(l->text_of[t]);
        }
    }
    free(l->text_of);
    free(l->size_of);
    l->text_of = NULL;
    l->size_of = NULL;
}

/* Label all trees: rows to l->rows, figures to l->evaluation. */
static int predict(labelling *l)
{
    phl_error error = {0};
    phl_status status = PHL_OK;
    for (size_t g = 0; g < l->groups.n && status == PHL_OK; g++) {
        phl_evaluation part = {0};
        l->group = &l->groups.groups[g];
        status =
            phl_label(l->group->model, l->group->forest, &l->options, take_tree, &part, &error);
        if (status == PHL_OK && l->groups.n > 1) {
            pool_add(&l->pool, &part);
            phl_evaluation_clear(&part);
        } else {
            l->whole = part;
        }
    }
    pool_finish(&l->pool);
    l->evaluation = l->groups.n > 1 ? &l->pool.total : &l->whole;
    return status == PHL_OK ? EXIT_OK : library_error(l->parsed->command, &error);
}

/* The same, with the predictions written to `path`. */
static int predict_into(labelling *l, const char *path)
{
    size_t n = arguments_flag(l->parsed, "probabilities") ? phl_run_labels(l->run) : 0;
    row_writer rows;
    result_file result = {0};
    int code = result_open(&result, path);
    if (code != EXIT_OK) {
        return code;
    }
    const char **columns =
        probability_columns(fixed_columns, FIXED_COLUMNS, l->run, phl_run_label_name, n);
    rows_begin(&rows, result.file, false, columns, FIXED_COLUMNS + n);
    l->rows = &rows;
    if (l->groups.n > 1) {
        l->text_of = terminal_allocate(l->groups.n_trees, sizeof *l->text_of);
        l->size_of = terminal_allocate(l->groups.n_trees, sizeof *l->size_of);
    }
    code = predict(l);
    print_kept(l);
    rows_end(&rows);
    l->rows = NULL;
    probability_columns_free(columns, FIXED_COLUMNS, n);
    return result_close(&result, code);
}

/* ---- evaluation ---- */

static void print_evaluation(const labelling *l)
{
    const evaluation_words words = {.items = "labels hidden",
                                    .name = "label",
                                    .names = "labels",
                                    .drawn_right = l->drawn_right};
    if (arguments_flag(l->parsed, "json")) {
        evaluation_json(l->evaluation, true);
    } else if (l->evaluation->n == 0) {
        printf("labels hidden       0\n");
    } else {
        evaluation_print(l->evaluation, &words);
    }
}

/* ---- trees ---- */

static int write_trees(labelling *l)
{
    phl_forest **parts = terminal_allocate(l->groups.n, sizeof *parts);
    phl_forest *joined = NULL;
    phl_error error = {0};
    bool drawn = arguments_flag(l->parsed, "drawn");
    int code = EXIT_OK;
    l->options.report = NULL; /* was told already */
    for (size_t g = 0; g < l->groups.n && code == EXIT_OK; g++) {
        const tree_group *group = &l->groups.groups[g];
        if (phl_label_forest(group->model, group->forest, &l->options, drawn, &parts[g], &error) !=
            PHL_OK) {
            code = library_error(l->parsed->command, &error);
        }
    }
    if (code == EXIT_OK) {
        code = groups_join(l->parsed, &l->groups, parts, &joined);
    } else {
        for (size_t g = 0; g < l->groups.n; g++) {
            phl_forest_free(parts[g]);
        }
    }
    if (code == EXIT_OK) {
        code = forest_write(l->parsed, joined);
    }
    phl_forest_free(joined);
    free(parts);
    return code;
}

/* ---- the command ---- */

static int label(labelling *l)
{
    const char *predictions = arguments_path(l->parsed, "predictions");
    const char *output = arguments_path(l->parsed, "output");
    int code = EXIT_OK;
    if (!predictions && !output && !l->evaluated) {
        predictions = "-";
    }
    code = predictions ? predict_into(l, predictions) : predict(l);
    if (code == EXIT_OK && l->filled == 0 && l->groups.n_trees && !l->line.quiet) {
        terminal_message(l->evaluated ? "note: no label was hidden"
                                      : "note: every label is known, there was nothing to fill in; "
                                        "--hide hides known labels and evaluates");
    }
    if (code == EXIT_OK && l->evaluated) {
        print_evaluation(l);
    }
    if (code == EXIT_OK && output) {
        code = write_trees(l);
    }
    return code;
}

static int run_label_command(const cli_arguments *parsed)
{
    labelling l = {.parsed = parsed, .evaluated = arguments_given(parsed, "hide")};
    phl_run *run = NULL;
    phl_forest *forest = NULL;
    l.line.quiet = arguments_flag(parsed, "quiet");
    phl_label_options_init(&l.options);
    l.options.threads = threads_of(parsed);
    l.options.report = progress_report;
    l.options.cancel = interrupt_asked;
    l.options.context = &l;
    int code = check_options(parsed);
    if (code == EXIT_OK) {
        code = hide_of(parsed, &l.options.hide);
    }
    if (code == EXIT_OK) {
        code = arguments_seed(parsed, &l.options.seed);
    }
    if (code == EXIT_OK) {
        code = run_and_forest(parsed, &run, &forest);
    }
    if (code == EXIT_OK) {
        l.run = run;
        l.forest = forest;
        code = groups_make(parsed, run, forest, &l.groups);
    }
    if (code == EXIT_OK) {
        pool_begin(&l.pool, run);
        l.run_label = labels_in_run(run, forest);
        l.drawn_right = terminal_allocate(phl_run_labels(run) + 1, sizeof *l.drawn_right);
        code = label(&l);
    }
    groups_clear(&l.groups);
    pool_clear(&l.pool);
    phl_evaluation_clear(&l.whole);
    free(l.run_label);
    free(l.drawn_right);
    phl_forest_free(forest);
    phl_run_free(run);
    return code;
}

static const cli_option label_rows[] = {
    {.name = "hide",
     .type = OPTION_STRING,
     .argument = "WHAT",
     .help = "hide known labels, 'all' or a fraction of them, and evaluate the predictions"},
    {.name = "predictions",
     .letter = 'p',
     .type = OPTION_OUTPUT,
     .argument = "FILE",
     .fallback_note = "standard output without --hide and --output",
     .help = "write a row for each label filled in; written only when complete"},
    {.name = "probabilities",
     .type = OPTION_FLAG,
     .help = "add the probability of every label to the predictions, one column each"},
    {.name = "drawn",
     .type = OPTION_FLAG,
     .help = "put labels drawn at random into the trees, not the most probable ones"},
    OPTION_JSON_ROW("print the evaluation as one JSON object"),
    OPTION_SEED_ROW,
};
static const option_group label_options = {"Labels", label_rows,
                                           sizeof label_rows / sizeof *label_rows};
static const option_group *const groups[] = {&label_options,
                                             &writing_if_asked,
                                             &reading_options,
                                             &reading_formats,
                                             &reading_caps,
                                             &general_options,
                                             NULL};

static const example examples[] = {
    {"what the unknown labels ('?') probably are", "phloem label trees.run damaged.trees"},
    {"the trees with these labels filled in",
     "phloem label trees.run damaged.trees -o repaired.trees"},
    {"how well are hidden labels predicted?", "phloem label --hide all trees.run test.trees"},
    {"a fifth of them hidden, every probability kept",
     "phloem label --hide 0.2 trees.run test.trees -p hidden.tsv --probabilities"},
    {NULL, NULL}};

const cli_command command_label = {
    .name = "label",
    .summary = "fill in unknown labels",
    .description =
        "Predicts the labels that are not known from those that are and from the shape of the "
        "tree: the most probable label, its probability, and a label drawn at random. With --hide "
        "known labels are hidden first and the predictions held against them: accuracy, the "
        "entropy of the true labels given the predicted one, log-loss and the confusion "
        "matrix.\n\n"
        "With a run trained with --per-class each tree is labelled by the model of its own class; "
        "trees without one need --class.",
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_label_command,
};
