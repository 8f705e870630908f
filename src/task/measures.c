/* measures.c - accuracy, entropy, log-loss and confusion matrices; see measures.h. */
#include "task/measures.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---------------------------------------------------------------------------------------------
 * Collecting
 * ------------------------------------------------------------------------------------------- */

phl_status phl_measures_init(phl_measures *measures, size_t n_names, size_t n_parts, bool drawn,
                             phl_error *error)
{
    memset(measures, 0, sizeof *measures);
    size_t side = n_names + 1;
    if (n_names > SIZE_MAX / side - 1) {
        return phl_raise(error, PHL_ERR_MEMORY, NULL, "a confusion matrix of %zu names", n_names);
    }
    measures->n_names = n_names;
    measures->n_parts = n_parts;
    measures->best = phl_alloc_zero(side * side, sizeof *measures->best, error);
    measures->drawn = drawn ? phl_alloc_zero(side * side, sizeof *measures->drawn, error) : NULL;
    measures->parts = phl_alloc_zero(n_parts, sizeof *measures->parts, error);
    if (measures->best == NULL || (drawn && measures->drawn == NULL) || measures->parts == NULL) {
        phl_measures_clear(measures);
        return PHL_ERR_MEMORY;
    }
    return PHL_OK;
}

void phl_measures_clear(phl_measures *measures)
{
    phl_free(measures->best);
    phl_free(measures->drawn);
    phl_free(measures->parts);
    memset(measures, 0, sizeof *measures);
}

void phl_measures_add(phl_measures *measures, size_t part, const phl_item *item)
{
    phl_measure_sums *sums = &measures->parts[part];
    size_t row = item->truth == SIZE_MAX ? measures->n_names : item->truth;
    size_t first = row * (measures->n_names + 1);
    measures->best[first + item->predicted]++;
    sums->used = true;
    sums->n++;
    sums->right += item->predicted == item->truth;
    if (item->drawn != SIZE_MAX) {
        measures->drawn[first + item->drawn]++;
        sums->n_drawn++;
        sums->drawn_right += item->drawn == item->truth;
    }
    sums->entropy_bits += item->entropy_bits;
    if (item->p >= 0.0) {
        size_t number = (size_t)(item->p * PHL_MEASURE_BINS);
        phl_measure_bin *bin =
            &measures->bins[number < PHL_MEASURE_BINS ? number : PHL_MEASURE_BINS - 1];
        bin->n++;
        bin->right += item->predicted == item->truth;
        bin->p += item->p;
    }
    if (!isnan(item->log_p)) {
        sums->n_loss++;
        sums->loss -= item->log_p;
    }
}

void phl_measures_merge(phl_measures *measures, const phl_measures *from)
{
    size_t side = from->n_names + 1;
    for (size_t i = 0; i < side * side; i++) {
        measures->best[i] += from->best[i];
    }
    for (size_t p = 0; p < from->n_parts; p++) {
        phl_measure_sums *sums = &measures->parts[p];
        const phl_measure_sums *more = &from->parts[p];
        sums->used = sums->used || more->used;
        sums->n += more->n;
        sums->right += more->right;
        sums->n_loss += more->n_loss;
        sums->entropy_bits += more->entropy_bits;
        sums->loss += more->loss;
    }
    for (size_t b = 0; b < PHL_MEASURE_BINS; b++) {
        measures->bins[b].n += from->bins[b].n;
        measures->bins[b].right += from->bins[b].right;
        measures->bins[b].p += from->bins[b].p;
    }
}

double phl_measures_entropy_bits(const double *p, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum -= p[i] > 0.0 ? p[i] * log2(p[i]) : 0.0;
    }
    return sum > 0.0 ? sum : 0.0;
}

double phl_measures_entropy_bits_of_logs(const double *log_p, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum -= isinf(log_p[i]) ? 0.0 : exp(log_p[i]) * log_p[i];
    }
    return sum > 0.0 ? sum / log(2.0) : 0.0;
}

/* ---------------------------------------------------------------------------------------------
 * Figures
 * ------------------------------------------------------------------------------------------- */

static double ratio(double part, uint64_t whole)
{
    return whole == 0 ? (double)NAN : part / (double)whole;
}

/* What a mean is taken of, and how many of them there are. */
typedef double (*summed_fn)(const phl_measure_sums *sums, uint64_t *n);

static double right_of(const phl_measure_sums *sums, uint64_t *n)
{
    *n = sums->n;
    return (double)sums->right;
}

static double drawn_right_of(const phl_measure_sums *sums, uint64_t *n)
{
    *n = sums->n_drawn;
    return (double)sums->drawn_right;
}

static double entropy_of(const phl_measure_sums *sums, uint64_t *n)
{
    *n = sums->n;
    return sums->entropy_bits;
}

static double loss_of(const phl_measure_sums *sums, uint64_t *n)
{
    *n = sums->n_loss;
    return sums->loss;
}

/* The mean of the only part, or the means of all parts, weighted by their items. */
static double pooled_mean(const phl_measures *measures, summed_fn summed)
{
    double sum = 0.0, only = (double)NAN;
    uint64_t total = 0;
    size_t used = 0;
    for (size_t p = 0; p < measures->n_parts; p++) {
        uint64_t n = 0;
        double part = summed(&measures->parts[p], &n);
        if (measures->parts[p].used) {
            only = ratio(part, n);
            sum += n == 0 ? 0.0 : (double)n * only;
            total += n;
            used++;
        }
    }
    return used == 1 ? only : ratio(sum, total);
}

static phl_status copy_names(const phl_alphabet *names, phl_evaluation *made, phl_error *error)
{
    made->names = phl_alloc_zero(made->n_names, sizeof *made->names, error);
    if (made->names == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < made->n_names && i < names->count; i++) { /* the unseen have no name */
        made->names[i] =
            phl_copy_text(phl_alphabet_name(names, i), phl_alphabet_length(names, i), error);
        if (made->names[i] == NULL) {
            return PHL_ERR_MEMORY;
        }
    }
    return PHL_OK;
}

/* H2(true | predicted = name), and how often that was predicted. */
static double column_entropy(const uint64_t *counts, size_t n, size_t name, uint64_t *predicted)
{
    double bits = 0.0;
    *predicted = 0;
    for (size_t i = 0; i < n; i++) {
        *predicted += counts[i * n + name];
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t count = counts[i * n + name];
        if (count > 0 && count < *predicted) {
            double p = (double)count / (double)*predicted;
            bits -= p * log2(p);
        }
    }
    return bits;
}

double phl_confusion_entropy(const uint64_t *counts, size_t n, size_t name)
{
    double sum = 0.0;
    uint64_t total = 0;
    for (size_t j = 0; j < n; j++) {
        if (name == SIZE_MAX || name == j) {
            uint64_t predicted = 0;
            double bits = column_entropy(counts, n, j, &predicted);
            sum += (double)predicted * bits;
            total += predicted;
        }
    }
    return ratio(sum, total);
}

/* Accuracy by row and entropy by column. */
static void derive(const uint64_t *counts, size_t n, phl_name_measure *measures)
{
    for (size_t i = 0; i < n; i++) {
        phl_name_measure *measure = &measures[i];
        for (size_t j = 0; j < n; j++) {
            measure->n += counts[i * n + j];
        }
        measure->accuracy = ratio((double)counts[i * n + i], measure->n);
        measure->entropy_bits = column_entropy(counts, n, i, &measure->predicted);
    }
}

/* Take over a matrix [side][side] of which n rows and columns count, and derive its figures. */
static phl_status make_confusion(uint64_t **matrix, size_t side, size_t n, double accuracy,
                                 phl_confusion **confusion, phl_error *error)
{
    phl_confusion *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    *confusion = made;
    made->accuracy = accuracy;
    made->counts = *matrix;
    *matrix = NULL;
    for (size_t i = 1; n < side && i < n; i++) {
        memmove(made->counts + i * n, made->counts + i * side, n * sizeof *made->counts);
    }
    made->measures = phl_alloc_zero(n, sizeof *made->measures, error);
    if (made->measures == NULL) {
        return PHL_ERR_MEMORY;
    }
    derive(made->counts, n, made->measures);
    made->entropy_bits = phl_confusion_entropy(made->counts, n, SIZE_MAX);
    return PHL_OK;
}

static void free_confusion(phl_confusion *confusion)
{
    if (confusion != NULL) {
        phl_free(confusion->counts);
        phl_free(confusion->measures);
        phl_free(confusion);
    }
}

void phl_measures_interval(double share, uint64_t n, double *low, double *high)
{
    const double z = 1.959963984540054; /* 97.5 % of a normal distribution lie below it */
    double count = (double)n, widen = z * z / count;
    double middle = (share + widen / 2.0) / (1.0 + widen);
    double half = z / (1.0 + widen) * sqrt((share * (1.0 - share) + widen / 4.0) / count);
    *low = n == 0 ? (double)NAN : fmax(middle - half, 0.0);
    *high = n == 0 ? (double)NAN : fmin(middle + half, 1.0);
}

/* What tells whether an accuracy is a good one, from names as they occur. */
static void judge(const phl_measures *measures, phl_evaluation *made)
{
    const phl_confusion *best = made->best;
    uint64_t largest = 0, binned = 0;
    double sum = 0.0, occur = 0.0, gaps = 0.0;
    for (size_t i = 0; i < made->n_names; i++) {
        const phl_name_measure *name = &best->measures[i];
        largest = name->n > largest ? name->n : largest;
        sum += name->n > 0 ? name->accuracy : 0.0;
        occur += name->n > 0 ? 1.0 : 0.0;
    }
    for (size_t b = 0; b < PHL_MEASURE_BINS; b++) {
        const phl_measure_bin *bin = &measures->bins[b];
        gaps += fabs((double)bin->right - bin->p);
        binned += bin->n;
    }
    phl_measures_interval(best->accuracy, made->n, &made->accuracy_low, &made->accuracy_high);
    made->largest_share = ratio((double)largest, made->n);
    made->balanced_accuracy = occur > 0.0 ? sum / occur : (double)NAN;
    made->calibration_error = ratio(gaps, binned);
}

static phl_status fill_evaluation(phl_measures *measures, const phl_alphabet *names,
                                  phl_evaluation *made, phl_error *error)
{
    size_t k = measures->n_names, side = k + 1;
    for (size_t p = 0; p < measures->n_parts; p++) {
        made->n += measures->parts[p].n;
    }
    for (size_t j = 0; j < side; j++) {
        made->unseen += measures->best[k * side + j];
    }
    made->n_names = made->unseen > 0 ? side : k;
    made->predictive_entropy_bits = pooled_mean(measures, entropy_of);
    made->log_loss = pooled_mean(measures, loss_of);
    phl_status status = copy_names(names, made, error);
    if (status == PHL_OK) {
        status = make_confusion(&measures->best, side, made->n_names,
                                pooled_mean(measures, right_of), &made->best, error);
    }
    if (status == PHL_OK) {
        judge(measures, made);
    }
    if (status == PHL_OK && measures->drawn != NULL) {
        status = make_confusion(&measures->drawn, side, made->n_names,
                                pooled_mean(measures, drawn_right_of), &made->drawn, error);
    }
    return status;
}

phl_status phl_measures_finish(phl_measures *measures, const phl_alphabet *names,
                               phl_evaluation **evaluation, phl_error *error)
{
    phl_evaluation *made = phl_alloc_zero(1, sizeof *made, error);
    phl_status status =
        made == NULL ? PHL_ERR_MEMORY : fill_evaluation(measures, names, made, error);
    phl_measures_clear(measures);
    if (status != PHL_OK) {
        phl_evaluation_free(made);
        return status;
    }
    *evaluation = made;
    return PHL_OK;
}

void phl_evaluation_free(phl_evaluation *evaluation)
{
    if (evaluation == NULL) {
        return;
    }
    for (size_t i = 0; evaluation->names != NULL && i < evaluation->n_names; i++) {
        phl_free(evaluation->names[i]);
    }
    phl_free(evaluation->names);
    free_confusion(evaluation->best);
    free_confusion(evaluation->drawn);
    phl_free(evaluation);
}

void phl_mean_sd(const double *values, size_t n, double *mean, double *sd)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    *mean = n == 0 ? (double)NAN : sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - *mean) * (values[i] - *mean);
    }
    *sd = n == 0 ? (double)NAN : n == 1 ? 0.0 : sqrt(squares / (double)(n - 1));
}
