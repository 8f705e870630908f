/* training_classifier.c - phloem train --classifier: a linear classifier alone; see training.h. */
#include "forests.h"
#include "interrupt.h"
#include "print/terminal.h"
#include "training.h"

#include <math.h>
#include <stdlib.h>

static void tell(const phl_run *run, const char *path)
{
    phl_head_summary summary;
    char features[80], trees[80], distinct[NUMBER_SIZE];
    phl_head_summarise(phl_run_head(run), &summary);
    number_of(summary.n_features, "feature", "features", features, sizeof features);
    number_of(summary.trees, "tree", "trees", trees, sizeof trees);
    terminal_message("%s of %s (%s distinct), C = %g, duality gap %.1g nats per tree after %llu "
                     "passes",
                     features, trees, number_grouped(summary.distinct_trees, distinct), summary.c,
                     summary.gap, (unsigned long long)summary.passes);
    if (summary.n_choices > 0) {
        const phl_head_choice *choice = &summary.choices[summary.chosen];
        terminal_message("trees left out: %.2f %% right, log-loss %.4f nats (temperature %g)",
                         100 * choice->accuracy, choice->tempered_log_loss, choice->temperature);
    }
    terminal_message("run written to %s", path);
}

int training_classifier(const cli_arguments *parsed, const phl_forest *forest)
{
    const char *path = arguments_path(parsed, "output");
    phl_classifier_options options;
    phl_run *run = NULL;
    uint32_t *fold = NULL;
    phl_error error = {0};
    phl_classifier_options_init(&options);
    options.memory_limit = arguments_size(parsed, "memory-limit");
    options.threads = arguments_threads(parsed);
    options.cancel = interrupt_asked;
    int code = arguments_seed(parsed, &options.seed);
    char *line = arguments_line(parsed);
    options.command_line = line;
    if (code == EXIT_OK) {
        code = training_read_folds(parsed, forest, &fold, &options.n_folds);
        options.fold = fold;
    }
    if (code == EXIT_OK) {
        if (!arguments_flag(parsed, "quiet")) {
            training_describe_forest(forest);
        }
        interrupt_poll(true);
        phl_status status = phl_train_classifier(forest, &options, &run, &error);
        if (status == PHL_OK) {
            status = phl_run_save(run, path, arguments_flag(parsed, "force"), &error);
        }
        interrupt_poll(false);
        if (status != PHL_OK) {
            code = usage_report(parsed->command, &error);
        } else if (!arguments_flag(parsed, "quiet")) {
            tell(run, path);
        }
    }
    phl_run_free(run);
    free(line);
    free(fold);
    return code;
}
