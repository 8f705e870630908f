/* neighbourhood.c - what can be seen around a node of a tree; see neighbourhood.h. */
#include "expert/neighbourhood.h"

#include "base/memory.h"

#define NONE PHL_NEAR_UNKNOWN

void phl_neighbourhood_start(phl_neighbourhood *tree, size_t n_labels)
{
    tree->n = 0;
    tree->border = (uint32_t)n_labels + 1;
}

void phl_neighbourhood_clear(phl_neighbourhood *tree)
{
    phl_free(tree->nodes);
    *tree = (phl_neighbourhood){0};
}

phl_status phl_neighbourhood_add(phl_neighbourhood *tree, size_t parent, uint32_t symbol,
                                 phl_error *error)
{
    if (tree->n >= NONE) {
        return phl_raise(error, PHL_ERR_LIMIT, NULL, "a tree of more than %u nodes", NONE);
    }
    phl_status status =
        phl_grow(&tree->nodes, &tree->capacity, tree->n + 1, sizeof *tree->nodes, error);
    if (status != PHL_OK) {
        return status;
    }
    uint32_t node = (uint32_t)tree->n++;
    struct phl_near_node *made = &tree->nodes[node];
    *made = (struct phl_near_node){.symbol = symbol,
                                   .parent = parent == SIZE_MAX ? NONE : (uint32_t)parent,
                                   .left = NONE,
                                   .right = NONE,
                                   .first = NONE,
                                   .last = NONE};
    if (parent != SIZE_MAX) {
        struct phl_near_node *above = &tree->nodes[parent];
        made->left = above->last;
        if (above->last != NONE) {
            tree->nodes[above->last].right = node;
        } else {
            above->first = node;
        }
        above->last = node;
        above->children++;
    }
    return PHL_OK;
}

static uint32_t symbol_of(const phl_neighbourhood *tree, uint32_t node)
{
    return node == NONE ? tree->border : tree->nodes[node].symbol;
}

static uint32_t beside(const phl_neighbourhood *tree, uint32_t node, bool left)
{
    return node == NONE ? NONE : left ? tree->nodes[node].left : tree->nodes[node].right;
}

void phl_neighbourhood_of(const phl_neighbourhood *tree, size_t node,
                          uint32_t near[PHL_NEAR_PLACES])
{
    const struct phl_near_node *own = &tree->nodes[node];
    uint32_t up = own->parent, above = up == NONE ? NONE : tree->nodes[up].parent;
    uint32_t siblings = up == NONE ? 1 : tree->nodes[up].children;
    near[PHL_NEAR_CHILDREN] = own->children < PHL_NEAR_MOST ? own->children : PHL_NEAR_MOST;
    near[PHL_NEAR_PARENT] = symbol_of(tree, up);
    near[PHL_NEAR_GRANDPARENT] = symbol_of(tree, above);
    near[PHL_NEAR_LEFT] = symbol_of(tree, own->left);
    near[PHL_NEAR_RIGHT] = symbol_of(tree, own->right);
    near[PHL_NEAR_FIRST] = symbol_of(tree, own->first);
    near[PHL_NEAR_LAST] = symbol_of(tree, own->last);
    near[PHL_NEAR_LEFT_2] = symbol_of(tree, beside(tree, own->left, true));
    near[PHL_NEAR_RIGHT_2] = symbol_of(tree, beside(tree, own->right, false));
    near[PHL_NEAR_PARENT_LEFT] = symbol_of(tree, beside(tree, up, true));
    near[PHL_NEAR_PARENT_RIGHT] = symbol_of(tree, beside(tree, up, false));
    near[PHL_NEAR_SIBLINGS] = siblings < PHL_NEAR_MOST ? siblings : PHL_NEAR_MOST;
}
