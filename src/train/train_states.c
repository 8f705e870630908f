/* train_states.c - the number of hidden states, chosen by trees held out (`--states auto`).
 *
 * Every tenth tree of a class is held out.  Models with 5, 10, 20, ... states are trained on the
 * rest, by no more than four chains, and the number under which the trees held out have the highest
 * likelihood, each in the model of its class, is taken for a training on all trees.  All classes
 * have the same number.  Numbers grow until one is clearly worse than the best before it.
 *
 * Contents: trees held out, one number of states, the choice.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "forest/copy.h"
#include "model/scores.h"
#include "train/training.h"

enum { FIRST_STATES = 5, CHAINS_TO_CHOOSE = 4 };
#define IMPOSSIBLE (-1e6) /* nats of a tree of probability 0 */

struct choosing {
    const phl_forest *forest;
    const phl_train_options *options; /* resolved */
    phl_states_choice *made;
    phl_forest *held, *rest;
    uint64_t *nodes; /* of the subtrees of `held` */
    double *best,
        *latest; /* [trees held out] weighted log-likelihoods; of the best number so far */
};

/* ---------------------------------------------------------------------------------------------
 * Trees held out
 * ------------------------------------------------------------------------------------------- */

/* Every stride-th tree of a class, counted from its first, goes to `held`. */
static phl_status divide(const phl_forest *forest, bool per_class, size_t stride, size_t *held,
                         size_t *n_held, size_t *rest, size_t *n_rest, phl_error *error)
{
    size_t *seen = phl_alloc_zero(forest->classes.count + 1, sizeof *seen, error);
    if (seen == NULL) {
        return PHL_ERR_MEMORY;
    }
    *n_held = *n_rest = 0;
    for (size_t t = 0; t < forest->n_trees; t++) {
        size_t class_index = per_class ? (size_t)forest->tree_class[t] : 0;
        if (seen[class_index]++ % stride == stride - 1) {
            held[(*n_held)++] = t;
        } else {
            rest[(*n_rest)++] = t;
        }
    }
    phl_free(seen);
    return PHL_OK;
}

static phl_status cut(struct choosing *work, phl_error *error)
{
    const phl_forest *forest = work->forest;
    bool per_class = work->options->per_class;
    size_t n_held = 0, n_rest = 0;
    size_t *held = phl_alloc(forest->n_trees, sizeof *held, error);
    size_t *rest = phl_alloc(forest->n_trees, sizeof *rest, error);
    phl_status status = held == NULL || rest == NULL ? PHL_ERR_MEMORY : PHL_OK;
    static const size_t strides[] = {10, 2}; /* of few trees more are held out */
    for (size_t i = 0; status == PHL_OK && n_held == 0 && i < 2; i++) {
        status = divide(forest, per_class, strides[i], held, &n_held, rest, &n_rest, error);
    }
    if (status == PHL_OK && n_held == 0) {
        status =
            phl_raise(error, PHL_ERR_EMPTY, "give the number: " PHL_OPTION_TO("train.states", "10"),
                      "there are too few trees to choose the number of states by: none "
                      "can be held out");
    }
    if (status == PHL_OK) {
        status = phl_copy_trees(forest, rest, n_rest, PHL_COPY_USED, &work->rest, error);
    }
    if (status == PHL_OK) {
        status = phl_forest_select(forest, held, n_held, &work->held, error);
    }
    phl_free(held);
    phl_free(rest);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * One number of states
 * ------------------------------------------------------------------------------------------- */

/* Into work->latest the weighted log-likelihood of every tree held out, in the model of its class.
 */
static phl_status score(struct choosing *work, const phl_run *run, phl_error *error)
{
    const phl_train_options *options = work->options;
    const phl_forest *held = work->held;
    phl_prepared prepared = {0};
    double *scores = NULL;
    phl_status status = phl_scores_prepare(run, held, &prepared, error);
    if (status == PHL_OK) {
        scores = phl_alloc(phl_times(run->n_models, prepared.roots.n), sizeof *scores, error);
        status = scores == NULL ? PHL_ERR_MEMORY
                                : phl_scores_average(&prepared, run->models, run->n_models, true,
                                                     options->threads, options->cancel,
                                                     options->context, scores, NULL, error);
    }
    for (size_t t = 0; status == PHL_OK && t < held->n_trees; t++) {
        size_t model =
            run->per_class
                ? phl_run_find_class(run, phl_forest_class_name(held, held->tree_class[t]))
                : 0;
        double log_p = scores[model * prepared.roots.n + prepared.roots.of_tree[t]];
        work->latest[t] = phl_tree_weight(held, t) * fmax(log_p, IMPOSSIBLE);
    }
    phl_free(scores);
    phl_scores_clear(&prepared);
    return status;
}

/* Train with so many states on the rest, and look at the trees held out. */
static phl_status try_states(struct choosing *work, uint32_t states, phl_error *error)
{
    phl_train_options options = *work->options;
    phl_run *run = NULL;
    options.states = states;
    options.states_auto = false;
    options.head = PHL_HEAD_NONE;
    options.calibrate = false;
    options.fold = NULL;
    options.chains = options.chains < CHAINS_TO_CHOOSE ? options.chains : CHAINS_TO_CHOOSE;
    options.progress = NULL;
    options.report = NULL;
    phl_status status = phl_train_models(work->rest, &options, &run, error);
    if (status == PHL_OK && options.cancel != NULL && options.cancel(options.context)) {
        status = phl_raise(error, PHL_ERR_CANCELLED, NULL,
                           "stopped on request while the number of states was being chosen");
    }
    if (status == PHL_OK) {
        status = score(work, run, error);
    }
    phl_run_free(run);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The choice
 * ------------------------------------------------------------------------------------------- */

/* Tell the user how far the choice is. */
static void note(const struct choosing *work, uint32_t states, double nats)
{
    const phl_train_options *options = work->options;
    phl_error told;
    if (options->report != NULL) {
        (void)phl_raise(&told, PHL_OK, NULL, "%u states: %.4f nats a node of %zu trees held out",
                        states, nats, work->held->n_trees);
        options->report(&told, options->context);
    }
}

static double sum_of(const double *values, size_t n)
{
    double sum = 0.0;
    for (size_t t = 0; t < n; t++) {
        sum += values[t];
    }
    return sum;
}

/* Is the latest number worse than the best, by more than twice the standard error of that? */
static bool is_clearly_worse(const struct choosing *work)
{
    double n = (double)work->held->n_trees, sum = 0.0, squares = 0.0;
    for (size_t t = 0; t < work->held->n_trees; t++) {
        double change = work->latest[t] - work->best[t];
        sum += change;
        squares += change * change;
    }
    return n > 1.0 && sum < -2.0 * sqrt(fmax(squares - sum * sum / n, 0.0) * n / (n - 1.0));
}

/* The number of states that follows: twice as many, at last the greatest; 0: none does. */
static uint32_t next_states(uint32_t states, uint32_t most)
{
    return states >= most      ? 0
           : states == 0       ? (most < FIRST_STATES ? most : FIRST_STATES)
           : states > most / 2 ? most
                               : 2 * states;
}

static phl_status choose(struct choosing *work, phl_error *error)
{
    const phl_forest *held = work->held;
    phl_states_choice *made = work->made;
    double nodes = 0.0, highest = -INFINITY;
    bool worse = false;
    phl_status status = PHL_OK;
    for (size_t t = 0; t < held->n_trees; t++) {
        nodes += phl_tree_weight(held, t) * (double)work->nodes[held->tree_root[t]];
    }
    made->trees = held->n_trees;
    for (uint32_t states = next_states(0, work->options->states_max);
         status == PHL_OK && states != 0 && !worse;
         states = next_states(states, work->options->states_max)) {
        phl_error reason = {0};
        status = try_states(work, states, &reason);
        if (status == PHL_ERR_LIMIT && made->n > 0) {
            return PHL_OK; /* more take more memory than there may be */
        }
        if (status != PHL_OK) {
            if (error != NULL) {
                *error = reason;
            }
            return status;
        }
        double sum = sum_of(work->latest, held->n_trees);
        note(work, states, sum / nodes);
        made->tried[made->n].states = states;
        made->tried[made->n++].nats = sum / nodes;
        worse = made->n > 1 && is_clearly_worse(work);
        if (made->n == 1 || sum > highest) {
            highest = sum;
            memcpy(work->best, work->latest, held->n_trees * sizeof *work->best);
        }
    }
    return status;
}

phl_status phl_train_states_choose(const phl_forest *forest, const phl_train_options *options,
                                   phl_states_choice *made, phl_error *error)
{
    struct choosing work = {.forest = forest, .options = options, .made = made};
    uint64_t *unknown = NULL;
    memset(made, 0, sizeof *made);
    phl_status status = cut(&work, error);
    if (status == PHL_OK) {
        status = phl_forest_count_nodes(work.held, &work.nodes, &unknown, error);
    }
    if (status == PHL_OK) {
        work.best = phl_alloc(work.held->n_trees, sizeof *work.best, error);
        work.latest = phl_alloc(work.held->n_trees, sizeof *work.latest, error);
        status = work.best == NULL || work.latest == NULL ? PHL_ERR_MEMORY : choose(&work, error);
    }
    phl_free(work.best);
    phl_free(work.latest);
    phl_free(work.nodes);
    phl_free(unknown);
    phl_forest_free(work.held);
    phl_forest_free(work.rest);
    return status;
}
