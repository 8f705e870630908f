/* train_task.c - what every task of a training does: keeping draws and states, notes. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "train/training.h"

double phl_train_task_seconds(const phl_train_task *task)
{
    struct timespec now;
    const struct timespec *then = &task->training->began;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

size_t phl_train_task_cost(const phl_train_task *task)
{
    const phl_forest *forest = task->data->forest;
    return forest->n_subtrees + forest->n_links;
}

bool phl_train_task_due(const phl_train_task *task, bool last)
{
    const phl_keeper *keeper = task->training->keeper;
    return keeper != NULL && (!task->saved || last ||
                              phl_train_task_seconds(task) - task->saved_at >= keeper->seconds);
}

phl_status phl_train_task_offer(phl_train_task *task, const phl_train_task_state *state,
                                phl_error *error)
{
    phl_training *training = task->training;
    const phl_keeper *keeper = training->keeper;
    (void)pthread_mutex_lock(&training->lock);
    phl_status status = keeper->save(task, state, keeper->context, error);
    if (status == PHL_OK) {
        task->trace_saved = task->n_trace;
        task->draws_saved = task->n_draws;
        task->saved = true;
        task->saved_at = phl_train_task_seconds(task);
    } else {
        training->cancelled = true; /* the other tasks could not be kept either */
    }
    (void)pthread_mutex_unlock(&training->lock);
    return status;
}

void phl_train_task_state_clear(phl_train_task_state *state)
{
    phl_params_free(state->params);
    phl_free(state->log_lambda0);
    phl_free(state->hidden);
    memset(state, 0, sizeof *state);
}

phl_status phl_train_task_add_draw(phl_train_task *task, const phl_draw *draw, phl_error *error)
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

void phl_train_task_note(const phl_train_task *task, const phl_error *note)
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
