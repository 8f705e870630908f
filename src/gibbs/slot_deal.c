/* slot_deal.c - ways of dealing the children of a pair out to their parents; see slot_view.h. */
#include "gibbs/slot_deal.h"

#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"

/* Occurrences of a pair that is dealt by units at most. */
enum { LARGEST = 1 << 20 };

/* Has a pair children in at most one state of every block?  Then there is nothing to deal, and
 * view->only tells the state by block. */
static bool is_plain(phl_slot_view *view, const phl_state_counts *counts, uint32_t pair,
                     const uint32_t *block)
{
    const int64_t *value = counts->value + (size_t)pair * counts->states;
    uint32_t one = counts->one_value[pair];
    if (one != PHL_MANY) {
        view->only[block[one]] = one;
        return true;
    }
    for (size_t q = 0; q < counts->states; q++) {
        view->only[block[q]] = PHL_MANY;
    }
    for (uint32_t q = 0; q < counts->states; q++) {
        if (value[q] > 0) {
            if (view->only[block[q]] != PHL_MANY) {
                return false;
            }
            view->only[block[q]] = q;
        }
    }
    return true;
}

uint32_t phl_slot_deal_most(const int64_t *value, size_t c)
{
    uint32_t most = 0;
    for (uint32_t q = 1; q < c; q++) {
        most = value[q] > value[most] ? q : most;
    }
    return most;
}

phl_slot_way phl_slot_deal_way(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                               const uint32_t *block, bool inactive)
{
    enum { FEW_TIMES = 4 };
    uint32_t pair = counts->pairs->pair[i];
    bool several = inactive && counts->one_value[pair] == PHL_MANY; /* in the one block there is */
    if (!several && is_plain(view, counts, pair, block)) {
        return PHL_SLOT_PLAIN;
    }
    const int64_t *value = counts->value + (size_t)pair * counts->states;
    int64_t times = counts->pairs->pair_times[pair];
    int64_t parents =
        (int64_t)(counts->pairs->first_parent[i + 1] - counts->pairs->first_parent[i]);
    if (!inactive || times > LARGEST) {
        return PHL_SLOT_TOGETHER;
    }
    if (2 * (times - value[phl_slot_deal_most(value, counts->states)]) <= parents) {
        return PHL_SLOT_SCATTERED;
    }
    return times <= FEW_TIMES * parents ? PHL_SLOT_SINGLY : PHL_SLOT_TOGETHER;
}

/* ---------------------------------------------------------------------------------------------
 * Dealing by units
 * ------------------------------------------------------------------------------------------- */

/* The portion at a place among the occurrences of the parents of the i-th pair. */
static uint32_t portion_at(const phl_state_counts *counts, size_t i, int64_t place)
{
    const int64_t *end = counts->pairs->parent_end;
    size_t low = counts->pairs->first_parent[i], high = counts->pairs->first_parent[i + 1] - 1;
    if (end[high] == (int64_t)(high - low + 1)) { /* every parent occurs once */
        return counts->pairs->parent[low + (size_t)place];
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
    uint32_t r = counts->pairs->parent[low];
    for (place -= begin; place >= counts->portion[r].n; r = counts->portion[r].next) {
        place -= counts->portion[r].n;
    }
    return r;
}

phl_status phl_slot_deal_scattered(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                                   uint32_t most, phl_rng *rng, phl_error *error)
{
    uint32_t pair = counts->pairs->pair[i];
    const int64_t *value = counts->value + (size_t)pair * counts->states;
    uint32_t times = (uint32_t)counts->pairs->pair_times[pair]; /* at most LARGEST */
    size_t words = times / 64 + 1, before = view->taken_capacity;
    phl_status status =
        phl_grow(&view->units, &view->unit_capacity, (size_t)counts->pairs->pair_times[pair],
                 sizeof *view->units, error);
    if (status == PHL_OK) {
        status = phl_grow(&view->taken, &view->taken_capacity, words, sizeof *view->taken, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    memset(view->taken + before, 0, (view->taken_capacity - before) * sizeof *view->taken);
    phl_halves halves = {.rng = rng};
    view->n_units = 0;
    for (uint32_t q = 0; q < counts->states; q++) {
        for (int64_t n = q == most ? 0 : value[q]; n > 0; n--) {
            uint32_t place = phl_halves_bounded(&halves, times);
            while (view->taken[place / 64] >> place % 64 & 1) {
                place = phl_halves_bounded(&halves, times);
            }
            view->taken[place / 64] |= UINT64_C(1) << place % 64;
            view->units[view->n_units++] =
                (phl_slot_unit){portion_at(counts, i, (int64_t)place), q};
        }
    }
    memset(view->taken, 0, words * sizeof *view->taken);
    return PHL_OK;
}

phl_status phl_slot_deal_singly(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                                phl_rng *rng, phl_error *error)
{
    uint32_t pair = counts->pairs->pair[i];
    const int64_t *value = counts->value + (size_t)pair * counts->states;
    uint32_t left = 0, times = (uint32_t)counts->pairs->pair_times[pair]; /* at most LARGEST */
    phl_status status =
        phl_grow(&view->units, &view->unit_capacity, times, sizeof *view->units, error);
    if (status == PHL_OK) {
        status = phl_grow(&view->deck, &view->deck_capacity, times, sizeof *view->deck, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    for (uint32_t q = 0; q < counts->states; q++) {
        for (int64_t n = value[q]; n > 0; n--) {
            view->deck[left++] = q;
        }
    }
    phl_halves halves = {.rng = rng};
    view->n_units = 0;
    for (size_t p = counts->pairs->first_parent[i]; p < counts->pairs->first_parent[i + 1]; p++) {
        for (uint32_t r = counts->pairs->parent[p]; r != PHL_NO_PORTION;
             r = counts->portion[r].next) {
            for (int64_t n = counts->portion[r].n; n > 0; n--) {
                uint32_t at = phl_halves_bounded(&halves, left);
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
static phl_status list_entries(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                               phl_error *error)
{
    size_t c = counts->states;
    view->n_entries = 0;
    for (size_t p = counts->pairs->first_parent[i]; p < counts->pairs->first_parent[i + 1]; p++) {
        for (uint32_t r = counts->pairs->parent[p]; r != PHL_NO_PORTION;
             r = counts->portion[r].next) {
            const phl_portion *portion = &counts->portion[r];
            uint32_t *number = &view->entry_of[portion->cell * c + portion->state];
            if (*number == 0) {
                phl_status status = phl_grow(&view->entries, &view->entry_capacity,
                                             view->n_entries + 1, sizeof *view->entries, error);
                if (status != PHL_OK) {
                    return status;
                }
                view->entries[view->n_entries++] =
                    (phl_slot_entry){0, portion->cell, portion->state};
                *number = (uint32_t)view->n_entries;
            }
            view->entries[*number - 1].n += portion->n;
        }
    }
    return phl_grow(&view->dealt, &view->dealt_capacity, view->n_entries * (c + 1),
                    sizeof *view->dealt, error);
}

void phl_slot_deal_forget(phl_slot_view *view, size_t c)
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

phl_status phl_slot_deal_together(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                                  const uint32_t *block, const uint32_t *digit, phl_rng *rng,
                                  phl_error *error)
{
    phl_status status = list_entries(view, counts, i, error);
    if (status == PHL_OK) {
        deal(view, counts->value + (size_t)counts->pairs->pair[i] * counts->states, block, digit,
             counts->states, rng);
    }
    return status;
}
