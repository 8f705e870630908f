/* cmd_resume.c - phloem resume: go on with a training where it stopped. */
#include "commands.h"
#include "forests.h"
#include "interrupt.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "runs.h"
#include "training.h"

#include <string.h>

/* The trees of --data, if it is given. */
static int read_data(const cli_arguments *parsed, phl_forest **forest)
{
    size_t n = 0;
    const char *const *paths = arguments_list(parsed, "data", &n);
    return n == 0 ? EXIT_OK : forest_read_paths(parsed, paths, n, forest, NULL);
}

/* What the run is and whether there is anything to do; learns whether it samples. */
static int look(const cli_arguments *parsed, const char *path, progress_line *line, bool *finished)
{
    phl_run *run = NULL;
    int code = run_open(parsed, &run);
    if (code == EXIT_OK && phl_run_kind(run) == PHL_NO_KIND) {
        code = usage_error(parsed->command,
                           "%s holds %s alone, whose training is written at its end: there is "
                           "nothing to go on with",
                           path, phl_run_head(run) ? "a classifier" : "an expert");
    }
    if (code == EXIT_OK) {
        const phl_train_options *options = phl_run_options(run);
        line->chains = options && options->learner == PHL_LEARNER_GIBBS;
        *finished = !training_interrupted(run) && !arguments_given(parsed, "iterations") &&
                    !training_members_missing(run);
        if (!arguments_flag(parsed, "quiet") && !*finished) {
            terminal_message("%s: model %s, %u states", path, phl_kind_name(phl_run_kind(run)),
                             (unsigned)phl_run_states(run));
        }
    }
    phl_run_free(run);
    return code;
}

/* Members that were to come after the first model. */
static int add_members(const cli_arguments *parsed, const char *path, const phl_forest *forest,
                       phl_run *run)
{
    phl_forest *stored = NULL;
    phl_error error = {0};
    if (!training_members_missing(run) || training_interrupted(run)) {
        return EXIT_OK;
    }
    if (!forest && phl_run_open_trees(path, &stored, &error) != PHL_OK) {
        return usage_report(parsed->command, &error);
    }
    int code = training_members_add(parsed, forest ? forest : stored, path, run);
    phl_forest_free(stored);
    return code;
}

static int resume(const cli_arguments *parsed, const char *path, const phl_forest *forest,
                  bool finished, progress_line *line)
{
    phl_run *run = NULL;
    phl_error error = {0};
    phl_resume_options options;
    bool chains = line->chains;
    int code;
    phl_resume_options_init(&options);
    options.threads = arguments_threads(parsed);
    options.iterations = (size_t)arguments_integer(parsed, "iterations");
    options.forest = forest;
    options.checkpoint_seconds = arguments_real(parsed, "checkpoint");
    options.memory_limit = arguments_size(parsed, "memory-limit");
    options.progress = progress_training;
    options.report = progress_report;
    options.cancel = interrupt_asked;
    options.context = line;
    progress_begin(line, arguments_flag(parsed, "quiet"));
    line->json = strcmp(arguments_choice(parsed, "progress"), "json") == 0;
    line->chains = chains;
    interrupt_poll(true);
    phl_status status = phl_resume(path, &options, &run, &error);
    progress_end(line);
    if (status != PHL_OK) {
        code = usage_report(parsed->command, &error);
    } else {
        code = add_members(parsed, path, forest, run);
        code = finished || code != EXIT_OK ? code : training_end(parsed, run, path);
    }
    interrupt_poll(false);
    phl_run_free(run);
    return code;
}

static int run_resume(const cli_arguments *parsed)
{
    const char *path = parsed->operands[0];
    progress_line line = {0};
    phl_forest *forest = NULL;
    bool finished = false;
    int code = look(parsed, path, &line, &finished);
    if (code == EXIT_OK && finished && !arguments_flag(parsed, "quiet")) {
        terminal_message("%s is finished; --iterations N lets it go on", path);
    }
    if (code == EXIT_OK && !finished) {
        code = read_data(parsed, &forest);
    }
    if (code == EXIT_OK) {
        code = resume(parsed, path, forest, finished, &line);
    }
    phl_forest_free(forest);
    return code;
}

static const cli_option resume_rows[] = {
    OPTION_INTEGER_ROW("iterations", "N", 1, PHL_MOST_ITERATIONS,
                       "go on to N iterations in all, even if the run is finished", .letter = 'i',
                       .fallback_note = "as at the start"),
    OPTION_LIST_ROW("data", "IN,...",
                    "the trees it was trained on, for a run that does not hold them; other "
                    "trees are refused"),
    OPTION_CHECKPOINT_ROW,
    OPTION_PROGRESS_ROW,
    OPTION_MEMORY_LIMIT_ROW,
};
static const option_group resume_options = {"Resuming", resume_rows,
                                            sizeof resume_rows / sizeof *resume_rows};
static const option_group *const groups[] = {&resume_options, &reading_options, &reading_formats,
                                             &reading_caps,   &general_options, NULL};

static const example examples[] = {
    {"go on after Ctrl-C, a crash or a power cut", "phloem resume trees.run"},
    {"more iterations for a run that is finished", "phloem resume trees.run --iterations 1000"},
    {"a run that was trained with --no-embed", "phloem resume small.run --data train.trees"},
    {NULL, NULL}};

const cli_command command_resume = {
    .name = "resume",
    .summary = "go on with a training where it stopped",
    .description = "Goes on with every class and chain (or random start) of a run from "
                   "its last checkpoint. The result is, to the bit, the model that an "
                   "uninterrupted training gives, on any number of threads. The options "
                   "of the training are in the run, and so are the trees unless it was "
                   "trained with --no-embed.\n\n"
                   "With --iterations, a finished run can be extended. EM continues if it "
                   "had stopped at the limit. Sampling keeps its warm-up, its annealing "
                   "and the draws kept so far, and spreads as many draws again (--keep) "
                   "over the new iterations; with soft clustering these belong to the "
                   "soft stage.\n\n"
                   "Only the version of phloem that wrote a checkpoint can use it.",
    .operands = "RUN",
    .operand_help = "a file written by 'phloem train'",
    .least_operands = 1,
    .most_operands = 1,
    .groups = groups,
    .examples = examples,
    .run = run_resume,
};
