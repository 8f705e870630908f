/* train_gibbs.c - one chain of a sampler as a task of a training. */
#include <string.h>

#include "base/memory.h"
#include "learn/gibbs.h"
#include "learn/training.h"

/* ---------------------------------------------------------------------------------------------
 * Options of a chain
 * ------------------------------------------------------------------------------------------- */

static phl_gibbs_options chain_options(const phl_task *task)
{
    const phl_train_options *options = &task->training->options;
    phl_gibbs_options chain = {
        .alpha = options->alpha,
        .alpha0 = options->alpha0,
        .beta = options->beta,
        .gamma = options->gamma,
        .delta = options->delta,
        .slot_support = options->slot_support,
        .prior = {.phi = options->phi,
                  .slots_min = options->slots_min,
                  .slots_max = options->slots_max,
                  .core_max = options->core_max},
        .fixed_partitions = task->training->n_modes > 0,
        .update_concentration = options->update_concentration,
        .anneal_start = options->anneal_start,
        .anneal_end = options->anneal_end,
        .seed = options->seed,
        .stream = phl_task_stream(task),
        .threads = task->training->inner_threads,
    };
    return chain;
}

/* Sizes the user fixed, by eligible slot of this class; *fixed is NULL without any. */
static phl_status fix_sizes(const phl_task *task, const phl_rows *rows, uint32_t **fixed,
                            phl_error *error)
{
    const phl_train_options *options = &task->training->options;
    *fixed = NULL;
    if (options->sizes == NULL) {
        return PHL_OK;
    }
    uint32_t *made = phl_alloc(rows->n_eligible, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    double cells = 1.0;
    for (uint32_t e = 0; e < rows->n_eligible; e++) {
        uint32_t slot = rows->eligible[e];
        made[e] = slot <= options->n_sizes ? options->sizes[slot - 1] : 1;
        cells *= made[e];
    }
    for (size_t i = 0; i < options->n_sizes; i++) {
        bool eligible = false;
        for (uint32_t e = 0; e < rows->n_eligible; e++) {
            eligible = eligible || rows->eligible[e] == i + 1;
        }
        if (!eligible && options->sizes[i] > 1 && task->chain == 0) {
            phl_task_note(task, "lower --slot-support to let it take part",
                          "slot %zu is filled in too few nodes and stays inactive", i + 1);
        }
    }
    if (cells > (double)options->core_max) {
        phl_free(made);
        return phl_raise(error, PHL_ERR_ARGUMENT, "ask for fewer blocks, or raise --core-max",
                         "the sizes make a core of %.0f cells, more than %llu", cells,
                         (unsigned long long)options->core_max);
    }
    *fixed = made;
    return PHL_OK;
}

/* The confines against the slots this class can use. */
static phl_status check_slots(const phl_task *task, const phl_rows *rows, phl_error *error)
{
    const phl_train_options *options = &task->training->options;
    if (options->slots_min > rows->n_eligible && options->sizes == NULL &&
        task->training->n_modes == 0) {
        const char *name = phl_run_class_name(task->training->run, task->class_index);
        return phl_raise(error, PHL_ERR_ARGUMENT, "lower --slots-min or --slot-support",
                         "%s%s%u active slots are asked for, but only %u slots can be active",
                         name == NULL ? "" : name, name == NULL ? "" : ": ", options->slots_min,
                         rows->n_eligible);
    }
    if (options->slots_max > rows->n_eligible && options->slots_max != 5 && task->chain == 0) {
        phl_task_note(task, NULL, "--slots-max %u: only %u slots can be active",
                      options->slots_max, rows->n_eligible);
    }
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The blocked sampler
 * ------------------------------------------------------------------------------------------- */

/* Is the state after `done` of `total` iterations one of `keep`, spread over what follows `warmup`? */
static bool is_kept(uint64_t done, uint64_t warmup, uint64_t total, uint64_t keep)
{
    uint64_t span = total - warmup;
    if (done <= warmup) {
        return false;
    }
    uint64_t at = done - warmup;
    keep = keep < span ? keep : span;
    return at * keep / span != (at - 1) * keep / span;
}

static phl_status keep_draw(phl_task *task, phl_gibbs *gibbs, phl_error *error)
{
    phl_draw draw = {NULL, (uint32_t)task->chain, gibbs->iteration, 0.0, gibbs->log_joint};
    phl_status status = phl_params_clone(gibbs->params, &draw.params, error);
    if (status == PHL_OK) {
        /* The pass of the next iteration is this one: nothing is drawn in between. */
        status = phl_upward_run(gibbs->upward, gibbs->options.threads, error);
    }
    if (status != PHL_OK) {
        phl_params_free(draw.params);
        return status;
    }
    draw.log_likelihood = phl_gibbs_likelihood(gibbs);
    return phl_task_add_draw(task, &draw, error);
}

static void fill_moves(phl_gibbs *gibbs, phl_trace_row *row)
{
    phl_partitions *partitions = gibbs->partitions;
    phl_move_count *const moves[PHL_MOVE_TYPES] = {&partitions->reassigned, &partitions->split,
                                                   &partitions->merged, &partitions->carried};
    for (int i = 0; i < PHL_MOVE_TYPES; i++) {
        row->tried[i] = (uint32_t)moves[i]->tried;
        row->changed[i] = (uint32_t)moves[i]->changed;
        moves[i]->tried = moves[i]->changed = 0;
    }
}

/* Run to `total` iterations, keeping draws behind `warmup`. */
static phl_status run_stage(phl_task *task, phl_gibbs *gibbs, uint64_t warmup, uint64_t total,
                            uint64_t keep, uint64_t limit, bool *go_on, phl_error *error)
{
    phl_status status = PHL_OK;
    uint64_t began = gibbs->iteration;
    while (status == PHL_OK && *go_on && gibbs->iteration - began < total) {
        status = phl_gibbs_step(gibbs, error);
        if (status != PHL_OK) {
            break;
        }
        phl_trace_row row = {
            .iteration = gibbs->iteration,
            .temperature = gibbs->temperature,
            .log_likelihood = gibbs->log_likelihood,
            .log_joint = gibbs->log_joint,
            .active = gibbs->partitions->n_active,
            .seconds = phl_task_seconds(task),
        };
        for (uint32_t e = 0; e < gibbs->partitions->n_eligible; e++) {
            row.sum_size += gibbs->partitions->size[e];
        }
        fill_moves(gibbs, &row);
        if (is_kept(gibbs->iteration - began, warmup, total, keep)) {
            status = keep_draw(task, gibbs, error);
        }
        if (status == PHL_OK) {
            status = phl_task_watch(task, &row, (size_t)limit, go_on, error);
        }
    }
    return status;
}

phl_status phl_task_run_gibbs(phl_task *task, phl_error *error)
{
    phl_training *training = task->training;
    const phl_train_options *options = &training->options;
    phl_gibbs_options chain = chain_options(task);
    phl_gibbs *gibbs = NULL;
    uint32_t *fixed = NULL;
    phl_rows *probe = NULL; /* tells the eligible slots before the chain is made */
    phl_status status = phl_rows_create(task->part->index, options->states, chain.slot_support,
                                        &probe, error);
    if (status == PHL_OK) {
        status = check_slots(task, probe, error);
    }
    if (status == PHL_OK) {
        status = fix_sizes(task, probe, &fixed, error);
    }
    phl_rows_free(probe);
    if (status == PHL_OK) {
        chain.prior.fixed = fixed;
        status = phl_gibbs_create(task->part->index, task->part->label_row, options->states,
                                  (uint32_t)training->forest->labels.count, training->modes,
                                  training->n_modes, &chain, &gibbs, error);
    }
    bool go_on = true;
    uint64_t hard = options->iterations, soft = options->soft ? hard - options->warmup : 0;
    if (status == PHL_OK) {
        status = run_stage(task, gibbs, options->warmup, hard, options->soft ? 0 : options->keep,
                           hard + soft, &go_on, error);
    }
    if (status == PHL_OK && options->soft && go_on) {
        status = phl_gibbs_soften(gibbs, error);
        if (status == PHL_OK) {
            status = run_stage(task, gibbs, soft / 2, soft, options->keep, hard + soft, &go_on,
                               error);
        }
    }
    if (status == PHL_OK && task->n_draws == 0) {
        status = keep_draw(task, gibbs, error); /* interrupted early: where the chain is */
    }
    if (status == PHL_OK) {
        task->iterations = gibbs->iteration;
        task->stop_reason = go_on ? PHL_STOP_ITERATIONS : PHL_STOP_INTERRUPTED;
    }
    phl_gibbs_free(gibbs);
    phl_free(fixed);
    return status;
}
