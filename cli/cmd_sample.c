/* cmd_sample.c - phloem sample: labels for given shapes, or whole trees, drawn from a model.
 *
 * Contents: labels for shapes, whole trees, the command.
 */
#include "commands.h"
#include "forests.h"
#include "interrupt.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "runs.h"

#include <stdlib.h>
#include <string.h>

typedef struct sampling {
    progress_line line; /* first: what callbacks report to */
    const cli_arguments *parsed;
    const phl_run *run;
    phl_sample_options options;
} sampling;

static void free_all(phl_forest **forests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        phl_forest_free(forests[i]);
    }
    free(forests);
}

/* ---- labels for shapes ---- */

static int label_shapes(sampling *s, const phl_forest *shapes, phl_forest **forest)
{
    tree_groups groups = {0};
    phl_error error = {0};
    int code = groups_make(s->parsed, s->run, shapes, &groups);
    phl_forest **parts = terminal_allocate(groups.n, sizeof *parts);
    for (size_t g = 0; g < groups.n && code == EXIT_OK; g++) {
        const tree_group *group = &groups.groups[g];
        if (phl_sample_labels(group->model, group->forest, &s->options, &parts[g], &error) !=
            PHL_OK) {
            code = library_error(s->parsed->command, &error);
        }
    }
    if (code == EXIT_OK) {
        code = groups_join(s->parsed, &groups, parts, forest);
        free(parts);
    } else {
        free_all(parts, groups.n);
    }
    groups_clear(&groups);
    return code;
}

static int sample_shapes(sampling *s, phl_forest **forest)
{
    const cli_arguments *parsed = s->parsed;
    size_t n = parsed->n_operands; /* --shapes, and the operands behind RUN */
    const char **paths = terminal_allocate(n, sizeof *paths);
    phl_forest *shapes = NULL;
    paths[0] = arguments_path(parsed, "shapes");
    for (size_t i = 1; i < n; i++) {
        paths[i] = parsed->operands[i];
    }
    int code = forest_read_paths(parsed, paths, n, &shapes, NULL);
    if (code == EXIT_OK) {
        code = label_shapes(s, shapes, forest);
    }
    phl_forest_free(shapes);
    free(paths);
    return code;
}

/* ---- whole trees ---- */

static int sample_trees(sampling *s, phl_forest **forest)
{
    const char *name = arguments_string(s->parsed, "class");
    size_t first = 0, last = phl_run_classes(s->run);
    phl_error error = {0};
    phl_status status = PHL_OK;
    int code = EXIT_OK;
    if (name) {
        first = find_class(s->parsed, s->run, name, &code);
        if (first == SIZE_MAX) {
            return code;
        }
        last = first + 1;
    }
    phl_forest **parts = terminal_allocate(last - first, sizeof *parts);
    for (size_t m = first; m < last && status == PHL_OK; m++) {
        status = phl_sample_trees(phl_run_model(s->run, m), &s->options, &parts[m - first], NULL,
                                  &error);
    }
    if (status == PHL_OK) {
        status = phl_forest_concat((const phl_forest *const *)parts, last - first, forest, &error);
    }
    free_all(parts, last - first);
    return status == PHL_OK ? EXIT_OK : library_error(s->parsed->command, &error);
}

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

static int run_sample(const cli_arguments *parsed)
{
    sampling s = {.parsed = parsed};
    phl_run *run = NULL;
    phl_forest *forest = NULL;
    s.line.quiet = arguments_flag(parsed, "quiet");
    phl_sample_options_init(&s.options);
    int code = check_options(parsed);
    if (code == EXIT_OK) {
        code = arguments_seed(parsed, &s.options.seed);
    }
    if (code == EXIT_OK) {
        code = run_open_trained(parsed, &run);
    }
    if (code == EXIT_OK) {
        s.run = run;
        s.options.threads = threads_of(parsed);
        s.options.report = progress_report;
        s.options.cancel = interrupt_asked;
        s.options.context = &s;
        if (arguments_given(parsed, "max-nodes")) {
            s.options.max_nodes = (size_t)arguments_integer(parsed, "max-nodes");
        }
        s.options.trees = (size_t)arguments_integer(parsed, "trees");
        code = arguments_given(parsed, "shapes") ? sample_shapes(&s, &forest)
                                                 : sample_trees(&s, &forest);
    }
    if (code == EXIT_OK) {
        code = forest_write(parsed, forest);
    }
    phl_forest_free(forest);
    phl_run_free(run);
    return code;
}

static const cli_option sample_rows[] = {
    {.name = "shapes",
     .type = OPTION_PATH,
     .argument = "IN...",
     .excludes = "trees",
     .help = "draw labels for the shapes of these trees; labels they have are not looked at"},
    {.name = "trees",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 1,
     .most = 1000000000,
     .help = "draw N whole trees, of each class if the run has classes and --class is not given"},
    {.name = "max-nodes",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 1,
     .most = SIZE_MAX,
     .fallback_note = "10,000",
     .help = "a whole tree that grows beyond is thrown away and drawn again"},
    {.name = "structure",
     .type = OPTION_CHOICE,
     .argument = "WHAT",
     .choices = "slots|none",
     .fallback_note = "slots with --trees, none with --shapes",
     .help = "are shapes drawn (slots) or given (none)?"},
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
    .description =
        "Draws from a model: labels for given shapes, or whole trees with shapes like those of "
        "the training trees. Trees that grow too large are thrown away, and their number is told: "
        "what is left is then biased towards small trees.\n\n"
        "With a run trained with --per-class, shapes get labels from the model of their own class "
        "(trees without one need --class), and whole trees are drawn for every class or, with "
        "--class, for one.",
    .operands = "RUN [IN...]",
    .operand_help = "a file written by 'phloem train'; more trees for --shapes",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_sample,
};
