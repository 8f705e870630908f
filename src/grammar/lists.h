/* lists.h - a forest as the grammar sees it: lists of right siblings, each stored once.
 *
 * What a grammar says of a node, all its right siblings and everything below them depends on their
 * parent's and their left sibling's labels alone.  A list is (parent, left, symbol, what is below
 * it, the rest of the list); equal ones are one, however often they occur.  Lists are numbered so
 * that what they hold comes before them.
 */
#ifndef PHL_GRAMMAR_LISTS_H
#define PHL_GRAMMAR_LISTS_H

#include "forest/forest.h"
#include "grammar/rules.h"

#define PHL_NO_LIST UINT32_MAX

typedef struct phl_list {
    uint32_t parent, left, symbol; /* labels may be PHL_SYMBOL_HIDDEN */
    uint32_t below;                /* list of its children; PHL_NO_LIST: it is no node */
    uint32_t next;                 /* the rest; PHL_NO_LIST: STOP, or the root */
} phl_list;

typedef struct phl_lists {
    bool pair; /* form of the grammar */
    size_t n, capacity;
    phl_list *items;
    phl_hash_table table;
    phl_rules rules;        /* that the lists use */
    phl_triples patterns;   /* (parent, left, symbol) with hidden labels as such */
    uint32_t *pattern;      /* [n] */
    uint64_t *pattern_rule; /* [patterns + 1] where its rules begin */
    uint32_t *rule_of;      /* number in rules, by parent, left and symbol; hidden: all labels */
    size_t n_rules_of, rules_of_capacity;
    size_t n_trees;
    uint32_t *root;       /* [trees] list of each root */
    uint32_t *of_subtree; /* [subtrees] list of the children of each */
} phl_lists;

/* Rules that the hidden labels of one pattern may stand for, at most. */
#define PHL_PATTERN_RULES ((uint64_t)1 << 24)

/* Labels that a symbol may be, the first of them and how many. */
static inline uint32_t phl_lists_first_label(uint32_t symbol)
{
    return symbol == PHL_SYMBOL_HIDDEN ? 0 : symbol;
}
static inline uint32_t phl_lists_count_labels(const phl_lists *lists, uint32_t symbol)
{
    return symbol == PHL_SYMBOL_HIDDEN ? lists->rules.labels + 1 : 1;
}

/* symbol_of: for each label of the forest its number, or that of UNSEEN. */
phl_status phl_lists_create(const phl_forest *forest, const uint32_t *symbol_of, uint32_t labels,
                            bool pair, phl_lists **lists, phl_error *error);
/* Without rules: for phl_values, whatever is hidden. */
phl_status phl_lists_create_bare(const phl_forest *forest, const uint32_t *symbol_of,
                                 uint32_t labels, bool pair, phl_lists **lists, phl_error *error);
void phl_lists_free(phl_lists *lists);

#endif
