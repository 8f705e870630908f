/* rules.h - the rules of a tree grammar, as far as they occur.
 *
 * A rule (parent, left, symbol) says that below a node with the label `parent`, to the right of a
 * sibling `left`, there comes `symbol`: a label, an empty slot, or the end of the siblings. Symbols
 * are the labels 0 .. M - 1 and those below.  What is a table here has an entry for each rule that
 * occurs, never for each that might: memory grows with the data, not with the alphabet.
 *
 * Two forms: in the `pair` form a rule sees parent and left together; in the other one the first
 * child sees its parent (left is BEGIN) and every further one its left sibling alone (parent is
 * ANY).
 */
#ifndef PHL_GRAMMAR_RULES_H
#define PHL_GRAMMAR_RULES_H

#include "grammar/triples.h"

/* Symbols behind the M labels. */
enum {
    PHL_SYMBOL_UNSEEN, /* a label that training has not met */
    PHL_SYMBOL_EMPTY,  /* an empty slot before a child */
    PHL_SYMBOL_STOP,   /* the end of the siblings */
    PHL_SYMBOL_BEGIN,  /* the left of the first child */
    PHL_SYMBOL_ROOT,   /* the parent of the root */
    PHL_SYMBOL_ANY,    /* the parent of further siblings in the form that does not see it */
    PHL_SYMBOLS
};

/* A label that is not known: stands for all labels, the unseen one included. */
#define PHL_SYMBOL_HIDDEN (UINT32_MAX - 1)

typedef struct phl_rules {
    uint32_t labels; /* M */
    phl_triples rules;
    phl_triples contexts; /* (parent, left, 0) */
    phl_triples firsts;   /* (parent, symbol, 0) */
    phl_triples seconds;  /* (left, symbol, 0) */
    size_t capacity;
    struct phl_rule_parts {
        uint32_t context, first, second;
    } * parts; /* of each rule: their numbers */
} phl_rules;

void phl_rules_init(phl_rules *rules, uint32_t labels);
void phl_rules_clear(phl_rules *rules);

phl_status phl_rules_add(phl_rules *rules, phl_triple rule, uint32_t *number, phl_error *error);

/* A symbol by its number behind the labels. */
static inline uint32_t phl_rules_symbol(uint32_t labels, int special)
{
    return labels + (uint32_t)special;
}

#endif
