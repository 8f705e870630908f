/* gibbs_parameters.c - step 3 of the blocked sampler: lambda0 by table counts, then all tables.
 *
 * Labels that the forest does not have, and slots in which it has no leaf, take no part in step 1.
 * All such labels of a state share one component of the Dirichlet draw, which is the same law by
 * the aggregation property; what the table has for each of them is of no meaning until somebody
 * looks (phl_gibbs_parameters_expand).  Such slots have a flat row.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "gibbs/gibbs.h"
#include "model/kernel.h"
#include "model/purposes.h"

/* ---------------------------------------------------------------------------------------------
 * What the forest has
 * ------------------------------------------------------------------------------------------- */

phl_status phl_gibbs_parameters_list_seen(phl_gibbs *gibbs, phl_error *error)
{
    const phl_params *params = gibbs->params;
    const phl_forest *forest = gibbs->index->forest;
    size_t rows = (size_t)params->labels + 1;
    uint8_t *has = phl_alloc_zero(rows, 1, error);
    gibbs->label_order = phl_alloc(rows, sizeof *gibbs->label_order, error);
    gibbs->has_leaf = phl_alloc_zero((size_t)params->slots + 1, 1, error);
    gibbs->unseen_mass = phl_alloc_zero(params->states, sizeof *gibbs->unseen_mass, error);
    if (has == NULL || gibbs->label_order == NULL || gibbs->has_leaf == NULL ||
        gibbs->unseen_mass == NULL) {
        phl_free(has);
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        if (forest->label[s] >= 0) {
            has[gibbs->label_row[forest->label[s]]] = 1;
        }
        if (forest->leaf_slot[s] != 0) {
            gibbs->has_leaf[phl_leaf_row(params, forest->leaf_slot[s])] = 1;
        }
    }
    size_t at = 0;
    for (int wanted = 1; wanted >= 0; wanted--) {
        for (size_t row = 0; row < rows; row++) {
            if (has[row] == wanted) {
                gibbs->label_order[at++] = (uint32_t)row;
                gibbs->n_seen += (size_t)wanted;
            }
        }
    }
    phl_free(has);
    return PHL_OK;
}

/* Random numbers of a purpose and item, for the parameters that are drawn, or were drawn last. */
static void stream_of(const phl_gibbs *gibbs, uint64_t purpose, uint64_t item, phl_rng *rng)
{
    phl_rng_init(rng, gibbs->options.seed, purpose, gibbs->options.stream, gibbs->drawn_in, item);
}

/* ---------------------------------------------------------------------------------------------
 * lambda0 and the concentrations
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
    stream_of(gibbs, PHL_PURPOSE_TABLES, UINT64_MAX, &rng);
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
    stream_of(gibbs, PHL_PURPOSE_TABLES, UINT64_MAX - 1, &rng);
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
    double *tables = gibbs->log_row, *log_base = gibbs->log_row + c; /* [C] each */
    double all = 0.0, log_alpha = log(gibbs->alpha);
    for (size_t j = 0; j < c; j++) {
        tables[j] = 0.0;
        log_base[j] = log_alpha + gibbs->log_lambda0[j];
    }
    phl_rng rng;
    stream_of(gibbs, PHL_PURPOSE_TABLES, 0, &rng);
    for (size_t z = 0; z < core_cells(gibbs); z++) {
        for (size_t j = 0; j < c; j++) {
            if (counts[z * c + j] > 0) {
                double drawn = (double)phl_crt_draw_log(&rng, counts[z * c + j], log_base[j]);
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
    stream_of(gibbs, PHL_PURPOSE_TABLES, UINT64_MAX - 2, &rng);
    phl_log_dirichlet_draw(&rng, tables, c, gibbs->log_lambda0);
    if (gibbs->options.update_concentration) {
        draw_alpha0(gibbs);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------------------------- */

/* Rows of a table from Dir(concentration + counts), one after the other. */
static void draw_rows(phl_rng *rng, double concentration, const int64_t *counts, size_t rows,
                      size_t columns, double *table)
{
    for (size_t i = 0; i < rows * columns; i++) {
        table[i] = concentration + (double)counts[i];
    }
    phl_dirichlet_rows_draw(rng, table, rows, columns, table);
}

/* b: labels of the forest, and all others as one. */
static phl_status draw_emission(phl_gibbs *gibbs, phl_error *error)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states, seen = gibbs->n_seen, rows = (size_t)params->labels + 1;
    size_t n = seen + (seen < rows);
    const uint32_t *order = gibbs->label_order;
    double beta = gibbs->options.beta;
    phl_status status =
        phl_grow(&gibbs->weights, &gibbs->weight_capacity, c * n, sizeof *gibbs->weights, error);
    if (status != PHL_OK) {
        return status;
    }
    double *table = gibbs->weights; /* [C][n] */
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < c; j++) {
            table[j * n + i] = i < seen ? beta + (double)gibbs->counts.emission[order[i] * c + j]
                                        : beta * (double)(rows - seen);
        }
    }
    phl_rng rng;
    stream_of(gibbs, PHL_PURPOSE_EMISSION, 0, &rng);
    phl_dirichlet_rows_draw(&rng, table, c, n, table);
    size_t known =
        n == rows ? rows : seen; /* if more are unseen, phl_gibbs_parameters_expand fills them in */
    for (size_t i = 0; i < known; i++) {
        for (size_t j = 0; j < c; j++) {
            params->emission[order[i] * c + j] = table[j * n + i];
        }
    }
    for (size_t j = 0; j < c && seen < rows; j++) {
        gibbs->unseen_mass[j] = table[j * n + seen];
    }
    return PHL_OK;
}

/* pi of the slots with leaves; rows that follow one another go together. */
static void draw_prior(phl_gibbs *gibbs)
{
    size_t c = gibbs->params->states, slots = gibbs->params->slots, end;
    for (size_t l = 0; l < slots; l = end) {
        end = l + 1;
        while (end < slots && gibbs->has_leaf[end] == gibbs->has_leaf[l]) {
            end++;
        }
        if (gibbs->has_leaf[l] != 0) {
            phl_rng rng;
            stream_of(gibbs, PHL_PURPOSE_PRIOR, l, &rng);
            draw_rows(&rng, gibbs->options.gamma, gibbs->counts.prior + l * c, end - l, c,
                      gibbs->params->prior + l * c);
        }
    }
}

/* lambda by cell.  A base alpha lambda0 may round to 0, as its p would.  An alpha far below 1 gives
 * a cell without counts all to one state, so 1e-100 serves for any smaller one. */
static void draw_core(phl_gibbs *gibbs)
{
    size_t c = gibbs->params->states;
    const int64_t *counts = core_counts(gibbs);
    double *base = gibbs->log_row, *core = gibbs->params->core;
    double log_alpha = log(fmax(gibbs->alpha, 1e-100));
    for (size_t j = 0; j < c; j++) {
        base[j] = exp(log_alpha + gibbs->log_lambda0[j]);
    }
    for (size_t z = 0; z < gibbs->params->core_rows; z++) {
        for (size_t j = 0; j < c; j++) {
            core[z * c + j] = base[j] + (double)counts[z * c + j];
        }
    }
    phl_rng rng;
    stream_of(gibbs, PHL_PURPOSE_CORE, 0, &rng);
    phl_dirichlet_rows_draw(&rng, core, gibbs->params->core_rows, c, core);
}

/* o by slot: the condition "not all absent" is lifted by adding r ~ NegBin(N, 1 - p0) rejected
 * all-absent nodes, p0 from the tables as they are. */
static void draw_shape(phl_gibbs *gibbs)
{
    phl_params *params = gibbs->params;
    const phl_params *counts = gibbs->shape_counts;
    double gamma = gibbs->options.gamma;
    phl_rng rng;
    stream_of(gibbs, PHL_PURPOSE_SHAPES, 0, &rng);
    double p0 = 1.0;
    for (size_t l = 0; l < params->slots; l++) {
        p0 *= params->shape[3 * l];
    }
    int64_t internal = (int64_t)(counts->shape[0] + counts->shape[1] + counts->shape[2] + 0.5);
    double rejected =
        internal == 0 ? 0.0 : (double)phl_negative_binomial_draw(&rng, internal, log(p0));
    for (size_t i = 0; i < 3 * (size_t)params->slots; i++) {
        params->shape[i] = gamma + counts->shape[i] + (i % 3 == 0 ? rejected : 0.0);
    }
    stream_of(gibbs, PHL_PURPOSE_SHAPES, 1, &rng);
    phl_dirichlet_rows_draw(&rng, params->shape, params->slots, 3, params->shape);
    double kinds[2] = {gamma + counts->root_kind[0], gamma + counts->root_kind[1]};
    stream_of(gibbs, PHL_PURPOSE_SHAPES, UINT64_MAX, &rng);
    phl_dirichlet_draw(&rng, kinds, 2, params->root_kind);
}

phl_status phl_gibbs_parameters_draw(phl_gibbs *gibbs, uint64_t drawn_in, phl_error *error)
{
    phl_params *params = gibbs->params;
    size_t c = params->states;
    phl_rng rng;
    gibbs->drawn_in = drawn_in;
    if (!params->soft) {
        phl_status status = phl_gibbs_set_axes(gibbs, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    draw_base(gibbs);
    draw_core(gibbs);
    for (size_t i = 0; i < params->slots * c; i++) {
        params->prior[i] = 1.0 / (double)c; /* of slots without leaves */
    }
    draw_prior(gibbs);
    phl_status status = draw_emission(gibbs, error);
    if (status != PHL_OK) {
        return status;
    }
    for (uint32_t a = 0; params->soft && a < params->n_axes; a++) {
        phl_axis *axis = &params->axes[a];
        stream_of(gibbs, PHL_PURPOSE_KAPPA, a, &rng);
        draw_rows(&rng, gibbs->options.delta / axis->size, gibbs->counts.kappa[a], c + 1,
                  axis->size, axis->matrix);
    }
    draw_shape(gibbs);
    phl_params_complete(params);
    gibbs->expanded = gibbs->passed = false;
    return PHL_OK;
}

void phl_gibbs_parameters_expand(phl_gibbs *gibbs)
{
    phl_params *params = gibbs->params;
    size_t c = params->states, rows = (size_t)params->labels + 1, seen = gibbs->n_seen;
    if (gibbs->expanded) {
        return;
    }
    for (size_t i = seen; i < rows; i++) {
        for (size_t j = 0; j < c; j++) {
            params->emission[gibbs->label_order[i] * c + j] =
                gibbs->unseen_mass[j] / (double)(rows - seen);
        }
    }
    phl_params_complete(params);
    gibbs->expanded = true;
}
