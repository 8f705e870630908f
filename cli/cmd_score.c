/* cmd_score.c - phloem score: how probable trees are, and which labels are odd.
 *
 * Contents: trees, nodes, the command.
 */
#include "commands.h"
#include "forests.h"
#include "interrupt.h"
#include "rows.h"
#include "runs.h"

#include <math.h>
#include <stdlib.h>

/* ---- trees ---- */

static void print_scores(const phl_run *run, const phl_forest *forest, const phl_tree_score *scores,
                         bool as_json)
{
    static const char *const columns[] = {"tree",           "source", "class",
                                          "log_likelihood", "nodes",  "bits_per_label"};
    size_t n_trees = phl_forest_trees(forest), n_models = phl_run_classes(run);
    char source[SOURCE_SIZE];
    row_writer rows;
    rows_begin(&rows, stdout, as_json, columns, sizeof columns / sizeof *columns);
    for (size_t t = 0; t < n_trees; t++) {
        for (size_t m = 0; m < n_models; m++) {
            const phl_tree_score *s = &scores[m * n_trees + t];
            rows_count(&rows, t);
            rows_text(&rows, tree_source(forest, t, source));
            rows_text(&rows, phl_run_class_name(run, m));
            rows_real(&rows, s->log_likelihood, DIGITS_LOG);
            rows_count(&rows, s->nodes);
            rows_real(&rows, s->bits_per_label, DIGITS_PROBABILITY);
        }
    }
    rows_end(&rows);
}

static int score_trees(const cli_arguments *parsed, const phl_run *run, const phl_forest *forest)
{
    size_t n_trees = phl_forest_trees(forest), n_models = phl_run_classes(run);
    phl_score_options options;
    phl_error error = {0};
    phl_status status = PHL_OK;
    phl_score_options_init(&options);
    options.structure = structure_of(parsed);
    options.threads = threads_of(parsed);
    phl_tree_score *scores = terminal_allocate(n_models * n_trees, sizeof *scores);
    for (size_t m = 0; m < n_models && status == PHL_OK && n_trees; m++) {
        const phl_model *model = phl_run_model(run, m);
        status = phl_score(model, forest, &options, scores + m * n_trees, &error);
    }
    if (status == PHL_OK) {
        print_scores(run, forest, scores, arguments_flag(parsed, "json"));
    }
    free(scores);
    return status == PHL_OK ? EXIT_OK : library_error(parsed->command, &error);
}

/* ---- nodes ---- */

typedef struct node_scores {
    const phl_run *run;
    const phl_forest *forest;
    phl_session **sessions; /* one a model */
    phl_walk *walk;
    double *bits; /* [capacity] */
    size_t capacity;
    row_writer rows;
} node_scores;

static size_t count_nodes(node_scores *all, size_t tree, int *outcome, phl_error *error)
{
    phl_visit visit;
    size_t n = 0;
    phl_walk_start(all->walk, tree);
    while ((*outcome = phl_walk_next(all->walk, &visit, error)) > 0) {
        n++;
    }
    return n;
}

static phl_status print_nodes(node_scores *all, size_t tree, size_t model, phl_error *error)
{
    phl_visit visit;
    char source[SOURCE_SIZE];
    bool possible = false;
    int outcome;
    phl_status status =
        phl_session_surprise(all->sessions[model], tree, all->bits, &possible, error);
    if (status != PHL_OK) {
        return status;
    }
    tree_source(all->forest, tree, source);
    phl_walk_start(all->walk, tree);
    while ((outcome = phl_walk_next(all->walk, &visit, error)) > 0) {
        double bits = possible ? all->bits[visit.node] : HUGE_VAL;
        rows_count(&all->rows, tree);
        rows_text(&all->rows, source);
        rows_text(&all->rows, phl_run_class_name(all->run, model));
        rows_count(&all->rows, visit.node);
        rows_label(&all->rows, forest_label(all->forest, visit.label));
        rows_real(&all->rows, visit.label == PHL_UNKNOWN ? NAN : bits, DIGITS_PROBABILITY);
    }
    return outcome < 0 ? (phl_status)outcome : PHL_OK;
}

static phl_status print_all_nodes(node_scores *all, phl_error *error)
{
    phl_status status = PHL_OK;
    size_t n_models = phl_run_classes(all->run);
    for (size_t t = 0; t < phl_forest_trees(all->forest) && status == PHL_OK; t++) {
        int outcome = 0;
        size_t n = count_nodes(all, t, &outcome, error);
        if (outcome < 0) {
            return (phl_status)outcome;
        }
        if (n > all->capacity) {
            free(all->bits);
            all->capacity = 2 * n;
            all->bits = terminal_allocate(all->capacity, sizeof *all->bits);
        }
        for (size_t m = 0; m < n_models && status == PHL_OK; m++) {
            status = print_nodes(all, t, m, error);
        }
    }
    return status;
}

static int score_nodes(const cli_arguments *parsed, const phl_run *run, const phl_forest *forest)
{
    static const char *const columns[] = {"tree", "source", "class", "node", "label", "bits"};
    size_t n_models = phl_run_classes(run);
    node_scores all = {.run = run, .forest = forest};
    phl_error error = {0};
    phl_status status = phl_walk_create(forest, &all.walk, &error);
    all.sessions = terminal_allocate(n_models, sizeof *all.sessions);
    for (size_t m = 0; m < n_models && status == PHL_OK; m++) {
        status = phl_session_create(phl_run_model(run, m), forest, threads_of(parsed),
                                    &all.sessions[m], &error);
    }
    if (status == PHL_OK) {
        rows_begin(&all.rows, stdout, arguments_flag(parsed, "json"), columns,
                   sizeof columns / sizeof *columns);
        status = print_all_nodes(&all, &error);
        rows_end(&all.rows);
    }
    for (size_t m = 0; m < n_models; m++) {
        phl_session_free(all.sessions[m]);
    }
    free(all.sessions);
    free(all.bits);
    phl_walk_free(all.walk);
    return status == PHL_OK ? EXIT_OK : library_error(parsed->command, &error);
}

/* ---- the command ---- */

static int run_score(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    phl_forest *forest = NULL;
    int code = run_and_forest(parsed, &run, &forest);
    if (code == EXIT_OK) {
        code = arguments_flag(parsed, "per-node") ? score_nodes(parsed, run, forest)
                                                  : score_trees(parsed, run, forest);
    }
    phl_forest_free(forest);
    phl_run_free(run);
    return code;
}

static const cli_option score_rows[] = {
    {.name = "per-node",
     .type = OPTION_FLAG,
     .excludes = "structure",
     .help = "a row for each node: the bits its label costs, given all other labels of the tree"},
    OPTION_STRUCTURE_ROW("none"),
    OPTION_JSON_ROW("print a JSON array with an object for each row, numbers in full"),
};
static const option_group score_options = {"Scores", score_rows,
                                           sizeof score_rows / sizeof *score_rows};
static const option_group *const groups[] = {&score_options, &reading_options, &reading_formats,
                                             &reading_caps,  &general_options, NULL};

static const example examples[] = {
    {"log-likelihood of every tree", "phloem score trees.run test.trees"},
    {"the ten oddest trees", "phloem score trees.run test.trees | sort -t$'\\t' -k6,6gr | head"},
    {"the oddest labels",
     "phloem score --per-node trees.run test.trees | sort -t$'\\t' -k6,6gr | head"},
    {"with the shape of the trees", "phloem score --structure slots trees.run test.trees"},
    {NULL, NULL}};

const cli_command command_score = {
    .name = "score",
    .summary = "say how probable trees are and which labels are odd",
    .description =
        "Prints the log-likelihood (nats) of each tree, its nodes, and the bits one known label "
        "costs on average: the higher, the odder the tree. The bits are those of the labels given "
        "the shape, whatever --structure says. A run trained with --per-class gives a row for "
        "each tree and class; 'class' is the class of the model.\n\n"
        "With --per-node, 'bits' is -log2 of the probability of a node's label given all other "
        "labels of its tree.",
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_score,
};
