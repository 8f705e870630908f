/* cmd_sample.c - phloem sample: labels for given shapes, or whole trees, drawn from a model. */
#include "blocks.h"
#include "commands.h"
#include "interrupt.h"
#include "print/terminal.h"
#include "runs.h"

#include <stdlib.h>
#include <string.h>

typedef struct sampling {
    tree_blocks blocks; /* first: what callbacks get */
    forest_out out;
} sampling;

/* ---- the command ---- */

static int check_options(const cli_arguments *parsed)
{
    const char *structure = arguments_choice(parsed, "structure");
    bool shapes = arguments_given(parsed, "shapes");
    if (shapes == arguments_given(parsed, "trees")) {
        return usage_error(parsed->command, "what to draw is missing: --shapes IN (labels for "
                                            "given shapes) or --trees N (whole trees)");
    }
    if (!shapes && parsed->n_operands > 1) {
        return usage_error(parsed->command, "unexpected '%s'; --trees N takes no trees",
                           parsed->operands[1]);
    }
    if (structure && shapes == (strcmp(structure, "slots") == 0)) {
        return usage_error(parsed->command,
                           "--structure %s contradicts --%s: whole trees are drawn with their "
                           "shapes, shapes that are given are not",
                           structure, shapes ? "shapes" : "trees");
    }
    return EXIT_OK;
}

static phl_status take_block(const phl_forest *block, void *context, phl_error *error)
{
    sampling *s = context;
    return forest_out_write(&s->out, block, error);
}

/* The trees of --shapes, and of the operands after RUN. */
static int open_shapes(sampling *s, const cli_arguments *parsed)
{
    const char **paths = terminal_allocate(parsed->n_operands, sizeof *paths);
    paths[0] = arguments_path(parsed, "shapes");
    for (size_t i = 1; i < parsed->n_operands; i++) {
        paths[i] = parsed->operands[i];
    }
    int code = blocks_open(&s->blocks, parsed, paths, parsed->n_operands);
    free(paths);
    return code;
}

static int sample(sampling *s, const cli_arguments *parsed, const phl_run *run,
                  phl_sample_options *options)
{
    bool shapes = arguments_given(parsed, "shapes");
    phl_error error = {0};
    s->blocks.reports.quiet = arguments_flag(parsed, "quiet");
    s->blocks.told = !shapes;
    int code = shapes ? open_shapes(s, parsed) : EXIT_OK;
    if (code == EXIT_OK) {
        code = forest_out_open(&s->out, parsed);
    }
    if (code != EXIT_OK) {
        return code;
    }
    options->threads = arguments_threads(parsed);
    options->report = blocks_report(&s->blocks);
    options->cancel = interrupt_asked;
    options->context = s;
    if (arguments_given(parsed, "max-nodes")) {
        options->max_nodes = (size_t)arguments_integer(parsed, "max-nodes");
    }
    if (!shapes) { /* reading gives it to shapes */
        options->trees = (size_t)arguments_integer(parsed, "trees");
        options->class_name = arguments_string(parsed, "class");
    }
    phl_status status = phl_sample(run, s->blocks.source, options, take_block, &error);
    if (status == PHL_OK && shapes) {
        phl_read_summary counts;
        phl_source_summary(s->blocks.source, &counts);
        forest_tell_read(parsed, &s->blocks.reports, &counts);
    }
    return forest_out_close(&s->out, status, &error);
}

static int run_sample(const cli_arguments *parsed)
{
    sampling s = {0};
    phl_sample_options options;
    phl_run *run = NULL;
    phl_sample_options_init(&options);
    int code = check_options(parsed);
    if (code == EXIT_OK) {
        code = arguments_seed(parsed, &options.seed);
    }
    if (code == EXIT_OK) {
        code = run_open_trained(parsed, &run);
    }
    if (code == EXIT_OK) {
        code = sample(&s, parsed, run, &options);
    }
    blocks_close(&s.blocks);
    phl_run_free(run);
    return code;
}

static const cli_option sample_rows[] = {
    OPTION_PATH_ROW("shapes", "IN...",
                    "draw labels for the shapes of these trees; the labels they have are "
                    "ignored",
                    .excludes = "trees"),
    OPTION_INTEGER_ROW("trees", "N", 1, 1000000000,
                       "draw N whole trees; if the run has classes, of each class or of "
                       "--class"),
    OPTION_INTEGER_ROW("max-nodes", "N", 1, SIZE_MAX,
                       "discard a whole tree that grows beyond N nodes and draw it again",
                       .fallback_note = "10,000"),
    OPTION_CHOICE_ROW("structure", "WHAT", "slots|none",
                      "are shapes drawn (slots) or given (none)?",
                      .fallback_note = "slots with --trees, none with --shapes"),
    OPTION_SEED_ROW,
};
static const option_group sample_options = {"Sampling", sample_rows,
                                            sizeof sample_rows / sizeof *sample_rows};
static const option_group *const groups[] = {&sample_options,
                                             &writing_options,
                                             &reading_options,
                                             &reading_formats,
                                             &reading_caps_but_nodes,
                                             &general_options,
                                             NULL};

static const example examples[] = {
    {"five whole trees on the terminal", "phloem sample trees.run --trees 5 -o -"},
    {"new labels for the shapes of test trees",
     "phloem sample trees.run --shapes test.trees -o relabelled.trees"},
    {"a hundred trees of one class, none above 200 nodes",
     "phloem sample classes.run --trees 100 --class left --max-nodes 200 -o left.trees"},
    {NULL, NULL}};

const cli_command command_sample = {
    .name = "sample",
    .summary = "draw labels or whole trees from a model",
    .description = "Draws from a model: labels for given shapes, or whole trees with "
                   "shapes like those of the training trees. Trees that grow too large "
                   "are discarded, and their number is reported: the rest is then biased "
                   "towards small trees.\n\n"
                   "If the run was trained with --per-class, shapes get labels from the "
                   "model of their own class (trees without a class need --class), and "
                   "whole trees are drawn for every class or, with --class, for one.",
    .operands = "RUN [IN...]",
    .operand_help = "a file written by 'phloem train'; further trees for --shapes",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_sample,
};
