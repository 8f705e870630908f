/* twins.c - subtrees that a factorised model cannot tell apart; see twins.h. */
#include "model/twins.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

#define NONE UINT32_MAX
#define LABEL_FACTOR 0x9e3779b97f4a7c15u

void phl_twins_clear(phl_twins *twins)
{
    phl_free(twins->slots);
    phl_free(twins->group);
    phl_free(twins->first);
    phl_free(twins->level);
    phl_free(twins->seen);
    phl_free(twins->sent);
    phl_free(twins->sent_level);
    phl_free(twins->first_child);
    phl_free(twins->child);
    phl_free(twins->key);
    phl_free(twins->hash);
    phl_free(twins->table);
    phl_free(twins->order);
    phl_free(twins->next);
    phl_free(twins->last);
    memset(twins, 0, sizeof *twins);
}

uint64_t phl_twins_bytes(const phl_twins *twins, const phl_index *index)
{
    if (twins->child == NULL) {
        return 0;
    }
    const phl_forest *forest = index->forest;
    uint64_t internal = forest->n_subtrees - twins->n_leaves;
    uint64_t numbers = (uint64_t)twins->slots_capacity + twins->seen_capacity +
                       twins->key_capacity + ((uint64_t)1 << twins->table_bits) +
                       2 * (forest->n_subtrees + forest->n_levels + 1) + index->n_pairs + 1;
    numbers += twins->last != NULL ? 3 * internal : 0;
    return numbers * sizeof(uint32_t) + internal * sizeof *twins->hash +
           ((uint64_t)index->slots + 2) * sizeof *twins->first_child +
           twins->first_child[index->slots] * sizeof *twins->child;
}

static bool is_known(const phl_twins *twins, const phl_params *params)
{
    bool same = twins->found && twins->n_slots == params->n_axes;
    for (uint32_t a = 0; same && a < params->n_axes; a++) {
        same = twins->slots[a] == params->axes[a].slot;
    }
    return same;
}

/* ---------------------------------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------------------------------- */

/* The children in each slot: a counting sort. */
static phl_status list_children(phl_twins *twins, const phl_index *index, phl_error *error)
{
    const phl_forest *forest = index->forest;
    size_t n = 0;
    twins->first_child =
        phl_alloc_zero((size_t)index->slots + 2, sizeof *twins->first_child, error);
    if (twins->first_child == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t *next = twins->first_child + 1; /* where the next child in slot l goes: next[l - 1] */
    for (size_t k = 0; k < forest->n_links; k++) {
        if (forest->links[k].slot <= index->slots) {
            next[forest->links[k].slot]++;
            n++;
        }
    }
    for (uint32_t slot = 1; slot <= index->slots; slot++) {
        next[slot] += next[slot - 1];
    }
    twins->child = phl_alloc(n, sizeof *twins->child, error);
    if (twins->child == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (uint32_t s = 0; s < forest->n_subtrees; s++) {
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            const phl_link *link = &forest->links[k];
            if (link->slot <= index->slots) {
                twins->child[next[link->slot - 1]++] = (phl_twins_child){
                    s - (uint32_t)twins->n_leaves, link->child, index->link_pair[k]};
            }
        }
    }
    return PHL_OK;
}

/* What does not depend on the active slots. */
static phl_status start(phl_twins *twins, const phl_index *index, phl_error *error)
{
    const phl_forest *forest = index->forest;
    phl_twins_clear(twins);
    twins->n_leaves = forest->n_levels > 0 ? forest->level[1] : 0;
    size_t internal = forest->n_subtrees - twins->n_leaves;
    twins->table_bits = 4;
    while ((size_t)1 << twins->table_bits < 2 * internal) {
        twins->table_bits++;
    }
    twins->group = phl_alloc(forest->n_subtrees, sizeof *twins->group, error);
    twins->first = phl_alloc(forest->n_subtrees, sizeof *twins->first, error);
    twins->level = phl_alloc(forest->n_levels + 1, sizeof *twins->level, error);
    twins->sent = phl_alloc(index->n_pairs + 1, sizeof *twins->sent, error);
    twins->sent_level = phl_alloc(forest->n_levels + 1, sizeof *twins->sent_level, error);
    twins->hash = phl_alloc(internal, sizeof *twins->hash, error);
    twins->table = phl_alloc((size_t)1 << twins->table_bits, sizeof *twins->table, error);
    if (twins->group == NULL || twins->first == NULL || twins->level == NULL ||
        twins->sent == NULL || twins->sent_level == NULL || twins->hash == NULL ||
        twins->table == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (uint32_t s = 0; s < twins->n_leaves; s++) {
        twins->group[s] = twins->first[s] = s;
    }
    return list_children(twins, index, error);
}

static phl_status set_slots(phl_twins *twins, const phl_index *index, const phl_params *params,
                            phl_error *error)
{
    size_t cells = (index->forest->n_subtrees - twins->n_leaves) * params->n_axes + 1;
    const phl_room rooms[] = {
        PHL_ROOM(twins->slots, twins->slots_capacity, (size_t)params->n_axes + 1),
        PHL_ROOM(twins->seen, twins->seen_capacity, cells),
        PHL_ROOM(twins->key, twins->key_capacity, cells),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    twins->n_slots = params->n_axes;
    for (uint32_t a = 0; status == PHL_OK && a < params->n_axes; a++) {
        twins->slots[a] = params->axes[a].slot;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Groups
 * ------------------------------------------------------------------------------------------- */

/* Add the children in active slot a, from `child` on, to what their parents before `stop` see; the
 * child after them. */
static const phl_twins_child *see_children(phl_twins *twins, size_t a, size_t stop,
                                           const phl_twins_child *child)
{
    const phl_twins_child *end = twins->child + twins->first_child[twins->slots[a]];
    const uint32_t *group = twins->group;
    uint32_t *restrict seen = twins->seen + a, *restrict key = twins->key + a;
    uint64_t *restrict hash = twins->hash;
    uint64_t factor = phl_hash_step(0, a) | 1;
    size_t width = twins->n_slots;
    for (; child < end && child->parent < stop; child++) {
        uint32_t of = group[child->subtree];
        seen[child->parent * width] = child->pair;
        key[child->parent * width] = of;
        hash[child->parent] += (of + (uint64_t)1) * factor;
    }
    return child;
}

/* The groups of the subtrees begin .. stop - 1 from what they see. */
static void group_level(phl_twins *twins, const int32_t *label, uint32_t begin, uint32_t stop)
{
    size_t width = twins->n_slots, n_leaves = twins->n_leaves;
    size_t mask = ((size_t)1 << twins->table_bits) - 1;
    const uint32_t *keys = twins->key, *key = keys + (begin - n_leaves) * width;
    const uint64_t *hash = twins->hash;
    uint32_t *restrict table = twins->table, *restrict first = twins->first;
    for (uint32_t s = begin; s < stop; s++, key += width) {
        size_t place = (size_t)(hash[s - n_leaves] >> (64 - twins->table_bits));
        uint32_t group;
        for (; (group = table[place]) != NONE; place = (place + 1) & mask) {
            const uint32_t *other = keys + (first[group] - n_leaves) * width;
            bool same = label[first[group]] == label[s];
            for (size_t a = 0; same && a < width; a++) {
                same = key[a] == other[a];
            }
            if (same) {
                break;
            }
        }
        if (group == NONE) {
            group = table[place] = (uint32_t)twins->n_groups++;
            first[group] = s;
        }
        twins->group[s] = group;
    }
}

static void find_groups(phl_twins *twins, const phl_forest *forest)
{
    _Static_assert(NONE == UINT32_MAX && PHL_NO_PAIR == UINT32_MAX, "all bits set");
    size_t n_leaves = twins->n_leaves, internal = forest->n_subtrees - n_leaves;
    const phl_twins_child *next[PHL_MAX_AXES];
    for (size_t a = 0; a < twins->n_slots; a++) {
        next[a] = twins->child + twins->first_child[twins->slots[a] - 1];
    }
    memset(twins->seen, 0xff, internal * twins->n_slots * sizeof *twins->seen);
    memset(twins->key, 0xff, internal * twins->n_slots * sizeof *twins->key);
    memset(twins->table, 0xff, sizeof *twins->table << twins->table_bits);
    for (size_t i = 0; i < internal; i++) {
        twins->hash[i] = (uint64_t)forest->label[n_leaves + i] * LABEL_FACTOR;
    }
    twins->n_groups = n_leaves;
    twins->level[0] = 0;
    for (size_t h = 1; h < forest->n_levels; h++) {
        uint32_t begin = forest->level[h], stop = forest->level[h + 1];
        twins->level[h] = (uint32_t)twins->n_groups;
        for (size_t a = 0; a < twins->n_slots; a++) {
            next[a] = see_children(twins, a, stop - n_leaves, next[a]);
        }
        group_level(twins, forest->label, begin, stop);
    }
    twins->level[forest->n_levels] = (uint32_t)twins->n_groups;
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
            count += params->axis_of_slot[index->pair_row[pair] + 1] != 0 ? 1 : 0;
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
    twins->found = twins->ordered = false;
    phl_status status = twins->child == NULL ? start(twins, index, error) : PHL_OK;
    if (status == PHL_OK) {
        status = set_slots(twins, index, params, error);
    }
    if (status == PHL_OK) {
        list_sent(twins, index, params);
        find_groups(twins, index->forest);
        twins->found = true;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Their order
 * ------------------------------------------------------------------------------------------- */

/* Append internal group g to the chain of those of its height that are alike, which begin with
 * groups from `begin` on. */
static void chain_group(phl_twins *twins, uint32_t g, uint32_t begin)
{
    size_t n_leaves = twins->n_leaves, mask = ((size_t)1 << twins->table_bits) - 1;
    const uint32_t *key = phl_twins_key(twins, g);
    uint64_t filled = 0;
    uint32_t child = NONE, first;
    for (size_t a = twins->n_slots; a-- > 0;) {
        filled = filled * 2 + (key[a] != NONE);
        child = key[a] != NONE ? key[a] : child;
    }
    size_t place = (size_t)phl_hash_step(filled, child) & mask;
    for (; (first = twins->table[place]) != NONE; place = (place + 1) & mask) {
        if (first >= begin && phl_twins_alike(key, phl_twins_key(twins, first), twins->n_slots)) {
            break;
        }
    }
    twins->next[g - n_leaves] = NONE;
    if (first == NONE) {
        twins->table[place] = twins->last[g - n_leaves] = g;
        return;
    }
    twins->next[twins->last[first - n_leaves] - n_leaves] = g;
    twins->last[first - n_leaves] = g;
    twins->last[g - n_leaves] = NONE;
}

phl_status phl_twins_order(phl_twins *twins, const phl_index *index, phl_error *error)
{
    size_t n_leaves = twins->n_leaves, internal = index->forest->n_subtrees - n_leaves, n = 0;
    if (twins->ordered) {
        return PHL_OK;
    }
    if (twins->last == NULL) {
        phl_free(twins->order);
        phl_free(twins->next);
        twins->order = phl_alloc(internal, sizeof *twins->order, error);
        twins->next = phl_alloc(internal, sizeof *twins->next, error);
        twins->last = twins->order == NULL || twins->next == NULL
                          ? NULL
                          : phl_alloc(internal, sizeof *twins->last, error);
        if (twins->last == NULL) {
            return PHL_ERR_MEMORY;
        }
    }
    memset(twins->table, 0xff, sizeof *twins->table << twins->table_bits);
    for (size_t h = 1; h < index->forest->n_levels; h++) {
        for (uint32_t g = twins->level[h]; g < twins->level[h + 1]; g++) {
            chain_group(twins, g, twins->level[h]);
        }
    }
    for (uint32_t g = (uint32_t)n_leaves; g < twins->n_groups; g++) {
        bool begins = twins->last[g - n_leaves] != NONE;
        for (uint32_t i = begins ? g : NONE; i != NONE; i = twins->next[i - n_leaves]) {
            twins->order[n++] = i;
        }
    }
    twins->ordered = true;
    return PHL_OK;
}
