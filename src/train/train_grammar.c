/* train_grammar.c - the starts of a grammar as tasks of a training.
 *
 * A start learns all classes together, so the tasks of one start, one a class, are done at one go;
 * what is kept of a start is its outcome.
 */
#include <math.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "grammar/grammar_learn.h"
#include "train/training.h"

/* Number of the model of every tree, to be released with phl_free. */
static phl_status map_trees(const phl_training *training, int32_t **class_of, phl_error *error)
{
    const phl_forest *forest = training->forest;
    int32_t *model_of = phl_alloc_zero(forest->classes.count, sizeof *model_of, error);
    int32_t *made = phl_alloc_zero(forest->n_trees, sizeof *made, error);
    if (model_of == NULL || made == NULL) {
        phl_free(model_of);
        phl_free(made);
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < training->n_classes; i++) {
        int32_t number = training->classes[i].class_number;
        if (number >= 0) {
            model_of[number] = (int32_t)i;
        }
    }
    for (size_t t = 0; training->options.per_class && t < forest->n_trees; t++) {
        made[t] = model_of[forest->tree_class[t]];
    }
    phl_free(model_of);
    *class_of = made;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * One start
 * ------------------------------------------------------------------------------------------- */

struct start {
    phl_training *training;
    const int32_t *class_of;
    size_t number;
    int threads;
    uint64_t steps; /* done */
    /* Every iteration of EM so far, all classes of one after each other; they come into the traces
     * when the start has ended, for what a start that was broken off has done is of no use. */
    phl_trace_row *rows;
    size_t n_rows, rows_capacity;
    size_t first_of_stage;
    phl_status status; /* of the watch */
    phl_error failure;
};

static phl_train_task *task_of(const struct start *start, size_t class_index)
{
    const phl_training *training = start->training;
    return &training->tasks[class_index * training->n_chains + start->number];
}

/* An iteration of EM, or the figure of the stage that its last iterations belong to. */
static phl_status note_step(struct start *start, const phl_learn_step *step, phl_error *error)
{
    size_t n = start->training->n_classes;
    if (step->ends_stage) {
        for (size_t i = start->first_of_stage; i < start->n_rows; i++) {
            start->rows[i].log_joint = step->held_out;
        }
        start->first_of_stage = start->n_rows;
        return PHL_OK;
    }
    phl_status status = phl_grow(&start->rows, &start->rows_capacity, start->n_rows + n,
                                 sizeof *start->rows, error);
    for (size_t c = 0; status == PHL_OK && c < n; c++) {
        start->rows[start->n_rows++] =
            (phl_trace_row){.class_index = c,
                            .chain = start->number,
                            .iteration = step->step,
                            .temperature = 1.0,
                            .log_likelihood = step->by_class[c],
                            .log_joint = (double)NAN,
                            .seconds = phl_train_task_seconds(task_of(start, c)),
                            .active = step->stage,
                            .sum_size = (uint32_t)step->states};
    }
    return status;
}

static bool watch(const phl_learn_step *step, void *context)
{
    struct start *start = context;
    phl_training *training = start->training;
    const phl_train_options *options = &training->options;
    start->steps = step->step;
    start->status = note_step(start, step, &start->failure);
    if (start->status != PHL_OK) {
        return false;
    }
    (void)pthread_mutex_lock(&training->lock);
    if (options->progress != NULL) {
        phl_progress progress = {
            .classes = training->n_classes,
            .restart = start->number,
            .restarts = training->n_chains,
            .iteration = step->step,
            .iterations = step->steps,
            .log_likelihood = step->log_likelihood,
            .rhat = (double)NAN,
            .seconds = phl_train_task_seconds(task_of(start, 0)),
        };
        options->progress(&progress, options->context);
    }
    if (!training->cancelled && options->cancel != NULL && options->cancel(options->context)) {
        training->cancelled = true;
    }
    bool go_on = !training->cancelled;
    (void)pthread_mutex_unlock(&training->lock);
    return go_on;
}

/* Of all labels together. */
static uint32_t count_annotations(const phl_grammar_part *part)
{
    uint32_t sum = 0;
    for (uint32_t x = 0; x < part->rules.labels; x++) {
        sum += part->sizes[x];
    }
    return sum;
}

/* What came out for one class, into its task and to the keeper. */
static phl_status take_part(const struct start *start, size_t class_index, phl_grammar_part *part,
                            phl_error *error)
{
    phl_training *training = start->training;
    phl_train_task *task = task_of(start, class_index);
    phl_draw draw = {.chain = start->number,
                     .iteration = start->steps,
                     .log_likelihood = part->log_likelihood,
                     .log_joint = part->numbers[PHL_PART_HELD_OUT]};
    phl_trace_row row = {.class_index = class_index,
                         .chain = start->number,
                         .iteration = start->steps,
                         .temperature = 1.0,
                         .log_likelihood = draw.log_likelihood,
                         .log_joint = draw.log_joint,
                         .seconds = phl_train_task_seconds(task),
                         .active = (uint32_t)part->numbers[PHL_PART_STAGE],
                         .sum_size = count_annotations(part)};
    size_t n = start->n_rows / training->n_classes;
    phl_status status = phl_params_of_grammar(part, training->options.states,
                                              training->forest->max_slot, &draw.params, error);
    if (status == PHL_OK) {
        status = phl_train_task_add_draw(task, &draw, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&task->trace, &task->trace_capacity, task->n_trace + n + 1,
                          sizeof *task->trace, error);
    }
    if (status == PHL_OK) {
        for (size_t i = 0; i < n; i++) {
            task->trace[task->n_trace++] = start->rows[i * training->n_classes + class_index];
        }
        task->trace[task->n_trace++] = row;
        task->iterations = start->steps;
        task->stop_reason = PHL_STOP_ITERATIONS;
    }
    phl_train_task_state state = {.iteration = start->steps, .kept = 1};
    return status == PHL_OK && training->keeper != NULL ? phl_train_task_offer(task, &state, error)
                                                        : status;
}

/* Was it done, by a training that this one goes on with?  A part of the classes is not enough. */
static bool is_done(const struct start *start)
{
    bool done = true;
    for (size_t c = 0; c < start->training->n_classes; c++) {
        done = done && task_of(start, c)->n_draws > 0;
    }
    return done;
}

static void forget(const struct start *start)
{
    for (size_t c = 0; c < start->training->n_classes; c++) {
        phl_train_task *task = task_of(start, c);
        for (size_t d = 0; d < task->n_draws; d++) {
            phl_params_free(task->draws[d].params);
        }
        task->n_draws = task->n_trace = task->draws_saved = task->trace_saved = 0;
    }
}

static phl_status run_start(struct start *start, phl_error *error)
{
    phl_training *training = start->training;
    const phl_train_options *options = &training->options;
    phl_grammar_part **parts = NULL;
    if (is_done(start)) {
        for (size_t c = 0; c < training->n_classes; c++) {
            phl_train_task *task = task_of(start, c);
            task->iterations = task->draws[0].iteration;
            task->stop_reason = PHL_STOP_ITERATIONS;
        }
        return PHL_OK;
    }
    forget(start);
    const phl_learn_data data = {.forest = training->forest,
                                 .symbol_of = training->label_row,
                                 .labels = (uint32_t)training->forest->labels.count,
                                 .class_of = start->class_of,
                                 .n_classes = training->n_classes};
    const phl_learn_options learn = {.pair = start->number % 2 == 0,
                                     .seed = options->seed,
                                     .stream = start->number,
                                     .most = options->states,
                                     .iterations = options->iterations,
                                     .threads = start->threads,
                                     .memory_limit = options->memory_limit / training->n_chains,
                                     .watch = watch,
                                     .context = start};
    phl_status status = phl_grammar_learn(&data, &learn, &parts, error);
    if (start->status != PHL_OK) {
        status = start->status;
        if (error != NULL) {
            *error = start->failure;
        }
    }
    for (size_t c = 0; parts != NULL && c < training->n_classes; c++) {
        if (status == PHL_OK) {
            status = take_part(start, c, parts[c], error);
        } else {
            phl_grammar_part_free(parts[c]);
        }
    }
    phl_free(parts);
    phl_free(start->rows);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * All of them
 * ------------------------------------------------------------------------------------------- */

static phl_status run_chunk(size_t chunk, size_t begin, size_t end, int worker, void *context,
                            phl_error *error)
{
    (void)chunk;
    (void)worker;
    const struct start *every = context;
    phl_status status = PHL_OK;
    for (size_t i = begin; status == PHL_OK && i < end; i++) {
        struct start start = *every;
        start.number = i;
        if (task_of(&start, 0)->elsewhere) {
            continue;
        }
        status = run_start(&start, error);
        if (status == PHL_ERR_CANCELLED) { /* what others reached is good */
            status = PHL_OK;
        }
    }
    return status;
}

phl_status phl_train_grammar_run(phl_training *training, phl_error *error)
{
    int32_t *class_of = NULL;
    phl_status status = map_trees(training, &class_of, error);
    if (status != PHL_OK) {
        return status;
    }
    bool one = training->n_chains == 1;
    struct start every = {
        .training = training, .class_of = class_of, .threads = one ? training->options.threads : 1};
    status = phl_parallel_chunks(training->n_chains, 1, one ? 1 : training->options.threads,
                                 run_chunk, &every, NULL, NULL, error);
    phl_free(class_of);
    bool some = false;
    for (size_t i = 0; i < training->n_chains; i++) {
        every.number = i;
        some = some || is_done(&every);
    }
    return status == PHL_OK && !some
               ? phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request")
               : status;
}

/* ---------------------------------------------------------------------------------------------
 * Trees held out
 * ------------------------------------------------------------------------------------------- */

/* Mean log p over the starts of some form, of every tree held out under every class: score
 * [held][classes].  False: there is no such start. */
static bool average_scores(const phl_run *run, const char *form, size_t n_held, double *score)
{
    bool any = false;
    for (size_t c = 0; c < run->n_models; c++) {
        const phl_model *model = &run->models[c];
        for (size_t t = 0; t < n_held; t++) {
            double sum = 0.0, starts = 0.0;
            for (size_t d = 0; d < model->n_draws; d++) {
                const phl_grammar_part *part = model->draws[d].params->grammar;
                if (phl_grammar_part_has_form(part, form)) {
                    sum += part->held[t];
                    starts += 1.0;
                }
            }
            score[t * run->n_models + c] = sum / starts;
            any = any || starts > 0.0;
        }
    }
    return any;
}

/* Has every start scored so many trees held out?  Starts may come from a file. */
static phl_status check_held(const phl_run *run, size_t n, phl_error *error)
{
    bool same = true;
    for (size_t c = 0; c < run->n_models; c++) {
        const phl_model *model = &run->models[c];
        for (size_t d = 0; d < model->n_draws; d++) {
            same = same && model->draws[d].params->grammar->n_held == n;
        }
    }
    return same ? PHL_OK
                : phl_raise(error, PHL_ERR_CHANGED, "train anew",
                            "a start of the run was scored on other trees held out");
}

phl_status phl_train_grammar_choose(phl_run *run, phl_calibration_data *data, double *score,
                                    phl_error *error)
{
    static const char *const forms[] = {"all", "pair", "single"};
    double best = -INFINITY;
    const char *chosen = forms[0];
    phl_status status = check_held(run, data->n, error);
    if (status != PHL_OK) {
        return status;
    }
    data->score = score;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        double posterior = -INFINITY;
        if (average_scores(run, forms[i], data->n, score)) {
            (void)phl_calibration_fit(data, &posterior);
        }
        if (posterior > best) {
            best = posterior;
            chosen = forms[i];
        }
    }
    (void)average_scores(run, chosen, data->n, score);
    return phl_run_set_meta(run, "form", chosen, error);
}
