/* seed.c - the sampler of the paper: its start, step 1 and the whole iteration; see seed.h.  Step 2
 * is in seed_sizes.c, step 3 is that of the blocked sampler.
 *
 * Nodes of a tree lie in pre-order, so going backwards meets children before parents: a child adds
 * its offset to the cell of its parent, and the cell is complete when the parent is reached.
 */
#include "gibbs/seed.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "gibbs/seed_state.h"
#include "model/kernel.h"
#include "model/purposes.h"

/* ---------------------------------------------------------------------------------------------
 * Counts
 * ------------------------------------------------------------------------------------------- */

/* What each state of a child adds to the cell of its parent, under the present partitions. */
static void set_offsets(phl_seed *seed)
{
    const phl_partitions *partitions = seed->gibbs->partitions;
    size_t c = partitions->states;
    seed->empty_cell = 0;
    for (size_t e = 0; e < partitions->n_eligible; e++) {
        const uint32_t *block = partitions->block + e * (c + 1);
        uint32_t stride = (uint32_t)partitions->stride[e];
        seed->empty_cell += stride * block[c];
        for (size_t q = 0; q < c; q++) {
            seed->offset[e * c + q] = stride * block[q] - stride * block[c];
        }
    }
}

/* Cells of the nodes first .. end - 1 as if all slots were empty. */
static void clear_cells(const phl_seed *seed, size_t first, size_t end, uint32_t *cell)
{
    for (size_t u = first; u < end; u++) {
        cell[u] = seed->nodes[u].leaf_row == PHL_SEED_NONE ? seed->empty_cell : 0;
    }
}

/* The state of u enters the cell of its parent. */
static inline void tell_parent(const phl_seed *seed, size_t u, const uint32_t *state,
                               uint32_t *cell)
{
    const phl_seed_node *node = &seed->nodes[u];
    if (node->eligible != PHL_SEED_NONE) {
        size_t c = seed->gibbs->params->states;
        cell[node->parent] += seed->offset[node->eligible * c + state[u]];
    }
}

phl_status phl_seed_count_cells(phl_seed *seed, phl_error *error)
{
    phl_partitions *partitions = seed->gibbs->partitions;
    phl_status status = phl_partitions_count(partitions, error); /* no rows: all 0 */
    if (status != PHL_OK) {
        return status;
    }
    set_offsets(seed);
    clear_cells(seed, 0, seed->n_nodes, seed->cell);
    for (size_t u = 0; u < seed->n_nodes; u++) {
        tell_parent(seed, u, seed->state, seed->cell);
    }
    for (size_t u = 0; u < seed->n_nodes; u++) {
        if (seed->nodes[u].leaf_row == PHL_SEED_NONE) {
            partitions->cells[(size_t)seed->cell[u] * partitions->states + seed->state[u]]++;
        }
    }
    return PHL_OK;
}

/* All counts from Q. */
static phl_status count_states(phl_seed *seed, phl_error *error)
{
    const phl_params *params = seed->gibbs->params;
    phl_gibbs_counts *counts = &seed->gibbs->counts;
    size_t c = params->states, labels = params->labels;
    memset(counts->prior, 0, ((size_t)params->slots + 1) * c * sizeof *counts->prior);
    memset(counts->emission, 0, (labels + 1) * c * sizeof *counts->emission);
    for (size_t u = 0; u < seed->n_nodes; u++) {
        const phl_seed_node *node = &seed->nodes[u];
        if (node->leaf_row != PHL_SEED_NONE) {
            counts->prior[node->leaf_row * c + seed->state[u]]++;
        }
        if (node->label_row <= labels) {
            counts->emission[node->label_row * c + seed->state[u]]++;
        }
    }
    return phl_seed_count_cells(seed, error);
}

/* ---------------------------------------------------------------------------------------------
 * Start
 * ------------------------------------------------------------------------------------------- */

/* Numbers of nodes and trees, weights (which the blocked sampler found to be whole) written out. */
static phl_status measure(phl_seed *seed, phl_error *error)
{
    const phl_forest *forest = seed->index->forest;
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
    if (nodes >= (double)PHL_SEED_NONE) {
        return phl_raise(error, PHL_ERR_LIMIT, "use " PHL_OPTION_TO("train.sampler", "blocked"),
                         "%.0f nodes: the sampler of the paper keeps each by itself, at most %u",
                         nodes, PHL_SEED_NONE - 1);
    }
    seed->n_nodes = (size_t)nodes;
    seed->n_trees = (size_t)trees;
    return PHL_OK;
}

static phl_status allocate(phl_seed *seed, phl_error *error)
{
    size_t n = seed->n_nodes, c = seed->gibbs->params->states;
    size_t e_count = seed->gibbs->rows->n_eligible;
    seed->first = phl_alloc(seed->n_trees + 1, sizeof *seed->first, error);
    seed->nodes = phl_alloc(n, sizeof *seed->nodes, error);
    seed->state = phl_alloc(n, sizeof *seed->state, error);
    seed->cell = phl_alloc_zero(n, sizeof *seed->cell, error);
    seed->new_state = phl_alloc(n, sizeof *seed->new_state, error);
    seed->new_cell = phl_alloc(n, sizeof *seed->new_cell, error);
    seed->offset = phl_alloc(e_count * c, sizeof *seed->offset, error);
    seed->old_size = phl_alloc(e_count, sizeof *seed->old_size, error);
    seed->old_block = phl_alloc(e_count * (c + 1), sizeof *seed->old_block, error);
    seed->weights = phl_alloc(c, sizeof *seed->weights, error);
    return seed->first == NULL || seed->nodes == NULL || seed->state == NULL ||
                   seed->cell == NULL || seed->new_state == NULL || seed->new_cell == NULL ||
                   seed->offset == NULL || seed->old_size == NULL || seed->old_block == NULL ||
                   seed->weights == NULL
               ? PHL_ERR_MEMORY
               : PHL_OK;
}

/* Number of a slot among the eligible ones, which ascend. */
static uint32_t find_eligible(const phl_rows *rows, uint32_t slot)
{
    uint32_t low = 0, high = rows->n_eligible;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rows->eligible[middle] < slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < rows->n_eligible && rows->eligible[low] == slot ? low : PHL_SEED_NONE;
}

/* Nodes of one tree behind those laid so far. */
static phl_status lay_tree(phl_seed *seed, phl_walk *walk, size_t tree, size_t first, size_t *end,
                           phl_error *error)
{
    const phl_gibbs *gibbs = seed->gibbs;
    const phl_params *params = gibbs->params;
    phl_visit visit;
    int more;
    *end = first;
    phl_walk_start(walk, tree);
    while ((more = phl_walk_next(walk, &visit, error)) > 0) {
        phl_seed_node *node = &seed->nodes[(*end)++];
        bool root = visit.parent == SIZE_MAX;
        node->parent = root ? PHL_SEED_NONE : (uint32_t)(first + visit.parent);
        node->eligible = root ? PHL_SEED_NONE : find_eligible(gibbs->rows, visit.slot);
        node->leaf_row = visit.leaf ? (uint32_t)phl_leaf_row(params, visit.slot) : PHL_SEED_NONE;
        node->label_row = visit.label >= 0 ? gibbs->label_row[visit.label] : params->labels + 1;
    }
    return (phl_status)more;
}

/* All trees, each as often as it weighs. */
static phl_status lay_trees(phl_seed *seed, phl_error *error)
{
    const phl_forest *forest = seed->index->forest;
    phl_walk *walk = NULL;
    phl_status status = phl_walk_create(forest, &walk, error);
    size_t made = 0, end = 0;
    for (size_t tree = 0; status == PHL_OK && tree < forest->n_trees; tree++) {
        size_t times = (size_t)phl_tree_weight(forest, tree);
        for (size_t i = 0; status == PHL_OK && i < times; i++) {
            seed->first[made++] = end;
            status = lay_tree(seed, walk, tree, end, &end, error);
        }
    }
    seed->first[made] = end;
    phl_walk_free(walk);
    return status;
}

/* pi of a leaf, lambda_z of an internal node with z as in `cell`. */
static const double *state_row(const phl_seed *seed, size_t u, const uint32_t *cell)
{
    const phl_params *params = seed->gibbs->params;
    uint32_t leaf_row = seed->nodes[u].leaf_row;
    return leaf_row != PHL_SEED_NONE ? params->prior + (size_t)leaf_row * params->states
                                     : params->core + (size_t)cell[u] * params->states;
}

/* A state of node u from that row times b_j(x); PHL_NO_OUTCOME when no state is possible. */
static size_t draw_state(phl_seed *seed, size_t u, const uint32_t *cell, phl_rng *rng)
{
    const phl_params *params = seed->gibbs->params;
    size_t c = params->states;
    const double *emission = params->emission + seed->nodes[u].label_row * c;
    const double *row = state_row(seed, u, cell);
    for (size_t j = 0; j < c; j++) {
        seed->weights[j] = row[j] * emission[j];
    }
    return phl_categorical_draw(rng, seed->weights, c);
}

/* Parameters from their priors, then Q from the leaves to the root.  The blocked sampler's counts
 * are all 0 at this point, so that its step 3 draws from the priors. */
static phl_status start_states(phl_seed *seed, phl_error *error)
{
    phl_gibbs *gibbs = seed->gibbs;
    gibbs->iteration = UINT64_MAX; /* streams no iteration uses */
    phl_status status = phl_gibbs_draw_parameters(gibbs, error);
    gibbs->iteration = 0;
    set_offsets(seed);
    clear_cells(seed, 0, seed->n_nodes, seed->cell);
    for (size_t tree = 0; status == PHL_OK && tree < seed->n_trees; tree++) {
        phl_rng rng;
        phl_seed_rng(seed, PHL_PURPOSE_START, tree + 1, &rng);
        for (size_t u = seed->first[tree + 1]; u-- > seed->first[tree];) {
            size_t drawn = draw_state(seed, u, seed->cell, &rng);
            if (drawn == PHL_NO_OUTCOME) { /* b underflows under a very small beta */
                drawn = phl_categorical_draw(&rng, state_row(seed, u, seed->cell),
                                             gibbs->params->states);
            }
            PHL_CHECK_BUG(drawn != PHL_NO_OUTCOME, error);
            seed->state[u] = (uint32_t)drawn;
            tell_parent(seed, u, seed->state, seed->cell);
        }
    }
    return status;
}

phl_status phl_seed_create(const phl_forest *forest, const uint32_t *label_row, uint32_t states,
                           uint32_t slots, uint32_t labels, const phl_gibbs_options *options,
                           phl_seed **seed, phl_error *error)
{
    phl_seed *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status = phl_index_create(forest, slots, false, &made->index, error);
    if (status == PHL_OK) {
        status = phl_gibbs_create(made->index, label_row, states, labels, NULL, 0, options,
                                  &made->gibbs, error);
    }
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
        phl_seed_free(made);
        return status;
    }
    *seed = made;
    return PHL_OK;
}

void phl_seed_free(phl_seed *seed)
{
    if (seed == NULL) {
        return;
    }
    phl_gibbs_free(seed->gibbs);
    phl_index_free(seed->index);
    phl_free(seed->first);
    phl_free(seed->nodes);
    phl_free(seed->state);
    phl_free(seed->cell);
    phl_free(seed->new_state);
    phl_free(seed->new_cell);
    phl_free(seed->offset);
    phl_free(seed->old_size);
    phl_free(seed->old_block);
    phl_free(seed->weights);
    phl_free(seed);
}

phl_status phl_seed_resume(phl_seed *seed, const phl_params *params, const double *log_lambda0,
                           double alpha, double alpha0, const uint32_t *state, uint64_t iteration,
                           phl_error *error)
{
    phl_gibbs *gibbs = seed->gibbs;
    phl_partitions *partitions = gibbs->partitions;
    size_t values = (size_t)gibbs->params->states + 1;
    PHL_CHECK_BUG(
        params->kind == PHL_TF && !params->soft && params->states == gibbs->params->states &&
            params->slots == gibbs->params->slots && params->labels == gibbs->params->labels,
        error);
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        partitions->size[e] = 1;
        memset(partitions->block + e * values, 0, values * sizeof *partitions->block);
    }
    for (uint32_t a = 0; a < params->n_modes; a++) {
        uint32_t e = find_eligible(gibbs->rows, params->modes[a].slot);
        PHL_CHECK_BUG(e != PHL_SEED_NONE, error);
        partitions->size[e] = params->modes[a].size;
        memcpy(partitions->block + e * values, params->modes[a].block,
               values * sizeof *partitions->block);
    }
    phl_status status = phl_params_set_modes(gibbs->params, params->modes, params->n_modes, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_table from, to;
    for (size_t t = 0;
         phl_params_table(params, t, &from) && phl_params_table(gibbs->params, t, &to); t++) {
        for (size_t i = 0; i < from.rows * from.columns; i++) {
            to.data[i] = from.data[i]; /* tables of equal strides without gaps */
        }
    }
    phl_params_complete(gibbs->params);
    memcpy(gibbs->log_lambda0, log_lambda0, (values - 1) * sizeof *log_lambda0);
    memcpy(seed->state, state, seed->n_nodes * sizeof *state);
    gibbs->alpha = alpha;
    gibbs->alpha0 = alpha0;
    gibbs->iteration = iteration;
    gibbs->expanded = true; /* as it was when the state was taken */
    return count_states(seed, error);
}

/* ---------------------------------------------------------------------------------------------
 * Step 1: Q and z (Algorithm 1)
 * ------------------------------------------------------------------------------------------- */

/* New states, with the old cells, and new cells of a tree; false when a node can have no state. */
static bool propose_states(phl_seed *seed, size_t first, size_t end, phl_rng *rng)
{
    clear_cells(seed, first, end, seed->new_cell);
    for (size_t u = end; u-- > first;) {
        size_t drawn = draw_state(seed, u, seed->cell, rng);
        if (drawn == PHL_NO_OUTCOME) {
            return false;
        }
        seed->new_state[u] = (uint32_t)drawn;
        tell_parent(seed, u, seed->new_state, seed->new_cell);
    }
    return true;
}

/* Log of the acceptance ratio at temperature 1.  The divisors are positive: lambda_z(Q) was drawn
 * with that Q among its counts (or Q from it, at the start), and Q' was drawn from lambda_z. */
static double log_ratio(const phl_seed *seed, size_t first, size_t end)
{
    const double *core = seed->gibbs->params->core;
    size_t c = seed->gibbs->params->states;
    double sum = 0.0;
    for (size_t u = first; u < end; u++) {
        if (seed->nodes[u].leaf_row == PHL_SEED_NONE && seed->cell[u] != seed->new_cell[u]) {
            const double *before = core + seed->cell[u] * c, *after = core + seed->new_cell[u] * c;
            sum += log(after[seed->new_state[u]]) + log(after[seed->state[u]]) -
                   log(before[seed->state[u]]) - log(before[seed->new_state[u]]);
        }
    }
    return sum;
}

static void draw_states(phl_seed *seed)
{
    for (size_t tree = 0; tree < seed->n_trees; tree++) {
        size_t first = seed->first[tree], end = seed->first[tree + 1];
        phl_rng rng;
        phl_seed_rng(seed, PHL_PURPOSE_SEED_STATES, tree, &rng);
        seed->trees_tried++;
        if (propose_states(seed, first, end, &rng) &&
            log(phl_rng_uniform(&rng)) < log_ratio(seed, first, end) / seed->gibbs->temperature) {
            memcpy(seed->state + first, seed->new_state + first,
                   (end - first) * sizeof *seed->state);
            memcpy(seed->cell + first, seed->new_cell + first, (end - first) * sizeof *seed->cell);
            seed->trees_taken++;
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

phl_status phl_seed_step(phl_seed *seed, phl_error *error)
{
    phl_gibbs *gibbs = seed->gibbs;
    phl_status status = phl_gibbs_likelihood(gibbs, &gibbs->log_likelihood, error);
    if (status != PHL_OK) {
        return status;
    }
    gibbs->temperature = phl_gibbs_temperature(&gibbs->options, gibbs->iteration);
    draw_states(seed);
    status = count_states(seed, error);
    if (status == PHL_OK) {
        status = phl_seed_draw_sizes(seed, error);
    }
    if (status == PHL_OK) {
        gibbs->log_joint = joint(gibbs);
        status = phl_gibbs_draw_parameters(gibbs, error);
    }
    gibbs->iteration += status == PHL_OK;
    return status;
}
