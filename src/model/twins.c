/* twins.c - subtrees that a factorised model cannot tell apart; see twins.h. */
#include "model/twins.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

#define NO_GROUP UINT32_MAX

void phl_twins_clear(phl_twins *twins)
{
    phl_free(twins->slots);
    phl_free(twins->group);
    phl_free(twins->first);
    phl_free(twins->level);
    phl_free(twins->seen);
    phl_free(twins->sent_level);
    phl_free(twins->sent);
    phl_free(twins->table);
    memset(twins, 0, sizeof *twins);
}

uint64_t phl_twins_bytes(const phl_twins *twins)
{
    uint64_t numbers = (uint64_t)twins->slots_capacity + twins->group_capacity +
                       twins->first_capacity + twins->level_capacity + twins->seen_capacity +
                       twins->sent_level_capacity + twins->sent_capacity + twins->table_capacity;
    return numbers * sizeof(uint32_t);
}

static phl_status room_for(uint32_t **array, size_t *capacity, size_t needed, phl_error *error)
{
    return phl_grow(array, capacity, needed, sizeof **array, error);
}

static bool is_known(const phl_twins *twins, const phl_params *params)
{
    bool same = twins->found && twins->n_slots == params->n_modes;
    for (uint32_t a = 0; same && a < params->n_modes; a++) {
        same = twins->slots[a] == params->modes[a].slot;
    }
    return same;
}

static phl_status reserve(phl_twins *twins, const phl_index *index, uint32_t n_slots,
                          phl_error *error)
{
    const phl_forest *forest = index->forest;
    size_t n = forest->n_subtrees;
    size_t internal = n - (forest->n_levels > 0 ? forest->level[1] : 0);
    size_t size = 16;
    while (size < 2 * internal) {
        size *= 2;
    }
    phl_status status = room_for(&twins->slots, &twins->slots_capacity, (size_t)n_slots + 1, error);
    if (status == PHL_OK) {
        status = room_for(&twins->group, &twins->group_capacity, n, error);
    }
    if (status == PHL_OK) {
        status = room_for(&twins->first, &twins->first_capacity, n, error);
    }
    if (status == PHL_OK) {
        status = room_for(&twins->level, &twins->level_capacity, forest->n_levels + 1, error);
    }
    if (status == PHL_OK) {
        status =
            room_for(&twins->sent_level, &twins->sent_level_capacity, forest->n_levels + 1, error);
    }
    if (status == PHL_OK) {
        status = room_for(&twins->sent, &twins->sent_capacity, index->n_pairs + 1, error);
    }
    if (status == PHL_OK) {
        status = room_for(&twins->table, &twins->table_capacity, size, error);
    }
    if (status == PHL_OK) {
        twins->table_size = size;
        memset(twins->table, 0xff, size * sizeof *twins->table);
    }
    return status;
}

/* The pair of the child of s in a slot, or PHL_NO_PAIR.  Slots ascend from 1, so the child is at
 * most the slot-th one, and where no slot is empty just that. */
static uint32_t pair_in_slot(const phl_index *index, size_t s, uint32_t slot)
{
    const phl_forest *forest = index->forest;
    uint64_t begin = forest->first_link[s], end = forest->first_link[s + 1];
    uint64_t k = end - begin < slot ? end : begin + slot;
    while (k > begin && forest->links[k - 1].slot > slot) {
        k--;
    }
    return k > begin && forest->links[k - 1].slot == slot ? index->link_pair[k - 1] : PHL_NO_PAIR;
}

static uint32_t group_of_pair(const phl_twins *twins, const phl_index *index, uint32_t pair)
{
    return pair == PHL_NO_PAIR ? NO_GROUP : twins->group[index->pair_child[pair]];
}

/* The group of internal subtree s, a new one if it has no twin yet.  There is room for one more in
 * first and seen. */
static uint32_t group_subtree(phl_twins *twins, const phl_index *index, size_t s)
{
    const int32_t *label = index->forest->label;
    size_t width = twins->n_slots, mask = twins->table_size - 1;
    uint32_t *seen = twins->seen + (twins->n_groups - twins->n_leaves) * width;
    uint64_t hash = (uint64_t)(uint32_t)label[s];
    for (size_t a = 0; a < width; a++) {
        seen[a] = pair_in_slot(index, s, twins->slots[a]);
        hash = phl_hash_step(hash, group_of_pair(twins, index, seen[a]));
    }
    size_t place = (size_t)phl_hash_step(hash, width) & mask;
    for (; twins->table[place] != NO_GROUP; place = (place + 1) & mask) {
        uint32_t group = twins->table[place];
        const uint32_t *other = twins->seen + (group - twins->n_leaves) * width;
        bool same = label[twins->first[group]] == label[s];
        for (size_t a = 0; same && a < width; a++) {
            same = group_of_pair(twins, index, other[a]) == group_of_pair(twins, index, seen[a]);
        }
        if (same) {
            return group;
        }
    }
    twins->table[place] = (uint32_t)twins->n_groups;
    twins->first[twins->n_groups] = (uint32_t)s;
    return (uint32_t)twins->n_groups++;
}

static phl_status find_groups(phl_twins *twins, const phl_index *index, phl_error *error)
{
    const phl_forest *forest = index->forest;
    twins->level[0] = 0;
    twins->n_leaves = forest->n_levels > 0 ? forest->level[1] : 0;
    twins->n_groups = twins->n_leaves;
    for (size_t s = 0; s < twins->n_leaves; s++) {
        twins->group[s] = twins->first[s] = (uint32_t)s;
    }
    phl_status status = PHL_OK;
    for (size_t h = 1; h <= forest->n_levels; h++) {
        twins->level[h] = (uint32_t)twins->n_groups;
        size_t end = h < forest->n_levels ? forest->level[h + 1] : forest->level[h];
        for (size_t s = forest->level[h]; status == PHL_OK && s < end; s++) {
            size_t needed = (twins->n_groups - twins->n_leaves + 1) * twins->n_slots + 1;
            status = room_for(&twins->seen, &twins->seen_capacity, needed, error);
            if (status == PHL_OK) {
                twins->group[s] = group_subtree(twins, index, s);
            }
        }
    }
    return status;
}

/* List the pairs in active slots. */
static void list_sent(phl_twins *twins, const phl_index *index, const phl_params *params)
{
    const phl_forest *forest = index->forest;
    uint32_t count = 0, pair = 0;
    twins->sent_level[0] = 0;
    for (size_t h = 0; h < forest->n_levels; h++) {
        for (; pair < index->first_pair[forest->level[h + 1]]; pair++) {
            twins->sent[count] = pair;
            count += params->mode_of_slot[index->pair_row[pair] + 1] != 0 ? 1 : 0;
        }
        twins->sent_level[h + 1] = count;
    }
}

phl_status phl_twins_find(phl_twins *twins, const phl_index *index, const phl_params *params,
                          phl_error *error)
{
    if (is_known(twins, params)) {
        return PHL_OK;
    }
    twins->found = false;
    phl_status status = reserve(twins, index, params->n_modes, error);
    if (status != PHL_OK) {
        return status;
    }
    twins->n_slots = params->n_modes;
    for (uint32_t a = 0; a < params->n_modes; a++) {
        twins->slots[a] = params->modes[a].slot;
    }
    list_sent(twins, index, params);
    status = find_groups(twins, index, error);
    twins->found = status == PHL_OK;
    return status;
}
