/* choices.c - what cells of the core are drawn from; see choices.h. */
#include "gibbs/choices.h"

#include <string.h>

#include "base/clones.h"
#include "base/lanes.h"
#include "base/memory.h"

void phl_choices_clear(phl_choices *choices)
{
    phl_free(choices->pool);
    phl_free(choices->set_place);
    phl_free(choices->place);
    phl_free(choices->cell);
    phl_free(choices->waiting);
    memset(choices, 0, sizeof *choices);
}

static void forget(phl_choices *choices)
{
    const phl_twins *twins = &choices->upward->twins;
    size_t c = choices->upward->params->states;
    memset(choices->set_place, 0, choices->n_sets * c * sizeof *choices->set_place);
    memset(choices->place, 0, (twins->n_groups - twins->n_leaves) * c * sizeof *choices->place);
    choices->used = 0;
}

static void list_modes(phl_choices *choices)
{
    const phl_params *params = choices->upward->params;
    size_t stride = params->core_rows;
    choices->n_sets = 1;
    choices->blocks = 0;
    choices->most = phl_whole_lanes(stride);
    for (uint32_t a = 0; a < params->n_modes; a++) {
        const phl_mode *from = &params->modes[a];
        phl_choices_mode *mode = &choices->mode[a];
        stride /= from->size;
        choices->most += phl_whole_lanes(stride);
        choices->blocks += from->size;
        *mode = (phl_choices_mode){.size = from->size, .stride = stride};
        if (from->size > 1) {
            mode->bit = choices->n_sets;
            choices->n_sets *= 2;
        }
        if (from->block != NULL) {
            mode->empty_cell = from->block[params->states] * stride;
        } else {
            mode->empty = from->matrix + params->states * from->size;
        }
    }
}

phl_status phl_choices_prepare(phl_choices *choices, const phl_upward *upward, phl_error *error)
{
    enum { MOST = 1 << 20 }; /* doubles kept: 8 MB */
    const phl_params *params = upward->params;
    size_t groups = upward->twins.n_groups - upward->twins.n_leaves;
    size_t c = params->states;
    choices->upward = upward;
    list_modes(choices);
    choices->limit =
        groups * c < MOST / choices->most ? (groups * c + 1) * choices->most : MOST + choices->most;
    phl_status status = phl_grow(&choices->pool, &choices->pool_capacity,
                                 choices->limit + PHL_LANES, sizeof *choices->pool, error);
    if (status == PHL_OK) {
        status = phl_grow(&choices->set_place, &choices->set_capacity, choices->n_sets * c,
                          sizeof *choices->set_place, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&choices->place, &choices->place_capacity, groups * c + 1,
                          sizeof *choices->place, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&choices->cell, &choices->cell_capacity, params->core_rows,
                          sizeof *choices->cell, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&choices->waiting, &choices->waiting_capacity, choices->blocks + 1,
                          sizeof *choices->waiting, error);
    }
    if (status == PHL_OK) {
        forget(choices);
    }
    return status;
}

void phl_choice_open(const phl_choices *choices, uint32_t s, phl_choice *choice)
{
    const phl_upward *upward = choices->upward;
    const phl_twins *twins = &upward->twins;
    size_t n_modes = twins->n_slots, width = upward->width, n = 0, cell = 0;
    const uint32_t *seen = twins->seen + (s - twins->n_leaves) * n_modes;
    for (size_t a = 0; a < n_modes; a++) {
        const phl_choices_mode *mode = &choices->mode[a];
        uint32_t pair = seen[a];
        if (pair == PHL_NO_PAIR && mode->empty == NULL) {
            cell += mode->empty_cell;
            continue;
        }
        choice->slot[n].mode = mode;
        choice->slot[n].pair = pair;
        choice->slot[n++].m = pair == PHL_NO_PAIR ? mode->empty : upward->message + pair * width;
    }
    choice->group = twins->group[s];
    choice->n = n;
    choice->cell = cell;
}

/* R_0 of state j: the cells that the node can use, side by side. */
static void copy_core(const phl_choices *choices, const phl_choice *choice, uint32_t j, double *to)
{
    const phl_params *params = choices->upward->params;
    size_t c = params->states, count = 1, *cell = choices->cell;
    cell[0] = choice->cell;
    for (size_t i = choice->n; i-- > 0;) {
        const phl_choice_slot *slot = &choice->slot[i];
        for (size_t all = count * slot->mode->size; count < all; count++) {
            cell[count] = cell[count - slot->step] + slot->mode->stride;
        }
    }
    for (size_t i = 0; i < count; i++) {
        to[i] = params->core[cell[i] * c + j];
    }
}

/* R_1 .. R_n-1 from R_0, one behind the other.  In each, numbers up to the next whole lanes are
 * made too, of what is behind the end. */
PHL_CLONES
static void contract(const phl_choice *choice, const double *in, double *out)
{
    for (size_t i = 0; i + 1 < choice->n; i++) {
        const phl_choice_slot *slot = &choice->slot[i];
        const double *m = slot->m;
        for (size_t r = 0; r < slot->step; r += PHL_LANES) {
            phl_lanes sum = m[0] * phl_lanes_at(in + r);
            for (size_t z = 1; z < slot->mode->size; z++) {
                sum += m[z] * phl_lanes_at(in + z * slot->step + r);
            }
            phl_lanes_set(out + r, sum);
        }
        in = out;
        out += phl_whole_lanes(slot->step);
    }
}

/* Several slots: find their R or make them. */
static void find_tables(phl_choices *choices, phl_choice *choice, uint32_t j)
{
    const phl_upward *upward = choices->upward;
    phl_choice_slot *slot = choice->slot;
    size_t c = upward->params->states, count = 1, room = 0, set = 0;
    for (size_t i = choice->n; i-- > 0;) {
        slot[i].step = count;
        room += phl_whole_lanes(count);
        count *= slot[i].mode->size;
        set |= slot[i].mode->bit;
    }
    room += phl_whole_lanes(count) - phl_whole_lanes(1);
    size_t *set_place = &choices->set_place[set * c + j];
    size_t *place = &choices->place[(choice->group - upward->twins.n_leaves) * c + j];
    if (*place == 0) {
        if (choices->used + room > choices->limit) {
            forget(choices);
        }
        if (*set_place == 0) {
            *set_place = choices->used + 1;
            copy_core(choices, choice, j, choices->pool + choices->used);
            choices->used += phl_whole_lanes(count);
        }
        *place = choices->used + 1;
        contract(choice, choices->pool + *set_place - 1, choices->pool + choices->used);
        choices->used += room - phl_whole_lanes(count);
    }
    const double *rest = choices->pool + *place - 1;
    slot[0].rest = choices->pool + *set_place - 1;
    for (size_t i = 1; i < choice->n; i++) {
        slot[i].rest = rest;
        rest += phl_whole_lanes(slot[i - 1].step);
    }
}

void phl_choice_state(phl_choices *choices, phl_choice *choice, uint32_t j)
{
    const phl_upward *upward = choices->upward;
    size_t c = upward->params->states;
    choice->total = upward->inside[upward->twins.first[choice->group] * c + j];
    if (choice->n == 1) {
        choice->slot[0].rest = upward->params->core + choice->cell * c + j;
        choice->slot[0].step = choice->slot[0].mode->stride * c;
    } else if (choice->n > 1) {
        find_tables(choices, choice, j);
    }
}
