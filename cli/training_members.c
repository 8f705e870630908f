/* training_members.c - phloem train --members: an expert on neighbourhoods, alone or beside a
 * model; see training.h.
 */
#include "forests.h"
#include "interrupt.h"
#include "print/terminal.h"
#include "runs.h"
#include "training.h"

#include <stdlib.h>
#include <string.h>

int training_members_read(const cli_arguments *parsed, training_members *members)
{
    const char *text = arguments_string(parsed, "members");
    *members = (training_members){.kind = PHL_NO_KIND};
    while (text && *text) {
        size_t length = strcspn(text, ",");
        char name[16] = "";
        if (length < sizeof name) {
            memcpy(name, text, length);
        }
        phl_kind kind = phl_kind_find(name);
        bool expert = strcmp(name, "expert") == 0;
        if (!expert && (kind == 0 || kind == PHL_NO_KIND)) {
            return usage_error(parsed->command,
                               "option --members: found '%.100s', expected one of tf, sp, full, "
                               "td and grammar, and expert, separated by a comma",
                               text);
        }
        if (expert ? members->expert : members->kind != PHL_NO_KIND) {
            return usage_error(parsed->command,
                               expert ? "option --members: 'expert' is there twice"
                                      : "option --members: one model can stand beside the expert");
        }
        members->expert = members->expert || expert;
        members->kind = expert ? members->kind : kind;
        text += length + (text[length] == ',');
    }
    return EXIT_OK;
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
    number_of(summary.neighbourhoods, "distinct neighbourhood", "distinct neighbourhoods", distinct,
              sizeof distinct);
    terminal_message("expert: %s", distinct);
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

int training_members_add(const cli_arguments *parsed, const phl_forest *forest, phl_run *run)
{
    const char *path = arguments_path(parsed, "output");
    phl_expert_options options;
    phl_error error = {0};
    prepare(parsed, &options);
    int code = arguments_seed(parsed, &options.seed);
    if (code != EXIT_OK) {
        return code;
    }
    phl_status status = phl_run_add_expert(run, forest, &options, &error);
    if (status == PHL_OK) {
        status = phl_run_save_expert(run, path, &error);
    }
    if (status == PHL_ERR_CANCELLED) {
        terminal_message("interrupted; %s holds the model alone, without the expert", path);
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
