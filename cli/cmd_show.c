/* cmd_show.c - phloem show: what a run is and what it learned.
 *
 * Contents: the run, its models, the command.
 */
#include "commands.h"
#include "print/show.h"
#include "print/terminal.h"
#include "runs.h"

#include <stdlib.h>
#include <string.h>

/* ---- the run ---- */

static const char *kind_in_words(const phl_run *run)
{
    switch (phl_run_kind(run)) {
    case PHL_SP:
        return "switching parent, bottom-up";
    case PHL_FULL:
        return "all joint states of the children, bottom-up";
    case PHL_TF:
        return "factorised, bottom-up";
    case PHL_TD:
        return "top-down";
    case PHL_NO_KIND:
        return phl_run_head(run) ? "a linear classifier alone" : "an expert alone";
    case PHL_GRAMMAR:
        return "tree grammar with latent annotations: labels and shape";
    }
    return "?";
}

/* The expert, if there is one. */
static void show_expert(const phl_run *run)
{
    phl_expert_summary expert;
    char neighbourhoods[NUMBER_SIZE], hidden[NUMBER_SIZE];
    phl_expert_summarise(run, &expert);
    for (size_t i = 0; i < phl_run_members(run); i++) {
        const phl_run *member = phl_run_member(run, i);
        printf("%sfurther model: %s, %u %s\n", i == 0 ? "\n" : "",
               phl_kind_name(phl_run_kind(member)), (unsigned)phl_run_states(member),
               phl_run_kind(member) == PHL_GRAMMAR ? "annotations at most" : "states");
    }
    if (expert.trees && expert.neighbourhoods == 0) {
        printf("\nthe models are pooled\n");
    }
    if (expert.trees) {
        if (expert.neighbourhoods) {
            printf("\nexpert: %s distinct neighbourhoods%s\n",
                   number_grouped(expert.neighbourhoods, neighbourhoods),
                   expert.models == 0   ? ""
                   : expert.models == 1 ? ", pooled with the model"
                                        : ", pooled with the models");
        }
        printf("  %s labels hidden in trees left out: %.2f %% right, log-loss %.4f nats\n",
               number_grouped(expert.hidden, hidden), 100 * expert.accuracy, expert.log_loss);
    }
}

/* How probabilities of classes are made, and what trees held out said of it. */
static void print_calibration(const phl_run *run)
{
    static const char *const rules[] = {"generative", "head", "both"};
    const char *temperature = phl_run_meta(run, "temperature"), *rule = phl_run_meta(run, "rule");
    const char *held = phl_run_meta(run, "held_out"), *prior = phl_run_meta(run, "class_prior");
    char text[200], name[80];
    if (temperature) {
        snprintf(text, sizeof text, "%.3g (of the models' class posteriors), class prior %s",
                 strtod(temperature, NULL), prior ? prior : "uniform");
        terminal_fact("temperature", text);
    }
    if (rule) {
        terminal_fact("rule", rule);
    }
    char *at = NULL;
    double trees = held ? strtod(held, &at) : 0;
    for (size_t i = 0; trees >= 1 && i < sizeof rules / sizeof *rules; i++) {
        double loss = strtod(at, &at), accuracy = strtod(at, &at);
        if (accuracy >= 0) {
            snprintf(name, sizeof name, "%.0f held out", trees);
            snprintf(text, sizeof text, "%-10s  %.2f %% right, log-loss %.4f nats", rules[i],
                     100 * accuracy, loss);
            terminal_fact(name, text);
        }
    }
}

static void print_run(const char *path, const phl_run *run)
{
    char text[600], number[NUMBER_SIZE], names[400];
    uint64_t trees = 0;
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        trees += phl_model_trees(phl_run_model(run, i));
    }
    terminal_fact("run", path);
    snprintf(text, sizeof text, "%s (%s)", phl_kind_name(phl_run_kind(run)), kind_in_words(run));
    terminal_fact("model", text);
    bool grammar = phl_run_kind(run) == PHL_GRAMMAR;
    if (phl_run_kind(run) != PHL_NO_KIND) {
        terminal_fact(grammar ? "annotations" : "states",
                      number_grouped(phl_run_states(run), number));
    }
    if (run_states_tried(run, text, sizeof text)) {
        terminal_fact("states tried", text);
    }
    if (grammar && phl_run_meta(run, "form")) {
        terminal_fact("starts used", phl_run_meta(run, "form"));
    }
    print_calibration(run);
    terminal_fact("slots", number_grouped(phl_run_slots(run), number));
    terminal_fact("labels", number_grouped(phl_run_labels(run), number));
    terminal_fact("trees", number_grouped(trees, number));
    if (phl_run_per_class(run)) {
        snprintf(text, sizeof text, "%s: %s", number_grouped(phl_run_classes(run), number),
                 run_class_names(run, names, sizeof names));
        terminal_fact("classes", text);
    }
    if (phl_run_meta(run, "piece")) {
        terminal_fact("piece", "of a training; 'phloem merge' puts the pieces together");
    }
    terminal_fact("fingerprint", phl_run_meta(run, "fingerprint"));
    terminal_fact("seed", phl_run_meta(run, "seed"));
    terminal_fact("command", phl_run_meta(run, "command"));
    terminal_fact("version", phl_run_meta(run, "version"));
}

/* ---- its models ---- */

static void print_heading(const phl_run *run, size_t index, size_t draw)
{
    const phl_model *model = phl_run_model(run, index);
    const char *name = phl_run_class_name(run, index);
    char trees[80], iterations[80], class_name[200] = "all trees";
    number_of(phl_model_trees(model), "tree", "trees", trees, sizeof trees);
    number_of(phl_model_iterations(model), "iteration", "iterations", iterations,
              sizeof iterations);
    if (name) {
        text_printable(name, 40, class_name, sizeof class_name);
    }
    printf("\n%s%s: %s, log-likelihood %.8g, %s, stopped by %s", name ? "class " : "", class_name,
           trees, phl_model_log_likelihood(model), iterations, run_stop_in_words(model));
    if (phl_model_draws(model) > 1) {
        printf(", draw %zu of %zu", draw, phl_model_draws(model));
    }
    putchar('\n');
}

/* Models first .. last - 1. */
static int print_models(const cli_arguments *parsed, const phl_run *run, size_t first, size_t last)
{
    size_t top = (size_t)arguments_integer(parsed, "top");
    int code = EXIT_OK;
    for (size_t i = first; i < last; i++) {
        const phl_model *model = phl_run_model(run, i);
        shown_draw shown;
        size_t draw = 0;
        if (phl_model_draws(model) == 0) {
            printf("\nclass ");
            text_put(stdout, phl_run_per_class(run) ? phl_run_class_name(run, i) : "");
            printf(": not trained; training was interrupted before\n");
            continue;
        }
        if (!run_choose_draw(parsed, model, &draw, &code)) {
            return code;
        }
        print_heading(run, i, draw);
        if (phl_run_kind(run) == PHL_GRAMMAR) {
            show_grammar(run, phl_model_draw(model, draw), top);
            continue;
        }
        code = show_model_sizes(run, model);
        if (code != EXIT_OK) {
            return code;
        }
        shown_begin(&shown, run, phl_model_draw(model, draw), top);
        show_model_slots(&shown);
        show_model_partition(&shown);
        show_model_states(&shown);
        shown_end(&shown);
    }
    return EXIT_OK;
}

/* ---- the command ---- */

static int show(const cli_arguments *parsed, const phl_run *run)
{
    const char *name = arguments_string(parsed, "class");
    size_t first = 0, last = phl_run_classes(run), draw;
    int code = EXIT_OK;
    if (name) {
        first = run_find_class(parsed, run, name, &code);
        if (first == SIZE_MAX) {
            return code;
        }
        last = first + 1;
    }
    for (size_t i = first; i < last; i++) {
        if (phl_model_draws(phl_run_model(run, i)) &&
            !run_choose_draw(parsed, phl_run_model(run, i), &draw, &code)) {
            return code;
        }
    }
    print_run(parsed->operands[0], run);
    if (phl_run_kind(run) != PHL_NO_KIND) {
        code = print_models(parsed, run, first, last);
    }
    show_expert(run);
    phl_error error = {0};
    if (code == EXIT_OK && phl_run_head(run) &&
        show_head(run, first, last, (size_t)arguments_integer(parsed, "top"), &error) != PHL_OK) {
        code = usage_report(parsed->command, &error);
    }
    return code;
}

static int show_json(const cli_arguments *parsed, const phl_run *run)
{
    phl_error error = {0};
    char *text = NULL;
    size_t size = 0;
    if (phl_run_json(run, &text, &size, &error) != PHL_OK) {
        return usage_report(parsed->command, &error);
    }
    fwrite(text, 1, size, stdout);
    phl_free(text);
    return EXIT_OK;
}

static int run_show(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    int code = run_open(parsed, &run);
    if (code == EXIT_OK) {
        code = arguments_flag(parsed, "json") ? show_json(parsed, run) : show(parsed, run);
    }
    phl_run_free(run);
    return code;
}

static const cli_option show_rows[] = {
    {.name = "class",
     .type = OPTION_STRING,
     .argument = "NAME",
     .excludes = "json",
     .fallback_note = "all",
     .help = "show the model of this class"},
    OPTION_DRAW_ROW,
    {.name = "top",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 1,
     .most = 1000000,
     .fallback = "5",
     .excludes = "json",
     .help = "print the N heaviest entries of each list"},
    OPTION_JSON_ROW("print every parameter as JSON, numbers in full"),
};
static const option_group show_options = {"Report", show_rows,
                                          sizeof show_rows / sizeof *show_rows};
static const option_group *const groups[] = {&show_options, &general_options, NULL};

static const example examples[] = {
    {"what was learned", "phloem show trees.run"},
    {"one class, more labels per state", "phloem show --class left --top 10 classes.run"},
    {"every parameter, for a script", "phloem show --json trees.run | jq '.classes[0].draws[0]'"},
    {NULL, NULL}};

const cli_command command_show = {
    .name = "show",
    .summary = "show what a run is and what it learned",
    .description = "Prints how a run was made and, for each of its models, how much each "
                   "slot matters and what each hidden state stands for: the labels it "
                   "emits, the slots whose leaves are in it, and what leads to it (td: "
                   "what it leads to).\n\n"
                   "A slot's weight is the share of nodes that take their state from it "
                   "(sp); its information is the number of bits it gives about a state "
                   "when all values are equally likely. 'empty' stands for an empty slot.\n\n"
                   "Of a linear head ('train --classifier') it prints what cross-validation "
                   "tried and chose, and for each class the features that speak most for it "
                   "against the mean of all classes, as small trees: < and > are the borders "
                   "of a row of children, ^ is above the root, _ a gap.",
    .operands = "RUN",
    .operand_help = "a file written by 'phloem train'",
    .least_operands = 1,
    .most_operands = 1,
    .groups = groups,
    .examples = examples,
    .run = run_show,
};
