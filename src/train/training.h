/* training.h - what these share: train.c, train_task.c, train_progress.c, train_em.c,
 * train_gibbs.c, train_memory.c, train_weights.c; and how whoever wants to keep what a training
 * reached (store/) takes part in it.
 *
 * A training is a list of tasks, one per class and chain (or restart).  Tasks are independent and
 * each runs in one fixed order, so the result does not depend on the number of threads.
 */
#ifndef PHL_TRAIN_TRAINING_H
#define PHL_TRAIN_TRAINING_H

#include <pthread.h>
#include <time.h>

#include "gibbs/slot_pairs.h"
#include "grammar/calibration.h"
#include "model/infer.h"
#include "model/run.h"
#include "model/states_choice.h"
#include "train/schedule.h"

/* The trees of one class, prepared. */
typedef struct phl_class_data {
    int32_t class_number; /* in the forest; PHL_NO_CLASS: all trees */
    phl_forest *forest;
    phl_index *index;
    const uint32_t *label_row; /* the training's */
    phl_slot_pairs *pairs; /* sampling: shared by the chains at work; under the training's lock */
    size_t n_done;         /* chains that need them no more; the same */
    double rhat;           /* of its chains so far, NaN: unknown; under the training's lock */
    double rhat_due;       /* seconds, when to compute it again; the same */
} phl_class_data;

struct phl_train_task;
struct phl_training;

/* What a task is between two iterations: enough to go on from. */
typedef struct phl_train_task_state {
    uint64_t iteration;
    uint64_t kept; /* draws kept until then; what a task has beyond is good for looking only */
    phl_params *params;
    double *log_lambda0;  /* sampling: [C]; EM: NULL */
    double alpha, alpha0; /* sampling */
    double previous;      /* EM: the objective one iteration before */
    uint32_t *hidden;     /* the paper's sampler: [n_hidden] Q of every node; else NULL */
    size_t n_hidden;
} phl_train_task_state;
void phl_train_task_state_clear(
    phl_train_task_state *state); /* what it owns; a zeroed one is fine */

/* Keeps what a training reached.  Calls come one at a time, from any thread of the training. */
typedef struct phl_keeper {
    double seconds; /* at most so often a task; 0: after every iteration */
    /* The run and its tasks are made, nothing has begun: put back what was kept.  May be NULL. */
    phl_status (*restore)(struct phl_training *training, void *context, phl_error *error);
    /* A task came to `state` (borrowed), with the trace rows from task->trace_saved on and the
     * draws from task->draws_saved on new since the last call that succeeded.  The first call of a
     * task comes after its first iteration, the last one when it ends. */
    phl_status (*save)(const struct phl_train_task *task, const phl_train_task_state *state,
                       void *context, phl_error *error);
    void *context;
} phl_keeper;

typedef struct phl_training {
    const phl_forest *forest;
    phl_train_options options; /* resolved: no PHL_DEFAULT left */
    const size_t *earlier;     /* [n_earlier] iterations asked for before the run was extended */
    size_t n_earlier;
    const phl_keeper *keeper; /* may be NULL */
    bool slots_asked;         /* slots_max is what the caller asked for, not a default or resumed */
    const phl_axis *axes;     /* partitions given by the user */
    uint32_t n_axes;
    phl_run *run;
    uint32_t *label_row; /* of the labels of the forest */
    phl_class_data *classes;
    size_t n_classes, n_chains;   /* chains or restarts */
    struct phl_train_task *tasks; /* [classes][chains] */
    int inner_threads;            /* for loops inside a task */
    struct timespec began;
    pthread_mutex_t lock;     /* one callback at a time */
    bool cancelled;           /* under the lock */
    bool limited;             /* the memory limit is the caller's */
    bool in_pieces;           /* some tasks are done elsewhere */
    phl_states_choice choice; /* n = 0: the number of states was given */
} phl_training;

/* One chain or restart, and what came out of it. */
typedef struct phl_train_task {
    phl_training *training;
    phl_class_data *data;
    size_t class_index, chain;
    bool elsewhere; /* not a task of this piece (pieces.h) */
    phl_draw *draws;
    size_t n_draws, draw_capacity;
    phl_trace_row *trace; /* grows under the lock: tasks of the same class look at it there */
    size_t n_trace, trace_capacity;
    uint64_t iterations;
    phl_stop_reason stop_reason; /* 0: failed or never begun */
    phl_train_task_state *from;  /* go on from there; NULL: from the start */
    size_t trace_saved, draws_saved;
    bool saved;      /* at least once by this training */
    double saved_at; /* seconds, when it was saved last */
} phl_train_task;

/* Random stream of a task: class and chain. */
static inline uint64_t phl_train_task_stream(const phl_train_task *task)
{
    return (uint64_t)task->class_index << 32 | task->chain;
}

/* What a task costs, more or less, in no unit. */
size_t phl_train_task_cost(const phl_train_task *task);

/* Add a row to the trace (class and chain are filled in), report progress, ask whether to go on.
 * The schedule tells which rows count for R-hat (NULL: none, this is EM); `limit` is the last
 * iteration. */
phl_status phl_train_progress_watch(phl_train_task *task, const phl_trace_row *row,
                                    const phl_schedule *schedule, size_t limit, bool *go_on,
                                    phl_error *error);

/* Takes over draw->params, on failure too. */
phl_status phl_train_task_add_draw(phl_train_task *task, const phl_draw *draw, phl_error *error);

/* Does the keeper, if there is one, want the state: because it is time, or it is the `last`?  Then
 * let it have the state. */
bool phl_train_task_due(const phl_train_task *task, bool last);
phl_status phl_train_task_offer(phl_train_task *task, const phl_train_task_state *state,
                                phl_error *error);

/* Seconds since the training began, those of the trainings it goes on from included. */
double phl_train_task_seconds(const phl_train_task *task);

/* Tell the user something, with the class if there is one. */
void phl_train_task_note(const phl_train_task *task, const phl_error *note);

phl_status phl_train_em_run(phl_train_task *task, phl_error *error);
phl_status phl_train_gibbs_run(phl_train_task *task, phl_error *error);

/* All tasks of a grammar: a start learns the classes together (train_grammar.c). */
phl_status phl_train_grammar_run(phl_training *training, phl_error *error);
/* The starts that classify best, all or those of one form: a fact of the run, and score [trees
 * held out][classes] by them. */
phl_status phl_train_grammar_choose(phl_run *run, phl_calibration_data *data, double *score,
                                    phl_error *error);

/* The models are in the run: train its head, if it is to have one, and find out on trees held out
 * how to make probabilities of classes (train_calibrate.c).  Cancelled: the models are interrupted,
 * and there is no head. */
phl_status phl_train_calibrate(const phl_training *training, phl_error *error);

/* Sampling, everything is in the run: what its chains count in predictions (train_weights.c).
 * Nothing is said of a training that was interrupted. */
phl_status phl_train_weights_find(const phl_training *training, phl_error *error);

/* The run is made: refuse a training whose tables would take more than the memory limit, or, where
 * that is not the caller's own, much more for slots that never occur than for those that do
 * (train_memory.c). */
phl_status phl_train_memory_reckon(const phl_training *training, phl_error *error);

/* Numbers of states that resolved options allow, tried on trees held out (train_states.c); forest
 * and options were checked.  PHL_ERR_CANCELLED when asked to stop. */
phl_status phl_train_states_choose(const phl_forest *forest, const phl_train_options *options,
                                   phl_states_choice *made, phl_error *error);

/* Models alone, with the weights of their chains, whatever the options say of heads and
 * calibration. */
phl_status phl_train_models(const phl_forest *forest, const phl_train_options *options,
                            phl_run **run, phl_error *error);

/* phl_train for callers that keep what is reached.  `earlier` and the keeper are borrowed. */
phl_status phl_train_kept(const phl_forest *forest, const phl_train_options *options,
                          const size_t *earlier, size_t n_earlier, const phl_keeper *keeper,
                          phl_run **run, phl_error *error);

#endif
