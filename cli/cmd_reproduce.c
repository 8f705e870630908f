/* cmd_reproduce.c - phloem reproduce: the paper's experiments, with our figures beside the paper's.
 *
 * Contents: what to do, the tree of the pictures, doing it, the command.
 */
#include "commands.h"
#include "print/terminal.h"
#include "reproduce/reproduce.h"
#include "training.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what to do ---- */

/* A number of states as written; 0 after saying what is wrong. */
static uint32_t states_of(const cli_command *command, const char *text)
{
    unsigned long number = 0;
    char most[NUMBER_SIZE];
    if (strspn(text, "0123456789") == strlen(text) && strlen(text) < 10) {
        number = strtoul(text, NULL, 10);
    }
    if (number >= 1 && number <= PHL_MOST_STATES) {
        return (uint32_t)number;
    }
    usage_error(command,
                "option --states: found '%.100s', expected whole numbers from 1 to %s, separated "
                "by commas",
                text, number_grouped(PHL_MOST_STATES, most));
    return 0;
}

static int add_cell(reproduction *r, const char *model, const char *states)
{
    const cli_command *command = r->parsed->command;
    cell *c = &r->cells[r->n_cells];
    c->model = reproduce_settings_variant(model);
    if (!c->model) {
        return usage_error(command, "option --models: found '%.100s', expected some of %s", model,
                           variant_names);
    }
    c->states = states_of(command, states);
    if (c->states == 0) {
        return EXIT_USAGE;
    }
    for (const cell *other = r->cells; other < c; other++) {
        if (other->model == c->model && other->states == c->states) {
            return EXIT_OK; /* given twice */
        }
    }
    c->outcomes = terminal_allocate(r->runs, sizeof *c->outcomes);
    r->n_cells++;
    return EXIT_OK;
}

/* Models and states as given, else those of the paper's table. */
static int make_cells(reproduction *r)
{
    static const char *const usual_models[] = {"sp", "tf", "tf-1"};
    static const char *const ten_states[] = {"10"};
    static const char *const all_states[] = {"2", "4", "6", "8", "10"};
    size_t n_models = 0, n_states = 0;
    const char *const *models = arguments_list(r->parsed, "models", &n_models);
    const char *const *states = arguments_list(r->parsed, "states", &n_states);
    int code = EXIT_OK;
    if (!arguments_given(r->parsed, "models")) {
        models = usual_models;
        n_models = r->chains > 1 ? 3 : 2;
    }
    if (!arguments_given(r->parsed, "states")) {
        states = r->experiment->labelling ? ten_states : all_states;
        n_states = r->experiment->labelling ? 1 : 5;
    }
    r->cells = terminal_allocate(n_models * n_states, sizeof *r->cells);
    for (size_t s = 0; s < n_states && code == EXIT_OK; s++) {
        for (size_t m = 0; m < n_models && code == EXIT_OK; m++) {
            code = add_cell(r, models[m], states[s]);
        }
    }
    return code;
}

static int read_options(reproduction *r, const char *name)
{
    r->experiment = reproduce_settings_experiment(name);
    if (!r->experiment) {
        return usage_error(r->parsed->command,
                           "unknown experiment '%.100s', expected labelling, inex05 or inex06",
                           name);
    }
    r->paper = paper_find(name);
    r->folder = arguments_path(r->parsed, "output");
    r->runs = (size_t)arguments_integer(r->parsed, "runs");
    r->iterations = (size_t)arguments_integer(r->parsed, "iterations");
    r->chains = strcmp(name, "inex06") == 0 ? 4 : 1;
    if (arguments_given(r->parsed, "chains")) {
        r->chains = (size_t)arguments_integer(r->parsed, "chains");
    }
    int code = arguments_seed(r->parsed, &r->seed);
    return code == EXIT_OK ? make_cells(r) : code;
}

/* ---- the tree of the pictures ---- */

enum { PICTURE_NODES = 40 }; /* about so many can be read on a page */

/* Nodes of a tree, and distinct labels among them; seen has room for every label. */
static int look_at(phl_walk *walk, size_t tree, size_t n_labels, bool *seen, size_t *nodes,
                   size_t *labels)
{
    phl_visit visit;
    phl_error error = {0};
    int more;
    *nodes = *labels = 0;
    memset(seen, 0, n_labels * sizeof *seen);
    phl_walk_start(walk, tree);
    while ((more = phl_walk_next(walk, &visit, &error)) > 0) {
        ++*nodes;
        if (visit.label >= 0 && !seen[visit.label]) {
            seen[visit.label] = true;
            ++*labels;
        }
    }
    return more == 0 ? EXIT_OK : terminal_error(&error);
}

/* Of the trees with most different labels, the one of nearest to forty nodes. */
static int choose_picture(reproduction *r)
{
    const phl_forest *forest = r->test.forest;
    size_t n_labels = phl_forest_labels(forest), most = 0, nearest = SIZE_MAX;
    bool *seen = terminal_allocate(n_labels + 1, sizeof *seen);
    phl_walk *walk = NULL;
    phl_error error = {0};
    int code = phl_walk_create(forest, &walk, &error) == PHL_OK ? EXIT_OK : terminal_error(&error);
    for (size_t t = 0; t < phl_forest_trees(forest) && code == EXIT_OK; t++) {
        size_t nodes, labels;
        code = look_at(walk, t, n_labels, seen, &nodes, &labels);
        size_t away = nodes > PICTURE_NODES ? nodes - PICTURE_NODES : PICTURE_NODES - nodes;
        if (labels > most || (labels == most && away < nearest)) {
            most = labels;
            nearest = away;
            r->picture = t;
        }
    }
    phl_walk_free(walk);
    free(seen);
    return code;
}

/* ---- doing it ---- */

static void describe(const reproduction *r)
{
    char train[80], test[80], runs[80];
    number_of(phl_forest_trees(r->train.forest), "tree", "trees", train, sizeof train);
    number_of(phl_forest_trees(r->test.forest), "tree", "trees", test, sizeof test);
    number_of(r->n_cells * r->runs, "run", "runs", runs, sizeof runs);
    terminal_message("%s: %s to train on, %s to test with%s; %s into %s, seeds from %" PRIu64,
                     r->experiment->name, train, test, r->generated ? ", generated" : "", runs,
                     r->folder, r->seed);
}

static int run_all(reproduction *r)
{
    int code = EXIT_OK;
    for (size_t i = 0; i < r->n_cells && code == EXIT_OK; i++) {
        for (size_t run = 0; run < r->runs && code == EXIT_OK; run++) {
            code = reproduce_run_make(r, &r->cells[i], run);
        }
        if (code == EXIT_OK) {
            reproduce_run_finish(r, &r->cells[i]);
        }
    }
    return code;
}

static int write_all(const reproduction *r)
{
    int code = reproduce_json_write(r);
    code = code == EXIT_OK ? reproduce_table_write(r) : code;
    code = code == EXIT_OK ? reproduce_pictures_write(r) : code;
    code = code == EXIT_OK ? reproduce_report_write(r) : code;
    if (code == EXIT_OK) {
        reproduce_table_print(r);
        fflush(stdout); /* the message comes after the tables where both go to one file */
        if (!r->line.quiet) {
            terminal_message("written to %s: report.html, results.json, table.md, pictures, "
                             "predictions, runs",
                             r->folder);
        }
    }
    return code;
}

static void outcome_clear(outcome *o)
{
    free(o->file);
    free(o->predictions);
    free(o->command);
    free(o->config);
    free(o->version);
    free(o->fingerprint);
    phl_evaluation_free(o->evaluation);
    for (size_t u = 0; o->drawn && o->drawn[u]; u++) {
        free(o->drawn[u]);
    }
    free(o->drawn);
}

static void reproduction_clear(reproduction *r)
{
    for (size_t i = 0; i < r->n_cells; i++) {
        for (size_t run = 0; run < r->runs; run++) {
            outcome_clear(&r->cells[i].outcomes[run]);
        }
        free(r->cells[i].outcomes);
    }
    free(r->cells);
    free(r->train.path);
    free(r->test.path);
    phl_forest_free(r->train.forest);
    phl_forest_free(r->test.forest);
}

static int run_reproduce(const cli_arguments *parsed)
{
    reproduction r = {.parsed = parsed};
    int code = read_options(&r, parsed->operands[0]);
    progress_begin(&r.line, arguments_flag(parsed, "quiet"));
    if (code == EXIT_OK && (r.experiment->labelling || arguments_given(parsed, "data"))) {
        code = reproduce_files_make(r.folder);
    }
    code = code == EXIT_OK ? reproduce_files_read(&r) : code;
    if (code == EXIT_OK && r.experiment->labelling) {
        code = choose_picture(&r);
    }
    if (code == EXIT_OK && !r.line.quiet) {
        describe(&r);
    }
    code = code == EXIT_OK ? run_all(&r) : code;
    progress_end(&r.line);
    code = code == EXIT_OK ? write_all(&r) : code;
    reproduction_clear(&r);
    return code;
}

/* ---- the command ---- */

static const cli_option reproduce_rows[] = {
    OPTION_OUTPUT_ROW("output", "DIR",
                      "folder for results, created if necessary; runs that are already there "
                      "are not trained again",
                      .letter = 'o', .required = true),
    OPTION_PATH_ROW("data", "DIR",
                    "folder with symm/, inex05/ and inex06/, each with a training and a "
                    "test file",
                    .letter = 'd', .fallback_note = "labelling: generated trees"),
    OPTION_INTEGER_ROW("runs", "N", 1, 10000,
                       "runs of each model and number of states, with consecutive seeds",
                       .letter = 'n', .fallback = "5"),
    OPTION_LIST_ROW("states", "C,C,...", "numbers of hidden states", .letter = 'C',
                    .fallback_note = "2,4,6,8,10; labelling: 10"),
    OPTION_LIST_ROW("models", "MODEL,...",
                    "sp; tf; tf-1: tf with one chain; tf-seed: tf by the paper's own sampler; td",
                    .letter = 'm', .fallback_note = "sp,tf; with several chains also tf-1"),
    OPTION_INTEGER_ROW("chains", "N", 1, 10000, "chains of tf, whose predictions are averaged",
                       .fallback_note = "1; inex06: 4"),
    OPTION_INTEGER_ROW("iterations", "N", 2, 1000000000, "iterations of every training",
                       .letter = 'i', .fallback = "100"),
    OPTION_SEED_ROW,
};
static const option_group reproduce_options = {"Experiment", reproduce_rows,
                                               sizeof reproduce_rows / sizeof *reproduce_rows};
static const option_group *const groups[] = {&reproduce_options, &general_options, NULL};

static const example examples[] = {
    {"the labelling table, on generated trees", "phloem reproduce labelling -o labelling"},
    {"the same with the paper's own trees", "phloem reproduce labelling --data data -o labelling"},
    {"a first look at INEX 2005",
     "phloem reproduce inex05 --data data --runs 1 --states 2 -o inex05"},
    {"the paper's own sampler beside ours",
     "phloem reproduce labelling --models tf,tf-seed -o samplers"},
    {NULL, NULL}};

const cli_command command_reproduce = {
    .name = "reproduce",
    .summary = "repeat the paper's experiments and compare the figures",
    .description = "Repeats an experiment of the paper (Castellana and Bacciu, IJCNN "
                   "2019): 'labelling' removes the labels of the test trees and generates "
                   "them again; 'inex05' and 'inex06' classify documents. Prints the "
                   "paper's table with ours beside it and the best run's confusion "
                   "matrix. The output folder gets a page that shows the best run of each "
                   "model (report.html), every figure (results.json), the tables "
                   "(table.md), predictions, run files, and pictures (SVG).\n\n"
                   "The settings are the paper's: 100 iterations, from 1 to 5 active "
                   "slots (labelling: 3), equally probable classes, labels drawn at "
                   "random. Figures for other settings are given as well: most probable "
                   "labels; class priors as in training; likelihoods without the shape of "
                   "the tree.\n\n"
                   "After an interruption, or when called again with more runs, models or "
                   "states, it trains only what is missing. The same seed gives the same "
                   "figures on any number of threads.",
    .operands = "EXPERIMENT",
    .operand_help = "labelling, inex05 or inex06",
    .operand_choices = "labelling|inex05|inex06",
    .least_operands = 1,
    .most_operands = 1,
    .groups = groups,
    .examples = examples,
    .run = run_reproduce,
};
