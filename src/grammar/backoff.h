/* backoff.h - a part of a grammar made ready for labels that are not known.
 *
 * Rules that occurred, in the pool if there is one, have numbers of their own; all others follow
 * from less.  With x the label, a the annotation, p and l the labels of the parent and the left
 * sibling, P and L their states:
 *
 *   P(x, a | P, L) = residual of the rule (p, l, x), if it occurred
 *                    + [g_0(P, L) p_0(x | p) + g_1(P, L) p_1(x | p)] r(a | x, P)
 *
 * 0 is the part's own estimate, 1 the pool's.  g differs from left sibling to left sibling only
 * where the context (p, l) occurred.  p_i and r have numbers for every pair (p, x) that occurred;
 * elsewhere p_i(x | p) = sum_j less[p][i][j] base_j(x), and r(a | x, P) = r(a | x).  So a sum over
 * all labels is one over what occurred and one over the alphabet, whatever the neighbours are.
 */
#ifndef PHL_GRAMMAR_BACKOFF_H
#define PHL_GRAMMAR_BACKOFF_H

#include "grammar/grammar.h"

/* Numbers of items under each key: items first[key] .. first[key + 1] - 1. */
typedef struct phl_grouped {
    size_t *first;
    uint32_t *item;
} phl_grouped;

/* Of own estimate and pool. */
typedef struct phl_both {
    double of[2];
} phl_both;

typedef struct phl_backoff {
    bool pair;
    uint32_t labels;
    const uint32_t *sizes;  /* borrowed, as are the rules: those that occurred */
    const phl_rules *rules; /* contexts are (p, l), firsts are (p, x) */
    size_t *state;          /* [labels + 2] where the states of a label begin; the last: all */
    uint32_t most;          /* annotations of a symbol */

    phl_grouped by_parent, by_left; /* contexts: those with a label to the left; above */
    size_t *place_by_parent;        /* [contexts] sum of the blocks before it in that order */
    size_t *place_by_left;
    size_t *end_by_parent,
        *end_by_left;       /* [symbols + 1] where those of a key begin; the last: all */
    phl_grouped firsts;     /* pairs (p, x) of each p, x a label */
    size_t *place_of_first; /* [firsts] sum of the blocks before it under its p */
    size_t most_of_firsts;  /* blocks under one p */
    phl_grouped rules_of;   /* rules of each context */
    uint32_t *begin_of;     /* [symbols] context (p, BEGIN), or PHL_NO_TRIPLE */
    uint32_t *follower_of;  /* [firsts] context that x and its parent are for the next sibling */

    phl_rule_table *table; /* residuals of the rules */
    size_t *first_context; /* [contexts + 1] */
    phl_both *g;           /* of contexts [P][L] */
    size_t *first_pair;    /* [firsts + 1] */
    double *r_of_pair;     /* of pairs [P][a] */
    phl_both *p_of_pair;   /* [firsts] */
    phl_both *base;        /* [symbols] */
    double *r;             /* from first_state[x] on: r(a | x) */
    size_t *first_state;   /* [symbols + 1] */
    phl_both (*less)[2];   /* [symbols] */
    phl_both *g_plain;     /* [symbols] of contexts that did not occur, */
    phl_both *g_empty;     /* [symbols] after an empty slot */
} phl_backoff;

phl_status phl_backoff_create(const phl_grammar *grammar, size_t part, phl_backoff **backoff,
                              phl_error *error);
void phl_backoff_free(phl_backoff *backoff);

/* Is it a label, the unseen one included? */
static inline bool phl_backoff_is_label(const phl_backoff *backoff, uint32_t symbol)
{
    return symbol <= backoff->labels;
}

/* What the next sibling sees of a parent. */
static inline uint32_t phl_backoff_seen(const phl_backoff *backoff, uint32_t parent)
{
    return backoff->pair ? parent : phl_rules_symbol(backoff->labels, PHL_SYMBOL_ANY);
}

/* Number of a context, or PHL_NO_TRIPLE. */
static inline uint32_t phl_backoff_context(const phl_backoff *backoff, uint32_t parent,
                                           uint32_t left)
{
    return phl_triples_find(&backoff->rules->contexts, (phl_triple){parent, left, 0});
}

/* p_i(x | p), and r(a | x, P) as [P][a], or [a] for all P (then *rows is 0). */
phl_both phl_backoff_pair(const phl_backoff *backoff, uint32_t parent, uint32_t symbol,
                          const double **r, size_t *rows);

/* A state. */
typedef struct phl_grammar_state {
    uint32_t symbol, annotation;
} phl_grammar_state;

/* P(state of x | parent, left) for the states of one symbol. */
void phl_backoff_symbol(const phl_backoff *backoff, phl_grammar_state parent,
                        phl_grammar_state left, uint32_t symbol, double *out);

/* The same for all labels [states], one after the other. */
void phl_backoff_labels(const phl_backoff *backoff, phl_grammar_state parent,
                        phl_grammar_state left, double *out);

#endif
