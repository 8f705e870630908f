/* train_gibbs.c - one chain of a sampler as a task of a training. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "gibbs/paper_sampler.h"
#include "train/schedule.h"
#include "train/training.h"

/* ---------------------------------------------------------------------------------------------
 * Options of a chain
 * ------------------------------------------------------------------------------------------- */

/* The share of subtrees whose label is unknown. */
static double unknown_share(const phl_train_task *task)
{
    const phl_forest *forest = task->data->index->forest;
    size_t unknown = 0;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        unknown += forest->label[s] < 0;
    }
    return (double)unknown / (double)forest->n_subtrees;
}

/* How a chain starts.  Starts differ on purpose, by their number of active slots.  When a tenth of
 * the labels or more are unknown, all start by presence (gibbs.h); and when most of them are,
 * states are not recycled, which goes by labels. */
static void choose_start(const phl_train_task *task, phl_gibbs_options *chain)
{
    enum { STARTS = 4, HOLD = 30 };
    const phl_train_options *options = &task->training->options;
    size_t hold = options->warmup / 3;
    if (options->sampler != PHL_SAMPLER_BLOCKED) {
        return;
    }
    double unknown = unknown_share(task);
    chain->start_slots = 1 + (uint32_t)(task->chain % STARTS);
    chain->presence_start = unknown >= 0.1;
    chain->hold_end = !chain->presence_start ? 0 : hold < HOLD ? hold : HOLD;
    chain->recycle = unknown < 0.5 ? options->recycle : 0;
    chain->recycle_end = options->warmup;
}

static phl_gibbs_options chain_options(const phl_train_task *task)
{
    const phl_train_options *options = &task->training->options;
    phl_gibbs_options chain = {
        .alpha = options->alpha,
        .alpha0 = options->alpha0,
        .beta = options->beta,
        .gamma = options->gamma,
        .delta = options->delta,
        .prior = {.phi = options->phi,
                  .slots_min = options->slots_min,
                  .slots_max = options->slots_max,
                  .core_max = options->core_max},
        .fixed_partitions = task->training->n_axes > 0,
        .update_concentration = options->update_concentration,
        .seed = options->seed,
        .stream = phl_train_task_stream(task),
        .threads = task->training->inner_threads,
    };
    return chain;
}

/* Sizes the user fixed, by eligible slot of this class; *fixed is NULL without any. */
static phl_status fix_sizes(const phl_train_task *task, const phl_slot_pairs *pairs,
                            uint32_t **fixed, phl_error *error)
{
    const phl_train_options *options = &task->training->options;
    *fixed = NULL;
    if (options->sizes == NULL) {
        return PHL_OK;
    }
    uint32_t *made = phl_alloc(pairs->n_eligible, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    double cells = 1.0;
    for (uint32_t e = 0; e < pairs->n_eligible; e++) {
        uint32_t slot = pairs->eligible[e];
        made[e] = slot <= options->n_sizes ? options->sizes[slot - 1] : 1;
        cells *= made[e];
    }
    for (size_t i = 0; i < options->n_sizes; i++) {
        bool eligible = false;
        for (uint32_t e = 0; e < pairs->n_eligible; e++) {
            eligible = eligible || pairs->eligible[e] == i + 1;
        }
        if (!eligible && options->sizes[i] > 1 && task->chain == 0) {
            phl_error note;
            (void)phl_raise(&note, PHL_OK,
                            "lower " PHL_OPTION("train.slot_support") " to let it take part",
                            "slot %zu is filled in too few nodes and stays inactive", i + 1);
            phl_train_task_note(task, &note);
        }
    }
    if (cells > (double)options->core_max) {
        phl_free(made);
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "ask for fewer blocks, or raise " PHL_OPTION("train.core_max"),
                         "the sizes make a core of %.0f cells, more than %llu", cells,
                         (unsigned long long)options->core_max);
    }
    *fixed = made;
    return PHL_OK;
}

/* The confines against the slots this class can use. */
static phl_status check_slots(const phl_train_task *task, const phl_slot_pairs *pairs,
                              phl_error *error)
{
    const phl_train_options *options = &task->training->options;
    if (options->slots_min > pairs->n_eligible && options->sizes == NULL &&
        task->training->n_axes == 0) {
        const char *name = phl_run_class_name(task->training->run, task->class_index);
        return phl_raise(
            error, PHL_ERR_ARGUMENT,
            "lower " PHL_OPTION("train.slots_min") " or " PHL_OPTION("train.slot_support"),
            "%s%s%u active slots are asked for, but only %u slots can be active",
            name == NULL ? "" : name, name == NULL ? "" : ": ", options->slots_min,
            pairs->n_eligible);
    }
    if (ldexp(1.0, (int)options->slots_min) > (double)options->core_max && options->sizes == NULL &&
        task->training->n_axes == 0) {
        return phl_raise(
            error, PHL_ERR_ARGUMENT,
            "lower " PHL_OPTION("train.slots_min") ", or raise " PHL_OPTION("train.core_max"),
            "%u active slots make a core of at least %.0f cells, more than %llu",
            options->slots_min, ldexp(1.0, (int)options->slots_min),
            (unsigned long long)options->core_max);
    }
    if (options->slots_max > pairs->n_eligible && task->training->slots_asked && task->chain == 0) {
        phl_error note;
        (void)phl_raise(&note, PHL_OK, NULL,
                        PHL_OPTION("train.slots_max") " %u: only %u slots can be active",
                        options->slots_max, pairs->n_eligible);
        phl_train_task_note(task, &note);
    }
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The blocked sampler
 * ------------------------------------------------------------------------------------------- */

/* A chain of either sampler; the paper's holds a blocked one for all but its moves. */
struct chain {
    phl_gibbs *gibbs;         /* paper->gibbs if there is one */
    phl_paper_sampler *paper; /* NULL: the blocked sampler */
};

static phl_status keep_draw(phl_train_task *task, phl_gibbs *gibbs, phl_error *error)
{
    phl_draw draw = {
        .chain = task->chain, .iteration = gibbs->iteration, .log_joint = gibbs->log_joint};
    phl_gibbs_parameters_expand(gibbs);
    phl_status status = phl_params_clone(gibbs->params, &draw.params, error);
    if (status == PHL_OK) {
        phl_params_round(draw.params);
        /* The pass of the next iteration is this one: nothing is drawn in between. */
        status = phl_gibbs_likelihood(gibbs, &draw.log_likelihood, error);
    }
    if (status != PHL_OK) {
        phl_params_free(draw.params);
        return status;
    }
    return phl_train_task_add_draw(task, &draw, error);
}

/* Moves since the last row.  Of the paper's sampler: states of trees, sizes of slots. */
static void fill_moves(const struct chain *chain, phl_trace_row *row)
{
    phl_partitions *partitions = chain->gibbs->partitions;
    phl_move_count *const moves[PHL_MOVE_TYPES] = {&partitions->reassigned, &partitions->split,
                                                   &partitions->merged, &partitions->carried};
    for (int i = 0; i < PHL_MOVE_TYPES; i++) {
        row->tried[i] = (uint32_t)moves[i]->tried;
        row->changed[i] = (uint32_t)moves[i]->changed;
        moves[i]->tried = moves[i]->changed = 0;
    }
    phl_paper_sampler *paper = chain->paper;
    if (paper != NULL) {
        memset(row->tried, 0, sizeof row->tried);
        memset(row->changed, 0, sizeof row->changed);
        row->tried[0] = (uint32_t)paper->trees_tried;
        row->changed[0] = (uint32_t)paper->trees_taken;
        row->tried[1] = (uint32_t)paper->sizes_tried;
        row->changed[1] = (uint32_t)paper->sizes_taken;
        paper->trees_tried = paper->trees_taken = paper->sizes_tried = paper->sizes_taken = 0;
    }
}

static phl_status offer(phl_train_task *task, const struct chain *chain, bool last,
                        phl_error *error)
{
    phl_gibbs *gibbs = chain->gibbs;
    if (!phl_train_task_due(task, last)) {
        return PHL_OK;
    }
    phl_gibbs_parameters_expand(gibbs);
    phl_train_task_state state = {
        .iteration = gibbs->iteration,
        .kept = task->n_draws,
        .params = gibbs->params,
        .log_lambda0 = gibbs->log_lambda0,
        .alpha = gibbs->alpha,
        .alpha0 = gibbs->alpha0,
        .hidden = chain->paper != NULL ? chain->paper->state : NULL,
        .n_hidden = chain->paper != NULL ? chain->paper->n_nodes : 0,
    };
    return phl_train_task_offer(task, &state, error);
}

/* One iteration, its figures, and the draw if it is one to be kept. */
static phl_status run_iteration(phl_train_task *task, const struct chain *chain,
                                const phl_schedule *schedule, bool *go_on, phl_error *error)
{
    phl_gibbs *gibbs = chain->gibbs;
    double temperature = phl_schedule_temperature(schedule, gibbs->iteration);
    phl_status status = chain->paper != NULL
                            ? phl_paper_sampler_step(chain->paper, temperature, error)
                            : phl_gibbs_step(gibbs, temperature, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_trace_row row = {
        .iteration = gibbs->iteration,
        .temperature = temperature,
        .log_likelihood = gibbs->log_likelihood,
        .log_joint = gibbs->log_joint,
        .active = gibbs->partitions->n_active,
        .seconds = phl_train_task_seconds(task),
    };
    for (uint32_t e = 0; e < gibbs->partitions->n_eligible; e++) {
        row.sum_size += gibbs->partitions->size[e];
    }
    fill_moves(chain, &row);
    if (phl_schedule_keeps(schedule, gibbs->iteration)) {
        status = keep_draw(task, gibbs, error);
    }
    if (status == PHL_OK) {
        status =
            phl_train_progress_watch(task, &row, schedule, (size_t)schedule->total, go_on, error);
    }
    return status;
}

/* To the end of the schedule, or until told to stop. */
static phl_status run_chain(phl_train_task *task, const struct chain *chain,
                            const phl_schedule *schedule, phl_error *error)
{
    phl_gibbs *gibbs = chain->gibbs;
    phl_status status = PHL_OK;
    bool go_on = true;
    while (status == PHL_OK && go_on && gibbs->iteration < schedule->total) {
        if (gibbs->iteration >= schedule->soften) { /* does nothing the second time */
            status = phl_gibbs_soften(gibbs, error);
        }
        if (status != PHL_OK) {
            return status;
        }
        status = run_iteration(task, chain, schedule, &go_on, error);
        if (status == PHL_OK && go_on && gibbs->iteration < schedule->total) {
            status = offer(task, chain, false, error);
        }
    }
    if (status != PHL_OK) {
        return status;
    }
    status = offer(task, chain, true, error);
    if (status != PHL_OK) {
        return status;
    }
    if (task->n_draws == 0) {
        status = keep_draw(task, gibbs, error); /* interrupted early: where the chain is */
    }
    if (status == PHL_OK) {
        task->iterations = gibbs->iteration;
        task->stop_reason =
            gibbs->iteration >= schedule->total ? PHL_STOP_ITERATIONS : PHL_STOP_INTERRUPTED;
    }
    return status;
}

/* Are lambda0 and the concentrations of a checkpoint such as this training makes? */
static bool base_fits(const phl_train_options *options, const phl_train_task_state *from)
{
    bool fits = options->update_concentration
                    ? isfinite(from->alpha) && isfinite(from->alpha0) && from->alpha > 0.0 &&
                          from->alpha0 > 0.0
                    : from->alpha == options->alpha && from->alpha0 == options->alpha0;
    double sum = 0.0;
    for (uint32_t j = 0; j < from->params->states; j++) {
        sum += exp(from->log_lambda0[j]);
    }
    return fits && fabs(sum - 1.0) < 1e-6;
}

/* A new chain, put where the task was. */
static phl_status restore(const phl_train_task *task, const struct chain *chain, phl_error *error)
{
    const phl_train_task_state *from = task->from;
    const phl_params *params = from->params;
    const uint32_t *eligible_of = chain->gibbs->pairs->eligible_of;
    bool fits = from->n_hidden == (chain->paper == NULL ? 0 : chain->paper->n_nodes);
    for (size_t i = 0; fits && i < from->n_hidden; i++) {
        fits = from->hidden[i] < chain->gibbs->params->states;
    }
    if (!fits) {
        return phl_raise(error, PHL_ERR_SYNTAX, "use an undamaged copy, or train again",
                         "the hidden states of the checkpoint are not those of these trees");
    }
    fits = task->training->options.soft || !params->soft;
    for (uint32_t a = 0; fits && a < params->n_axes; a++) {
        fits = eligible_of[params->axes[a].slot] != PHL_NOT_ELIGIBLE;
    }
    if (!fits) {
        return phl_raise(error, PHL_ERR_SYNTAX, "use an undamaged copy, or train again",
                         "the active slots of the checkpoint are not ones that this training "
                         "can have");
    }
    if (!base_fits(&task->training->options, from)) {
        return phl_raise(error, PHL_ERR_SYNTAX, "use an undamaged copy, or train again",
                         "the base of the core in the checkpoint is not such as this training "
                         "makes");
    }
    phl_chain_state state = {from->iteration, from->params, from->log_lambda0, from->alpha,
                             from->alpha0};
    return chain->paper != NULL
               ? phl_paper_sampler_restore(chain->paper, &state, from->hidden, error)
               : phl_gibbs_restore(chain->gibbs, &state, error);
}

/* A chain at its start, on the pairs of its class. */
static phl_status make_chain(const phl_train_task *task, const phl_slot_pairs *pairs,
                             const uint32_t *fixed, struct chain *chain, phl_error *error)
{
    const phl_training *training = task->training;
    const phl_train_options *options = &training->options;
    phl_gibbs_options chosen = chain_options(task);
    choose_start(task, &chosen);
    uint32_t labels = (uint32_t)training->forest->labels.count;
    chosen.prior.fixed = fixed;
    if (options->sampler == PHL_SAMPLER_BLOCKED) {
        return phl_gibbs_create(pairs, task->data->label_row, options->states, labels,
                                training->axes, training->n_axes, &chosen, &chain->gibbs, error);
    }
    phl_status status = phl_paper_sampler_create(pairs, task->data->label_row, options->states,
                                                 labels, &chosen, &chain->paper, error);
    chain->gibbs = status == PHL_OK ? chain->paper->gibbs : NULL;
    return status;
}

static void free_chain(struct chain *chain)
{
    if (chain->paper != NULL) {
        phl_paper_sampler_free(chain->paper);
    } else {
        phl_gibbs_free(chain->gibbs);
    }
}

/* The pairs of a class are made by the first of its chains that needs them, shared by all, and
 * released by the last. */
static phl_status borrow_pairs(phl_train_task *task, phl_error *error)
{
    phl_training *training = task->training;
    phl_class_data *data = task->data;
    phl_status status = PHL_OK;
    (void)pthread_mutex_lock(&training->lock);
    if (data->pairs == NULL) {
        status =
            phl_slot_pairs_create(data->index, training->options.slot_support, &data->pairs, error);
    }
    (void)pthread_mutex_unlock(&training->lock);
    return status;
}

static void return_pairs(phl_train_task *task)
{
    phl_training *training = task->training;
    phl_class_data *data = task->data;
    (void)pthread_mutex_lock(&training->lock);
    if (++data->n_done == training->n_chains) {
        phl_slot_pairs_free(data->pairs);
        data->pairs = NULL;
    }
    (void)pthread_mutex_unlock(&training->lock);
}

/* The chain of a task, from its start or from where it was. */
static phl_status run(phl_train_task *task, const phl_schedule *schedule, phl_error *error)
{
    struct chain chain = {NULL, NULL};
    uint32_t *fixed = NULL;
    phl_status status = borrow_pairs(task, error);
    if (status == PHL_OK) {
        status = check_slots(task, task->data->pairs, error);
    }
    if (status == PHL_OK) {
        status = fix_sizes(task, task->data->pairs, &fixed, error);
    }
    if (status == PHL_OK) {
        status = make_chain(task, task->data->pairs, fixed, &chain, error);
    }
    if (status == PHL_OK && task->from != NULL) {
        status = restore(task, &chain, error);
    }
    if (status == PHL_OK) {
        status = run_chain(task, &chain, schedule, error);
    }
    free_chain(&chain);
    phl_free(fixed);
    return status;
}

phl_status phl_train_gibbs_run(phl_train_task *task, phl_error *error)
{
    const phl_training *training = task->training;
    phl_schedule schedule =
        phl_schedule_make(&training->options, training->earlier, training->n_earlier);
    phl_status status = PHL_OK;
    if (task->from != NULL && task->from->iteration >= schedule.total && task->n_draws > 0) {
        task->iterations = task->from->iteration; /* nothing left to do */
        task->stop_reason = PHL_STOP_ITERATIONS;
    } else {
        status = run(task, &schedule, error);
    }
    return_pairs(task);
    return status;
}
