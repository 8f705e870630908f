/* grammar.h - a tree grammar with latent annotations: what one start of the learner found.
 *
 * A grammar is one part a class, expected counts, and how these are smoothed; probabilities follow
 * from them.
 */
#ifndef PHL_GRAMMAR_GRAMMAR_H
#define PHL_GRAMMAR_GRAMMAR_H

#include "grammar/grammar_part.h"
#include "grammar/inside.h"

typedef struct phl_grammar {
    bool pair; /* form: rules see parent and left sibling together */
    uint32_t labels;
    const uint32_t *sizes; /* the first part's */
    phl_smoothing smoothing;
    size_t n_parts;
    const phl_grammar_part **parts; /* borrowed; their sums are there */
    phl_rules pool_rules;           /* of all parts, */
    phl_rule_counts *pool;          /* and their counts; NULL: one part, or nothing is shared */
} phl_grammar;

/* Of parts that belong together, whose counts are there; PHL_ERR_ARGUMENT when they do not. */
phl_status phl_grammar_create(phl_grammar_part *const *parts, size_t n, phl_grammar **grammar,
                              phl_error *error);
void phl_grammar_free(phl_grammar *grammar);

/* Counts of the parts, or how much is shared, have changed. */
phl_status phl_grammar_renew(phl_grammar *grammar, phl_error *error);

/* Probabilities of rules in a part; the table was made with the grammar's sizes. */
phl_status phl_grammar_fill(const phl_grammar *grammar, size_t part, phl_rule_table *table,
                            phl_error *error);

/* A table of the rules of lists, and the values of the lists: to be released with
 * phl_inside_free, then phl_rule_table_free. */
phl_status phl_grammar_infer(const phl_grammar *grammar, size_t part, const phl_lists *lists,
                             phl_rule_table **table, phl_inside **inside, phl_error *error);

/* log p of every tree of lists (of the grammar's form and labels) under a part. */
phl_status phl_grammar_score(const phl_grammar *grammar, size_t part, const phl_lists *lists,
                             double *log_likelihood, phl_error *error);

#endif
