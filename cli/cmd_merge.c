/* cmd_merge.c - phloem merge: pieces of a training become one run, those of an evaluation a table.
 */
#include "commands.h"
#include "forests.h"
#include "interrupt.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "print/validations.h"
#include "runs.h"
#include "training.h"

static int merge(const cli_arguments *parsed, const phl_forest *forest)
{
    const char *path = arguments_path(parsed, "output");
    bool quiet = arguments_flag(parsed, "quiet");
    progress_line line = {0};
    phl_run *run = NULL;
    phl_error error = {0};
    phl_merge_options options;
    phl_merge_options_init(&options);
    options.replace = arguments_flag(parsed, "force");
    options.partial = arguments_flag(parsed, "partial");
    options.no_finish = arguments_flag(parsed, "no-finish");
    options.forest = forest;
    options.threads = arguments_threads(parsed);
    options.memory_limit = arguments_size(parsed, "memory-limit");
    options.progress = progress_training;
    options.report = progress_report;
    options.cancel = interrupt_asked;
    options.context = &line;
    progress_begin(&line, quiet);
    interrupt_poll(true);
    phl_status status = phl_merge((const char *const *)parsed->operands, parsed->n_operands,
                                  &options, path, &run, &error);
    progress_end(&line);
    int code = EXIT_OK;
    if (status != PHL_OK) {
        code = usage_report(parsed->command, &error);
    } else if (options.partial || options.no_finish) {
        if (!quiet) {
            terminal_message("written to %s; 'phloem resume' does what is left to do", path);
        }
    } else {
        code = training_end(parsed, run, path);
    }
    interrupt_poll(false);
    phl_run_free(run);
    return code;
}

/* Pieces of an evaluation: its table, and a file that keeps everything. */
static int merge_evaluation(const cli_arguments *parsed)
{
    const char *path = arguments_path(parsed, "output");
    bool partial = arguments_flag(parsed, "partial");
    phl_cross_validation *result = NULL;
    phl_error error = {0};
    if (phl_work_merge((const char *const *)parsed->operands, parsed->n_operands, path,
                       arguments_flag(parsed, "force"), partial, &result, &error) != PHL_OK) {
        return usage_report(parsed->command, &error);
    }
    if (result->done < result->all) {
        terminal_message("%zu of %zu trainings written to %s; 'phloem evaluate --work %s' does the "
                         "others",
                         result->done, result->all, path, path);
    } else if (arguments_flag(parsed, "json")) {
        validation_json(result);
    } else {
        validation_print(result);
    }
    phl_cross_validation_free(result);
    return EXIT_OK;
}

static int run_merge(const cli_arguments *parsed)
{
    if (phl_work_recognise(parsed->operands[0])) {
        return merge_evaluation(parsed);
    }
    phl_forest *forest = NULL;
    size_t n = 0;
    const char *const *paths = arguments_list(parsed, "data", &n);
    int code = n == 0 ? EXIT_OK : forest_read_paths(parsed, paths, n, &forest, NULL);
    if (code == EXIT_OK) {
        code = merge(parsed, forest);
    }
    phl_forest_free(forest);
    return code;
}

static const cli_option merge_rows[] = {
    OPTION_OUTPUT_ROW("output", "RUN", "file to write: a run, or what keeps an evaluation",
                      .letter = 'o', .required = true),
    OPTION_FLAG_ROW("force", "replace RUN if it exists"),
    OPTION_FLAG_ROW("partial", "pieces may be missing or unfinished; 'phloem resume RUN' then "
                               "trains the rest"),
    OPTION_FLAG_ROW("no-finish", "leave what needs all pieces together, such as a temperature, to "
                                 "'phloem resume RUN'"),
    OPTION_LIST_ROW("data", "IN,...",
                    "the trees they were trained on, for pieces that do not hold them; other "
                    "trees are refused"),
    OPTION_MEMORY_LIMIT_ROW,
    OPTION_JSON_ROW("of an evaluation: print its table as one JSON object, with every fold"),
};
static const option_group merge_options = {"Merging", merge_rows,
                                           sizeof merge_rows / sizeof *merge_rows};
static const option_group *const groups[] = {&merge_options, &reading_options, &reading_formats,
                                             &reading_caps,  &general_options, NULL};

static const example examples[] = {
    {"a training in three pieces, on three machines",
     "phloem train --per-class --piece 1/3 train.trees -o p1.run"},
    {"... and its pieces together, in any order", "phloem merge p1.run p2.run p3.run -o trees.run"},
    {"what is there so far; the rest is trained here",
     "phloem merge --partial p1.run p3.run -o trees.run && phloem resume trees.run"},
    {"an evaluation in two pieces: its table", "phloem merge p1.work p2.work -o all.work"},
    {NULL, NULL}};

const cli_command command_merge = {
    .name = "merge",
    .summary = "put the pieces of a training or an evaluation together",
    .description = "Takes run files that 'phloem train' wrote with --piece, --piece-classes or "
                   "--piece-chains, in any order, and writes the run that one training of "
                   "everything would have given: its numbers are the same to the bit, on "
                   "whatever machines, and with however many threads, the pieces were trained.\n\n"
                   "The pieces must be of one training: the same trees in the same order, the "
                   "same options, seed and version of phloem. A piece of another training, one "
                   "that is given twice, is damaged, unfinished or missing is refused by name, "
                   "and nothing is written. What needs all pieces together is done here.\n\n"
                   "Files that 'phloem evaluate --piece' wrote are put together in the same way: "
                   "the table is printed as one evaluation would have printed it, and RUN keeps "
                   "everything, so that 'phloem evaluate --work RUN -o BEST' needs only to train "
                   "what is chosen.",
    .operands = "PIECE...",
    .operand_help = "files written by 'phloem train --piece' or 'phloem evaluate --piece'",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_merge,
};
