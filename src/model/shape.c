/* shape.c - the shape term: which slots are absent, leaf or internal.
 *
 * It depends on no hidden state, so it is an additive term of the log-likelihood.  An internal
 * node's slots are independent, conditioned on not all being absent: log p = sum_l log o^l(outcome)
 * - log(1 - prod_l o^l(absent)).  Beyond L an occupied slot costs log(1/3), an empty one nothing.
 */
#include <math.h>

#include "base/memory.h"
#include "base/numeric.h"
#include "model/kernel.h"

enum { ABSENT, LEAF, INTERNAL };

static bool is_leaf(const phl_forest *forest, uint32_t s)
{
    return forest->leaf_slot[s] != 0;
}

void phl_shape_run(const phl_params *params, const phl_forest *forest, double *log_shape)
{
    double all_absent = 0.0; /* log prod_l o^l(absent) */
    for (size_t l = 0; l < params->slots; l++) {
        all_absent += phl_log(params->shape[3 * l + ABSENT]);
    }
    double condition = phl_log_complement(all_absent);
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        double sum = 0.0;
        if (!is_leaf(forest, (uint32_t)s)) {
            uint64_t k = forest->first_link[s], end = forest->first_link[s + 1];
            for (uint32_t l = 0; l < params->slots; l++) {
                int outcome = ABSENT;
                if (k < end && forest->links[k].slot == l + 1) {
                    outcome = is_leaf(forest, forest->links[k].child) ? LEAF : INTERNAL;
                    sum += log_shape[forest->links[k].child];
                    k++;
                }
                sum += phl_log(params->shape[3 * l + (size_t)outcome]);
            }
            for (; k < end; k++) {
                sum += log_shape[forest->links[k].child] - log(3.0);
            }
            /* All slots surely absent: then there are no internal nodes. */
            sum = sum == -INFINITY || condition == -INFINITY ? -INFINITY : sum - condition;
        }
        log_shape[s] = sum;
    }
}

double phl_shape_tree(const phl_params *params, const phl_forest *forest, const double *log_shape,
                      size_t tree)
{
    uint32_t root = forest->tree_root[tree];
    return log_shape[root] + phl_log(params->root_kind[is_leaf(forest, root) ? 0 : 1]);
}

phl_status phl_shape_counts(const phl_forest *forest, const double *tree_weight, phl_params *counts,
                            phl_error *error)
{
    double *times = NULL;
    phl_status status = phl_count_occurrences(forest, tree_weight, &times, error);
    if (status != PHL_OK) {
        return status;
    }
    double internal = 0.0;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        double weight = tree_weight != NULL ? tree_weight[tree] : phl_tree_weight(forest, tree);
        counts->root_kind[is_leaf(forest, forest->tree_root[tree]) ? 0 : 1] += weight;
    }
    for (size_t s = forest->n_subtrees; s-- > 0;) {
        internal += is_leaf(forest, (uint32_t)s) ? 0.0 : times[s];
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            if (forest->links[k].slot <= counts->slots) {
                size_t row = 3 * (size_t)(forest->links[k].slot - 1);
                bool leaf = is_leaf(forest, forest->links[k].child);
                counts->shape[row + (leaf ? LEAF : INTERNAL)] += times[s];
            }
        }
    }
    for (size_t l = 0; l < counts->slots; l++) {
        double *row = counts->shape + 3 * l;
        double absent = internal - row[LEAF] - row[INTERNAL];
        row[ABSENT] += absent > 1e-12 * internal ? absent : 0.0; /* what rounding leaves is none */
    }
    phl_free(times);
    return PHL_OK;
}
