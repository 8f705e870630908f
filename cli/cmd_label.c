/* cmd_label.c - phloem label: unknown labels filled in, and how often that is right.
 *
 * Contents: options, predictions, the command.
 */
#include "blocks.h"
#include "commands.h"
#include "interrupt.h"
#include "print/evaluations.h"
#include "print/rows.h"
#include "runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct labelling {
    tree_blocks blocks; /* first: what callbacks get */
    const cli_arguments *parsed;
    const phl_run *run;
    phl_label_options options;
    bool evaluated;
    uint64_t filled;
    rows_file result; /* of predictions; without a file: not wanted */
    size_t n_probabilities;
    const char **columns; /* of their rows; NULL: none were begun */
    row_writer rows;
    forest_out out; /* trees with labels filled in */
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
    bool trees = output && strcmp(output, "-") == 0;
    bool rows = predictions && strcmp(predictions, "-") == 0;
    if (arguments_flag(parsed, "drawn") && !output) {
        return usage_error(parsed->command,
                           "option --drawn says which labels go into the trees written with "
                           "--output; add --output");
    }
    if (arguments_flag(parsed, "json") && !arguments_given(parsed, "hide")) {
        return usage_error(parsed->command, "option --json is for the evaluation; add --hide");
    }
    if (trees + rows + arguments_given(parsed, "hide") > 1) {
        return usage_error(parsed->command,
                           "only one of the evaluation (--hide), the trees (--output) and "
                           "the predictions (--predictions) can go to standard output");
    }
    if (arguments_flag(parsed, "probabilities") && !predictions &&
        (output || arguments_given(parsed, "hide"))) {
        return usage_error(parsed->command,
                           "option --probabilities adds to the predictions; name a file for them "
                           "with --predictions FILE");
    }
    return EXIT_OK;
}

/* ---- predictions ---- */

enum { FIXED_COLUMNS = 7 };
static const char *const fixed_columns[FIXED_COLUMNS] = {
    "tree", "source", "node", "label", "predicted", "probability", "drawn"};

static const char *label_column(const phl_run *run, size_t label)
{
    return phl_run_label_name(run, (int32_t)label);
}

/* Once, when the first row is there. */
static void begin_rows(labelling *l)
{
    if (!l->columns) {
        l->columns =
            run_columns(fixed_columns, FIXED_COLUMNS, l->run, label_column, l->n_probabilities);
        rows_begin(&l->rows, l->result.file, false, l->columns, FIXED_COLUMNS + l->n_probabilities);
    }
}

static void print_rows(labelling *l, const phl_tree_at *at, const phl_labelled_tree *t)
{
    size_t m = phl_run_labels(l->run), row = 0;
    char source[SOURCE_SIZE];
    forest_tree_source(at->block, at->tree, source);
    for (size_t u = 0; u < t->n; u++) {
        if (!t->filled[u]) {
            continue;
        }
        const double *p = t->probability + row++ * m;
        rows_count(&l->rows, at->number);
        rows_text(&l->rows, source);
        rows_count(&l->rows, u);
        rows_label(&l->rows, forest_label(at->block, t->truth[u]));
        rows_label(&l->rows, phl_run_label_name(l->run, t->best[u]));
        rows_real(&l->rows, t->best[u] < 0 ? NAN : p[t->best[u]], DIGITS_PROBABILITY);
        rows_label(&l->rows, phl_run_label_name(l->run, t->drawn[u]));
        for (size_t i = 0; i < l->n_probabilities; i++) {
            rows_real(&l->rows, p[i], DIGITS_PROBABILITY);
        }
    }
}

static phl_status take_tree(const phl_tree_at *at, const phl_labelled_tree *t, void *context,
                            phl_error *error)
{
    labelling *l = context;
    int code = EXIT_OK;
    (void)error;
    l->filled += t->n_filled;
    if (l->result.file) {
        begin_rows(l);
        print_rows(l, at, t);
        if (l->result.file != stdout && ferror(l->result.file)) {
            code = rows_file_close(&l->result, EXIT_OK); /* says why */
        }
    }
    return blocks_result(&l->blocks, at, code);
}

static phl_status take_filled(const phl_forest *block, void *context, phl_error *error)
{
    labelling *l = context;
    return forest_out_write(&l->out, block, error);
}

/* ---- the command ---- */

/* Open what is written. */
static int open_outputs(labelling *l)
{
    const char *predictions = arguments_path(l->parsed, "predictions");
    bool trees = arguments_path(l->parsed, "output") != NULL;
    int code = EXIT_OK;
    if (!predictions && !trees && !l->evaluated) {
        predictions = "-";
    }
    if (predictions) {
        code = rows_file_open(&l->result, predictions);
    }
    if (code == EXIT_OK && trees) {
        code = forest_out_open(&l->out, l->parsed);
        l->options.filled = take_filled;
        l->options.fill_drawn = arguments_flag(l->parsed, "drawn");
    }
    l->options.no_draw = !predictions && !l->evaluated && !l->options.fill_drawn;
    return code;
}

static void print_evaluation(const labelling *l, const phl_evaluation *evaluation)
{
    static const evaluation_words words = {
        .items = "labels hidden", .name = "label", .names = "labels"};
    if (arguments_flag(l->parsed, "json")) {
        evaluation_json(evaluation);
    } else if (evaluation->n == 0) {
        printf("labels hidden       0\n");
    } else {
        evaluation_print(evaluation, &words);
    }
}

/* What is told and printed once all trees were labelled. */
static int finish(labelling *l, const phl_evaluation *evaluation)
{
    phl_read_summary counts;
    phl_source_summary(l->blocks.source, &counts);
    if (l->filled == 0 && counts.trees && !l->blocks.reports.quiet) {
        terminal_message(l->evaluated ? "note: no label was hidden"
                                      : "note: every label is known, there was nothing to fill in; "
                                        "--hide hides known labels and evaluates");
    }
    if (l->result.file) {
        begin_rows(l);
    }
    int code = rows_file_close(&l->result, EXIT_OK);
    if (code == EXIT_OK && l->evaluated) {
        print_evaluation(l, evaluation);
    }
    return code;
}

static int label(labelling *l)
{
    const cli_arguments *parsed = l->parsed;
    phl_evaluation *evaluation = NULL;
    phl_error error = {0};
    int code = blocks_open(&l->blocks, parsed, parsed->operands + 1, parsed->n_operands - 1);
    if (code == EXIT_OK) {
        code = open_outputs(l);
    }
    if (code == EXIT_OK) {
        l->options.threads = arguments_threads(parsed);
        l->options.report = blocks_report(&l->blocks);
        l->options.cancel = interrupt_asked;
        l->options.context = l;
        phl_status status = phl_label(l->run, l->blocks.source, &l->options, take_tree,
                                      l->evaluated ? &evaluation : NULL, &error);
        code = status != PHL_OK && l->blocks.code == EXIT_OK && l->out.sink
                   ? forest_out_close(&l->out, status, &error)
                   : blocks_finish(&l->blocks, status, &error);
    }
    if (code == EXIT_OK) {
        code = finish(l, evaluation);
    }
    if (code == EXIT_OK) {
        code = forest_out_close(&l->out, PHL_OK, NULL);
    }
    code = rows_file_close(&l->result, code); /* removes what is not complete */
    forest_out_abandon(&l->out);
    if (l->columns) {
        run_columns_free(l->columns, FIXED_COLUMNS, l->n_probabilities);
    }
    phl_evaluation_free(evaluation);
    return code;
}

static int run_label_command(const cli_arguments *parsed)
{
    labelling l = {.parsed = parsed, .evaluated = arguments_given(parsed, "hide")};
    phl_run *run = NULL;
    run_company company = {0};
    phl_label_options_init(&l.options);
    int code = check_options(parsed);
    if (code == EXIT_OK) {
        code = hide_of(parsed, &l.options.hide);
    }
    if (code == EXIT_OK) {
        code = arguments_seed(parsed, &l.options.seed);
    }
    if (code == EXIT_OK) {
        code = run_open_labeller(parsed, &run);
    }
    if (code == EXIT_OK) {
        code = run_open_company(parsed, &company);
    }
    if (code == EXIT_OK) {
        l.run = run;
        l.options.with = (const phl_run *const *)company.runs;
        l.options.n_with = company.n;
        l.n_probabilities = arguments_flag(parsed, "probabilities") ? phl_run_labels(run) : 0;
        code = label(&l);
    }
    blocks_close(&l.blocks);
    run_close_company(&company);
    phl_run_free(run);
    return code;
}

static const cli_option label_rows[] = {
    OPTION_STRING_ROW(
        "hide", "WHAT",
        "hide known labels, 'all' or a fraction of them, and evaluate the predictions"),
    OPTION_OUTPUT_ROW("predictions", "FILE",
                      "write one row per label filled in; the file appears only when complete",
                      .letter = 'p',
                      .fallback_note = "standard output, unless --hide or --output is given"),
    OPTION_FLAG_ROW("probabilities",
                    "add the probability of every label to the predictions, one column each"),
    OPTION_FLAG_ROW("drawn", "put labels drawn at random into the trees instead of the most "
                             "probable ones"),
    OPTION_WITH_ROW("further runs: the probabilities are the geometric mean of what all say, over "
                    "the labels of RUN; labels are drawn by RUN alone"),
    OPTION_BLOCK_ROW,
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
    {"hide a fifth of them, write all probabilities",
     "phloem label --hide 0.2 trees.run test.trees -p hidden.tsv --probabilities"},
    {"by two runs together", "phloem label trees.run damaged.trees --with td.run"},
    {NULL, NULL}};

const cli_command command_label = {
    .name = "label",
    .summary = "fill in unknown labels",
    .description = "Predicts unknown labels from the known ones and from the shape of the "
                   "tree: the most probable label, its probability, and a label drawn at "
                   "random. With --hide, known labels are hidden first and the "
                   "predictions are compared with them: accuracy, the entropy of the true "
                   "labels given the predicted one, log-loss and the confusion matrix.\n\n"
                   "If the run was trained with --per-class, each tree is labelled by the "
                   "model of its own class; trees without a class need --class.\n\n"
                   "Trees are read block by block, so there may be any number of them. "
                   "Rows and trees go to standard output as they come; if a tree is bad, "
                   "those before it are printed. Trees to be written as XML are kept in "
                   "memory until the end.",
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_label_command,
};
