/* inside.h - inference: the probability of every list, and expected counts of rules.
 *
 * The value of a list is a matrix [states of the parent][states of the left sibling]: the
 * probability of the list and everything below it given these.  It is scaled so that its largest
 * number is 1; the logarithm of the scale, that of everything below included, is beside it.
 */
#ifndef PHL_GRAMMAR_INSIDE_H
#define PHL_GRAMMAR_INSIDE_H

#include "grammar/lists.h"
#include "grammar/rule_table.h"

typedef struct phl_inside {
    const phl_lists *lists;      /* borrowed */
    const phl_rule_table *table; /* of the rules of the lists; borrowed */
    size_t *hidden_state;        /* [M + 2] where a hidden label's states begin; the last: all */
    uint32_t most;               /* annotations of a symbol */
    size_t *first;               /* [n + 1] where each value begins */
    double *value;
    double *log_scale;      /* [n] -inf: probability 0 */
    double *norm;           /* [n] what its own value was divided by */
    double *room, *outside; /* work space; outside: made when counts are first asked for */
} phl_inside;

/* The table may be filled anew between runs, of the same sizes. */
phl_status phl_inside_create(const phl_lists *lists, const phl_rule_table *table,
                             phl_inside **inside, phl_error *error);
void phl_inside_free(phl_inside *inside);

/* Values of all lists. */
void phl_inside_run(phl_inside *inside);

/* log p of a tree. */
double phl_inside_tree(const phl_inside *inside, size_t tree);

/* States of a symbol, hidden or not. */
size_t phl_inside_states(const phl_inside *inside, uint32_t symbol);

/* Expected counts of all rules, given weights of roots [lists], are added to n (as the blocks of
 * the table lie, with room for PHL_LANES behind them). */
phl_status phl_inside_count(phl_inside *inside, const double *root_weight, double *n,
                            phl_error *error);

/* The sum of log p over roots, after phl_inside_run. */
double phl_inside_total(const phl_inside *inside, const double *root_weight);

#endif
