/* training.h - what the parts of a training share: train.c, train_em.c, train_gibbs.c.
 *
 * A training is a list of tasks, one a class and chain (or restart).  Tasks are independent and each
 * runs in one fixed order, so the result does not depend on the number of threads.
 */
#ifndef PHL_LEARN_TRAINING_H
#define PHL_LEARN_TRAINING_H

#include <pthread.h>
#include <time.h>

#include "model/infer.h"
#include "model/run.h"

/* The trees of one class, prepared. */
typedef struct phl_part {
    int32_t class_number; /* in the forest; PHL_NO_CLASS: all trees */
    phl_forest *forest;
    phl_index *index;
    uint32_t *label_row;
} phl_part;

typedef struct phl_training {
    const phl_forest *forest;
    phl_train_options options; /* resolved: no PHL_DEFAULT left */
    const phl_mode *modes;     /* partitions given by the user */
    uint32_t n_modes;
    phl_run *run;
    phl_part *parts;
    size_t n_parts, n_chains; /* chains or restarts */
    struct phl_task *tasks;   /* [parts][chains] */
    int inner_threads;        /* for loops inside a task */
    struct timespec began;
    pthread_mutex_t lock; /* one callback at a time */
    bool cancelled;       /* under the lock */
} phl_training;

/* One chain or restart, and what came out of it. */
typedef struct phl_task {
    phl_training *training;
    const phl_part *part;
    size_t class_index, chain;
    phl_draw *draws;
    size_t n_draws, draw_capacity;
    phl_trace_row *trace;
    size_t n_trace, trace_capacity;
    uint64_t iterations;
    const char *stop_reason; /* NULL: failed or never begun */
} phl_task;

/* Random stream of a task: class and chain. */
static inline uint64_t phl_task_stream(const phl_task *task)
{
    return (uint64_t)task->class_index << 32 | task->chain;
}

/* Add a row to the trace (class and chain are filled in), report progress, ask whether to go on. */
phl_status phl_task_watch(phl_task *task, const phl_trace_row *row, size_t limit, bool *go_on,
                          phl_error *error);

/* Takes over draw->params, on failure too. */
phl_status phl_task_add_draw(phl_task *task, const phl_draw *draw, phl_error *error);

/* Seconds since the training began. */
double phl_task_seconds(const phl_task *task);

/* Tell the user something, with the class if there is one. */
void phl_task_note(const phl_task *task, const char *remedy, const char *format, ...)
    PHL_PRINTF(3, 4);

phl_status phl_task_run_em(phl_task *task, phl_error *error);
phl_status phl_task_run_gibbs(phl_task *task, phl_error *error);

#endif
