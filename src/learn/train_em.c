/* train_em.c - one restart of EM as a task of a training. */
#include "learn/em.h"
#include "learn/training.h"

/* What the watch of a fit needs. */
struct watcher {
    phl_task *task;
    phl_status status; /* of keeping the trace */
    phl_error *error;
};

static bool watch(const phl_trace_row *row, void *context)
{
    struct watcher *watcher = context;
    bool go_on = true;
    watcher->status = phl_task_watch(watcher->task, row,
                                     watcher->task->training->options.iterations, &go_on,
                                     watcher->error);
    return watcher->status == PHL_OK && go_on;
}

phl_status phl_task_run_em(phl_task *task, phl_error *error)
{
    phl_training *training = task->training;
    const phl_train_options *options = &training->options;
    struct watcher watcher = {task, PHL_OK, error};
    phl_em_options fit = {
        .seed = options->seed,
        .stream = phl_task_stream(task),
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
    phl_status status = phl_params_create(
        options->kind, options->states, training->forest->max_slot,
        (uint32_t)training->forest->labels.count, training->modes, training->n_modes,
        options->memory_limit, &params, error);
    if (status == PHL_OK) {
        phl_em_start(params, fit.seed, fit.stream);
        status = phl_em_fit(task->part->index, task->part->label_row, params, &fit, &result, error);
    }
    if (status == PHL_OK) {
        status = watcher.status;
    }
    if (status != PHL_OK) {
        phl_params_free(params);
        return status;
    }
    phl_draw draw = {params, (uint32_t)task->chain, result.iterations, result.log_likelihood,
                     result.objective};
    task->iterations = result.iterations;
    task->stop_reason = result.stop_reason;
    return phl_task_add_draw(task, &draw, error);
}
