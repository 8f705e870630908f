/* cmd_score.c - phloem score: how probable trees are, and which labels are odd.
 *
 * Contents: rows, trees, nodes, the command.
 */
#include "blocks.h"
#include "commands.h"
#include "print/rows.h"
#include "runs.h"

#include <math.h>
#include <stdlib.h>

typedef struct scoring {
    const cli_arguments *parsed;
    const phl_run *run;
    size_t n_models;
    tree_blocks blocks;
    row_writer rows;
    bool begun; /* are there rows? */
    /* Trees. */
    phl_tree_score *scores; /* [models][trees of a block] */
    size_t score_capacity;
    /* Nodes. */
    phl_session **sessions; /* one a model, on the block at hand */
    phl_walk *walk;
    double *bits; /* [nodes of a tree] */
    size_t bits_capacity;
} scoring;

/* ---- rows ---- */

/* Once, when the first row is there. */
static void begin_rows(scoring *s)
{
    static const char *const tree_columns[] = {"tree",           "source", "class",
                                               "log_likelihood", "nodes",  "bits_per_label"};
    static const char *const node_columns[] = {"tree", "source", "class", "node", "label", "bits"};
    bool per_node = arguments_flag(s->parsed, "per-node");
    if (!s->begun) {
        rows_begin(&s->rows, stdout, arguments_flag(s->parsed, "json"),
                   per_node ? node_columns : tree_columns,
                   per_node ? sizeof node_columns / sizeof *node_columns
                            : sizeof tree_columns / sizeof *tree_columns);
    }
    s->begun = true;
}

/* ---- trees ---- */

static void print_scores(scoring *s)
{
    const phl_forest *forest = s->blocks.forest;
    size_t n_trees = phl_forest_trees(forest);
    char source[SOURCE_SIZE];
    begin_rows(s);
    for (size_t t = 0; t < n_trees; t++) {
        for (size_t m = 0; m < s->n_models; m++) {
            const phl_tree_score *score = &s->scores[m * n_trees + t];
            rows_count(&s->rows, s->blocks.first + t);
            rows_text(&s->rows, tree_source(forest, t, source));
            rows_text(&s->rows, phl_run_class_name(s->run, m));
            rows_real(&s->rows, score->log_likelihood, DIGITS_LOG);
            rows_count(&s->rows, score->nodes);
            rows_real(&s->rows, score->bits_per_label, DIGITS_PROBABILITY);
        }
    }
}

static phl_status score_trees(scoring *s, phl_error *error)
{
    const phl_forest *forest = s->blocks.forest;
    size_t n_trees = phl_forest_trees(forest);
    phl_score_options options;
    phl_status status = PHL_OK;
    phl_score_options_init(&options);
    options.structure = structure_of(s->parsed);
    options.threads = threads_of(s->parsed);
    if (s->n_models * n_trees > s->score_capacity) {
        free(s->scores);
        s->score_capacity = s->n_models * n_trees;
        s->scores = terminal_allocate(s->score_capacity, sizeof *s->scores);
    }
    for (size_t m = 0; m < s->n_models && status == PHL_OK; m++) {
        status =
            phl_score(phl_run_model(s->run, m), forest, &options, s->scores + m * n_trees, error);
    }
    if (status == PHL_OK) {
        print_scores(s);
    }
    return status;
}

/* ---- nodes ---- */

static size_t count_nodes(scoring *s, size_t tree, int *outcome, phl_error *error)
{
    phl_visit visit;
    size_t n = 0;
    phl_walk_start(s->walk, tree);
    while ((*outcome = phl_walk_next(s->walk, &visit, error)) > 0) {
        n++;
    }
    return n;
}

static phl_status print_nodes(scoring *s, size_t tree, size_t model, phl_error *error)
{
    const phl_forest *forest = s->blocks.forest;
    phl_visit visit;
    char source[SOURCE_SIZE];
    bool possible = false;
    int outcome;
    phl_status status = phl_session_surprise(s->sessions[model], tree, s->bits, &possible, error);
    if (status != PHL_OK) {
        return status;
    }
    tree_source(forest, tree, source);
    phl_walk_start(s->walk, tree);
    while ((outcome = phl_walk_next(s->walk, &visit, error)) > 0) {
        double bits = possible ? s->bits[visit.node] : HUGE_VAL;
        rows_count(&s->rows, s->blocks.first + tree);
        rows_text(&s->rows, source);
        rows_text(&s->rows, phl_run_class_name(s->run, model));
        rows_count(&s->rows, visit.node);
        rows_label(&s->rows, forest_label(forest, visit.label));
        rows_real(&s->rows, visit.label == PHL_UNKNOWN ? NAN : bits, DIGITS_PROBABILITY);
    }
    return outcome < 0 ? (phl_status)outcome : PHL_OK;
}

static phl_status print_all_nodes(scoring *s, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t t = 0; t < phl_forest_trees(s->blocks.forest) && status == PHL_OK; t++) {
        int outcome = 0;
        size_t n = count_nodes(s, t, &outcome, error);
        if (outcome < 0) {
            return (phl_status)outcome;
        }
        if (n > s->bits_capacity) {
            free(s->bits);
            s->bits_capacity = 2 * n;
            s->bits = terminal_allocate(s->bits_capacity, sizeof *s->bits);
        }
        for (size_t m = 0; m < s->n_models && status == PHL_OK; m++) {
            status = print_nodes(s, t, m, error);
        }
    }
    return status;
}

static phl_status score_nodes(scoring *s, phl_error *error)
{
    phl_status status = phl_walk_create(s->blocks.forest, &s->walk, error);
    for (size_t m = 0; m < s->n_models && status == PHL_OK; m++) {
        status = phl_session_create(phl_run_model(s->run, m), s->blocks.forest,
                                    threads_of(s->parsed), &s->sessions[m], error);
    }
    if (status == PHL_OK) {
        begin_rows(s);
        status = print_all_nodes(s, error);
    }
    for (size_t m = 0; m < s->n_models; m++) {
        phl_session_free(s->sessions[m]);
        s->sessions[m] = NULL;
    }
    phl_walk_free(s->walk);
    s->walk = NULL;
    return status;
}

/* ---- the command ---- */

static int score_block(scoring *s)
{
    phl_error error = {0};
    phl_status status =
        arguments_flag(s->parsed, "per-node") ? score_nodes(s, &error) : score_trees(s, &error);
    return status == PHL_OK ? EXIT_OK : library_error(s->parsed->command, &error);
}

static int score(scoring *s)
{
    int code = blocks_open(&s->blocks, s->parsed, s->run);
    while (code == EXIT_OK && (code = blocks_next(&s->blocks)) == EXIT_OK && s->blocks.forest) {
        code = score_block(s);
    }
    if (code == EXIT_OK) {
        begin_rows(s);
        rows_end(&s->rows);
    } else if (s->begun) {
        rows_cut(&s->rows);
    }
    blocks_close(&s->blocks);
    return code;
}

static int run_score(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    int code = run_open_trained(parsed, &run);
    if (code == EXIT_OK) {
        scoring s = {.parsed = parsed, .run = run, .n_models = phl_run_classes(run)};
        s.sessions = terminal_allocate(s.n_models, sizeof *s.sessions);
        code = score(&s);
        free(s.scores);
        free(s.sessions);
        free(s.bits);
    }
    phl_run_free(run);
    return code;
}

static const cli_option score_rows[] = {
    {.name = "per-node",
     .type = OPTION_FLAG,
     .excludes = "structure",
     .help = "a row for each node: the bits its label costs, given all other labels of the tree"},
    OPTION_STRUCTURE_ROW("none"),
    OPTION_BLOCK_ROW,
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
        "labels of its tree.\n\n" BLOCKS_IN_WORDS,
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_score,
};
