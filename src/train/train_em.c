/* train_em.c - one restart of EM as a task of a training. */
#include <math.h>

#include "em/em.h"
#include "train/training.h"

/* What the watch of a fit needs. */
struct watcher {
    phl_train_task *task;
    phl_params *params;
    phl_status status; /* of keeping trace and state */
    phl_error *error;
};

/* After the last row of the trace: parameters as they entered that iteration. */
static phl_status offer(const struct watcher *watcher, bool last)
{
    phl_train_task *task = watcher->task;
    if (!phl_train_task_due(task, last)) {
        return PHL_OK;
    }
    phl_train_task_state state = {
        .iteration = task->trace[task->n_trace - 1].iteration,
        .params = watcher->params,
        .previous = task->n_trace > 1 ? task->trace[task->n_trace - 2].log_joint : -INFINITY,
    };
    return phl_train_task_offer(task, &state, watcher->error);
}

static bool watch(const phl_trace_row *row, void *context)
{
    struct watcher *watcher = context;
    bool go_on = true;
    phl_trace_row timed = *row;
    timed.seconds = phl_train_task_seconds(watcher->task);
    watcher->status = phl_train_progress_watch(watcher->task, &timed, NULL,
                                               watcher->task->training->options.iterations, &go_on,
                                               watcher->error);
    if (watcher->status == PHL_OK && go_on) {
        watcher->status = offer(watcher, false);
    }
    return watcher->status == PHL_OK && go_on;
}

/* Random tables, or those to go on from. */
static phl_status start(const phl_train_task *task, phl_em_options *fit, phl_params **params,
                        phl_error *error)
{
    const phl_training *training = task->training;
    const phl_train_options *options = &training->options;
    if (task->from != NULL) {
        fit->resumed = true;
        fit->start = (size_t)task->from->iteration;
        fit->previous = task->from->previous;
        return phl_params_clone(task->from->params, params, error);
    }
    phl_status status =
        phl_params_create(options->kind, options->states, training->forest->max_slot,
                          (uint32_t)training->forest->labels.count, training->axes,
                          training->n_axes, options->memory_limit, params, error);
    if (status == PHL_OK) {
        phl_em_start(*params, fit->seed, fit->stream);
    }
    return status;
}

phl_status phl_train_em_run(phl_train_task *task, phl_error *error)
{
    phl_training *training = task->training;
    const phl_train_options *options = &training->options;
    struct watcher watcher = {task, NULL, PHL_OK, error};
    phl_em_options fit = {
        .seed = options->seed,
        .stream = phl_train_task_stream(task),
        .iterations = options->iterations,
        .tolerance = options->tolerance,
        .smoothing = options->smoothing,
        .gamma = options->gamma,
        .threads = training->inner_threads,
        .watch = watch,
        .context = &watcher,
    };
    phl_em_result result;
    phl_params *params = NULL;
    phl_status status = start(task, &fit, &params, error);
    if (status == PHL_OK) {
        watcher.params = params;
        status = phl_em_fit(task->data->index, task->data->label_row, params, &fit, &result, error);
    }
    if (status == PHL_OK) {
        status = watcher.status;
    }
    if (status == PHL_OK) {
        status = offer(&watcher, true);
    }
    if (status != PHL_OK) {
        phl_params_free(params);
        return status;
    }
    phl_draw draw = {.params = params,
                     .chain = task->chain,
                     .iteration = result.iterations,
                     .log_likelihood = result.log_likelihood,
                     .log_joint = result.objective};
    task->iterations = result.iterations;
    task->stop_reason = result.stop_reason;
    return phl_train_task_add_draw(task, &draw, error);
}
