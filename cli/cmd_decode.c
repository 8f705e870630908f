/* cmd_decode.c - phloem decode: the hidden states of nodes.
 *
 * Contents: one tree, all trees, the command.
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
    const cli_arguments *parsed;
    const phl_run *run;
    size_t n_models;
    size_t *draw_of; /* [models] */
    what_to_print what;
    bool all_states; /* a column for each state */
    uint32_t states;
    tree_blocks blocks;
    /* Of the block at hand. */
    phl_session **sessions; /* [models], made when needed */
    phl_walk *walk;
    /* Of one tree. */
    size_t capacity;
    double *values;   /* [n][C], or [n][C][C] for pairs */
    uint32_t *joint;  /* [n] */
    double log_joint; /* of the joint assignment */
    bool possible;
    size_t impossible; /* trees so far */
    row_writer rows;
    const char **columns; /* of the rows; NULL: none were begun */
    char (*state_names)[STATE_NAME];
} decoding;

/* ---- one tree ---- */

static size_t argmax(const double *values, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (values[i] > values[best]) {
            best = i;
        }
    }
    return best;
}

/* Room for a tree's values. */
static phl_status make_room(decoding *d, size_t tree, phl_error *error)
{
    phl_visit visit;
    size_t n = 0, width = d->states;
    int outcome;
    phl_walk_start(d->walk, tree);
    while ((outcome = phl_walk_next(d->walk, &visit, error)) > 0) {
        n++;
    }
    if (outcome < 0) {
        return (phl_status)outcome;
    }
    if (d->what == PAIRS) {
        width *= d->states;
    }
    if (n > d->capacity) {
        free(d->values);
        free(d->joint);
        d->capacity = n;
        d->values = terminal_allocate(n * width, sizeof *d->values);
        d->joint = terminal_allocate(n, sizeof *d->joint);
    }
    return PHL_OK;
}

static phl_status infer(decoding *d, size_t tree, size_t model, phl_error *error)
{
    size_t draw = d->draw_of[model];
    phl_status status = PHL_OK;
    d->possible = false;
    if (!d->sessions[model]) {
        status = phl_session_create(phl_run_model(d->run, model), d->blocks.forest,
                                    threads_of(d->parsed), &d->sessions[model], error);
    }
    if (status == PHL_OK) {
        status = make_room(d, tree, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_session *session = d->sessions[model];
    switch (d->what) {
    case JOINT:
        return phl_session_decode(session, draw, tree, d->joint, &d->log_joint, &d->possible,
                                  error);
    case PAIRS:
        return phl_session_pairs(session, draw, tree, d->values, &d->possible, error);
    case MARGINALS:
        break;
    }
    return phl_session_marginals(session, draw, tree, d->values, &d->possible, error);
}

/* p(parent's state, state) of one node, a row each. */
static void print_pairs(decoding *d, size_t tree, const char *source, const phl_visit *visit)
{
    const double *pairs = d->values + visit->node * d->states * d->states;
    if (visit->parent == SIZE_MAX || !d->possible) {
        return;
    }
    for (uint32_t i = 0; i < d->states; i++) {
        for (uint32_t q = 0; q < d->states; q++) {
            rows_count(&d->rows, d->blocks.first + tree);
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

static void print_node(decoding *d, size_t tree, const char *source, const phl_visit *visit)
{
    const double *p = d->values + visit->node * d->states;
    rows_count(&d->rows, d->blocks.first + tree);
    rows_text(&d->rows, source);
    rows_count(&d->rows, visit->node);
    rows_integer(&d->rows, visit->parent == SIZE_MAX ? -1 : (int64_t)visit->parent);
    rows_count(&d->rows, visit->slot);
    rows_label(&d->rows, forest_label(d->blocks.forest, visit->label));
    if (!d->possible) {
        rows_text(&d->rows, NULL);
        rows_text(&d->rows, NULL);
    } else if (d->what == JOINT) {
        rows_count(&d->rows, d->joint[visit->node]);
        rows_real(&d->rows, d->log_joint, DIGITS_LOG);
    } else {
        size_t best = argmax(p, d->states);
        rows_count(&d->rows, best);
        rows_real(&d->rows, p[best], DIGITS_PROBABILITY);
    }
    for (uint32_t q = 0; d->all_states && q < d->states; q++) {
        rows_real(&d->rows, d->possible ? p[q] : NAN, DIGITS_PROBABILITY);
    }
}

static phl_status decode_tree(decoding *d, size_t tree, size_t model, phl_error *error)
{
    char source[SOURCE_SIZE];
    phl_visit visit;
    int outcome;
    phl_status status = infer(d, tree, model, error);
    if (status != PHL_OK) {
        return status;
    }
    d->impossible += !d->possible;
    tree_source(d->blocks.forest, tree, source);
    phl_walk_start(d->walk, tree);
    while ((outcome = phl_walk_next(d->walk, &visit, error)) > 0) {
        if (d->what == PAIRS) {
            print_pairs(d, tree, source, &visit);
        } else {
            print_node(d, tree, source, &visit);
        }
    }
    return outcome < 0 ? (phl_status)outcome : PHL_OK;
}

/* ---- all trees ---- */

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
    rows_begin(&d->rows, stdout, arguments_flag(d->parsed, "json"), d->columns, n);
}

static int decode_block(decoding *d)
{
    const phl_forest *forest = d->blocks.forest;
    phl_error error = {0};
    int code = EXIT_OK;
    phl_status status = phl_walk_create(forest, &d->walk, &error);
    for (size_t t = 0; t < phl_forest_trees(forest) && status == PHL_OK && code == EXIT_OK; t++) {
        size_t model = model_of_tree(d->parsed, d->run, forest, t, &code);
        if (code == EXIT_OK) {
            begin_rows(d);
            status = decode_tree(d, t, model, &error);
        }
    }
    for (size_t m = 0; m < d->n_models; m++) {
        phl_session_free(d->sessions[m]);
        d->sessions[m] = NULL;
    }
    phl_walk_free(d->walk);
    d->walk = NULL;
    return status == PHL_OK ? code : library_error(d->parsed->command, &error);
}

static int decode(decoding *d)
{
    int code = blocks_open(&d->blocks, d->parsed, d->run);
    while (code == EXIT_OK && (code = blocks_next(&d->blocks)) == EXIT_OK && d->blocks.forest) {
        code = decode_block(d);
    }
    if (code == EXIT_OK) {
        begin_rows(d);
        rows_end(&d->rows);
    } else if (d->columns) {
        rows_cut(&d->rows);
    }
    if (d->impossible && !arguments_flag(d->parsed, "quiet")) {
        char number[80];
        number_of(d->impossible, "tree has", "trees have", number, sizeof number);
        terminal_message("note: %s probability 0 under the model, and no states", number);
    }
    blocks_close(&d->blocks);
    return code;
}

/* ---- the command ---- */

static int run_decode(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    int code = run_open_trained(parsed, &run);
    if (code == EXIT_OK) {
        decoding d = {.parsed = parsed,
                      .run = run,
                      .n_models = phl_run_classes(run),
                      .all_states = arguments_flag(parsed, "marginals"),
                      .states = phl_run_states(run)};
        d.what = arguments_flag(parsed, "pairs") ? PAIRS : MARGINALS;
        d.what = arguments_flag(parsed, "joint") ? JOINT : d.what;
        d.draw_of = terminal_allocate(d.n_models, sizeof *d.draw_of);
        d.sessions = terminal_allocate(d.n_models, sizeof *d.sessions);
        for (size_t m = 0; m < d.n_models && code == EXIT_OK; m++) {
            choose_draw(parsed, phl_run_model(run, m), &d.draw_of[m], &code);
        }
        code = code == EXIT_OK ? decode(&d) : code;
        free(d.values);
        free(d.joint);
        free(d.columns);
        free(d.state_names);
        free(d.sessions);
        free(d.draw_of);
    }
    phl_run_free(run);
    return code;
}

static const cli_option decode_rows[] = {
    {.name = "marginals",
     .type = OPTION_FLAG,
     .excludes = "pairs joint",
     .help = "the probability of every state, one column each"},
    {.name = "pairs",
     .type = OPTION_FLAG,
     .excludes = "joint",
     .help = "the joint probability of a node's state and its parent's, one row each"},
    {.name = "joint",
     .type = OPTION_FLAG,
     .help = "the states that are most probable together, with their log-probability, in place "
             "of those most probable one by one"},
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
    {"the states most probable together, of the first tree",
     "phloem decode --joint --limit 1 trees.run test.trees"},
    {"trees without class, by the model of one class",
     "phloem decode --class left classes.run new.trees"},
    {NULL, NULL}};

const cli_command command_decode = {
    .name = "decode",
    .summary = "find the hidden states of nodes",
    .description =
        "Prints a row for each node, in pre-order: its number, that of its parent (-1 at the "
        "root), its slot, label, most probable state and that state's probability given all "
        "labels of the tree. Nodes and states are counted from 0, slots from 1.\n\n"
        "With a run trained with --per-class each tree is decoded by the model of its own class; "
        "trees without one need --class. What a state stands for is told by 'phloem show'."
        "\n\n" BLOCKS_IN_WORDS,
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_decode,
};
