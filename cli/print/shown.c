/* shown.c - the parameters of a draw, read from its tensors; see show.h. */
#include "print/show.h"
#include "print/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors ---- */

void shown_begin(shown_draw *shown, const phl_run *run, const phl_draw *draw, size_t top)
{
    phl_tensor tensor;
    memset(shown, 0, sizeof *shown);
    shown->run = run;
    shown->states = phl_run_states(run);
    shown->slots = phl_run_slots(run);
    shown->labels = phl_run_labels(run);
    shown->top = top;
    const struct {
        const char *name;
        phl_tensor *tensor;
    } tensors[] = {{"prior", &shown->prior},      {"emission", &shown->emission},
                   {"switch", &shown->weights},   {"transition", &shown->transition},
                   {"root", &shown->root},        {"core", &shown->core},
                   {"shape_prior", &shown->shape}};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        phl_tensor_find(draw, tensors[i].name, 0, tensors[i].tensor);
    }
    shown->n_axes = shown->core.data ? shown->core.n_axes - 1 : 0;
    shown->axes = terminal_allocate(shown->n_axes, sizeof *shown->axes);
    for (size_t i = 0, m = 0; phl_tensor_get(draw, i, &tensor); i++) {
        if (tensor.slot) {
            shown->axes[m++] = tensor;
        }
    }
}

void shown_end(shown_draw *shown)
{
    free(shown->axes);
}

double shown_number(const phl_tensor *tensor, size_t i)
{
    return ((const double *)tensor->data)[i * tensor->strides[0]];
}

double shown_number_2(const phl_tensor *tensor, size_t i, size_t j)
{
    return ((const double *)tensor->data)[i * tensor->strides[0] + j * tensor->strides[1]];
}

double shown_number_3(const phl_tensor *tensor, size_t i, size_t j, size_t k)
{
    const size_t *strides = tensor->strides;
    return ((const double *)tensor->data)[i * strides[0] + j * strides[1] + k * strides[2]];
}

/* ---- weights ---- */

/* Weights that differ by rounding alone count as equal, so that the order is the same everywhere.
 */
static int compare_weighted(const void *a, const void *b)
{
    const weighted *left = a, *right = b;
    double difference = round(1e6 * left->weight) - round(1e6 * right->weight);
    if (difference != 0) {
        return difference > 0 ? -1 : 1;
    }
    return left->number < right->number ? -1 : left->number > right->number;
}

void shown_sort(weighted *items, size_t n)
{
    qsort(items, n, sizeof *items, compare_weighted);
}

/* ---- active slots ---- */

size_t shown_axis_size(const shown_draw *shown, size_t axis)
{
    return shown->core.shape[axis];
}

size_t shown_axis_block(const phl_tensor *axis, size_t value)
{
    size_t best = 0;
    if (axis->dtype == PHL_INT32) {
        return (size_t)((const int32_t *)axis->data)[value];
    }
    for (size_t z = 1; z < axis->shape[1]; z++) {
        if (shown_number_2(axis, value, z) > shown_number_2(axis, value, best)) {
            best = z;
        }
    }
    return best;
}

size_t shown_core_rows(const shown_draw *shown)
{
    size_t rows = 1;
    for (size_t m = 0; m < shown->n_axes; m++) {
        rows *= shown_axis_size(shown, m);
    }
    return rows;
}

double shown_core_at(const shown_draw *shown, size_t row, size_t state)
{
    size_t at = state * shown->core.strides[shown->n_axes];
    for (size_t m = shown->n_axes; m-- > 0;) {
        at += row % shown_axis_size(shown, m) * shown->core.strides[m];
        row /= shown_axis_size(shown, m);
    }
    return ((const double *)shown->core.data)[at];
}

/* ---- how much a slot matters ---- */

/* Mutual information, in bits, of rows [n][m] of probabilities with the row, all rows taken for
 * equally likely. */
static double information(const double *rows, size_t n, size_t m)
{
    double bits = 0;
    for (size_t j = 0; j < m; j++) {
        double mean = 0;
        for (size_t i = 0; i < n; i++) {
            mean += rows[i * m + j] / (double)n;
        }
        for (size_t i = 0; i < n; i++) {
            double p = rows[i * m + j];
            bits += p > 0 ? p / (double)n * log2(p / mean) : 0;
        }
    }
    return bits > 0 ? bits : 0;
}

/* Rows of the core averaged over the blocks of all slots but one: [k][C]. */
static double core_information(const shown_draw *shown, size_t axis)
{
    size_t k = shown_axis_size(shown, axis), c = shown->states, stride = 1,
           n = shown_core_rows(shown);
    for (size_t later = axis + 1; later < shown->n_axes; later++) {
        stride *= shown_axis_size(shown, later);
    }
    double *rows = terminal_allocate(k * c, sizeof *rows);
    for (size_t r = 0; r < n; r++) {
        size_t z = r / stride % k;
        for (size_t j = 0; j < c; j++) {
            rows[z * c + j] += shown_core_at(shown, r, j) * (double)k / (double)n;
        }
    }
    double bits = information(rows, k, c);
    free(rows);
    return bits;
}

double shown_slot_information(const shown_draw *shown, size_t slot)
{
    size_t c = shown->states;
    if (!shown->transition.data) {
        for (size_t m = 0; m < shown->n_axes; m++) {
            if (shown->axes[m].slot == slot) {
                return core_information(shown, m);
            }
        }
        return 0;
    }
    double *rows = terminal_allocate(c * c, sizeof *rows);
    for (size_t i = 0; i < c; i++) {
        for (size_t j = 0; j < c; j++) {
            rows[i * c + j] = shown_number_3(&shown->transition, slot - 1, i, j);
        }
    }
    double bits = information(rows, c, c);
    free(rows);
    return bits;
}
