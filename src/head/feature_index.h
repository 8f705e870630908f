/* feature_index.h - where the features of a dictionary stand in a forest, and how often in a tree.
 *
 * Every distinct subtree and link is looked up once.  A tree is then counted at the cost of the
 * distinct subtrees and links that are part of it, however often they occur there.
 */
#ifndef PHL_HEAD_FEATURE_INDEX_H
#define PHL_HEAD_FEATURE_INDEX_H

#include "head/dictionary.h"

/* Lists of numbers, one behind the other. */
typedef struct phl_feature_lists {
    size_t n, first_capacity;
    uint64_t *first; /* [n + 1] */
    uint32_t *numbers;
    size_t capacity;
} phl_feature_lists;

/* Numbers are those within a group; PHL_NO_FEATURE where the dictionary has none such. */
typedef struct phl_feature_index {
    const phl_forest *forest;         /* borrowed, */
    const phl_dictionary *dictionary; /* and so is this */
    unsigned groups;                  /* bits of phl_feature_set; the others are left out */
    uint32_t *subtree;                /* [subtrees] as a complete subtree */
    uint32_t *label;                  /* [subtrees] its label */
    uint32_t *edge;                   /* [links] labels of child and parent */
    phl_feature_lists pairs;          /* [subtrees] neighbours among its children */
    uint32_t *under; /* [links] which of the lists below: child under this label; none for a leaf */
    phl_feature_lists grand; /* neighbours with two labels above them */
    uint32_t *root_edge;     /* [trees] as edge and under, for the root */
    uint32_t *root_under;
} phl_feature_index;

/* Look up everything in a dictionary.  Free in any case. */
phl_status phl_feature_index_init(phl_feature_index *index, const phl_forest *forest,
                                  const phl_dictionary *dictionary, unsigned groups,
                                  phl_error *error);
/* The same, with everything new added to the dictionary, whose labels are the forest's.  Complete
 * subtrees are added whether or not they are in `groups`: they tell which trees are equal. */
phl_status phl_feature_index_learn(phl_feature_index *index, const phl_forest *forest,
                                   phl_dictionary *dictionary, unsigned groups, phl_error *error);
void phl_feature_index_clear(phl_feature_index *index);

/* The features of one tree. */
typedef struct phl_feature_row {
    size_t n;
    const uint32_t *feature;            /* [n] ascending numbers in the dictionary */
    const uint64_t *count;              /* [n] occurrences */
    uint64_t total[PHL_FEATURE_GROUPS]; /* occurrences of all features of a group, those that the
                                           dictionary does not have too; 0: left out, or none */
} phl_feature_row;

/* Given the features of trees[item], in any order and from several threads at once; what belongs to
 * a chunk (of items in a row) or a worker is one thread's alone. */
typedef phl_status (*phl_feature_row_fn)(size_t item, const phl_feature_row *row, size_t chunk,
                                         int worker, void *context, phl_error *error);

enum { PHL_FEATURE_CHUNK = 256 }; /* items of a chunk */

phl_status phl_feature_index_count(const phl_feature_index *index, const size_t *trees, size_t n,
                                   int threads, phl_feature_row_fn take, void *context,
                                   phl_cancel_fn cancel, void *cancel_context, phl_error *error);

/* The value of a feature: the square root of its share of the group, so that the squares of all
 * features of a group, known or not, add up to 1; divided by the root of the number of groups that
 * the tree has features of, so that those of all groups do. */
double phl_feature_index_value(const phl_feature_row *row, int group, uint64_t count,
                               unsigned groups);

#endif
