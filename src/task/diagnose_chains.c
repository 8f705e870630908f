/* diagnose_chains.c - the figures of a diagnosis, from the trace and the kept draws; see
 * diagnosis.h.
 *
 * Contents: chains, draws to compare, modes, active slots, moves, all of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "task/diagnosis.h"
#include "train/convergence.h"

static const char *const quantity_names[PHL_QUANTITIES] = {"log_joint", "log_likelihood", "active",
                                                           "sum_size"};

/* ---- chains ---- */

static bool counts(const phl_plan *plan, const phl_trace_row *row)
{
    return phl_schedule_counts(&plan->schedule, row->iteration, row->temperature);
}

static phl_status list_chains(const phl_plan *plan, phl_rows_of_class rows,
                              phl_class_diagnosis *made, phl_error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < rows.n; i++) {
        n += i == 0 || rows.rows[i].chain != rows.rows[i - 1].chain;
    }
    made->chains = phl_alloc_zero(n, sizeof *made->chains, error);
    if (made->chains == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < rows.n; i++) {
        const phl_trace_row *row = &rows.rows[i];
        if (i == 0 || row->chain != rows.rows[i - 1].chain) {
            made->n_chains++;
        }
        phl_chain_diagnosis *chain = &made->chains[made->n_chains - 1];
        chain->chain = row->chain;
        chain->iterations = row->iteration;
        chain->log_joint = row->log_joint;
        chain->log_likelihood = row->log_likelihood;
        chain->draws += plan->gibbs && counts(plan, row);
        for (size_t q = 0; q < PHL_QUANTITIES; q++) {
            chain->mean[q] = chain->sd[q] = (double)NAN;
        }
    }
    return PHL_OK;
}

static void choose_compared(phl_class_diagnosis *made)
{
    uint64_t longest = 0, least = UINT64_MAX;
    for (size_t c = 0; c < made->n_chains; c++) {
        longest = made->chains[c].draws > longest ? made->chains[c].draws : longest;
    }
    for (size_t c = 0; c < made->n_chains; c++) {
        phl_chain_diagnosis *chain = &made->chains[c];
        chain->compared = phl_convergence_compares(chain->draws, longest);
        if (chain->compared) {
            made->n_compared++;
            least = chain->draws < least ? chain->draws : least;
        }
    }
    made->draws = made->n_compared > 0 ? (size_t)least : 0;
}

/* ---- draws to compare ---- */

static double quantity_of(const phl_trace_row *row, size_t quantity)
{
    switch (quantity) {
    case PHL_LOG_JOINT:
        return row->log_joint;
    case PHL_LOG_LIKELIHOOD:
        return row->log_likelihood;
    case PHL_ACTIVE_SLOTS:
        return row->active;
    default:
        return row->sum_size;
    }
}

/* The first made->draws of every compared chain: *draws [quantities][compared][draws].  Their moves
 * are counted on the way. */
static phl_status gather(const phl_plan *plan, phl_rows_of_class rows, phl_class_diagnosis *made,
                         double **draws, phl_error *error)
{
    size_t n = made->draws, size = made->n_compared * n;
    double *values = phl_alloc(PHL_QUANTITIES * size, sizeof *values, error);
    if (values == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t at = 0, compared = 0;
    for (size_t c = 0; c < made->n_chains; c++) {
        size_t taken = 0;
        for (; at < rows.n && rows.rows[at].chain == made->chains[c].chain; at++) {
            const phl_trace_row *row = &rows.rows[at];
            if (!made->chains[c].compared || taken == n || !counts(plan, row)) {
                continue;
            }
            for (size_t q = 0; q < PHL_QUANTITIES; q++) {
                values[q * size + compared * n + taken] = quantity_of(row, q);
            }
            for (size_t m = 0; m < made->n_moves; m++) {
                made->moves[m].tried += row->tried[m];
                made->moves[m].changed += row->changed[m];
            }
            taken++;
        }
        compared += made->chains[c].compared;
    }
    *draws = values;
    return PHL_OK;
}

static phl_verdict judge(const phl_convergence *found, double rhat)
{
    if (!found->finite) {
        return PHL_NOT_FINITE;
    }
    if (found->constant || found->stuck) {
        return found->constant ? PHL_CONSTANT : PHL_STUCK;
    }
    if (rhat > PHL_RHAT_MOST) {
        return PHL_DISAGREE;
    }
    return found->ess_bulk >= PHL_ESS_LEAST && !isnan(rhat) ? PHL_FINE : PHL_FEW_DRAWS;
}

static phl_status measure(phl_class_diagnosis *made, const double *draws, phl_error *error)
{
    size_t n = made->draws, size = made->n_compared * n;
    for (size_t q = 0; q < PHL_QUANTITIES; q++) {
        phl_quantity *quantity = &made->quantities[q];
        phl_convergence found;
        phl_status status =
            phl_convergence_measure(draws + q * size, made->n_compared, n, &found, error);
        if (status != PHL_OK) {
            return status;
        }
        quantity->rhat = phl_convergence_rhat(&found);
        quantity->verdict = size == 0 ? PHL_FEW_DRAWS : judge(&found, quantity->rhat);
        quantity->mean = found.mean;
        quantity->sd = found.sd;
        quantity->mcse = found.mcse_mean;
        quantity->ess_bulk = found.ess_bulk;
        quantity->ess_tail = found.ess_tail;
        size_t compared = 0;
        for (size_t c = 0; c < made->n_chains; c++) {
            phl_chain_diagnosis *chain = &made->chains[c];
            if (chain->compared) {
                phl_mean_sd(draws + q * size + compared * n, n, &chain->mean[q], &chain->sd[q]);
                compared++;
            }
        }
    }
    return PHL_OK;
}

/* ---- modes ---- */

/* Central 90 % of a chain's log-joints. */
typedef struct interval {
    double low, high;
    phl_chain_diagnosis *chain;
} interval;

/* By falling upper end, then by chain. */
static int compare_intervals(const void *a, const void *b)
{
    const interval *x = a, *y = b;
    int order = (x->high < y->high) - (x->high > y->high);
    return order != 0 ? order : (x->chain > y->chain) - (x->chain < y->chain);
}

static phl_status find_modes(phl_class_diagnosis *made, const double *draws, phl_error *error)
{
    size_t n = made->draws, m = 0;
    if (n == 0 || made->quantities[PHL_LOG_JOINT].verdict == PHL_NOT_FINITE) {
        return PHL_OK;
    }
    interval *intervals = phl_alloc(made->n_compared, sizeof *intervals, error);
    double *sorted = phl_alloc(n, sizeof *sorted, error);
    if (intervals == NULL || sorted == NULL) {
        phl_free(intervals);
        phl_free(sorted);
        return PHL_ERR_MEMORY;
    }
    for (size_t c = 0; c < made->n_chains; c++) {
        if (made->chains[c].compared) {
            memcpy(sorted, draws + m * n, n * sizeof *sorted); /* log-joints come first */
            phl_convergence_sort(sorted, n);
            intervals[m++] =
                (interval){phl_convergence_quantile(sorted, n, 0.05),
                           phl_convergence_quantile(sorted, n, 0.95), &made->chains[c]};
        }
    }
    qsort(intervals, m, sizeof *intervals, compare_intervals);
    double low = INFINITY; /* of the mode at hand */
    for (size_t i = 0; i < m; i++) {
        made->modes += intervals[i].high < low;
        low = intervals[i].high < low || intervals[i].low < low ? intervals[i].low : low;
        intervals[i].chain->mode = (uint32_t)made->modes;
    }
    phl_free(intervals);
    phl_free(sorted);
    return PHL_OK;
}

/* ---- active slots ---- */

static bool same_slots(const phl_params *a, const phl_params *b)
{
    bool same = a->n_axes == b->n_axes;
    for (uint32_t i = 0; same && i < a->n_axes; i++) {
        same = a->axes[i].slot == b->axes[i].slot && a->axes[i].size == b->axes[i].size;
    }
    return same;
}

/* The kept draw of a chain whose active slots and sizes most of its kept draws share, the earliest
 * of equals; NULL without any. */
static const phl_params *usual_draw(const phl_model *model, size_t chain)
{
    const phl_params *best = NULL;
    size_t most = 0;
    for (size_t d = 0; d < model->n_draws; d++) {
        size_t alike = 0;
        for (size_t e = 0; model->draws[d].chain == chain && e < model->n_draws; e++) {
            alike += model->draws[e].chain == chain &&
                     same_slots(model->draws[d].params, model->draws[e].params);
        }
        if (alike > most) {
            most = alike;
            best = model->draws[d].params;
        }
    }
    return best;
}

static phl_status find_slots(const phl_model *model, phl_class_diagnosis *made, phl_error *error)
{
    for (size_t c = 0; c < made->n_chains; c++) {
        phl_chain_diagnosis *chain = &made->chains[c];
        const phl_params *draw = usual_draw(model, chain->chain);
        if (draw == NULL) {
            continue;
        }
        chain->slots = phl_alloc(draw->n_axes, sizeof *chain->slots, error);
        chain->sizes = phl_alloc(draw->n_axes, sizeof *chain->sizes, error);
        if (chain->slots == NULL || chain->sizes == NULL) {
            return PHL_ERR_MEMORY;
        }
        chain->n_slots = draw->n_axes;
        for (uint32_t i = 0; i < draw->n_axes; i++) {
            chain->slots[i] = draw->axes[i].slot;
            chain->sizes[i] = draw->axes[i].size;
        }
    }
    return PHL_OK;
}

/* ---- moves ---- */

static phl_status name_moves(const phl_plan *plan, phl_class_diagnosis *made, phl_error *error)
{
    static const char *const blocked[PHL_MOVE_TYPES] = {"reassign", "split", "merge", "carry"};
    static const char *const paper[] = {"states", "sizes"};
    made->moves = phl_alloc_zero(PHL_MOVE_TYPES, sizeof *made->moves, error);
    if (made->moves == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->n_moves = plan->paper ? sizeof paper / sizeof *paper : PHL_MOVE_TYPES;
    for (size_t m = 0; m < made->n_moves; m++) {
        made->moves[m].name = plan->paper ? paper[m] : blocked[m];
    }
    return PHL_OK;
}

/* ---- all of it ---- */

phl_status phl_diagnose_chains(const phl_model *model, const phl_plan *plan, phl_rows_of_class rows,
                               phl_class_diagnosis *made, phl_error *error)
{
    for (size_t q = 0; q < PHL_QUANTITIES; q++) {
        made->quantities[q].name = quantity_names[q];
    }
    phl_status status = list_chains(plan, rows, made, error);
    if (status != PHL_OK || !plan->gibbs) {
        return status;
    }
    made->warmup = plan->schedule.warm;
    choose_compared(made);
    double *draws = NULL;
    status = name_moves(plan, made, error);
    if (status == PHL_OK) {
        status = gather(plan, rows, made, &draws, error);
    }
    if (status == PHL_OK) {
        status = measure(made, draws, error);
    }
    if (status == PHL_OK) {
        status = find_modes(made, draws, error);
    }
    if (status == PHL_OK) {
        status = find_slots(model, made, error);
    }
    phl_free(draws);
    return status;
}
