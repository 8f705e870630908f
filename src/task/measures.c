/* measures.c - accuracy, entropy, log-loss and confusion matrices; see measures.h. */
#include "task/measures.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

phl_status phl_measures_init(phl_measures *measures, size_t n_names, phl_error *error)
{
    memset(measures, 0, sizeof *measures);
    if (n_names > 0 && n_names + 1 > SIZE_MAX / n_names) {
        return phl_raise(error, PHL_ERR_MEMORY, NULL, "a confusion matrix of %zu names", n_names);
    }
    measures->n_names = n_names;
    measures->confusion =
        phl_alloc_zero((n_names + 1) * n_names, sizeof *measures->confusion, error);
    return measures->confusion == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

void phl_measures_clear(phl_measures *measures)
{
    phl_free(measures->confusion);
    memset(measures, 0, sizeof *measures);
}

void phl_measures_add(phl_measures *measures, const phl_item *item)
{
    size_t row = item->truth == SIZE_MAX ? measures->n_names : item->truth;
    measures->confusion[row * measures->n_names + item->predicted]++;
    measures->n++;
    if (item->drawn != SIZE_MAX) {
        measures->n_drawn++;
        measures->drawn_right += item->drawn == item->truth;
    }
    measures->entropy_bits += item->entropy_bits;
    if (!isnan(item->log_p)) {
        measures->n_loss++;
        measures->loss -= item->log_p;
    }
}

void phl_measures_merge(phl_measures *measures, const phl_measures *from)
{
    for (size_t i = 0; i < (from->n_names + 1) * from->n_names; i++) {
        measures->confusion[i] += from->confusion[i];
    }
    measures->n += from->n;
    measures->n_drawn += from->n_drawn;
    measures->drawn_right += from->drawn_right;
    measures->n_loss += from->n_loss;
    measures->entropy_bits += from->entropy_bits;
    measures->loss += from->loss;
}

double phl_entropy_bits(const double *p, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum -= p[i] > 0.0 ? p[i] * log2(p[i]) : 0.0;
    }
    return sum > 0.0 ? sum : 0.0;
}

static double ratio(double part, uint64_t whole)
{
    return whole == 0 ? (double)NAN : part / (double)whole;
}

static phl_status copy_names(const phl_alphabet *names, phl_evaluation *made, phl_error *error)
{
    for (size_t i = 0; i < made->n_names; i++) {
        bool known = i < names->count;
        const char *name = known ? phl_alphabet_name(names, i) : PHL_UNSEEN_NAME;
        size_t length = known ? phl_alphabet_length(names, i) : strlen(PHL_UNSEEN_NAME);
        made->names[i] = phl_copy_text(name, length, error);
        if (made->names[i] == NULL) {
            return PHL_ERR_MEMORY;
        }
    }
    return PHL_OK;
}

/* Accuracy by row, entropy by column, and the figures over all. */
static void derive(phl_evaluation *made)
{
    size_t n = made->n_names;
    uint64_t right = 0;
    double entropy = 0.0;
    for (size_t i = 0; i < n; i++) {
        phl_name_measure *measure = &made->measures[i];
        for (size_t j = 0; j < n; j++) {
            measure->n += made->confusion[i * n + j];
            measure->predicted += made->confusion[j * n + i];
        }
        measure->accuracy = ratio((double)made->confusion[i * n + i], measure->n);
        right += made->confusion[i * n + i];
        for (size_t j = 0; j < n; j++) {
            uint64_t count = made->confusion[j * n + i];
            if (count > 0 && count < measure->predicted) {
                double p = (double)count / (double)measure->predicted;
                measure->entropy_bits -= p * log2(p);
            }
        }
        entropy += (double)measure->predicted * measure->entropy_bits;
    }
    made->accuracy = ratio((double)right, made->n);
    made->entropy_bits = ratio(entropy, made->n);
}

phl_status phl_measures_finish(const phl_measures *measures, const phl_alphabet *names,
                               phl_evaluation *evaluation, phl_error *error)
{
    size_t k = measures->n_names;
    phl_evaluation made = {.n = measures->n, .n_names = k};
    for (size_t j = 0; j < k; j++) {
        made.unseen += measures->confusion[k * k + j];
    }
    made.n_names += made.unseen > 0;
    made.accuracy_drawn = ratio((double)measures->drawn_right, measures->n_drawn);
    made.predictive_entropy_bits = ratio(measures->entropy_bits, measures->n);
    made.log_loss = ratio(measures->loss, measures->n_loss);

    size_t n = made.n_names;
    phl_status status = PHL_ERR_MEMORY;
    made.names = phl_alloc_zero(n, sizeof *made.names, error);
    made.confusion = phl_alloc_zero(n * n, sizeof *made.confusion, error);
    made.measures = phl_alloc_zero(n, sizeof *made.measures, error);
    if (made.names != NULL && made.confusion != NULL && made.measures != NULL) {
        status = copy_names(names, &made, error);
    }
    if (status != PHL_OK) {
        phl_evaluation_clear(&made);
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(made.confusion + i * n, measures->confusion + i * k, k * sizeof *made.confusion);
    }
    derive(&made);
    *evaluation = made;
    return PHL_OK;
}

void phl_evaluation_clear(phl_evaluation *evaluation)
{
    for (size_t i = 0; evaluation->names != NULL && i < evaluation->n_names; i++) {
        phl_free(evaluation->names[i]);
    }
    phl_free(evaluation->names);
    phl_free(evaluation->confusion);
    phl_free(evaluation->measures);
    memset(evaluation, 0, sizeof *evaluation);
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
