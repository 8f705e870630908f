/* rows.c - hidden states as counts; see rows.h. */
#include "gibbs/rows.h"

#include <string.h>

#include "base/memory.h"

/* Slots filled often enough, into rows->eligible; times [n] are occurrences. */
static phl_status choose_eligible(phl_rows *rows, double support, const double *times,
                                  phl_error *error)
{
    const phl_forest *forest = rows->index->forest;
    uint32_t slots = rows->index->slots;
    double internal = 0.0;
    double *filled = phl_alloc_zero((size_t)slots + 1, sizeof *filled, error);
    rows->eligible = phl_alloc(slots, sizeof *rows->eligible, error);
    rows->eligible_of = phl_alloc((size_t)slots + 1, sizeof *rows->eligible_of, error);
    if (filled == NULL || rows->eligible == NULL || rows->eligible_of == NULL) {
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
    rows->eligible_of[0] = PHL_NOT_ELIGIBLE;
    for (uint32_t slot = 1; slot <= slots; slot++) {
        bool eligible = filled[slot] > 0.0 && filled[slot] >= support * internal;
        rows->eligible_of[slot] = eligible ? rows->n_eligible : PHL_NOT_ELIGIBLE;
        if (eligible) {
            rows->eligible[rows->n_eligible++] = slot;
        }
    }
    phl_free(filled);
    return PHL_OK;
}

/* Which eligible slot a link or pair belongs to. */
static uint32_t slot_of_pair(const phl_rows *rows, uint32_t pair)
{
    const phl_index *index = rows->index;
    return index->pair_row[pair] < index->slots ? rows->eligible_of[index->pair_row[pair] + 1]
                                                : PHL_NOT_ELIGIBLE;
}

/* How often every pair occurs, and every subtree in a place that tells its parent nothing. */
static void count_times(phl_rows *rows, const double *times)
{
    const phl_forest *forest = rows->index->forest;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        rows->free_times[s] = (int64_t)times[s];
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t pair = rows->index->link_pair[k];
            if (pair != PHL_NO_PAIR && slot_of_pair(rows, pair) != PHL_NOT_ELIGIBLE) {
                rows->pair_times[pair] += (int64_t)times[s];
                rows->free_times[forest->links[k].child] -= (int64_t)times[s];
            }
        }
    }
}

/* Subtrees that occur once, and where. */
static void find_lone(phl_rows *rows, const double *times)
{
    const phl_index *index = rows->index;
    for (size_t s = 0; s < index->forest->n_subtrees; s++) {
        rows->lone_pair[s] = times[s] == 1.0 ? PHL_NO_PAIR : PHL_NOT_LONE;
        for (uint32_t pair = index->first_pair[s]; pair < index->first_pair[s + 1]; pair++) {
            if (times[s] == 1.0 && rows->pair_times[pair] == 1) {
                rows->lone_pair[s] = pair;
            }
        }
    }
}

/* Pairs by slot, parents by pair: two counting sorts. */
static phl_status group_pairs(phl_rows *rows, const double *times, phl_error *error)
{
    const phl_index *index = rows->index;
    const phl_forest *forest = index->forest;
    size_t e_count = rows->n_eligible, used = 0, links = 0;
    rows->first_pair = phl_alloc_zero(e_count + 2, sizeof *rows->first_pair, error);
    size_t *place = phl_alloc_zero(index->n_pairs + 1, sizeof *place, error);
    if (rows->first_pair == NULL || place == NULL) {
        phl_free(place);
        return PHL_ERR_MEMORY;
    }
    for (uint32_t pair = 0; pair < index->n_pairs; pair++) {
        uint32_t e = slot_of_pair(rows, pair);
        if (e != PHL_NOT_ELIGIBLE) {
            rows->first_pair[e + 2]++;
            used++;
        }
    }
    rows->pair = phl_alloc(used, sizeof *rows->pair, error);
    rows->first_parent = phl_alloc_zero(used + 2, sizeof *rows->first_parent, error);
    if (rows->pair == NULL || rows->first_parent == NULL) {
        phl_free(place);
        return PHL_ERR_MEMORY;
    }
    for (size_t e = 0; e < e_count; e++) {
        rows->first_pair[e + 2] += rows->first_pair[e + 1];
    }
    for (uint32_t pair = 0; pair < index->n_pairs; pair++) {
        uint32_t e = slot_of_pair(rows, pair);
        if (e != PHL_NOT_ELIGIBLE) {
            place[pair] = rows->first_pair[e + 1]++;
            rows->pair[place[pair]] = pair;
        }
    }
    for (uint64_t k = 0; k < forest->n_links; k++) {
        uint32_t pair = index->link_pair[k];
        if (pair != PHL_NO_PAIR && slot_of_pair(rows, pair) != PHL_NOT_ELIGIBLE) {
            rows->first_parent[place[pair] + 2]++;
            links++;
        }
    }
    rows->parent = phl_alloc(links, sizeof *rows->parent, error);
    rows->parent_end = phl_alloc(links, sizeof *rows->parent_end, error);
    if (rows->parent == NULL || rows->parent_end == NULL) {
        phl_free(place);
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < used; i++) {
        rows->first_parent[i + 2] += rows->first_parent[i + 1];
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t pair = index->link_pair[k];
            if (pair != PHL_NO_PAIR && slot_of_pair(rows, pair) != PHL_NOT_ELIGIBLE) {
                rows->parent[rows->first_parent[place[pair] + 1]++] =
                    phl_rows_first(rows, (uint32_t)s);
            }
        }
    }
    for (size_t i = 0; i < used; i++) {
        int64_t sum = 0;
        for (size_t p = rows->first_parent[i]; p < rows->first_parent[i + 1]; p++) {
            sum += (int64_t)times[rows->n_leaves + rows->parent[p]];
            rows->parent_end[p] = sum;
        }
    }
    phl_free(place);
    return PHL_OK;
}

phl_status phl_rows_create(const phl_index *index, uint32_t states, double support, phl_rows **rows,
                           phl_error *error)
{
    phl_rows *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t n = index->forest->n_subtrees;
    double *times = NULL;
    made->index = index;
    made->states = states;
    made->n_leaves = index->forest->n_levels > 0 ? index->forest->level[1] : 0;
    made->n_first = n - made->n_leaves;
    phl_status status = phl_count_occurrences(index->forest, NULL, &times, error);
    if (status == PHL_OK) {
        made->pair_times = phl_alloc_zero(index->n_pairs, sizeof *made->pair_times, error);
        made->free_times = phl_alloc(n, sizeof *made->free_times, error);
        made->lone_pair = phl_alloc(n, sizeof *made->lone_pair, error);
        status = phl_grow(&made->row, &made->row_capacity, made->n_first, sizeof *made->row, error);
        made->value = phl_alloc_zero(index->n_pairs * states, sizeof *made->value, error);
        made->one_value = phl_alloc_zero(index->n_pairs, sizeof *made->one_value, error);
        if (made->pair_times == NULL || made->free_times == NULL || made->lone_pair == NULL ||
            made->value == NULL || made->one_value == NULL) {
            status = PHL_ERR_MEMORY;
        }
    }
    if (status == PHL_OK) {
        status = choose_eligible(made, support, times, error);
    }
    if (status == PHL_OK) {
        count_times(made, times);
        find_lone(made, times);
        status = group_pairs(made, times, error);
    }
    phl_free(times);
    if (status != PHL_OK) {
        phl_rows_free(made);
        return status;
    }
    phl_rows_reset(made);
    *rows = made;
    return PHL_OK;
}

void phl_rows_free(phl_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    phl_free(rows->eligible);
    phl_free(rows->eligible_of);
    phl_free(rows->first_pair);
    phl_free(rows->pair);
    phl_free(rows->first_parent);
    phl_free(rows->parent);
    phl_free(rows->parent_end);
    phl_free(rows->pair_times);
    phl_free(rows->free_times);
    phl_free(rows->lone_pair);
    phl_free(rows->row);
    phl_free(rows->value);
    phl_free(rows->one_value);
    phl_free(rows);
}

void phl_rows_reset(phl_rows *rows)
{
    for (size_t r = 0; r < rows->n_first; r++) {
        rows->row[r] = (phl_row){0, (uint32_t)(rows->n_leaves + r), 0, 0, PHL_NO_ROW};
    }
    rows->n_rows = rows->n_first;
}

phl_status phl_rows_add(phl_rows *rows, uint32_t subtree, uint32_t state, uint32_t cell, int64_t n,
                        phl_error *error)
{
    phl_row *first = &rows->row[phl_rows_first(rows, subtree)];
    if (first->n == 0) {
        *first = (phl_row){n, subtree, state, cell, PHL_NO_ROW};
        return PHL_OK;
    }
    if (rows->n_rows >= PHL_NO_ROW) {
        return phl_raise(error, PHL_ERR_LIMIT, "split the data", "more than %u rows",
                         PHL_NO_ROW - 1);
    }
    if (rows->n_rows == rows->row_capacity) {
        phl_status status =
            phl_grow(&rows->row, &rows->row_capacity, rows->n_rows + 1, sizeof *rows->row, error);
        if (status != PHL_OK) {
            return status;
        }
        first = &rows->row[phl_rows_first(rows, subtree)];
    }
    rows->row[rows->n_rows] = (phl_row){n, subtree, state, cell, first->next};
    first->next = (uint32_t)rows->n_rows++;
    return PHL_OK;
}
