/* copies.c - copies of a forest with other labels or names; see copies.h. */
#include "task/copies.h"

#include "base/memory.h"
#include "forest/builder.h"

phl_status phl_count_nodes(const phl_forest *forest, uint64_t **nodes, uint64_t **unknown,
                           phl_error *error)
{
    uint64_t *total = phl_alloc(forest->n_subtrees, sizeof *total, error);
    uint64_t *missing = phl_alloc(forest->n_subtrees, sizeof *missing, error);
    if (total == NULL || missing == NULL) {
        phl_free(total);
        phl_free(missing);
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        total[s] = 1;
        missing[s] = forest->label[s] < 0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            total[s] += total[forest->links[k].child];
            missing[s] += missing[forest->links[k].child];
        }
    }
    *nodes = total;
    *unknown = missing;
    return PHL_OK;
}

/* A builder that shares as the forest does and knows its sources and ids. */
static phl_status begin_copy(const phl_forest *forest, phl_builder **builder, phl_error *error)
{
    phl_builder_options options;
    phl_builder_options_init(&options);
    options.no_sharing = !forest->shared;
    phl_builder *made = NULL;
    phl_status status = phl_builder_create(&options, &made, error);
    if (status == PHL_OK) {
        status = phl_alphabet_copy(&forest->files, &made->files, error);
    }
    if (status == PHL_OK) {
        status = phl_alphabet_copy(&forest->ids, &made->ids, error);
    }
    if (status != PHL_OK) {
        phl_builder_free(made);
        return status;
    }
    *builder = made;
    return PHL_OK;
}

static phl_status enter_tree(phl_builder *builder, const phl_forest *forest, size_t tree,
                             const int32_t *class_map, uint32_t root, phl_error *error)
{
    int32_t class_number = forest->tree_class[tree];
    uint32_t file = forest->tree_file[tree];
    phl_tree_entry entry = {
        .root = root,
        .class_number =
            class_number < 0 || class_map == NULL ? class_number : class_map[class_number],
        .id = forest->tree_id == NULL ? -1 : forest->tree_id[tree],
        .file = file == 0 ? -1 : (int32_t)(file - 1),
        .line = forest->tree_line[tree],
        .weight = phl_tree_weight(forest, tree),
    };
    return phl_builder_enter_tree(builder, &entry, error);
}

/* Distinct subtrees that are marked, one by one.  label_map NULL: every label becomes unknown.
 * number [n] gets their numbers in the builder. */
static phl_status copy_subtrees(phl_builder *builder, const phl_forest *forest, const bool *used,
                                const int32_t *label_map, uint32_t *number, phl_error *error)
{
    phl_status status = PHL_OK;
    phl_link *links = NULL;
    size_t capacity = 0;
    for (size_t s = 0; status == PHL_OK && s < forest->n_subtrees; s++) {
        if (used != NULL && !used[s]) {
            continue;
        }
        const phl_link *from;
        size_t n = phl_subtree_links(forest, (uint32_t)s, &from);
        status = phl_grow(&links, &capacity, n, sizeof *links, error);
        for (size_t k = 0; status == PHL_OK && k < n; k++) {
            links[k].slot = from[k].slot;
            links[k].child = number[from[k].child];
        }
        int32_t label = forest->label[s];
        if (label >= 0) {
            label = label_map == NULL ? PHL_UNKNOWN : label_map[label];
        }
        if (status == PHL_OK) {
            status = phl_builder_intern(builder, label, forest->leaf_slot[s], links, n, &number[s],
                                        error);
        }
    }
    phl_free(links);
    return status;
}

phl_status phl_copy_shapes(const phl_forest *forest, phl_forest **copy, phl_error *error)
{
    phl_builder *builder = NULL;
    uint32_t *number = phl_alloc(forest->n_subtrees, sizeof *number, error);
    phl_status status = number == NULL ? PHL_ERR_MEMORY : begin_copy(forest, &builder, error);
    if (status == PHL_OK) {
        status = phl_alphabet_copy(&forest->labels, &builder->labels, error);
    }
    if (status == PHL_OK) {
        status = phl_alphabet_copy(&forest->classes, &builder->classes, error);
    }
    if (status == PHL_OK) {
        phl_builder_keep(builder);
        status = copy_subtrees(builder, forest, NULL, NULL, number, error);
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        status = enter_tree(builder, forest, t, NULL, number[forest->tree_root[t]], error);
    }
    if (status == PHL_OK) {
        status = phl_builder_finish(builder, copy, error);
    }
    phl_builder_free(builder);
    phl_free(number);
    return status;
}

/* Names whose entry in the map is not PHL_UNKNOWN enter the other alphabet, in order; the map gets
 * their numbers there. */
static phl_status carry_used(const phl_alphabet *from, phl_alphabet *to, int32_t *map,
                             phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < from->count; i++) {
        if (map[i] != PHL_UNKNOWN) {
            status = phl_alphabet_add(to, phl_alphabet_name(from, i), phl_alphabet_length(from, i),
                                      &map[i], error);
        }
    }
    return status;
}

/* Maps of labels and classes; the builder's alphabets hold the names that are used, in the order of
 * the forest's own numbers, so that a full copy renumbers nothing. */
static phl_status carry_names(phl_builder *builder, const phl_forest *forest, const size_t *trees,
                              size_t n, const bool *used, int32_t *label_map, int32_t *class_map,
                              phl_error *error)
{
    for (size_t i = 0; i < forest->labels.count; i++) {
        label_map[i] = PHL_UNKNOWN;
    }
    for (size_t i = 0; i < forest->classes.count; i++) {
        class_map[i] = PHL_UNKNOWN;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        if (used[s] && forest->label[s] >= 0) {
            label_map[forest->label[s]] = 0;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (forest->tree_class[trees[i]] >= 0) {
            class_map[forest->tree_class[trees[i]]] = 0;
        }
    }
    phl_status status = carry_used(&forest->labels, &builder->labels, label_map, error);
    return status == PHL_OK ? carry_used(&forest->classes, &builder->classes, class_map, error)
                            : status;
}

phl_status phl_copy_trees(const phl_forest *forest, const size_t *trees, size_t n,
                          phl_forest **copy, phl_error *error)
{
    phl_builder *builder = NULL;
    bool *used = phl_alloc_zero(forest->n_subtrees, sizeof *used, error);
    uint32_t *number = phl_alloc(forest->n_subtrees, sizeof *number, error);
    int32_t *label_map = phl_alloc(forest->labels.count, sizeof *label_map, error);
    int32_t *class_map = phl_alloc(forest->classes.count, sizeof *class_map, error);
    phl_status status = PHL_ERR_MEMORY;
    if (used != NULL && number != NULL && label_map != NULL && class_map != NULL) {
        status = begin_copy(forest, &builder, error);
    }
    if (status == PHL_OK) {
        for (size_t i = 0; i < n; i++) {
            used[forest->tree_root[trees[i]]] = true;
        }
        for (size_t s = forest->n_subtrees; s-- > 0;) {
            for (uint64_t k = forest->first_link[s]; used[s] && k < forest->first_link[s + 1];
                 k++) {
                used[forest->links[k].child] = true;
            }
        }
        status = carry_names(builder, forest, trees, n, used, label_map, class_map, error);
    }
    if (status == PHL_OK) {
        phl_builder_keep(builder);
        status = copy_subtrees(builder, forest, used, label_map, number, error);
    }
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = enter_tree(builder, forest, trees[i], class_map,
                            number[forest->tree_root[trees[i]]], error);
    }
    if (status == PHL_OK) {
        status = phl_builder_finish(builder, copy, error);
    }
    phl_builder_free(builder);
    phl_free(used);
    phl_free(number);
    phl_free(label_map);
    phl_free(class_map);
    return status;
}

/* Build one tree node by node with the labels given. */
static phl_status build_tree(phl_builder *builder, phl_walk *walk, size_t tree,
                             const int32_t *labels, uint32_t *root, phl_error *error)
{
    phl_status status = PHL_OK;
    phl_visit visit;
    int more;
    phl_walk_start(walk, tree);
    while (status == PHL_OK && (more = phl_walk_next(walk, &visit, error)) != 0) {
        status = more < 0 ? (phl_status)more : PHL_OK;
        while (status == PHL_OK && builder->depth > visit.depth) {
            status = phl_builder_close(builder, error);
        }
        if (status == PHL_OK) {
            status = phl_builder_open_label(builder, labels[visit.node], visit.slot, error);
        }
    }
    while (status == PHL_OK && builder->depth > 0) {
        status = phl_builder_close(builder, error);
    }
    return status == PHL_OK ? phl_builder_take_root(builder, root, error) : status;
}

phl_status phl_relabelling_begin(phl_relabelling *work, const phl_forest *forest,
                                 const phl_alphabet *names, phl_error *error)
{
    *work = (phl_relabelling){.forest = forest};
    phl_status status = begin_copy(forest, &work->builder, error);
    if (status == PHL_OK) {
        status = phl_alphabet_copy(names, &work->builder->labels, error);
    }
    if (status == PHL_OK) {
        status = phl_alphabet_copy(&forest->classes, &work->builder->classes, error);
    }
    if (status == PHL_OK) {
        phl_builder_keep(work->builder);
        status = phl_walk_create(forest, &work->walk, error);
    }
    return status;
}

phl_status phl_relabelling_add(phl_relabelling *work, size_t tree, const int32_t *labels,
                               phl_error *error)
{
    uint32_t root = 0;
    phl_status status = build_tree(work->builder, work->walk, tree, labels, &root, error);
    return status == PHL_OK ? enter_tree(work->builder, work->forest, tree, NULL, root, error)
                            : status;
}

phl_status phl_relabelling_finish(phl_relabelling *work, phl_forest **copy, phl_error *error)
{
    return phl_builder_finish(work->builder, copy, error);
}

void phl_relabelling_clear(phl_relabelling *work)
{
    phl_builder_free(work->builder);
    phl_walk_free(work->walk);
    *work = (phl_relabelling){0};
}
