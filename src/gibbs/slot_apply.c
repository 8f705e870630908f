/* slot_apply.c - portions brought up to date when the partition of a slot has changed; see
 * slot_view.h.
 */
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "gibbs/slot_deal.h"

/* Where an old cell and a new block lead. */
struct place {
    const uint32_t *base; /* [old cells] the new cell in block 0 */
    const uint32_t *block;
    uint32_t size, step;
};

static uint32_t cell_at(const struct place *place, uint32_t old_cell, uint32_t y)
{
    return place->base[old_cell] + y * place->step;
}

/* New cells in block 0, from the rests of the old ones. */
static phl_status find_bases(phl_slot_view *view, const uint32_t *rest, size_t n_cells, size_t size,
                             size_t step, phl_error *error)
{
    phl_status status =
        phl_grow(&view->base, &view->base_capacity, n_cells, sizeof *view->base, error);
    uint32_t low = (uint32_t)step, high = (uint32_t)(size * step); /* short divisions are fast */
    for (size_t z = 0; status == PHL_OK && z < n_cells; z++) {
        view->base[z] = rest[z] / low * high + rest[z] % low;
    }
    return status;
}

/* Portions of the i-th pair, each with one child state by its old block. */
static void move_plain(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                       const uint32_t *digit, const struct place *place)
{
    for (size_t p = counts->pairs->first_parent[i]; p < counts->pairs->first_parent[i + 1]; p++) {
        for (uint32_t r = counts->pairs->parent[p]; r != PHL_NO_PORTION;
             r = counts->portion[r].next) {
            uint32_t cell = counts->portion[r].cell;
            view->new_cell[r] = cell_at(place, cell, place->block[view->only[digit[cell]]]);
        }
    }
}

/* One occurrence of portion r goes to block y, the others stay. */
static phl_status move_unit(phl_slot_view *view, phl_state_counts *counts, uint32_t r, uint32_t y,
                            const struct place *place, phl_error *error)
{
    phl_portion *portion = &counts->portion[r];
    uint32_t cell = cell_at(place, portion->cell, y);
    if (portion->n == 1) {
        view->new_cell[r] = cell;
        return PHL_OK;
    }
    portion->n--;
    return phl_state_counts_add(counts, portion->subtree, portion->state, cell, 1, error);
}

/* Portions of the i-th pair, all parents but those of the units having children in state `most`. */
static phl_status move_scattered(phl_slot_view *view, phl_state_counts *counts, size_t i,
                                 uint32_t most, const struct place *place, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t p = counts->pairs->first_parent[i]; p < counts->pairs->first_parent[i + 1]; p++) {
        for (uint32_t r = counts->pairs->parent[p]; r != PHL_NO_PORTION;
             r = counts->portion[r].next) {
            view->new_cell[r] = cell_at(place, counts->portion[r].cell, place->block[most]);
        }
    }
    for (size_t u = 0; status == PHL_OK && u < view->n_units; u++) {
        uint32_t y = place->block[view->units[u].value];
        if (y != place->block[most]) {
            status = move_unit(view, counts, view->units[u].portion, y, place, error);
        }
    }
    return status;
}

/* Portions of a pair dealt singly: the first unit of a portion tells where the portion goes. */
static phl_status move_singly(phl_slot_view *view, phl_state_counts *counts,
                              const struct place *place, phl_error *error)
{
    phl_status status = PHL_OK;
    uint32_t stays = 0;
    for (size_t u = 0; status == PHL_OK && u < view->n_units; u++) {
        uint32_t r = view->units[u].portion, y = place->block[view->units[u].value];
        if (u == 0 || r != view->units[u - 1].portion) {
            stays = y;
            view->new_cell[r] = cell_at(place, counts->portion[r].cell, y);
        } else if (y != stays) {
            status = move_unit(view, counts, r, y, place, error);
        }
    }
    return status;
}

/* Give portion r its part of what its entry got; by_block [size] is what is left of that. */
static phl_status cut_portion(phl_slot_view *view, phl_state_counts *counts, uint32_t r,
                              int64_t *by_block, const struct place *place, phl_rng *rng,
                              phl_error *error)
{
    phl_status status = PHL_OK;
    phl_portion portion = counts->portion[r];
    int64_t n = portion.n, rest = 0;
    bool first = true;
    for (size_t y = 0; y < place->size; y++) {
        rest += by_block[y];
    }
    for (uint32_t y = 0; status == PHL_OK && n > 0 && y < place->size; y++) {
        if (by_block[y] == 0) {
            continue;
        }
        rest -= by_block[y];
        int64_t part = rest == 0 ? n : phl_hypergeometric_draw(rng, by_block[y], rest, n);
        by_block[y] -= part;
        n -= part;
        if (part > 0 && first) {
            counts->portion[r].n = part;
            view->new_cell[r] = cell_at(place, portion.cell, y);
            first = false;
        } else if (part > 0) {
            status = phl_state_counts_add(counts, portion.subtree, portion.state,
                                          cell_at(place, portion.cell, y), part, error);
        }
    }
    return status;
}

/* Portions of the i-th pair, whose entries were dealt. */
static phl_status move_dealt(phl_slot_view *view, phl_state_counts *counts, size_t i,
                             const struct place *place, phl_rng *rng, phl_error *error)
{
    phl_status status = PHL_OK;
    size_t c = counts->states;
    int64_t *sum = view->left + c + 1;             /* [size] */
    for (size_t x = 0; x < view->n_entries; x++) { /* by state, then by block */
        int64_t *dealt = view->dealt + x * (c + 1);
        memset(sum, 0, place->size * sizeof *sum);
        for (size_t q = 0; q < c; q++) {
            sum[place->block[q]] += dealt[q];
        }
        memcpy(dealt, sum, place->size * sizeof *dealt);
    }
    for (size_t p = counts->pairs->first_parent[i]; p < counts->pairs->first_parent[i + 1]; p++) {
        uint32_t r = counts->pairs->parent[p];
        while (status == PHL_OK && r != PHL_NO_PORTION) {
            uint32_t next = counts->portion[r].next;
            uint32_t x = view->entry_of[counts->portion[r].cell * c + counts->portion[r].state] - 1;
            status = cut_portion(view, counts, r, view->dealt + x * (c + 1), place, rng, error);
            r = next;
        }
    }
    return status;
}

/* Deal the i-th pair again, and move its portions. */
static phl_status move_pair(phl_slot_view *view, phl_state_counts *counts, size_t i,
                            const uint32_t *block, const phl_slot_layout *dealt_by,
                            const struct place *place, phl_rng *again, phl_rng *rng,
                            phl_error *error)
{
    size_t c = counts->states;
    uint32_t pair = counts->pairs->pair[i], most;
    const int64_t *value = counts->value + pair * c;
    phl_status status;
    switch (phl_slot_deal_way(view, counts, i, block, dealt_by->n_rest == dealt_by->n_cells)) {
    case PHL_SLOT_PLAIN:
        move_plain(view, counts, i, dealt_by->digit, place);
        return PHL_OK;
    case PHL_SLOT_SCATTERED:
        most = phl_slot_deal_most(value, c);
        status = phl_slot_deal_scattered(view, counts, i, most, again, error);
        return status == PHL_OK ? move_scattered(view, counts, i, most, place, error) : status;
    case PHL_SLOT_SINGLY:
        status = phl_slot_deal_singly(view, counts, i, again, error);
        return status == PHL_OK ? move_singly(view, counts, place, error) : status;
    case PHL_SLOT_TOGETHER:
        break;
    }
    status = phl_slot_deal_together(view, counts, i, block, dealt_by->digit, again, error);
    if (status == PHL_OK) {
        status = move_dealt(view, counts, i, place, rng, error);
    }
    phl_slot_deal_forget(view, c);
    return status;
}

phl_status phl_slot_apply(phl_slot_view *view, phl_state_counts *counts, uint32_t e,
                          const uint32_t *block, const phl_slot_layout *dealt_by,
                          const uint32_t *rest, const uint32_t *block_now, uint32_t size_now,
                          size_t step, phl_rng *again, phl_rng *rng, phl_error *error)
{
    size_t n_rows = counts->n_portions;
    phl_status status = find_bases(view, rest, dealt_by->n_cells, size_now, step, error);
    struct place place = {view->base, block_now, size_now, (uint32_t)step};
    if (status == PHL_OK) {
        status = phl_grow(&view->new_cell, &view->new_cell_capacity, n_rows, sizeof *view->new_cell,
                          error);
    }
    for (size_t r = 0; status == PHL_OK && r < n_rows; r++) { /* unless it has a child there */
        view->new_cell[r] = cell_at(&place, counts->portion[r].cell, block_now[counts->states]);
    }
    for (size_t i = counts->pairs->first_pair[e];
         status == PHL_OK && i < counts->pairs->first_pair[e + 1]; i++) {
        status = move_pair(view, counts, i, block, dealt_by, &place, again, rng, error);
    }
    for (size_t r = 0; status == PHL_OK && r < n_rows; r++) {
        counts->portion[r].cell = view->new_cell[r];
    }
    return status;
}
