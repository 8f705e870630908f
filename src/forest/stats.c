/* stats.c - what a forest is made of, in numbers. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "forest/fingerprint.h"

static void count_nodes(const phl_forest *forest, phl_stats *stats)
{
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        uint64_t times = (uint64_t)forest->multiplicity[s];
        stats->nodes += times;
        stats->leaves += forest->leaf_slot[s] != 0 ? times : 0;
        stats->internal_subtrees += forest->leaf_slot[s] == 0;
        stats->unknown += forest->label[s] < 0 ? times : 0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            stats->slot_filled[forest->links[k].slot - 1] += times;
            stats->links += times;
        }
    }
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Distinct (slot, child) pairs, by sorting. */
static phl_status count_pairs(const phl_forest *forest, phl_stats *stats, phl_error *error)
{
    uint64_t *pairs = phl_alloc(forest->n_links, sizeof *pairs, error);
    if (pairs == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t k = 0; k < forest->n_links; k++) {
        pairs[k] = (uint64_t)forest->links[k].slot << 32 | forest->links[k].child;
    }
    qsort(pairs, forest->n_links, sizeof *pairs, compare_u64);
    for (size_t k = 0; k < forest->n_links; k++) {
        stats->slot_child_pairs += k == 0 || pairs[k] != pairs[k - 1];
    }
    phl_free(pairs);
    return PHL_OK;
}

/* Height of a subtree: the level it is numbered in. */
static uint64_t height_of(const phl_forest *forest, uint32_t subtree)
{
    size_t low = 0, high = forest->n_levels; /* level[low] <= subtree < level[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (forest->level[middle] <= subtree) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Trees with one distinct subtree as root. */
struct root {
    phl_fingerprint digest;
    uint64_t trees, size;
    int32_t class_number; /* of the first of them */
    bool ambiguous;       /* others have another class */
};

/* The distinct roots with their numbers of trees: everything below works on these, so that a tree
 * that is repeated costs nothing more. */
static phl_status list_roots(const phl_forest *forest, const uint64_t *size,
                             const phl_fingerprint *digests, uint64_t *trees, struct root **roots,
                             size_t *n_roots, phl_error *error)
{
    size_t n = 0;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        n += trees[forest->tree_root[tree]]++ == 0;
    }
    struct root *found = phl_alloc_zero(n, sizeof *found, error);
    if (found == NULL) {
        return PHL_ERR_MEMORY;
    }
    n = 0;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        if (trees[s] > 0) {
            found[n].digest = digests[s];
            found[n].trees = trees[s];
            found[n].size = size[s];
            found[n].class_number = INT32_MIN; /* none seen yet */
            trees[s] = n++;
        }
    }
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        struct root *root = &found[trees[forest->tree_root[tree]]];
        int32_t class_number = forest->tree_class[tree];
        if (root->class_number == INT32_MIN) {
            root->class_number = class_number;
        }
        root->ambiguous = root->ambiguous || root->class_number != class_number;
    }
    *roots = found;
    *n_roots = n;
    return PHL_OK;
}

static phl_status collect_roots(const phl_forest *forest, const uint64_t *size, struct root **roots,
                                size_t *n_roots, phl_error *error)
{
    phl_fingerprint *digests = NULL;
    /* Trees by root, 0 = not a root; then the place of the root in `roots`. */
    uint64_t *trees = phl_alloc_zero(forest->n_subtrees, sizeof *trees, error);
    phl_status status =
        trees == NULL ? PHL_ERR_MEMORY : phl_fingerprint_subtrees(forest, &digests, error);
    if (status == PHL_OK) {
        status = list_roots(forest, size, digests, trees, roots, n_roots, error);
    }
    phl_free(trees);
    phl_free(digests);
    return status;
}

/* Sums over single trees: classes, weight, depth. */
static void sum_trees(const phl_forest *forest, phl_stats *stats)
{
    double depth_sum = 0.0;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        int32_t class_number = forest->tree_class[tree];
        size_t entry = class_number < 0 ? stats->n_classes - 1 : (size_t)class_number;
        uint64_t depth = height_of(forest, forest->tree_root[tree]);
        stats->classes[entry].trees++;
        stats->weight += phl_tree_weight(forest, tree);
        depth_sum += (double)depth;
        stats->depth_min = tree == 0 || depth < stats->depth_min ? depth : stats->depth_min;
        stats->depth_max = depth > stats->depth_max ? depth : stats->depth_max;
    }
    stats->depth_mean = forest->n_trees == 0 ? 0.0 : depth_sum / (double)forest->n_trees;
}

static int compare_size(const void *left, const void *right)
{
    uint64_t a = ((const struct root *)left)->size;
    uint64_t b = ((const struct root *)right)->size;
    return (a > b) - (a < b);
}

/* Size of the tree at `rank` (0-based) when trees are ordered by size. */
static uint64_t size_at_rank(const struct root *roots, size_t n, uint64_t rank)
{
    uint64_t passed = 0;
    for (size_t i = 0; i < n; i++) {
        passed += roots[i].trees;
        if (passed > rank) {
            return roots[i].size;
        }
    }
    return 0;
}

static void measure_sizes_of_trees(struct root *roots, size_t n, phl_stats *stats)
{
    if (n == 0) {
        return;
    }
    qsort(roots, n, sizeof *roots, compare_size);
    stats->nodes_min = roots[0].size;
    stats->nodes_max = roots[n - 1].size;
    stats->nodes_mean = (double)stats->nodes / (double)stats->trees;
    stats->nodes_median = ((double)size_at_rank(roots, n, (stats->trees - 1) / 2) +
                           (double)size_at_rank(roots, n, stats->trees / 2)) /
                          2.0;
}

static int compare_digest(const void *left, const void *right)
{
    const phl_fingerprint *a = &((const struct root *)left)->digest;
    const phl_fingerprint *b = &((const struct root *)right)->digest;
    if (a->high != b->high) {
        return a->high < b->high ? -1 : 1;
    }
    return (a->low > b->low) - (a->low < b->low);
}

/* Trees that occur in more than one class.  Without sharing equal roots are different subtrees, so
 * they are brought together by digest. */
static void count_ambiguous(struct root *roots, size_t n, phl_stats *stats)
{
    qsort(roots, n, sizeof *roots, compare_digest);
    size_t first = 0;
    bool ambiguous = false;
    uint64_t trees = 0;
    for (size_t i = 0; i < n; i++) {
        ambiguous =
            ambiguous || roots[i].ambiguous || roots[i].class_number != roots[first].class_number;
        trees += roots[i].trees;
        if (i + 1 == n || compare_digest(&roots[i + 1], &roots[first]) != 0) {
            stats->ambiguous_shapes += ambiguous;
            stats->ambiguous_trees += ambiguous ? trees : 0;
            ambiguous = false;
            trees = 0;
            first = i + 1;
        }
    }
}

/* Nodes of each class: sizes of the roots of its trees. */
static void count_class_nodes(const phl_forest *forest, const uint64_t *size, phl_stats *stats)
{
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        int32_t class_number = forest->tree_class[tree];
        size_t entry = class_number < 0 ? stats->n_classes - 1 : (size_t)class_number;
        stats->classes[entry].nodes += size[forest->tree_root[tree]];
    }
}

static phl_status fill_stats(const phl_forest *forest, phl_stats *stats, phl_error *error)
{
    stats->trees = forest->n_trees;
    stats->subtrees = forest->n_subtrees;
    stats->subtree_links = forest->n_links;
    stats->labels = forest->labels.count;
    stats->max_slot = forest->max_slot;
    stats->n_classes = forest->classes.count + 1;
    stats->slot_filled = phl_alloc_zero(forest->max_slot, sizeof *stats->slot_filled, error);
    stats->classes = phl_alloc_zero(stats->n_classes, sizeof *stats->classes, error);
    if (stats->slot_filled == NULL || stats->classes == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < forest->classes.count; i++) {
        stats->classes[i].name = phl_alphabet_name(&forest->classes, i);
    }
    count_nodes(forest, stats);
    sum_trees(forest, stats);
    struct root *roots = NULL;
    size_t n_roots = 0;
    uint64_t *size = NULL, *unknown = NULL;
    phl_status status = count_pairs(forest, stats, error);
    if (status == PHL_OK) {
        status = phl_forest_count_nodes(forest, &size, &unknown, error);
    }
    if (status == PHL_OK) {
        status = collect_roots(forest, size, &roots, &n_roots, error);
    }
    if (status == PHL_OK) {
        count_class_nodes(forest, size, stats);
        measure_sizes_of_trees(roots, n_roots, stats);
        count_ambiguous(roots, n_roots, stats);
        if (stats->classes[stats->n_classes - 1].trees == 0) {
            stats->n_classes--; /* no tree without a class: no entry for them */
        }
    }
    phl_free(roots);
    phl_free(size);
    phl_free(unknown);
    return status;
}

phl_status phl_stats_compute(const phl_forest *forest, phl_stats **stats, phl_error *error)
{
    phl_stats *made = phl_alloc_zero(1, sizeof *made, error);
    phl_status status = made == NULL ? PHL_ERR_MEMORY : fill_stats(forest, made, error);
    if (status != PHL_OK) {
        phl_stats_free(made);
        return status;
    }
    *stats = made;
    return PHL_OK;
}

void phl_stats_free(phl_stats *stats)
{
    if (stats != NULL) {
        phl_free(stats->slot_filled);
        phl_free(stats->classes);
        phl_free(stats);
    }
}
