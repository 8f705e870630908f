/* choices.c - cells of the core and their weights by group of twins; see choices.h. */
#include "learn/choices.h"

#include <string.h>

#include "base/memory.h"

void phl_choices_clear(phl_choices *choices)
{
    phl_free(choices->digit);
    phl_free(choices->owner);
    phl_free(choices->count);
    phl_free(choices->cell);
    phl_free(choices->message);
    phl_free(choices->has);
    phl_free(choices->sum);
    memset(choices, 0, sizeof *choices);
}

static phl_status reserve(phl_choices *choices, size_t n_modes, size_t c, phl_error *error)
{
    size_t n = choices->n_places, stride = choices->stride;
    phl_status status = phl_grow(&choices->digit, &choices->digit_capacity, n_modes * stride,
                                 sizeof *choices->digit, error);
    if (status == PHL_OK) {
        status =
            phl_grow(&choices->owner, &choices->owner_capacity, n, sizeof *choices->owner, error);
    }
    if (status == PHL_OK) {
        status =
            phl_grow(&choices->count, &choices->count_capacity, n, sizeof *choices->count, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&choices->cell, &choices->cell_capacity, n * stride,
                          sizeof *choices->cell, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&choices->message, &choices->message_capacity, n * stride,
                          sizeof *choices->message, error);
    }
    if (status == PHL_OK) {
        status =
            phl_grow(&choices->has, &choices->has_capacity, n * c, sizeof *choices->has, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&choices->sum, &choices->sum_capacity, n * c * stride,
                          sizeof *choices->sum, error);
    }
    return status;
}

phl_status phl_choices_prepare(phl_choices *choices, const phl_upward *upward, phl_error *error)
{
    enum { MOST = 1 << 20 }; /* running sums kept: 8 MB */
    const phl_params *params = upward->params;
    size_t groups = upward->twins.n_groups - upward->twins.n_leaves;
    size_t most = MOST / (params->core_rows * params->states);
    choices->upward = upward;
    choices->stride = params->core_rows;
    choices->n_places = groups < most ? groups : most;
    choices->n_places = choices->n_places > 0 ? choices->n_places : 1;
    phl_status status = reserve(choices, params->n_modes, params->states, error);
    if (status != PHL_OK) {
        return status;
    }
    memset(choices->owner, 0xff, choices->n_places * sizeof *choices->owner);
    size_t stride = params->core_rows;
    for (uint32_t a = 0; a < params->n_modes; a++) {
        uint32_t *digit = choices->digit + a * params->core_rows;
        size_t size = params->modes[a].size;
        stride /= size;
        for (size_t z = 0; z < params->core_rows;) {
            for (uint32_t y = 0; y < size; y++) {
                for (size_t low = 0; low < stride; low++) {
                    digit[z++] = y;
                }
            }
        }
    }
    return PHL_OK;
}

/* The active slots whose block is not known run like an odometer, the last one fastest. */
static void list_cells(phl_choices *choices, uint32_t g, size_t place)
{
    const phl_upward *upward = choices->upward;
    const phl_params *params = upward->params;
    const phl_twins *twins = &upward->twins;
    const uint32_t *seen =
        twins->seen + (twins->first[g] - twins->n_leaves) * (size_t)twins->n_slots;
    uint32_t *cell = choices->cell + place * choices->stride;
    double *message = choices->message + place * choices->stride;
    size_t c = params->states, stride = 1, count = 1;
    cell[0] = 0;
    message[0] = 1.0;
    for (uint32_t a = params->n_modes; a-- > 0;) {
        const phl_mode *mode = &params->modes[a];
        size_t size = mode->size;
        if (seen[a] == PHL_NO_PAIR && mode->block != NULL) {
            for (size_t i = 0; i < count; i++) {
                cell[i] += (uint32_t)(mode->block[c] * stride);
            }
        } else {
            const double *m = seen[a] == PHL_NO_PAIR ? mode->matrix + c * size
                                                     : upward->message + seen[a] * upward->width;
            for (size_t z = size; z-- > 0;) {
                for (size_t i = 0; i < count; i++) {
                    cell[z * count + i] = cell[i] + (uint32_t)(z * stride);
                    message[z * count + i] = message[i] * m[z];
                }
            }
            count *= size;
        }
        stride *= size;
    }
    choices->owner[place] = g;
    choices->count[place] = (uint32_t)count;
    memset(choices->has + place * c, 0, c);
}

phl_choice phl_choices_of(phl_choices *choices, uint32_t g, uint32_t j)
{
    const phl_params *params = choices->upward->params;
    size_t c = params->states;
    size_t place = (g - choices->upward->twins.n_leaves) % choices->n_places;
    if (choices->owner[place] != g) {
        list_cells(choices, g, place);
    }
    size_t count = choices->count[place];
    const uint32_t *cell = choices->cell + place * choices->stride;
    double *sum = choices->sum + (place * c + j) * choices->stride;
    if (!choices->has[place * c + j]) {
        const double *core = params->core + j;
        const double *message = choices->message + place * choices->stride;
        double total = 0.0;
        for (size_t i = 0; i < count; i++) {
            total += core[cell[i] * c] * message[i];
            sum[i] = total;
        }
        choices->has[place * c + j] = 1;
    }
    return (phl_choice){count, cell, sum};
}
