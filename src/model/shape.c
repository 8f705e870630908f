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

/* log(1 - prod_l o^l(absent)) */
static double log_condition(const phl_params *params)
{
    double all_absent = 0.0;
    for (size_t l = 0; l < params->slots; l++) {
        all_absent += phl_kernel_log(params->shape[3 * l + ABSENT]);
    }
    return phl_log_complement(all_absent);
}

/* What internal subtree s itself adds, slot by slot. */
static double node_shape(const phl_params *params, const phl_forest *forest, size_t s,
                         double condition)
{
    uint64_t k = forest->first_link[s], end = forest->first_link[s + 1];
    double sum = 0.0;
    for (uint32_t l = 0; l < params->slots; l++) {
        int outcome = ABSENT;
        if (k < end && forest->links[k].slot == l + 1) {
            outcome = is_leaf(forest, forest->links[k].child) ? LEAF : INTERNAL;
            k++;
        }
        sum += phl_kernel_log(params->shape[3 * l + (size_t)outcome]);
    }
    sum -= (double)(end - k) * log(3.0);
    /* All slots surely absent: then there are no internal nodes. */
    return sum == -INFINITY || condition == -INFINITY ? -INFINITY : sum - condition;
}

void phl_shape_add(const phl_params *params, const phl_forest *forest, double *terms)
{
    double condition = log_condition(params);
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        if (!is_leaf(forest, (uint32_t)s)) {
            terms[s] += node_shape(params, forest, s, condition);
        }
    }
}

void phl_shape_run(const phl_params *params, const phl_forest *forest, double *log_shape)
{
    double condition = log_condition(params);
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        log_shape[s] =
            is_leaf(forest, (uint32_t)s) ? 0.0 : node_shape(params, forest, s, condition);
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            log_shape[s] += log_shape[forest->links[k].child];
        }
    }
}

bool phl_shape_tables(const phl_params *params, double *node, double *child, size_t stride)
{
    double condition = log_condition(params), all_absent = 0.0;
    bool possible = condition > -INFINITY;
    for (size_t l = 0; l < params->slots; l++) {
        possible = possible && params->shape[3 * l + ABSENT] > 0.0;
    }
    for (size_t l = 0; l < params->slots; l++) {
        const double *o = params->shape + 3 * l;
        double absent = phl_kernel_log(o[ABSENT]);
        all_absent += absent;
        child[2 * l * stride] = possible ? phl_kernel_log(o[LEAF]) - absent : 0.0;
        child[(2 * l + 1) * stride] = possible ? phl_kernel_log(o[INTERNAL]) - absent : 0.0;
    }
    size_t beyond = 2 * (size_t)params->slots;
    child[beyond * stride] = child[(beyond + 1) * stride] = possible ? -log(3.0) : 0.0;
    *node = possible ? all_absent - condition : 0.0;
    return possible;
}

double phl_shape_tree(const phl_params *params, const phl_forest *forest, const double *log_shape,
                      size_t tree)
{
    uint32_t root = forest->tree_root[tree];
    return log_shape[root] + phl_kernel_log(params->root_kind[is_leaf(forest, root) ? 0 : 1]);
}

phl_status phl_shape_counts(const phl_forest *forest, const double *tree_weight, phl_params *counts,
                            phl_error *error)
{
    double *times = NULL;
    phl_status status = phl_index_occurrences(forest, tree_weight, &times, error);
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
