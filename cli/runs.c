/* runs.c - what the commands that use a run share; see runs.h.
 *
 * Contents: opening, options, names.
 */
#include "runs.h"
#include "print/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

int run_open(const cli_arguments *parsed, phl_run **run)
{
    phl_error error = {0};
    return phl_run_open(parsed->operands[0], run, &error) == PHL_OK
               ? EXIT_OK
               : usage_report(parsed->command, &error);
}

int run_check_trained(const cli_arguments *parsed, const phl_run *run)
{
    if (phl_run_kind(run) == PHL_NO_KIND) {
        return usage_error(parsed->command,
                           "%s holds %s alone, no model of trees; train one with 'phloem train'",
                           parsed->operands[0], phl_run_head(run) ? "a classifier" : "an expert");
    }
    if (phl_run_meta(run, "piece")) {
        return usage_error(parsed->command,
                           "%s is a piece of a training; put the pieces together with 'phloem "
                           "merge' first",
                           parsed->operands[0]);
    }
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        if (phl_model_draws(phl_run_model(run, i)) == 0) {
            terminal_message("%s: training was interrupted before the model%s%s had an iteration; "
                             "train again",
                             parsed->operands[0], phl_run_per_class(run) ? " of class " : "",
                             phl_run_per_class(run) ? phl_run_class_name(run, i) : "");
            return EXIT_DATA;
        }
    }
    return EXIT_OK;
}

int run_open_labeller(const cli_arguments *parsed, phl_run **run)
{
    phl_expert_summary expert;
    int code = run_open(parsed, run);
    if (code != EXIT_OK) {
        return code;
    }
    phl_expert_summarise(*run, &expert);
    return phl_run_kind(*run) == PHL_NO_KIND && expert.trees > 0 ? EXIT_OK
                                                                 : run_check_trained(parsed, *run);
}

int run_open_company(const cli_arguments *parsed, run_company *company)
{
    size_t n = 0;
    const char *const *paths = arguments_list(parsed, "with", &n);
    int code = EXIT_OK;
    *company = (run_company){.runs = n ? terminal_allocate(n, sizeof *company->runs) : NULL};
    for (size_t i = 0; code == EXIT_OK && i < n; i++) {
        phl_expert_summary expert;
        phl_error error = {0};
        phl_run *run = NULL;
        if (phl_run_open(paths[i], &run, &error) != PHL_OK) {
            return usage_report(parsed->command, &error);
        }
        company->runs[company->n++] = run;
        phl_expert_summarise(run, &expert);
        code = phl_run_kind(run) == PHL_NO_KIND && expert.trees > 0
                   ? EXIT_OK
                   : run_check_trained(parsed, run);
    }
    return code;
}

void run_close_company(run_company *company)
{
    for (size_t i = 0; i < company->n; i++) {
        phl_run_free(company->runs[i]);
    }
    free(company->runs);
    *company = (run_company){0};
}

int run_open_trained(const cli_arguments *parsed, phl_run **run)
{
    int code = run_open(parsed, run);
    return code == EXIT_OK ? run_check_trained(parsed, *run) : code;
}

/* ---- options ---- */

bool run_structure(const cli_arguments *parsed)
{
    return strcmp(arguments_choice(parsed, "structure"), "slots") == 0;
}

phl_class_prior run_class_prior(const cli_arguments *parsed)
{
    static const phl_class_prior priors[] = {PHL_PRIOR_UNIFORM, PHL_PRIOR_EMPIRICAL,
                                             PHL_PRIOR_LEARNED};
    return arguments_given(parsed, "class-prior")
               ? priors[arguments_choice_index(parsed, "class-prior")]
               : PHL_PRIOR_CHOSEN;
}

bool run_choose_draw(const cli_arguments *parsed, const phl_model *model, size_t *draw, int *code)
{
    size_t n = phl_model_draws(model);
    *draw = arguments_given(parsed, "draw") ? (size_t)arguments_integer(parsed, "draw")
                                            : phl_model_best_draw(model);
    if (*draw < n) {
        return true;
    }
    *code = usage_error(parsed->command, "option --draw: found '%zu', but the model has %zu %s%s",
                        *draw, n, n == 1 ? "draw" : "draws", n == 1 ? ", number 0" : "");
    return false;
}

static bool is_grammar(const phl_model *model)
{
    const phl_draw *draw = phl_model_draw(model, 0);
    phl_tensor rules;
    return draw && phl_tensor_find(draw, "rules", 0, &rules);
}

const char *run_stop_in_words(const phl_model *model)
{
    switch (phl_model_stop_reason(model)) {
    case PHL_STOP_TOLERANCE:
        return "a gain below --tolerance";
    case PHL_STOP_ITERATIONS:
        return is_grammar(model) ? "no gain on the trees held out" : "the limit of --iterations";
    case PHL_STOP_INTERRUPTED:
        return "an interruption";
    case PHL_STOP_ELSEWHERE:
        return "the end of this piece";
    }
    return "?";
}

/* ---- names ---- */

const char **run_columns(const char *const *fixed, size_t n_fixed, const phl_run *run,
                         const char *(*name)(const phl_run *, size_t), size_t n)
{
    const char **columns = terminal_allocate(n_fixed + n, sizeof *columns);
    memcpy(columns, fixed, n_fixed * sizeof *columns);
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(name(run, i)) + 4;
        char *column = terminal_allocate(size, 1);
        snprintf(column, size, "p(%s)", name(run, i));
        columns[n_fixed + i] = column;
    }
    return columns;
}

void run_columns_free(const char **columns, size_t n_fixed, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((char *)columns[n_fixed + i]);
    }
    free(columns);
}

char *run_class_names(const phl_run *run, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        char name[100];
        text_printable(phl_run_class_name(run, i), 20, name, sizeof name);
        if (used + strlen(name) + 8 > size) {
            snprintf(buffer + used, size - used, ", ...");
            break;
        }
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : "", name);
    }
    return buffer;
}

bool run_states_tried(const phl_run *run, char *buffer, size_t size)
{
    const char *at = phl_run_meta(run, "states_tried");
    char *end = NULL, trees[NUMBER_SIZE], states[NUMBER_SIZE];
    size_t used = 0;
    if (!at || !(strtod(at, &end) >= 1)) {
        return false;
    }
    number_grouped(strtoull(at, NULL, 10), trees);
    for (at = end; *at && used + 60 < size; at = end) {
        unsigned long long number = strtoull(at, &end, 10);
        const char *rest = end;
        double nats = strtod(rest, &end);
        if (end == rest) {
            return false;
        }
        used += (size_t)snprintf(buffer + used, size - used, "%s%s: %.4f", used ? ", " : "",
                                 number_grouped(number, states), nats);
    }
    snprintf(buffer + used, size - used, " nats a node of %s trees held out", trees);
    return used > 0;
}

size_t run_find_class(const cli_arguments *parsed, const phl_run *run, const char *name, int *code)
{
    char names[300];
    if (!phl_run_per_class(run)) {
        *code = usage_error(parsed->command,
                            "%s was not trained with --per-class: it has one model for all trees, "
                            "none for class '%s'",
                            parsed->operands[0], name);
        return SIZE_MAX;
    }
    size_t found = phl_run_find_class(run, name);
    if (found == SIZE_MAX) {
        *code = usage_error(parsed->command, "class '%s' was never trained; %s has %s", name,
                            parsed->operands[0], run_class_names(run, names, sizeof names));
    }
    return found;
}
