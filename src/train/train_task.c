/* train_task.c - what every task of a training does: trace, progress, keeping draws and states. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "train/training.h"

double phl_task_seconds(const phl_task *task)
{
    struct timespec now;
    const struct timespec *then = &task->training->began;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

/* Under the lock. */
static phl_status add_row(phl_task *task, const phl_trace_row *row, phl_error *error)
{
    phl_status status = phl_grow(&task->trace, &task->trace_capacity, task->n_trace + 1,
                                 sizeof *task->trace, error);
    if (status == PHL_OK) {
        phl_trace_row *added = &task->trace[task->n_trace++];
        *added = *row;
        added->class_index = (uint32_t)task->class_index;
        added->chain = (uint32_t)task->chain;
    }
    return status;
}

phl_status phl_task_watch(phl_task *task, const phl_trace_row *row, uint64_t warm, size_t limit,
                          bool *go_on, phl_error *error)
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
            .rhat = warm == UINT64_MAX ? (double)NAN
                                       : phl_training_rhat(training, task->class_index, warm, last),
            .seconds = phl_task_seconds(task),
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

bool phl_task_due(const phl_task *task, bool last)
{
    const phl_keeper *keeper = task->training->keeper;
    return keeper != NULL &&
           (!task->saved || last || phl_task_seconds(task) - task->saved_at >= keeper->seconds);
}

phl_status phl_task_offer(phl_task *task, const phl_task_state *state, phl_error *error)
{
    phl_training *training = task->training;
    const phl_keeper *keeper = training->keeper;
    (void)pthread_mutex_lock(&training->lock);
    phl_status status = keeper->save(task, state, keeper->context, error);
    if (status == PHL_OK) {
        task->trace_saved = task->n_trace;
        task->draws_saved = task->n_draws;
        task->saved = true;
        task->saved_at = phl_task_seconds(task);
    } else {
        training->cancelled = true; /* the other tasks could not be kept either */
    }
    (void)pthread_mutex_unlock(&training->lock);
    return status;
}

void phl_task_state_clear(phl_task_state *state)
{
    phl_params_free(state->params);
    phl_free(state->log_lambda0);
    phl_free(state->hidden);
    memset(state, 0, sizeof *state);
}

phl_status phl_task_add_draw(phl_task *task, const phl_draw *draw, phl_error *error)
{
    phl_status status =
        phl_grow(&task->draws, &task->draw_capacity, task->n_draws + 1, sizeof *task->draws, error);
    if (status != PHL_OK) {
        phl_params_free(draw->params);
        return status;
    }
    task->draws[task->n_draws++] = *draw;
    return PHL_OK;
}

void phl_task_note(const phl_task *task, const phl_error *note)
{
    phl_training *training = task->training;
    const char *name = phl_run_class_name(training->run, task->class_index);
    char prefix[160] = "";
    if (training->options.report == NULL) {
        return;
    }
    if (name != NULL) {
        (void)phl_remedy(prefix, sizeof prefix, "class %.100s: ", name);
    }
    phl_error told = *note;
    (void)snprintf(told.message, sizeof told.message, "%s%.400s", prefix, note->message);
    (void)pthread_mutex_lock(&training->lock);
    training->options.report(&told, training->options.context);
    (void)pthread_mutex_unlock(&training->lock);
}
