/* label_groups.c - groups of subtrees with one label; see label_groups.h. */
#include "gibbs/label_groups.h"

#include <stdlib.h>

#include "base/memory.h"

struct keyed {
    uint64_t key;
    uint32_t subtree;
};

static int compare_keys(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->subtree < b->subtree ? -1 : a->subtree > b->subtree;
}

/* Numbers of labels and slots are below 2^31: a label needs 32 bits, what is beside it the rest. */
static uint64_t key_of(const phl_forest *forest, uint32_t s, int kind)
{
    uint64_t label = (uint32_t)(forest->label[s] + 1), leaf = forest->leaf_slot[s];
    uint64_t beside = 0;
    if (kind == 1) {
        beside = leaf != 0;
    } else if (kind == 2 && leaf != 0) {
        beside = leaf << 1 | 1;
    } else if (kind == 2) {
        uint32_t child = forest->links[forest->first_link[s]].child;
        beside = (uint64_t)(uint32_t)(forest->label[child] + 1) << 1;
    }
    return label << 32 ^ (beside & UINT32_MAX);
}

/* All groups of one kind, after those there are. */
static void add_kind(phl_label_groups *groups, const phl_forest *forest, int kind,
                     struct keyed *keyed)
{
    size_t n = forest->n_subtrees, begin = (size_t)kind * n;
    for (uint32_t s = 0; s < n; s++) {
        keyed[s] = (struct keyed){key_of(forest, s, kind), s};
    }
    qsort(keyed, n, sizeof *keyed, compare_keys);
    groups->first_of_kind[kind] = groups->n_groups;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || keyed[i].key != keyed[i - 1].key) {
            groups->first[groups->n_groups++] = begin + i;
        }
        groups->member[begin + i] = keyed[i].subtree;
        groups->group_of[begin + keyed[i].subtree] =
            (uint32_t)(groups->n_groups - 1 - groups->first_of_kind[kind]);
    }
    groups->first[groups->n_groups] = begin + n;
    groups->first_of_kind[kind + 1] = groups->n_groups;
}

phl_status phl_label_groups_create(const phl_forest *forest, phl_label_groups **groups,
                                   phl_error *error)
{
    phl_label_groups *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t n = forest->n_subtrees, all = phl_times(n, PHL_LABEL_GROUP_KINDS);
    struct keyed *keyed = phl_alloc(n, sizeof *keyed, error);
    made->first = phl_alloc_zero(all + 1, sizeof *made->first, error);
    made->member = phl_alloc(all, sizeof *made->member, error);
    made->group_of = phl_alloc(all, sizeof *made->group_of, error);
    if (keyed == NULL || made->first == NULL || made->member == NULL || made->group_of == NULL) {
        phl_free(keyed);
        phl_label_groups_free(made);
        return PHL_ERR_MEMORY;
    }
    for (int kind = 0; kind < PHL_LABEL_GROUP_KINDS; kind++) {
        add_kind(made, forest, kind, keyed);
    }
    phl_free(keyed);
    *groups = made;
    return PHL_OK;
}

void phl_label_groups_free(phl_label_groups *groups)
{
    if (groups == NULL) {
        return;
    }
    phl_free(groups->first);
    phl_free(groups->member);
    phl_free(groups->group_of);
    phl_free(groups);
}
