/* grammars.h - a draw of a grammar, read from its tensors: what stands beside each annotation of a
 * label, and what comes most often below it.
 */
#ifndef PHLOEM_CLI_GRAMMARS_H
#define PHLOEM_CLI_GRAMMARS_H

#include "print/show.h"

/* Symbols behind the labels, as docs/run-file.md numbers them. */
enum { UNSEEN, EMPTY, STOP, BEGIN, ROOT, ANY, SPECIALS };

typedef struct grammar {
    const phl_run *run;
    const double *numbers;
    const int32_t *sizes;
    const int32_t (*rules)[3];
    size_t n_rules, labels;
    const double *counts;
    bool pair;     /* rules see parent and left sibling together */
    size_t *first; /* [n_rules] where the counts of each begin */
} grammar;

/* False: the draw is none of a grammar. */
bool grammar_open(grammar *g, const phl_run *run, const phl_draw *draw);
void grammar_close(grammar *g);
/* A symbol that is no label, for people. */
const char *grammar_special(const grammar *g, size_t symbol);
/* Nodes of each label, most frequent first [labels]; to be freed. */
weighted *grammar_rank_labels(const grammar *g);

/* What one annotation of a label stands beside. */
typedef struct neighbours {
    double count;
    weighted *parents, *lefts, *firsts, *nexts; /* [labels + SPECIALS] */
} neighbours;
neighbours grammar_neighbours(const grammar *g);
void grammar_neighbours_free(neighbours *found);
void grammar_count_neighbours(const grammar *g, int32_t label, int32_t a, neighbours *found);
/* Order a list by falling weight; its sum. */
double grammar_sort(const grammar *g, weighted *items);

/* A label, or another symbol, and its annotation. */
typedef struct state {
    int32_t symbol, annotation;
} state;
/* The children that a node most often has, one after the other, at most `most`; true: more follow.
 */
bool grammar_usual_children(const grammar *g, state parent, state *children, size_t most,
                            size_t *n);

#endif
