/* cmd_classify.c - phloem classify: the classes of trees, and how often that is right.
 *
 * Contents: where predictions go, predictions, the command.
 */
#include "blocks.h"
#include "commands.h"
#include "interrupt.h"
#include "print/evaluations.h"
#include "print/explanations.h"
#include "print/rows.h"
#include "runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIXED_COLUMNS = 4 };

typedef struct classification {
    tree_blocks blocks; /* first: what callbacks get */
    const cli_arguments *parsed;
    const phl_run *run;
    size_t n_classes;
    bool known; /* some tree has a class: there is an evaluation */
    /* Predictions. */
    const char *path;     /* NULL: to standard output, if no tree has a class; until that is sure */
    FILE *waiting;        /* they wait here */
    rows_file result;     /* of the path */
    const char **columns; /* NULL: there are no rows yet */
    row_writer rows;
    /* Reasons. */
    size_t explain; /* --explain: so many for each tree, in place of rows; 0: none */
    json_writer json;
} classification;

/* ---- where predictions go ---- */

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
        code = rows_file_open(&c->result, c->path);
        file = c->result.file;
    } else if (!arguments_flag(c->parsed, "no-class")) {
        file = c->waiting = open_waiting();
        code = file ? EXIT_OK : cannot_wait(errno);
    }
    if (code == EXIT_OK) {
        c->columns = run_columns(fixed, FIXED_COLUMNS, c->run, phl_run_class_name, c->n_classes);
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
    int reason = terminal_flush(c->waiting);
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

/* ---- predictions ---- */

static int print_prediction(classification *c, const phl_tree_at *at,
                            const phl_classified_tree *tree)
{
    char source[SOURCE_SIZE];
    int code = begin_rows(c);
    if (code != EXIT_OK) {
        return code;
    }
    rows_count(&c->rows, at->number);
    rows_text(&c->rows, forest_tree_source(at->block, at->tree, source));
    rows_text(&c->rows, forest_tree_class(at->block, at->tree));
    rows_text(&c->rows, phl_run_class_name(c->run, tree->best));
    for (size_t k = 0; k < c->n_classes; k++) {
        rows_real(&c->rows, exp(tree->log_posterior[k]), DIGITS_PROBABILITY);
    }
    if (c->waiting && ferror(c->waiting)) {
        return cannot_wait(terminal_flush(c->waiting));
    }
    return c->path && ferror(c->result.file) ? rows_file_close(&c->result, EXIT_OK) /* says why */
                                             : EXIT_OK;
}

static phl_status print_reasons(classification *c, const phl_tree_at *at,
                                const phl_classified_tree *tree, phl_error *error)
{
    char buffer[SOURCE_SIZE];
    const char *source = forest_tree_source(at->block, at->tree, buffer);
    return arguments_flag(c->parsed, "json")
               ? explanation_json(&c->json, c->run, at, source, tree, error)
               : explanation_print(c->run, at, source, tree, error);
}

static phl_status take_tree(const phl_tree_at *at, const phl_classified_tree *tree, void *context,
                            phl_error *error)
{
    classification *c = context;
    int code = EXIT_OK;
    c->known = c->known || phl_tree_class(at->block, at->tree) != PHL_NO_CLASS;
    if (tree->explanation) {
        phl_status status = print_reasons(c, at, tree, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    if (c->path || (!c->known && !c->explain)) { /* rows will be printed, or may be */
        code = print_prediction(c, at, tree);
    }
    return blocks_result(&c->blocks, at, code);
}

/* ---- the command ---- */

/* The end: what is known of all trees together. */
static int finish(classification *c, const phl_evaluation *evaluation)
{
    static const evaluation_words words = {
        .items = "trees classified", .name = "class", .names = "classes", .classes = true};
    bool json = arguments_flag(c->parsed, "json");
    int code = c->explain && !c->path ? EXIT_OK : end_rows(c);
    if (code == EXIT_OK) {
        code = rows_file_close(&c->result, EXIT_OK);
    }
    if (c->explain && json) {
        json_out_close(&c->json, ']');
        return code;
    }
    if (code == EXIT_OK && c->known) {
        if (c->explain) {
            putchar('\n');
        }
        if (json) {
            evaluation_json(evaluation);
        } else {
            evaluation_print(evaluation, &words);
        }
    }
    return code;
}

static phl_rule rule_of(const cli_arguments *parsed)
{
    static const phl_rule rules[] = {PHL_RULE_GENERATIVE, PHL_RULE_HEAD, PHL_RULE_BOTH};
    return arguments_given(parsed, "rule") ? rules[arguments_choice_index(parsed, "rule")]
                                           : PHL_RULE_DEFAULT;
}

static int classify(classification *c)
{
    const cli_arguments *parsed = c->parsed;
    phl_classify_options options;
    phl_evaluation *evaluation = NULL;
    phl_error error = {0};
    int code = blocks_open(&c->blocks, parsed, parsed->operands + 1, parsed->n_operands - 1);
    if (code != EXIT_OK) {
        return code;
    }
    phl_classify_options_init(&options);
    options.structure = run_structure(parsed);
    options.prior = run_class_prior(parsed);
    options.rule = rule_of(parsed);
    options.explain = c->explain;
    if (c->explain && arguments_flag(parsed, "json")) {
        json_out_begin(&c->json, stdout);
        json_out_open(&c->json, '[', false);
    }
    options.threads = arguments_threads(parsed);
    options.report = blocks_report(&c->blocks);
    options.cancel = interrupt_asked;
    options.context = c;
    phl_status status =
        phl_classify(c->run, c->blocks.source, &options, take_tree, &evaluation, &error);
    code = blocks_finish(&c->blocks, status, &error);
    if (code == EXIT_OK) {
        code = finish(c, evaluation);
    } else if (c->columns && !c->path) {
        rows_cut(&c->rows);
    }
    phl_evaluation_free(evaluation);
    return code;
}

/* Of a run with a head, the models need not be there. */
static int open_run(const cli_arguments *parsed, phl_run **run)
{
    int code = run_open(parsed, run);
    bool head = code == EXIT_OK && phl_run_head(*run) != NULL;
    bool alone = head && phl_run_kind(*run) == PHL_NO_KIND;
    bool models = arguments_given(parsed, "rule") ? rule_of(parsed) != PHL_RULE_HEAD : !alone;
    if (code == EXIT_OK && !models && arguments_given(parsed, "class-prior")) {
        code = usage_error(parsed->command,
                           "option --class-prior belongs to the models; the head has learned how "
                           "frequent classes are (--rule generative asks the models)");
    }
    return code == EXIT_OK && models ? run_check_trained(parsed, *run) : code;
}

static int run_classify(const cli_arguments *parsed)
{
    classification c = {.parsed = parsed, .path = arguments_path(parsed, "predictions")};
    if (arguments_given(parsed, "explain")) {
        c.explain = (size_t)arguments_integer(parsed, "explain");
    }
    phl_run *run = NULL;
    int code = open_run(parsed, &run);
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
        code = rows_file_close(&c.result, code); /* removes what is not complete */
    }
    if (c.columns) {
        run_columns_free(c.columns, FIXED_COLUMNS, c.n_classes);
    }
    if (c.waiting) {
        fclose(c.waiting);
    }
    blocks_close(&c.blocks);
    phl_run_free(run);
    return code;
}

static const cli_option classify_rows[] = {
    {.name = "rule",
     .type = OPTION_CHOICE,
     .argument = "RULE",
     .choices = "generative|head|both",
     .fallback_note = "what did best on trees held out",
     .help = "generative: the model of each class; head: the linear classifier; both: a weighted "
             "mean of their log-probabilities"},
    OPTION_CLASS_PRIOR_ROW,
    OPTION_STRUCTURE_ROW("slots"),
    OPTION_BLOCK_ROW,
    {.name = "predictions",
     .letter = 'p',
     .type = OPTION_OUTPUT,
     .argument = "FILE",
     .help = "write one row per tree: true and predicted class, the probability of "
             "each class; the file appears only when complete"},
    {.name = "explain",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 1,
     .most = 1000000,
     .help = "print for each tree the N features that spoke most for its class and against the "
             "runner-up, what each adds to the log-odds, and the nodes it sits on (numbered from 0 "
             "in pre-order; of neighbours, their parent); needs a linear head"},
    OPTION_JSON_ROW("print the evaluation as one JSON object, or predictions or reasons as an "
                    "array"),
};
static const option_group classify_options = {"Classification", classify_rows,
                                              sizeof classify_rows / sizeof *classify_rows};
static const option_group *const groups[] = {&classify_options, &reading_options, &reading_formats,
                                             &reading_caps,     &general_options, NULL};

static const example examples[] = {
    {"how well are test trees classified?", "phloem classify classes.run test.trees"},
    {"classes of new trees, and how sure they are", "phloem classify classes.run new.trees"},
    {"an evaluation and predictions, with classes as frequent as in training",
     "phloem classify --class-prior empirical classes.run test.trees -p predictions.tsv"},
    {"three reasons for every answer", "phloem classify --explain 3 classes.run new.trees"},
    {"one figure for a script", "phloem classify --json classes.run test.trees | jq .accuracy"},
    {NULL, NULL}};

const cli_command command_classify = {
    .name = "classify",
    .summary = "find the classes of trees",
    .description = "Takes a run trained with --per-class. If the trees have classes, the "
                   "predictions are compared with them: accuracy, the entropy of the true "
                   "classes given the predicted one, log-loss and the confusion matrix. "
                   "Otherwise one row per tree is printed: the predicted class and the "
                   "probability of every class.\n\n"
                   "Trees are read block by block, so there may be any number of them. "
                   "Until it is certain that no tree has a class, rows are kept in a "
                   "temporary file, in the folder TMPDIR or else /tmp. With --no-class "
                   "they are printed as they come; if a tree is bad, those of the trees "
                   "before it are printed.",
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_classify,
};
