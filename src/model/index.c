/* index.c - a forest prepared for inference; see index.h. */
#include "model/index.h"

#include <string.h>

#include "base/memory.h"

/* Row of a slot in the tables, or UINT32_MAX when the index leaves it out. */
static uint32_t row_of(uint32_t slot, uint32_t slots, bool beyond)
{
    return slot <= slots ? slot - 1 : beyond ? slots : UINT32_MAX;
}

/* Two stable counting sorts, by row and then by child; next_row and next_child are 0.  Returns how
 * many links have a row. */
static size_t sort_by_row_and_child(const phl_forest *forest, uint32_t slots, bool beyond,
                                    uint64_t *next_row, uint64_t *next_child, uint64_t *by_row,
                                    uint64_t *sorted)
{
    size_t kept = 0;
    for (size_t k = 0; k < forest->n_links; k++) {
        uint32_t row = row_of(forest->links[k].slot, slots, beyond);
        if (row != UINT32_MAX) {
            next_row[row + 1]++;
            next_child[forest->links[k].child + 1]++;
            kept++;
        }
    }
    for (size_t r = 0; r <= slots; r++) {
        next_row[r + 1] += next_row[r];
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        next_child[s + 1] += next_child[s];
    }
    for (size_t k = 0; k < forest->n_links; k++) {
        uint32_t row = row_of(forest->links[k].slot, slots, beyond);
        if (row != UINT32_MAX) {
            by_row[next_row[row]++] = k;
        }
    }
    for (size_t i = 0; i < kept; i++) {
        sorted[next_child[forest->links[by_row[i]].child]++] = by_row[i];
    }
    return kept;
}

/* Links ordered by (child, row), equal ones in order of number.  Links without a row are left out;
 * *count of them remain. */
static phl_status sort_links(const phl_forest *forest, uint32_t slots, bool beyond,
                             uint64_t **sorted, size_t *count, phl_error *error)
{
    uint64_t *next_row = phl_alloc_zero((size_t)slots + 2, sizeof *next_row, error);
    uint64_t *next_child = phl_alloc_zero(forest->n_subtrees + 1, sizeof *next_child, error);
    uint64_t *by_row = phl_alloc(forest->n_links, sizeof *by_row, error);
    uint64_t *result = phl_alloc(forest->n_links, sizeof *result, error);
    bool made = next_row != NULL && next_child != NULL && by_row != NULL && result != NULL;
    if (made) {
        *count = sort_by_row_and_child(forest, slots, beyond, next_row, next_child, by_row, result);
        *sorted = result;
        result = NULL;
    }
    phl_free(next_row);
    phl_free(next_child);
    phl_free(by_row);
    phl_free(result);
    return made ? PHL_OK : PHL_ERR_MEMORY;
}

/* The pairs of sorted links. */
static phl_status number_sorted(phl_index *index, bool beyond, const uint64_t *sorted, size_t count,
                                phl_error *error)
{
    const phl_forest *forest = index->forest;
    index->link_pair = phl_alloc(forest->n_links, sizeof *index->link_pair, error);
    index->first_pair = phl_alloc_zero(forest->n_subtrees + 1, sizeof *index->first_pair, error);
    index->pair_row = phl_alloc(count, sizeof *index->pair_row, error);
    index->pair_child = phl_alloc(count, sizeof *index->pair_child, error);
    if (index->link_pair == NULL || index->first_pair == NULL || index->pair_row == NULL ||
        index->pair_child == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t k = 0; k < forest->n_links; k++) {
        index->link_pair[k] = PHL_NO_PAIR;
    }
    for (size_t i = 0; i < count; i++) {
        const phl_link *link = &forest->links[sorted[i]];
        uint32_t row = row_of(link->slot, index->slots, beyond);
        size_t last = index->n_pairs - 1;
        if (index->n_pairs == 0 || index->pair_child[last] != link->child ||
            index->pair_row[last] != row) {
            index->pair_child[index->n_pairs] = link->child;
            index->pair_row[index->n_pairs] = row;
            index->first_pair[link->child + 1]++;
            index->n_pairs++;
        }
        index->link_pair[sorted[i]] = (uint32_t)(index->n_pairs - 1);
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        index->first_pair[s + 1] += index->first_pair[s];
    }
    phl_shrink(&index->pair_row, index->n_pairs, sizeof *index->pair_row);
    phl_shrink(&index->pair_child, index->n_pairs, sizeof *index->pair_child);
    return PHL_OK;
}

static phl_status number_pairs(phl_index *index, bool beyond, phl_error *error)
{
    uint64_t *sorted = NULL;
    size_t count = 0;
    phl_status status = sort_links(index->forest, index->slots, beyond, &sorted, &count, error);
    if (status == PHL_OK) {
        status = number_sorted(index, beyond, sorted, count, error);
    }
    phl_free(sorted);
    return status;
}

/* A set of filled slots is a name made of its rows: an alphabet numbers them. */
static phl_status number_sets(phl_index *index, phl_error *error)
{
    const phl_forest *forest = index->forest;
    phl_alphabet sets = {0};
    uint32_t *rows = NULL;
    size_t rows_capacity = 0, total = 0;
    phl_status status = PHL_OK;
    index->set_of = phl_alloc(forest->n_subtrees, sizeof *index->set_of, error);
    if (index->set_of == NULL) {
        status = PHL_ERR_MEMORY;
    }
    for (size_t s = 0; status == PHL_OK && s < forest->n_subtrees; s++) {
        const phl_link *links;
        size_t n = phl_subtree_links(forest, (uint32_t)s, &links);
        index->set_of[s] = PHL_NO_SET;
        if (n == 0) {
            continue;
        }
        status = phl_grow(&rows, &rows_capacity, n, sizeof *rows, error);
        size_t filled = 0;
        for (size_t k = 0; status == PHL_OK && k < n && links[k].slot <= index->slots; k++) {
            rows[filled++] = links[k].slot - 1;
        }
        int32_t number = 0;
        if (status == PHL_OK) {
            status =
                phl_alphabet_add(&sets, (const char *)rows, filled * sizeof *rows, &number, error);
        }
        index->set_of[s] = (uint32_t)number;
    }
    for (size_t i = 0; i < sets.count; i++) {
        total += phl_alphabet_length(&sets, i) / sizeof *rows;
    }
    if (status == PHL_OK) {
        index->set_first = phl_alloc(sets.count + 1, sizeof *index->set_first, error);
        index->set_rows = phl_alloc(total, sizeof *index->set_rows, error);
        status = index->set_first == NULL || index->set_rows == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status == PHL_OK) {
        index->n_sets = sets.count;
        index->set_first[0] = 0;
        for (size_t i = 0; i < sets.count; i++) {
            size_t bytes = phl_alphabet_length(&sets, i);
            memcpy(index->set_rows + index->set_first[i], phl_alphabet_name(&sets, i), bytes);
            index->set_first[i + 1] = index->set_first[i] + (uint32_t)(bytes / sizeof *rows);
        }
    }
    phl_alphabet_clear(&sets);
    phl_free(rows);
    return status;
}

static phl_status weigh_roots(phl_index *index, phl_error *error)
{
    const phl_forest *forest = index->forest;
    index->root_weight = phl_alloc_zero(forest->n_subtrees, sizeof *index->root_weight, error);
    if (index->root_weight == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        index->root_weight[forest->tree_root[tree]] += phl_tree_weight(forest, tree);
    }
    return PHL_OK;
}

phl_status phl_index_create(const phl_forest *forest, uint32_t slots, bool beyond,
                            phl_index **index, phl_error *error)
{
    phl_index *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->forest = forest;
    made->slots = slots;
    phl_status status = number_pairs(made, beyond, error);
    if (status == PHL_OK) {
        status = number_sets(made, error);
    }
    if (status == PHL_OK) {
        status = weigh_roots(made, error);
    }
    if (status != PHL_OK) {
        phl_index_free(made);
        return status;
    }
    *index = made;
    return PHL_OK;
}

void phl_index_free(phl_index *index)
{
    if (index == NULL) {
        return;
    }
    phl_free(index->pair_row);
    phl_free(index->pair_child);
    phl_free(index->first_pair);
    phl_free(index->link_pair);
    phl_free(index->set_of);
    phl_free(index->set_first);
    phl_free(index->set_rows);
    phl_free(index->root_weight);
    phl_free(index);
}

phl_status phl_index_occurrences(const phl_forest *forest, const double *tree_weight,
                                 double **times, phl_error *error)
{
    double *made = phl_alloc_zero(forest->n_subtrees, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        made[forest->tree_root[tree]] +=
            tree_weight != NULL ? tree_weight[tree] : phl_tree_weight(forest, tree);
    }
    for (size_t s = forest->n_subtrees; s-- > 0;) { /* parents before children */
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            made[forest->links[k].child] += made[s];
        }
    }
    *times = made;
    return PHL_OK;
}

phl_status phl_index_map_labels(const phl_forest *forest, const phl_alphabet *labels,
                                uint32_t **rows, phl_error *error)
{
    uint32_t *made = phl_alloc(forest->labels.count, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < forest->labels.count; i++) {
        int32_t number = phl_alphabet_find(labels, phl_alphabet_name(&forest->labels, i),
                                           phl_alphabet_length(&forest->labels, i));
        made[i] = number < 0 ? (uint32_t)labels->count : (uint32_t)number;
    }
    *rows = made;
    return PHL_OK;
}
