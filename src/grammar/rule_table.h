/* rule_table.h - probabilities of rules between annotated symbols, from counts.
 *
 * P(x, a | parent's state, left's state) = p(x | ...) r(a | x, ...), each smoothed by what is known
 * of less: docs/maths.md has the hierarchy.  With a pool, the counts of all classes together, each
 * level is smoothed by that level of the pool, too.  Everything sums to 1 over all symbols, those
 * that never occurred included.
 */
#ifndef PHL_GRAMMAR_RULE_TABLE_H
#define PHL_GRAMMAR_RULE_TABLE_H

#include "grammar/rule_counts.h"

typedef struct phl_smoothing {
    double label;      /* strength of what is known of less, for labels given labels; > 0 */
    double state;      /* for labels given states */
    double annotation; /* for annotations */
    double share;      /* s: weight of the pool, 0 to 1 */
} phl_smoothing;

typedef struct phl_rule_table {
    const phl_rules *rules; /* borrowed, as are the sizes */
    const uint32_t *sizes;
    phl_blocks blocks;
    double *p; /* of blocks, as the counts have them; PHL_LANES behind them */
} phl_rule_table;

/* Of these rules, zero.  The sizes are those of the counts it will be filled from. */
phl_status phl_rule_table_create(const phl_rules *rules, const uint32_t *sizes,
                                 phl_rule_table **table, phl_error *error);
void phl_rule_table_free(phl_rule_table *table);

/* From counts, of other rules perhaps, whose sums are there; pool NULL: none. */
phl_status phl_rule_table_fill(phl_rule_table *table, const phl_rule_counts *counts,
                               const phl_rule_counts *pool, const phl_smoothing *smoothing,
                               phl_error *error);

#endif
