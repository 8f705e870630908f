/* twins.h - subtrees that a factorised model cannot tell apart.
 *
 * The transition of a node looks at its children in active slots only.  So two internal subtrees
 * have the same inside, beta and norm, whatever the tables hold, when they have the same label and
 * in every active slot both nothing or children that are twins in their turn.  A pass computes the
 * first subtree of each group of twins and copies it to the others.  Who is whose twin depends on
 * which slots are active, not on their blocks: groups are kept until that changes.
 */
#ifndef PHL_MODEL_TWINS_H
#define PHL_MODEL_TWINS_H

#include "model/index.h"
#include "model/params.h"

typedef struct phl_twins_child {
    uint32_t parent, subtree, pair; /* internal subtrees are numbered from 0 here */
} phl_twins_child;

typedef struct phl_twins {
    bool found;       /* false: nothing below is valid yet */
    uint32_t n_slots; /* active slots that groups were found for, in ascending order */
    uint32_t *slots;  /* [n_slots] */
    size_t n_leaves;  /* leaves, the first subtrees, are groups of one: group[s] = s */
    size_t n_groups;  /* numbered by their first subtree */
    uint32_t *group;  /* [n] of each subtree */
    uint32_t *first;  /* [n_groups] first subtree */
    uint32_t *level;  /* [n_levels + 1] first group of each height */
    uint32_t *seen;   /* [n - n_leaves][n_slots] pair in each active slot of an internal subtree,
                         PHL_NO_PAIR: empty */
    uint32_t *sent;   /* pairs in active slots, ascending */
    uint32_t *sent_level; /* [n_levels + 1] first of those whose child has each height */
    uint32_t *key;        /* [n - n_leaves][n_slots] group of the child in each active slot of an
                             internal subtree, UINT32_MAX: empty */
    bool ordered;         /* is `order` valid? */
    uint32_t *order;      /* [n_groups - n_leaves] internal groups by height, those of a height that
                             are alike (below) together */
    /* Whatever slots are active: the children in each slot, by parent. */
    size_t *first_child; /* [L + 1] of slot l: first_child[l - 1] .. first_child[l] - 1 */
    phl_twins_child *child;
    /* Work space. */
    uint64_t *hash;  /* [n - n_leaves] of label and key */
    uint32_t *table; /* [2^table_bits] group number by hash, or UINT32_MAX */
    uint32_t table_bits;
    uint32_t *next, *last; /* of `order`: [n - n_leaves] chains of groups */
    size_t slots_capacity, seen_capacity, key_capacity;
} phl_twins;

/* Find the groups for the active slots of params, unless they are known.  Zero-initialised is
 * empty; after a failure too phl_twins_clear releases. */
phl_status phl_twins_find(phl_twins *twins, const phl_index *index, const phl_params *params,
                          phl_error *error);
void phl_twins_clear(phl_twins *twins);

/* Fill `order`, unless that is done. */
phl_status phl_twins_order(phl_twins *twins, const phl_index *index, phl_error *error);

/* What the first subtree of an internal group has in active slots. */
static inline const uint32_t *phl_twins_key(const phl_twins *twins, uint32_t group)
{
    return twins->key + (twins->first[group] - twins->n_leaves) * (size_t)twins->n_slots;
}

/* Have the two the same slots filled, and the first of them with children of the same group? */
static inline bool phl_twins_alike(const uint32_t *key, const uint32_t *other, size_t n_slots)
{
    bool first = true, same = true;
    for (size_t a = 0; same && a < n_slots; a++) {
        bool empty = key[a] == UINT32_MAX;
        same = empty || first ? key[a] == other[a] : other[a] != UINT32_MAX;
        first = first && empty;
    }
    return same;
}

/* Bytes in use. */
uint64_t phl_twins_bytes(const phl_twins *twins, const phl_index *index);

#endif
