/* mpi_train.c - phloem-mpi train: the tasks of a training, handed out to ranks. */
#include "forests.h"
#include "mpi/jobs.h"
#include "mpi/mpi_commands.h"
#include "mpi/team.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "training.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What ranks cannot do together. */
static int refuse(const cli_arguments *parsed)
{
    static const char *const alone[] = {"classifier", "members"};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        if (arguments_given(parsed, alone[i])) {
            return usage_error(parsed->command, "option --%s is for 'phloem train'", alone[i]);
        }
    }
    if (arguments_given(parsed, "states") && arguments_integer(parsed, "states") == 0) {
        return usage_error(parsed->command,
                           "--states auto is for 'phloem train'; give the number it chooses");
    }
    for (size_t i = 0; i < parsed->n_operands; i++) {
        if (strcmp(parsed->operands[i], "-") == 0) {
            return usage_error(parsed->command,
                               "every rank reads the trees, which only files allow, not '-'");
        }
    }
    return EXIT_OK;
}

/* Pieces of an earlier training are in the way, unless they are to be replaced; for the first rank.
 */
static int clear_way(const job *work)
{
    if (access(work->folder, F_OK) != 0) {
        return EXIT_OK;
    }
    if (arguments_flag(work->parsed, "force")) {
        return job_remove(work);
    }
    return usage_error(
        work->parsed->command,
        "%s holds pieces of a training that was not finished: 'phloem-mpi resume %s' "
        "goes on with it, --force begins anew",
        work->folder, work->path);
}

static int read_all(const cli_arguments *parsed, training *how, progress_line *line,
                    phl_forest **forest, uint32_t **fold)
{
    training_members members = {0};
    int code = refuse(parsed);
    if (code == EXIT_OK) {
        code = training_start_read(parsed, &members, line, how);
    }
    if (code == EXIT_OK) {
        code = forest_read(parsed, forest, NULL);
    }
    if (code != EXIT_OK) {
        return code;
    }
    training_choose_head(parsed, *forest, how);
    if (how->options.head == PHL_HEAD_NONE && arguments_given(parsed, "folds-file")) {
        return usage_error(parsed->command, "option --folds-file belongs to --head linear");
    }
    code = training_read_folds(parsed, *forest, fold, &how->options.n_folds);
    how->options.fold = *fold;
    return code;
}

static int run_train(const cli_arguments *parsed)
{
    progress_line line = {0};
    phl_forest *forest = NULL;
    uint32_t *fold = NULL;
    training how = {0};
    job work = {.parsed = parsed,
                .path = arguments_path(parsed, "output"),
                .first = 1,
                .no_embed = arguments_flag(parsed, "no-embed"),
                .replace = arguments_flag(parsed, "force")};
    work.folder = job_folder(work.path);
    int code = team_rank() == 0 ? training_start_check(parsed) : EXIT_OK;
    code = team_agree(code, "write the run");
    if (code == EXIT_OK) {
        code = read_all(parsed, &how, &line, &forest, &fold);
    }
    if (code == EXIT_OK && team_rank() == 0) {
        code = clear_way(&work);
    }
    team_share(&how.options.seed, sizeof how.options.seed); /* --seed random */
    work.forest = forest;
    work.options = how.options;
    code = job_begin(&work, code);
    team_mute(false);
    if (code == EXIT_OK) {
        code = job_run(&work);
    }
    training_clear(&how);
    free(fold);
    free(work.folder);
    phl_forest_free(forest);
    return team_rank() == 0 ? code : EXIT_OK;
}

static const option_group *const groups[] = {
    &run_options,     &training_options, &gibbs_options,   &reading_options,
    &reading_formats, &reading_caps,     &general_options, NULL};

static const example examples[] = {
    {"one model per class, its chains on 8 ranks",
     "mpirun -n 8 phloem-mpi train --per-class --model tf train.trees -o trees.run"},
    {"go on after the wall time, on 16", "mpirun -n 16 phloem-mpi resume trees.run"},
    {NULL, NULL}};

const cli_command command_mpi_train = {
    .name = "train",
    .summary = "learn a model of trees, or one per class, on the ranks of an MPI job",
    .description =
        "Does what 'phloem train' does, on all ranks that mpirun or srun started. A training "
        "consists of tasks, one per class and chain (or random start), for a grammar one per "
        "start. "
        "The first rank hands them out, those that cost most first, and every rank trains one "
        "after "
        "another, each into a file of its own in the folder RUN.pieces, with checkpoints. At the "
        "end "
        "the first rank merges them into RUN and removes them. The run is, to the bit, that of "
        "'phloem train' on one machine.\n\n"
        "Every rank reads the trees, from files that all machines see, and uses one thread unless "
        "--threads says otherwise. If a rank dies, the job ends; nothing that was finished or "
        "checkpointed is lost, and 'phloem-mpi resume RUN' goes on with any number of ranks.\n\n"
        "--classifier, --members and --states auto are for 'phloem train'.",
    .operands = "IN...",
    .operand_help = "files or folders (every file below with a known ending)",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_train,
};
