/* training_members.c - phloem train --members: further models and an expert on neighbourhoods; see
 * training.h.
 */
#include "forests.h"
#include "interrupt.h"
#include "print/terminal.h"
#include "runs.h"
#include "training.h"

#include <stdlib.h>
#include <string.h>

/* What a list of members says; false: *fault (its end) is where it says something else, and *why
 * names what is wrong with it, or is NULL. */
static bool parse(const char *text, training_members *members, const char **fault, const char **why)
{
    *members = (training_members){.text = text};
    *why = NULL;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        char name[16] = "";
        *fault = text;
        if (length < sizeof name) {
            memcpy(name, text, length);
        }
        phl_kind kind = phl_kind_find(name);
        bool expert = strcmp(name, "expert") == 0;
        if (!expert && (kind == 0 || kind == PHL_NO_KIND)) {
            return false;
        }
        if (expert ? members->expert : members->n == TRAINING_MOST_MEMBERS) {
            *why = expert ? "'expert' is there twice" : "there are more than six models";
            return false;
        }
        members->expert = members->expert || expert;
        if (!expert) {
            members->kinds[members->n++] = kind;
        }
        text += length + (text[length] == ',');
    }
    if (members->n == 1 && !members->expert) {
        *why = "a model alone has no members to be pooled with; use --model";
    }
    return *why == NULL;
}

int training_members_read(const cli_arguments *parsed, training_members *members)
{
    const char *fault = NULL, *why = NULL;
    if (parse(arguments_string(parsed, "members"), members, &fault, &why)) {
        return EXIT_OK;
    }
    return why ? usage_error(parsed->command, "option --members: %s", why)
               : usage_error(parsed->command,
                             "option --members: found '%.100s', expected some of tf, sp, full, td "
                             "and grammar, and expert, separated by commas",
                             fault);
}

uint32_t training_members_states(phl_kind kind, const training_members *members)
{
    bool pooled = members->n + members->expert > 1;
    return kind == PHL_GRAMMAR ? 16 : kind == PHL_TF ? 20 : pooled && kind == PHL_TD ? 40 : 10;
}

bool training_members_missing(const phl_run *run)
{
    phl_expert_summary summary;
    phl_expert_summarise(run, &summary);
    return phl_run_meta(run, "members") && summary.trees == 0;
}

static void prepare(const cli_arguments *parsed, phl_expert_options *options)
{
    phl_expert_options_init(options);
    options->threads = arguments_threads(parsed);
    options->cancel = interrupt_asked;
}

static void tell(const phl_run *run)
{
    phl_expert_summary summary;
    char distinct[80], hidden[NUMBER_SIZE];
    phl_expert_summarise(run, &summary);
    if (summary.neighbourhoods) {
        number_of(summary.neighbourhoods, "distinct neighbourhood", "distinct neighbourhoods",
                  distinct, sizeof distinct);
        terminal_message("expert: %s", distinct);
    }
    if (summary.hidden) {
        terminal_message("%s labels hidden in trees left out, 5 to 90 %% of them: %.2f %% right, "
                         "log-loss %.4f nats",
                         number_grouped(summary.hidden, hidden), 100 * summary.accuracy,
                         summary.log_loss);
    }
}

int training_members_expert(const cli_arguments *parsed, const phl_forest *forest)
{
    const char *path = arguments_path(parsed, "output");
    phl_expert_options options;
    phl_run *run = NULL;
    phl_error error = {0};
    prepare(parsed, &options);
    int code = arguments_seed(parsed, &options.seed);
    char *line = arguments_line(parsed);
    options.command_line = line;
    if (code == EXIT_OK) {
        if (!arguments_flag(parsed, "quiet")) {
            training_describe_forest(forest);
        }
        interrupt_poll(true);
        phl_status status = phl_train_expert(forest, &options, &run, &error);
        if (status == PHL_OK) {
            status = phl_run_save(run, path, arguments_flag(parsed, "force"), &error);
        }
        interrupt_poll(false);
        if (status != PHL_OK) {
            code = usage_report(parsed->command, &error);
        } else if (!arguments_flag(parsed, "quiet")) {
            tell(run);
            terminal_message("run written to %s", path);
        }
    }
    phl_run_free(run);
    free(line);
    return code;
}

/* The models of a run's list after the first, one after the other. */
static phl_status add_models(const phl_expert_options *how, const training_members *members,
                             const phl_forest *forest, phl_run *run, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 1 + phl_run_members(run); status == PHL_OK && i < members->n; i++) {
        phl_train_options options;
        phl_train_options_init(&options);
        options.kind = members->kinds[i];
        options.states = training_members_states(options.kind, members);
        options.seed = how->seed + i;
        options.threads = how->threads;
        options.cancel = how->cancel;
        status = phl_run_add_member(run, forest, &options, error);
    }
    return status;
}

int training_members_add(const cli_arguments *parsed, const phl_forest *forest, const char *path,
                         phl_run *run)
{
    phl_expert_options options;
    training_members members;
    const char *fault = NULL, *why = NULL;
    phl_error error = {0};
    if (!parse(phl_run_meta(run, "members"), &members, &fault, &why) || members.n == 0) {
        terminal_message("%s: the run is damaged: its list of members makes no sense", path);
        return EXIT_DATA;
    }
    prepare(parsed, &options);
    options.seed = phl_run_options(run)->seed;
    options.models_only = !members.expert;
    phl_status status = add_models(&options, &members, forest, run, &error);
    if (status == PHL_OK) {
        status = phl_run_add_expert(run, forest, &options, &error);
    }
    if (status == PHL_OK) {
        status = phl_run_save_members(run, path, &error);
    }
    if (status == PHL_ERR_CANCELLED) {
        terminal_message("interrupted; %s holds the first model alone, 'phloem resume' adds the "
                         "other members",
                         path);
        return EXIT_INTERRUPTED;
    }
    if (status != PHL_OK) {
        return usage_report(parsed->command, &error);
    }
    if (!arguments_flag(parsed, "quiet")) {
        tell(run);
    }
    return EXIT_OK;
}
