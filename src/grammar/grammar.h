/* grammar.h - a tree grammar with latent annotations: one start of the learner, for all classes.
 *
 * A grammar is the expected counts that learning ended with, class by class, and how they are
 * smoothed; probabilities follow from these.
 */
#ifndef PHL_GRAMMAR_GRAMMAR_H
#define PHL_GRAMMAR_GRAMMAR_H

#include "grammar/inside.h"

/* What one class has of its own. */
typedef struct phl_grammar_class {
    phl_rules rules;
    phl_rule_counts *counts; /* of these rules */
    double log_likelihood;   /* of its training trees */
} phl_grammar_class;

typedef struct phl_grammar {
    bool pair; /* form: rules see parent and left sibling together */
    uint32_t labels;
    uint32_t *sizes; /* [labels + PHL_SYMBOLS] annotations of each symbol */
    phl_smoothing smoothing;
    size_t n_classes;
    phl_grammar_class *classes;
    phl_rules pool_rules;  /* of all classes, */
    phl_rule_counts *pool; /* and their counts; NULL: one class, or nothing is shared */
} phl_grammar;

/* Without rules; one annotation a symbol. */
phl_status phl_grammar_create(bool pair, uint32_t labels, size_t n_classes, phl_grammar **grammar,
                              phl_error *error);
void phl_grammar_free(phl_grammar *grammar);

/* The counts of all classes are there: sum them, and make the pool. */
phl_status phl_grammar_complete(phl_grammar *grammar, phl_error *error);

/* Probabilities of these rules in a class; the table was made with the grammar's sizes. */
phl_status phl_grammar_fill(const phl_grammar *grammar, size_t class_index, phl_rule_table *table,
                            phl_error *error);

/* log p of every tree of the lists (made with the grammar's form and labels) under a class. */
phl_status phl_grammar_score(const phl_grammar *grammar, size_t class_index,
                             const phl_lists *lists, double *log_likelihood, phl_error *error);

#endif
