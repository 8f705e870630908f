/* diagnose_chains.c - the figures of a diagnosis, from the trace and the kept draws; see
 * diagnosis.h.
 *
 * Contents: chains, draws to compare, modes, drift, moves, all of it.
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
        chain->drift = chain->gain = (double)NAN;
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

/* Do the means of the halves of all chains lie within `most`?  draws [chains][n]. */
static bool lie_within(const double *draws, size_t chains, size_t n, double most)
{
    double low = INFINITY, high = -INFINITY, mean, sd;
    for (size_t c = 0; c < chains; c++) {
        for (size_t half = 0; half < 2; half++) {
            phl_mean_sd(draws + c * n + half * (n - n / 2), n / 2, &mean, &sd);
            low = mean < low ? mean : low;
            high = mean > high ? mean : high;
        }
    }
    return high - low < most;
}

/* Have all chains one and the same value in nearly all of their draws?  [chains][n] */
static bool are_nearly_constant(const double *draws, size_t chains, size_t n)
{
    double value = 0.0;
    size_t votes = 0; /* of the value that more than half of all draws have, if there is one */
    for (size_t i = 0; i < chains * n; i++) {
        value = votes == 0 ? draws[i] : value;
        votes = draws[i] == value ? votes + 1 : votes - 1;
    }
    bool nearly = chains > 0;
    for (size_t c = 0; nearly && c < chains; c++) {
        size_t same = 0;
        for (size_t i = 0; i < n; i++) {
            same += draws[c * n + i] == value;
        }
        nearly = (double)same >= (1.0 - PHL_SHIFT_MOST) * (double)n;
    }
    return nearly;
}

static phl_verdict judge(const phl_convergence *found, double rhat, bool slight)
{
    if (!found->finite) {
        return PHL_NOT_FINITE;
    }
    if (slight && !found->constant &&
        !(rhat <= PHL_RHAT_MOST && found->ess_bulk >= PHL_ESS_LEAST)) {
        return PHL_SLIGHT;
    }
    if (found->constant || found->stuck) {
        return found->constant ? PHL_CONSTANT : PHL_STUCK;
    }
    if (rhat > PHL_RHAT_MOST) {
        return PHL_DISAGREE;
    }
    return found->ess_bulk >= PHL_ESS_LEAST && !isnan(rhat) ? PHL_FINE : PHL_FEW_DRAWS;
}

/* weight: of the trees that the log-likelihood is of. */
static phl_status measure(phl_class_diagnosis *made, const double *draws, double weight,
                          phl_error *error)
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
        const double *own = draws + q * size;
        bool slight =
            n >= 6 && q != PHL_LOG_JOINT &&
            (q == PHL_LOG_LIKELIHOOD ? lie_within(own, made->n_compared, n, weight * PHL_NATS_MOST)
                                     : are_nearly_constant(own, made->n_compared, n));
        quantity->verdict = size == 0 ? PHL_FEW_DRAWS : judge(&found, quantity->rhat, slight);
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

/* Central 90 % of a chain's log-likelihoods. */
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
    if (n == 0 || made->quantities[PHL_LOG_LIKELIHOOD].verdict == PHL_NOT_FINITE) {
        return PHL_OK;
    }
    const double *of_chains = draws + PHL_LOG_LIKELIHOOD * made->n_compared * n;
    interval *intervals = phl_alloc(made->n_compared, sizeof *intervals, error);
    double *sorted = phl_alloc(n, sizeof *sorted, error);
    if (intervals == NULL || sorted == NULL) {
        phl_free(intervals);
        phl_free(sorted);
        return PHL_ERR_MEMORY;
    }
    for (size_t c = 0; c < made->n_chains; c++) {
        if (made->chains[c].compared) {
            memcpy(sorted, of_chains + m * n, n * sizeof *sorted);
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

/* ---- drift ---- */

/* From the first to the last quarter of the compared draws. */
static phl_status find_drift(phl_class_diagnosis *made, const double *draws, phl_error *error)
{
    size_t n = made->draws, quarter = n / 4;
    if (quarter < 2 || made->quantities[PHL_LOG_LIKELIHOOD].verdict == PHL_NOT_FINITE) {
        return PHL_OK;
    }
    double *sorted = phl_alloc(2 * quarter, sizeof *sorted, error);
    if (sorted == NULL) {
        return PHL_ERR_MEMORY;
    }
    const double *of_chain = draws + PHL_LOG_LIKELIHOOD * made->n_compared * n;
    for (size_t c = 0; c < made->n_chains; c++) {
        phl_chain_diagnosis *chain = &made->chains[c];
        if (!chain->compared) {
            continue;
        }
        double *first = sorted, *last = sorted + quarter, means[2], sd;
        memcpy(first, of_chain, quarter * sizeof *sorted);
        memcpy(last, of_chain + n - quarter, quarter * sizeof *sorted);
        phl_mean_sd(first, quarter, &means[0], &sd);
        phl_mean_sd(last, quarter, &means[1], &sd);
        phl_convergence_sort(first, quarter);
        phl_convergence_sort(last, quarter);
        chain->drift = means[1] - means[0];
        chain->climbing = phl_convergence_quantile(last, quarter, 0.25) >
                          phl_convergence_quantile(first, quarter, 0.75);
        of_chain += n;
    }
    phl_free(sorted);
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
        status = measure(made, draws, model->weight, error);
    }
    if (status == PHL_OK) {
        status = find_modes(made, draws, error);
    }
    if (status == PHL_OK) {
        status = find_drift(made, draws, error);
    }
    phl_free(draws);
    return status;
}
