/* features.h - a frozen dictionary of features and the groups it was made for (phloem.h). */
#ifndef PHL_HEAD_FEATURES_H
#define PHL_HEAD_FEATURES_H

#include "head/feature_index.h"

struct phl_features {
    unsigned groups; /* bits of phl_feature_set */
    phl_dictionary dictionary;
};

/* Distinct trees of a forest: those with equal complete subtrees, whatever their classes. */
typedef struct phl_distinct_trees {
    size_t n;
    size_t *tree;    /* [n] the first of each, ascending */
    size_t *of_tree; /* [trees] which of them a tree is */
} phl_distinct_trees;

void phl_features_clear_distinct(phl_distinct_trees *distinct);

/* Which trees are distinct, without their features.  Clear in any case. */
phl_status phl_features_distinct(const phl_forest *forest, phl_distinct_trees *distinct,
                                 phl_error *error);

/* phl_features_create, and which trees are distinct, unless NULL. */
phl_status phl_features_learn(const phl_forest *forest, const phl_features_options *options,
                              phl_distinct_trees *distinct, phl_features **features,
                              phl_error *error);

#endif
