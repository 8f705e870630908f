/* lists.c - a forest as lists of right siblings; see lists.h. */
#include "grammar/lists.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

/* Empty slots a forest may have for each link, and beyond that in all. */
enum { EMPTY_A_LINK = 64, EMPTY_MORE = 1000000 };

static uint32_t hash_of(const phl_list *list)
{
    uint64_t hash = phl_hash_step((uint64_t)list->parent << 32 | list->left,
                                  (uint64_t)list->below << 32 | list->next);
    return (uint32_t)(phl_hash_step(hash, list->symbol) >> 32);
}

static uint32_t hash_item(const void *items, size_t number)
{
    return hash_of(&((const phl_list *)items)[number]);
}

static bool same(const phl_list *x, const phl_list *y)
{
    return x->parent == y->parent && x->left == y->left && x->symbol == y->symbol &&
           x->below == y->below && x->next == y->next;
}

static phl_status intern(phl_lists *lists, const phl_list *list, uint32_t *number, phl_error *error)
{
    phl_status status =
        phl_hash_table_reserve(&lists->table, lists->n, 64, hash_item, lists->items, error);
    if (status != PHL_OK) {
        return status;
    }
    uint32_t hash = hash_of(list);
    size_t place = phl_hash_table_place(&lists->table, hash);
    while (phl_hash_table_next(&lists->table, hash, &place, number)) {
        if (same(&lists->items[*number], list)) {
            return PHL_OK;
        }
        place = phl_hash_table_after(&lists->table, place);
    }
    status = phl_grow(&lists->items, &lists->capacity, lists->n + 1, sizeof *lists->items, error);
    if (status == PHL_OK && lists->n == UINT32_MAX - 1) {
        status = phl_raise(error, PHL_ERR_LIMIT, "divide the trees",
                           "more than 4,294,967,294 different lists of siblings");
    }
    if (status == PHL_OK) {
        lists->items[lists->n] = *list;
        *number = (uint32_t)lists->n++;
        phl_hash_table_put(&lists->table, place, hash, *number);
    }
    return status;
}

/* What the next sibling sees of the parent. */
static uint32_t seen_parent(const phl_lists *lists, uint32_t parent)
{
    return lists->pair ? parent : phl_rules_symbol(lists->rules.labels, PHL_SYMBOL_ANY);
}

/* The children of a subtree, from the last to the first. */
static phl_status add_children(phl_lists *lists, const phl_forest *forest,
                               const uint32_t *symbol_of, uint32_t subtree, phl_error *error)
{
    uint32_t labels = lists->rules.labels;
    uint32_t begin = phl_rules_symbol(labels, PHL_SYMBOL_BEGIN);
    uint32_t empty = phl_rules_symbol(labels, PHL_SYMBOL_EMPTY);
    int32_t label = forest->label[subtree];
    uint32_t parent = label < 0 ? PHL_SYMBOL_HIDDEN : symbol_of[label];
    uint64_t first = forest->first_link[subtree], k = forest->first_link[subtree + 1];
    uint32_t slot = k > first ? forest->links[k - 1].slot : 0, list = PHL_NO_LIST;
    phl_status status = PHL_OK;
    phl_list item = {.symbol = phl_rules_symbol(labels, PHL_SYMBOL_STOP),
                     .below = PHL_NO_LIST,
                     .next = PHL_NO_LIST};
    for (;; slot--) {
        /* `item` stands in slot + 1; who is to the left of it? */
        item.left = begin;
        if (slot > 0) {
            bool filled = forest->links[k - 1].slot == slot;
            int32_t of_left = filled ? forest->label[forest->links[k - 1].child] : 0;
            item.left = !filled ? empty : of_left < 0 ? PHL_SYMBOL_HIDDEN : symbol_of[of_left];
        }
        item.parent = slot > 0 ? seen_parent(lists, parent) : parent;
        status = intern(lists, &item, &list, error);
        if (status != PHL_OK || slot == 0) {
            break;
        }
        bool filled = forest->links[k - 1].slot == slot;
        item.symbol = item.left;
        item.below = filled ? lists->of_subtree[forest->links[k - 1].child] : PHL_NO_LIST;
        item.next = list;
        k -= filled && k > first + 1; /* the first link stays, below its slot all is empty */
    }
    lists->of_subtree[subtree] = list;
    return status;
}

/* Slots far beyond the links would make lists of any length. */
static phl_status check_gaps(const phl_forest *forest, phl_error *error)
{
    uint64_t empty = 0;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        uint64_t first = forest->first_link[s], end = forest->first_link[s + 1];
        empty += end > first ? forest->links[end - 1].slot - (end - first) : 0;
    }
    return empty <= EMPTY_MORE || empty / EMPTY_A_LINK <= forest->n_links
               ? PHL_OK
               : phl_raise(
                     error, PHL_ERR_LIMIT, "number the slots without large gaps",
                     "%llu empty slots before %zu children: a grammar takes each for a symbol",
                     (unsigned long long)empty, forest->n_links);
}

/* The rules that a new pattern stands for. */
static phl_status add_pattern(phl_lists *lists, phl_triple pattern, phl_error *error)
{
    uint64_t na = phl_lists_count_labels(lists, pattern.a);
    uint64_t nb = phl_lists_count_labels(lists, pattern.b);
    uint64_t nc = phl_lists_count_labels(lists, pattern.c);
    if (na * nb > PHL_PATTERN_RULES || na * nb * nc > PHL_PATTERN_RULES) {
        return phl_raise(
            error, PHL_ERR_LIMIT,
            "use trees with fewer unknown labels side by side, or a model of another kind",
            "unknown labels next to each other: with %u labels they may be one of %.3g "
            "combinations",
            lists->rules.labels, (double)na * (double)nb * (double)nc);
    }
    phl_status status = phl_grow(&lists->rule_of, &lists->rules_of_capacity,
                                 lists->n_rules_of + na * nb * nc, sizeof *lists->rule_of, error);
    uint32_t a = phl_lists_first_label(pattern.a), b = phl_lists_first_label(pattern.b);
    uint32_t c = phl_lists_first_label(pattern.c);
    for (uint64_t i = 0; status == PHL_OK && i < na * nb * nc; i++) {
        phl_triple rule = {a + (uint32_t)(i / (nb * nc)), b + (uint32_t)(i / nc % nb),
                           c + (uint32_t)(i % nc)};
        status = phl_rules_add(&lists->rules, rule, &lists->rule_of[lists->n_rules_of++], error);
    }
    return status;
}

static phl_status add_rules(phl_lists *lists, phl_error *error)
{
    size_t capacity = 0;
    lists->pattern = phl_alloc(lists->n, sizeof *lists->pattern, error);
    phl_status status = lists->pattern == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < lists->n; i++) {
        const phl_list *list = &lists->items[i];
        size_t before = lists->patterns.n;
        phl_triple pattern = {list->parent, list->left, list->symbol};
        status = phl_triples_add(&lists->patterns, pattern, &lists->pattern[i], error);
        if (status == PHL_OK) {
            status = phl_grow(&lists->pattern_rule, &capacity, before + 2,
                              sizeof *lists->pattern_rule, error);
        }
        if (status == PHL_OK && lists->patterns.n > before) {
            lists->pattern_rule[before] = lists->n_rules_of;
            status = add_pattern(lists, pattern, error);
            lists->pattern_rule[before + 1] = lists->n_rules_of;
        }
    }
    return status;
}

static phl_status fill(phl_lists *lists, const phl_forest *forest, const uint32_t *symbol_of,
                       phl_error *error)
{
    uint32_t labels = lists->rules.labels;
    phl_status status = check_gaps(forest, error);
    for (size_t s = 0; status == PHL_OK && s < forest->n_subtrees; s++) {
        status = add_children(lists, forest, symbol_of, (uint32_t)s, error);
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        uint32_t root = forest->tree_root[t];
        phl_list item = {.parent = phl_rules_symbol(labels, PHL_SYMBOL_ROOT),
                         .left = phl_rules_symbol(labels, PHL_SYMBOL_BEGIN),
                         .symbol = forest->label[root] < 0 ? PHL_SYMBOL_HIDDEN
                                                           : symbol_of[forest->label[root]],
                         .below = lists->of_subtree[root],
                         .next = PHL_NO_LIST};
        status = intern(lists, &item, &lists->root[t], error);
    }
    return status;
}

phl_status phl_lists_create_bare(const phl_forest *forest, const uint32_t *symbol_of,
                                 uint32_t labels, bool pair, phl_lists **lists, phl_error *error)
{
    phl_lists *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->pair = pair;
    made->n_trees = forest->n_trees;
    phl_rules_init(&made->rules, labels);
    made->root = phl_alloc(forest->n_trees, sizeof *made->root, error);
    made->of_subtree = phl_alloc(forest->n_subtrees, sizeof *made->of_subtree, error);
    phl_status status = made->root == NULL || made->of_subtree == NULL
                            ? PHL_ERR_MEMORY
                            : fill(made, forest, symbol_of, error);
    if (status != PHL_OK) {
        phl_lists_free(made);
        return status;
    }
    *lists = made;
    return PHL_OK;
}

phl_status phl_lists_create(const phl_forest *forest, const uint32_t *symbol_of, uint32_t labels,
                            bool pair, phl_lists **lists, phl_error *error)
{
    phl_lists *made = NULL;
    phl_status status = phl_lists_create_bare(forest, symbol_of, labels, pair, &made, error);
    if (status == PHL_OK) {
        status = add_rules(made, error);
    }
    if (status != PHL_OK) {
        phl_lists_free(made);
        return status;
    }
    *lists = made;
    return PHL_OK;
}

void phl_lists_free(phl_lists *lists)
{
    if (lists == NULL) {
        return;
    }
    phl_free(lists->items);
    phl_hash_table_clear(&lists->table);
    phl_triples_clear(&lists->patterns);
    phl_free(lists->pattern);
    phl_free(lists->pattern_rule);
    phl_free(lists->rule_of);
    phl_rules_clear(&lists->rules);
    phl_free(lists->root);
    phl_free(lists->of_subtree);
    phl_free(lists);
}
