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
    bool odd;     /* the run has an expert, or there are several */
    double alarm; /* rate; 0: all trees */
    row_writer rows;
    bool begun; /* are there rows? */
    run_company company;
} scoring;

/* ---- rows ---- */

/* Once, when the first row is there. */
static void begin_rows(scoring *s)
{
    static const char *const tree_columns[] = {
        "tree",           "source", "class",      "log_likelihood", "nodes",
        "bits_per_label", "oddity", "percentile", "mean_bits",      "most_bits"};
    static const char *const node_columns[] = {"tree", "source", "class", "node", "label", "bits"};
    static const char *const alarm_columns[] = {"tree",       "source", "class", "oddity",
                                                "percentile", "node",   "label", "bits"};
    if (!s->begun) {
        const char *const *columns = s->alarm > 0  ? alarm_columns
                                     : s->per_node ? node_columns
                                                   : tree_columns;
        size_t n = s->alarm > 0 ? 8 : s->per_node || !s->odd ? 6 : 10;
        rows_begin(&s->rows, stdout, arguments_flag(s->blocks.parsed, "json"), columns, n);
    }
    s->begun = true;
}

/* Per cent of the training trees that are less odd. */
static double percentile(const phl_tree_score *score)
{
    return 100 * (1 - score->odd_share);
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
    if (s->odd) {
        rows_real(&s->rows, score->oddity, DIGITS_PROBABILITY);
        rows_real(&s->rows, percentile(score), DIGITS_PROBABILITY);
        rows_real(&s->rows, score->mean_bits, DIGITS_PROBABILITY);
        rows_real(&s->rows, score->most_bits, DIGITS_PROBABILITY);
    }
}

/* The nodes of a tree; of one that raises the alarm, those to blame. */
static phl_status print_nodes(scoring *s, const phl_tree_at *at, const phl_tree_score *score,
                              phl_error *error)
{
    char source[SOURCE_SIZE];
    phl_visit visit;
    int outcome;
    forest_tree_source(at->block, at->tree, source);
    phl_walk_start(at->walk, at->tree);
    while ((outcome = phl_walk_next(at->walk, &visit, error)) > 0) {
        if (s->alarm > 0 && !(score->bits[visit.node] >= score->most_bits / 2)) {
            continue;
        }
        rows_count(&s->rows, at->number);
        rows_text(&s->rows, source);
        rows_text(&s->rows, phl_run_class_name(s->run, at->class_index));
        if (s->alarm > 0) {
            rows_real(&s->rows, score->oddity, DIGITS_PROBABILITY);
            rows_real(&s->rows, percentile(score), DIGITS_PROBABILITY);
        }
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
    if (s->alarm > 0 && !(score->odd_share <= s->alarm)) {
        return blocks_result(&s->blocks, at, EXIT_OK);
    }
    if (s->per_node || s->alarm > 0) {
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
    options.bits = s->per_node || s->alarm > 0;
    options.threads = arguments_threads(parsed);
    options.report = blocks_report(&s->blocks);
    options.context = s;
    options.with = (const phl_run *const *)s->company.runs;
    options.n_with = s->company.n;
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

/* Can --alarm be told? */
static int check_alarm(const cli_arguments *parsed, const phl_expert_summary *expert)
{
    double alarm = arguments_given(parsed, "alarm") ? arguments_real(parsed, "alarm") : 1;
    if (arguments_given(parsed, "alarm") && expert->trees == 0) {
        return usage_error(parsed->command,
                           "option --alarm needs a run with an expert; train one with 'phloem "
                           "train --members td,expert'");
    }
    if (alarm * (1 + (double)expert->odd_trees) < 1) {
        return usage_error(parsed->command,
                           "option --alarm: the run knows how odd %llu training trees are, too few "
                           "to tell a rate of %g",
                           (unsigned long long)expert->odd_trees, alarm);
    }
    return EXIT_OK;
}

static int run_score(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    phl_expert_summary expert = {0};
    int code = run_open_labeller(parsed, &run);
    if (code == EXIT_OK) {
        phl_expert_summarise(run, &expert);
        code = check_alarm(parsed, &expert);
    }
    if (code == EXIT_OK) {
        scoring s = {.run = run,
                     .per_node = arguments_flag(parsed, "per-node"),
                     .odd = expert.trees > 0 || arguments_given(parsed, "with"),
                     .alarm =
                         arguments_given(parsed, "alarm") ? arguments_real(parsed, "alarm") : 0};
        code = run_open_company(parsed, &s.company);
        code = code == EXIT_OK ? score(&s, parsed) : code;
        blocks_close(&s.blocks);
        run_close_company(&s.company);
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
    {.name = "alarm",
     .type = OPTION_REAL,
     .argument = "RATE",
     .low = 0.000001,
     .high = 0.5,
     .excludes = "per-node structure with",
     .help = "with an expert in RUN: only trees odder than all but this share of the training "
             "trees, one row for each node to blame (with half the bits of the worst, or more)"},
    OPTION_WITH_ROW("further runs: bits and oddity are of the geometric mean of what all predict; "
                    "percentiles are not known then"),
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
