/* copy.c - trees of forests into another forest; see copy.h.
 *
 * Contents: names, subtrees, trees, copies as a whole.
 */
#include "forest/copy.h"

#include "base/memory.h"

/* ---------------------------------------------------------------------------------------------
 * Names
 * ------------------------------------------------------------------------------------------- */

/* Names of `from` into `to`, and where they are there: all, or those marked in `used`. */
static phl_status map_names(const phl_alphabet *from, const bool *used, phl_alphabet *to,
                            int32_t **map, phl_error *error)
{
    int32_t *made = phl_alloc(from->count, sizeof *made, error);
    phl_status status = made == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < from->count; i++) {
        made[i] = PHL_UNKNOWN;
        if (used == NULL || used[i]) {
            status = phl_alphabet_add(to, phl_alphabet_name(from, i), phl_alphabet_length(from, i),
                                      &made[i], error);
        }
    }
    *map = made;
    return status;
}

static void clear_maps(phl_copy *copy)
{
    phl_free(copy->labels);
    phl_free(copy->classes);
    phl_free(copy->files);
    phl_free(copy->ids);
    copy->labels = copy->classes = copy->files = copy->ids = NULL;
}

/* Names used by the trees: labels by the subtrees marked. */
static phl_status find_used_names(const phl_forest *forest, const size_t *trees, size_t n,
                                  const bool *used, bool **labels, bool **classes, phl_error *error)
{
    *labels = phl_alloc_zero(forest->labels.count, sizeof **labels, error);
    *classes = phl_alloc_zero(forest->classes.count, sizeof **classes, error);
    if (*labels == NULL || *classes == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        if (used[s] && forest->label[s] >= 0) {
            (*labels)[forest->label[s]] = true;
        }
    }
    for (size_t i = 0; i < n; i++) {
        int32_t class_number = forest->tree_class[trees != NULL ? trees[i] : i];
        if (class_number >= 0) {
            (*classes)[class_number] = true;
        }
    }
    return PHL_OK;
}

/* The maps of a forest's names.  `names`: NULL, or the alphabet that labels are to be of. */
static phl_status map_forest(phl_copy *copy, const phl_forest *forest, const bool *labels,
                             const bool *classes, const phl_alphabet *names, phl_error *error)
{
    phl_builder *builder = copy->builder;
    clear_maps(copy);
    copy->forest = forest;
    phl_status status = map_names(names != NULL ? names : &forest->labels, labels, &builder->labels,
                                  &copy->labels, error);
    if (status == PHL_OK) {
        status = map_names(&forest->classes, classes, &builder->classes, &copy->classes, error);
    }
    if (status == PHL_OK) {
        status = map_names(&forest->files, NULL, &builder->files, &copy->files, error);
    }
    if (status == PHL_OK) {
        status = map_names(&forest->ids, NULL, &builder->ids, &copy->ids, error);
    }
    phl_builder_keep(builder); /* the names stay, even if no tree uses them */
    return status;
}

int32_t phl_copy_label(const phl_copy *copy, int32_t label)
{
    return label < 0 ? label : copy->labels[label];
}

/* ---------------------------------------------------------------------------------------------
 * Subtrees
 * ------------------------------------------------------------------------------------------- */

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

/* The marked subtrees, each once; number [n] gets their numbers in the builder. */
static phl_status copy_subtrees(const phl_copy *copy, const bool *used, uint32_t *number,
                                phl_error *error)
{
    const phl_forest *forest = copy->forest;
    phl_status status = PHL_OK;
    phl_link *links = NULL;
    size_t capacity = 0;
    for (size_t s = 0; status == PHL_OK && s < forest->n_subtrees; s++) {
        if (!used[s]) {
            continue;
        }
        const phl_link *from;
        size_t n = phl_subtree_links(forest, (uint32_t)s, &from);
        status = phl_grow(&links, &capacity, n, sizeof *links, error);
        for (size_t k = 0; status == PHL_OK && k < n; k++) {
            links[k].slot = from[k].slot;
            links[k].child = number[from[k].child];
        }
        if (status == PHL_OK) {
            status = phl_builder_intern(copy->builder, phl_copy_label(copy, forest->label[s]),
                                        forest->leaf_slot[s], links, n, &number[s], error);
        }
    }
    phl_free(links);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Trees
 * ------------------------------------------------------------------------------------------- */

phl_status phl_copy_enter(const phl_copy *copy, size_t tree, uint32_t root, phl_error *error)
{
    const phl_forest *forest = copy->forest;
    int32_t class_number = forest->tree_class[tree];
    int32_t id = forest->tree_id == NULL ? -1 : forest->tree_id[tree];
    uint32_t file = forest->tree_file[tree];
    phl_tree_entry entry = {
        .root = root,
        .class_number = class_number < 0 ? PHL_NO_CLASS : copy->classes[class_number],
        .id = id < 0 ? -1 : copy->ids[id],
        .file = file == 0 ? -1 : copy->files[file - 1],
        .line = forest->tree_line[tree],
        .weight = phl_tree_weight(forest, tree),
    };
    return phl_builder_enter_tree(copy->builder, &entry, error);
}

/* Build one tree node by node: with the labels given, or with its own. */
static phl_status build_tree(phl_copy *copy, size_t tree, const int32_t *labels, phl_error *error)
{
    phl_builder *builder = copy->builder;
    phl_status status = PHL_OK;
    phl_visit visit;
    uint32_t root = 0;
    int more;
    phl_walk_start(copy->walk, tree);
    while (status == PHL_OK && (more = phl_walk_next(copy->walk, &visit, error)) != 0) {
        status = more < 0 ? (phl_status)more : PHL_OK;
        while (status == PHL_OK && builder->depth > visit.depth) {
            status = phl_builder_close(builder, error);
        }
        if (status == PHL_OK) {
            int32_t label = labels != NULL ? labels[visit.node] : visit.label;
            status =
                phl_builder_open_label(builder, phl_copy_label(copy, label), visit.slot, error);
        }
    }
    while (status == PHL_OK && builder->depth > 0) {
        status = phl_builder_close(builder, error);
    }
    if (status == PHL_OK) {
        status = phl_builder_take_root(builder, &root, error);
    }
    return status == PHL_OK ? phl_copy_enter(copy, tree, root, error) : status;
}

static phl_status start_walk(phl_copy *copy, phl_error *error)
{
    phl_walk_free(copy->walk);
    copy->walk = NULL;
    return phl_walk_create(copy->forest, &copy->walk, error);
}

/* With the names mapped and the subtrees marked. */
static phl_status add_trees(phl_copy *copy, const size_t *trees, size_t n, const bool *used,
                            uint32_t *number, phl_error *error)
{
    bool apart = copy->builder->no_sharing;
    phl_status status = apart ? start_walk(copy, error) : copy_subtrees(copy, used, number, error);
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        size_t tree = trees != NULL ? trees[i] : i;
        status = apart ? build_tree(copy, tree, NULL, error)
                       : phl_copy_enter(copy, tree, number[copy->forest->tree_root[tree]], error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Copies as a whole
 * ------------------------------------------------------------------------------------------- */

phl_status phl_copy_begin(phl_copy *copy, bool no_sharing, phl_error *error)
{
    phl_builder_options options;
    phl_builder_options_init(&options);
    options.no_sharing = no_sharing;
    *copy = (phl_copy){0};
    return phl_builder_create(&options, &copy->builder, error);
}

phl_status phl_copy_add(phl_copy *copy, const phl_forest *forest, const size_t *trees, size_t n,
                        phl_copy_names names, phl_error *error)
{
    bool *labels = NULL, *classes = NULL;
    bool *used = phl_alloc_zero(forest->n_subtrees, sizeof *used, error);
    uint32_t *number = phl_alloc(forest->n_subtrees, sizeof *number, error);
    phl_status status = used == NULL || number == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK) {
        mark_used(forest, trees, n, used);
    }
    if (status == PHL_OK && names == PHL_COPY_USED) {
        status = find_used_names(forest, trees, n, used, &labels, &classes, error);
    }
    if (status == PHL_OK) {
        status = map_forest(copy, forest, labels, classes, NULL, error);
    }
    for (size_t i = 0; status == PHL_OK && names == PHL_COPY_SHAPES && i < forest->labels.count;
         i++) {
        copy->labels[i] = PHL_UNKNOWN;
    }
    if (status == PHL_OK) {
        status = add_trees(copy, trees, n, used, number, error);
    }
    phl_free(labels);
    phl_free(classes);
    phl_free(used);
    phl_free(number);
    return status;
}

phl_status phl_copy_begin_relabelled(phl_copy *copy, const phl_forest *forest,
                                     const phl_alphabet *names, phl_error *error)
{
    phl_status status = phl_copy_begin(copy, !forest->shared, error);
    if (status == PHL_OK) {
        status = map_forest(copy, forest, NULL, NULL, names, error);
    }
    return status == PHL_OK ? start_walk(copy, error) : status;
}

phl_status phl_copy_begin_nodes(phl_copy *copy, const phl_forest *forest, phl_error *error)
{
    phl_status status = phl_copy_begin(copy, !forest->shared, error);
    return status == PHL_OK ? map_forest(copy, forest, NULL, NULL, NULL, error) : status;
}

phl_status phl_copy_add_relabelled(phl_copy *copy, size_t tree, const int32_t *labels,
                                   phl_error *error)
{
    return build_tree(copy, tree, labels, error);
}

phl_status phl_copy_finish(phl_copy *copy, phl_forest **forest, phl_error *error)
{
    return phl_builder_finish(copy->builder, forest, error);
}

void phl_copy_clear(phl_copy *copy)
{
    clear_maps(copy);
    phl_walk_free(copy->walk);
    phl_builder_free(copy->builder);
    *copy = (phl_copy){0};
}

phl_status phl_copy_trees(const phl_forest *forest, const size_t *trees, size_t n,
                          phl_copy_names names, phl_forest **made, phl_error *error)
{
    phl_copy copy;
    phl_status status = phl_copy_begin(&copy, !forest->shared, error);
    if (status == PHL_OK) {
        status = phl_copy_add(&copy, forest, trees, n, names, error);
    }
    if (status == PHL_OK) {
        status = phl_copy_finish(&copy, made, error);
    }
    phl_copy_clear(&copy);
    return status;
}

phl_status phl_forest_concat(const phl_forest *const *forests, size_t n, phl_forest **forest,
                             phl_error *error)
{
    bool no_sharing = false;
    for (size_t i = 0; i < n; i++) {
        no_sharing = no_sharing || !forests[i]->shared;
    }
    phl_copy copy;
    phl_status status = phl_copy_begin(&copy, no_sharing, error);
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = phl_copy_add(&copy, forests[i], NULL, forests[i]->n_trees, PHL_COPY_ALL, error);
    }
    if (status == PHL_OK) {
        status = phl_copy_finish(&copy, forest, error);
    }
    phl_copy_clear(&copy);
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
    return phl_copy_trees(forest, trees, n, PHL_COPY_ALL, selected, error);
}
