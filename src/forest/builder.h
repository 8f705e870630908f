/* builder.h - hash-consing: trees in, distinct subtrees out.
 *
 * The internal face of phl_builder, for readers and generators: labels are numbers, and the calls
 * on the hot path are few.  A tree is opened and closed node by node; the links of all open nodes
 * lie on one stack, so closing a node finds its children contiguous on top of it.
 */
#ifndef PHL_FOREST_BUILDER_H
#define PHL_FOREST_BUILDER_H

#include "forest/forest.h"

/* A node that is open. */
typedef struct phl_frame {
    size_t first_pending; /* where its links begin on the stack of pending links */
    int32_t label;
    uint32_t slot;      /* its own slot in its parent */
    uint32_t next_slot; /* where the next child goes if the reader does not say */
    bool unsorted;      /* children came in descending slots somewhere */
} phl_frame;

typedef struct phl_node {
    uint64_t first_link;
    int32_t label;
    uint32_t leaf_slot; /* 0: internal */
    uint32_t n_links;
    uint32_t
        hash; /* upper half of the hash: cheap first comparison, and what a larger table needs */
} phl_node;

struct phl_builder {
    bool no_sharing;
    bool finished;
    uint64_t max_nodes, max_slot; /* caps; 0 = none */

    phl_alphabet labels, classes, files, ids;

    phl_node *nodes; /* distinct subtrees in order of creation: children before parents */
    size_t n_nodes, node_capacity;
    phl_link *links;
    size_t n_links, link_capacity;
    phl_hash_table table; /* of the nodes, when they are shared */

    phl_frame *frames;
    size_t depth, frame_capacity;
    phl_link *pending;
    size_t n_pending, pending_capacity;
    uint32_t double_slot; /* of two children, when closing a node failed over them */
    uint64_t tree_nodes;  /* nodes opened in the tree under construction */

    /* Trees; as in struct phl_forest. */
    size_t n_trees, root_capacity, class_capacity, file_capacity, line_capacity, weight_capacity,
        id_capacity;
    uint32_t *tree_root;
    int32_t *tree_class;
    uint32_t *tree_file;
    uint32_t *tree_line;
    double *tree_weight;
    int32_t *tree_id;

    /* What to go back to when the tree under construction is abandoned. */
    size_t mark_nodes, mark_links, mark_labels, mark_classes, mark_files, mark_ids;
};

/* Open a node.  slot 0: the next one after the last child opened (or skipped). */
phl_status phl_builder_open_label(phl_builder *builder, int32_t label, uint32_t slot,
                                  phl_error *error);
/* Open and close a leaf at one go. */
phl_status phl_builder_leaf(phl_builder *builder, int32_t label, uint32_t slot, phl_error *error);
/* Leave one slot of the innermost open node empty. */
phl_status phl_builder_skip_slot(phl_builder *builder, phl_error *error);
/* Number of a label, new or not. */
phl_status phl_builder_label(phl_builder *builder, const char *name, size_t length, int32_t *label,
                             phl_error *error);

/* Add a finished subtree whose children are subtrees of this builder already: the way forests are
 * copied.  leaf_slot 0: internal.  Links in ascending order of slots. */
phl_status phl_builder_intern(phl_builder *builder, int32_t label, uint32_t leaf_slot,
                              const phl_link *links, size_t n_links, uint32_t *subtree,
                              phl_error *error);

/* Names of a tree by number, each taken from the builder's own alphabet. */
typedef struct phl_tree_entry {
    uint32_t root;
    int32_t class_number; /* or PHL_NO_CLASS */
    int32_t id;           /* or -1 */
    int32_t file;         /* or -1 */
    uint64_t line;        /* or 0 */
    double weight;        /* finite and > 0 */
} phl_tree_entry;

/* Enter a tree whose root is a subtree of the builder; what was new in it is there to stay. */
phl_status phl_builder_enter_tree(phl_builder *builder, const phl_tree_entry *entry,
                                  phl_error *error);

/* Make everything so far permanent: what a later abandoned tree goes back to. */
void phl_builder_keep(phl_builder *builder);

/* The forest of all trees so far; the builder goes on with none, and keeps its room. */
phl_status phl_builder_take_forest(phl_builder *builder, phl_forest **forest, phl_error *error);

/* The root of the tree under construction once it is closed; PHL_ERR_ARGUMENT before that. */
phl_status phl_builder_take_root(phl_builder *builder, uint32_t *root, phl_error *error);

#endif
