/* dictionary.h - the features that a classifier knows, exactly, and their numbers.
 *
 * A feature is a small piece of a tree (PHL_FEATURE_... in phloem.h): a complete subtree, or a
 * short sequence of symbols, that is labels and what stands beside them: the border of a tree or of
 * a row of children, a gap of empty slots, an unknown label.  Features are compared in full, never
 * by their hashes alone.  Those of a group have consecutive numbers, groups come in their order.
 */
#ifndef PHL_HEAD_DICTIONARY_H
#define PHL_HEAD_DICTIONARY_H

#include "base/text.h"
#include "forest/forest.h"

enum {
    PHL_SYMBOL_BORDER, /* above the root, and on both sides of the children of a node */
    PHL_SYMBOL_GAP,    /* one or more empty slots between children, or before the first */
    PHL_SYMBOL_UNKNOWN,
    PHL_SYMBOL_FIRST_LABEL
};
#define PHL_NO_FEATURE UINT32_MAX /* and a symbol that no feature has */

/* Numbers of the groups, the bits of phl_feature_set. */
enum { PHL_GROUP_S, PHL_GROUP_B, PHL_GROUP_BG, PHL_GROUP_L, PHL_GROUP_P1, PHL_FEATURE_GROUPS };

/* Complete subtrees: label and (slot, child), whatever slot they sit in themselves. */
typedef struct phl_dictionary_subtrees {
    size_t n, capacity;
    uint32_t *symbol;     /* [n] */
    uint64_t *first_link; /* [n + 1] */
    size_t first_capacity;
    phl_link *links; /* ascending slots; children come before their parents */
    size_t link_capacity;
    phl_hash_table table;
} phl_dictionary_subtrees;

/* Sequences of symbols, all of one length. */
typedef struct phl_dictionary_sequences {
    size_t length;
    size_t n, capacity;
    uint32_t *symbols; /* [n][length] */
    phl_hash_table table;
} phl_dictionary_sequences;

typedef struct phl_dictionary {
    phl_alphabet labels;
    phl_dictionary_subtrees subtrees;
    phl_dictionary_sequences sequences[PHL_FEATURE_GROUPS]; /* that of PHL_GROUP_S is empty */
} phl_dictionary;

/* An empty dictionary over a copy of the labels; clear in any case. */
phl_status phl_dictionary_init(phl_dictionary *dictionary, const phl_alphabet *labels,
                               phl_error *error);
void phl_dictionary_clear(phl_dictionary *dictionary);

/* Features of a group, and of all groups before it: the number of its first one.  With
 * PHL_FEATURE_GROUPS, of all. */
size_t phl_dictionary_count(const phl_dictionary *dictionary, int group);
size_t phl_dictionary_first(const phl_dictionary *dictionary, int group);
/* The group that a feature belongs to. */
int phl_dictionary_group(const phl_dictionary *dictionary, size_t feature);

/* Number within its group of a complete subtree or a sequence; PHL_NO_FEATURE: not there.  A child
 * or symbol that is PHL_NO_FEATURE is in no feature. */
uint32_t phl_dictionary_find_subtree(const phl_dictionary *dictionary, uint32_t symbol,
                                     const phl_link *links, size_t n_links);
uint32_t phl_dictionary_find_sequence(const phl_dictionary *dictionary, int group,
                                      const uint32_t *symbols);
/* The same, added if it is new. */
phl_status phl_dictionary_add_subtree(phl_dictionary *dictionary, uint32_t symbol,
                                      const phl_link *links, size_t n_links, uint32_t *number,
                                      phl_error *error);
phl_status phl_dictionary_add_sequence(phl_dictionary *dictionary, int group,
                                       const uint32_t *symbols, uint32_t *number, phl_error *error);

/* The features that `keep` [all] marks, in the same order, as a dictionary of their own.  With a
 * complete subtree all that are part of it must be kept. */
phl_status phl_dictionary_select(const phl_dictionary *dictionary, const bool *keep,
                                 phl_dictionary *selected, phl_error *error);

/* A feature as a tree in brackets, appended to a text: borders are ^ above a tree, < before and >
 * behind children, a gap is _, an unknown label ?; labels that look like these are quoted.  At most
 * `most` nodes are written out, then "..." stands for what is left. */
phl_status phl_dictionary_text(const phl_dictionary *dictionary, size_t feature, size_t most,
                               phl_text *text, phl_error *error);

#endif
