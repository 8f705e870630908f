/* jobs.c - a training by several ranks; see jobs.h. */
#include "mpi/jobs.h"
#include "interrupt.h"
#include "mpi/team.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "training.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

char *job_folder(const char *path)
{
    return text_format("%s.pieces", path);
}

char *job_piece(const job *work, size_t number)
{
    return text_format("%s/task-%06zu.run", work->folder, number);
}

int job_remove(const job *work)
{
    DIR *folder = opendir(work->folder);
    struct dirent *entry;
    if (!folder) {
        return EXIT_OK;
    }
    while ((entry = readdir(folder))) {
        char *path = text_path(work->folder, entry->d_name);
        if (strncmp(entry->d_name, "task-", 5) == 0 || strncmp(entry->d_name, ".task-", 6) == 0) {
            (void)unlink(path);
        }
        free(path);
    }
    closedir(folder);
    if (rmdir(work->folder) != 0) {
        terminal_message("cannot remove %s: %s", work->folder, strerror(errno));
        return EXIT_SYSTEM;
    }
    return EXIT_OK;
}

/* ---- beginning ---- */

static void describe(const job *work)
{
    char tasks[80], ranks[80], idle[80];
    size_t size = team_size();
    number_of(work->n_tasks, "task", "tasks", tasks, sizeof tasks);
    number_of(size, "rank", "ranks", ranks, sizeof ranks);
    training_describe_forest(work->forest);
    terminal_message("model %s; %s for %s", phl_kind_name(work->options.kind), tasks, ranks);
    if (size > work->n_tasks) {
        number_of(size - work->n_tasks, "rank has", "ranks have", idle, sizeof idle);
        terminal_message("note: there are more ranks than tasks: %s nothing to do", idle);
    }
}

/* Do all ranks have the trees of the first? */
static int compare_trees(const job *work)
{
    char own[33] = "", first[33];
    phl_error error = {0};
    int code = phl_forest_fingerprint(work->forest, true, own, &error) == PHL_OK
                   ? EXIT_OK
                   : terminal_error(&error);
    memcpy(first, own, sizeof first);
    team_share(first, sizeof first);
    return code == EXIT_OK && strcmp(own, first) != 0 ? EXIT_DATA : code;
}

int job_begin(job *work, int code)
{
    phl_error error = {0};
    if (code == EXIT_OK &&
        phl_train_tasks(work->forest, &work->options, &work->n_tasks, &error) != PHL_OK) {
        code = usage_report(work->parsed->command, &error);
    }
    code = team_agree(code, "begin");
    if (code == EXIT_OK) {
        code = team_agree(compare_trees(work), "read the same trees");
    }
    if (code == EXIT_OK && team_rank() == 0 && !arguments_flag(work->parsed, "quiet")) {
        describe(work);
    }
    if (team_rank() == 0 && code == EXIT_OK && mkdir(work->folder, 0777) != 0 && errno != EEXIST) {
        terminal_message("cannot make the folder %s: %s", work->folder, strerror(errno));
        code = EXIT_SYSTEM;
    }
    return team_agree(code, "make the folder of the pieces");
}

/* ---- tasks ---- */

static int threads_of(const job *work)
{
    return arguments_given(work->parsed, "threads") ? arguments_threads(work->parsed) : 1;
}

static phl_status go_on(const job *work, const char *path, progress_line *line, phl_run **run,
                        phl_error *error)
{
    phl_resume_options options;
    phl_resume_options_init(&options);
    options.threads = threads_of(work);
    options.forest = work->forest;
    options.checkpoint_seconds = arguments_real(work->parsed, "checkpoint");
    options.memory_limit = work->options.memory_limit;
    options.report = progress_report;
    options.cancel = interrupt_asked;
    options.context = line;
    return phl_resume(path, &options, run, error);
}

static phl_status train(job *work, size_t number, const char *path, progress_line *line,
                        phl_run **run, phl_error *error)
{
    phl_file_options file;
    phl_train_options options = work->options;
    phl_file_options_init(&file);
    file.checkpoint_seconds = arguments_real(work->parsed, "checkpoint");
    file.no_embed = work->no_embed;
    options.piece = number;
    options.pieces = work->n_tasks;
    options.threads = threads_of(work);
    options.progress = NULL;
    options.report = progress_report;
    options.cancel = interrupt_asked;
    options.context = line;
    phl_status status = phl_train_file(work->forest, &options, &file, path, run, error);
    work->no_embed = work->no_embed || status == PHL_OK; /* one piece of a rank is enough */
    return status;
}

/* A team_task. */
static int do_task(size_t number, void *context)
{
    job *work = context;
    progress_line line = {.quiet = arguments_flag(work->parsed, "quiet")};
    phl_run *run = NULL;
    phl_error error = {0};
    char *path = job_piece(work, number);
    phl_status status = access(path, F_OK) == 0 ? go_on(work, path, &line, &run, &error)
                                                : train(work, number, path, &line, &run, &error);
    int code = status == PHL_ERR_CANCELLED                ? EXIT_INTERRUPTED
               : status != PHL_OK                         ? terminal_error(&error)
               : run != NULL && training_interrupted(run) ? EXIT_INTERRUPTED
                                                          : EXIT_OK;
    phl_run_free(run);
    free(path);
    return code;
}

/* ---- the end ---- */

static int merge(const job *work)
{
    progress_line line = {0};
    phl_run *run = NULL;
    phl_error error = {0};
    phl_merge_options options;
    char **paths = terminal_allocate(work->n_tasks, sizeof *paths);
    for (size_t i = 0; i < work->n_tasks; i++) { /* the first one comes first */
        paths[i] = job_piece(work, i == 0 ? work->first : i < work->first ? i : i + 1);
    }
    phl_merge_options_init(&options);
    options.replace = work->replace;
    options.forest = work->forest;
    options.threads = threads_of(work);
    options.memory_limit = work->options.memory_limit;
    options.progress = progress_training;
    options.report = progress_report;
    options.cancel = interrupt_asked;
    options.context = &line;
    progress_begin(&line, arguments_flag(work->parsed, "quiet"));
    phl_status status =
        phl_merge((const char *const *)paths, work->n_tasks, &options, work->path, &run, &error);
    progress_end(&line);
    int code = status == PHL_OK              ? training_end(work->parsed, run, work->path)
               : status == PHL_ERR_CANCELLED ? EXIT_INTERRUPTED
                                             : usage_report(work->parsed->command, &error);
    phl_run_free(run);
    for (size_t i = 0; i < work->n_tasks; i++) {
        free(paths[i]);
    }
    free(paths);
    return code;
}

int job_run(job *work)
{
    char *interrupted = text_format(
        "interrupted; the state is kept in %s, and 'phloem-mpi resume %s' goes on from there",
        work->folder, work->path);
    interrupt_poll(true);
    int code =
        team_work(work->n_tasks, do_task, arguments_flag(work->parsed, "quiet"), interrupted, work);
    if (team_rank() == 0 && code == EXIT_OK) {
        code = merge(work);
        if (code == EXIT_INTERRUPTED) {
            terminal_message("%s", interrupted);
        }
        code = code == EXIT_OK ? job_remove(work) : code;
    }
    interrupt_poll(false);
    free(interrupted);
    return code;
}
