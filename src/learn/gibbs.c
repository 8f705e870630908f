/* gibbs.c - one chain of the blocked sampler: its start, step 3, and the whole iteration; see
 * gibbs.h. */
#include "learn/gibbs.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
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

static void start_rng(const phl_gibbs *gibbs, uint64_t purpose, uint64_t item, phl_rng *rng)
{
    phl_rng_init(rng, gibbs->options.seed, purpose, gibbs->options.stream, gibbs->iteration, item);
}

/* Partitions to start from: given ones, given sizes, or two blocks in random slots. */
static phl_status start_partitions(phl_gibbs *gibbs, const phl_mode *fixed, uint32_t n_fixed,
                                   phl_error *error)
{
    phl_partitions *partitions = gibbs->partitions;
    const phl_rows *rows = gibbs->rows;
    size_t values = (size_t)gibbs->params->states + 1;
    phl_rng rng;
    start_rng(gibbs, PHL_PURPOSE_START, 0, &rng);
    for (uint32_t a = 0; a < n_fixed; a++) {
        uint32_t e = 0;
        while (e < rows->n_eligible && rows->eligible[e] != fixed[a].slot) {
            e++;
        }
        if (e == rows->n_eligible) {
            return phl_raise(error, PHL_ERR_ARGUMENT, "lower --slot-support, or leave it out",
                             "slot %u cannot be active: it is filled in too few nodes",
                             fixed[a].slot);
        }
        partitions->size[e] = fixed[a].size;
        memcpy(partitions->block + e * values, fixed[a].block, values * sizeof *fixed[a].block);
    }
    const uint32_t *sizes = partitions->prior.fixed;
    uint32_t wanted = partitions->prior.slots_min > 1 ? partitions->prior.slots_min : 1;
    wanted = wanted > partitions->prior.slots_max ? partitions->prior.slots_max : wanted;
    uint32_t *order = phl_alloc(rows->n_eligible, sizeof *order, error);
    if (order == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (uint32_t e = 0; e < rows->n_eligible; e++) {
        order[e] = e;
    }
    phl_shuffle(&rng, rows->n_eligible, order);
    for (uint32_t i = 0; n_fixed == 0 && i < rows->n_eligible; i++) {
        uint32_t e = sizes != NULL ? i : order[i];
        uint32_t size = sizes != NULL ? sizes[e] : i < wanted ? 2 : 1;
        partitions->size[e] = size;
        phl_partition_draw(&rng, &partitions->stirling, values, size,
                           partitions->block + e * values);
    }
    phl_free(order);
    return PHL_OK;
}

static phl_status count_roots(phl_gibbs *gibbs, phl_error *error)
{
    const phl_forest *forest = gibbs->index->forest;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        double weight = phl_tree_weight(forest, tree);
        if (weight != floor(weight) || weight > 0x1p40) {
            phl_position position = {phl_tree_file(forest, tree), phl_tree_line(forest, tree), 0};
            return phl_raise_at(
                error, PHL_ERR_ARGUMENT, position, "use whole weights, or --learner em",
                "tree %zu has weight %g; sampling needs positive integers", tree, weight);
        }
        gibbs->root_count[forest->tree_root[tree]] += (int64_t)weight;
    }
    return PHL_OK;
}

static phl_status allocate(phl_gibbs *gibbs, phl_error *error)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states, n = gibbs->index->forest->n_subtrees;
    size_t widest = c > params->labels ? c : (size_t)params->labels + 1;
    gibbs->counts.state = phl_alloc_zero(n * c, sizeof *gibbs->counts.state, error);
    gibbs->counts.prior =
        phl_alloc_zero(((size_t)params->slots + 1) * c, sizeof *gibbs->counts.prior, error);
    gibbs->counts.emission =
        phl_alloc_zero(((size_t)params->labels + 1) * c, sizeof *gibbs->counts.emission, error);
    gibbs->root_count = phl_alloc_zero(n, sizeof *gibbs->root_count, error);
    gibbs->log_lambda0 = phl_alloc(c, sizeof *gibbs->log_lambda0, error);
    gibbs->log_row = phl_alloc(2 * (widest + 2), sizeof *gibbs->log_row, error);
    if (gibbs->counts.state == NULL || gibbs->counts.prior == NULL ||
        gibbs->counts.emission == NULL || gibbs->root_count == NULL || gibbs->log_lambda0 == NULL ||
        gibbs->log_row == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status =
        phl_grow(&gibbs->weights, &gibbs->weight_capacity, c + 1, sizeof *gibbs->weights, error);
    return status == PHL_OK
               ? phl_grow(&gibbs->drawn, &gibbs->drawn_capacity, c + 1, sizeof *gibbs->drawn, error)
               : status;
}

/* Active slots of the model from the partitions. */
static phl_status set_modes(phl_gibbs *gibbs, phl_error *error)
{
    phl_mode modes[PHL_MAX_MODES];
    PHL_CHECK_BUG(gibbs->partitions->n_active <= PHL_MAX_MODES, error);
    uint32_t n = phl_partitions_modes(gibbs->partitions, modes);
    return phl_params_set_modes(gibbs->params, modes, n, error);
}

phl_status phl_gibbs_create(const phl_index *index, const uint32_t *label_row, uint32_t states,
                            uint32_t labels, const phl_mode *fixed, uint32_t n_fixed,
                            const phl_gibbs_options *options, phl_gibbs **gibbs, phl_error *error)
{
    phl_gibbs *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->options = *options;
    made->index = index;
    made->label_row = label_row;
    made->alpha = options->alpha;
    made->alpha0 = options->alpha0;
    phl_status status =
        phl_params_create(PHL_TF, states, index->slots, labels, NULL, 0, 0, &made->params, error);
    if (status == PHL_OK) {
        status = allocate(made, error);
    }
    if (status == PHL_OK) {
        status = count_roots(made, error);
    }
    if (status == PHL_OK) {
        status = phl_params_clone_empty(made->params, &made->shape_counts, error);
    }
    if (status == PHL_OK) {
        status = phl_shape_counts(index->forest, NULL, made->shape_counts, error);
    }
    if (status == PHL_OK) {
        status = phl_rows_create(index, states, options->slot_support, &made->rows, error);
    }
    if (status == PHL_OK) {
        status = phl_partitions_create(made->rows, &options->prior, &made->partitions, error);
    }
    if (status == PHL_OK) {
        uint32_t eligible = made->rows->n_eligible;
        phl_partition_prior *prior = &made->partitions->prior;
        prior->slots_max = prior->slots_max > eligible ? eligible : prior->slots_max;
        prior->slots_max = prior->slots_max > PHL_MAX_MODES ? PHL_MAX_MODES : prior->slots_max;
        status = start_partitions(made, fixed, n_fixed, error);
    }
    if (status == PHL_OK) {
        status = phl_partitions_count(made->partitions, error);
    }
    if (status == PHL_OK) {
        status = set_modes(made, error);
    }
    if (status == PHL_OK) {
        set_uniform(made->params);
        for (size_t j = 0; j < states; j++) {
            made->log_lambda0[j] = -log((double)states);
        }
        status = phl_upward_create(index, made->params, label_row, &made->upward, error);
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
    if (gibbs->counts.mode != NULL) {
        for (uint32_t a = 0; a < gibbs->params->n_modes; a++) {
            phl_free(gibbs->counts.mode[a]);
        }
    }
    phl_free(gibbs->counts.mode);
    phl_free(gibbs->counts.core);
    phl_free(gibbs->counts.state);
    phl_free(gibbs->counts.prior);
    phl_free(gibbs->counts.emission);
    phl_upward_free(gibbs->upward);
    phl_partitions_free(gibbs->partitions);
    phl_rows_free(gibbs->rows);
    phl_params_free(gibbs->params);
    phl_params_free(gibbs->shape_counts);
    phl_free(gibbs->root_count);
    phl_free(gibbs->log_lambda0);
    phl_free(gibbs->log_row);
    phl_free(gibbs->weights);
    phl_free(gibbs->drawn);
    phl_free(gibbs);
}

/* ---------------------------------------------------------------------------------------------
 * Step 2
 * ------------------------------------------------------------------------------------------- */

phl_status phl_gibbs_draw_partitions(phl_gibbs *gibbs, double temperature, phl_error *error)
{
    phl_rng rng;
    start_rng(gibbs, PHL_PURPOSE_PARTITION, 0, &rng);
    phl_status status =
        phl_partitions_set_base(gibbs->partitions, gibbs->alpha, gibbs->log_lambda0, error);
    if (status == PHL_OK && !gibbs->options.fixed_partitions) {
        status = phl_partitions_sweep(gibbs->partitions, temperature, &rng, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Step 3
 * ------------------------------------------------------------------------------------------- */

static size_t core_cells(const phl_gibbs *gibbs)
{
    return gibbs->params->soft ? gibbs->params->core_rows : gibbs->partitions->n_cells;
}

static const int64_t *core_counts(const phl_gibbs *gibbs)
{
    return gibbs->params->soft ? gibbs->counts.core : gibbs->partitions->cells;
}

/* alpha ~ Gamma(1, 1) given cell totals and the number of tables, by the auxiliary variables of Teh
 * et al. (2006): for each cell w ~ Beta(alpha + 1, n), s ~ Bernoulli(n / (n + alpha)). */
static void draw_alpha(phl_gibbs *gibbs, double tables)
{
    const int64_t *counts = core_counts(gibbs);
    size_t c = gibbs->params->states;
    phl_rng rng;
    start_rng(gibbs, PHL_PURPOSE_TABLES, UINT64_MAX, &rng);
    double shape = 1.0 + tables, rate = 1.0;
    for (size_t z = 0; z < core_cells(gibbs); z++) {
        double total = 0.0;
        for (size_t j = 0; j < c; j++) {
            total += (double)counts[z * c + j];
        }
        if (total > 0.0) {
            double log_w, log_rest;
            phl_log_beta_draw(&rng, gibbs->alpha + 1.0, total, &log_w, &log_rest);
            shape -= phl_rng_uniform(&rng) < total / (total + gibbs->alpha) ? 1.0 : 0.0;
            rate -= log_w;
        }
    }
    gibbs->alpha = exp(phl_log_gamma_draw(&rng, shape)) / rate;
}

/* log density of alpha0 given lambda0, prior Gamma(1, 1), as a function of log alpha0. */
static double alpha0_density(const phl_gibbs *gibbs, double log_alpha0)
{
    double alpha0 = exp(log_alpha0), c = gibbs->params->states, sum = 0.0;
    for (size_t j = 0; j < gibbs->params->states; j++) {
        sum += gibbs->log_lambda0[j];
    }
    return phl_log_gamma(alpha0) - c * phl_log_gamma(alpha0 / c) + (alpha0 / c - 1.0) * sum -
           alpha0 + log_alpha0;
}

/* Some Metropolis steps on log alpha0. */
static void draw_alpha0(phl_gibbs *gibbs)
{
    enum { STEPS = 10 };
    phl_rng rng;
    start_rng(gibbs, PHL_PURPOSE_TABLES, UINT64_MAX - 1, &rng);
    double log_alpha0 = log(gibbs->alpha0);
    double density = alpha0_density(gibbs, log_alpha0);
    for (int i = 0; i < STEPS; i++) {
        double proposal = log_alpha0 + phl_rng_normal(&rng);
        double proposed = alpha0_density(gibbs, proposal);
        if (log(phl_rng_uniform(&rng)) < proposed - density) {
            log_alpha0 = proposal;
            density = proposed;
        }
    }
    gibbs->alpha0 = exp(log_alpha0);
}

/* lambda0 by the table counts of all cells, lambda integrated out. */
static void draw_base(phl_gibbs *gibbs)
{
    size_t c = gibbs->params->states;
    const int64_t *counts = core_counts(gibbs);
    double *tables = gibbs->log_row; /* [C] */
    double all = 0.0;
    for (size_t j = 0; j < c; j++) {
        tables[j] = 0.0;
    }
    for (size_t z = 0; z < core_cells(gibbs); z++) {
        phl_rng rng;
        start_rng(gibbs, PHL_PURPOSE_TABLES, z, &rng);
        for (size_t j = 0; j < c; j++) {
            if (counts[z * c + j] > 0) {
                double drawn = (double)phl_crt_draw_log(&rng, counts[z * c + j],
                                                        log(gibbs->alpha) + gibbs->log_lambda0[j]);
                tables[j] += drawn;
                all += drawn;
            }
        }
    }
    if (gibbs->options.update_concentration) {
        draw_alpha(gibbs, all);
    }
    for (size_t j = 0; j < c; j++) {
        tables[j] += gibbs->alpha0 / (double)c;
    }
    phl_rng rng;
    start_rng(gibbs, PHL_PURPOSE_TABLES, UINT64_MAX - 2, &rng);
    phl_log_dirichlet_draw(&rng, tables, c, gibbs->log_lambda0);
    if (gibbs->options.update_concentration) {
        draw_alpha0(gibbs);
    }
}

/* A row of a table from Dir(concentration + counts): counts and row by strides. */
static void draw_row(phl_gibbs *gibbs, phl_rng *rng, double concentration, const int64_t *counts,
                     size_t count_stride, size_t n, double *row, size_t row_stride)
{
    double *parameters = gibbs->log_row;
    for (size_t i = 0; i < n; i++) {
        parameters[i] = concentration + (double)counts[i * count_stride];
    }
    phl_log_dirichlet_draw(rng, parameters, n, parameters);
    for (size_t i = 0; i < n; i++) {
        row[i * row_stride] = exp(parameters[i]);
    }
}

static void draw_core(phl_gibbs *gibbs)
{
    size_t c = gibbs->params->states;
    const int64_t *counts = core_counts(gibbs);
    double *parameters = gibbs->log_row;
    for (size_t z = 0; z < gibbs->params->core_rows; z++) {
        phl_rng rng;
        start_rng(gibbs, PHL_PURPOSE_CORE, z, &rng);
        for (size_t j = 0; j < c; j++) {
            /* log(alpha lambda0 + n): lambda0 may lie below the smallest double */
            double base = log(gibbs->alpha) + gibbs->log_lambda0[j];
            double n = (double)counts[z * c + j];
            parameters[j] = n > 0.0 ? phl_log_add(base, log(n)) : base;
        }
        phl_log_dirichlet_draw_log(&rng, parameters, c, parameters);
        for (size_t j = 0; j < c; j++) {
            gibbs->params->core[z * c + j] = exp(parameters[j]);
        }
    }
}

/* o by slot: the condition "not all absent" is lifted by adding r ~ NegBin(N, 1 - p0) rejected
 * all-absent nodes, p0 from the tables as they are. */
static void draw_shape(phl_gibbs *gibbs)
{
    phl_params *params = gibbs->params;
    const phl_params *counts = gibbs->shape_counts;
    double gamma = gibbs->options.gamma;
    phl_rng rng;
    start_rng(gibbs, PHL_PURPOSE_SHAPES, 0, &rng);
    double log_p0 = 0.0;
    for (size_t l = 0; l < params->slots; l++) {
        log_p0 += log(params->shape[3 * l]);
    }
    int64_t internal = (int64_t)(counts->shape[0] + counts->shape[1] + counts->shape[2] + 0.5);
    double rejected =
        internal == 0 ? 0.0 : (double)phl_negative_binomial_draw(&rng, internal, log_p0);
    for (size_t l = 0; l < params->slots; l++) {
        double parameters[3];
        for (int k = 0; k < 3; k++) {
            parameters[k] = gamma + counts->shape[3 * l + (size_t)k] + (k == 0 ? rejected : 0.0);
        }
        start_rng(gibbs, PHL_PURPOSE_SHAPES, l + 1, &rng);
        phl_log_dirichlet_draw(&rng, parameters, 3, parameters);
        for (int k = 0; k < 3; k++) {
            params->shape[3 * l + (size_t)k] = exp(parameters[k]);
        }
    }
    double kinds[2] = {gamma + counts->root_kind[0], gamma + counts->root_kind[1]};
    start_rng(gibbs, PHL_PURPOSE_SHAPES, UINT64_MAX, &rng);
    phl_log_dirichlet_draw(&rng, kinds, 2, kinds);
    params->root_kind[0] = exp(kinds[0]);
    params->root_kind[1] = exp(kinds[1]);
}

phl_status phl_gibbs_draw_parameters(phl_gibbs *gibbs, phl_error *error)
{
    phl_params *params = gibbs->params;
    size_t c = params->states;
    phl_rng rng;
    if (!params->soft) {
        phl_status status = set_modes(gibbs, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    draw_base(gibbs);
    draw_core(gibbs);
    for (size_t l = 0; l < params->slots; l++) {
        start_rng(gibbs, PHL_PURPOSE_PRIOR, l, &rng);
        draw_row(gibbs, &rng, gibbs->options.gamma, gibbs->counts.prior + l * c, 1, c,
                 params->prior + l * c, 1);
    }
    for (size_t j = 0; j < c; j++) {
        start_rng(gibbs, PHL_PURPOSE_EMISSION, j, &rng);
        draw_row(gibbs, &rng, gibbs->options.beta, gibbs->counts.emission + j, c,
                 (size_t)params->labels + 1, params->emission + j, c);
    }
    for (uint32_t a = 0; params->soft && a < params->n_modes; a++) {
        phl_mode *mode = &params->modes[a];
        for (size_t q = 0; q <= c; q++) {
            start_rng(gibbs, PHL_PURPOSE_MODE, (uint64_t)a << 32 | q, &rng);
            draw_row(gibbs, &rng, gibbs->options.delta / mode->size,
                     gibbs->counts.mode[a] + q * mode->size, 1, mode->size,
                     mode->matrix + q * mode->size, 1);
        }
    }
    draw_shape(gibbs);
    phl_params_complete(params);
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The iteration
 * ------------------------------------------------------------------------------------------- */

double phl_gibbs_temperature(const phl_gibbs_options *options, uint64_t iteration)
{
    if (options->anneal_end == 0 || iteration >= options->anneal_end) {
        return 1.0;
    }
    return pow(options->anneal_start, 1.0 - (double)iteration / (double)options->anneal_end);
}

/* Marginal likelihood of counts by rows under symmetric Dirichlet priors. */
static double marginal(const int64_t *counts, size_t rows, size_t row_stride, size_t columns,
                       size_t column_stride, double concentration)
{
    double sum = 0.0;
    for (size_t r = 0; r < rows; r++) {
        int64_t total = 0;
        for (size_t i = 0; i < columns; i++) {
            int64_t n = counts[r * row_stride + i * column_stride];
            sum += n > 0 ? phl_log_rising(concentration, n) : 0.0;
            total += n;
        }
        sum -= total > 0 ? phl_log_rising(concentration * (double)columns, total) : 0.0;
    }
    return sum;
}

static double joint(const phl_gibbs *gibbs)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    double sum =
        marginal(gibbs->counts.prior, params->slots, c, c, 1, gibbs->options.gamma) +
        marginal(gibbs->counts.emission, c, 1, (size_t)params->labels + 1, c, gibbs->options.beta);
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
    for (uint32_t a = 0; a < params->n_modes; a++) {
        size_t k = params->modes[a].size;
        sum += marginal(gibbs->counts.mode[a], c + 1, k, k, 1, gibbs->options.delta / (double)k);
    }
    return sum;
}

phl_status phl_gibbs_step(phl_gibbs *gibbs, phl_error *error)
{
    gibbs->temperature = phl_gibbs_temperature(&gibbs->options, gibbs->iteration);
    phl_status status = phl_gibbs_draw_states(gibbs, error);
    if (status == PHL_OK && !gibbs->params->soft) {
        status = phl_gibbs_draw_partitions(gibbs, gibbs->temperature, error);
    }
    if (status == PHL_OK) {
        gibbs->log_joint = joint(gibbs);
        status = phl_gibbs_draw_parameters(gibbs, error);
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
    gibbs->counts.mode = phl_alloc_zero(params->n_modes, sizeof *gibbs->counts.mode, error);
    phl_status status =
        gibbs->counts.core == NULL || gibbs->counts.mode == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (uint32_t a = 0; status == PHL_OK && a < params->n_modes; a++) {
        gibbs->counts.mode[a] =
            phl_alloc_zero((c + 1) * params->modes[a].size, sizeof *gibbs->counts.mode[a], error);
        status = gibbs->counts.mode[a] == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    return status;
}

phl_status phl_gibbs_soften(phl_gibbs *gibbs, phl_error *error)
{
    phl_params *params = gibbs->params;
    size_t c = params->states, cells = params->core_rows * c;
    uint32_t n = params->n_modes;
    phl_mode modes[PHL_MAX_MODES];
    memset(modes, 0, sizeof modes);
    if (n == 0) {
        gibbs->options.fixed_partitions = true; /* nothing to soften, and k stays as it is */
    }
    if (params->soft || n == 0) {
        return PHL_OK;
    }
    double *core = phl_alloc(cells, sizeof *core, error);
    phl_status status = core == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (uint32_t a = 0; status == PHL_OK && a < n; a++) {
        size_t size = params->modes[a].size;
        modes[a].slot = params->modes[a].slot;
        modes[a].size = params->modes[a].size;
        modes[a].matrix = phl_alloc((c + 1) * size, sizeof *modes[a].matrix, error);
        status = modes[a].matrix == NULL ? PHL_ERR_MEMORY : PHL_OK;
        for (size_t q = 0; status == PHL_OK && q <= c; q++) {
            for (size_t z = 0; z < size; z++) {
                modes[a].matrix[q * size + z] =
                    0.9 * (params->modes[a].block[q] == z) + 0.1 / (double)size;
            }
        }
    }
    if (status == PHL_OK) {
        memcpy(core, params->core, cells * sizeof *core);
        status = phl_params_set_modes(params, modes, n, error);
    }
    if (status == PHL_OK) {
        memcpy(params->core, core, cells * sizeof *core);
        status = allocate_soft_counts(gibbs, error);
    }
    for (uint32_t a = 0; a < n; a++) {
        phl_free(modes[a].matrix);
    }
    phl_free(core);
    return status;
}

/* The partitions of a hard state; of a soft one, slots and sizes, which later stages never look
 * into. */
static void restore_partitions(phl_partitions *partitions, const phl_params *params)
{
    size_t values = (size_t)params->states + 1;
    const uint32_t *eligible = partitions->rows->eligible;
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        uint32_t number = params->mode_of_slot[eligible[e]];
        const phl_mode *mode = number == 0 ? NULL : &params->modes[number - 1];
        partitions->size[e] = mode == NULL ? 1 : mode->size;
        for (size_t q = 0; q < values; q++) {
            partitions->block[e * values + q] =
                mode == NULL || mode->block == NULL ? 0 : mode->block[q];
        }
    }
}

phl_status phl_gibbs_restore(phl_gibbs *gibbs, const phl_chain_state *state, phl_error *error)
{
    phl_status status =
        phl_params_set_modes(gibbs->params, state->params->modes, state->params->n_modes, error);
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
    status = phl_partitions_count(gibbs->partitions, error);
    if (status == PHL_OK && gibbs->params->soft) {
        status = allocate_soft_counts(gibbs, error);
    }
    return status;
}
