/* binding.h - what the Python package does in C beside phloem.h: loops over nodes, and stopping.
 *
 * declare.py reads this header as it reads phloem.h.
 */
#ifndef PHLOEM_BINDING_H
#define PHLOEM_BINDING_H

#include <phloem.h>

/* What the callbacks of one call are given: Python's object, and whether to stop. */
typedef struct phlpy_context {
    int stop; /* set from any thread */
    void *handle;
} phlpy_context;

/* A phl_cancel_fn.  It does without Python, so that threads need not wait for its lock. */
bool phlpy_cancel(void *context);
void phlpy_stop(phlpy_context *context);

#define PHLPY_EMPTY (-2)

/* Add trees that are given level by level: the roots of all of them, then all nodes below those,
 * and so on; below a node, its slots one after the other.  codes [n]: the number of a label in
 * `names`, PHL_UNKNOWN, or PHLPY_EMPTY for an empty slot; counts [n]: slots of the node.  infos
 * [n_trees] may be NULL. */
phl_status phlpy_build(phl_builder *builder, const char *const *names, const int32_t *codes,
                       const uint32_t *counts, size_t n, const phl_tree_info *infos, size_t n_trees,
                       phl_error *error);

/* The same from Python's objects, where they are plain: `trees` is a list of nodes, and a node is a
 * str (a leaf), a tuple or list (label, child, ...), or of the type `labelled`, a list with an
 * attribute _label (NULL: none are).  None is an empty slot or an unknown label.  False: something
 * else was met, or nodes lie deeper than cycles of objects may be mistaken for; the builder is then
 * of no use. */
phl_status phlpy_build_plain(phl_builder *builder, void *trees, void *labelled,
                             const phl_tree_info *infos, bool *plain, phl_error *error);

/* The trees listed as a forest of their own, as if they had been read from a file in that order:
 * labels and classes that do not occur are gone.  NULL for classes [n] or weights [n]: those of the
 * forest; a class that is NULL: none. */
phl_status phlpy_copy(const phl_forest *forest, const size_t *trees, size_t n,
                      const char *const *classes, const double *weights, phl_forest **copy,
                      phl_error *error);

/* The nodes of a tree in pre-order: parent (-1 at the root), slot, distinct subtree.  Each [n]. */
phl_status phlpy_nodes(const phl_forest *forest, size_t tree, size_t n, int64_t *parent,
                       uint32_t *slot, uint32_t *subtree, phl_error *error);

/* nodes [subtrees]: of each distinct subtree, itself included. */
void phlpy_sizes(const phl_forest *forest, uint64_t *nodes);

#endif
