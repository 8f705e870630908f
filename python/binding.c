/* binding.c - what the Python package does in C; see binding.h. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

bool phlpy_cancel(void *context)
{
    const phlpy_context *known = context;
    return __atomic_load_n(&known->stop, __ATOMIC_RELAXED) != 0;
}

void phlpy_stop(phlpy_context *context)
{
    __atomic_store_n(&context->stop, 1, __ATOMIC_RELAXED);
}

static phl_status fail(phl_error *error, phl_status status, const char *message)
{
    if (error) {
        *error = (phl_error){.status = status};
        strncpy(error->message, message, sizeof error->message - 1);
    }
    return status;
}

/* ---- building ---- */

/* Nodes given level by level, and those that are open. */
typedef struct levels {
    const char *const *names;
    const int32_t *codes;
    const uint32_t *counts;
    size_t *first;  /* [n] where the slots of each node begin */
    size_t *open;   /* [capacity] nodes, the root first, */
    uint32_t *next; /* [capacity] and how many slots of each are done */
    size_t depth, capacity;
} levels;

static phl_status no_memory(phl_error *error)
{
    return fail(error, PHL_ERR_MEMORY, "memory is used up");
}

static phl_status open_node(levels *l, phl_builder *builder, size_t node, uint32_t slot,
                            phl_error *error)
{
    if (l->depth == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 64;
        size_t *open = realloc(l->open, capacity * sizeof *open);
        l->open = open ? open : l->open;
        uint32_t *next = realloc(l->next, capacity * sizeof *next);
        l->next = next ? next : l->next;
        if (!open || !next) {
            return no_memory(error);
        }
        l->capacity = capacity;
    }
    l->open[l->depth] = node;
    l->next[l->depth++] = 0;
    int32_t code = l->codes[node];
    return phl_builder_open(builder, code < 0 ? NULL : l->names[code], slot, error);
}

/* The nodes below one root, without recursion. */
static phl_status build_tree(levels *l, phl_builder *builder, size_t root, phl_error *error)
{
    phl_status status = open_node(l, builder, root, 1, error);
    while (status == PHL_OK && l->depth > 0) {
        size_t node = l->open[l->depth - 1];
        uint32_t slot = l->next[l->depth - 1];
        if (slot == l->counts[node]) {
            status = phl_builder_close(builder, error);
            l->depth--;
            continue;
        }
        l->next[l->depth - 1]++;
        if (l->codes[l->first[node] + slot] != PHLPY_EMPTY) {
            status = open_node(l, builder, l->first[node] + slot, slot + 1, error);
        }
    }
    return status;
}

static phl_status build_trees(levels *l, phl_builder *builder, size_t n, const phl_tree_info *infos,
                              size_t n_trees, phl_error *error)
{
    size_t end = n_trees;
    for (size_t i = 0; i < n; i++) {
        l->first[i] = end;
        end += l->counts[i];
    }
    if (end != n) {
        return fail(error, PHL_ERR_INTERNAL, "the numbers of slots do not fit the nodes");
    }
    phl_status status = PHL_OK;
    for (size_t tree = 0; status == PHL_OK && tree < n_trees; tree++) {
        status = build_tree(l, builder, tree, error);
        if (status == PHL_OK) {
            status = phl_builder_end_tree(builder, infos ? &infos[tree] : NULL, error);
        }
    }
    return status;
}

phl_status phlpy_build(phl_builder *builder, const char *const *names, const int32_t *codes,
                       const uint32_t *counts, size_t n, const phl_tree_info *infos, size_t n_trees,
                       phl_error *error)
{
    levels l = {.names = names, .codes = codes, .counts = counts};
    l.first = malloc((n + 1) * sizeof *l.first);
    phl_status status =
        l.first ? build_trees(&l, builder, n, infos, n_trees, error) : no_memory(error);
    free(l.first);
    free(l.open);
    free(l.next);
    return status;
}

/* ---- copying ---- */

/* The nodes of the tree that the walk is at. */
static phl_status copy_nodes(const phl_forest *forest, phl_walk *walk, phl_builder *builder,
                             phl_error *error)
{
    phl_visit visit;
    phl_status status = PHL_OK;
    size_t depth = 0; /* of nodes open */
    int got = 0;
    while (status == PHL_OK && (got = phl_walk_next(walk, &visit, error)) > 0) {
        for (; status == PHL_OK && depth > visit.depth; depth--) {
            status = phl_builder_close(builder, error);
        }
        if (status == PHL_OK) {
            status = phl_builder_open(builder, phl_forest_label_name(forest, visit.label),
                                      visit.slot, error);
            depth++;
        }
    }
    status = status == PHL_OK && got < 0 ? (phl_status)got : status;
    for (; status == PHL_OK && depth > 0; depth--) {
        status = phl_builder_close(builder, error);
    }
    return status;
}

static phl_status copy_trees(const phl_forest *forest, const size_t *trees, size_t n,
                             const char *const *classes, const double *weights, phl_walk *walk,
                             phl_builder *builder, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        size_t tree = trees[i];
        phl_tree_info info = {
            .class_name =
                classes ? classes[i] : phl_forest_class_name(forest, phl_tree_class(forest, tree)),
            .weight = weights ? weights[i] : phl_tree_weight(forest, tree),
            .id = phl_tree_id(forest, tree),
            .file = phl_tree_file(forest, tree),
            .line = phl_tree_line(forest, tree)};
        phl_walk_start(walk, tree);
        status = copy_nodes(forest, walk, builder, error);
        status = status == PHL_OK ? phl_builder_end_tree(builder, &info, error) : status;
    }
    return status;
}

phl_status phlpy_copy(const phl_forest *forest, const size_t *trees, size_t n,
                      const char *const *classes, const double *weights, phl_forest **copy,
                      phl_error *error)
{
    phl_builder_options options;
    phl_builder *builder = NULL;
    phl_walk *walk = NULL;
    phl_builder_options_init(&options);
    options.no_sharing = !phl_forest_is_shared(forest);
    phl_status status = phl_builder_create(&options, &builder, error);
    status = status == PHL_OK ? phl_walk_create(forest, &walk, error) : status;
    if (status == PHL_OK) {
        status = copy_trees(forest, trees, n, classes, weights, walk, builder, error);
    }
    status = status == PHL_OK ? phl_builder_finish(builder, copy, error) : status;
    phl_walk_free(walk);
    phl_builder_free(builder);
    return status;
}

/* ---- looking ---- */

phl_status phlpy_nodes(const phl_forest *forest, size_t tree, size_t n, int64_t *parent,
                       uint32_t *slot, uint32_t *subtree, phl_error *error)
{
    phl_walk *walk = NULL;
    phl_visit visit;
    phl_status status = phl_walk_create(forest, &walk, error);
    int got = 0;
    if (status != PHL_OK) {
        return status;
    }
    phl_walk_start(walk, tree);
    for (size_t i = 0; i < n && (got = phl_walk_next(walk, &visit, error)) > 0; i++) {
        parent[i] = visit.parent == SIZE_MAX ? -1 : (int64_t)visit.parent;
        slot[i] = visit.slot;
        subtree[i] = visit.subtree;
    }
    phl_walk_free(walk);
    return got < 0 ? (phl_status)got : PHL_OK;
}

void phlpy_sizes(const phl_forest *forest, uint64_t *nodes)
{
    size_t n = phl_forest_subtrees(forest);
    for (size_t s = 0; s < n; s++) {
        const phl_link *links;
        size_t children = phl_subtree_links(forest, (uint32_t)s, &links);
        nodes[s] = 1;
        for (size_t k = 0; k < children; k++) {
            nodes[s] += nodes[links[k].child];
        }
    }
}
