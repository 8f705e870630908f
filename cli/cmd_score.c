/* cmd_score.c - phloem score: how probable trees are, and which labels are odd.
 *
 * Contents: rows, the command.
 */
#include "blocks.h"
#include "commands.h"
#include "print/rows.h"
#include "runs.h"

typedef struct scoring {
    tree_blocks blocks; /* first: what callbacks get */
    const phl_run *run;
    bool per_node;
    row_writer rows;
    bool begun; /* are there rows? */
} scoring;

/* ---- rows ---- */

/* Once, when the first row is there. */
static void begin_rows(scoring *s)
{
    static const char *const tree_columns[] = {"tree",           "source", "class",
                                               "log_likelihood", "nodes",  "bits_per_label"};
    static const char *const node_columns[] = {"tree", "source", "class", "node", "label", "bits"};
    if (!s->begun) {
        rows_begin(&s->rows, stdout, arguments_flag(s->blocks.parsed, "json"),
                   s->per_node ? node_columns : tree_columns,
                   s->per_node ? sizeof node_columns / sizeof *node_columns
                               : sizeof tree_columns / sizeof *tree_columns);
    }
    s->begun = true;
}

static void print_tree(scoring *s, const phl_tree_at *at, const phl_tree_score *score)
{
    char source[SOURCE_SIZE];
    rows_count(&s->rows, at->number);
    rows_text(&s->rows, forest_tree_source(at->block, at->tree, source));
    rows_text(&s->rows, phl_run_class_name(s->run, at->class_index));
    rows_real(&s->rows, score->log_likelihood, DIGITS_LOG);
    rows_count(&s->rows, score->nodes);
    rows_real(&s->rows, score->bits_per_label, DIGITS_PROBABILITY);
}

static phl_status print_nodes(scoring *s, const phl_tree_at *at, const phl_tree_score *score,
                              phl_error *error)
{
    char source[SOURCE_SIZE];
    phl_visit visit;
    int outcome;
    forest_tree_source(at->block, at->tree, source);
    phl_walk_start(at->walk, at->tree);
    while ((outcome = phl_walk_next(at->walk, &visit, error)) > 0) {
        rows_count(&s->rows, at->number);
        rows_text(&s->rows, source);
        rows_text(&s->rows, phl_run_class_name(s->run, at->class_index));
        rows_count(&s->rows, visit.node);
        rows_label(&s->rows, forest_label(at->block, visit.label));
        rows_real(&s->rows, score->bits[visit.node], DIGITS_PROBABILITY);
    }
    return (phl_status)outcome;
}

static phl_status take_score(const phl_tree_at *at, const phl_tree_score *score, void *context,
                             phl_error *error)
{
    scoring *s = context;
    phl_status status = PHL_OK;
    begin_rows(s);
    if (s->per_node) {
        status = print_nodes(s, at, score, error);
    } else {
        print_tree(s, at, score);
    }
    return status == PHL_OK ? blocks_result(&s->blocks, at, EXIT_OK) : status;
}

/* ---- the command ---- */

static int score(scoring *s, const cli_arguments *parsed)
{
    phl_score_options options;
    phl_error error = {0};
    int code = blocks_open(&s->blocks, parsed, parsed->operands + 1, parsed->n_operands - 1);
    if (code != EXIT_OK) {
        return code;
    }
    phl_score_options_init(&options);
    options.structure =
        run_structure(parsed) || (phl_run_kind(s->run) == PHL_GRAMMAR &&
                                  !arguments_given(parsed, "structure")); /* it has both in one */
    options.every_class = true;
    options.bits = s->per_node;
    options.threads = arguments_threads(parsed);
    options.report = blocks_report(&s->blocks);
    options.context = s;
    phl_status status = phl_score(s->run, s->blocks.source, &options, take_score, &error);
    code = blocks_finish(&s->blocks, status, &error);
    if (code == EXIT_OK) {
        begin_rows(s);
        rows_end(&s->rows);
    } else if (s->begun) {
        rows_cut(&s->rows);
    }
    return code;
}

static int run_score(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    int code = run_open_trained(parsed, &run);
    if (code == EXIT_OK) {
        scoring s = {.run = run, .per_node = arguments_flag(parsed, "per-node")};
        code = score(&s, parsed);
        blocks_close(&s.blocks);
    }
    phl_run_free(run);
    return code;
}

static const cli_option score_rows[] = {
    {.name = "per-node",
     .type = OPTION_FLAG,
     .excludes = "structure",
     .help = "print one row per node: the bits its label costs, given all other "
             "labels of the tree"},
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
    .description = "Prints for each tree its log-likelihood (in nats), its number of "
                   "nodes, and the bits that a known label costs on average: the higher, "
                   "the odder the tree. The bits are those of the labels given the shape, "
                   "whatever --structure says. A run trained with --per-class gives one "
                   "row per tree and class; 'class' is the class of the model.\n\n"
                   "With --per-node, 'bits' is -log2 of the probability of a node's label "
                   "given all other labels of its tree.\n\n" BLOCKS_IN_WORDS,
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_score,
};
