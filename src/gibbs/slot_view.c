/* slot_view.c - counting a slot whose children are told apart; see slot_view.h. */
#include "gibbs/slot_view.h"

#include <string.h>

#include "base/memory.h"
#include "gibbs/slot_deal.h"

/* For what loops seldom do: kept out of them. */
#define APART static __attribute__((noinline))

phl_status phl_slot_view_init(phl_slot_view *view, uint32_t states, phl_error *error)
{
    size_t values = (size_t)states + 1;
    memset(view, 0, sizeof *view);
    view->first_table = phl_alloc(values, sizeof *view->first_table, error);
    view->left = phl_alloc_zero(2 * values, sizeof *view->left, error);
    view->only = phl_alloc(values, sizeof *view->only, error);
    return view->first_table == NULL || view->left == NULL || view->only == NULL ? PHL_ERR_MEMORY
                                                                                 : PHL_OK;
}

void phl_slot_view_clear(phl_slot_view *view)
{
    phl_free(view->tables);
    phl_free(view->first_table);
    phl_free(view->terms);
    phl_free(view->count);
    phl_free(view->number);
    phl_free(view->entry_of);
    phl_free(view->entries);
    phl_free(view->dealt);
    phl_free(view->empty);
    phl_free(view->units);
    phl_free(view->taken);
    phl_free(view->deck);
    phl_free(view->left);
    phl_free(view->only);
    phl_free(view->new_cell);
    phl_free(view->base);
    memset(view, 0, sizeof *view);
}

/* Room for `needed` numbers, new ones 0. */
static phl_status grow_cleared(uint32_t **array, size_t *capacity, size_t needed, phl_error *error)
{
    size_t before = *capacity;
    phl_status status = phl_grow(array, capacity, needed, sizeof **array, error);
    if (status == PHL_OK && *capacity > before) {
        memset(*array + before, 0, (*capacity - before) * sizeof **array);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Counting
 * ------------------------------------------------------------------------------------------- */

/* A new table, D_q(rest, .) = 0; its number is 1 more than its place. */
APART phl_status new_table(phl_slot_view *view, size_t c, uint32_t q, uint32_t rest,
                           uint32_t *number, phl_error *error)
{
    size_t t = view->n_tables;
    phl_status status =
        phl_grow(&view->tables, &view->table_capacity, t + 1, sizeof *view->tables, error);
    if (status == PHL_OK) {
        status =
            phl_grow(&view->count, &view->count_capacity, (t + 1) * c, sizeof *view->count, error);
    }
    if (status == PHL_OK) {
        view->tables[t].value = q;
        view->tables[t].rest = rest;
        memset(view->count + t * c, 0, c * sizeof *view->count);
        *number = (uint32_t)++view->n_tables;
    }
    return status;
}

/* Add to D_q(rest, j). */
static phl_status add(phl_slot_view *view, size_t n_rest, size_t c, uint32_t q, uint32_t rest,
                      uint32_t j, int64_t n, phl_error *error)
{
    uint32_t *number = &view->number[q * n_rest + rest];
    if (*number == 0) {
        phl_status status = new_table(view, c, q, rest, number, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    view->count[(*number - 1) * c + j] += n;
    return PHL_OK;
}

/* The i-th pair of an inactive slot, whose children are all in state q: every cell is its own rest.
 * Most of the time of a sweep goes here. */
static phl_status count_alike(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                              uint32_t q, size_t n_cells, phl_error *error)
{
    const uint32_t *parent = counts->pairs->parent + counts->pairs->first_parent[i];
    const uint32_t *end = counts->pairs->parent + counts->pairs->first_parent[i + 1];
    const phl_portion *all = counts->portion;
    uint32_t *number = view->number + q * n_cells;
    int64_t *count = view->count;
    size_t c = counts->states;
    for (; parent < end; parent++) {
        const phl_portion *portion = all + *parent;
        for (;;) {
            if (number[portion->cell] == 0) {
                phl_status status =
                    new_table(view, c, q, portion->cell, &number[portion->cell], error);
                if (status != PHL_OK) {
                    return status;
                }
                count = view->count;
            }
            count[(number[portion->cell] - 1) * c + portion->state] += portion->n;
            if (portion->next == PHL_NO_PORTION) {
                break;
            }
            portion = all + portion->next;
        }
    }
    return PHL_OK;
}

/* The i-th pair of an active slot, whose children are in one state of each block. */
static phl_status count_plain(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                              const phl_slot_layout *layout, phl_error *error)
{
    const uint32_t *parent = counts->pairs->parent + counts->pairs->first_parent[i];
    const uint32_t *end = counts->pairs->parent + counts->pairs->first_parent[i + 1];
    const uint32_t *only = view->only, *digit = layout->digit, *rest = layout->rest;
    const phl_portion *all = counts->portion;
    uint32_t *numbers = view->number;
    int64_t *count = view->count;
    size_t c = counts->states, n_rest = layout->n_rest;
    for (; parent < end; parent++) {
        const phl_portion *portion = all + *parent;
        for (;;) {
            uint32_t q = only[digit[portion->cell]],
                     *number = numbers + q * n_rest + rest[portion->cell];
            if (*number == 0) {
                phl_status status = new_table(view, c, q, rest[portion->cell], number, error);
                if (status != PHL_OK) {
                    return status;
                }
                count = view->count;
            }
            count[(*number - 1) * c + portion->state] += portion->n;
            if (portion->next == PHL_NO_PORTION) {
                break;
            }
            portion = all + portion->next;
        }
    }
    return PHL_OK;
}

/* The i-th pair of an inactive slot by units; those not listed have children in state `most`. */
static phl_status count_units(phl_slot_view *view, const phl_state_counts *counts, size_t n_cells,
                              uint32_t most, phl_error *error)
{
    size_t c = counts->states;
    phl_status status = PHL_OK;
    for (size_t u = 0; status == PHL_OK && u < view->n_units; u++) {
        const phl_portion *portion = &counts->portion[view->units[u].portion];
        if (most != PHL_MANY) {
            uint32_t number = view->number[most * n_cells + portion->cell];
            view->count[(number - 1) * c + portion->state]--;
        }
        status =
            add(view, n_cells, c, view->units[u].value, portion->cell, portion->state, 1, error);
    }
    return status;
}

static phl_status count_dealt(phl_slot_view *view, const phl_state_counts *counts,
                              const phl_slot_layout *layout, phl_error *error)
{
    phl_status status = PHL_OK;
    size_t c = counts->states;
    for (size_t x = 0; x < view->n_entries; x++) {
        const phl_slot_entry *entry = &view->entries[x];
        for (uint32_t q = 0; status == PHL_OK && q < c; q++) {
            if (view->dealt[x * (c + 1) + q] > 0) {
                status = add(view, layout->n_rest, c, q, layout->rest[entry->cell], entry->state,
                             view->dealt[x * (c + 1) + q], error);
            }
        }
    }
    return status;
}

/* What no child accounts for are empty slots. */
static phl_status count_empty(phl_slot_view *view, const uint32_t *block,
                              const phl_slot_layout *layout, size_t c, const int64_t *cells,
                              const uint32_t *live, size_t n_live, phl_error *error)
{
    phl_status status = phl_grow(&view->empty, &view->empty_capacity, layout->n_rest * c,
                                 sizeof *view->empty, error);
    for (size_t i = 0; status == PHL_OK && i < n_live; i++) {
        if (layout->digit[live[i]] == block[c]) {
            memcpy(view->empty + layout->rest[live[i]] * c, cells + live[i] * c,
                   c * sizeof *view->empty);
        }
    }
    for (size_t t = 0; status == PHL_OK && t < view->n_tables; t++) {
        int64_t *empty = view->empty + view->tables[t].rest * c;
        const int64_t *count = view->count + t * c;
        for (size_t j = 0; block[view->tables[t].value] == block[c] && j < c; j++) {
            empty[j] -= count[j];
        }
    }
    for (size_t i = 0; status == PHL_OK && i < n_live; i++) {
        uint32_t rest = layout->rest[live[i]];
        for (uint32_t j = 0; layout->digit[live[i]] == block[c] && status == PHL_OK && j < c; j++) {
            if (view->empty[rest * c + j] > 0) {
                status = add(view, layout->n_rest, c, (uint32_t)c, rest, j,
                             view->empty[rest * c + j], error);
            }
        }
    }
    return status;
}

/* Counts into lists of terms, tables into chains by value; the numbers are cleared. */
static phl_status finish(phl_slot_view *view, size_t n_rest, size_t c, phl_error *error)
{
    phl_status status = phl_grow(&view->terms, &view->term_capacity, view->n_tables * c + 1,
                                 sizeof *view->terms, error);
    view->n_terms = 0;
    for (size_t q = 0; q <= c; q++) {
        view->first_table[q] = PHL_NO_TABLE;
    }
    for (size_t t = view->n_tables; t-- > 0;) {
        phl_slot_table *table = &view->tables[t];
        view->number[table->value * n_rest + table->rest] = 0;
        table->first_term = view->n_terms;
        table->total = 0;
        for (uint32_t j = 0; status == PHL_OK && j < c; j++) {
            int64_t n = view->count[t * c + j];
            view->terms[view->n_terms] = (phl_slot_term){n, j};
            view->n_terms += n > 0;
            table->total += n;
        }
        table->n_terms = (uint32_t)(view->n_terms - table->first_term);
        if (table->total > 0) { /* all of its children may have been given other states */
            table->next = view->first_table[table->value];
            view->first_table[table->value] = (uint32_t)t;
        }
    }
    return status;
}

/* Deal and count the i-th pair. */
static phl_status count_pair(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                             const uint32_t *block, const phl_slot_layout *layout, phl_rng *rng,
                             phl_error *error)
{
    size_t c = counts->states, n_cells = layout->n_cells;
    uint32_t pair = counts->pairs->pair[i], most;
    const int64_t *value = counts->value + pair * c;
    phl_status status;
    switch (phl_slot_deal_way(view, counts, i, block, layout->n_rest == n_cells)) {
    case PHL_SLOT_PLAIN:
        return count_plain(view, counts, i, layout, error);
    case PHL_SLOT_SCATTERED:
        most = phl_slot_deal_most(value, c);
        status = phl_slot_deal_scattered(view, counts, i, most, rng, error);
        if (status == PHL_OK) {
            status = count_alike(view, counts, i, most, n_cells, error);
        }
        return status == PHL_OK ? count_units(view, counts, n_cells, most, error) : status;
    case PHL_SLOT_SINGLY:
        status = phl_slot_deal_singly(view, counts, i, rng, error);
        return status == PHL_OK ? count_units(view, counts, n_cells, PHL_MANY, error) : status;
    case PHL_SLOT_TOGETHER:
        break;
    }
    status = phl_slot_deal_together(view, counts, i, block, layout->digit, rng, error);
    if (status == PHL_OK) {
        status = count_dealt(view, counts, layout, error);
    }
    phl_slot_deal_forget(view, c);
    return status;
}

phl_status phl_slot_view_count(phl_slot_view *view, const phl_state_counts *counts, uint32_t e,
                               const uint32_t *block, const phl_slot_layout *layout,
                               const int64_t *cells, const uint32_t *live, size_t n_live,
                               phl_rng *rng, phl_error *error)
{
    size_t c = counts->states;
    bool inactive = layout->n_rest == layout->n_cells;
    view->n_tables = 0;
    phl_status status =
        grow_cleared(&view->number, &view->number_capacity, (c + 1) * layout->n_rest, error);
    if (status == PHL_OK) {
        status =
            grow_cleared(&view->entry_of, &view->entry_of_capacity, layout->n_cells * c, error);
    }
    for (size_t i = counts->pairs->first_pair[e];
         status == PHL_OK && i < counts->pairs->first_pair[e + 1]; i++) {
        uint32_t one = counts->one_value[counts->pairs->pair[i]];
        status = inactive && one != PHL_MANY
                     ? count_alike(view, counts, i, one, layout->n_cells, error)
                     : count_pair(view, counts, i, block, layout, rng, error);
    }
    if (status == PHL_OK) {
        status = count_empty(view, block, layout, c, cells, live, n_live, error);
    }
    phl_status finished = finish(view, layout->n_rest, c, error);
    return status == PHL_OK ? finished : status;
}
