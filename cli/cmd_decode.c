/* cmd_decode.c - phloem decode: the hidden states of nodes.
 *
 * Contents: one tree, all trees, the command.
 */
#include "commands.h"
#include "forests.h"
#include "rows.h"
#include "runs.h"

#include <math.h>
#include <stdlib.h>

typedef enum what_to_print { MARGINALS, PAIRS, JOINT } what_to_print;

typedef struct decoding {
    const phl_run *run;
    const phl_forest *forest;
    const size_t *model_of; /* [trees] */
    size_t *draw_of;        /* [models] */
    phl_session **sessions; /* [models], made when needed */
    int threads;
    what_to_print what;
    bool all_states; /* a column for each state */
    uint32_t states;
    phl_walk *walk;
    /* Of one tree. */
    size_t capacity;
    double *values;   /* [n][C], or [n][C][C] for pairs */
    uint32_t *joint;  /* [n] */
    double log_joint; /* of the joint assignment */
    bool possible;
    size_t impossible; /* trees so far */
    row_writer rows;
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

/* Room for a tree's values; *n is its number of nodes. */
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

static phl_status infer(decoding *d, size_t tree, phl_error *error)
{
    size_t model = d->model_of[tree], draw = d->draw_of[model];
    phl_status status = PHL_OK;
    d->possible = false;
    if (!d->sessions[model]) {
        status = phl_session_create(phl_run_model(d->run, model), d->forest, d->threads,
                                    &d->sessions[model], error);
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
            rows_count(&d->rows, tree);
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
    rows_count(&d->rows, tree);
    rows_text(&d->rows, source);
    rows_count(&d->rows, visit->node);
    rows_integer(&d->rows, visit->parent == SIZE_MAX ? -1 : (int64_t)visit->parent);
    rows_count(&d->rows, visit->slot);
    rows_label(&d->rows, forest_label(d->forest, visit->label));
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

static phl_status decode_tree(decoding *d, size_t tree, phl_error *error)
{
    char source[SOURCE_SIZE];
    phl_visit visit;
    int outcome;
    phl_status status = infer(d, tree, error);
    if (status != PHL_OK) {
        return status;
    }
    d->impossible += !d->possible;
    tree_source(d->forest, tree, source);
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

enum { FIXED_COLUMNS = 8, STATE_NAME = 24 };

static void begin_rows(const cli_arguments *parsed, decoding *d, const char **columns,
                       char (*names)[STATE_NAME])
{
    static const char *const of_nodes[FIXED_COLUMNS] = {"tree", "source", "node",  "parent",
                                                        "slot", "label",  "state", "probability"};
    static const char *const of_pairs[FIXED_COLUMNS] = {
        "tree", "source", "node", "parent", "slot", "parent_state", "state", "probability"};
    size_t n = FIXED_COLUMNS;
    for (size_t i = 0; i < FIXED_COLUMNS; i++) {
        columns[i] = d->what == PAIRS ? of_pairs[i] : of_nodes[i];
    }
    if (d->what == JOINT) {
        columns[FIXED_COLUMNS - 1] = "log_probability";
    }
    for (uint32_t q = 0; d->all_states && q < d->states; q++) {
        snprintf(names[q], STATE_NAME, "p(%u)", (unsigned)q);
        columns[n++] = names[q];
    }
    rows_begin(&d->rows, stdout, arguments_flag(parsed, "json"), columns, n);
}

static int decode_all(const cli_arguments *parsed, decoding *d)
{
    phl_error error = {0};
    char number[80];
    const char **columns = terminal_allocate(FIXED_COLUMNS + d->states, sizeof *columns);
    char(*names)[STATE_NAME] = terminal_allocate(d->states, sizeof *names);
    phl_status status = phl_walk_create(d->forest, &d->walk, &error);
    if (status == PHL_OK) {
        begin_rows(parsed, d, columns, names);
        for (size_t t = 0; t < phl_forest_trees(d->forest) && status == PHL_OK; t++) {
            status = decode_tree(d, t, &error);
        }
        rows_end(&d->rows);
    }
    if (d->impossible && !arguments_flag(parsed, "quiet")) {
        number_of(d->impossible, "tree has", "trees have", number, sizeof number);
        terminal_message("note: %s probability 0 under the model, and no states", number);
    }
    free(columns);
    free(names);
    return status == PHL_OK ? EXIT_OK : library_error(parsed->command, &error);
}

static int decode(const cli_arguments *parsed, const phl_run *run, const phl_forest *forest)
{
    size_t n_models = phl_run_classes(run);
    int code = EXIT_OK;
    decoding d = {.run = run,
                  .forest = forest,
                  .threads = threads_of(parsed),
                  .all_states = arguments_flag(parsed, "marginals"),
                  .states = phl_run_states(run)};
    d.what = arguments_flag(parsed, "pairs") ? PAIRS : MARGINALS;
    d.what = arguments_flag(parsed, "joint") ? JOINT : d.what;
    size_t *model_of = models_of_trees(parsed, run, forest, &code);
    d.model_of = model_of;
    d.draw_of = terminal_allocate(n_models, sizeof *d.draw_of);
    d.sessions = terminal_allocate(n_models, sizeof *d.sessions);
    for (size_t m = 0; m < n_models && code == EXIT_OK; m++) {
        choose_draw(parsed, phl_run_model(run, m), &d.draw_of[m], &code);
    }
    if (code == EXIT_OK) {
        code = decode_all(parsed, &d);
    }
    for (size_t m = 0; m < n_models; m++) {
        phl_session_free(d.sessions[m]);
    }
    phl_walk_free(d.walk);
    free(d.values);
    free(d.joint);
    free(d.sessions);
    free(d.draw_of);
    free(model_of);
    return code;
}

/* ---- the command ---- */

static int run_decode(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    phl_forest *forest = NULL;
    int code = run_and_forest(parsed, &run, &forest);
    if (code == EXIT_OK) {
        code = decode(parsed, run, forest);
    }
    phl_forest_free(forest);
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
        "trees without one need --class. What a state stands for is told by 'phloem show'.",
    .operands = RUN_AND_TREES,
    .operand_help = RUN_AND_TREES_HELP,
    .least_operands = 2,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_decode,
};
