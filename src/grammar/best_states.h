/* best_states.h - the annotations of a tree's nodes that are most probable together.
 *
 * All labels are known: the lists have rules of one symbol each (phl_lists_create).
 */
#ifndef PHL_GRAMMAR_BEST_STATES_H
#define PHL_GRAMMAR_BEST_STATES_H

#include "grammar/grammar.h"

typedef struct phl_best_states {
    const phl_lists *lists; /* borrowed */
    phl_rule_table *table;
    size_t *first; /* [n + 1] */
    double *value; /* log p of each list at its best, [parent's annotations][left's] */
    struct phl_best_waiting *stack;
    size_t capacity;
} phl_best_states;

phl_status phl_best_states_create(const phl_grammar *grammar, size_t part, const phl_lists *lists,
                                  phl_best_states **best, phl_error *error);
void phl_best_states_free(phl_best_states *best);

/* Annotations [n] in pre-order (the first of equals), and their log-probability with the labels and
 * the shape. */
phl_status phl_best_states_find(phl_best_states *best, size_t tree, uint32_t *annotations,
                                double *log_p, phl_error *error);

#endif
