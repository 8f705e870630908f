/* slot_view.c - dealing the children of a slot out to their parents; see slot_view.h. */
#include "learn/slot_view.h"

#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"

/* For what loops seldom do: kept out of them. */
#define APART static __attribute__((noinline))

phl_status phl_slot_view_init(phl_slot_view *view, uint32_t states, phl_error *error)
{
    size_t values = (size_t)states + 1;
    memset(view, 0, sizeof *view);
    view->first_table = phl_alloc(values, sizeof *view->first_table, error);
    view->left = phl_alloc_zero(3 * values, sizeof *view->left, error);
    view->only = phl_alloc(values, sizeof *view->only, error);
    return view->first_table == NULL || view->left == NULL || view->only == NULL ? PHL_ERR_MEMORY
                                                                                 : PHL_OK;
}

void phl_slot_view_clear(phl_slot_view *view)
{
    phl_free(view->tables);
    phl_free(view->first_table);
    phl_free(view->parts);
    phl_free(view->count);
    phl_free(view->number);
    phl_free(view->entry_of);
    phl_free(view->entries);
    phl_free(view->dealt);
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
 * Dealing
 * ------------------------------------------------------------------------------------------- */

/* Has a pair children in at most one state of every block?  Then there is nothing to deal, and
 * view->only tells the state by block. */
static bool is_plain(phl_slot_view *view, const phl_rows *rows, uint32_t pair,
                     const uint32_t *block)
{
    const int64_t *value = rows->value + (size_t)pair * rows->states;
    uint32_t one = rows->one_value[pair];
    if (one != PHL_MANY) {
        view->only[block[one]] = one;
        return true;
    }
    for (size_t q = 0; q < rows->states; q++) {
        view->only[block[q]] = PHL_MANY;
    }
    for (uint32_t q = 0; q < rows->states; q++) {
        if (value[q] > 0) {
            if (view->only[block[q]] != PHL_MANY) {
                return false;
            }
            view->only[block[q]] = q;
        }
    }
    return true;
}

/* How the i-th pair is dealt. */
enum way {
    PLAIN,     /* children in at most one state of every block: nothing to deal */
    SCATTERED, /* an inactive slot, and few children in other states than most */
    SINGLY,    /* an inactive slot, and parents that occur few times */
    TOGETHER,  /* by (cell, state) of the parents */
};

static uint32_t most_common(const int64_t *value, size_t c)
{
    uint32_t most = 0;
    for (uint32_t q = 1; q < c; q++) {
        most = value[q] > value[most] ? q : most;
    }
    return most;
}

static enum way way_of(phl_slot_view *view, const phl_rows *rows, size_t i, const uint32_t *block,
                       bool inactive)
{
    enum { FEW_TIMES = 4, LARGEST = 1 << 20 };
    uint32_t pair = rows->pair[i];
    if (is_plain(view, rows, pair, block)) {
        return PLAIN;
    }
    const int64_t *value = rows->value + (size_t)pair * rows->states;
    int64_t times = rows->pair_times[pair];
    int64_t parents = (int64_t)(rows->first_parent[i + 1] - rows->first_parent[i]);
    if (!inactive || times > LARGEST) {
        return TOGETHER;
    }
    if (2 * (times - value[most_common(value, rows->states)]) <= parents) {
        return SCATTERED;
    }
    return times <= FEW_TIMES * parents ? SINGLY : TOGETHER;
}

/* ---------------------------------------------------------------------------------------------
 * Dealing by units
 * ------------------------------------------------------------------------------------------- */

/* The row at a place among the occurrences of the parents of the i-th pair. */
static uint32_t row_at(const phl_rows *rows, size_t i, int64_t place)
{
    const int64_t *end = rows->parent_end;
    size_t low = rows->first_parent[i], high = rows->first_parent[i + 1] - 1;
    if (end[high] == (int64_t)(high - low + 1)) { /* every parent occurs once */
        return rows->parent[low + (size_t)place];
    }
    int64_t begin = 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (end[middle] > place) {
            high = middle;
        } else {
            low = middle + 1;
            begin = end[middle];
        }
    }
    uint32_t r = rows->parent[low];
    for (place -= begin; place >= rows->row[r].n; r = rows->row[r].next) {
        place -= rows->row[r].n;
    }
    return r;
}

/* Give every child of the i-th pair in another state than `most` a place of its own. */
static phl_status scatter(phl_slot_view *view, const phl_rows *rows, size_t i, uint32_t most,
                          phl_rng *rng, phl_error *error)
{
    uint32_t pair = rows->pair[i];
    const int64_t *value = rows->value + (size_t)pair * rows->states;
    uint64_t times = (uint64_t)rows->pair_times[pair];
    size_t words = (size_t)(times / 64 + 1), before = view->taken_capacity;
    phl_status status = phl_grow(&view->units, &view->unit_capacity, (size_t)rows->pair_times[pair],
                                 sizeof *view->units, error);
    if (status == PHL_OK) {
        status = phl_grow(&view->taken, &view->taken_capacity, words, sizeof *view->taken, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    memset(view->taken + before, 0, (view->taken_capacity - before) * sizeof *view->taken);
    view->n_units = 0;
    for (uint32_t q = 0; q < rows->states; q++) {
        for (int64_t n = q == most ? 0 : value[q]; n > 0; n--) {
            uint64_t place = phl_rng_bounded(rng, times);
            while (view->taken[place / 64] >> place % 64 & 1) {
                place = phl_rng_bounded(rng, times);
            }
            view->taken[place / 64] |= UINT64_C(1) << place % 64;
            view->units[view->n_units++] = (phl_slot_unit){row_at(rows, i, (int64_t)place), q};
        }
    }
    memset(view->taken, 0, words * sizeof *view->taken);
    return PHL_OK;
}

/* Give every occurrence of the parents of the i-th pair a child, row after row. */
static phl_status deal_singly(phl_slot_view *view, const phl_rows *rows, size_t i, phl_rng *rng,
                              phl_error *error)
{
    uint32_t pair = rows->pair[i];
    const int64_t *value = rows->value + (size_t)pair * rows->states;
    size_t left = 0, times = (size_t)rows->pair_times[pair];
    phl_status status =
        phl_grow(&view->units, &view->unit_capacity, times, sizeof *view->units, error);
    if (status == PHL_OK) {
        status = phl_grow(&view->deck, &view->deck_capacity, times, sizeof *view->deck, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    for (uint32_t q = 0; q < rows->states; q++) {
        for (int64_t n = value[q]; n > 0; n--) {
            view->deck[left++] = q;
        }
    }
    view->n_units = 0;
    for (size_t p = rows->first_parent[i]; p < rows->first_parent[i + 1]; p++) {
        for (uint32_t r = rows->parent[p]; r != PHL_NO_ROW; r = rows->row[r].next) {
            for (int64_t n = rows->row[r].n; n > 0; n--) {
                size_t at = (size_t)phl_rng_bounded(rng, left);
                view->units[view->n_units++] = (phl_slot_unit){r, view->deck[at]};
                view->deck[at] = view->deck[--left];
            }
        }
    }
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Dealing by entries
 * ------------------------------------------------------------------------------------------- */

/* The parents of the i-th pair, by (cell, state). */
static phl_status list_entries(phl_slot_view *view, const phl_rows *rows, size_t i,
                               phl_error *error)
{
    size_t c = rows->states;
    view->n_entries = 0;
    for (size_t p = rows->first_parent[i]; p < rows->first_parent[i + 1]; p++) {
        for (uint32_t r = rows->parent[p]; r != PHL_NO_ROW; r = rows->row[r].next) {
            const phl_row *row = &rows->row[r];
            uint32_t *number = &view->entry_of[row->cell * c + row->state];
            if (*number == 0) {
                phl_status status = phl_grow(&view->entries, &view->entry_capacity,
                                             view->n_entries + 1, sizeof *view->entries, error);
                if (status != PHL_OK) {
                    return status;
                }
                view->entries[view->n_entries++] = (phl_slot_entry){0, row->cell, row->state};
                *number = (uint32_t)view->n_entries;
            }
            view->entries[*number - 1].n += row->n;
        }
    }
    return phl_grow(&view->dealt, &view->dealt_capacity, view->n_entries * (c + 1),
                    sizeof *view->dealt, error);
}

static void forget_entries(phl_slot_view *view, size_t c)
{
    for (size_t x = 0; x < view->n_entries; x++) {
        view->entry_of[view->entries[x].cell * c + view->entries[x].state] = 0;
    }
}

/* Take `n` of the children in block y that are left, out[C] by state. */
static void take(phl_slot_view *view, const uint32_t *block, size_t c, uint32_t y, int64_t n,
                 phl_rng *rng, int64_t *out)
{
    enum { FEW = 16 }; /* fewer are drawn one by one */
    int64_t *left = view->left, *total = view->left + c + 1;
    if (n == total[y]) { /* all of them */
        for (size_t q = 0; q < c; q++) {
            out[q] = block[q] == y ? left[q] : 0;
        }
        return;
    }
    memset(out, 0, c * sizeof *out);
    if (n <= FEW) {
        for (int64_t i = 0; i < n; i++) {
            int64_t at = (int64_t)phl_rng_bounded(rng, (uint64_t)total[y]--);
            size_t q = 0;
            while (block[q] != y || at >= left[q]) {
                at -= block[q] == y ? left[q] : 0;
                q++;
            }
            left[q]--;
            out[q]++;
        }
        return;
    }
    int64_t rest = total[y];
    total[y] -= n;
    for (size_t q = 0; n > 0 && q < c; q++) {
        if (block[q] == y && left[q] > 0) {
            rest -= left[q];
            out[q] = rest == 0 ? n : phl_hypergeometric_draw(rng, left[q], rest, n);
            left[q] -= out[q];
            n -= out[q];
        }
    }
}

/* Deal the children of a pair out to the entries, the largest one last: it gets what is left. */
static void deal(phl_slot_view *view, const int64_t *value, const uint32_t *block,
                 const uint32_t *digit, size_t c, phl_rng *rng)
{
    int64_t *left = view->left, *total = view->left + c + 1;
    size_t largest = 0;
    for (size_t q = 0; q < c; q++) {
        total[block[q]] = 0;
    }
    for (size_t q = 0; q < c; q++) {
        left[q] = value[q];
        total[block[q]] += value[q];
    }
    for (size_t x = 1; x < view->n_entries; x++) {
        largest = view->entries[x].n > view->entries[largest].n ? x : largest;
    }
    for (size_t i = 0; i < view->n_entries; i++) {
        size_t x = i + 1 == view->n_entries ? largest : i < largest ? i : i + 1;
        take(view, block, c, digit[view->entries[x].cell], view->entries[x].n, rng,
             view->dealt + x * (c + 1));
    }
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
static phl_status count_alike(phl_slot_view *view, const phl_rows *rows, size_t i, uint32_t q,
                              size_t n_cells, phl_error *error)
{
    const uint32_t *parent = rows->parent + rows->first_parent[i];
    const uint32_t *end = rows->parent + rows->first_parent[i + 1];
    const phl_row *all = rows->row;
    uint32_t *number = view->number + q * n_cells;
    int64_t *count = view->count;
    size_t c = rows->states;
    for (; parent < end; parent++) {
        const phl_row *row = all + *parent;
        for (;;) {
            if (number[row->cell] == 0) {
                phl_status status = new_table(view, c, q, row->cell, &number[row->cell], error);
                if (status != PHL_OK) {
                    return status;
                }
                count = view->count;
            }
            count[(number[row->cell] - 1) * c + row->state] += row->n;
            if (row->next == PHL_NO_ROW) {
                break;
            }
            row = all + row->next;
        }
    }
    return PHL_OK;
}

/* The i-th pair of an active slot, whose children are in one state of each block. */
static phl_status count_plain(phl_slot_view *view, const phl_rows *rows, size_t i,
                              const phl_slot_layout *layout, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t p = rows->first_parent[i]; p < rows->first_parent[i + 1]; p++) {
        for (uint32_t r = rows->parent[p]; status == PHL_OK && r != PHL_NO_ROW;
             r = rows->row[r].next) {
            const phl_row *row = &rows->row[r];
            status = add(view, layout->n_rest, rows->states, view->only[layout->digit[row->cell]],
                         layout->rest[row->cell], row->state, row->n, error);
        }
    }
    return status;
}

/* The i-th pair of an inactive slot by units; those not listed have children in state `most`. */
static phl_status count_units(phl_slot_view *view, const phl_rows *rows, size_t n_cells,
                              uint32_t most, phl_error *error)
{
    size_t c = rows->states;
    phl_status status = PHL_OK;
    for (size_t u = 0; status == PHL_OK && u < view->n_units; u++) {
        const phl_row *row = &rows->row[view->units[u].row];
        if (most != PHL_MANY) {
            uint32_t number = view->number[most * n_cells + row->cell];
            view->count[(number - 1) * c + row->state]--;
        }
        status = add(view, n_cells, c, view->units[u].value, row->cell, row->state, 1, error);
    }
    return status;
}

static phl_status count_dealt(phl_slot_view *view, const phl_rows *rows,
                              const phl_slot_layout *layout, phl_error *error)
{
    phl_status status = PHL_OK;
    size_t c = rows->states;
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
    phl_status status = PHL_OK;
    int64_t *left = view->left; /* [C] */
    for (size_t i = 0; i < n_live; i++) {
        if (layout->digit[live[i]] != block[c]) {
            continue;
        }
        uint32_t rest = layout->rest[live[i]];
        memcpy(left, cells + live[i] * c, c * sizeof *left);
        for (size_t q = 0; q < c; q++) {
            uint32_t number = block[q] == block[c] ? view->number[q * layout->n_rest + rest] : 0;
            for (size_t j = 0; number != 0 && j < c; j++) {
                left[j] -= view->count[(number - 1) * c + j];
            }
        }
        for (uint32_t j = 0; status == PHL_OK && j < c; j++) {
            if (left[j] > 0) {
                status = add(view, layout->n_rest, c, (uint32_t)c, rest, j, left[j], error);
            }
        }
    }
    return status;
}

/* Counts into lists of parts, tables into chains by value; the numbers are cleared. */
static phl_status finish(phl_slot_view *view, size_t n_rest, size_t c, phl_error *error)
{
    phl_status status = phl_grow(&view->parts, &view->part_capacity, view->n_tables * c + 1,
                                 sizeof *view->parts, error);
    view->n_parts = 0;
    for (size_t q = 0; q <= c; q++) {
        view->first_table[q] = PHL_NO_TABLE;
    }
    for (size_t t = view->n_tables; t-- > 0;) {
        phl_slot_table *table = &view->tables[t];
        view->number[table->value * n_rest + table->rest] = 0;
        table->first_part = view->n_parts;
        table->total = 0;
        for (uint32_t j = 0; status == PHL_OK && j < c; j++) {
            int64_t n = view->count[t * c + j];
            view->parts[view->n_parts] = (phl_slot_part){n, j};
            view->n_parts += n > 0;
            table->total += n;
        }
        table->n_parts = (uint32_t)(view->n_parts - table->first_part);
        if (table->total > 0) { /* all of its children may have been given other states */
            table->next = view->first_table[table->value];
            view->first_table[table->value] = (uint32_t)t;
        }
    }
    return status;
}

/* Deal and count the i-th pair. */
static phl_status count_pair(phl_slot_view *view, const phl_rows *rows, size_t i,
                             const uint32_t *block, const phl_slot_layout *layout, phl_rng *rng,
                             phl_error *error)
{
    size_t c = rows->states, n_cells = layout->n_cells;
    uint32_t pair = rows->pair[i], most;
    const int64_t *value = rows->value + pair * c;
    phl_status status;
    switch (way_of(view, rows, i, block, layout->n_rest == n_cells)) {
    case PLAIN:
        return count_plain(view, rows, i, layout, error);
    case SCATTERED:
        most = most_common(value, c);
        status = scatter(view, rows, i, most, rng, error);
        if (status == PHL_OK) {
            status = count_alike(view, rows, i, most, n_cells, error);
        }
        return status == PHL_OK ? count_units(view, rows, n_cells, most, error) : status;
    case SINGLY:
        status = deal_singly(view, rows, i, rng, error);
        return status == PHL_OK ? count_units(view, rows, n_cells, PHL_MANY, error) : status;
    case TOGETHER:
        break;
    }
    status = list_entries(view, rows, i, error);
    if (status == PHL_OK) {
        deal(view, value, block, layout->digit, c, rng);
        status = count_dealt(view, rows, layout, error);
    }
    forget_entries(view, c);
    return status;
}

phl_status phl_slot_view_count(phl_slot_view *view, const phl_rows *rows, uint32_t e,
                               const uint32_t *block, const phl_slot_layout *layout,
                               const int64_t *cells, const uint32_t *live, size_t n_live,
                               phl_rng *rng, phl_error *error)
{
    size_t c = rows->states;
    bool inactive = layout->n_rest == layout->n_cells;
    view->n_tables = 0;
    phl_status status =
        grow_cleared(&view->number, &view->number_capacity, (c + 1) * layout->n_rest, error);
    if (status == PHL_OK) {
        status =
            grow_cleared(&view->entry_of, &view->entry_of_capacity, layout->n_cells * c, error);
    }
    for (size_t i = rows->first_pair[e]; status == PHL_OK && i < rows->first_pair[e + 1]; i++) {
        uint32_t one = rows->one_value[rows->pair[i]];
        status = inactive && one != PHL_MANY
                     ? count_alike(view, rows, i, one, layout->n_cells, error)
                     : count_pair(view, rows, i, block, layout, rng, error);
    }
    if (status == PHL_OK) {
        status = count_empty(view, block, layout, c, cells, live, n_live, error);
    }
    phl_status finished = finish(view, layout->n_rest, c, error);
    return status == PHL_OK ? finished : status;
}

/* ---------------------------------------------------------------------------------------------
 * Applying
 * ------------------------------------------------------------------------------------------- */

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
    for (size_t z = 0; status == PHL_OK && z < n_cells; z++) {
        view->base[z] = (uint32_t)(rest[z] / step * size * step + rest[z] % step);
    }
    return status;
}

/* Rows of the i-th pair, each with one child state by its old block. */
static void move_plain(phl_slot_view *view, const phl_rows *rows, size_t i, const uint32_t *digit,
                       const struct place *place)
{
    for (size_t p = rows->first_parent[i]; p < rows->first_parent[i + 1]; p++) {
        for (uint32_t r = rows->parent[p]; r != PHL_NO_ROW; r = rows->row[r].next) {
            uint32_t cell = rows->row[r].cell;
            view->new_cell[r] = cell_at(place, cell, place->block[view->only[digit[cell]]]);
        }
    }
}

/* One occurrence of row r goes to block y, the others stay. */
static phl_status move_unit(phl_slot_view *view, phl_rows *rows, uint32_t r, uint32_t y,
                            const struct place *place, phl_error *error)
{
    phl_row *row = &rows->row[r];
    uint32_t cell = cell_at(place, row->cell, y);
    if (row->n == 1) {
        view->new_cell[r] = cell;
        return PHL_OK;
    }
    row->n--;
    return phl_rows_add(rows, row->subtree, row->state, cell, 1, error);
}

/* Rows of the i-th pair, all parents but those of the units having children in state `most`. */
static phl_status move_scattered(phl_slot_view *view, phl_rows *rows, size_t i, uint32_t most,
                                 const struct place *place, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t p = rows->first_parent[i]; p < rows->first_parent[i + 1]; p++) {
        for (uint32_t r = rows->parent[p]; r != PHL_NO_ROW; r = rows->row[r].next) {
            view->new_cell[r] = cell_at(place, rows->row[r].cell, place->block[most]);
        }
    }
    for (size_t u = 0; status == PHL_OK && u < view->n_units; u++) {
        uint32_t y = place->block[view->units[u].value];
        if (y != place->block[most]) {
            status = move_unit(view, rows, view->units[u].row, y, place, error);
        }
    }
    return status;
}

/* Rows of a pair dealt singly: the first unit of a row tells where the row goes. */
static phl_status move_singly(phl_slot_view *view, phl_rows *rows, const struct place *place,
                              phl_error *error)
{
    phl_status status = PHL_OK;
    uint32_t stays = 0;
    for (size_t u = 0; status == PHL_OK && u < view->n_units; u++) {
        uint32_t r = view->units[u].row, y = place->block[view->units[u].value];
        if (u == 0 || r != view->units[u - 1].row) {
            stays = y;
            view->new_cell[r] = cell_at(place, rows->row[r].cell, y);
        } else if (y != stays) {
            status = move_unit(view, rows, r, y, place, error);
        }
    }
    return status;
}

/* Give row r its part of what its entry got; by_block [size] is what is left of that. */
static phl_status cut_row(phl_slot_view *view, phl_rows *rows, uint32_t r, int64_t *by_block,
                          const struct place *place, phl_rng *rng, phl_error *error)
{
    phl_status status = PHL_OK;
    phl_row row = rows->row[r];
    int64_t n = row.n, rest = 0;
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
            rows->row[r].n = part;
            view->new_cell[r] = cell_at(place, row.cell, y);
            first = false;
        } else if (part > 0) {
            status = phl_rows_add(rows, row.subtree, row.state, cell_at(place, row.cell, y), part,
                                  error);
        }
    }
    return status;
}

/* Rows of the i-th pair, whose entries were dealt. */
static phl_status move_dealt(phl_slot_view *view, phl_rows *rows, size_t i,
                             const struct place *place, phl_rng *rng, phl_error *error)
{
    phl_status status = PHL_OK;
    size_t c = rows->states;
    int64_t *sum = view->left + c + 1;             /* [size] */
    for (size_t x = 0; x < view->n_entries; x++) { /* by state, then by block */
        int64_t *dealt = view->dealt + x * (c + 1);
        memset(sum, 0, place->size * sizeof *sum);
        for (size_t q = 0; q < c; q++) {
            sum[place->block[q]] += dealt[q];
        }
        memcpy(dealt, sum, place->size * sizeof *dealt);
    }
    for (size_t p = rows->first_parent[i]; p < rows->first_parent[i + 1]; p++) {
        uint32_t r = rows->parent[p];
        while (status == PHL_OK && r != PHL_NO_ROW) {
            uint32_t next = rows->row[r].next;
            uint32_t x = view->entry_of[rows->row[r].cell * c + rows->row[r].state] - 1;
            status = cut_row(view, rows, r, view->dealt + x * (c + 1), place, rng, error);
            r = next;
        }
    }
    return status;
}

/* Deal the i-th pair again, and move its rows. */
static phl_status move_pair(phl_slot_view *view, phl_rows *rows, size_t i, const uint32_t *block,
                            const phl_slot_layout *dealt_by, const struct place *place,
                            phl_rng *again, phl_rng *rng, phl_error *error)
{
    size_t c = rows->states;
    uint32_t pair = rows->pair[i], most;
    const int64_t *value = rows->value + pair * c;
    phl_status status;
    switch (way_of(view, rows, i, block, dealt_by->n_rest == dealt_by->n_cells)) {
    case PLAIN:
        move_plain(view, rows, i, dealt_by->digit, place);
        return PHL_OK;
    case SCATTERED:
        most = most_common(value, c);
        status = scatter(view, rows, i, most, again, error);
        return status == PHL_OK ? move_scattered(view, rows, i, most, place, error) : status;
    case SINGLY:
        status = deal_singly(view, rows, i, again, error);
        return status == PHL_OK ? move_singly(view, rows, place, error) : status;
    case TOGETHER:
        break;
    }
    status = list_entries(view, rows, i, error);
    if (status == PHL_OK) {
        deal(view, value, block, dealt_by->digit, c, again);
        status = move_dealt(view, rows, i, place, rng, error);
    }
    forget_entries(view, c);
    return status;
}

phl_status phl_slot_view_apply(phl_slot_view *view, phl_rows *rows, uint32_t e,
                               const uint32_t *block, const phl_slot_layout *dealt_by,
                               const uint32_t *rest, const uint32_t *block_now, uint32_t size_now,
                               size_t step, phl_rng *again, phl_rng *rng, phl_error *error)
{
    size_t n_rows = rows->n_rows;
    phl_status status = find_bases(view, rest, dealt_by->n_cells, size_now, step, error);
    struct place place = {view->base, block_now, size_now, (uint32_t)step};
    if (status == PHL_OK) {
        status = phl_grow(&view->new_cell, &view->new_cell_capacity, n_rows, sizeof *view->new_cell,
                          error);
    }
    for (size_t r = 0; status == PHL_OK && r < n_rows; r++) { /* unless it has a child there */
        view->new_cell[r] = cell_at(&place, rows->row[r].cell, block_now[rows->states]);
    }
    for (size_t i = rows->first_pair[e]; status == PHL_OK && i < rows->first_pair[e + 1]; i++) {
        status = move_pair(view, rows, i, block, dealt_by, &place, again, rng, error);
    }
    for (size_t r = 0; status == PHL_OK && r < n_rows; r++) {
        rows->row[r].cell = view->new_cell[r];
    }
    return status;
}
