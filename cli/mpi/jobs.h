/* jobs.h - a training by several ranks: a piece for each task, in a folder beside the run, and in
 * the end their merge.
 */
#ifndef PHLOEM_CLI_JOBS_H
#define PHLOEM_CLI_JOBS_H

#include "args/options.h"

typedef struct job {
    const cli_arguments *parsed;
    const char *path;          /* of the run */
    char *folder;              /* of the pieces */
    const phl_forest *forest;  /* the same on all ranks */
    phl_train_options options; /* of the training; pieces are chosen here */
    size_t n_tasks;
    size_t first;  /* a piece that is merged before the others, which have its facts; from 1 */
    bool no_embed; /* the run is to hold no trees, or some piece holds them */
    bool replace;  /* an existing run */
} job;

/* The folder of the pieces; to be freed. */
char *job_folder(const char *path);
/* The piece of a task, from 1; to be freed. */
char *job_piece(const job *work, size_t number);

/* The number of tasks, on all ranks the same trees, and what the ranks will do.  Returns the exit
 * code that all ranks agree on, after this rank came with `code`. */
int job_begin(job *work, int code);
/* All ranks: train what is left, merge, remove the pieces.  Returns the exit code; ranks other than
 * the first return EXIT_OK. */
int job_run(job *work);
/* Remove the pieces and their folder, as far as they are there.  Returns an exit code. */
int job_remove(const job *work);

#endif
