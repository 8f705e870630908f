/* cmd_decode.c - phloem decode: the hidden states of nodes.
 *
 * Contents: rows, the command.
 */
#include "blocks.h"
#include "commands.h"
#include "print/rows.h"
#include "runs.h"

#include <math.h>
#include <stdlib.h>

enum { FIXED_COLUMNS = 8, STATE_NAME = 24 };

typedef enum what_to_print { MARGINALS, PAIRS, JOINT } what_to_print;

typedef struct decoding {
    tree_blocks blocks; /* first: what callbacks get */
    const phl_run *run;
    what_to_print what;
    bool all_states; /* a column for each state */
    uint32_t states;
    row_writer rows;
    const char **columns; /* of the rows; NULL: none were begun */
    char (*state_names)[STATE_NAME];
} decoding;

/* ---- rows ---- */

/* Once, when the first row is there. */
static void begin_rows(decoding *d)
{
    static const char *const of_nodes[FIXED_COLUMNS] = {"tree", "source", "node",  "parent",
                                                        "slot", "label",  "state", "probability"};
    static const char *const of_pairs[FIXED_COLUMNS] = {
        "tree", "source", "node", "parent", "slot", "parent_state", "state", "probability"};
    size_t n = FIXED_COLUMNS;
    if (d->columns) {
        return;
    }
    d->columns = terminal_allocate(FIXED_COLUMNS + d->states, sizeof *d->columns);
    d->state_names = terminal_allocate(d->states, sizeof *d->state_names);
    for (size_t i = 0; i < FIXED_COLUMNS; i++) {
        d->columns[i] = d->what == PAIRS ? of_pairs[i] : of_nodes[i];
    }
    if (d->what == JOINT) {
        d->columns[FIXED_COLUMNS - 1] = "log_probability";
    }
    for (uint32_t q = 0; d->all_states && q < d->states; q++) {
        snprintf(d->state_names[q], STATE_NAME, "p(%u)", (unsigned)q);
        d->columns[n++] = d->state_names[q];
    }
    rows_begin(&d->rows, stdout, arguments_flag(d->blocks.parsed, "json"), d->columns, n);
}

/* p(parent's state, state) of one node, a row each. */
static void print_pairs(decoding *d, const phl_tree_at *at, const char *source,
                        const phl_visit *visit, const double *pairs)
{
    if (visit->parent == SIZE_MAX || !pairs) {
        return;
    }
    pairs += visit->node * d->states * d->states;
    for (uint32_t i = 0; i < d->states; i++) {
        for (uint32_t q = 0; q < d->states; q++) {
            rows_count(&d->rows, at->number);
            rows_text(&d->rows, source);
            rows_count(&d->rows, visit->node);
            rows_count(&d->rows, visit->parent);
            rows_count(&d->rows, visit->slot);
            rows_count(&d->rows, i);
            rows_count(&d->rows, q);
            rows_real(&d->rows, pairs[i * d->states + q], DIGITS_PROBABILITY);
        }
    }
}

static void print_node(decoding *d, const phl_tree_at *at, const char *source,
                       const phl_visit *visit, const phl_decoded_tree *tree)
{
    size_t u = visit->node;
    rows_count(&d->rows, at->number);
    rows_text(&d->rows, source);
    rows_count(&d->rows, u);
    rows_integer(&d->rows, visit->parent == SIZE_MAX ? -1 : (int64_t)visit->parent);
    rows_count(&d->rows, visit->slot);
    rows_label(&d->rows, forest_label(at->block, visit->label));
    if (!tree->possible) {
        rows_text(&d->rows, NULL);
        rows_text(&d->rows, NULL);
    } else if (d->what == JOINT) {
        rows_count(&d->rows, tree->joint[u]);
        rows_real(&d->rows, tree->log_joint, DIGITS_LOG);
    } else {
        rows_count(&d->rows, tree->best[u]);
        rows_real(&d->rows, tree->marginals[u * d->states + tree->best[u]], DIGITS_PROBABILITY);
    }
    for (uint32_t q = 0; d->all_states && q < d->states; q++) {
        rows_real(&d->rows, tree->possible ? tree->marginals[u * d->states + q] : NAN,
                  DIGITS_PROBABILITY);
    }
}

static phl_status take_tree(const phl_tree_at *at, const phl_decoded_tree *tree, void *context,
                            phl_error *error)
{
    decoding *d = context;
    char source[SOURCE_SIZE];
    phl_visit visit;
    int outcome;
    begin_rows(d);
    forest_tree_source(at->block, at->tree, source);
    phl_walk_start(at->walk, at->tree);
    while ((outcome = phl_walk_next(at->walk, &visit, error)) > 0) {
        if (d->what == PAIRS) {
            print_pairs(d, at, source, &visit, tree->pairs);
        } else {
            print_node(d, at, source, &visit, tree);
        }
    }
    return outcome < 0 ? (phl_status)outcome : blocks_result(&d->blocks, at, EXIT_OK);
}

/* ---- the command ---- */

static int decode(decoding *d, const cli_arguments *parsed)
{
    phl_decode_options options;
    phl_error error = {0};
    int code = blocks_open(&d->blocks, parsed, parsed->operands + 1, parsed->n_operands - 1);
    if (code != EXIT_OK) {
        return code;
    }
    phl_decode_options_init(&options);
    if (arguments_given(parsed, "draw")) {
        options.draw = (size_t)arguments_integer(parsed, "draw");
    }
    options.marginals = d->what == MARGINALS;
    options.pairs = d->what == PAIRS;
    options.joint = d->what == JOINT;
    options.threads = arguments_threads(parsed);
    options.report = blocks_report(&d->blocks);
    options.context = d;
    phl_status status = phl_decode(d->run, d->blocks.source, &options, take_tree, &error);
    code = blocks_finish(&d->blocks, status, &error);
    if (code == EXIT_OK) {
        begin_rows(d);
        rows_end(&d->rows);
    } else if (d->columns) {
        rows_cut(&d->rows);
    }
    return code;
}

static int run_decode(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    int code = run_open_trained(parsed, &run);
    if (code == EXIT_OK) {
        decoding d = {.run = run,
                      .all_states = arguments_flag(parsed, "marginals"),
                      .states = phl_run_states(run)};
        d.what = arguments_flag(parsed, "pairs") ? PAIRS : MARGINALS;
        d.what = arguments_flag(parsed, "joint") ? JOINT : d.what;
        code = decode(&d, parsed);
        blocks_close(&d.blocks);
        free(d.columns);
        free(d.state_names);
    }
    phl_run_free(run);
    return code;
}

static const cli_option decode_rows[] = {
    OPTION_FLAG_ROW("marginals", "the probability of every state, one column each",
                    .excludes = "pairs joint"),
    OPTION_FLAG_ROW("pairs",
                    "the joint probability of a node's state and its parent's, one row each",
                    .excludes = "joint"),
    OPTION_FLAG_ROW("joint", "the states that are jointly most probable, with their "
                             "log-probability, instead of the most probable state of each node"),
    OPTION_DRAW_ROW,
    OPTION_BLOCK_ROW,
    OPTION_JSON_ROW("print a JSON array with an object for each row, numbers in full"),
};
static const option_group decode_options = {"States", decode_rows,
                                            sizeof decode_rows / sizeof *decode_rows};
static const option_group *const groups[] = {&decode_options, &reading_options, &reading_formats,
                                             &reading_caps,   &general_options, NULL};

static const example examples[] = {
    {"the most probable state of every node", "phloem decode trees.run test.trees"},
    {"the probabilities of all states", "phloem decode --marginals trees.run test.trees"},
    {"the jointly most probable states of the first tree",
     "phloem decode --joint --limit 1 trees.run test.trees"},
    {"trees without a class, by the model of one class",
     "phloem decode --class left classes.run new.trees"},
    {NULL, NULL}};

const cli_command command_decode = {
    .name = "decode",
    .summary = "find the hidden states of nodes",
    .description = "Prints one row per node, in pre-order: its number, the number of its "
                   "parent (-1 at the root), its slot, its label, its most probable "
                   "state, and the probability of that state given all labels of the "
                   "tree. Nodes and states are counted from 0, slots from 1.\n\n"
                   "If the run was trained with --per-class, each tree is decoded by the "
                   "model of its own class; trees without a class need --class. 'phloem "
                   "show' tells what a state stands for.\n\n" BLOCKS_IN_WORDS,
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_decode,
};
