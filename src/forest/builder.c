/* builder.c - hash-consing: trees in, distinct subtrees out.
 *
 * Contents: the hash table of subtrees, opening and closing nodes, trees, abandoning a tree,
 * freezing the result.
 *
 * Nodes of the tree under construction enter the table at once (that is what makes a repeated
 * subtree free); a tree that turns out bad is taken out again by undoing everything above a mark.
 */
#include "forest/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"

enum { FIRST_TABLE_SIZE = 1024 };

static const phl_builder_options defaults = {.size = sizeof(phl_builder_options)};

void phl_builder_options_init_sized(phl_builder_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

phl_status phl_builder_create(const phl_builder_options *options, phl_builder **builder,
                              phl_error *error)
{
    phl_builder_options own;
    phl_status status =
        phl_options_take(&own, &defaults, sizeof own, options, "phl_builder", error);
    if (status != PHL_OK) {
        return status;
    }
    phl_builder *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->no_sharing = own.no_sharing;
    *builder = made;
    return PHL_OK;
}

void phl_builder_free(phl_builder *builder)
{
    if (builder == NULL) {
        return;
    }
    phl_alphabet_clear(&builder->labels);
    phl_alphabet_clear(&builder->classes);
    phl_alphabet_clear(&builder->files);
    phl_alphabet_clear(&builder->ids);
    phl_free(builder->nodes);
    phl_free(builder->links);
    phl_hash_table_clear(&builder->table);
    phl_free(builder->frames);
    phl_free(builder->pending);
    phl_free(builder->tree_root);
    phl_free(builder->tree_class);
    phl_free(builder->tree_file);
    phl_free(builder->tree_line);
    phl_free(builder->tree_weight);
    phl_free(builder->tree_id);
    phl_free(builder);
}

/* ---------------------------------------------------------------------------------------------
 * The hash table of subtrees
 * ------------------------------------------------------------------------------------------- */

static uint32_t hash_subtree(int32_t label, uint32_t leaf_slot, const phl_link *links, size_t n)
{
    uint64_t hash = phl_hash_step(leaf_slot, (uint64_t)(uint32_t)label);
    for (size_t i = 0; i < n; i++) {
        hash = phl_hash_step(hash, (uint64_t)links[i].slot << 32 | links[i].child);
    }
    return (uint32_t)(hash >> 32);
}

static bool same_subtree(const phl_builder *builder, uint32_t number, int32_t label,
                         uint32_t leaf_slot, const phl_link *links, size_t n)
{
    const phl_node *node = &builder->nodes[number];
    if (node->label != label || node->leaf_slot != leaf_slot || node->n_links != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const phl_link *known = builder->links + node->first_link;
        if (known[i].child != links[i].child || known[i].slot != links[i].slot) {
            return false;
        }
    }
    return true;
}

static uint32_t hash_of_node(const void *items, size_t number)
{
    const phl_builder *builder = items;
    return builder->nodes[number].hash;
}

/* Append a node known to be new. */
static phl_status append_node(phl_builder *builder, int32_t label, uint32_t leaf_slot,
                              const phl_link *links, size_t n, uint32_t hash, phl_error *error)
{
    if (builder->n_nodes >= UINT32_MAX - 1) {
        return phl_raise(error, PHL_ERR_LIMIT, "split the data", "more than %u distinct subtrees",
                         UINT32_MAX - 1);
    }
    phl_status status = phl_grow(&builder->nodes, &builder->node_capacity, builder->n_nodes + 1,
                                 sizeof *builder->nodes, error);
    if (status == PHL_OK) {
        status = phl_grow(&builder->links, &builder->link_capacity, builder->n_links + n,
                          sizeof *builder->links, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_node *node = &builder->nodes[builder->n_nodes++];
    node->first_link = builder->n_links;
    node->label = label;
    node->leaf_slot = leaf_slot;
    node->n_links = (uint32_t)n;
    node->hash = hash;
    if (n > 0) {
        memcpy(builder->links + builder->n_links, links, n * sizeof *links);
        builder->n_links += n;
    }
    return PHL_OK;
}

phl_status phl_builder_intern(phl_builder *builder, int32_t label, uint32_t leaf_slot,
                              const phl_link *links, size_t n_links, uint32_t *subtree,
                              phl_error *error)
{
    phl_status status;
    if (builder->no_sharing) {
        status = append_node(builder, label, leaf_slot, links, n_links, 0, error);
        if (status == PHL_OK) {
            *subtree = (uint32_t)(builder->n_nodes - 1);
        }
        return status;
    }
    phl_hash_table *table = &builder->table;
    status = phl_hash_table_reserve(table, builder->n_nodes, FIRST_TABLE_SIZE, hash_of_node,
                                    builder, error);
    if (status != PHL_OK) {
        return status;
    }
    uint32_t hash = hash_subtree(label, leaf_slot, links, n_links), number;
    size_t place = phl_hash_table_place(table, hash);
    for (; phl_hash_table_next(table, hash, &place, &number);
         place = phl_hash_table_after(table, place)) {
        if (same_subtree(builder, number, label, leaf_slot, links, n_links)) {
            *subtree = number;
            return PHL_OK;
        }
    }
    status = append_node(builder, label, leaf_slot, links, n_links, hash, error);
    if (status == PHL_OK) {
        phl_hash_table_put(table, place, hash, builder->n_nodes - 1);
        *subtree = (uint32_t)(builder->n_nodes - 1);
    }
    return status;
}

/* Take the nodes above `count` out again. */
static void truncate_nodes(phl_builder *builder, size_t count)
{
    while (builder->n_nodes > count) {
        size_t last = builder->n_nodes - 1;
        if (builder->table.size > 0) {
            phl_hash_table_remove_last(&builder->table, builder->nodes[last].hash, last);
        }
        builder->n_nodes = last;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Opening and closing nodes
 * ------------------------------------------------------------------------------------------- */

phl_status phl_builder_label(phl_builder *builder, const char *name, size_t length, int32_t *label,
                             phl_error *error)
{
    return phl_alphabet_add(&builder->labels, name, length, label, error);
}

static phl_status raise_too_many_children(phl_error *error, uint64_t cap)
{
    return phl_raise(error, PHL_ERR_LIMIT,
                     "raise the cap with " PHL_OPTION_TO("read.max_children", ""),
                     "a child in a slot beyond %llu", (unsigned long long)cap);
}

/* Settle the slot of a new node (0: the next one of its parent) and count it against the caps. */
static inline phl_status take_slot(phl_builder *builder, uint32_t *slot, phl_error *error)
{
    if (builder->depth == 0) {
        if (builder->n_pending != 0) {
            return phl_raise(error, PHL_ERR_SYNTAX, NULL, "a second root in one tree");
        }
        *slot = 1;
    } else {
        phl_frame *parent = &builder->frames[builder->depth - 1];
        if (*slot == 0) {
            *slot = parent->next_slot;
        }
        if (*slot >= UINT32_MAX || (builder->max_slot != 0 && *slot > builder->max_slot)) {
            return raise_too_many_children(error, builder->max_slot);
        }
        if (*slot < parent->next_slot) {
            parent->unsorted = true;
        } else {
            parent->next_slot = *slot + 1;
        }
    }
    if (builder->max_nodes != 0 && builder->tree_nodes >= builder->max_nodes) {
        return phl_raise(
            error, PHL_ERR_LIMIT, "raise the cap with " PHL_OPTION_TO("read.max_nodes", ""),
            "a tree with more than %llu nodes", (unsigned long long)builder->max_nodes);
    }
    builder->tree_nodes++;
    return PHL_OK;
}

phl_status phl_builder_open_label(phl_builder *builder, int32_t label, uint32_t slot,
                                  phl_error *error)
{
    phl_status status = take_slot(builder, &slot, error);
    if (status == PHL_OK) {
        status = phl_grow(&builder->frames, &builder->frame_capacity, builder->depth + 1,
                          sizeof *builder->frames, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_frame *frame = &builder->frames[builder->depth++];
    frame->first_pending = builder->n_pending;
    frame->label = label;
    frame->slot = slot;
    frame->next_slot = 1;
    frame->unsorted = false;
    return PHL_OK;
}

phl_status phl_builder_leaf(phl_builder *builder, int32_t label, uint32_t slot, phl_error *error)
{
    uint32_t subtree;
    phl_status status = take_slot(builder, &slot, error);
    if (status == PHL_OK) {
        status = phl_grow(&builder->pending, &builder->pending_capacity, builder->n_pending + 1,
                          sizeof *builder->pending, error);
    }
    if (status == PHL_OK) {
        status = phl_builder_intern(builder, label, slot, NULL, 0, &subtree, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_link *link = &builder->pending[builder->n_pending++];
    link->slot = slot;
    link->child = subtree;
    return PHL_OK;
}

phl_status phl_builder_skip_slot(phl_builder *builder, phl_error *error)
{
    if (builder->depth == 0) {
        return phl_raise(error, PHL_ERR_SYNTAX, NULL, "an empty slot outside of a node");
    }
    phl_frame *parent = &builder->frames[builder->depth - 1];
    if (parent->next_slot >= UINT32_MAX - 1 ||
        (builder->max_slot != 0 && parent->next_slot > builder->max_slot)) {
        return raise_too_many_children(error, builder->max_slot);
    }
    parent->next_slot++;
    return PHL_OK;
}

static int compare_slots(const void *left, const void *right)
{
    uint32_t a = ((const phl_link *)left)->slot;
    uint32_t b = ((const phl_link *)right)->slot;
    return (a > b) - (a < b);
}

static phl_status sort_links(phl_builder *builder, phl_link *links, size_t n, phl_error *error)
{
    qsort(links, n, sizeof *links, compare_slots);
    for (size_t i = 1; i < n; i++) {
        if (links[i].slot == links[i - 1].slot) {
            builder->double_slot = links[i].slot;
            return phl_raise(error, PHL_ERR_SYNTAX, "give every child a slot of its own",
                             "two children in slot %u", links[i].slot);
        }
    }
    return PHL_OK;
}

phl_status phl_builder_close(phl_builder *builder, phl_error *error)
{
    phl_status status = PHL_OK;
    if (builder->depth == 0) {
        status = phl_raise(error, PHL_ERR_SYNTAX, NULL, "a node is closed that was not opened");
        phl_builder_abandon_tree(builder);
        return status;
    }
    const phl_frame *frame = &builder->frames[builder->depth - 1];
    size_t n = builder->n_pending - frame->first_pending;
    phl_link *links = NULL;
    /* Room for the link to the node itself, which takes the place of its own links. */
    status = phl_grow(&builder->pending, &builder->pending_capacity, frame->first_pending + 1,
                      sizeof *builder->pending, error);
    if (status == PHL_OK) {
        links = builder->pending + frame->first_pending;
        status = frame->unsorted ? sort_links(builder, links, n, error) : PHL_OK;
    }
    uint32_t subtree;
    if (status == PHL_OK) {
        status = phl_builder_intern(builder, frame->label, n == 0 ? frame->slot : 0, links, n,
                                    &subtree, error);
    }
    if (status != PHL_OK) {
        phl_builder_abandon_tree(builder);
        return status;
    }
    links[0].slot = frame->slot;
    links[0].child = subtree;
    builder->n_pending = frame->first_pending + 1;
    builder->depth--;
    return PHL_OK;
}

phl_status phl_builder_open(phl_builder *builder, const char *label, uint32_t slot,
                            phl_error *error)
{
    int32_t number = PHL_UNKNOWN;
    phl_status status = PHL_OK;
    if (slot == 0) {
        status = phl_raise(error, PHL_ERR_ARGUMENT, NULL, "slot 0: slots are numbered from 1");
    } else if (label != NULL) {
        size_t length = strlen(label);
        if (phl_utf8_check(label, length) != length) {
            status = phl_raise(error, PHL_ERR_ENCODING, NULL, "a label is not UTF-8");
        } else {
            status = phl_builder_label(builder, label, length, &number, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_builder_open_label(builder, number, slot, error);
    }
    if (status != PHL_OK) {
        phl_builder_abandon_tree(builder);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Trees
 * ------------------------------------------------------------------------------------------- */

phl_status phl_builder_take_root(phl_builder *builder, uint32_t *root, phl_error *error)
{
    if (builder->depth != 0 || builder->n_pending != 1) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "close the root before ending the tree",
                         "the tree is not complete");
    }
    *root = builder->pending[0].child;
    return PHL_OK;
}

static phl_status reserve_tree(phl_builder *builder, const phl_tree_entry *entry, phl_error *error)
{
    size_t needed = builder->n_trees + 1;
    const phl_room rooms[] = {
        {&builder->tree_root, &builder->root_capacity, needed, sizeof(uint32_t)},
        {&builder->tree_class, &builder->class_capacity, needed, sizeof(int32_t)},
        {&builder->tree_file, &builder->file_capacity, needed, sizeof(uint32_t)},
        {&builder->tree_line, &builder->line_capacity, needed, sizeof(uint32_t)},
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (status == PHL_OK && (entry->weight != 1.0 || builder->tree_weight != NULL)) {
        bool first = builder->tree_weight == NULL;
        status = phl_grow(&builder->tree_weight, &builder->weight_capacity, needed, sizeof(double),
                          error);
        for (size_t i = 0; status == PHL_OK && first && i < builder->n_trees; i++) {
            builder->tree_weight[i] = 1.0;
        }
    }
    if (status == PHL_OK && (entry->id >= 0 || builder->tree_id != NULL)) {
        bool first = builder->tree_id == NULL;
        status = phl_grow(&builder->tree_id, &builder->id_capacity, needed, sizeof(int32_t), error);
        for (size_t i = 0; status == PHL_OK && first && i < builder->n_trees; i++) {
            builder->tree_id[i] = -1;
        }
    }
    return status;
}

void phl_builder_keep(phl_builder *builder)
{
    builder->mark_nodes = builder->n_nodes;
    builder->mark_links = builder->n_links;
    builder->mark_labels = builder->labels.count;
    builder->mark_classes = builder->classes.count;
    builder->mark_files = builder->files.count;
    builder->mark_ids = builder->ids.count;
    builder->n_pending = 0;
    builder->depth = 0;
    builder->tree_nodes = 0;
}

phl_status phl_builder_enter_tree(phl_builder *builder, const phl_tree_entry *entry,
                                  phl_error *error)
{
    phl_status status = reserve_tree(builder, entry, error);
    if (status != PHL_OK) {
        return status;
    }
    size_t tree = builder->n_trees++;
    builder->tree_root[tree] = entry->root;
    builder->tree_class[tree] = entry->class_number;
    builder->tree_file[tree] = (uint32_t)(entry->file + 1);
    builder->tree_line[tree] = entry->line > UINT32_MAX ? 0 : (uint32_t)entry->line;
    if (builder->tree_weight != NULL) {
        builder->tree_weight[tree] = entry->weight;
    }
    if (builder->tree_id != NULL) {
        builder->tree_id[tree] = entry->id;
    }
    phl_builder_keep(builder);
    return PHL_OK;
}

/* Number of an optional name in an alphabet: -1 for NULL. */
static phl_status number_name(phl_alphabet *alphabet, const char *what, const char *name,
                              int32_t *number, phl_error *error)
{
    *number = -1;
    if (name == NULL) {
        return PHL_OK;
    }
    size_t length = strlen(name);
    if (phl_utf8_check(name, length) != length) {
        return phl_raise(error, PHL_ERR_ENCODING, NULL, "a tree's %s is not UTF-8", what);
    }
    return phl_alphabet_add(alphabet, name, length, number, error);
}

phl_status phl_builder_end_tree(phl_builder *builder, const phl_tree_info *info, phl_error *error)
{
    static const phl_tree_info nothing = {NULL, 1.0, NULL, NULL, 0};
    if (info == NULL) {
        info = &nothing;
    }
    phl_tree_entry entry = {0};
    entry.weight = info->weight == 0.0 ? 1.0 : info->weight;
    entry.line = info->line;
    phl_status status = phl_builder_take_root(builder, &entry.root, error);
    if (status == PHL_OK && !(isfinite(entry.weight) && entry.weight > 0.0)) {
        status = phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                           "a tree's weight is %g; it must be finite and positive", info->weight);
    }
    if (status == PHL_OK) {
        status =
            number_name(&builder->classes, "class", info->class_name, &entry.class_number, error);
    }
    if (status == PHL_OK) {
        status = number_name(&builder->ids, "id", info->id, &entry.id, error);
    }
    if (status == PHL_OK) {
        status = number_name(&builder->files, "file name", info->file, &entry.file, error);
    }
    if (status == PHL_OK) {
        status = phl_builder_enter_tree(builder, &entry, error);
    }
    if (status != PHL_OK) {
        phl_builder_abandon_tree(builder);
    }
    return status;
}

void phl_builder_abandon_tree(phl_builder *builder)
{
    truncate_nodes(builder, builder->mark_nodes);
    builder->n_links = builder->mark_links;
    phl_alphabet_truncate(&builder->labels, builder->mark_labels);
    phl_alphabet_truncate(&builder->classes, builder->mark_classes);
    phl_alphabet_truncate(&builder->files, builder->mark_files);
    phl_alphabet_truncate(&builder->ids, builder->mark_ids);
    builder->n_pending = 0;
    builder->depth = 0;
    builder->tree_nodes = 0;
}

/* ---------------------------------------------------------------------------------------------
 * Freezing
 * ------------------------------------------------------------------------------------------- */

/* Heights of all nodes, and how many different ones there are.  Children come before parents. */
static void measure_heights(const phl_builder *builder, uint32_t *height, size_t *n_levels)
{
    uint32_t highest = 0;
    for (size_t i = 0; i < builder->n_nodes; i++) {
        const phl_node *node = &builder->nodes[i];
        uint32_t tallest = 0;
        for (uint32_t k = 0; k < node->n_links; k++) {
            uint32_t below = height[builder->links[node->first_link + k].child] + 1;
            tallest = below > tallest ? below : tallest;
        }
        height[i] = tallest;
        highest = tallest > highest ? tallest : highest;
    }
    *n_levels = builder->n_nodes == 0 ? 0 : (size_t)highest + 1;
}

/* Copy nodes and links into the forest in order of height (of creation within a height). */
static void renumber(const phl_builder *builder, const uint32_t *new_number, phl_forest *forest)
{
    for (size_t i = 0; i < builder->n_nodes; i++) {
        const phl_node *node = &builder->nodes[i];
        uint32_t to = new_number[i];
        forest->label[to] = node->label;
        forest->leaf_slot[to] = node->leaf_slot;
        forest->first_link[to + 1] = node->n_links;
    }
    forest->first_link[0] = 0;
    for (size_t i = 0; i < builder->n_nodes; i++) {
        forest->first_link[i + 1] += forest->first_link[i];
    }
    for (size_t i = 0; i < builder->n_nodes; i++) {
        const phl_node *node = &builder->nodes[i];
        if (node->n_links == 0) {
            continue;
        }
        const phl_link *from = builder->links + node->first_link;
        phl_link *to = forest->links + forest->first_link[new_number[i]];
        for (uint32_t k = 0; k < node->n_links; k++) {
            to[k].slot = from[k].slot;
            to[k].child = new_number[from[k].child];
        }
        if (from[node->n_links - 1].slot > forest->max_slot) {
            forest->max_slot = from[node->n_links - 1].slot;
        }
    }
}

static void count_occurrences(phl_forest *forest)
{
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        forest->multiplicity[forest->tree_root[tree]]++;
    }
    for (size_t i = forest->n_subtrees; i-- > 0;) {
        for (uint64_t k = forest->first_link[i]; k < forest->first_link[i + 1]; k++) {
            forest->multiplicity[forest->links[k].child] += forest->multiplicity[i];
        }
    }
}

/* Hand over what the forest keeps as it is. */
static void move_trees(phl_builder *builder, phl_forest *forest)
{
    forest->labels = builder->labels;
    forest->classes = builder->classes;
    forest->files = builder->files;
    forest->ids = builder->ids;
    memset(&builder->labels, 0, sizeof builder->labels);
    memset(&builder->classes, 0, sizeof builder->classes);
    memset(&builder->files, 0, sizeof builder->files);
    memset(&builder->ids, 0, sizeof builder->ids);
    forest->shared = !builder->no_sharing;
    forest->n_trees = builder->n_trees;
    forest->tree_root = builder->tree_root;
    forest->tree_class = builder->tree_class;
    forest->tree_file = builder->tree_file;
    forest->tree_line = builder->tree_line;
    forest->tree_weight = builder->tree_weight;
    forest->tree_id = builder->tree_id;
    builder->tree_root = NULL;
    builder->tree_class = NULL;
    builder->tree_file = NULL;
    builder->tree_line = NULL;
    builder->tree_weight = NULL;
    builder->tree_id = NULL;
    builder->root_capacity = builder->class_capacity = builder->file_capacity = 0;
    builder->line_capacity = builder->weight_capacity = builder->id_capacity = 0;
    size_t n = forest->n_trees;
    phl_shrink(&forest->tree_root, n, sizeof *forest->tree_root);
    phl_shrink(&forest->tree_class, n, sizeof *forest->tree_class);
    phl_shrink(&forest->tree_file, n, sizeof *forest->tree_file);
    phl_shrink(&forest->tree_line, n, sizeof *forest->tree_line);
    phl_shrink(&forest->tree_weight, n, sizeof *forest->tree_weight);
    phl_shrink(&forest->tree_id, n, sizeof *forest->tree_id);
}

/* Fill a forest with what the builder holds; height becomes the new number of each node. */
static phl_status fill_forest(phl_builder *builder, uint32_t *height, phl_forest *made,
                              phl_error *error)
{
    size_t n = builder->n_nodes;
    measure_heights(builder, height, &made->n_levels);
    made->n_subtrees = n;
    made->n_links = builder->n_links;
    made->label = phl_alloc(n, sizeof *made->label, error);
    made->leaf_slot = made->label ? phl_alloc(n, sizeof *made->leaf_slot, error) : NULL;
    made->first_link = made->leaf_slot ? phl_alloc(n + 1, sizeof *made->first_link, error) : NULL;
    made->multiplicity =
        made->first_link ? phl_alloc_zero(n, sizeof *made->multiplicity, error) : NULL;
    made->links = made->multiplicity ? phl_alloc(made->n_links, sizeof *made->links, error) : NULL;
    made->level =
        made->links ? phl_alloc_zero(made->n_levels + 1, sizeof *made->level, error) : NULL;
    if (made->level == NULL) {
        return PHL_ERR_MEMORY;
    }
    /* Counting sort by height: level[h + 1] counts, then begins, then (while numbering) is the next
     * free number of height h; at the end level[h] is the first number of height h. */
    for (size_t i = 0; i < n; i++) {
        made->level[height[i] + 1]++;
    }
    for (size_t h = 0; h < made->n_levels; h++) {
        made->level[h + 1] += made->level[h];
    }
    for (size_t i = 0; i < n; i++) {
        height[i] = made->level[height[i]]++;
    }
    for (size_t h = made->n_levels; h > 0; h--) {
        made->level[h] = made->level[h - 1];
    }
    made->level[0] = 0;
    made->max_slot = builder->n_trees > 0 ? 1 : 0;
    renumber(builder, height, made);
    for (size_t tree = 0; tree < builder->n_trees; tree++) {
        builder->tree_root[tree] = height[builder->tree_root[tree]];
    }
    move_trees(builder, made);
    count_occurrences(made);
    return PHL_OK;
}

/* The forest of what the builder holds; nodes and links stay in the builder, all else moves. */
static phl_status freeze(phl_builder *builder, phl_forest **forest, phl_error *error)
{
    phl_forest *made = phl_alloc_zero(1, sizeof *made, error);
    uint32_t *height = phl_alloc(builder->n_nodes, sizeof *height, error);
    phl_status status =
        made == NULL || height == NULL ? PHL_ERR_MEMORY : fill_forest(builder, height, made, error);
    if (status == PHL_OK) {
        *forest = made;
        made = NULL;
    }
    phl_free(height);
    phl_forest_free(made);
    return status;
}

phl_status phl_builder_finish(phl_builder *builder, phl_forest **forest, phl_error *error)
{
    if (builder->finished) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "the builder was finished before");
    }
    builder->finished = true;
    phl_builder_abandon_tree(builder); /* an unfinished tree does not count */
    phl_hash_table_clear(&builder->table);
    return freeze(builder, forest, error);
}

phl_status phl_builder_take_forest(phl_builder *builder, phl_forest **forest, phl_error *error)
{
    phl_builder_abandon_tree(builder);
    phl_status status = freeze(builder, forest, error);
    if (status != PHL_OK) {
        return status;
    }
    /* A table made for many nodes that holds few is not worth going through. */
    if (builder->n_nodes < builder->table.size / 16) {
        truncate_nodes(builder, 0);
    } else {
        phl_hash_table_empty(&builder->table);
    }
    builder->n_nodes = builder->n_links = builder->n_trees = 0;
    phl_builder_keep(builder);
    return PHL_OK;
}
