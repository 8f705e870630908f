/* train.c - training as a whole: tasks, and the run that comes out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "forest/forest_cut.h"
#include "train/partition_json.h"
#include "train/pieces.h"
#include "train/train_config.h"
#include "train/train_head.h"
#include "train/train_options.h"
#include "train/training.h"

/* Weights multiply counts of nodes and log-likelihoods, and flow downwards divided by small norms
 * (PHL_FLOW_MAX, model/kernel.h): far below the largest double all these stay finite.  They
 * multiply probabilities, too: far above the smallest double these keep their digits. */
static phl_status check_weights(const phl_forest *forest, phl_error *error)
{
    double *times = NULL, nodes = 0.0;
    if (forest->tree_weight == NULL) {
        return PHL_OK;
    }
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        if (forest->tree_weight[tree] < 1e-100) {
            phl_position position = {phl_tree_file(forest, tree), phl_tree_line(forest, tree), 0};
            return phl_raise_at(error, PHL_ERR_LIMIT, position,
                                "multiply all weights by the same number, or leave the tree out",
                                "the weight of tree %zu is %.3g, expected at least 1e-100", tree,
                                forest->tree_weight[tree]);
        }
    }
    phl_status status = phl_index_occurrences(forest, NULL, &times, error);
    if (status != PHL_OK) {
        return status;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        nodes += times[s];
    }
    phl_free(times);
    return nodes <= 1e100 ? PHL_OK
                          : phl_raise(error, PHL_ERR_LIMIT, "divide all weights by the same number",
                                      "the weights of the trees are too large: with them there are "
                                      "%.3g nodes, expected at most 1e100",
                                      nodes);
}

static phl_status check_forest(const phl_forest *forest, const phl_train_options *options,
                               phl_error *error)
{
    if (forest->n_trees == 0) {
        return phl_raise(error, PHL_ERR_EMPTY, NULL, "there are no trees to learn from");
    }
    for (size_t tree = 0; options->per_class && tree < forest->n_trees; tree++) {
        if (forest->tree_class[tree] < 0) {
            phl_position position = {phl_tree_file(forest, tree), phl_tree_line(forest, tree), 0};
            return phl_raise_at(
                error, PHL_ERR_EMPTY, position,
                "give every tree a class, or train without " PHL_OPTION("train.per_class"),
                "tree %zu has no class", tree);
        }
    }
    return check_weights(forest, error);
}

/* ---------------------------------------------------------------------------------------------
 * Tasks
 * ------------------------------------------------------------------------------------------- */

static phl_status run_task(phl_train_task *task, phl_error *error)
{
    phl_training *training = task->training;
    (void)pthread_mutex_lock(&training->lock);
    bool cancelled = training->cancelled;
    (void)pthread_mutex_unlock(&training->lock);
    if (cancelled && training->keeper != NULL && task->from == NULL) {
        return PHL_OK; /* not begun: that is for whoever resumes */
    }
    return training->options.learner == PHL_LEARNER_EM ? phl_train_em_run(task, error)
                                                       : phl_train_gibbs_run(task, error);
}

/* A task and what it will cost, more or less. */
struct turn {
    size_t cost;
    phl_train_task *task;
};

/* Largest first: the last ones then end at about the same time in all threads. */
static int compare_turns(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost ? 1 : -1)
                              : (x->task > y->task) - (x->task < y->task);
}

static phl_status run_chunk(size_t chunk, size_t begin, size_t end, int worker, void *context,
                            phl_error *error)
{
    (void)chunk;
    (void)worker;
    const struct turn *turns = context;
    phl_status status = PHL_OK;
    for (size_t i = begin; status == PHL_OK && i < end; i++) {
        status = run_task(turns[i].task, error);
    }
    return status;
}

static phl_status run_tasks(phl_training *training, phl_error *error)
{
    if (training->options.kind == PHL_GRAMMAR) {
        return phl_train_grammar_run(training, error);
    }
    int threads = training->options.threads;
    size_t n_tasks = training->n_classes * training->n_chains, n = 0;
    struct turn *turns = phl_alloc(n_tasks, sizeof *turns, error);
    if (turns == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n_tasks; i++) {
        if (!training->tasks[i].elsewhere) {
            turns[n++] =
                (struct turn){phl_train_task_cost(&training->tasks[i]), &training->tasks[i]};
        }
    }
    training->inner_threads = n == 1 ? threads : 1; /* of one task: inside it */
    if (n > 1 && phl_parallel_threads(threads) > 1) {
        qsort(turns, n, sizeof *turns, compare_turns);
    }
    phl_status status = phl_parallel_chunks(n, 1, threads, run_chunk, turns, NULL, NULL, error);
    phl_free(turns);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Preparing and collecting
 * ------------------------------------------------------------------------------------------- */

/* Trees by class, those of a class in their order: class c has trees[first[c]] and on. */
struct sorted_trees {
    size_t *trees, *first;
};

static void clear_sorted(struct sorted_trees *sorted)
{
    phl_free(sorted->trees);
    phl_free(sorted->first);
}

static phl_status sort_trees(const phl_forest *forest, bool per_class, struct sorted_trees *sorted,
                             phl_error *error)
{
    size_t n = per_class ? forest->classes.count : 1;
    sorted->trees = phl_alloc(forest->n_trees, sizeof *sorted->trees, error);
    sorted->first = phl_alloc_zero(n + 2, sizeof *sorted->first, error);
    if (sorted->trees == NULL || sorted->first == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        sorted->first[(per_class ? (size_t)forest->tree_class[tree] : 0) + 2]++;
    }
    for (size_t c = 0; c < n; c++) {
        sorted->first[c + 2] += sorted->first[c + 1];
    }
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        size_t c = per_class ? (size_t)forest->tree_class[tree] : 0;
        sorted->trees[sorted->first[c + 1]++] = tree;
    }
    return PHL_OK;
}

static phl_status prepare_class(phl_training *training, phl_forest_cutter *cutter,
                                const struct sorted_trees *sorted, phl_class_data *data,
                                phl_error *error)
{
    size_t c = data->class_number < 0 ? 0 : (size_t)data->class_number;
    data->label_row = training->label_row;
    phl_status status =
        phl_forest_cut(cutter, sorted->trees + sorted->first[c],
                       sorted->first[c + 1] - sorted->first[c], &data->forest, error);
    return status == PHL_OK
               ? phl_index_create(data->forest, training->forest->max_slot,
                                  training->options.kind == PHL_TD, &data->index, error)
               : status;
}

static void count_trees(const phl_forest *forest, phl_model *model)
{
    model->trees = forest->n_trees;
    model->weight = 0.0;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        model->weight += phl_tree_weight(forest, tree);
    }
}

static phl_status add_meta(phl_training *training, phl_error *error)
{
    char fingerprint[33], ordered[33];
    phl_status status = phl_train_config_record(&training->options, training->earlier,
                                                training->n_earlier, training->run, error);
    if (status == PHL_OK) {
        status = phl_forest_fingerprint(training->forest, false, fingerprint, error);
    }
    if (status == PHL_OK) {
        status = phl_forest_fingerprint(training->forest, true, ordered, error);
    }
    const char *const facts[][2] = {
        {"version", phl_version()}, {"fingerprint", fingerprint}, {"fingerprint_ordered", ordered}};
    return status == PHL_OK
               ? phl_run_set_facts(training->run, facts, sizeof facts / sizeof *facts, error)
               : status;
}

/* EM: the restart with the best objective, as if it were the only one; NULL when none has begun. */
static phl_train_task *best_restart(phl_train_task *tasks, size_t n)
{
    phl_train_task *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (tasks[i].n_draws > 0 &&
            (best == NULL || tasks[i].draws[0].log_joint > best->draws[0].log_joint)) {
            best = &tasks[i];
        }
    }
    return best;
}

/* Traces, draws and the rest of one class go into the run. */
static phl_status collect_class(phl_training *training, size_t number, phl_error *error)
{
    phl_train_task *tasks = training->tasks + number * training->n_chains;
    phl_model *model = &training->run->models[number];
    bool em = training->options.learner == PHL_LEARNER_EM &&
              training->options.kind != PHL_GRAMMAR; /* which keeps every start */
    phl_train_task *best = em ? best_restart(tasks, training->n_chains) : NULL;
    phl_status status = PHL_OK;
    bool all_done = true, elsewhere = false;
    model->stop_reason = PHL_STOP_ITERATIONS;
    for (size_t t = 0; status == PHL_OK && t < training->n_chains; t++) {
        phl_train_task *task = &tasks[t];
        if (task->elsewhere) {
            elsewhere = true;
            continue;
        }
        for (size_t i = 0; status == PHL_OK && i < task->n_trace; i++) {
            status = phl_run_add_trace(training->run, &task->trace[i], error);
        }
        all_done = all_done && task->stop_reason != 0 && task->stop_reason != PHL_STOP_INTERRUPTED;
        if (em && task != best) {
            continue;
        }
        if (em) {
            model->stop_reason = task->stop_reason;
        }
        model->iterations = task->iterations;
        for (size_t i = 0; status == PHL_OK && i < task->n_draws; i++) {
            phl_draw draw = task->draws[i];
            task->draws[i].params = NULL; /* the run owns it now */
            status = phl_model_add_draw(model, &draw, error);
        }
    }
    if (!all_done) {
        model->stop_reason = PHL_STOP_INTERRUPTED;
    } else if (elsewhere) {
        model->stop_reason = PHL_STOP_ELSEWHERE;
    }
    return status;
}

/* Classes that have trees, in the forest's order: a forest cut out of a larger one knows more. */
static phl_status list_classes(const phl_forest *forest, phl_alphabet *classes, phl_error *error)
{
    bool *present = phl_alloc_zero(forest->classes.count, sizeof *present, error);
    phl_status status = present == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t tree = 0; status == PHL_OK && tree < forest->n_trees; tree++) {
        if (forest->tree_class[tree] >= 0) {
            present[forest->tree_class[tree]] = true;
        }
    }
    for (size_t i = 0; status == PHL_OK && i < forest->classes.count; i++) {
        int32_t number;
        if (present[i]) {
            status = phl_alphabet_add(classes, phl_alphabet_name(&forest->classes, i),
                                      phl_alphabet_length(&forest->classes, i), &number, error);
        }
    }
    phl_free(present);
    return status;
}

/* The data of every class and its tasks. */
static phl_status prepare_classes(phl_training *training, phl_error *error)
{
    const phl_forest *forest = training->forest;
    phl_forest_cutter cutter = {0};
    struct sorted_trees sorted = {NULL, NULL};
    phl_status status = sort_trees(forest, training->options.per_class, &sorted, error);
    if (status == PHL_OK) {
        status = phl_forest_cut_begin(&cutter, forest, error);
    }
    if (status == PHL_OK) {
        status = phl_index_map_labels(forest, &forest->labels, &training->label_row, error);
    }
    for (size_t i = 0; status == PHL_OK && i < training->n_classes; i++) {
        const char *name = phl_run_class_name(training->run, i);
        phl_class_data *data = &training->classes[i];
        data->class_number = name == NULL ? PHL_NO_CLASS : phl_forest_find_class(forest, name);
        data->rhat = (double)NAN;
        status = prepare_class(training, &cutter, &sorted, data, error);
        if (status == PHL_OK) {
            count_trees(data->forest, &training->run->models[i]);
        }
        if (status == PHL_OK && training->run->shapes != NULL) {
            status = phl_shape_model_count(training->run->shapes, i, data->forest,
                                           training->label_row, error);
        }
        for (size_t chain = 0; chain < training->n_chains; chain++) {
            phl_train_task *task = &training->tasks[i * training->n_chains + chain];
            task->training = training;
            task->data = data;
            task->class_index = i;
            task->chain = chain;
        }
    }
    phl_forest_cut_end(&cutter);
    clear_sorted(&sorted);
    return status;
}

static phl_status prepare(phl_training *training, phl_error *error)
{
    const phl_train_options *options = &training->options;
    const phl_forest *forest = training->forest;
    phl_alphabet classes = {0};
    phl_status status = list_classes(forest, &classes, error);
    if (status == PHL_OK) {
        status = phl_run_create(options->kind, options->states, forest->max_slot, &forest->labels,
                                &classes, options->per_class, &training->run, error);
    }
    phl_alphabet_clear(&classes);
    if (status != PHL_OK) {
        return status;
    }
    if (options->head != PHL_HEAD_NONE && training->run->n_models < 2) {
        return phl_raise(error, PHL_ERR_EMPTY, "give trees of two classes or more",
                         "all trees are of one class: a classifier has nothing to tell apart");
    }
    if (options->kind != PHL_GRAMMAR) {
        status = phl_train_memory_reckon(training, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    training->n_classes = training->run->n_models;
    training->n_chains = options->learner == PHL_LEARNER_EM ? options->restarts : options->chains;
    training->classes = phl_alloc_zero(training->n_classes, sizeof *training->classes, error);
    training->tasks = phl_alloc_zero(phl_times(training->n_classes, training->n_chains),
                                     sizeof *training->tasks, error);
    if (training->classes == NULL || training->tasks == NULL) {
        return PHL_ERR_MEMORY;
    }
    if (options->kind != PHL_GRAMMAR) { /* which has shapes of its own */
        status = phl_shape_model_create(forest->max_slot, (uint32_t)forest->labels.count,
                                        training->n_classes, &training->run->shapes, error);
    }
    if (status == PHL_OK) {
        status = prepare_classes(training, error);
    }
    if (status == PHL_OK && training->run->shapes != NULL) {
        status = phl_shape_cells_finish(training->run->shapes, error);
    }
    if (status == PHL_OK) {
        status = phl_pieces_choose(training, error);
    }
    if (status == PHL_OK) {
        status = add_meta(training, error);
    }
    return status == PHL_OK && options->fold != NULL
               ? phl_train_head_record_folds(training->run, options->fold, forest->n_trees, error)
               : status;
}

static void release(phl_training *training)
{
    for (size_t i = 0; training->classes != NULL && i < training->n_classes; i++) {
        phl_slot_pairs_free(training->classes[i].pairs);
        phl_index_free(training->classes[i].index);
        phl_forest_free(training->classes[i].forest);
    }
    size_t n = training->n_classes * training->n_chains;
    for (size_t i = 0; training->tasks != NULL && i < n; i++) {
        for (size_t d = 0; d < training->tasks[i].n_draws; d++) {
            phl_params_free(training->tasks[i].draws[d].params);
        }
        phl_free(training->tasks[i].draws);
        phl_free(training->tasks[i].trace);
        if (training->tasks[i].from != NULL) {
            phl_train_task_state_clear(training->tasks[i].from);
            phl_free(training->tasks[i].from);
        }
    }
    phl_free(training->label_row);
    phl_free(training->classes);
    phl_free(training->tasks);
}

/* Everything up to the models of the run. */
static phl_status learn(phl_training *training, phl_axis **axes, phl_error *error)
{
    const phl_keeper *keeper = training->keeper;
    phl_train_options *options = &training->options;
    phl_train_options_resolve(options);
    phl_status status = phl_train_options_check(options, error);
    if (status != PHL_OK) {
        return status;
    }
    status = check_forest(training->forest, options, error);
    if (status == PHL_OK && options->partition != NULL) {
        status =
            phl_partition_json_parse(options->partition, options->states,
                                     training->forest->max_slot, axes, &training->n_axes, error);
        training->axes = *axes;
    }
    if (status == PHL_OK) {
        status = prepare(training, error);
    }
    if (status == PHL_OK && training->choice.n > 0) {
        status = phl_states_choice_record(training->run, &training->choice, error);
    }
    if (status == PHL_OK && keeper != NULL && keeper->restore != NULL) {
        status = keeper->restore(training, keeper->context, error);
    }
    if (status == PHL_OK) {
        status = run_tasks(training, error);
    }
    for (size_t i = 0; status == PHL_OK && i < training->n_classes; i++) {
        status = collect_class(training, i, error);
    }
    return status;
}

/* With the last step of a training. */
static phl_status run_training(phl_training *training,
                               phl_status (*last)(const phl_training *, phl_error *), phl_run **run,
                               phl_error *error)
{
    phl_axis *axes = NULL;
    (void)clock_gettime(CLOCK_MONOTONIC, &training->began);
    (void)pthread_mutex_init(&training->lock, NULL);
    phl_status status = learn(training, &axes, error);
    if (status == PHL_OK && !training->in_pieces) { /* which needs all tasks */
        status = last(training, error);
    }
    release(training);
    phl_partition_json_free(axes, training->n_axes);
    (void)pthread_mutex_destroy(&training->lock);
    if (status != PHL_OK) {
        phl_run_free(training->run);
        return status;
    }
    *run = training->run;
    return PHL_OK;
}

/* What the chains count, known only when all of them have ended. */
static phl_status weigh(const phl_training *training, phl_error *error)
{
    const phl_train_options *options = &training->options;
    return options->learner == PHL_LEARNER_GIBBS && options->sampler == PHL_SAMPLER_BLOCKED
               ? phl_train_weights_find(training, error)
               : PHL_OK;
}

phl_status phl_train_models(const phl_forest *forest, const phl_train_options *options,
                            phl_run **run, phl_error *error)
{
    phl_training training = {
        .forest = forest, .options = *options, .limited = options->memory_limit != 0};
    return run_training(&training, weigh, run, error);
}

/* And how sure classes are. */
static phl_status finish(const phl_training *training, phl_error *error)
{
    phl_status status = weigh(training, error);
    return status == PHL_OK ? phl_train_calibrate(training, error) : status;
}

/* The number of states, if it is to be chosen. */
static phl_status choose_states(phl_training *training, phl_error *error)
{
    phl_train_options *options = &training->options;
    if (!options->states_auto) {
        return PHL_OK;
    }
    phl_train_options resolved = *options;
    phl_train_options_resolve(&resolved);
    phl_status status = phl_train_options_check(&resolved, error);
    if (status == PHL_OK) {
        status = check_forest(training->forest, &resolved, error);
    }
    if (status == PHL_OK) {
        status = phl_train_states_choose(training->forest, &resolved, &training->choice, error);
    }
    options->states_auto = false;
    options->states = status == PHL_OK ? phl_states_choice_best(&training->choice) : 0;
    return status;
}

phl_status phl_train_kept(const phl_forest *forest, const phl_train_options *options,
                          const size_t *earlier, size_t n_earlier, const phl_keeper *keeper,
                          phl_run **run, phl_error *error)
{
    phl_training training = {.forest = forest,
                             .options = *options,
                             .earlier = earlier,
                             .n_earlier = n_earlier,
                             .keeper = keeper,
                             .slots_asked = options->slots_max != (uint32_t)PHL_DEFAULT &&
                                            (keeper == NULL || keeper->restore == NULL),
                             .limited = options->memory_limit != 0};
    phl_status status = choose_states(&training, error);
    return status == PHL_OK ? run_training(&training, finish, run, error) : status;
}

phl_status phl_train(const phl_forest *forest, const phl_train_options *options, phl_run **run,
                     phl_error *error)
{
    phl_train_options own;
    phl_status status = phl_train_options_take(options, &own, error);
    return status == PHL_OK ? phl_train_kept(forest, &own, NULL, 0, NULL, run, error) : status;
}
