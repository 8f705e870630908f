/* paper_sampler.c - the sampler of the paper: its start, step 1 and the whole iteration; see
 * paper_sampler.h.  Step 2 is in paper_sampler_sizes.c, step 3 is that of the blocked sampler.
 *
 * Nodes of a tree lie in pre-order, so going backwards meets children before parents: a child adds
 * its offset to the cell of its parent, and the cell is complete when the parent is reached.
 */
#include "gibbs/paper_sampler.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "gibbs/paper_sampler_state.h"
#include "model/kernel.h"
#include "model/purposes.h"

/* ---------------------------------------------------------------------------------------------
 * Counts
 * ------------------------------------------------------------------------------------------- */

/* What each state of a child adds to the cell of its parent, under the present partitions. */
static void set_offsets(phl_paper_sampler *sampler)
{
    const phl_partitions *partitions = sampler->gibbs->partitions;
    size_t c = partitions->states;
    sampler->empty_cell = 0;
    for (size_t e = 0; e < partitions->n_eligible; e++) {
        const uint32_t *block = partitions->block + e * (c + 1);
        uint32_t stride = (uint32_t)partitions->stride[e];
        sampler->empty_cell += stride * block[c];
        for (size_t q = 0; q < c; q++) {
            sampler->offset[e * c + q] = stride * block[q] - stride * block[c];
        }
    }
}

/* Cells of the nodes first .. end - 1 as if all slots were empty. */
static void clear_cells(const phl_paper_sampler *sampler, size_t first, size_t end, uint32_t *cell)
{
    for (size_t u = first; u < end; u++) {
        cell[u] = sampler->nodes[u].leaf_row == PHL_PAPER_SAMPLER_NONE ? sampler->empty_cell : 0;
    }
}

/* The state of u enters the cell of its parent. */
static inline void tell_parent(const phl_paper_sampler *sampler, size_t u, const uint32_t *state,
                               uint32_t *cell)
{
    const phl_paper_sampler_node *node = &sampler->nodes[u];
    if (node->eligible != PHL_PAPER_SAMPLER_NONE) {
        size_t c = sampler->gibbs->params->states;
        cell[node->parent] += sampler->offset[node->eligible * c + state[u]];
    }
}

phl_status phl_paper_sampler_count_cells(phl_paper_sampler *sampler, phl_error *error)
{
    phl_partitions *partitions = sampler->gibbs->partitions;
    phl_status status = phl_partitions_count(partitions, error); /* no portions: all 0 */
    if (status != PHL_OK) {
        return status;
    }
    set_offsets(sampler);
    clear_cells(sampler, 0, sampler->n_nodes, sampler->cell);
    for (size_t u = 0; u < sampler->n_nodes; u++) {
        tell_parent(sampler, u, sampler->state, sampler->cell);
    }
    for (size_t u = 0; u < sampler->n_nodes; u++) {
        if (sampler->nodes[u].leaf_row == PHL_PAPER_SAMPLER_NONE) {
            partitions->cells[(size_t)sampler->cell[u] * partitions->states + sampler->state[u]]++;
        }
    }
    return PHL_OK;
}

/* All counts from Q. */
static phl_status count_states(phl_paper_sampler *sampler, phl_error *error)
{
    const phl_params *params = sampler->gibbs->params;
    phl_gibbs_counts *counts = &sampler->gibbs->counts;
    size_t c = params->states, labels = params->labels;
    memset(counts->prior, 0, ((size_t)params->slots + 1) * c * sizeof *counts->prior);
    memset(counts->emission, 0, (labels + 1) * c * sizeof *counts->emission);
    for (size_t u = 0; u < sampler->n_nodes; u++) {
        const phl_paper_sampler_node *node = &sampler->nodes[u];
        if (node->leaf_row != PHL_PAPER_SAMPLER_NONE) {
            counts->prior[node->leaf_row * c + sampler->state[u]]++;
        }
        if (node->label_row <= labels) {
            counts->emission[node->label_row * c + sampler->state[u]]++;
        }
    }
    return phl_paper_sampler_count_cells(sampler, error);
}

/* ---------------------------------------------------------------------------------------------
 * Start
 * ------------------------------------------------------------------------------------------- */

/* Numbers of nodes and trees, weights (which the blocked sampler found to be whole) written out. */
static phl_status measure(phl_paper_sampler *sampler, phl_error *error)
{
    const phl_forest *forest = sampler->gibbs->index->forest;
    double *size = phl_alloc(forest->n_subtrees, sizeof *size, error);
    if (size == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        size[s] = 1.0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            size[s] += size[forest->links[k].child];
        }
    }
    double nodes = 0.0, trees = 0.0;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        nodes += phl_tree_weight(forest, tree) * size[forest->tree_root[tree]];
        trees += phl_tree_weight(forest, tree);
    }
    phl_free(size);
    if (nodes >= (double)PHL_PAPER_SAMPLER_NONE) {
        return phl_raise(error, PHL_ERR_LIMIT, "use " PHL_OPTION_TO("train.sampler", "blocked"),
                         "%.0f nodes: the sampler of the paper keeps each of them separately, "
                         "at most %u",
                         nodes, PHL_PAPER_SAMPLER_NONE - 1);
    }
    sampler->n_nodes = (size_t)nodes;
    sampler->n_trees = (size_t)trees;
    return PHL_OK;
}

static phl_status allocate(phl_paper_sampler *sampler, phl_error *error)
{
    size_t n = sampler->n_nodes, c = sampler->gibbs->params->states;
    size_t e_count = sampler->gibbs->pairs->n_eligible;
    sampler->first = phl_alloc(sampler->n_trees + 1, sizeof *sampler->first, error);
    sampler->nodes = phl_alloc(n, sizeof *sampler->nodes, error);
    sampler->state = phl_alloc(n, sizeof *sampler->state, error);
    sampler->cell = phl_alloc_zero(n, sizeof *sampler->cell, error);
    sampler->new_state = phl_alloc(n, sizeof *sampler->new_state, error);
    sampler->new_cell = phl_alloc(n, sizeof *sampler->new_cell, error);
    sampler->offset = phl_alloc(e_count * c, sizeof *sampler->offset, error);
    sampler->old_size = phl_alloc(e_count, sizeof *sampler->old_size, error);
    sampler->old_block = phl_alloc(e_count * (c + 1), sizeof *sampler->old_block, error);
    sampler->weights = phl_alloc(c, sizeof *sampler->weights, error);
    return sampler->first == NULL || sampler->nodes == NULL || sampler->state == NULL ||
                   sampler->cell == NULL || sampler->new_state == NULL ||
                   sampler->new_cell == NULL || sampler->offset == NULL ||
                   sampler->old_size == NULL || sampler->old_block == NULL ||
                   sampler->weights == NULL
               ? PHL_ERR_MEMORY
               : PHL_OK;
}

/* Number of a slot among the eligible ones, which ascend. */
static uint32_t find_eligible(const phl_slot_pairs *pairs, uint32_t slot)
{
    uint32_t low = 0, high = pairs->n_eligible;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pairs->eligible[middle] < slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < pairs->n_eligible && pairs->eligible[low] == slot ? low : PHL_PAPER_SAMPLER_NONE;
}

/* Nodes of one tree after those laid so far. */
static phl_status lay_tree(phl_paper_sampler *sampler, phl_walk *walk, size_t tree, size_t first,
                           size_t *end, phl_error *error)
{
    const phl_gibbs *gibbs = sampler->gibbs;
    const phl_params *params = gibbs->params;
    phl_visit visit;
    int more;
    *end = first;
    phl_walk_start(walk, tree);
    while ((more = phl_walk_next(walk, &visit, error)) > 0) {
        phl_paper_sampler_node *node = &sampler->nodes[(*end)++];
        bool root = visit.parent == SIZE_MAX;
        node->parent = root ? PHL_PAPER_SAMPLER_NONE : (uint32_t)(first + visit.parent);
        node->eligible = root ? PHL_PAPER_SAMPLER_NONE : find_eligible(gibbs->pairs, visit.slot);
        node->leaf_row =
            visit.leaf ? (uint32_t)phl_leaf_row(params, visit.slot) : PHL_PAPER_SAMPLER_NONE;
        node->label_row = visit.label >= 0 ? gibbs->label_row[visit.label] : params->labels + 1;
    }
    return (phl_status)more;
}

/* All trees, each as often as it weighs. */
static phl_status lay_trees(phl_paper_sampler *sampler, phl_error *error)
{
    const phl_forest *forest = sampler->gibbs->index->forest;
    phl_walk *walk = NULL;
    phl_status status = phl_walk_create(forest, &walk, error);
    size_t made = 0, end = 0;
    for (size_t tree = 0; status == PHL_OK && tree < forest->n_trees; tree++) {
        size_t times = (size_t)phl_tree_weight(forest, tree);
        for (size_t i = 0; status == PHL_OK && i < times; i++) {
            sampler->first[made++] = end;
            status = lay_tree(sampler, walk, tree, end, &end, error);
        }
    }
    sampler->first[made] = end;
    phl_walk_free(walk);
    return status;
}

/* pi of a leaf, lambda_z of an internal node with z as in `cell`. */
static const double *state_row(const phl_paper_sampler *sampler, size_t u, const uint32_t *cell)
{
    const phl_params *params = sampler->gibbs->params;
    uint32_t leaf_row = sampler->nodes[u].leaf_row;
    return leaf_row != PHL_PAPER_SAMPLER_NONE ? params->prior + (size_t)leaf_row * params->states
                                              : params->core + (size_t)cell[u] * params->states;
}

/* A state of node u from that row times b_j(x); PHL_NO_OUTCOME when no state is possible. */
static size_t draw_state(phl_paper_sampler *sampler, size_t u, const uint32_t *cell, phl_rng *rng)
{
    const phl_params *params = sampler->gibbs->params;
    size_t c = params->states;
    const double *emission = params->emission + sampler->nodes[u].label_row * c;
    const double *row = state_row(sampler, u, cell);
    for (size_t j = 0; j < c; j++) {
        sampler->weights[j] = row[j] * emission[j];
    }
    return phl_categorical_draw(rng, sampler->weights, c);
}

/* Parameters from their priors, then Q from the leaves to the root.  The blocked sampler's counts
 * are all 0 at this point, so that its step 3 draws from the priors. */
static phl_status start_states(phl_paper_sampler *sampler, phl_error *error)
{
    phl_gibbs *gibbs = sampler->gibbs;
    phl_status status = phl_gibbs_parameters_draw(gibbs, UINT64_MAX, error);
    set_offsets(sampler);
    clear_cells(sampler, 0, sampler->n_nodes, sampler->cell);
    for (size_t tree = 0; status == PHL_OK && tree < sampler->n_trees; tree++) {
        phl_rng rng;
        phl_paper_sampler_rng(sampler, PHL_PURPOSE_START, tree + 1, &rng);
        for (size_t u = sampler->first[tree + 1]; u-- > sampler->first[tree];) {
            size_t drawn = draw_state(sampler, u, sampler->cell, &rng);
            if (drawn == PHL_NO_OUTCOME) { /* b underflows under a very small beta */
                drawn = phl_categorical_draw(&rng, state_row(sampler, u, sampler->cell),
                                             gibbs->params->states);
            }
            PHL_CHECK_BUG(drawn != PHL_NO_OUTCOME, error);
            sampler->state[u] = (uint32_t)drawn;
            tell_parent(sampler, u, sampler->state, sampler->cell);
        }
    }
    return status;
}

phl_status phl_paper_sampler_create(const phl_slot_pairs *pairs, const uint32_t *label_row,
                                    uint32_t states, uint32_t labels,
                                    const phl_gibbs_options *options, phl_paper_sampler **sampler,
                                    phl_error *error)
{
    phl_paper_sampler *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status =
        phl_gibbs_create(pairs, label_row, states, labels, NULL, 0, options, &made->gibbs, error);
    if (status == PHL_OK) {
        status = measure(made, error);
    }
    if (status == PHL_OK) {
        status = allocate(made, error);
    }
    if (status == PHL_OK) {
        status = lay_trees(made, error);
    }
    if (status == PHL_OK) {
        status = start_states(made, error);
    }
    if (status == PHL_OK) {
        status = count_states(made, error);
    }
    if (status != PHL_OK) {
        phl_paper_sampler_free(made);
        return status;
    }
    *sampler = made;
    return PHL_OK;
}

void phl_paper_sampler_free(phl_paper_sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
    phl_gibbs_free(sampler->gibbs);
    phl_free(sampler->first);
    phl_free(sampler->nodes);
    phl_free(sampler->state);
    phl_free(sampler->cell);
    phl_free(sampler->new_state);
    phl_free(sampler->new_cell);
    phl_free(sampler->offset);
    phl_free(sampler->old_size);
    phl_free(sampler->old_block);
    phl_free(sampler->weights);
    phl_free(sampler);
}

phl_status phl_paper_sampler_restore(phl_paper_sampler *sampler, const phl_chain_state *state,
                                     const uint32_t *hidden, phl_error *error)
{
    PHL_CHECK_BUG(!state->params->soft, error);
    phl_status status = phl_gibbs_restore(sampler->gibbs, state, error);
    if (status != PHL_OK) {
        return status;
    }
    memcpy(sampler->state, hidden, sampler->n_nodes * sizeof *hidden);
    return count_states(sampler, error);
}

/* ---------------------------------------------------------------------------------------------
 * Step 1: Q and z (Algorithm 1)
 * ------------------------------------------------------------------------------------------- */

/* New states, with the old cells, and new cells of a tree; false when a node can have no state. */
static bool propose_states(phl_paper_sampler *sampler, size_t first, size_t end, phl_rng *rng)
{
    clear_cells(sampler, first, end, sampler->new_cell);
    for (size_t u = end; u-- > first;) {
        size_t drawn = draw_state(sampler, u, sampler->cell, rng);
        if (drawn == PHL_NO_OUTCOME) {
            return false;
        }
        sampler->new_state[u] = (uint32_t)drawn;
        tell_parent(sampler, u, sampler->new_state, sampler->new_cell);
    }
    return true;
}

/* Log of the acceptance ratio at temperature 1.  The divisors are positive: lambda_z(Q) was drawn
 * with that Q among its counts (or Q from it, at the start), and Q' was drawn from lambda_z. */
static double log_ratio(const phl_paper_sampler *sampler, size_t first, size_t end)
{
    const double *core = sampler->gibbs->params->core;
    size_t c = sampler->gibbs->params->states;
    double sum = 0.0;
    for (size_t u = first; u < end; u++) {
        if (sampler->nodes[u].leaf_row == PHL_PAPER_SAMPLER_NONE &&
            sampler->cell[u] != sampler->new_cell[u]) {
            const double *before = core + sampler->cell[u] * c,
                         *after = core + sampler->new_cell[u] * c;
            sum += log(after[sampler->new_state[u]]) + log(after[sampler->state[u]]) -
                   log(before[sampler->state[u]]) - log(before[sampler->new_state[u]]);
        }
    }
    return sum;
}

static void draw_states(phl_paper_sampler *sampler, double temperature)
{
    for (size_t tree = 0; tree < sampler->n_trees; tree++) {
        size_t first = sampler->first[tree], end = sampler->first[tree + 1];
        phl_rng rng;
        phl_paper_sampler_rng(sampler, PHL_PURPOSE_PAPER_STATES, tree, &rng);
        sampler->trees_tried++;
        if (propose_states(sampler, first, end, &rng) &&
            log(phl_rng_uniform(&rng)) < log_ratio(sampler, first, end) / temperature) {
            memcpy(sampler->state + first, sampler->new_state + first,
                   (end - first) * sizeof *sampler->state);
            memcpy(sampler->cell + first, sampler->new_cell + first,
                   (end - first) * sizeof *sampler->cell);
            sampler->trees_taken++;
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * The iteration
 * ------------------------------------------------------------------------------------------- */

/* log marginal likelihood of counts [rows][columns], by strides, under symmetric Dirichlet priors.
 */
static double marginal(const int64_t *counts, size_t rows, size_t row_stride, size_t columns,
                       size_t column_stride, double concentration)
{
    double sum = 0.0;
    for (size_t r = 0; r < rows; r++) {
        int64_t total = 0;
        for (size_t i = 0; i < columns; i++) {
            int64_t n = counts[r * row_stride + i * column_stride];
            sum += phl_log_rising(concentration, n);
            total += n;
        }
        sum -= phl_log_rising(concentration * (double)columns, total);
    }
    return sum;
}

/* log p(x, Q, c | lambda0), as the blocked sampler traces it: with its prior of the partitions, so
 * that the two can be compared. */
static double joint(const phl_gibbs *gibbs)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states, symbols = (size_t)params->labels + 1;
    return marginal(gibbs->counts.prior, params->slots, c, c, 1, gibbs->options.gamma) +
           marginal(gibbs->counts.emission, c, 1, symbols, c, gibbs->options.beta) +
           phl_partitions_score(gibbs->partitions);
}

phl_status phl_paper_sampler_step(phl_paper_sampler *sampler, double temperature, phl_error *error)
{
    phl_gibbs *gibbs = sampler->gibbs;
    phl_status status = phl_gibbs_likelihood(gibbs, &gibbs->log_likelihood, error);
    if (status != PHL_OK) {
        return status;
    }
    draw_states(sampler, temperature);
    status = count_states(sampler, error);
    if (status == PHL_OK) {
        status = phl_paper_sampler_sizes_draw(sampler, temperature, error);
    }
    if (status == PHL_OK) {
        gibbs->log_joint = joint(gibbs);
        status = phl_gibbs_parameters_draw(gibbs, gibbs->iteration, error);
    }
    gibbs->iteration += status == PHL_OK;
    return status;
}
