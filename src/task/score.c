/* score.c - how well a model explains each tree. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "task/copies.h"
#include "task/scores.h"

static const phl_score_options defaults = {.size = sizeof(phl_score_options)};

void phl_score_options_init_sized(phl_score_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

phl_status phl_score(const phl_model *model, const phl_forest *forest,
                     const phl_score_options *options, phl_tree_score *scores, phl_error *error)
{
    phl_score_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_score", error);
    if (status != PHL_OK) {
        return status;
    }
    options = &own;
    phl_prepared prepared = {0};
    double *labels = NULL, *both = NULL;
    uint64_t *nodes = NULL, *unknown = NULL;
    status = phl_prepare(model->run, forest, &prepared, error);
    if (status == PHL_OK) {
        status = phl_count_nodes(forest, &nodes, &unknown, error);
    }
    if (status == PHL_OK) {
        labels = phl_alloc(prepared.roots.n, sizeof *labels, error);
        both = phl_alloc(prepared.roots.n, sizeof *both, error);
        status = labels == NULL || both == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status == PHL_OK) {
        status =
            phl_average_scores(&prepared, model, 1, options->threads, options->cancel,
                               options->context, labels, options->structure ? both : NULL, error);
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        uint32_t root = forest->tree_root[t];
        size_t r = prepared.roots.of_tree[t];
        phl_tree_score *score = &scores[t];
        score->nodes = nodes[root];
        score->labels = nodes[root] - unknown[root];
        score->log_likelihood = options->structure ? both[r] : labels[r];
        score->bits_per_label =
            score->labels == 0 ? (double)NAN : -labels[r] / log(2.0) / (double)score->labels;
    }
    phl_prepared_clear(&prepared);
    phl_free(labels);
    phl_free(both);
    phl_free(nodes);
    phl_free(unknown);
    return status;
}
