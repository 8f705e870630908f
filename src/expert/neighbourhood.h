/* neighbourhood.h - what can be seen around a node of a tree: the labels beside it, above and below
 * it, and how many there are.
 */
#ifndef PHL_EXPERT_NEIGHBOURHOOD_H
#define PHL_EXPERT_NEIGHBOURHOOD_H

#include "base/error.h"

/* Places around a node.  Sides are those of the row of children, whatever slots are empty between
 * them. */
enum {
    PHL_NEAR_CHILDREN, /* how many children: 0 to PHL_NEAR_MOST */
    PHL_NEAR_PARENT,
    PHL_NEAR_GRANDPARENT,
    PHL_NEAR_LEFT,
    PHL_NEAR_RIGHT,
    PHL_NEAR_FIRST, /* child */
    PHL_NEAR_LAST,
    PHL_NEAR_LEFT_2, /* the second to the left */
    PHL_NEAR_RIGHT_2,
    PHL_NEAR_PARENT_LEFT, /* left of the parent */
    PHL_NEAR_PARENT_RIGHT,
    PHL_NEAR_SIBLINGS, /* how many children the parent has: 1 to PHL_NEAR_MOST */
    PHL_NEAR_PLACES
};
#define PHL_NEAR_MOST 6 /* and more */

/* A symbol is the number of a label below M, or M (a label never seen in training), or M + 1 (there
 * is nothing: the border of the tree), or unknown. */
#define PHL_NEAR_UNKNOWN UINT32_MAX

/* The nodes of one tree in pre-order.  Zero-initialised is empty. */
typedef struct phl_neighbourhood {
    uint32_t border; /* M + 1 */
    size_t n, capacity;
    struct phl_near_node {
        uint32_t symbol;
        uint32_t children;
        uint32_t parent, left, right, first, last; /* nodes; PHL_NEAR_UNKNOWN: none */
    } * nodes;
} phl_neighbourhood;

void phl_neighbourhood_start(phl_neighbourhood *tree, size_t n_labels);
/* The next node; parent: SIZE_MAX at the root. */
phl_status phl_neighbourhood_add(phl_neighbourhood *tree, size_t parent, uint32_t symbol,
                                 phl_error *error);
void phl_neighbourhood_clear(phl_neighbourhood *tree);

/* What is seen around a node, once all were added. */
void phl_neighbourhood_of(const phl_neighbourhood *tree, size_t node,
                          uint32_t near[PHL_NEAR_PLACES]);

#endif
