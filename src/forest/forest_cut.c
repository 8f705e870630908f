/* forest_cut.c - pieces of a forest that share its names; see forest_cut.h. */
#include "forest/forest_cut.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

phl_status phl_forest_cut_begin(phl_forest_cutter *cutter, const phl_forest *forest,
                                phl_error *error)
{
    memset(cutter, 0, sizeof *cutter);
    cutter->forest = forest;
    cutter->number = phl_alloc_zero(forest->n_subtrees, sizeof *cutter->number, error);
    return cutter->number == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

void phl_forest_cut_end(phl_forest_cutter *cutter)
{
    phl_free(cutter->number);
    phl_free(cutter->members);
    memset(cutter, 0, sizeof *cutter);
}

static phl_status add_member(phl_forest_cutter *cutter, uint32_t s, phl_error *error)
{
    if (cutter->number[s] != 0) {
        return PHL_OK;
    }
    phl_status status = phl_grow(&cutter->members, &cutter->member_capacity, cutter->n_members + 1,
                                 sizeof *cutter->members, error);
    if (status == PHL_OK) {
        cutter->members[cutter->n_members++] = s;
        cutter->number[s] = 1;
    }
    return status;
}

static int compare_members(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The subtrees below the trees, ascending, and their numbers in the piece. */
static phl_status find_members(phl_forest_cutter *cutter, const size_t *trees, size_t n,
                               phl_error *error)
{
    const phl_forest *forest = cutter->forest;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = add_member(cutter, forest->tree_root[trees[i]], error);
    }
    for (size_t at = 0; status == PHL_OK && at < cutter->n_members; at++) { /* grows meanwhile */
        const phl_link *links;
        size_t count = phl_subtree_links(forest, cutter->members[at], &links);
        for (size_t k = 0; status == PHL_OK && k < count; k++) {
            status = add_member(cutter, links[k].child, error);
        }
    }
    if (status == PHL_OK && cutter->n_members > 0) {
        qsort(cutter->members, cutter->n_members, sizeof *cutter->members, compare_members);
    }
    for (size_t i = 0; status == PHL_OK && i < cutter->n_members; i++) {
        cutter->number[cutter->members[i]] = (uint32_t)i + 1;
    }
    return status;
}

static void forget_members(phl_forest_cutter *cutter)
{
    for (size_t i = 0; i < cutter->n_members; i++) {
        cutter->number[cutter->members[i]] = 0;
    }
    cutter->n_members = 0;
}

static phl_status copy_subtrees(const phl_forest_cutter *cutter, phl_forest *piece,
                                phl_error *error)
{
    const phl_forest *forest = cutter->forest;
    size_t n = cutter->n_members, n_links = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t s = cutter->members[i];
        n_links += (size_t)(forest->first_link[s + 1] - forest->first_link[s]);
    }
    piece->n_subtrees = n;
    piece->n_links = n_links;
    piece->label = phl_alloc(n, sizeof *piece->label, error);
    piece->leaf_slot = phl_alloc(n, sizeof *piece->leaf_slot, error);
    piece->first_link = phl_alloc(n + 1, sizeof *piece->first_link, error);
    piece->links = phl_alloc(n_links, sizeof *piece->links, error);
    piece->multiplicity = phl_alloc_zero(n, sizeof *piece->multiplicity, error);
    if (piece->label == NULL || piece->leaf_slot == NULL || piece->first_link == NULL ||
        piece->links == NULL || piece->multiplicity == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t s = cutter->members[i];
        piece->label[i] = forest->label[s];
        piece->leaf_slot[i] = forest->leaf_slot[s];
        piece->first_link[i] = at;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            phl_link link = forest->links[k];
            piece->links[at++] = (phl_link){link.slot, cutter->number[link.child] - 1};
            piece->max_slot = link.slot > piece->max_slot ? link.slot : piece->max_slot;
        }
    }
    piece->first_link[n] = at;
    return PHL_OK;
}

/* Subtrees are in order of height, as in the forest: those of one height follow each other. */
static phl_status copy_levels(const phl_forest_cutter *cutter, phl_forest *piece, phl_error *error)
{
    const phl_forest *forest = cutter->forest;
    size_t n = cutter->n_members;
    piece->level = phl_alloc(forest->n_levels + 1, sizeof *piece->level, error);
    if (piece->level == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t height = 0; /* a subtree has one of every height below it: none is left out */
    for (size_t i = 0; i < n; i++) {
        while (cutter->members[i] >= forest->level[height + 1]) {
            height++;
        }
        if (height == piece->n_levels) {
            piece->level[piece->n_levels++] = (uint32_t)i;
        }
    }
    piece->level[piece->n_levels] = (uint32_t)n;
    phl_shrink(&piece->level, piece->n_levels + 1, sizeof *piece->level);
    return PHL_OK;
}

static phl_status copy_trees(const phl_forest_cutter *cutter, const size_t *trees, size_t n,
                             phl_forest *piece, phl_error *error)
{
    const phl_forest *forest = cutter->forest;
    bool weighted = false, named = false;
    for (size_t i = 0; i < n; i++) {
        weighted = weighted || phl_tree_weight(forest, trees[i]) != 1.0;
        named = named || (forest->tree_id != NULL && forest->tree_id[trees[i]] >= 0);
    }
    piece->n_trees = n;
    piece->tree_root = phl_alloc(n, sizeof *piece->tree_root, error);
    piece->tree_class = phl_alloc(n, sizeof *piece->tree_class, error);
    piece->tree_file = phl_alloc(n, sizeof *piece->tree_file, error);
    piece->tree_line = phl_alloc(n, sizeof *piece->tree_line, error);
    piece->tree_weight = weighted ? phl_alloc(n, sizeof *piece->tree_weight, error) : NULL;
    piece->tree_id = named ? phl_alloc(n, sizeof *piece->tree_id, error) : NULL;
    if (piece->tree_root == NULL || piece->tree_class == NULL || piece->tree_file == NULL ||
        piece->tree_line == NULL || (weighted && piece->tree_weight == NULL) ||
        (named && piece->tree_id == NULL)) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        size_t tree = trees[i];
        piece->tree_root[i] = cutter->number[forest->tree_root[tree]] - 1;
        piece->tree_class[i] = forest->tree_class[tree];
        piece->tree_file[i] = forest->tree_file[tree];
        piece->tree_line[i] = forest->tree_line[tree];
        if (weighted) {
            piece->tree_weight[i] = phl_tree_weight(forest, tree);
        }
        if (named) {
            piece->tree_id[i] = forest->tree_id[tree];
        }
        piece->multiplicity[piece->tree_root[i]]++;
    }
    for (size_t s = piece->n_subtrees; s-- > 0;) {
        for (uint64_t k = piece->first_link[s]; k < piece->first_link[s + 1]; k++) {
            piece->multiplicity[piece->links[k].child] += piece->multiplicity[s];
        }
    }
    return PHL_OK;
}

phl_status phl_forest_cut(phl_forest_cutter *cutter, const size_t *trees, size_t n,
                          phl_forest **piece, phl_error *error)
{
    const phl_forest *forest = cutter->forest;
    phl_forest *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->borrows_names = true;
    made->labels = forest->labels;
    made->classes = forest->classes;
    made->files = forest->files;
    made->ids = forest->ids;
    made->shared = forest->shared;
    made->max_slot = n > 0 ? 1 : 0;
    phl_status status = find_members(cutter, trees, n, error);
    if (status == PHL_OK) {
        status = copy_subtrees(cutter, made, error);
    }
    if (status == PHL_OK) {
        status = copy_levels(cutter, made, error);
    }
    if (status == PHL_OK) {
        status = copy_trees(cutter, trees, n, made, error);
    }
    forget_members(cutter);
    if (status != PHL_OK) {
        phl_forest_free(made);
        return status;
    }
    *piece = made;
    return PHL_OK;
}
