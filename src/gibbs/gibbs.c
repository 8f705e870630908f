/* gibbs.c - one chain of the blocked sampler: its start and the whole iteration; see gibbs.h. */
#include "gibbs/gibbs.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "gibbs/label_swap.h"
#include "gibbs/state_recycle.h"
#include "model/purposes.h"

/* ---------------------------------------------------------------------------------------------
 * Start
 * ------------------------------------------------------------------------------------------- */

/* Every table uniform: hidden states drawn from it are uniform whatever the labels. */
static void set_uniform(phl_params *params)
{
    phl_table table;
    for (size_t t = 0; phl_params_table(params, t, &table); t++) {
        for (size_t r = 0; r < table.rows; r++) {
            for (size_t c = 0; c < table.columns; c++) {
                table.data[r * table.row_stride + c * table.column_stride] =
                    1.0 / (double)table.columns;
            }
        }
    }
    phl_params_complete(params);
}

enum { PRESENT = 3 }; /* slots of a start by presence */

/* Partitions to start from: given ones, given sizes, or two blocks in some slots. */
static phl_status start_partitions(phl_gibbs *gibbs, const phl_axis *fixed, uint32_t n_fixed,
                                   phl_error *error)
{
    phl_partitions *partitions = gibbs->partitions;
    const phl_slot_pairs *pairs = gibbs->pairs;
    size_t values = (size_t)gibbs->params->states + 1;
    phl_rng rng;
    phl_gibbs_rng(gibbs, PHL_PURPOSE_START, 0, &rng);
    for (uint32_t a = 0; a < n_fixed; a++) {
        uint32_t e = 0;
        while (e < pairs->n_eligible && pairs->eligible[e] != fixed[a].slot) {
            e++;
        }
        if (e == pairs->n_eligible) {
            return phl_raise(error, PHL_ERR_ARGUMENT,
                             "lower " PHL_OPTION("train.slot_support") ", or leave it out",
                             "slot %u cannot be active: it is filled in too few nodes",
                             fixed[a].slot);
        }
        partitions->size[e] = fixed[a].size;
        memcpy(partitions->block + e * values, fixed[a].block, values * sizeof *fixed[a].block);
    }
    const uint32_t *sizes = partitions->prior.fixed;
    uint32_t wanted = partitions->prior.slots_min > 1 ? partitions->prior.slots_min : 1;
    bool presence = gibbs->options.presence_start && sizes == NULL;
    uint32_t asked = presence ? PRESENT : gibbs->options.start_slots;
    wanted = asked > wanted ? asked : wanted;
    wanted = wanted > partitions->prior.slots_max ? partitions->prior.slots_max : wanted;
    while (wanted > 0 && ldexp(1.0, (int)wanted) > (double)partitions->prior.core_max) {
        wanted--;
    }
    uint32_t *order = phl_alloc(pairs->n_eligible, sizeof *order, error);
    if (order == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (uint32_t e = 0; e < pairs->n_eligible; e++) {
        order[e] = e;
    }
    phl_shuffle(&rng, pairs->n_eligible, order);
    for (uint32_t i = 0; n_fixed == 0 && i < pairs->n_eligible; i++) {
        uint32_t e = sizes != NULL || presence ? i : order[i];
        uint32_t size = sizes != NULL ? sizes[e] : i < wanted ? 2 : 1;
        partitions->size[e] = size;
        phl_partition_draw(&rng, &partitions->stirling, values, size,
                           partitions->block + e * values);
        for (size_t q = 0; presence && size == 2 && q < values; q++) {
            partitions->block[e * values + q] = q + 1 == values;
        }
    }
    phl_free(order);
    return PHL_OK;
}

/* Occurrences of subtrees, which must be whole numbers. */
static phl_status count_times(phl_gibbs *gibbs, phl_error *error)
{
    const phl_forest *forest = gibbs->index->forest;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        double weight = phl_tree_weight(forest, tree);
        if (weight != floor(weight) || weight > 0x1p40) {
            phl_position position = {phl_tree_file(forest, tree), phl_tree_line(forest, tree), 0};
            return phl_raise_at(error, PHL_ERR_ARGUMENT, position,
                                "use whole weights, or " PHL_OPTION_TO("train.learner", "em"),
                                "tree %zu has weight %g; sampling needs positive integers", tree,
                                weight);
        }
    }
    return phl_index_occurrences(forest, NULL, &gibbs->times, error);
}

/* Rising factorials of the concentrations, which never change, as far as they are often needed. */
static phl_status tabulate_priors(phl_gibbs *gibbs, phl_error *error)
{
    enum { LARGEST = 4096 };
    double labels = (double)gibbs->params->labels + 1.0, states = (double)gibbs->params->states;
    double nodes = 0.0;
    for (size_t s = 0; s < gibbs->index->forest->n_subtrees && nodes < LARGEST; s++) {
        nodes += gibbs->times[s];
    }
    phl_rising_init(&gibbs->emission_rising[0], gibbs->options.beta);
    phl_rising_init(&gibbs->emission_rising[1], gibbs->options.beta * labels);
    phl_rising_init(&gibbs->prior_rising[0], gibbs->options.gamma);
    phl_rising_init(&gibbs->prior_rising[1], gibbs->options.gamma * states);
    phl_status status = PHL_OK;
    for (int i = 0; status == PHL_OK && i < 4; i++) {
        phl_rising *table = i < 2 ? &gibbs->emission_rising[i] : &gibbs->prior_rising[i - 2];
        status = phl_rising_reserve(table, nodes < LARGEST ? (int64_t)nodes : LARGEST, error);
    }
    return status;
}

static phl_status allocate(phl_gibbs *gibbs, phl_error *error)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states, n = gibbs->index->forest->n_subtrees;
    size_t widest = c > params->labels ? c : (size_t)params->labels + 1;
    gibbs->counts.state = phl_alloc_zero(n * c, sizeof *gibbs->counts.state, error);
    gibbs->counts.one_state = phl_alloc_zero(n, sizeof *gibbs->counts.one_state, error);
    gibbs->counts.prior =
        phl_alloc_zero(((size_t)params->slots + 1) * c, sizeof *gibbs->counts.prior, error);
    gibbs->counts.emission =
        phl_alloc_zero(((size_t)params->labels + 1) * c, sizeof *gibbs->counts.emission, error);
    gibbs->log_lambda0 = phl_alloc(c, sizeof *gibbs->log_lambda0, error);
    gibbs->log_row = phl_alloc(2 * (widest + 2), sizeof *gibbs->log_row, error);
    if (gibbs->counts.state == NULL || gibbs->counts.one_state == NULL ||
        gibbs->counts.prior == NULL || gibbs->counts.emission == NULL ||
        gibbs->log_lambda0 == NULL || gibbs->log_row == NULL) {
        return PHL_ERR_MEMORY;
    }
    return PHL_OK;
}

phl_status phl_gibbs_set_axes(phl_gibbs *gibbs, phl_error *error)
{
    phl_params *params = gibbs->params;
    phl_axis axes[PHL_MAX_AXES];
    PHL_CHECK_BUG(gibbs->partitions->n_active <= PHL_MAX_AXES, error);
    uint32_t n = phl_partitions_axes(gibbs->partitions, axes);
    bool same = n == params->n_axes && !params->soft;
    for (uint32_t a = 0; same && a < n; a++) {
        same = axes[a].slot == params->axes[a].slot && axes[a].size == params->axes[a].size;
    }
    if (!same) {
        return phl_params_set_axes(params, axes, n, error);
    }
    for (uint32_t a = 0; a < n; a++) { /* nothing to allocate */
        memcpy(params->axes[a].block, axes[a].block,
               ((size_t)params->states + 1) * sizeof *axes[a].block);
    }
    return PHL_OK;
}

/* What a chain works with. */
static phl_status make_parts(phl_gibbs *made, uint32_t states, uint32_t labels, phl_error *error)
{
    const phl_index *index = made->index;
    phl_status status =
        phl_params_create(PHL_TF, states, index->slots, labels, NULL, 0, 0, &made->params, error);
    if (status != PHL_OK) {
        return status;
    }
    status = allocate(made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = count_times(made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = tabulate_priors(made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_gibbs_parameters_list_seen(made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_params_clone_empty(made->params, &made->shape_counts, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_shape_counts(index->forest, NULL, made->shape_counts, error);
    if (status == PHL_OK && !made->options.no_swaps) {
        status = phl_label_swap_create(made, &made->swap, error);
    }
    if (status == PHL_OK && made->options.recycle > 0) {
        status = phl_state_recycle_create(made, &made->recycle, error);
    }
    return status == PHL_OK
               ? phl_state_counts_create(made->pairs, states, &made->state_counts, error)
               : status;
}

/* The state that a chain begins in. */
static phl_status start(phl_gibbs *made, const phl_axis *fixed, uint32_t n_fixed, phl_error *error)
{
    size_t states = made->params->states;
    phl_status status =
        phl_partitions_create(made->state_counts, &made->options.prior, &made->partitions, error);
    if (status != PHL_OK) {
        return status;
    }
    uint32_t eligible = made->pairs->n_eligible;
    phl_partition_prior *prior = &made->partitions->prior;
    prior->slots_max = prior->slots_max > eligible ? eligible : prior->slots_max;
    prior->slots_max = prior->slots_max > PHL_MAX_AXES ? PHL_MAX_AXES : prior->slots_max;
    status = start_partitions(made, fixed, n_fixed, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_partitions_count(made->partitions, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_gibbs_set_axes(made, error);
    if (status != PHL_OK) {
        return status;
    }
    set_uniform(made->params);
    made->expanded = true;
    for (size_t j = 0; j < states; j++) {
        made->log_lambda0[j] = -log((double)states);
    }
    return phl_upward_create(made->index, made->params, made->label_row, &made->upward, error);
}

phl_status phl_gibbs_create(const phl_slot_pairs *pairs, const uint32_t *label_row, uint32_t states,
                            uint32_t labels, const phl_axis *fixed, uint32_t n_fixed,
                            const phl_gibbs_options *options, phl_gibbs **gibbs, phl_error *error)
{
    const phl_index *index = pairs->index;
    phl_gibbs *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->options = *options;
    made->index = index;
    made->pairs = pairs;
    made->label_row = label_row;
    made->alpha = options->alpha;
    made->alpha0 = options->alpha0;
    phl_status status = make_parts(made, states, labels, error);
    if (status == PHL_OK) {
        status = start(made, fixed, n_fixed, error);
    }
    if (status != PHL_OK) {
        phl_gibbs_free(made);
        return status;
    }
    *gibbs = made;
    return PHL_OK;
}

void phl_gibbs_free(phl_gibbs *gibbs)
{
    if (gibbs == NULL) {
        return;
    }
    if (gibbs->counts.kappa != NULL) {
        for (uint32_t a = 0; a < gibbs->params->n_axes; a++) {
            phl_free(gibbs->counts.kappa[a]);
        }
    }
    phl_free(gibbs->counts.kappa);
    phl_free(gibbs->counts.core);
    phl_free(gibbs->counts.state);
    phl_free(gibbs->counts.one_state);
    phl_free(gibbs->counts.prior);
    phl_free(gibbs->counts.emission);
    phl_upward_free(gibbs->upward);
    phl_partitions_free(gibbs->partitions);
    phl_state_counts_free(gibbs->state_counts);
    phl_label_swap_free(gibbs->swap);
    phl_state_recycle_free(gibbs->recycle);
    phl_params_free(gibbs->params);
    phl_params_free(gibbs->shape_counts);
    phl_free(gibbs->times);
    phl_free(gibbs->log_lambda0);
    phl_free(gibbs->log_row);
    for (int i = 0; i < 2; i++) {
        phl_rising_clear(&gibbs->emission_rising[i]);
        phl_rising_clear(&gibbs->prior_rising[i]);
    }
    phl_free(gibbs->label_order);
    phl_free(gibbs->has_leaf);
    phl_free(gibbs->unseen_mass);
    phl_free(gibbs->weights);
    phl_free(gibbs->drawn);
    phl_cell_draw_clear(&gibbs->cell_draw);
    phl_likely_outcome_clear(&gibbs->likely);
    phl_free(gibbs->pool);
    phl_free(gibbs->share);
    phl_free(gibbs);
}

/* ---------------------------------------------------------------------------------------------
 * Step 2
 * ------------------------------------------------------------------------------------------- */

phl_status phl_gibbs_draw_partitions(phl_gibbs *gibbs, double temperature, phl_error *error)
{
    phl_rng rng;
    phl_gibbs_rng(gibbs, PHL_PURPOSE_PARTITION, 0, &rng);
    phl_status status =
        phl_partitions_set_base(gibbs->partitions, gibbs->alpha, gibbs->log_lambda0, error);
    if (status == PHL_OK && gibbs->swap != NULL) {
        status = phl_label_swap_sweep(gibbs, temperature, error);
    }
    bool held = gibbs->options.fixed_partitions || gibbs->iteration < gibbs->options.hold_end;
    return status == PHL_OK && !held
               ? phl_partition_sweep(gibbs->partitions, temperature, &rng, error)
               : status;
}

/* ---------------------------------------------------------------------------------------------
 * The iteration
 * ------------------------------------------------------------------------------------------- */

phl_status phl_gibbs_likelihood(phl_gibbs *gibbs, double *log_likelihood, phl_error *error)
{
    phl_status status = phl_upward_norms(gibbs->upward, gibbs->options.threads, error);
    *log_likelihood = status == PHL_OK ? phl_upward_total(gibbs->upward, gibbs->times) : -INFINITY;
    gibbs->passed = status == PHL_OK;
    return status;
}

/* Marginal likelihood of rows of counts under symmetric Dirichlet priors, by tables of rising
 * factorials of the concentration and of its sum. */
static double marginal(const int64_t *counts, size_t rows, size_t columns, const phl_rising *each,
                       const phl_rising *all)
{
    double sum = 0.0;
    for (size_t r = 0; r < rows; r++) {
        int64_t total = 0;
        for (size_t i = 0; i < columns; i++) {
            int64_t n = counts[r * columns + i];
            sum += n > 0 ? phl_rising_get(each, n) : 0.0;
            total += n;
        }
        sum -= total > 0 ? phl_rising_get(all, total) : 0.0;
    }
    return sum;
}

/* The same of emission, whose distributions are columns. */
static double emission_marginal(const phl_gibbs *gibbs)
{
    size_t c = gibbs->params->states;
    int64_t *total = gibbs->drawn; /* [C] */
    double sum = 0.0;
    memset(total, 0, c * sizeof *total);
    for (size_t i = 0; i < gibbs->n_seen; i++) {
        const int64_t *counts = gibbs->counts.emission + gibbs->label_order[i] * c;
        for (size_t j = 0; j < c; j++) {
            sum += counts[j] > 0 ? phl_rising_get(&gibbs->emission_rising[0], counts[j]) : 0.0;
            total[j] += counts[j];
        }
    }
    for (size_t j = 0; j < c; j++) {
        sum -= total[j] > 0 ? phl_rising_get(&gibbs->emission_rising[1], total[j]) : 0.0;
    }
    return sum;
}

static double soft_marginal(const phl_gibbs *gibbs, uint32_t a)
{
    size_t c = gibbs->params->states, k = gibbs->params->axes[a].size;
    const phl_rising each = {.a = gibbs->options.delta / (double)k};
    const phl_rising all = {.a = gibbs->options.delta};
    return marginal(gibbs->counts.kappa[a], c + 1, k, &each, &all);
}

double phl_gibbs_joint(const phl_gibbs *gibbs)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    double sum = marginal(gibbs->counts.prior, params->slots, c, &gibbs->prior_rising[0],
                          &gibbs->prior_rising[1]) +
                 emission_marginal(gibbs);
    if (!params->soft) {
        return sum + phl_partitions_score(gibbs->partitions);
    }
    for (size_t z = 0; z < params->core_rows; z++) {
        int64_t total = 0;
        for (size_t j = 0; j < c; j++) {
            int64_t n = gibbs->counts.core[z * c + j];
            sum += n > 0 ? phl_log_rising_log(log(gibbs->alpha) + gibbs->log_lambda0[j], n) : 0.0;
            total += n;
        }
        sum -= total > 0 ? phl_log_rising(gibbs->alpha, total) : 0.0;
    }
    for (uint32_t a = 0; a < params->n_axes; a++) {
        sum += soft_marginal(gibbs, a);
    }
    return sum;
}

phl_status phl_gibbs_step(phl_gibbs *gibbs, double temperature, phl_error *error)
{
    phl_status status = phl_hidden_states_draw(gibbs, error);
    if (status == PHL_OK && !gibbs->params->soft) {
        status = phl_gibbs_draw_partitions(gibbs, temperature, error);
    }
    if (status == PHL_OK && gibbs->recycle != NULL && !gibbs->params->soft) {
        status = phl_state_recycle_search(gibbs, error);
    }
    if (status == PHL_OK) {
        gibbs->log_joint = phl_gibbs_joint(gibbs);
        status = phl_gibbs_parameters_draw(gibbs, gibbs->iteration, error);
    }
    gibbs->iteration += status == PHL_OK;
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Soft clustering, and taking up a chain
 * ------------------------------------------------------------------------------------------- */

/* Counts that only the soft stage has. */
static phl_status allocate_soft_counts(phl_gibbs *gibbs, phl_error *error)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    gibbs->counts.core = phl_alloc_zero(params->core_rows * c, sizeof *gibbs->counts.core, error);
    gibbs->counts.kappa = phl_alloc_zero(params->n_axes, sizeof *gibbs->counts.kappa, error);
    phl_status status =
        gibbs->counts.core == NULL || gibbs->counts.kappa == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (uint32_t a = 0; status == PHL_OK && a < params->n_axes; a++) {
        gibbs->counts.kappa[a] =
            phl_alloc_zero((c + 1) * params->axes[a].size, sizeof *gibbs->counts.kappa[a], error);
        status = gibbs->counts.kappa[a] == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    return status;
}

phl_status phl_gibbs_soften(phl_gibbs *gibbs, phl_error *error)
{
    phl_params *params = gibbs->params;
    size_t c = params->states, cells = params->core_rows * c;
    uint32_t n = params->n_axes;
    phl_axis axes[PHL_MAX_AXES];
    memset(axes, 0, sizeof axes);
    if (n == 0) {
        gibbs->options.fixed_partitions = true; /* nothing to soften, and k stays as it is */
    }
    if (params->soft || n == 0) {
        return PHL_OK;
    }
    gibbs->passed = false;
    double *core = phl_alloc(cells, sizeof *core, error);
    phl_status status = core == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (uint32_t a = 0; status == PHL_OK && a < n; a++) {
        size_t size = params->axes[a].size;
        axes[a].slot = params->axes[a].slot;
        axes[a].size = params->axes[a].size;
        axes[a].matrix = phl_alloc((c + 1) * size, sizeof *axes[a].matrix, error);
        status = axes[a].matrix == NULL ? PHL_ERR_MEMORY : PHL_OK;
        for (size_t q = 0; status == PHL_OK && q <= c; q++) {
            for (size_t z = 0; z < size; z++) {
                axes[a].matrix[q * size + z] =
                    0.9 * (params->axes[a].block[q] == z) + 0.1 / (double)size;
            }
        }
    }
    if (status == PHL_OK) {
        memcpy(core, params->core, cells * sizeof *core);
        status = phl_params_set_axes(params, axes, n, error);
    }
    if (status == PHL_OK) {
        memcpy(params->core, core, cells * sizeof *core);
        status = allocate_soft_counts(gibbs, error);
    }
    for (uint32_t a = 0; a < n; a++) {
        phl_free(axes[a].matrix);
    }
    phl_free(core);
    return status;
}

/* The partitions of a hard state; of a soft one, slots and sizes, which later stages never look
 * into. */
static void restore_partitions(phl_partitions *partitions, const phl_params *params)
{
    size_t values = (size_t)params->states + 1;
    const uint32_t *eligible = partitions->counts->pairs->eligible;
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        uint32_t number = params->axis_of_slot[eligible[e]];
        const phl_axis *axis = number == 0 ? NULL : &params->axes[number - 1];
        partitions->size[e] = axis == NULL ? 1 : axis->size;
        for (size_t q = 0; q < values; q++) {
            partitions->block[e * values + q] =
                axis == NULL || axis->block == NULL ? 0 : axis->block[q];
        }
    }
}

phl_status phl_gibbs_restore(phl_gibbs *gibbs, const phl_chain_state *state, phl_error *error)
{
    const phl_params *old = state->params;
    PHL_CHECK_BUG(old->kind == PHL_TF && old->states == gibbs->params->states &&
                      old->slots == gibbs->params->slots && old->labels == gibbs->params->labels,
                  error);
    phl_status status =
        phl_params_set_axes(gibbs->params, state->params->axes, state->params->n_axes, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_table from, to;
    for (size_t t = 0; phl_params_table(state->params, t, &from); t++) {
        (void)phl_params_table(gibbs->params, t, &to);
        PHL_CHECK_BUG(from.rows == to.rows && from.columns == to.columns, error);
        for (size_t r = 0; r < from.rows; r++) {
            for (size_t c = 0; c < from.columns; c++) {
                size_t at = r * from.row_stride + c * from.column_stride;
                to.data[at] = from.data[at];
            }
        }
    }
    phl_params_complete(gibbs->params);
    restore_partitions(gibbs->partitions, gibbs->params);
    memcpy(gibbs->log_lambda0, state->log_lambda0,
           gibbs->params->states * sizeof *gibbs->log_lambda0);
    gibbs->alpha = state->alpha;
    gibbs->alpha0 = state->alpha0;
    gibbs->iteration = state->iteration;
    gibbs->expanded = true; /* as it was when the state was taken */
    gibbs->passed = false;
    status = phl_partitions_count(gibbs->partitions, error);
    if (status == PHL_OK && gibbs->params->soft) {
        status = allocate_soft_counts(gibbs, error);
    }
    return status;
}
