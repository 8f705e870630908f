/* mpi_resume.c - phloem-mpi resume: go on with the tasks of a training, on any number of ranks. */
#include "forests.h"
#include "mpi/jobs.h"
#include "mpi/mpi_commands.h"
#include "mpi/team.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "training.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number in the name of a piece; 0: it is none. */
static size_t number_in(const char *name)
{
    char *end;
    if (strncmp(name, "task-", 5) != 0 || name[5] < '0' || name[5] > '9') {
        return 0;
    }
    size_t number = (size_t)strtoull(name + 5, &end, 10);
    return strcmp(end, ".run") == 0 ? number : 0;
}

static bool same_fact(const phl_run *a, const phl_run *b, const char *key)
{
    const char *one = phl_run_meta(a, key), *other = phl_run_meta(b, key);
    return one && other && strcmp(one, other) == 0;
}

/* What is left of a merge of these pieces is replaced; any other run only if the user says so. */
static int check_output(const job *work, const phl_run *piece)
{
    phl_run *run = NULL;
    phl_error error = {0};
    if (access(work->path, F_OK) != 0 || work->replace) {
        return EXIT_OK;
    }
    bool ours = phl_run_open(work->path, &run, &error) == PHL_OK &&
                same_fact(run, piece, "config") && same_fact(run, piece, "seed") &&
                same_fact(run, piece, "fingerprint_ordered");
    phl_run_free(run);
    return ours ? EXIT_OK
                : usage_error(work->parsed->command,
                              "%s is not of the training in %s; --force replaces it", work->path,
                              work->folder);
}

/* The lowest piece, or the lowest that was told the folds of a head: what its run says holds for
 * all. */
static int find_first(job *work, phl_run **first)
{
    DIR *folder = opendir(work->folder);
    struct dirent *entry;
    bool folds = false;
    phl_error error = {0};
    int code = EXIT_OK;
    if (!folder) {
        return usage_error(work->parsed->command,
                           "there is no folder %s, in which 'phloem-mpi train' keeps what is not "
                           "finished; a run of 'phloem train' goes on by 'phloem resume'",
                           work->folder);
    }
    while (code == EXIT_OK && (entry = readdir(folder))) {
        size_t number = number_in(entry->d_name);
        phl_run *run = NULL;
        if (number == 0) {
            continue;
        }
        char *path = text_path(work->folder, entry->d_name);
        if (phl_run_open(path, &run, &error) != PHL_OK) {
            code = usage_report(work->parsed->command, &error);
        }
        bool has = run && phl_run_meta(run, "folds");
        if (run && (!*first || (has && !folds) || (has == folds && number < work->first))) {
            phl_run_free(*first);
            *first = run;
            work->first = number;
            folds = has;
        } else {
            phl_run_free(run);
        }
        free(path);
    }
    closedir(folder);
    return code == EXIT_OK && !*first
               ? usage_error(work->parsed->command,
                             "%s holds no piece that was begun; train anew, with --force",
                             work->folder)
               : code;
}

/* The trees of --data, or those of a piece that has them. */
static int find_trees(job *work, phl_forest **forest)
{
    size_t n = 0;
    const char *const *paths = arguments_list(work->parsed, "data", &n);
    phl_error error = {0};
    DIR *folder = opendir(work->folder);
    struct dirent *entry;
    phl_forest *stored = NULL;
    while (folder && !stored && (entry = readdir(folder))) {
        char *path = text_path(work->folder, entry->d_name);
        if (number_in(entry->d_name) > 0 && phl_run_open_trees(path, &stored, &error) != PHL_OK) {
            stored = NULL;
        }
        free(path);
    }
    if (folder) {
        closedir(folder);
    }
    work->no_embed = true; /* they are in a piece, or were not to be */
    if (n > 0) {
        phl_forest_free(stored);
        return forest_read_paths(work->parsed, paths, n, forest, NULL);
    }
    *forest = stored;
    return stored ? EXIT_OK
                  : usage_error(work->parsed->command,
                                "the pieces do not hold the trees: give them with --data");
}

static int prepare(job *work, phl_run **first, phl_forest **forest)
{
    int code = find_first(work, first);
    if (code == EXIT_OK && team_rank() == 0) {
        code = check_output(work, *first);
    }
    if (code == EXIT_OK) {
        work->options = *phl_run_options(*first);
        work->options.command_line = phl_run_meta(*first, "command");
        work->options.memory_limit = arguments_size(work->parsed, "memory-limit");
        code = find_trees(work, forest);
    }
    work->forest = *forest;
    return code;
}

static int run_resume(const cli_arguments *parsed)
{
    phl_forest *forest = NULL;
    phl_run *first = NULL;
    job work = {
        .parsed = parsed, .path = parsed->operands[0], .replace = arguments_flag(parsed, "force")};
    work.folder = job_folder(work.path);
    int code = prepare(&work, &first, &forest);
    code = job_begin(&work, code);
    team_share(&work.first, sizeof work.first);
    team_mute(false);
    if (code == EXIT_OK) {
        work.replace = true; /* as was found out */
        code = job_run(&work);
    }
    free(work.folder);
    phl_run_free(first);
    phl_forest_free(forest);
    return team_rank() == 0 ? code : EXIT_OK;
}

static const cli_option resume_rows[] = {
    OPTION_FLAG_ROW("force", "replace RUN if it is of another training"),
    OPTION_LIST_ROW("data", "IN,...",
                    "the trees it was trained on, for pieces that do not hold them; other trees "
                    "are refused"),
    OPTION_CHECKPOINT_ROW,
    OPTION_MEMORY_LIMIT_ROW,
};
static const option_group resume_options = {"Resuming", resume_rows,
                                            sizeof resume_rows / sizeof *resume_rows};
static const option_group *const groups[] = {&resume_options, &reading_options, &reading_formats,
                                             &reading_caps,   &general_options, NULL};

static const example examples[] = {
    {"go on, with as many ranks as you like", "mpirun -n 16 phloem-mpi resume trees.run"},
    {NULL, NULL}};

const cli_command command_mpi_resume = {
    .name = "resume",
    .summary = "go on with a training where it stopped",
    .description = "Goes on with the training whose pieces 'phloem-mpi train' left in the folder "
                   "RUN.pieces: tasks that were begun from their last checkpoints, the others from "
                   "the start. The number of ranks may be another. The result is, to the bit, "
                   "that of one training that was never interrupted.",
    .operands = "RUN",
    .operand_help = "the run that 'phloem-mpi train' was to write",
    .least_operands = 1,
    .most_operands = 1,
    .groups = groups,
    .examples = examples,
    .run = run_resume,
};
