/* combine.c - forests out of forests: concatenation and selection.
 *
 * Trees are appended to a builder.  Into a sharing builder whole distinct subtrees are copied, each
 * once; into a builder without sharing every tree is walked, so that each occurrence becomes a
 * subtree of its own.
 */
#include <string.h>

#include "base/memory.h"
#include "forest/builder.h"

/* Numbers, in a builder, of the names of the forest that is being copied. */
struct name_maps {
    int32_t *labels, *classes, *files, *ids;
};

static phl_status map_names(const phl_alphabet *from, phl_alphabet *to, int32_t **map,
                            phl_error *error)
{
    *map = phl_alloc(from->count, sizeof **map, error);
    phl_status status = *map == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < from->count; i++) {
        status = phl_alphabet_add(to, phl_alphabet_name(from, i), phl_alphabet_length(from, i),
                                  &(*map)[i], error);
    }
    return status;
}

static phl_status map_forest(const phl_forest *forest, phl_builder *builder, struct name_maps *maps,
                             phl_error *error)
{
    phl_status status = map_names(&forest->labels, &builder->labels, &maps->labels, error);
    if (status == PHL_OK) {
        status = map_names(&forest->classes, &builder->classes, &maps->classes, error);
    }
    if (status == PHL_OK) {
        status = map_names(&forest->files, &builder->files, &maps->files, error);
    }
    if (status == PHL_OK) {
        status = map_names(&forest->ids, &builder->ids, &maps->ids, error);
    }
    /* The names stay even if no tree uses them: forests cut from one run keep its alphabet. */
    phl_builder_keep(builder);
    return status;
}

static phl_status enter_tree(phl_builder *builder, const phl_forest *forest,
                             const struct name_maps *maps, size_t tree, uint32_t root,
                             phl_error *error)
{
    int32_t class_number = forest->tree_class[tree];
    int32_t id = forest->tree_id == NULL ? -1 : forest->tree_id[tree];
    uint32_t file = forest->tree_file[tree];
    phl_tree_entry entry = {
        .root = root,
        .class_number = class_number < 0 ? PHL_NO_CLASS : maps->classes[class_number],
        .id = id < 0 ? -1 : maps->ids[id],
        .file = file == 0 ? -1 : maps->files[file - 1],
        .line = forest->tree_line[tree],
        .weight = phl_tree_weight(forest, tree),
    };
    return phl_builder_enter_tree(builder, &entry, error);
}

/* Mark the subtrees below the trees listed. */
static void mark_used(const phl_forest *forest, const size_t *trees, size_t n, bool *used)
{
    for (size_t i = 0; i < n; i++) {
        used[forest->tree_root[trees != NULL ? trees[i] : i]] = true;
    }
    for (size_t s = forest->n_subtrees; s-- > 0;) {
        for (uint64_t k = forest->first_link[s]; used[s] && k < forest->first_link[s + 1]; k++) {
            used[forest->links[k].child] = true;
        }
    }
}

static phl_status append_shared(phl_builder *builder, const phl_forest *forest,
                                const struct name_maps *maps, const size_t *trees, size_t n,
                                phl_error *error)
{
    phl_status status = PHL_ERR_MEMORY;
    uint32_t *number = NULL; /* of each subtree in the builder */
    phl_link *links = NULL;
    size_t link_capacity = 0;
    bool *used = phl_alloc_zero(forest->n_subtrees, sizeof *used, error);
    if (used == NULL) {
        goto out;
    }
    number = phl_alloc(forest->n_subtrees, sizeof *number, error);
    if (number == NULL) {
        goto out;
    }
    status = PHL_OK;
    mark_used(forest, trees, n, used);
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        if (!used[s]) {
            continue;
        }
        const phl_link *from;
        size_t count = phl_subtree_links(forest, (uint32_t)s, &from);
        status = phl_grow(&links, &link_capacity, count, sizeof *links, error);
        if (status != PHL_OK) {
            goto out;
        }
        for (size_t k = 0; k < count; k++) {
            links[k].slot = from[k].slot;
            links[k].child = number[from[k].child];
        }
        int32_t label = forest->label[s];
        status = phl_builder_intern(builder, label < 0 ? label : maps->labels[label],
                                    forest->leaf_slot[s], links, count, &number[s], error);
        if (status != PHL_OK) {
            goto out;
        }
    }
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        size_t tree = trees != NULL ? trees[i] : i;
        status = enter_tree(builder, forest, maps, tree, number[forest->tree_root[tree]], error);
    }
out:
    phl_free(used);
    phl_free(number);
    phl_free(links);
    return status;
}

/* Build one tree node by node. */
static phl_status rebuild_tree(phl_builder *builder, const struct name_maps *maps, phl_walk *walk,
                               size_t tree, uint32_t *root, phl_error *error)
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
            int32_t label = visit.label < 0 ? visit.label : maps->labels[visit.label];
            status = phl_builder_open_label(builder, label, visit.slot, error);
        }
    }
    while (status == PHL_OK && builder->depth > 0) {
        status = phl_builder_close(builder, error);
    }
    return status == PHL_OK ? phl_builder_take_root(builder, root, error) : status;
}

static phl_status append_unshared(phl_builder *builder, const phl_forest *forest,
                                  const struct name_maps *maps, const size_t *trees, size_t n,
                                  phl_error *error)
{
    phl_walk *walk = NULL;
    phl_status status = phl_walk_create(forest, &walk, error);
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        size_t tree = trees != NULL ? trees[i] : i;
        uint32_t root;
        status = rebuild_tree(builder, maps, walk, tree, &root, error);
        if (status == PHL_OK) {
            status = enter_tree(builder, forest, maps, tree, root, error);
        }
    }
    phl_walk_free(walk);
    return status;
}

/* Append trees of a forest, all of them if `trees` is NULL. */
static phl_status append_trees(phl_builder *builder, const phl_forest *forest, const size_t *trees,
                               size_t n, phl_error *error)
{
    struct name_maps maps = {NULL, NULL, NULL, NULL};
    phl_status status = map_forest(forest, builder, &maps, error);
    if (status == PHL_OK) {
        status = builder->no_sharing ? append_unshared(builder, forest, &maps, trees, n, error)
                                     : append_shared(builder, forest, &maps, trees, n, error);
    }
    phl_free(maps.labels);
    phl_free(maps.classes);
    phl_free(maps.files);
    phl_free(maps.ids);
    return status;
}

phl_status phl_forest_concat(const phl_forest *const *forests, size_t n, phl_forest **forest,
                             phl_error *error)
{
    phl_builder_options options;
    phl_builder_options_init(&options);
    for (size_t i = 0; i < n; i++) {
        options.no_sharing = options.no_sharing || !forests[i]->shared;
    }
    phl_builder *builder = NULL;
    phl_status status = phl_builder_create(&options, &builder, error);
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = append_trees(builder, forests[i], NULL, forests[i]->n_trees, error);
    }
    if (status == PHL_OK) {
        status = phl_builder_finish(builder, forest, error);
    }
    phl_builder_free(builder);
    return status;
}

phl_status phl_forest_select(const phl_forest *forest, const size_t *trees, size_t n,
                             phl_forest **selected, phl_error *error)
{
    for (size_t i = 0; i < n; i++) {
        if (trees[i] >= forest->n_trees) {
            return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                             "tree %zu of a forest of %zu trees (numbered from 0)", trees[i],
                             forest->n_trees);
        }
    }
    phl_builder_options options;
    phl_builder_options_init(&options);
    options.no_sharing = !forest->shared;
    phl_builder *builder = NULL;
    phl_status status = phl_builder_create(&options, &builder, error);
    if (status == PHL_OK) {
        status = append_trees(builder, forest, trees, n, error);
    }
    if (status == PHL_OK) {
        status = phl_builder_finish(builder, selected, error);
    }
    phl_builder_free(builder);
    return status;
}
