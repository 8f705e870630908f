/* expected_counts.c - posterior expectations of the sufficient statistics, once per distinct
 * subtree.
 *
 * Downward expectations are linear in the parent's posterior, so summed over occurrences they run
 * once per distinct subtree.  With O(j) = sum over occurrences of p(Q = j | labels) / beta(j),
 * expected counts are O(j) beta(j), and what an internal node passes down is its flow O(j) b_j(x) /
 * norm = (expected count of j) / inside(j), without dividing by what may be 0.
 */
#include <math.h>

#include "base/memory.h"
#include "model/kernel.h"

/* Flow of s into counting->flow, its emission and leaf counts added. */
static void count_subtree(phl_counting *counting, uint32_t s)
{
    const phl_upward *upward = counting->upward;
    const phl_params *params = upward->params;
    const phl_forest *forest = upward->index->forest;
    size_t c = params->states;
    const double *beta = upward->beta + s * c;
    const double *emission = phl_emission_of(upward, s);
    const double *outside = counting->outside + s * c;
    double *emitted = counting->counts->emission + (emission - params->emission);
    double *prior = NULL;
    if (forest->leaf_slot[s] != 0 && params->prior != NULL) {
        prior = counting->counts->prior + phl_leaf_row(params, forest->leaf_slot[s]) * c;
    }
    double norm = upward->norm[s];
    for (size_t j = 0; j < c; j++) {
        double expected = beta[j] > 0.0 ? outside[j] * beta[j] : 0.0;
        emitted[j] += expected;
        if (prior != NULL) {
            prior[j] += expected;
        }
        /* A state of probability 0 passes nothing on that could be counted. */
        counting->flow[j] = params->kind == PHL_TD ? expected
                            : beta[j] > 0.0        ? phl_clamp_flow(outside[j] * emission[j] / norm)
                                                   : 0.0;
    }
}

static void run(phl_counting *counting, const double *tree_weight)
{
    const phl_upward *upward = counting->upward;
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    const phl_kernel *kernel = phl_kernel_of(upward->params->kind);
    for (size_t tree = 0; tree_weight != NULL && tree < forest->n_trees; tree++) {
        if (tree_weight[tree] > 0.0 && phl_upward_tree(upward, tree) > -INFINITY) {
            kernel->count_root(counting, forest->tree_root[tree], tree_weight[tree]);
        }
    }
    for (uint32_t s = 0; tree_weight == NULL && s < forest->n_subtrees; s++) {
        if (index->root_weight[s] > 0.0 &&
            upward->log_likelihood[s] + phl_upward_root(upward, s) > -INFINITY) {
            kernel->count_root(counting, s, index->root_weight[s]);
        }
    }
    for (size_t s = forest->n_subtrees; s-- > 0;) { /* parents before children */
        for (uint32_t pair = index->first_pair[s]; pair < index->first_pair[s + 1]; pair++) {
            kernel->count_pair(counting, pair);
        }
        count_subtree(counting, (uint32_t)s);
        if (forest->leaf_slot[s] == 0) {
            kernel->count_node(counting, (uint32_t)s);
        }
    }
    if (kernel->count_end != NULL) {
        kernel->count_end(counting);
    }
}

phl_status phl_expected_counts(const phl_upward *upward, const double *tree_weight, int threads,
                               phl_params *counts, phl_error *error)
{
    (void)threads; /* sums run in one fixed order; classes and restarts are what runs in parallel */
    const phl_index *index = upward->index;
    size_t c = upward->params->states;
    phl_status status = PHL_ERR_MEMORY;
    phl_counting counting = {.upward = upward, .counts = counts};
    counting.outside =
        phl_alloc_zero(index->forest->n_subtrees * c, sizeof *counting.outside, error);
    counting.pair_sum =
        phl_alloc_zero(index->n_pairs * upward->width, sizeof *counting.pair_sum, error);
    counting.set_sum = phl_alloc_zero(index->n_sets * c, sizeof *counting.set_sum, error);
    counting.flow = phl_alloc(c, sizeof *counting.flow, error);
    counting.scratch = phl_alloc(phl_kernel_of(upward->params->kind)->scratch(upward),
                                 sizeof *counting.scratch, error);
    if (counting.outside != NULL && counting.pair_sum != NULL && counting.set_sum != NULL &&
        counting.flow != NULL && counting.scratch != NULL) {
        run(&counting, tree_weight);
        status = PHL_OK;
    }
    phl_free(counting.outside);
    phl_free(counting.pair_sum);
    phl_free(counting.set_sum);
    phl_free(counting.flow);
    phl_free(counting.scratch);
    return status;
}
