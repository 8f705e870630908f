/* cmd_evaluate.c - phloem evaluate: cross-validation, and the choice of the number of states.
 *
 * Contents: what to do, the table, JSON, the command.
 */
#include "commands.h"
#include "forests.h"
#include "interrupt.h"
#include "print/evaluations.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "runs.h"
#include "training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct validation {
    progress_line line; /* first: what callbacks report to */
    const cli_arguments *parsed;
    const phl_forest *forest;
    phl_evaluate_options options;
    uint32_t *states;
    uint32_t *fold; /* NULL: dealt at random */
    bool per_class;
} validation;

/* ---- what to do ---- */

/* --states 2,4,8 */
static int states_of(validation *v)
{
    size_t n = 0;
    if (!arguments_given(v->parsed, "states")) {
        return EXIT_OK;
    }
    const char *const *items = arguments_list(v->parsed, "states", &n);
    v->states = terminal_allocate(n, sizeof *v->states);
    for (size_t i = 0; i < n; i++) {
        unsigned long number = 0;
        if (strspn(items[i], "0123456789") == strlen(items[i]) && strlen(items[i]) < 10) {
            number = strtoul(items[i], NULL, 10);
        }
        if (number < 1 || number > PHL_MOST_STATES) {
            char most[NUMBER_SIZE];
            return usage_error(v->parsed->command,
                               "option --states: found '%.100s', expected whole numbers from 1 to "
                               "%s, separated by commas",
                               items[i], number_grouped(PHL_MOST_STATES, most));
        }
        v->states[i] = (uint32_t)number;
    }
    v->options.states = v->states;
    v->options.n_states = n;
    return EXIT_OK;
}

/* Trees with classes are classified, trees without are scored. */
static int choose_task(validation *v)
{
    size_t n = phl_forest_trees(v->forest), with = 0, without = 0;
    char source[SOURCE_SIZE];
    for (size_t t = 0; t < n; t++) {
        if (phl_tree_class(v->forest, t) != PHL_NO_CLASS) {
            with++;
        } else if (without++ == 0) {
            forest_tree_source(v->forest, t, source);
        }
    }
    if (with && without) {
        terminal_message("%s: the tree has no class, others have; give all trees a class, or "
                         "compare by likelihood with --no-class",
                         source);
        return EXIT_DATA;
    }
    v->per_class = with > 0;
    return EXIT_OK;
}

static int read_folds(validation *v)
{
    v->options.n_folds = (size_t)arguments_integer(v->parsed, "folds");
    int code = training_read_folds(v->parsed, v->forest, &v->fold, &v->options.n_folds);
    v->options.fold = v->fold;
    return code;
}

static void describe(const validation *v, const training *how)
{
    char means[120];
    training_describe_forest(v->forest);
    training_describe_means(how, means, sizeof means);
    terminal_message("model %s, %zu folds, by %s; %s", phl_kind_name(how->options.kind),
                     v->options.n_folds,
                     v->per_class ? "class" : "held-out likelihood (no classes)", means);
}

/* ---- the table ---- */

static void mean_and_sd(double scale, int decimals, double mean, double sd, char *text)
{
    if (isnan(mean)) {
        snprintf(text, TABLE_CELL, "-");
    } else {
        snprintf(text, TABLE_CELL, "%.*f (%.*f)", decimals, scale * mean, decimals, scale * sd);
    }
}

static void print_table(const phl_cross_validation *result)
{
    text_table table;
    char states[NUMBER_SIZE], accuracy[TABLE_CELL], entropy[TABLE_CELL], loss[TABLE_CELL];
    char likelihood[TABLE_CELL];
    char folds[80];
    number_of(result->n_folds, "fold", "folds", folds, sizeof folds);
    printf("mean (standard deviation) over %s\n", folds);
    table_begin(&table, result->per_class ? 5 : 2);
    table_row(&table, result->per_class
                          ? (const char *const[]){"states", "accuracy %", "entropy bits",
                                                  "log-loss nats", "log-likelihood / node"}
                          : (const char *const[]){"states", "log-likelihood / node"});
    for (size_t i = 0; i < result->n_choices; i++) {
        const phl_choice_result *c = &result->choices[i];
        number_grouped(c->states, states);
        mean_and_sd(100, 2, c->accuracy_mean, c->accuracy_sd, accuracy);
        mean_and_sd(1, 4, c->entropy_mean, c->entropy_sd, entropy);
        mean_and_sd(1, 4, c->log_loss_mean, c->log_loss_sd, loss);
        mean_and_sd(1, 4, c->log_likelihood_mean, c->log_likelihood_sd, likelihood);
        table_row(&table, result->per_class
                              ? (const char *const[]){states, accuracy, entropy, loss, likelihood}
                              : (const char *const[]){states, likelihood});
    }
    table_end(&table, stdout, 2);
    const phl_evaluation *pooled = result->choices[result->winner].pooled;
    if (pooled && pooled->n) {
        printf("%s, all folds together: accuracy %.2f %% (%.2f to %.2f at 95 %%), largest class "
               "%.2f %%,\nbalanced accuracy %.2f %%, log-loss %.4f nats, calibration error %.4f\n",
               result->n_choices > 1 ? "the best" : "this model", 100 * pooled->best->accuracy,
               100 * pooled->accuracy_low, 100 * pooled->accuracy_high, 100 * pooled->largest_share,
               100 * pooled->balanced_accuracy, pooled->log_loss, pooled->calibration_error);
    }
    if (result->n_choices > 1) {
        uint32_t winner = result->choices[result->winner].states;
        printf("best: %s %s\n", number_grouped(winner, states), winner == 1 ? "state" : "states");
    }
}

/* ---- JSON ---- */

static void choice_json(json_writer *json, const phl_cross_validation *result,
                        const phl_choice_result *c)
{
    json_out_open(json, '{', false);
    json_out_count(json, "states", c->states);
    if (result->per_class) {
        json_out_spread(json, "accuracy", c->accuracy_mean, c->accuracy_sd);
        json_out_spread(json, "entropy_bits", c->entropy_mean, c->entropy_sd);
        json_out_spread(json, "log_loss", c->log_loss_mean, c->log_loss_sd);
        json_out_number(json, "largest_share", c->pooled->largest_share);
        json_out_number(json, "balanced_accuracy", c->pooled->balanced_accuracy);
        json_out_number(json, "calibration_error", c->pooled->calibration_error);
    }
    json_out_spread(json, "log_likelihood_per_node", c->log_likelihood_mean, c->log_likelihood_sd);
    json_out_key(json, "folds");
    json_out_open(json, '[', false);
    for (size_t f = 0; f < result->n_folds; f++) {
        const phl_fold_result *fold = &c->folds[f];
        json_out_open(json, '{', true);
        json_out_count(json, "trees", fold->trees);
        json_out_count(json, "nodes", fold->nodes);
        if (result->per_class) {
            json_out_number(json, "accuracy", fold->accuracy);
            json_out_number(json, "entropy_bits", fold->entropy_bits);
            json_out_number(json, "log_loss", fold->log_loss);
        }
        json_out_number(json, "log_likelihood_per_node", fold->log_likelihood_per_node);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

static void print_json(const phl_cross_validation *result)
{
    json_writer json;
    json_out_begin(&json, stdout);
    json_out_open(&json, '{', false);
    json_out_count(&json, "folds", result->n_folds);
    json_out_text(&json, "task", result->per_class ? "classify" : "likelihood");
    json_out_key(&json, "choices");
    json_out_open(&json, '[', false);
    for (size_t i = 0; i < result->n_choices; i++) {
        choice_json(&json, result, &result->choices[i]);
    }
    json_out_close(&json, ']');
    json_out_count(&json, "winner", result->choices[result->winner].states);
    json_out_close(&json, '}');
}

/* ---- the command ---- */

static int validate(validation *v, training *how)
{
    phl_cross_validation *result = NULL;
    phl_error error = {0};
    progress_begin(&v->line, arguments_flag(v->parsed, "quiet"));
    v->line.chains = training_samples(how);
    how->options.per_class = v->per_class;
    v->options.train = &how->options;
    phl_status status = phl_cross_validate(v->forest, &v->options, &result, &error);
    progress_end(&v->line);
    if (status != PHL_OK) {
        return usage_report(v->parsed->command, &error);
    }
    if (arguments_flag(v->parsed, "json")) {
        print_json(result);
    } else {
        print_table(result);
    }
    phl_cross_validation_free(result);
    return EXIT_OK;
}

static int run_evaluate(const cli_arguments *parsed)
{
    validation v = {.parsed = parsed};
    training how = {0};
    phl_forest *forest = NULL;
    phl_evaluate_options_init(&v.options);
    int code = training_begin(parsed, &v, PHL_NO_KIND, &how);
    if (code == EXIT_OK) {
        v.options.structure = run_structure(parsed);
        v.options.prior = run_class_prior(parsed);
        v.options.progress = progress_evaluate;
        v.options.report = progress_report;
        v.options.cancel = interrupt_asked;
        v.options.context = &v;
        code = states_of(&v);
    }
    if (code == EXIT_OK) {
        code = forest_read(parsed, &forest, NULL);
        v.forest = forest;
    }
    if (code == EXIT_OK) {
        code = choose_task(&v);
    }
    if (code == EXIT_OK) {
        code = read_folds(&v);
    }
    if (code == EXIT_OK) {
        if (!arguments_flag(parsed, "quiet")) {
            describe(&v, &how);
        }
        code = validate(&v, &how);
    }
    training_clear(&how);
    free(v.states);
    free(v.fold);
    phl_forest_free(forest);
    return code;
}

static const cli_option evaluate_rows[] = {
    {.name = "folds",
     .letter = 'k',
     .type = OPTION_INTEGER,
     .argument = "K",
     .least = 2,
     .most = 1000000,
     .fallback = "10",
     .excludes = "folds-file",
     .help = "divide the trees at random into K folds with nearly the same mix of "
             "classes"},
    {.name = "folds-file",
     .type = OPTION_PATH,
     .argument = "FILE",
     .help = "test folds, one per line: the numbers of its trees, counted from 1"},
    {.name = "states",
     .letter = 'C',
     .type = OPTION_LIST,
     .argument = "C,C,...",
     .fallback_note = "20 for tf, grammar 16, others 10",
     .help = "numbers of hidden states to choose from; grammar: of annotations"},
    OPTION_STRUCTURE_ROW("slots"),
    OPTION_CLASS_PRIOR_ROW,
    OPTION_JSON_ROW("print one JSON object, with every fold"),
};
static const option_group evaluate_options = {"Evaluation", evaluate_rows,
                                              sizeof evaluate_rows / sizeof *evaluate_rows};
static const option_group *const groups[] = {
    &evaluate_options, &training_options, &gibbs_options,   &reading_options,
    &reading_formats,  &reading_caps,     &general_options, NULL};

static const example examples[] = {
    {"how many states classify best?", "phloem evaluate --states 2,4,8 train.trees"},
    {"five folds, the better of two starts",
     "phloem evaluate --folds 5 --restarts 2 --states 4,8 train.trees"},
    {"folds given in a file", "phloem evaluate --folds-file folds.txt --states 8 glycans.trees"},
    {"without classes: which number of states fits unseen trees best?",
     "phloem evaluate --no-class --states 2,4,8,16 train.trees"},
    {NULL, NULL}};

const cli_command command_evaluate = {
    .name = "evaluate",
    .summary = "cross-validate, and choose the number of states",
    .description = "Trains on all folds but one and tests on that one, for each fold and "
                   "each number of states. If the trees have classes, one model per class "
                   "is trained and the test trees are classified; the best number of "
                   "states has the highest mean accuracy. Without classes (or with "
                   "--no-class) one model is trained, and the best number has the highest "
                   "mean log-likelihood of the test trees.\n\n"
                   "All trees are kept in memory, since each is used in training for all "
                   "folds but one.",
    .operands = "IN...",
    .operand_help = "files, folders (every file below with a known ending), or '-' for standard "
                    "input",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_evaluate,
};
