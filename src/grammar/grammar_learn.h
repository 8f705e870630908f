/* grammar_learn.h - learning a tree grammar: expectation-maximisation with splits and merges.
 *
 * Every tenth tree of each class is held out.  Where there are many different subtrees, every k-th
 * tree is looked at until the last steps.  Annotations are split in stages; in each, EM runs on
 * the trees of all classes together, then on each class; how much is smoothed and shared is chosen,
 * and so is the stage, by the held-out trees: by the class posterior at its best temperature where
 * there are classes, by the likelihood where there is one model.  The chosen grammar then takes
 * some steps on all trees.
 */
#ifndef PHL_GRAMMAR_GRAMMAR_LEARN_H
#define PHL_GRAMMAR_GRAMMAR_LEARN_H

#include "grammar/grammar.h"

/* Where learning is. */
typedef struct phl_learn_step {
    size_t step, steps;     /* done, and about how many there will be */
    double log_likelihood;  /* of the training trees that are not held out, pooled tables */
    double held_out;        /* figure of the stage, a tree (see above); NaN: not known yet */
    uint32_t stage;         /* splits so far */
    size_t states;          /* annotations of all labels together */
    bool ends_stage;        /* the stage is judged: held_out is its figure; no iteration of EM */
    const double *by_class; /* [classes] log_likelihood, of the trees of each class */
} phl_learn_step;

typedef struct phl_learn_options {
    bool pair; /* form */
    uint64_t seed, stream;
    uint32_t most;     /* annotations of a label */
    size_t iterations; /* of EM in a stage */
    int threads;
    size_t most_links;     /* of different subtrees that stages look at, about; 0: 300,000 */
    uint64_t memory_limit; /* bytes a start may take; a split beyond it is left out.  0: any */
    /* After every step; false: stop. */
    bool (*watch)(const phl_learn_step *step, void *context);
    void *context;
} phl_learn_options;

typedef struct phl_learn_data {
    const phl_forest *forest;
    const uint32_t *symbol_of; /* [labels of the forest] */
    uint32_t labels;           /* M */
    const int32_t *class_of;   /* [trees] 0 .. n_classes - 1; NULL: one model */
    size_t n_classes;
} phl_learn_data;

/* One part a class, released with phl_grammar_part_free and phl_free: *parts is untouched when the
 * watch said stop, and the status PHL_ERR_CANCELLED. */
phl_status phl_grammar_learn(const phl_learn_data *data, const phl_learn_options *options,
                             phl_grammar_part ***parts, phl_error *error);

/* k, above: 1 where all trees are looked at. */
size_t phl_grammar_learn_stride(const phl_forest *forest, size_t most_links);

/* Is this tree held out, being number `place` of its class? */
static inline bool phl_grammar_learn_holds(size_t stride, size_t place)
{
    return place % stride == 0 && place / stride % 10 == 9;
}

#endif
