/* report_convergence.c - how a training went: the diagnosis, traces thinned for drawing, ranks of
 * draws by chain; see report.h.
 *
 * Contents: traces, ranks, all classes.
 */
#include "print/diagnoses.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

enum { TRACE_PIECES = 300, RANK_BINS = 20, DIGITS_TRACE = 9 };

static const char *const quantity_names[PHL_QUANTITIES] = {"log_joint", "log_likelihood", "active",
                                                           "sum_size"};

static double quantity_of(const phl_trace_row *row, size_t quantity)
{
    const double values[PHL_QUANTITIES] = {
        [PHL_LOG_JOINT] = row->log_joint,
        [PHL_LOG_LIKELIHOOD] = row->log_likelihood,
        [PHL_ACTIVE_SLOTS] = row->active,
        [PHL_SUM_OF_SIZES] = row->sum_size,
    };
    return values[quantity];
}

/* ---- traces ---- */

static size_t count_rows(const phl_model *model, size_t chain)
{
    size_t n = 0;
    while (phl_trace_get(model, chain, n)) {
        n++;
    }
    return n;
}

/* The least or most of a quantity in each piece of `width` rows. */
static void put_bound(json_writer *json, const char *key, const phl_model *model, size_t chain,
                      size_t n, size_t width, size_t quantity, bool most)
{
    json_out_array(json, key, true);
    for (size_t begin = 0; begin < n; begin += width) {
        double bound = (double)NAN;
        for (size_t i = begin; i < n && i < begin + width; i++) {
            double value = quantity_of(phl_trace_get(model, chain, i), quantity);
            if (isnan(bound) || (most ? value > bound : value < bound)) {
                bound = value;
            }
        }
        json_out_rounded(json, bound, DIGITS_TRACE);
    }
    json_out_close(json, ']');
}

static void put_trace(json_writer *json, const phl_model *model, size_t chain, bool counts)
{
    size_t n = count_rows(model, chain), width = (n + TRACE_PIECES - 1) / TRACE_PIECES;
    width = width ? width : 1;
    json_out_count(json, "rows", n);
    json_out_count(json, "rows_in_a_piece", width);
    json_out_array(json, "iteration", true);
    for (size_t i = 0; i < n; i += width) {
        json_out_integer(json, phl_trace_get(model, chain, i)->iteration);
    }
    json_out_close(json, ']');
    report_values_real(json, "seconds", n ? phl_trace_get(model, chain, n - 1)->seconds : NAN, 6);
    for (size_t q = 0; q < PHL_QUANTITIES; q++) {
        if (!counts && (q == PHL_ACTIVE_SLOTS || q == PHL_SUM_OF_SIZES)) {
            continue; /* they mean nothing */
        }
        json_out_object(json, quantity_names[q], false);
        put_bound(json, "low", model, chain, n, width, q, false);
        if (width > 1) {
            put_bound(json, "high", model, chain, n, width, q, true);
        }
        json_out_close(json, '}');
    }
}

/* ---- ranks ---- */

typedef struct ranked_draw {
    double value;
    size_t chain;
} ranked_draw;

static int compare_draws(const void *a, const void *b)
{
    const ranked_draw *left = a, *right = b;
    return left->value < right->value ? -1 : left->value > right->value;
}

/* The compared draws of all chains; [n_compared * draws]. */
static size_t gather(const phl_class_diagnosis *found, const phl_model *model, size_t quantity,
                     ranked_draw *draws)
{
    size_t n = 0, compared = 0;
    for (size_t c = 0; c < found->n_chains; c++) {
        const phl_trace_row *row;
        size_t taken = 0, chain = found->chains[c].chain;
        if (!found->chains[c].compared) {
            continue;
        }
        for (size_t i = 0; (row = phl_trace_get(model, chain, i)) && taken < found->draws; i++) {
            if (row->iteration > found->warmup && row->temperature == 1.0) {
                draws[n++] = (ranked_draw){quantity_of(row, quantity), compared};
                taken++;
            }
        }
        compared++;
    }
    return n;
}

/* How the ranks of each chain's draws, among those of all, fall into bins of equal width; the ranks
 * of equal values are spread evenly: every chain has its share of them in each bin they reach. */
static void count_ranks(const ranked_draw *draws, size_t n, double *bins)
{
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && draws[end].value == draws[i].value;) {
            end++;
        }
        double from = (double)i * RANK_BINS / (double)n, to = (double)end * RANK_BINS / (double)n;
        for (size_t b = (size_t)from; b < RANK_BINS && (double)b < to; b++) {
            double share = (fmin(to, (double)b + 1) - fmax(from, (double)b)) / (to - from);
            for (size_t k = i; k < end; k++) {
                bins[draws[k].chain * RANK_BINS + b] += share;
            }
        }
    }
}

static void put_ranks(json_writer *json, const phl_class_diagnosis *found, const phl_model *model)
{
    size_t most = found->n_compared * found->draws;
    ranked_draw *draws = terminal_allocate(most + 1, sizeof *draws);
    double *bins = terminal_allocate(found->n_compared * RANK_BINS + 1, sizeof *bins);
    json_out_object(json, "ranks", false);
    for (size_t q = 0; q < PHL_QUANTITIES && most > 0; q++) {
        size_t n = gather(found, model, q, draws);
        qsort(draws, n, sizeof *draws, compare_draws);
        for (size_t i = 0; i < found->n_compared * RANK_BINS; i++) {
            bins[i] = 0;
        }
        count_ranks(draws, n, bins);
        json_out_array(json, quantity_names[q], false);
        for (size_t c = 0; c < found->n_compared; c++) {
            json_out_open(json, '[', true);
            for (size_t b = 0; b < RANK_BINS; b++) {
                json_out_rounded(json, bins[c * RANK_BINS + b], 5);
            }
            json_out_close(json, ']');
        }
        json_out_close(json, ']');
    }
    json_out_close(json, '}');
    free(draws);
    free(bins);
}

/* ---- all classes ---- */

static void put_class(json_writer *json, const phl_run *run, size_t index,
                      const phl_class_diagnosis *found, bool gibbs)
{
    const phl_model *model = phl_run_model(run, index);
    json_out_open(json, '{', false);
    report_values_text(json, "class", phl_run_class_name(run, index));
    json_out_count(json, "warmup", gibbs ? found->warmup : 0);
    json_out_array(json, "chains", false);
    for (size_t c = 0; c < found->n_chains; c++) {
        json_out_open(json, '{', false);
        json_out_count(json, "chain", found->chains[c].chain);
        put_trace(json, model, found->chains[c].chain, gibbs || phl_run_kind(run) == PHL_GRAMMAR);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    if (gibbs) {
        put_ranks(json, found, model);
    }
    json_out_close(json, '}');
}

phl_status report_convergence_write(report *r, size_t run, phl_error *error)
{
    report_run *of = &r->runs[run];
    json_writer *json = r->json;
    phl_diagnose_options options;
    if (phl_run_kind(of->run) == PHL_NO_KIND) {
        json_out_text(json, "convergence", NULL);
        return PHL_OK;
    }
    phl_diagnose_options_init(&options);
    phl_status status = phl_diagnose(of->run, &options, &of->diagnosis, error);
    if (status != PHL_OK) {
        return status;
    }
    of->diagnosed = true;
    bool gibbs = of->diagnosis.learner == PHL_LEARNER_GIBBS;
    json_out_object(json, "convergence", false);
    json_out_key(json, "diagnosis");
    diagnose_json_write(json, &of->diagnosis, of->run);
    json_out_array(json, "classes", false);
    for (size_t i = 0; i < of->diagnosis.n_classes; i++) {
        put_class(json, of->run, i, &of->diagnosis.classes[i], gibbs);
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
    for (size_t i = 0; i < of->diagnosis.n_classes; i++) {
        const phl_class_diagnosis *found = &of->diagnosis.classes[i];
        for (size_t f = 0; f < found->n_findings; f++) {
            char *text = terminal_words(found->findings[f].text);
            char *advice = terminal_words(found->findings[f].advice);
            report_values_alert(r, run, found->findings[f].trouble, "diagnosis", found->class_name,
                                advice, "%s", text);
            free(text);
            free(advice);
        }
    }
    return PHL_OK;
}
