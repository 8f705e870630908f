/* cmd_classify.c - phloem classify: the classes of trees, and how often that is right.
 *
 * Contents: predictions, the command.
 */
#include "commands.h"
#include "evaluations.h"
#include "forests.h"
#include "progress.h"
#include "rows.h"
#include "runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct classification {
    const phl_run *run;
    const phl_forest *forest;
    double *log_posterior; /* [trees][classes] */
    size_t n_trees, n_classes;
} classification;

/* ---- predictions ---- */

static void print_predictions(const classification *c, FILE *file, bool as_json)
{
    enum { FIXED = 4 };
    static const char *const fixed[FIXED] = {"tree", "source", "class", "predicted"};
    const char **columns =
        probability_columns(fixed, FIXED, c->run, phl_run_class_name, c->n_classes);
    char source[SOURCE_SIZE];
    row_writer rows;
    rows_begin(&rows, file, as_json, columns, FIXED + c->n_classes);
    for (size_t t = 0; t < c->n_trees; t++) {
        const double *log_p = c->log_posterior + t * c->n_classes;
        rows_count(&rows, t);
        rows_text(&rows, tree_source(c->forest, t, source));
        rows_text(&rows, tree_class_name(c->forest, t));
        rows_text(&rows, phl_run_class_name(c->run, phl_classify_best(log_p, c->n_classes)));
        for (size_t k = 0; k < c->n_classes; k++) {
            rows_real(&rows, exp(log_p[k]), DIGITS_PROBABILITY);
        }
    }
    rows_end(&rows);
    probability_columns_free(columns, FIXED, c->n_classes);
}

static int write_predictions(const classification *c, const char *path)
{
    result_file result = {0};
    int code = result_open(&result, path);
    if (code == EXIT_OK) {
        print_predictions(c, result.file, false);
    }
    return result_close(&result, code);
}

/* ---- the command ---- */

static bool any_class(const phl_forest *forest)
{
    for (size_t t = 0; t < phl_forest_trees(forest); t++) {
        if (phl_tree_class(forest, t) != PHL_NO_CLASS) {
            return true;
        }
    }
    return false;
}

static int evaluate(const cli_arguments *parsed, const classification *c)
{
    static const evaluation_words words = {
        .items = "trees classified", .name = "class", .names = "classes"};
    phl_evaluation evaluation = {0};
    phl_error error = {0};
    phl_status status =
        phl_classify_evaluate(c->run, c->forest, c->log_posterior, &evaluation, &error);
    if (status != PHL_OK) {
        return library_error(parsed->command, &error);
    }
    if (arguments_flag(parsed, "json")) {
        evaluation_json(&evaluation, false);
    } else {
        evaluation_print(&evaluation, &words);
    }
    phl_evaluation_clear(&evaluation);
    return EXIT_OK;
}

static int classify(const cli_arguments *parsed, classification *c)
{
    const char *path = arguments_path(parsed, "predictions");
    progress_line line = {.quiet = arguments_flag(parsed, "quiet")};
    phl_classify_options options;
    phl_error error = {0};
    int code = EXIT_OK;
    phl_classify_options_init(&options);
    options.structure = structure_of(parsed);
    options.prior = class_prior_of(parsed);
    options.threads = threads_of(parsed);
    options.report = progress_report;
    options.context = &line;
    if (c->n_trees &&
        phl_classify(c->run, c->forest, &options, c->log_posterior, &error) != PHL_OK) {
        return library_error(parsed->command, &error);
    }
    bool known = any_class(c->forest);
    if (path) {
        code = write_predictions(c, path);
    }
    if (code == EXIT_OK && known) {
        code = evaluate(parsed, c);
    } else if (code == EXIT_OK && !path) {
        print_predictions(c, stdout, arguments_flag(parsed, "json"));
    }
    return code;
}

static int run_classify(const cli_arguments *parsed)
{
    classification c = {0};
    phl_run *run = NULL;
    phl_forest *forest = NULL;
    const char *path = arguments_path(parsed, "predictions");
    int code = run_open_trained(parsed, &run);
    if (code == EXIT_OK && !phl_run_per_class(run)) {
        code = usage_error(parsed->command,
                           "%s was not trained with --per-class: it has one model for all trees "
                           "and knows no classes; train again with 'phloem train --per-class'",
                           parsed->operands[0]);
    }
    if (code == EXIT_OK && path && strcmp(path, "-") == 0) {
        code = usage_error(parsed->command, "option --predictions: found '-', expected a file; "
                                            "trees without classes (--no-class) have their "
                                            "predictions on standard output");
    }
    if (code == EXIT_OK) {
        code = forest_read_for(parsed, run, &forest);
    }
    if (code == EXIT_OK) {
        c = (classification){.run = run,
                             .forest = forest,
                             .n_trees = phl_forest_trees(forest),
                             .n_classes = phl_run_classes(run)};
        c.log_posterior = terminal_allocate(c.n_trees * c.n_classes, sizeof *c.log_posterior);
        code = classify(parsed, &c);
    }
    free(c.log_posterior);
    phl_forest_free(forest);
    phl_run_free(run);
    return code;
}

static const cli_option classify_rows[] = {
    OPTION_CLASS_PRIOR_ROW,
    OPTION_STRUCTURE_ROW("slots"),
    {.name = "predictions",
     .letter = 'p',
     .type = OPTION_PATH,
     .argument = "FILE",
     .help = "write a row for each tree: true and predicted class, the probability of each class; "
             "written only when complete"},
    OPTION_JSON_ROW("print the evaluation as one JSON object, or the predictions as an array"),
};
static const option_group classify_options = {"Classification", classify_rows,
                                              sizeof classify_rows / sizeof *classify_rows};
static const option_group *const groups[] = {&classify_options, &reading_options, &reading_formats,
                                             &reading_caps,     &general_options, NULL};

static const example examples[] = {
    {"how well are test trees classified?", "phloem classify classes.run test.trees"},
    {"classes of new trees, and how sure", "phloem classify classes.run new.trees"},
    {"both, with classes as frequent as in training",
     "phloem classify --class-prior empirical classes.run test.trees -p predictions.tsv"},
    {"one figure for a script", "phloem classify --json classes.run test.trees | jq .accuracy"},
    {NULL, NULL}};

const cli_command command_classify = {
    .name = "classify",
    .summary = "find the classes of trees",
    .description =
        "Takes a run trained with --per-class. Where the trees have classes the answer is held "
        "against them: accuracy, the entropy of the true classes given the predicted one, "
        "log-loss and the confusion matrix. Otherwise a row for each tree is printed: the "
        "predicted class and the probability of each.",
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_classify,
};
