/* rule_counts.h - counts of rules between annotated symbols, and their sums.
 *
 * A state is a symbol and one of its annotations; symbols that are no labels have one.  A rule
 * (parent, left, symbol) is a block of counts [parent's annotations][left's][symbol's].
 */
#ifndef PHL_GRAMMAR_RULE_COUNTS_H
#define PHL_GRAMMAR_RULE_COUNTS_H

#include "grammar/rules.h"

/* Where the numbers of each rule lie. */
typedef struct phl_blocks {
    size_t *first; /* [rules + 1] */
} phl_blocks;

/* sizes: annotations of each symbol [M + PHL_SYMBOLS]. */
phl_status phl_rule_counts_place(const phl_rules *rules, const uint32_t *sizes, phl_blocks *blocks,
                                 phl_error *error);
void phl_rule_counts_unplace(phl_blocks *blocks);

typedef struct phl_rule_counts {
    const phl_rules *rules; /* borrowed, as are the sizes */
    const uint32_t *sizes;
    phl_blocks blocks;
    double *n;     /* of blocks, and room for PHL_LANES behind them */
    double unseen; /* what the unseen symbol counts beside that, whatever the context */

    /* Sums, once phl_rule_counts_sum was called.  Names: which symbols enter with their annotation,
     * P the parent, L the left sibling, X the symbol; lower case: with the label alone. */
    double total, nodes; /* of all symbols; of labels, the unseen one included */
    double *x, *X;       /* by symbol; X from first_state[symbol] on */
    double *p, *on;      /* by parent: of all symbols; of all but STOP */
    double *px;          /* by (parent, symbol) */
    double *plx, *Plx, *pLx, *PLx;
    double *pl, *Pl, *pL, *PL;
    double *PX, *Px, *LX, *Lx; /* by (parent, symbol), (left, symbol) */
    size_t *first_state;       /* [symbols + 1] */
    struct phl_rule_places {
        size_t P, L, PL; /* of Plx, pLx, PLx */
    } * of_rule, *of_context;
    struct phl_pair_places {
        size_t annotated, state; /* of PX or LX; of Px or Lx */
    } * of_first, *of_second;
} phl_rule_counts;

/* All zero. */
phl_status phl_rule_counts_create(const phl_rules *rules, const uint32_t *sizes,
                                  phl_rule_counts **counts, phl_error *error);
void phl_rule_counts_free(phl_rule_counts *counts);

/* Fill in the sums from n. */
void phl_rule_counts_sum(phl_rule_counts *counts);

#endif
