/* show_numbers.c - the parameters of a draw, read from the JSON of a run; see show.h. */
#include "print/show.h"
#include "print/terminal.h"

#include <math.h>
#include <stdlib.h>

double number_at(const json_t *array, size_t i)
{
    return json_number_value(json_array_get(array, i));
}

double number_at_2(const json_t *array, size_t i, size_t j)
{
    return number_at(json_array_get(array, i), j);
}

double number_at_3(const json_t *array, size_t i, size_t j, size_t k)
{
    return number_at_2(json_array_get(array, i), j, k);
}

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

void sort_weighted(weighted *items, size_t n)
{
    qsort(items, n, sizeof *items, compare_weighted);
}

/* ---- active slots ---- */

static const json_t *list_of_modes(const shown_draw *shown)
{
    const json_t *hard = json_object_get(shown->draw, "partition");
    return hard ? hard : json_object_get(shown->draw, "mode");
}

size_t modes_of(const shown_draw *shown)
{
    return json_array_size(list_of_modes(shown));
}

const json_t *mode_of(const shown_draw *shown, size_t mode)
{
    return json_array_get(list_of_modes(shown), mode);
}

size_t mode_slot(const json_t *mode)
{
    return (size_t)json_integer_value(json_object_get(mode, "slot"));
}

size_t mode_size(const shown_draw *shown, size_t mode)
{
    const json_t *core = json_object_get(shown->draw, "core");
    return (size_t)number_at(json_object_get(core, "shape"), mode);
}

size_t mode_block(const json_t *mode, size_t value)
{
    const json_t *row = json_array_get(json_object_get(mode, "matrix"), value);
    size_t best = 0;
    if (!row) {
        return (size_t)number_at(json_object_get(mode, "blocks"), value);
    }
    for (size_t z = 1; z < json_array_size(row); z++) {
        if (number_at(row, z) > number_at(row, best)) {
            best = z;
        }
    }
    return best;
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
static double core_information(const shown_draw *shown, size_t mode)
{
    const json_t *data = json_object_get(json_object_get(shown->draw, "core"), "data");
    size_t k = mode_size(shown, mode), c = shown->states, stride = 1;
    size_t n = json_array_size(data) / c;
    if (k == 0 || n == 0) {
        return 0;
    }
    for (size_t later = mode + 1; later < modes_of(shown); later++) {
        stride *= mode_size(shown, later);
    }
    double *rows = terminal_allocate(k * c, sizeof *rows);
    for (size_t r = 0; r < n; r++) {
        size_t z = r / stride % k;
        for (size_t j = 0; j < c; j++) {
            rows[z * c + j] += number_at(data, r * c + j) * (double)k / (double)n;
        }
    }
    double bits = information(rows, k, c);
    free(rows);
    return bits;
}

double slot_information(const shown_draw *shown, size_t slot)
{
    const json_t *transition = json_object_get(shown->draw, "transition");
    size_t c = shown->states;
    if (!transition) {
        for (size_t m = 0; m < modes_of(shown); m++) {
            if (mode_slot(mode_of(shown, m)) == slot) {
                return core_information(shown, m);
            }
        }
        return 0;
    }
    double *rows = terminal_allocate(c * c, sizeof *rows);
    for (size_t i = 0; i < c; i++) {
        for (size_t j = 0; j < c; j++) {
            rows[i * c + j] = number_at_3(transition, slot - 1, i, j);
        }
    }
    double bits = information(rows, c, c);
    free(rows);
    return bits;
}
