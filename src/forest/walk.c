/* walk.c - walking a tree node by node, in pre-order. */
#include "base/memory.h"
#include "forest/forest.h"

/* An internal node whose children are being visited. */
struct step {
    uint64_t next_link, end_link;
    size_t node;        /* number in pre-order */
    uint32_t next_slot; /* after the child visited last */
};

struct phl_walk {
    const phl_forest *forest;
    struct step *steps; /* from the root to the node visited last */
    size_t depth, capacity;
    size_t next_node;
    uint32_t root;
    bool fresh; /* the root was not visited yet */
};

phl_status phl_walk_create(const phl_forest *forest, phl_walk **walk, phl_error *error)
{
    phl_walk *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->forest = forest;
    *walk = made;
    return PHL_OK;
}

void phl_walk_free(phl_walk *walk)
{
    if (walk != NULL) {
        phl_free(walk->steps);
        phl_free(walk);
    }
}

void phl_walk_start(phl_walk *walk, size_t tree)
{
    walk->root = walk->forest->tree_root[tree];
    walk->depth = 0;
    walk->next_node = 0;
    walk->fresh = true;
}

int phl_walk_next(phl_walk *walk, phl_visit *visit, phl_error *error)
{
    const phl_forest *forest = walk->forest;
    if (walk->fresh) {
        walk->fresh = false;
        visit->parent = SIZE_MAX;
        visit->slot = 1;
        visit->gap = 0;
        visit->subtree = walk->root;
    } else {
        while (walk->depth > 0 &&
               walk->steps[walk->depth - 1].next_link == walk->steps[walk->depth - 1].end_link) {
            walk->depth--;
        }
        if (walk->depth == 0) {
            return 0;
        }
        struct step *step = &walk->steps[walk->depth - 1];
        const phl_link *link = &forest->links[step->next_link++];
        visit->parent = step->node;
        visit->slot = link->slot;
        visit->gap = link->slot - step->next_slot;
        step->next_slot = link->slot + 1;
        visit->subtree = link->child;
    }
    visit->depth = walk->depth;
    visit->node = walk->next_node++;
    visit->label = forest->label[visit->subtree];
    visit->leaf = forest->leaf_slot[visit->subtree] != 0;
    if (!visit->leaf) {
        phl_status status =
            phl_grow(&walk->steps, &walk->capacity, walk->depth + 1, sizeof *walk->steps, error);
        if (status != PHL_OK) {
            return status;
        }
        struct step *step = &walk->steps[walk->depth++];
        step->next_link = forest->first_link[visit->subtree];
        step->end_link = forest->first_link[visit->subtree + 1];
        step->node = visit->node;
        step->next_slot = 1;
    }
    return 1;
}
