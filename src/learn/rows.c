/* rows.c - rows with margins; see rows.h. */
#include "learn/rows.h"

#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"

/* ---------------------------------------------------------------------------------------------
 * Making
 * ------------------------------------------------------------------------------------------- */

/* Slots filled often enough, into rows->eligible. */
static phl_status choose_eligible(phl_rows *rows, double support, phl_error *error)
{
    const phl_forest *forest = rows->index->forest;
    uint32_t slots = rows->index->slots;
    double internal = 0.0;
    double *times = NULL;
    phl_status status = phl_count_occurrences(forest, NULL, &times, error);
    double *filled = phl_alloc_zero((size_t)slots + 1, sizeof *filled, error);
    rows->eligible = phl_alloc(slots, sizeof *rows->eligible, error);
    if (status != PHL_OK || filled == NULL || rows->eligible == NULL) {
        phl_free(times);
        phl_free(filled);
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        internal += forest->leaf_slot[s] == 0 ? times[s] : 0.0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            if (forest->links[k].slot <= slots) {
                filled[forest->links[k].slot] += times[s];
            }
        }
    }
    phl_free(times);
    for (uint32_t slot = 1; slot <= slots; slot++) {
        if (filled[slot] > 0.0 && filled[slot] >= support * internal) {
            rows->eligible[rows->n_eligible++] = slot;
        }
    }
    phl_free(filled);
    return PHL_OK;
}

/* Which margin of each subtree belongs to which eligible slot. */
static phl_status number_margins(phl_rows *rows, phl_error *error)
{
    const phl_forest *forest = rows->index->forest;
    size_t e_count = rows->n_eligible;
    rows->ordinal = phl_alloc(forest->n_subtrees * e_count, sizeof *rows->ordinal, error);
    rows->n_margins = phl_alloc_zero(forest->n_subtrees, sizeof *rows->n_margins, error);
    if (rows->ordinal == NULL || rows->n_margins == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        uint64_t k = forest->first_link[s], end = forest->first_link[s + 1];
        for (size_t e = 0; e < e_count; e++) {
            while (k < end && forest->links[k].slot < rows->eligible[e]) {
                k++;
            }
            bool filled = k < end && forest->links[k].slot == rows->eligible[e];
            rows->ordinal[s * e_count + e] = filled ? rows->n_margins[s]++ : PHL_NO_MARGIN;
        }
    }
    return PHL_OK;
}

phl_status phl_rows_create(const phl_index *index, uint32_t states, double support, phl_rows **rows,
                           phl_error *error)
{
    phl_rows *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->index = index;
    made->states = states;
    phl_status status = choose_eligible(made, support, error);
    if (status == PHL_OK && made->n_eligible >= PHL_NO_MARGIN) {
        status = phl_raise(error, PHL_ERR_LIMIT, "raise --slot-support",
                           "more than %d slots may be active", PHL_NO_MARGIN - 1);
    }
    if (status == PHL_OK) {
        status = number_margins(made, error);
    }
    if (status == PHL_OK) {
        size_t values = (size_t)states + 1;
        made->lists = phl_alloc_zero(made->n_eligible * values, sizeof *made->lists, error);
        made->scratch = phl_alloc(2 * values, sizeof *made->scratch, error);
        status = made->lists == NULL || made->scratch == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status != PHL_OK) {
        phl_rows_free(made);
        return status;
    }
    *rows = made;
    return PHL_OK;
}

void phl_rows_free(phl_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    size_t n_lists = (size_t)rows->n_eligible * ((size_t)rows->states + 1);
    for (size_t i = 0; rows->lists != NULL && i < n_lists; i++) {
        phl_free(rows->lists[i].rows);
    }
    phl_free(rows->lists);
    phl_free(rows->scratch);
    phl_free(rows->eligible);
    phl_free(rows->ordinal);
    phl_free(rows->n_margins);
    phl_free(rows->row);
    phl_free(rows->margins);
    phl_free(rows->entries);
    phl_free(rows);
}

void phl_rows_reset(phl_rows *rows)
{
    size_t n_lists = (size_t)rows->n_eligible * ((size_t)rows->states + 1);
    for (size_t i = 0; i < n_lists; i++) {
        rows->lists[i].count = 0;
    }
    rows->n_rows = 0;
    rows->n_margin_total = 0;
    rows->n_entries = 0;
}

/* ---------------------------------------------------------------------------------------------
 * Filling
 * ------------------------------------------------------------------------------------------- */

phl_status phl_rows_add(phl_rows *rows, uint32_t subtree, uint32_t state, int64_t n,
                        phl_error *error)
{
    if (rows->n_rows >= UINT32_MAX) {
        return phl_raise(error, PHL_ERR_LIMIT, "split the data", "more than %u rows", UINT32_MAX);
    }
    phl_status status =
        phl_grow(&rows->row, &rows->row_capacity, rows->n_rows + 1, sizeof *rows->row, error);
    if (status == PHL_OK) {
        phl_row *row = &rows->row[rows->n_rows++];
        row->n = n;
        row->first_margin = rows->n_margin_total;
        row->subtree = subtree;
        row->state = state;
        row->cell = 0;
    }
    return status;
}

/* Where the entries of the margin under way begin. */
static size_t open_margin(const phl_rows *rows)
{
    if (rows->n_margin_total == 0) {
        return 0;
    }
    const phl_margin *last = &rows->margins[rows->n_margin_total - 1];
    return last->first + last->length;
}

phl_status phl_rows_add_entry(phl_rows *rows, uint32_t value, int64_t count, phl_error *error)
{
    phl_status status = phl_grow(&rows->entries, &rows->entry_capacity, rows->n_entries + 1,
                                 sizeof *rows->entries, error);
    if (status == PHL_OK) {
        phl_margin_entry *entry = &rows->entries[rows->n_entries++];
        entry->count = count;
        entry->value = value;
    }
    return status;
}

phl_status phl_rows_end_margin(phl_rows *rows, phl_error *error)
{
    size_t first = open_margin(rows);
    phl_status status = phl_grow(&rows->margins, &rows->margin_capacity, rows->n_margin_total + 1,
                                 sizeof *rows->margins, error);
    if (status == PHL_OK) {
        phl_margin *margin = &rows->margins[rows->n_margin_total++];
        margin->first = first;
        margin->length = (uint32_t)(rows->n_entries - first);
    }
    return status;
}

static const phl_margin *margin_of(const phl_rows *rows, size_t row, uint32_t e)
{
    const phl_row *at = &rows->row[row];
    uint16_t ordinal = rows->ordinal[(size_t)at->subtree * rows->n_eligible + e];
    return ordinal == PHL_NO_MARGIN ? NULL : &rows->margins[at->first_margin + ordinal];
}

static phl_status list_row(phl_rows *rows, uint32_t e, uint32_t value, size_t row, phl_error *error)
{
    phl_row_list *list = &rows->lists[(size_t)e * (rows->states + 1) + value];
    phl_status status =
        phl_grow(&list->rows, &list->capacity, list->count + 1, sizeof *list->rows, error);
    if (status == PHL_OK) {
        list->rows[list->count++] = (uint32_t)row;
    }
    return status;
}

/* Enter one row into the lists of all its slots. */
static phl_status list_values(phl_rows *rows, size_t row, phl_error *error)
{
    phl_status status = PHL_OK;
    for (uint32_t e = 0; status == PHL_OK && e < rows->n_eligible; e++) {
        const phl_margin *margin = margin_of(rows, row, e);
        if (margin == NULL) {
            status = list_row(rows, e, rows->states, row, error);
            continue;
        }
        size_t first = margin->first;
        for (uint32_t i = 0; status == PHL_OK && i < margin->length; i++) {
            if (rows->entries[first + i].count > 0) {
                status = list_row(rows, e, rows->entries[first + i].value, row, error);
            }
        }
    }
    return status;
}

phl_status phl_rows_index(phl_rows *rows, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t row = 0; status == PHL_OK && row < rows->n_rows; row++) {
        status = list_values(rows, row, error);
    }
    return status;
}

int64_t phl_rows_count(const phl_rows *rows, size_t row, uint32_t e, uint32_t value)
{
    const phl_margin *margin = margin_of(rows, row, e);
    if (margin == NULL) {
        return value == rows->states ? rows->row[row].n : 0;
    }
    const phl_margin_entry *entry = rows->entries + margin->first;
    for (uint32_t i = 0; i < margin->length; i++) {
        if (entry[i].value == value) {
            return entry[i].count;
        }
    }
    return 0;
}

uint32_t phl_rows_some_value(const phl_rows *rows, size_t row, uint32_t e)
{
    const phl_margin *margin = margin_of(rows, row, e);
    if (margin == NULL) {
        return rows->states;
    }
    const phl_margin_entry *entry = rows->entries + margin->first;
    uint32_t i = 0;
    while (i + 1 < margin->length && entry[i].count == 0) {
        i++;
    }
    return entry[i].value;
}

/* ---------------------------------------------------------------------------------------------
 * Refining
 * ------------------------------------------------------------------------------------------- */

/* Take `part` of the n children of one margin out at random, into a new margin at the end. */
static phl_status deal_margin(phl_rows *rows, size_t margin, int64_t part, phl_rng *rng,
                              phl_error *error)
{
    size_t first = rows->margins[margin].first;
    uint32_t length = rows->margins[margin].length;
    int64_t *have = rows->scratch, *taken = rows->scratch + rows->states + 1;
    for (uint32_t i = 0; i < length; i++) {
        have[i] = rows->entries[first + i].count;
    }
    phl_multivariate_hypergeometric_draw(rng, have, length, part, taken);
    phl_status status = PHL_OK;
    for (uint32_t i = 0; status == PHL_OK && i < length; i++) {
        rows->entries[first + i].count -= taken[i];
        if (taken[i] > 0) {
            status = phl_rows_add_entry(rows, rows->entries[first + i].value, taken[i], error);
        }
    }
    return status == PHL_OK ? phl_rows_end_margin(rows, error) : status;
}

/* Move the entries with moved values of one margin into a new margin at the end. */
static phl_status move_margin(phl_rows *rows, size_t margin, const bool *moved, phl_error *error)
{
    size_t first = rows->margins[margin].first;
    uint32_t length = rows->margins[margin].length;
    phl_status status = PHL_OK;
    for (uint32_t i = 0; status == PHL_OK && i < length; i++) {
        uint32_t value = rows->entries[first + i].value;
        int64_t count = rows->entries[first + i].count;
        if (moved[value] && count > 0) {
            rows->entries[first + i].count = 0;
            status = phl_rows_add_entry(rows, value, count, error);
        }
    }
    return status == PHL_OK ? phl_rows_end_margin(rows, error) : status;
}

/* Cut the `part` occurrences with moved values in slot e off a row. */
static phl_status cut_row(phl_rows *rows, size_t row, uint32_t e, const bool *moved, int64_t part,
                          phl_rng *rng, phl_error *error)
{
    uint32_t subtree = rows->row[row].subtree;
    uint16_t own = rows->ordinal[(size_t)subtree * rows->n_eligible + e];
    size_t first = rows->row[row].first_margin;
    size_t made = rows->n_rows;
    phl_status status = phl_rows_add(rows, subtree, rows->row[row].state, part, error);
    for (uint16_t m = 0; status == PHL_OK && m < rows->n_margins[subtree]; m++) {
        status = m == own ? move_margin(rows, first + m, moved, error)
                          : deal_margin(rows, first + m, part, rng, error);
    }
    if (status == PHL_OK) {
        rows->row[row].n -= part;
        status = list_values(rows, made, error);
    }
    return status;
}

phl_status phl_rows_refine(phl_rows *rows, uint32_t e, const bool *moved, phl_rng *rng,
                           phl_error *error)
{
    phl_status status = PHL_OK;
    for (uint32_t value = 0; status == PHL_OK && value < rows->states; value++) {
        if (!moved[value]) {
            continue;
        }
        /* Rows made on the way are listed behind the present end: they need no cut. */
        size_t count = phl_rows_list(rows, e, value)->count;
        for (size_t i = 0; status == PHL_OK && i < count; i++) {
            size_t row = phl_rows_list(rows, e, value)->rows[i];
            int64_t part = 0;
            for (uint32_t q = 0; q < rows->states; q++) {
                part += moved[q] ? phl_rows_count(rows, row, e, q) : 0;
            }
            if (part > 0 && part < rows->row[row].n) {
                status = cut_row(rows, row, e, moved, part, rng, error);
            }
        }
    }
    return status;
}
