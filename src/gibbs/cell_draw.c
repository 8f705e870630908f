/* cell_draw.c - what cells of the core are drawn from; see cell_draw.h. */
#include "gibbs/cell_draw.h"

#include <string.h>

#include "base/clones.h"
#include "base/lanes.h"
#include "base/memory.h"

void phl_cell_draw_clear(phl_cell_draw *cell_draw)
{
    phl_free(cell_draw->pool);
    phl_free(cell_draw->set_place);
    phl_free(cell_draw->place);
    phl_free(cell_draw->cell);
    phl_free(cell_draw->waiting);
    memset(cell_draw, 0, sizeof *cell_draw);
}

static void forget(phl_cell_draw *cell_draw)
{
    const phl_twins *twins = &cell_draw->upward->twins;
    size_t c = cell_draw->upward->params->states;
    memset(cell_draw->set_place, 0, cell_draw->n_sets * c * sizeof *cell_draw->set_place);
    memset(cell_draw->place, 0, (twins->n_groups - twins->n_leaves) * c * sizeof *cell_draw->place);
    cell_draw->used = 0;
}

static void list_axes(phl_cell_draw *cell_draw)
{
    const phl_params *params = cell_draw->upward->params;
    size_t stride = params->core_rows;
    cell_draw->n_sets = 1;
    cell_draw->blocks = 0;
    cell_draw->most = phl_whole_lanes(stride);
    for (uint32_t a = 0; a < params->n_axes; a++) {
        const phl_axis *from = &params->axes[a];
        phl_cell_draw_axis *axis = &cell_draw->axis[a];
        stride /= from->size;
        cell_draw->most += phl_whole_lanes(stride);
        cell_draw->blocks += from->size;
        *axis = (phl_cell_draw_axis){.size = from->size, .stride = stride};
        if (from->size > 1) {
            axis->bit = cell_draw->n_sets;
            cell_draw->n_sets *= 2;
        }
        if (from->block != NULL) {
            axis->empty_cell = from->block[params->states] * stride;
        } else {
            axis->empty = from->matrix + params->states * from->size;
        }
    }
}

phl_status phl_cell_draw_prepare(phl_cell_draw *cell_draw, const phl_upward *upward,
                                 phl_error *error)
{
    enum { MOST = 1 << 20 }; /* doubles kept: 8 MB */
    const phl_params *params = upward->params;
    size_t groups = upward->twins.n_groups - upward->twins.n_leaves;
    size_t c = params->states;
    cell_draw->upward = upward;
    list_axes(cell_draw);
    cell_draw->limit = groups * c < MOST / cell_draw->most ? (groups * c + 1) * cell_draw->most
                                                           : MOST + cell_draw->most;
    const phl_room rooms[] = {
        PHL_ROOM(cell_draw->pool, cell_draw->pool_capacity, cell_draw->limit + PHL_LANES),
        PHL_ROOM(cell_draw->set_place, cell_draw->set_capacity, cell_draw->n_sets * c),
        PHL_ROOM(cell_draw->place, cell_draw->place_capacity, groups * c + 1),
        PHL_ROOM(cell_draw->cell, cell_draw->cell_capacity, params->core_rows),
        PHL_ROOM(cell_draw->waiting, cell_draw->waiting_capacity, cell_draw->blocks + 1),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (status == PHL_OK) {
        forget(cell_draw);
    }
    return status;
}

void phl_cell_draw_open(const phl_cell_draw *cell_draw, uint32_t s, phl_cell_draw_node *node)
{
    const phl_upward *upward = cell_draw->upward;
    const phl_twins *twins = &upward->twins;
    size_t n_axes = twins->n_slots, width = upward->width, n = 0, cell = 0;
    const uint32_t *seen = twins->seen + (s - twins->n_leaves) * n_axes;
    for (size_t a = 0; a < n_axes; a++) {
        const phl_cell_draw_axis *axis = &cell_draw->axis[a];
        uint32_t pair = seen[a];
        if (pair == PHL_NO_PAIR && axis->empty == NULL) {
            cell += axis->empty_cell;
            continue;
        }
        node->slot[n].axis = axis;
        node->slot[n].pair = pair;
        node->slot[n++].m = pair == PHL_NO_PAIR ? axis->empty : upward->message + pair * width;
    }
    node->group = twins->group[s];
    node->n = n;
    node->cell = cell;
}

/* R_0 of state j: the cells that the node can use, side by side. */
static void copy_core(const phl_cell_draw *cell_draw, const phl_cell_draw_node *node, uint32_t j,
                      double *to)
{
    const phl_params *params = cell_draw->upward->params;
    size_t c = params->states, count = 1, *cell = cell_draw->cell;
    cell[0] = node->cell;
    for (size_t i = node->n; i-- > 0;) {
        const phl_cell_draw_slot *slot = &node->slot[i];
        for (size_t all = count * slot->axis->size; count < all; count++) {
            cell[count] = cell[count - slot->step] + slot->axis->stride;
        }
    }
    for (size_t i = 0; i < count; i++) {
        to[i] = params->core[cell[i] * c + j];
    }
}

/* R_1 .. R_n-1 from R_0, one after the other.  In each, numbers up to the next whole lanes are
 * made too, of what is after the end. */
PHL_CLONES
static void contract(const phl_cell_draw_node *node, const double *in, double *out)
{
    for (size_t i = 0; i + 1 < node->n; i++) {
        const phl_cell_draw_slot *slot = &node->slot[i];
        const double *m = slot->m;
        for (size_t r = 0; r < slot->step; r += PHL_LANES) {
            phl_lanes sum = m[0] * phl_lanes_at(in + r);
            for (size_t z = 1; z < slot->axis->size; z++) {
                sum += m[z] * phl_lanes_at(in + z * slot->step + r);
            }
            phl_lanes_set(out + r, sum);
        }
        in = out;
        out += phl_whole_lanes(slot->step);
    }
}

/* Several slots: find their R or make them. */
static void find_tables(phl_cell_draw *cell_draw, phl_cell_draw_node *node, uint32_t j)
{
    const phl_upward *upward = cell_draw->upward;
    phl_cell_draw_slot *slot = node->slot;
    size_t c = upward->params->states, count = 1, room = 0, set = 0;
    for (size_t i = node->n; i-- > 0;) {
        slot[i].step = count;
        room += phl_whole_lanes(count);
        count *= slot[i].axis->size;
        set |= slot[i].axis->bit;
    }
    room += phl_whole_lanes(count) - phl_whole_lanes(1);
    size_t *set_place = &cell_draw->set_place[set * c + j];
    size_t *place = &cell_draw->place[(node->group - upward->twins.n_leaves) * c + j];
    if (*place == 0) {
        if (cell_draw->used + room > cell_draw->limit) {
            forget(cell_draw);
        }
        if (*set_place == 0) {
            *set_place = cell_draw->used + 1;
            copy_core(cell_draw, node, j, cell_draw->pool + cell_draw->used);
            cell_draw->used += phl_whole_lanes(count);
        }
        *place = cell_draw->used + 1;
        contract(node, cell_draw->pool + *set_place - 1, cell_draw->pool + cell_draw->used);
        cell_draw->used += room - phl_whole_lanes(count);
    }
    const double *rest = cell_draw->pool + *place - 1;
    slot[0].rest = cell_draw->pool + *set_place - 1;
    for (size_t i = 1; i < node->n; i++) {
        slot[i].rest = rest;
        rest += phl_whole_lanes(slot[i - 1].step);
    }
}

void phl_cell_draw_in_state(phl_cell_draw *cell_draw, phl_cell_draw_node *node, uint32_t j)
{
    const phl_upward *upward = cell_draw->upward;
    size_t c = upward->params->states;
    node->total = upward->inside[upward->twins.first[node->group] * c + j];
    if (node->n == 1) {
        node->slot[0].rest = upward->params->core + node->cell * c + j;
        node->slot[0].step = node->slot[0].axis->stride * c;
    } else if (node->n > 1) {
        find_tables(cell_draw, node, j);
    }
}
