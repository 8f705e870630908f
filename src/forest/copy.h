/* copy.h - trees of forests into another forest: as they are, without labels, or with others.
 *
 * Classes, weights, ids and sources of the trees go along.  Into a sharing builder distinct
 * subtrees are copied, each once; into one without sharing every tree is walked, so that each
 * occurrence becomes a subtree of its own.
 */
#ifndef PHL_FOREST_COPY_H
#define PHL_FOREST_COPY_H

#include "forest/builder.h"

/* Which names of labels and classes a copy knows. */
typedef enum phl_copy_names {
    PHL_COPY_ALL,   /* all of the forest's, used or not: forests cut from one keep its alphabet */
    PHL_COPY_USED,  /* those that occur in the trees, in the forest's order */
    PHL_COPY_SHAPES /* all, but every label becomes unknown */
} phl_copy_names;

/* A copy on its way.  Clear it in any case. */
typedef struct phl_copy {
    phl_builder *builder;
    const phl_forest *forest; /* trees are taken from */
    /* Numbers of its names in the builder; PHL_UNKNOWN: not there. */
    int32_t *labels, *classes, *files, *ids;
    phl_walk *walk; /* of the forest */
} phl_copy;

phl_status phl_copy_begin(phl_copy *copy, bool no_sharing, phl_error *error);

/* Append trees of a forest, all of them if `trees` is NULL. */
phl_status phl_copy_add(phl_copy *copy, const phl_forest *forest, const size_t *trees, size_t n,
                        phl_copy_names names, phl_error *error);

/* Begin a copy of trees of one forest with other labels, whose names are `names`; it shares as the
 * forest does. */
phl_status phl_copy_begin_relabelled(phl_copy *copy, const phl_forest *forest,
                                     const phl_alphabet *names, phl_error *error);
/* Append one tree, with labels as numbers in `names` or PHL_UNKNOWN, node by node in pre-order. */
phl_status phl_copy_add_relabelled(phl_copy *copy, size_t tree, const int32_t *labels,
                                   phl_error *error);

/* Begin a copy of all trees of one forest, with all its names, whose nodes the caller makes
 * (phl_builder_intern, with labels by phl_copy_label) and whose trees it enters by their roots. */
phl_status phl_copy_begin_nodes(phl_copy *copy, const phl_forest *forest, phl_error *error);
int32_t phl_copy_label(const phl_copy *copy, int32_t label);
phl_status phl_copy_enter(const phl_copy *copy, size_t tree, uint32_t root, phl_error *error);

phl_status phl_copy_finish(phl_copy *copy, phl_forest **forest, phl_error *error);
void phl_copy_clear(phl_copy *copy);

/* All of the above in one, for trees of one forest. */
phl_status phl_copy_trees(const phl_forest *forest, const size_t *trees, size_t n,
                          phl_copy_names names, phl_forest **made, phl_error *error);

#endif
