/* train_weights.c - what the chains of a training count in predictions.
 *
 * Stacking on the trees that were trained on: with thousands of trees and a handful of weights it
 * gives what stacking on trees held out gives (docs/defaults.md), and no tree is lost.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/chain_weights.h"
#include "train/training.h"

enum { MOST_WEIGHTS = 100000 }; /* chains of all classes together; of more, all count the same */

/* Trees of one subtree are one: `first` [n] is a tree of each, m [n] what they weigh together. */
struct distinct {
    size_t n;
    size_t *first;
    double *m;
};

static void clear_distinct(struct distinct *trees)
{
    phl_free(trees->first);
    phl_free(trees->m);
}

static phl_status list_distinct(const phl_forest *forest, struct distinct *trees, phl_error *error)
{
    size_t *number = phl_alloc_zero(forest->n_subtrees, sizeof *number, error); /* + 1 */
    trees->first = phl_alloc(forest->n_trees, sizeof *trees->first, error);
    trees->m = phl_alloc(forest->n_trees, sizeof *trees->m, error);
    if (number == NULL || trees->first == NULL || trees->m == NULL) {
        phl_free(number);
        return PHL_ERR_MEMORY;
    }
    for (size_t t = 0; t < forest->n_trees; t++) {
        uint32_t root = forest->tree_root[t];
        if (number[root] == 0) {
            trees->first[trees->n] = t;
            trees->m[trees->n] = 0.0;
            number[root] = ++trees->n;
        }
        trees->m[number[root] - 1] += phl_tree_weight(forest, t);
    }
    phl_free(number);
    return PHL_OK;
}

/* Add p_d of every tree to the sum of its chain: log-sums [n], without the number of draws. */
static phl_status add_draw(const phl_training *training, const phl_class_data *data,
                           const phl_draw *draw, const struct distinct *trees, double *sums,
                           phl_error *error)
{
    phl_upward *upward = NULL;
    phl_status status =
        phl_upward_create(data->index, draw->params, data->label_row, &upward, error);
    if (status == PHL_OK) {
        status = phl_upward_run(upward, training->options.threads, error);
    }
    for (size_t i = 0; status == PHL_OK && i < trees->n; i++) {
        double log_p = phl_upward_tree(upward, trees->first[i]);
        double high = log_p > sums[i] ? log_p : sums[i], low = log_p > sums[i] ? sums[i] : log_p;
        sums[i] = low == -INFINITY ? high : high + log1p(exp(low - high));
    }
    phl_upward_free(upward);
    return status;
}

static phl_status weigh_class(const phl_training *training, size_t number, phl_error *error)
{
    const phl_class_data *data = &training->classes[number];
    phl_model *model = &training->run->models[number];
    size_t chains = training->n_chains;
    struct distinct trees = {0};
    double *scores = NULL, *weights = phl_alloc(chains, sizeof *weights, error);
    phl_status status =
        weights == NULL ? PHL_ERR_MEMORY : list_distinct(data->forest, &trees, error);
    if (status == PHL_OK) {
        scores = phl_alloc(phl_times(chains, trees.n), sizeof *scores, error);
        status = scores == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t i = 0; status == PHL_OK && i < chains * trees.n; i++) {
        scores[i] = -INFINITY;
    }
    for (size_t d = 0; status == PHL_OK && d < model->n_draws; d++) {
        const phl_draw *draw = &model->draws[d];
        status = add_draw(training, data, draw, &trees, scores + draw->chain * trees.n, error);
    }
    for (size_t k = 0; status == PHL_OK && k < chains; k++) {
        double log_draws = 0.0;
        for (size_t d = 0; d < model->n_draws; d++) {
            log_draws += model->draws[d].chain == k;
        }
        log_draws = log_draws > 0.0 ? log(log_draws) : 0.0;
        for (size_t i = 0; i < trees.n; i++) {
            scores[k * trees.n + i] -= log_draws;
        }
    }
    if (status == PHL_OK) {
        status = phl_chain_weights_stack(scores, trees.m, chains, trees.n, weights, error);
    }
    if (status == PHL_OK) {
        phl_chain_weights_apply(model, weights, chains);
    }
    clear_distinct(&trees);
    phl_free(scores);
    phl_free(weights);
    return status;
}

phl_status phl_train_weights_find(const phl_training *training, phl_error *error)
{
    phl_status status = PHL_OK;
    bool done = true;
    for (size_t i = 0; i < training->n_classes; i++) {
        done = done && training->run->models[i].stop_reason != PHL_STOP_INTERRUPTED;
    }
    if (!done || training->n_chains < 2 || training->n_chains > PHL_CHAINS_WEIGHED ||
        training->n_chains * training->n_classes > MOST_WEIGHTS) {
        return PHL_OK;
    }
    for (size_t i = 0; status == PHL_OK && i < training->n_classes; i++) {
        status = weigh_class(training, i, error);
    }
    return status == PHL_OK ? phl_chain_weights_record(training->run, error) : status;
}
