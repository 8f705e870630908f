/* train_progress.c - what a task tells while it is at work: its trace, and R-hat of the chains of
 * its class so far, which is computed from the traces alone and changes nothing of what is sampled.
 *
 * The log-joint after the warm-up is compared as `phloem diagnose` does it, over chains that have
 * at least half as many such iterations as the longest, cut to the shortest of these.  Of several
 * chains two must have got that far; a chain that is the only one asked for is compared with
 * itself, its first half with its second.
 */
#include <math.h>
#include <time.h>

#include "base/memory.h"
#include "train/convergence.h"
#include "train/schedule.h"
#include "train/training.h"

/* Not sooner than this after the last time, and at most this share of a thread's time. */
static const double seconds_between = 1.0, share_at_most = 0.01;

static double processor_seconds(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool counts(const phl_trace_row *row, const phl_schedule *schedule)
{
    return phl_schedule_counts(schedule, row->iteration, row->temperature);
}

static size_t count_draws(const phl_train_task *task, const phl_schedule *schedule)
{
    size_t draws = 0;
    for (size_t i = 0; i < task->n_trace; i++) {
        draws += counts(&task->trace[i], schedule);
    }
    return draws;
}

/* The first n log-joints after the warm-up. */
static void copy_draws(const phl_train_task *task, const phl_schedule *schedule, size_t n,
                       double *draws)
{
    for (size_t i = 0, taken = 0; i < task->n_trace && taken < n; i++) {
        if (counts(&task->trace[i], schedule)) {
            draws[taken++] = task->trace[i].log_likelihood;
        }
    }
}

/* `length` has room for one number per chain.  NaN: unknown, or no memory for it, which is no
 * reason to end a training. */
static double measure(const phl_train_task *chains, size_t n_chains, const phl_schedule *schedule,
                      size_t *length)
{
    size_t longest = 0, least = SIZE_MAX, compared = 0;
    for (size_t c = 0; c < n_chains; c++) {
        length[c] = count_draws(&chains[c], schedule);
        longest = length[c] > longest ? length[c] : longest;
    }
    for (size_t c = 0; c < n_chains; c++) {
        if (phl_convergence_compares(length[c], longest)) {
            least = length[c] < least ? length[c] : least;
            compared++;
        }
    }
    if (compared == 0 || (compared == 1 && n_chains > 1)) {
        return (double)NAN;
    }
    double *draws = phl_alloc(compared * least, sizeof *draws, NULL);
    if (draws == NULL) {
        return (double)NAN;
    }
    for (size_t c = 0, at = 0; c < n_chains; c++) {
        if (phl_convergence_compares(length[c], longest)) {
            copy_draws(&chains[c], schedule, least, draws + at);
            at += least;
        }
    }
    phl_convergence found;
    phl_status status = phl_convergence_measure(draws, compared, least, &found, NULL);
    phl_free(draws);
    return status == PHL_OK ? phl_convergence_rhat(&found) : (double)NAN;
}

/* As it was a little ago, unless it is wanted `afresh`.  Under the lock. */
static double rhat_so_far(phl_training *training, size_t class_index, const phl_schedule *schedule,
                          bool afresh)
{
    phl_class_data *data = &training->classes[class_index];
    const phl_train_task *chains = &training->tasks[class_index * training->n_chains];
    double now = phl_train_task_seconds(chains);
    if (!afresh && now < data->rhat_due) {
        return data->rhat;
    }
    double began = processor_seconds();
    size_t *length = phl_alloc(training->n_chains, sizeof *length, NULL);
    data->rhat =
        length == NULL ? (double)NAN : measure(chains, training->n_chains, schedule, length);
    phl_free(length);
    double rest = (processor_seconds() - began) / share_at_most;
    data->rhat_due = now + (rest > seconds_between ? rest : seconds_between);
    return data->rhat;
}

/* Under the lock. */
static phl_status add_row(phl_train_task *task, const phl_trace_row *row, phl_error *error)
{
    phl_status status = phl_grow(&task->trace, &task->trace_capacity, task->n_trace + 1,
                                 sizeof *task->trace, error);
    if (status == PHL_OK) {
        phl_trace_row *added = &task->trace[task->n_trace++];
        *added = *row;
        added->class_index = task->class_index;
        added->chain = task->chain;
    }
    return status;
}

phl_status phl_train_progress_watch(phl_train_task *task, const phl_trace_row *row,
                                    const phl_schedule *schedule, size_t limit, bool *go_on,
                                    phl_error *error)
{
    phl_training *training = task->training;
    const phl_train_options *options = &training->options;
    (void)pthread_mutex_lock(&training->lock);
    phl_status status = add_row(task, row, error);
    if (status == PHL_OK && options->progress != NULL) {
        bool last = row->iteration >= limit;
        phl_progress progress = {
            .class_name = phl_run_class_name(training->run, task->class_index),
            .class_index = task->class_index,
            .classes = training->n_classes,
            .restart = task->chain,
            .restarts = training->n_chains,
            .iteration = (size_t)row->iteration,
            .iterations = limit,
            .log_likelihood = row->log_likelihood,
            .active = row->active,
            .rhat = schedule == NULL ? (double)NAN
                                     : rhat_so_far(training, task->class_index, schedule, last),
            .seconds = phl_train_task_seconds(task),
        };
        options->progress(&progress, options->context);
    }
    if (!training->cancelled && options->cancel != NULL && options->cancel(options->context)) {
        training->cancelled = true;
    }
    *go_on = !training->cancelled;
    (void)pthread_mutex_unlock(&training->lock);
    return status;
}
