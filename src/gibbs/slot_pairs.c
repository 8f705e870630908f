/* slot_pairs.c - the (slot, child) pairs of eligible slots; see slot_pairs.h. */
#include "gibbs/slot_pairs.h"

#include "base/memory.h"

/* Slots filled often enough, into pairs->eligible; times [n] are occurrences. */
static phl_status choose_eligible(phl_slot_pairs *pairs, double support, const double *times,
                                  phl_error *error)
{
    const phl_forest *forest = pairs->index->forest;
    uint32_t slots = pairs->index->slots;
    double internal = 0.0;
    double *filled = phl_alloc_zero((size_t)slots + 1, sizeof *filled, error);
    pairs->eligible = phl_alloc(slots, sizeof *pairs->eligible, error);
    pairs->eligible_of = phl_alloc((size_t)slots + 1, sizeof *pairs->eligible_of, error);
    if (filled == NULL || pairs->eligible == NULL || pairs->eligible_of == NULL) {
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
    pairs->eligible_of[0] = PHL_NOT_ELIGIBLE;
    for (uint32_t slot = 1; slot <= slots; slot++) {
        bool eligible = filled[slot] > 0.0 && filled[slot] >= support * internal;
        pairs->eligible_of[slot] = eligible ? pairs->n_eligible : PHL_NOT_ELIGIBLE;
        if (eligible) {
            pairs->eligible[pairs->n_eligible++] = slot;
        }
    }
    phl_free(filled);
    return PHL_OK;
}

/* Which eligible slot a link or pair belongs to. */
static uint32_t slot_of_pair(const phl_slot_pairs *pairs, uint32_t pair)
{
    const phl_index *index = pairs->index;
    return index->pair_row[pair] < index->slots ? pairs->eligible_of[index->pair_row[pair] + 1]
                                                : PHL_NOT_ELIGIBLE;
}

/* How often every pair occurs, and every subtree in a place that tells its parent nothing. */
static void count_times(phl_slot_pairs *pairs, const double *times)
{
    const phl_forest *forest = pairs->index->forest;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        pairs->free_times[s] = (int64_t)times[s];
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t pair = pairs->index->link_pair[k];
            if (pair != PHL_NO_PAIR && slot_of_pair(pairs, pair) != PHL_NOT_ELIGIBLE) {
                pairs->pair_times[pair] += (int64_t)times[s];
                pairs->free_times[forest->links[k].child] -= (int64_t)times[s];
            }
        }
    }
}

/* Subtrees that occur once, and where. */
static void find_lone(phl_slot_pairs *pairs, const double *times)
{
    const phl_index *index = pairs->index;
    for (size_t s = 0; s < index->forest->n_subtrees; s++) {
        pairs->lone_pair[s] = times[s] == 1.0 ? PHL_NO_PAIR : PHL_NOT_LONE;
        for (uint32_t pair = index->first_pair[s]; pair < index->first_pair[s + 1]; pair++) {
            if (times[s] == 1.0 && pairs->pair_times[pair] == 1) {
                pairs->lone_pair[s] = pair;
            }
        }
    }
}

/* Pairs by slot, parents by pair: two counting sorts. */
static phl_status group_pairs(phl_slot_pairs *pairs, const double *times, phl_error *error)
{
    const phl_index *index = pairs->index;
    const phl_forest *forest = index->forest;
    size_t e_count = pairs->n_eligible, used = 0, links = 0;
    pairs->first_pair = phl_alloc_zero(e_count + 2, sizeof *pairs->first_pair, error);
    size_t *place = phl_alloc_zero(index->n_pairs + 1, sizeof *place, error);
    if (pairs->first_pair == NULL || place == NULL) {
        phl_free(place);
        return PHL_ERR_MEMORY;
    }
    for (uint32_t pair = 0; pair < index->n_pairs; pair++) {
        uint32_t e = slot_of_pair(pairs, pair);
        if (e != PHL_NOT_ELIGIBLE) {
            pairs->first_pair[e + 2]++;
            used++;
        }
    }
    pairs->pair = phl_alloc(used, sizeof *pairs->pair, error);
    pairs->first_parent = phl_alloc_zero(used + 2, sizeof *pairs->first_parent, error);
    if (pairs->pair == NULL || pairs->first_parent == NULL) {
        phl_free(place);
        return PHL_ERR_MEMORY;
    }
    for (size_t e = 0; e < e_count; e++) {
        pairs->first_pair[e + 2] += pairs->first_pair[e + 1];
    }
    for (uint32_t pair = 0; pair < index->n_pairs; pair++) {
        uint32_t e = slot_of_pair(pairs, pair);
        if (e != PHL_NOT_ELIGIBLE) {
            place[pair] = pairs->first_pair[e + 1]++;
            pairs->pair[place[pair]] = pair;
        }
    }
    for (uint64_t k = 0; k < forest->n_links; k++) {
        uint32_t pair = index->link_pair[k];
        if (pair != PHL_NO_PAIR && slot_of_pair(pairs, pair) != PHL_NOT_ELIGIBLE) {
            pairs->first_parent[place[pair] + 2]++;
            links++;
        }
    }
    pairs->parent = phl_alloc(links, sizeof *pairs->parent, error);
    pairs->parent_end = phl_alloc(links, sizeof *pairs->parent_end, error);
    if (pairs->parent == NULL || pairs->parent_end == NULL) {
        phl_free(place);
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < used; i++) {
        pairs->first_parent[i + 2] += pairs->first_parent[i + 1];
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t pair = index->link_pair[k];
            if (pair != PHL_NO_PAIR && slot_of_pair(pairs, pair) != PHL_NOT_ELIGIBLE) {
                pairs->parent[pairs->first_parent[place[pair] + 1]++] =
                    (uint32_t)(s - pairs->n_leaves);
            }
        }
    }
    for (size_t i = 0; i < used; i++) {
        int64_t sum = 0;
        for (size_t p = pairs->first_parent[i]; p < pairs->first_parent[i + 1]; p++) {
            sum += (int64_t)times[pairs->n_leaves + pairs->parent[p]];
            pairs->parent_end[p] = sum;
        }
    }
    phl_free(place);
    return PHL_OK;
}

phl_status phl_slot_pairs_create(const phl_index *index, double support, phl_slot_pairs **pairs,
                                 phl_error *error)
{
    phl_slot_pairs *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t n = index->forest->n_subtrees;
    double *times = NULL;
    made->index = index;
    made->n_leaves = index->forest->n_levels > 0 ? index->forest->level[1] : 0;
    phl_status status = phl_index_occurrences(index->forest, NULL, &times, error);
    if (status == PHL_OK) {
        made->pair_times = phl_alloc_zero(index->n_pairs, sizeof *made->pair_times, error);
        made->free_times = phl_alloc(n, sizeof *made->free_times, error);
        made->lone_pair = phl_alloc(n, sizeof *made->lone_pair, error);
        if (made->pair_times == NULL || made->free_times == NULL || made->lone_pair == NULL) {
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
        phl_slot_pairs_free(made);
        return status;
    }
    *pairs = made;
    return PHL_OK;
}

void phl_slot_pairs_free(phl_slot_pairs *pairs)
{
    if (pairs == NULL) {
        return;
    }
    phl_free(pairs->eligible);
    phl_free(pairs->eligible_of);
    phl_free(pairs->first_pair);
    phl_free(pairs->pair);
    phl_free(pairs->first_parent);
    phl_free(pairs->parent);
    phl_free(pairs->parent_end);
    phl_free(pairs->pair_times);
    phl_free(pairs->free_times);
    phl_free(pairs->lone_pair);
    phl_free(pairs);
}
