/* grammar_part.h - what one start of the learner found for one class: expected counts, and how they
 * are smoothed.  The parts of all classes are a grammar (grammar.h). */
#ifndef PHL_GRAMMAR_GRAMMAR_PART_H
#define PHL_GRAMMAR_GRAMMAR_PART_H

#include "grammar/rule_table.h"

/* Annotations of a label, at most: what a rule takes grows with their third power. */
enum { PHL_MOST_ANNOTATIONS = 64 };

/* Numbers that all parts of a grammar share, as they are stored. */
enum {
    PHL_PART_PAIR,       /* 1: rules see parent and left sibling together */
    PHL_PART_LABEL,      /* phl_smoothing */
    PHL_PART_STATE,      /* ... */
    PHL_PART_ANNOTATION, /* ... */
    PHL_PART_SHARE,      /* ... */
    PHL_PART_UNSEEN,     /* phl_rule_counts.unseen */
    PHL_PART_STAGE,      /* splits that were kept */
    PHL_PART_HELD_OUT,   /* figure of that stage on the trees held out, a tree */
    PHL_PART_BEFORE,     /* of the stage before; the same if there is none */
    PHL_PART_NUMBERS
};

typedef struct phl_grammar_part {
    uint32_t labels;
    double numbers[PHL_PART_NUMBERS];
    uint32_t *sizes; /* [labels + PHL_SYMBOLS] annotations of each symbol */
    phl_rules rules;
    phl_rule_counts *counts; /* of these rules and sizes; NULL: not made yet */
    double log_likelihood;   /* of the training trees of the class, held out or not */
    size_t n_held;
    double *held; /* [n_held] log p of every tree held out */
} phl_grammar_part;

/* One annotation a symbol, no rules. */
phl_status phl_grammar_part_create(uint32_t labels, phl_grammar_part **part, phl_error *error);
void phl_grammar_part_free(phl_grammar_part *part);

/* Is its form "pair" (rules see parent and left sibling together) or "single", as asked?  "all" and
 * NULL are both. */
bool phl_grammar_part_has_form(const phl_grammar_part *part, const char *form);

phl_smoothing phl_grammar_part_smoothing(const phl_grammar_part *part);

#endif
