/* cmd_classify.c - phloem classify: the classes of trees, and how often that is right.
 *
 * Contents: predictions, where they go, the command.
 */
#include "blocks.h"
#include "commands.h"
#include "interrupt.h"
#include "print/evaluations.h"
#include "print/progress.h"
#include "print/rows.h"
#include "runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIXED_COLUMNS = 4 };

typedef struct classification {
    const cli_arguments *parsed;
    const phl_run *run;
    size_t n_classes;
    progress_line line;
    phl_classifier *classifier;
    tree_blocks blocks;
    double *log_posterior; /* [trees of a block][classes] */
    size_t capacity;
    bool known; /* some tree has a class: there is an evaluation */
    /* Predictions. */
    const char *path;     /* NULL: to standard output, if no tree has a class; until that is sure */
    FILE *waiting;        /* they wait here */
    result_file result;   /* of the path */
    const char **columns; /* NULL: there are no rows yet */
    row_writer rows;
} classification;

/* ---- predictions ---- */

static void print_predictions(classification *c)
{
    const phl_forest *forest = c->blocks.forest;
    char source[SOURCE_SIZE];
    for (size_t t = 0; t < phl_forest_trees(forest); t++) {
        const double *log_p = c->log_posterior + t * c->n_classes;
        rows_count(&c->rows, c->blocks.first + t);
        rows_text(&c->rows, tree_source(forest, t, source));
        rows_text(&c->rows, tree_class_name(forest, t));
        rows_text(&c->rows, phl_run_class_name(c->run, phl_classify_best(log_p, c->n_classes)));
        for (size_t k = 0; k < c->n_classes; k++) {
            rows_real(&c->rows, exp(log_p[k]), DIGITS_PROBABILITY);
        }
    }
}

/* ---- where they go ---- */

static const char *waiting_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

static int cannot_wait(int reason)
{
    terminal_message("cannot keep the predictions in a temporary file in %s: %s; set TMPDIR, or "
                     "use --no-class or -p",
                     waiting_folder(), strerror(reason));
    return EXIT_SYSTEM;
}

/* A file without a name; NULL with errno set. */
static FILE *open_waiting(void)
{
    static const char name[] = "/phloem.XXXXXX";
    size_t size = strlen(waiting_folder()) + sizeof name;
    char *path = terminal_allocate(size, 1);
    snprintf(path, size, "%s%s", waiting_folder(), name);
    int descriptor = mkstemp(path);
    FILE *file = NULL;
    if (descriptor >= 0) {
        unlink(path);
        file = fdopen(descriptor, "w+");
    }
    int reason = errno;
    if (descriptor >= 0 && !file) {
        close(descriptor);
    }
    free(path);
    errno = reason;
    return file;
}

/* Open the place for rows, once. */
static int begin_rows(classification *c)
{
    static const char *const fixed[FIXED_COLUMNS] = {"tree", "source", "class", "predicted"};
    FILE *file = stdout;
    int code = EXIT_OK;
    if (c->columns) {
        return EXIT_OK;
    }
    if (c->path) {
        code = result_open(&c->result, c->path);
        file = c->result.file;
    } else if (!arguments_flag(c->parsed, "no-class")) {
        file = c->waiting = open_waiting();
        code = file ? EXIT_OK : cannot_wait(errno);
    }
    if (code == EXIT_OK) {
        c->columns =
            probability_columns(fixed, FIXED_COLUMNS, c->run, phl_run_class_name, c->n_classes);
        rows_begin(&c->rows, file, !c->path && arguments_flag(c->parsed, "json"), c->columns,
                   FIXED_COLUMNS + c->n_classes);
    }
    return code;
}

/* Rows that waited, to standard output. */
static int print_waiting(const classification *c)
{
    char buffer[1 << 16];
    size_t got;
    int reason = stream_flush(c->waiting);
    if (reason == 0 && fseek(c->waiting, 0, SEEK_SET) != 0) {
        reason = errno;
    }
    if (reason != 0) {
        return cannot_wait(reason);
    }
    interrupt_partial();
    while ((got = fread(buffer, 1, sizeof buffer, c->waiting)) > 0) {
        fwrite(buffer, 1, got, stdout);
    }
    return ferror(c->waiting) ? cannot_wait(errno) : EXIT_OK;
}

static int end_rows(classification *c)
{
    if (!c->path && c->known) {
        return EXIT_OK; /* no rows will be printed */
    }
    int code = begin_rows(c);
    if (code == EXIT_OK) {
        rows_end(&c->rows);
    }
    return code == EXIT_OK && c->waiting ? print_waiting(c) : code;
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

static int classify_block(classification *c)
{
    const phl_forest *forest = c->blocks.forest;
    size_t wanted = phl_forest_trees(forest) * c->n_classes;
    phl_error error = {0};
    if (wanted > c->capacity) {
        free(c->log_posterior);
        c->capacity = wanted;
        c->log_posterior = terminal_allocate(wanted, sizeof *c->log_posterior);
    }
    if (phl_classifier_add(c->classifier, forest, c->log_posterior, &error) != PHL_OK) {
        return library_error(c->parsed->command, &error);
    }
    c->known = c->known || any_class(forest);
    if (!c->path && c->known) {
        return EXIT_OK; /* no rows will be printed */
    }
    int code = begin_rows(c);
    if (code == EXIT_OK) {
        print_predictions(c);
        if (c->waiting && ferror(c->waiting)) {
            code = cannot_wait(stream_flush(c->waiting));
        } else if (c->path && ferror(c->result.file)) {
            code = result_close(&c->result, EXIT_OK); /* says why */
        }
    }
    return code;
}

/* The end: what is known of all trees together. */
static int finish(classification *c)
{
    static const evaluation_words words = {
        .items = "trees classified", .name = "class", .names = "classes"};
    phl_evaluation evaluation = {0};
    phl_error error = {0};
    int code = end_rows(c);
    if (code != EXIT_OK) {
        return code;
    }
    if (phl_classifier_finish(c->classifier, c->known ? &evaluation : NULL, &error) != PHL_OK) {
        return library_error(c->parsed->command, &error);
    }
    code = result_close(&c->result, EXIT_OK);
    if (code == EXIT_OK && c->known) {
        if (arguments_flag(c->parsed, "json")) {
            evaluation_json(&evaluation, false);
        } else {
            evaluation_print(&evaluation, &words);
        }
    }
    phl_evaluation_clear(&evaluation);
    return code;
}

static int classify(classification *c)
{
    phl_classify_options options;
    phl_error error = {0};
    phl_classify_options_init(&options);
    options.structure = structure_of(c->parsed);
    options.prior = class_prior_of(c->parsed);
    options.threads = threads_of(c->parsed);
    options.report = progress_report;
    options.cancel = interrupt_asked;
    options.context = &c->line;
    if (phl_classifier_create(c->run, &options, &c->classifier, &error) != PHL_OK) {
        return library_error(c->parsed->command, &error);
    }
    int code = blocks_open(&c->blocks, c->parsed, c->run);
    while (code == EXIT_OK && (code = blocks_next(&c->blocks)) == EXIT_OK && c->blocks.forest) {
        code = classify_block(c);
    }
    if (code == EXIT_OK) {
        code = finish(c);
    } else if (c->columns && !c->path) {
        rows_cut(&c->rows);
    }
    return code;
}

static int run_classify(const cli_arguments *parsed)
{
    classification c = {.parsed = parsed, .path = arguments_path(parsed, "predictions")};
    phl_run *run = NULL;
    c.line.quiet = arguments_flag(parsed, "quiet");
    int code = run_open_trained(parsed, &run);
    if (code == EXIT_OK && !phl_run_per_class(run)) {
        code = usage_error(parsed->command,
                           "%s was not trained with --per-class: it has one model for all trees "
                           "and knows no classes; train again with 'phloem train --per-class'",
                           parsed->operands[0]);
    }
    if (code == EXIT_OK && c.path && strcmp(c.path, "-") == 0) {
        code = usage_error(parsed->command, "option --predictions: found '-', expected a file; "
                                            "trees without classes (--no-class) have their "
                                            "predictions on standard output");
    }
    if (code == EXIT_OK) {
        c.run = run;
        c.n_classes = phl_run_classes(run);
        code = classify(&c);
        code = result_close(&c.result, code); /* removes what is not complete */
    }
    if (c.columns) {
        probability_columns_free(c.columns, FIXED_COLUMNS, c.n_classes);
    }
    if (c.waiting) {
        fclose(c.waiting);
    }
    free(c.log_posterior);
    blocks_close(&c.blocks);
    phl_classifier_free(c.classifier);
    phl_run_free(run);
    return code;
}

static const cli_option classify_rows[] = {
    OPTION_CLASS_PRIOR_ROW,
    OPTION_STRUCTURE_ROW("slots"),
    OPTION_BLOCK_ROW,
    {.name = "predictions",
     .letter = 'p',
     .type = OPTION_OUTPUT,
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
        "predicted class and the probability of each.\n\n"
        "Trees are read block by block, so there may be any number of them. Rows wait in a "
        "temporary file, in the folder TMPDIR or else /tmp, until it is sure that no tree has a "
        "class; with --no-class they are printed as they come, at a bad tree those of the trees "
        "before it.",
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_classify,
};
