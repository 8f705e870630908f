/* plain_chain.c - the sampler, node by node: its start, hidden states, tables; see plain.h. */
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "model/kernel.h"
#include "plain.h"

#define PURPOSE 0x706c6e63u /* "plnc" */

/* ---------------------------------------------------------------------------------------------
 * Making
 * ------------------------------------------------------------------------------------------- */

/* Internal nodes, shapes, and slots filled often enough to be active. */
static void look_at_trees(plain_chain *chain)
{
    const plain_trees *trees = chain->trees;
    uint32_t slots = chain->params->slots;
    double *shape = chain->shape_count;
    for (size_t tree = 0; tree < trees->n_trees; tree++) {
        size_t root = trees->first[tree];
        chain->root_count[trees->nodes[root].n_children > 0] += 1.0;
        for (size_t u = root; u < trees->first[tree + 1]; u++) {
            bool internal = trees->nodes[u].n_children > 0;
            if (internal) {
                chain->internal[chain->n_internal++] = (uint32_t)u;
            }
            if (u > root) {
                shape[3 * (trees->nodes[u].slot - 1) + (internal ? 2 : 1)] += 1.0;
            }
        }
    }
    double all = (double)chain->n_internal;
    for (uint32_t slot = 1; slot <= slots; slot++) {
        double *row = shape + 3 * (size_t)(slot - 1);
        double filled = row[1] + row[2];
        row[0] = all - filled;
        chain->eligible_of[slot] = UINT32_MAX;
        if (filled > 0.0 && filled >= chain->options.slot_support * all) {
            chain->eligible_of[slot] = chain->n_eligible;
            chain->eligible[chain->n_eligible++] = slot;
        }
    }
    uint32_t most = chain->n_eligible < PHL_MAX_AXES ? chain->n_eligible : PHL_MAX_AXES;
    chain->slots_max = chain->options.slots_max < most ? chain->options.slots_max : most;
}

static void allocate(plain_chain *chain)
{
    const phl_params *params = chain->params;
    size_t n = chain->trees->n_nodes, c = params->states, l = params->slots, m = params->labels;
    plain_upward_init(&chain->upward, n, params->states);
    chain->log_lambda0 = plain_alloc(c, sizeof *chain->log_lambda0);
    chain->state = plain_alloc(n, sizeof *chain->state);
    chain->prior = plain_alloc((l + 1) * c, sizeof *chain->prior);
    chain->emission = plain_alloc((m + 2) * c, sizeof *chain->emission);
    chain->shape_count = plain_alloc(3 * l, sizeof *chain->shape_count);
    chain->internal = plain_alloc(n, sizeof *chain->internal);
    chain->eligible = plain_alloc(l, sizeof *chain->eligible);
    chain->eligible_of = plain_alloc(l + 1, sizeof *chain->eligible_of);
    plain_must(phl_grow(&chain->weights, &chain->weight_capacity, (c > m ? c : m) + 2,
                        sizeof *chain->weights, error));
}

/* What depends on the numbers of internal nodes and eligible slots. */
static void allocate_partitions(plain_chain *chain)
{
    size_t c = chain->params->states, i = chain->n_internal, e = chain->n_eligible;
    chain->size = plain_alloc(e, sizeof *chain->size);
    chain->block = plain_alloc(e * (c + 1), sizeof *chain->block);
    chain->stride = plain_alloc(e, sizeof *chain->stride);
    chain->own = plain_alloc(i, sizeof *chain->own);
    chain->cell = plain_alloc(i, sizeof *chain->cell);
    chain->value = plain_alloc(e * i, sizeof *chain->value);
    chain->list = plain_alloc(e * i, sizeof *chain->list);
    chain->start = plain_alloc(e * (c + 2), sizeof *chain->start);
    chain->order = plain_alloc(e * (c + 1), sizeof *chain->order);
    chain->moved = plain_alloc(c + 1, sizeof *chain->moved);
    chain->rising = plain_alloc(c, sizeof *chain->rising);
    plain_must(phl_stirling_init(&chain->stirling, c + 1, error));
}

/* One random eligible slot (or slots_min of them) in two blocks. */
static void start_partitions(plain_chain *chain)
{
    size_t values = (size_t)chain->params->states + 1;
    uint32_t wanted = chain->options.slots_min > 1 ? chain->options.slots_min : 1;
    for (uint32_t e = 0; e < chain->n_eligible; e++) {
        chain->order[e] = e;
    }
    phl_shuffle(&chain->rng, chain->n_eligible, chain->order);
    for (uint32_t i = 0; i < chain->n_eligible; i++) {
        uint32_t e = chain->order[i];
        chain->size[e] = i < wanted && i < chain->slots_max ? 2 : 1;
        phl_partition_draw(&chain->rng, &chain->stirling, values, chain->size[e],
                           chain->block + e * values);
    }
}

/* The active slots as axes of the model. */
static void set_axes(plain_chain *chain)
{
    phl_axis axes[PHL_MAX_AXES];
    uint32_t n = 0;
    for (uint32_t e = 0; e < chain->n_eligible; e++) {
        if (chain->size[e] > 1) {
            axes[n].slot = chain->eligible[e];
            axes[n].size = chain->size[e];
            axes[n].block = chain->block + e * ((size_t)chain->params->states + 1);
            axes[n++].matrix = NULL;
        }
    }
    plain_must(phl_params_set_axes(chain->params, axes, n, error));
}

/* Every table uniform: the first hidden states are uniform whatever the labels. */
static void set_uniform(phl_params *params)
{
    phl_table table;
    for (size_t t = 0; phl_params_table(params, t, &table); t++) {
        for (size_t r = 0; r < table.rows; r++) {
            for (size_t i = 0; i < table.columns; i++) {
                table.data[r * table.row_stride + i * table.column_stride] =
                    1.0 / (double)table.columns;
            }
        }
    }
    phl_params_complete(params);
}

plain_chain *plain_chain_create(const plain_trees *trees, uint32_t slots, uint32_t labels,
                                const phl_train_options *options, uint64_t stream)
{
    plain_chain *chain = plain_alloc(1, sizeof *chain);
    chain->trees = trees;
    chain->options = *options;
    phl_rng_init(&chain->rng, options->seed, PURPOSE, stream, 0, 0);
    plain_must(phl_params_create(PHL_TF, options->states, slots, labels, NULL, 0, 0, &chain->params,
                                 error));
    allocate(chain);
    look_at_trees(chain);
    allocate_partitions(chain);
    start_partitions(chain);
    set_axes(chain);
    set_uniform(chain->params);
    for (size_t j = 0; j < options->states; j++) {
        chain->log_lambda0[j] = -log((double)options->states);
    }
    return chain;
}

void plain_chain_free(plain_chain *chain)
{
    if (chain == NULL) {
        return;
    }
    for (size_t j = 0; j < chain->options.states; j++) {
        phl_rising_clear(&chain->rising[j]);
    }
    void *const owned[] = {chain->log_lambda0, chain->state,    chain->prior,       chain->emission,
                           chain->shape_count, chain->internal, chain->eligible,    chain->moved,
                           chain->rising,      chain->weights,  chain->eligible_of, chain->offsets,
                           chain->size,        chain->block,    chain->stride,      chain->own,
                           chain->cell,        chain->value,    chain->list,        chain->start,
                           chain->order};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        phl_free(owned[i]);
    }
    plain_partitions_clear(chain);
    phl_rising_clear(&chain->rising_total);
    phl_stirling_clear(&chain->stirling);
    plain_upward_clear(&chain->upward);
    phl_params_free(chain->params);
    phl_free(chain);
}

/* ---------------------------------------------------------------------------------------------
 * Step 1, downward: hidden states
 * ------------------------------------------------------------------------------------------- */

/* A state from beta, whose sum is total; with `block`, of the states in block z, whose sum that
 * is. */
static uint32_t draw_state(phl_rng *rng, const double *beta, uint32_t c, const uint32_t *block,
                           uint32_t z, double total)
{
    double left = phl_rng_uniform(rng) * total;
    uint32_t last = 0;
    for (uint32_t q = 0; q < c; q++) {
        if (beta[q] > 0.0 && (block == NULL || block[q] == z)) {
            left -= beta[q];
            last = q;
            if (left < 0.0) {
                break;
            }
        }
    }
    return last;
}

/* The joint block z of the active children of u, as a cell of the core: in proportion to
 * lambda_z(state of u) times the messages. */
static size_t draw_cell(plain_chain *chain, size_t u)
{
    const phl_params *params = chain->params;
    size_t c = params->states, stride = params->core_rows, base = 0, n = 1;
    double *weights = chain->weights;
    size_t *offsets = chain->offsets;
    weights[0] = 1.0;
    offsets[0] = 0;
    for (uint32_t a = 0; a < params->n_axes; a++) {
        const phl_axis *axis = &params->axes[a];
        size_t child = plain_find_child(chain->trees->nodes, u, axis->slot);
        stride /= axis->size;
        if (child == PLAIN_NONE) {
            base += axis->block[c] * stride;
            continue;
        }
        const double *m = chain->upward.message + child * (c + 1);
        for (size_t i = n; i-- > 0;) { /* from the end: each entry makes room for its own */
            double weight = weights[i];
            size_t offset = offsets[i];
            for (size_t z = axis->size; z-- > 0;) {
                weights[i * axis->size + z] = weight * m[z];
                offsets[i * axis->size + z] = offset + z * stride;
            }
        }
        n *= axis->size;
    }
    if (n == 1) {
        return base;
    }
    const double *lambda = params->core + base * c + chain->state[u];
    for (size_t i = 0; i < n; i++) {
        weights[i] *= lambda[offsets[i] * c];
    }
    size_t drawn = phl_categorical_draw(&chain->rng, weights, n);
    return base + offsets[drawn == PHL_NO_OUTCOME ? 0 : drawn];
}

static void draw_children(plain_chain *chain, size_t u)
{
    const phl_params *params = chain->params;
    const plain_node *nodes = chain->trees->nodes;
    uint32_t c = params->states, block_of[PHL_MAX_AXES];
    size_t cell = draw_cell(chain, u);
    for (uint32_t a = params->n_axes; a-- > 0;) {
        block_of[a] = (uint32_t)(cell % params->axes[a].size);
        cell /= params->axes[a].size;
    }
    size_t end = (size_t)nodes[u].first_child + nodes[u].n_children;
    for (size_t k = nodes[u].first_child; k < end; k++) {
        const double *beta = chain->upward.beta + k * c;
        uint32_t number = params->axis_of_slot[nodes[k].slot];
        if (number == 0) {
            chain->state[k] = draw_state(&chain->rng, beta, c, NULL, 0, 1.0);
        } else {
            uint32_t z = block_of[number - 1];
            double total = chain->upward.message[k * (c + 1) + z];
            chain->state[k] =
                draw_state(&chain->rng, beta, c, params->axes[number - 1].block, z, total);
        }
    }
}

/* All hidden states, and the counts of leaves and labels. */
static void draw_states(plain_chain *chain)
{
    const phl_params *params = chain->params;
    const plain_trees *trees = chain->trees;
    size_t c = params->states;
    plain_must(phl_grow(&chain->weights, &chain->weight_capacity, params->core_rows,
                        sizeof *chain->weights, error));
    plain_must(phl_grow(&chain->offsets, &chain->offset_capacity, params->core_rows,
                        sizeof *chain->offsets, error));
    memset(chain->prior, 0, ((size_t)params->slots + 1) * c * sizeof *chain->prior);
    memset(chain->emission, 0, ((size_t)params->labels + 2) * c * sizeof *chain->emission);
    for (size_t tree = 0; tree < trees->n_trees; tree++) {
        size_t root = trees->first[tree];
        chain->state[root] =
            draw_state(&chain->rng, chain->upward.beta + root * c, params->states, NULL, 0, 1.0);
        for (size_t u = root; u < trees->first[tree + 1]; u++) {
            const plain_node *node = &trees->nodes[u];
            chain->emission[node->label * c + chain->state[u]]++;
            if (node->n_children == 0) {
                chain->prior[phl_leaf_row(params, node->slot) * c + chain->state[u]]++;
            } else {
                draw_children(chain, u);
            }
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * Step 3: tables
 * ------------------------------------------------------------------------------------------- */

/* log of the marginal likelihood of counts by rows under symmetric Dirichlet priors. */
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

/* log p(x, Q, c | lambda0). */
static double joint(const plain_chain *chain)
{
    const phl_params *params = chain->params;
    size_t c = params->states, symbols = (size_t)params->labels + 1;
    return marginal(chain->prior, params->slots, c, c, 1, chain->options.gamma) +
           marginal(chain->emission, c, 1, symbols, c, chain->options.beta) +
           plain_partitions_score(chain);
}

/* lambda0 by table counts, lambda integrated out; then lambda. */
static void draw_core(plain_chain *chain)
{
    size_t c = chain->params->states;
    double *parameters = chain->weights, log_alpha = log(chain->options.alpha);
    for (size_t j = 0; j < c; j++) {
        parameters[j] = chain->options.alpha0 / (double)c;
    }
    for (size_t i = 0; i < chain->n_cells * c; i++) {
        if (chain->count[i] > 0) {
            parameters[i % c] += (double)phl_crt_draw_log(&chain->rng, chain->count[i],
                                                          log_alpha + chain->log_lambda0[i % c]);
        }
    }
    phl_log_dirichlet_draw(&chain->rng, parameters, c, chain->log_lambda0);
    for (size_t z = 0; z < chain->n_cells; z++) {
        for (size_t j = 0; j < c; j++) {
            double base = log_alpha + chain->log_lambda0[j];
            int64_t n = chain->count[z * c + j];
            parameters[j] = n > 0 ? phl_log_add(base, log((double)n)) : base;
        }
        phl_log_dirichlet_draw_log(&chain->rng, parameters, c, parameters);
        for (size_t j = 0; j < c; j++) {
            chain->params->core[z * c + j] = exp(parameters[j]);
        }
    }
}

/* A row from Dir(concentration + counts), both with this stride. */
static void draw_row(plain_chain *chain, double concentration, const int64_t *counts, size_t n,
                     size_t stride, double *row)
{
    double *parameters = chain->weights;
    for (size_t i = 0; i < n; i++) {
        parameters[i] = concentration + (double)counts[i * stride];
    }
    phl_log_dirichlet_draw(&chain->rng, parameters, n, parameters);
    for (size_t i = 0; i < n; i++) {
        row[i * stride] = exp(parameters[i]);
    }
}

/* o by slot, with the rejected nodes of which all slots were absent; the kind of roots. */
static void draw_shape(plain_chain *chain)
{
    phl_params *params = chain->params;
    double gamma = chain->options.gamma, log_p0 = 0.0, rejected = 0.0;
    for (size_t l = 0; l < params->slots; l++) {
        log_p0 += log(params->shape[3 * l]);
    }
    if (chain->n_internal > 0) {
        rejected =
            (double)phl_negative_binomial_draw(&chain->rng, (int64_t)chain->n_internal, log_p0);
    }
    for (size_t l = 0; l < params->slots; l++) {
        const double *counts = chain->shape_count + 3 * l;
        double row[3] = {gamma + counts[0] + rejected, gamma + counts[1], gamma + counts[2]};
        phl_log_dirichlet_draw(&chain->rng, row, 3, row);
        for (size_t k = 0; k < 3; k++) {
            params->shape[3 * l + k] = exp(row[k]);
        }
    }
    double kinds[2] = {gamma + chain->root_count[0], gamma + chain->root_count[1]};
    phl_log_dirichlet_draw(&chain->rng, kinds, 2, kinds);
    params->root_kind[0] = exp(kinds[0]);
    params->root_kind[1] = exp(kinds[1]);
}

static void draw_tables(plain_chain *chain)
{
    phl_params *params = chain->params;
    size_t c = params->states;
    set_axes(chain);
    draw_core(chain);
    for (size_t l = 0; l < params->slots; l++) {
        draw_row(chain, chain->options.gamma, chain->prior + l * c, c, 1, params->prior + l * c);
    }
    for (size_t j = 0; j < c; j++) {
        draw_row(chain, chain->options.beta, chain->emission + j, (size_t)params->labels + 1, c,
                 params->emission + j);
    }
    draw_shape(chain);
    phl_params_complete(params);
}

/* ---------------------------------------------------------------------------------------------
 * The iteration
 * ------------------------------------------------------------------------------------------- */

void plain_chain_step(plain_chain *chain)
{
    double at[PLAIN_PHASES + 1];
    at[PLAIN_UPWARD] = plain_seconds();
    chain->log_likelihood =
        plain_upward_run(&chain->upward, chain->params, chain->trees, 0, chain->trees->n_nodes);
    at[PLAIN_DOWNWARD] = plain_seconds();
    draw_states(chain);
    at[PLAIN_PARTITIONS] = plain_seconds();
    plain_partitions_draw(chain);
    at[PLAIN_TABLES] = plain_seconds();
    chain->log_joint = joint(chain);
    chain->sum_size = 0;
    for (uint32_t e = 0; e < chain->n_eligible; e++) {
        chain->sum_size += chain->size[e];
    }
    draw_tables(chain);
    at[PLAIN_PHASES] = plain_seconds();
    for (int i = 0; i < PLAIN_PHASES; i++) {
        chain->seconds[i] += at[i + 1] - at[i];
    }
    chain->iteration++;
}

bool plain_is_kept(const phl_train_options *options, uint64_t done)
{
    if (done <= options->warmup || done > options->iterations) {
        return false;
    }
    uint64_t at = done - options->warmup, span = options->iterations - options->warmup;
    uint64_t keep = options->keep < span ? options->keep : span;
    return at * keep / span != (at - 1) * keep / span;
}
