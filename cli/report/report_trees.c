/* report_trees.c - trees of a report; see report.h.
 *
 * Contents: a table of distinct subtrees, one tree node by node.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* What a page can hold and a person can look at. */
enum { MOST_CHILDREN = 60, MOST_DEPTH = 60, MOST_LINKS = 250000, MOST_NODES = 300 };

/* ---- a table of distinct subtrees ---- */

typedef struct selection {
    const phl_forest *forest;
    int32_t *number;  /* of each subtree in the table; -1: not in it */
    uint32_t *depth;  /* the least at which it occurs; UINT32_MAX: not at all */
    uint32_t *listed; /* [n] subtrees of the table */
    int32_t *name;    /* of each label its place among those of the table; -1: it has none */
    size_t n, links;
} selection;

/* Children to list of a subtree. */
static size_t children_of(const selection *s, uint32_t subtree, const phl_link **links)
{
    size_t n = phl_subtree_links(s->forest, subtree, links);
    if (s->depth[subtree] >= MOST_DEPTH) {
        return 0;
    }
    return n > MOST_CHILDREN ? MOST_CHILDREN : n;
}

/* Depths from the roots down: parents have higher numbers than children. */
static void select_needed(selection *s)
{
    const phl_link *links;
    for (size_t i = phl_forest_subtrees(s->forest); i-- > 0;) {
        if (s->depth[i] == UINT32_MAX) {
            continue;
        }
        size_t n = children_of(s, (uint32_t)i, &links);
        if (s->links + n > MOST_LINKS) {
            continue;
        }
        s->links += n;
        s->number[i] = 0;
        for (size_t k = 0; k < n; k++) {
            uint32_t *depth = &s->depth[links[k].child];
            *depth = *depth > s->depth[i] + 1 ? s->depth[i] + 1 : *depth;
        }
    }
    for (size_t i = 0; i < phl_forest_subtrees(s->forest); i++) {
        if (s->number[i] == 0) {
            s->number[i] = (int32_t)s->n;
            s->listed[s->n++] = (uint32_t)i;
        }
    }
}

/* The names of labels that the table has. */
static void put_labels(json_writer *json, selection *s)
{
    int32_t n = 0;
    for (size_t i = 0; i < phl_forest_labels(s->forest); i++) {
        s->name[i] = -1;
    }
    json_out_array(json, "labels", true);
    for (size_t i = 0; i < s->n; i++) {
        int32_t label = phl_subtree_label(s->forest, s->listed[i]);
        if (label != PHL_UNKNOWN && s->name[label] < 0) {
            s->name[label] = n++;
            report_values_name(json, phl_forest_label_name(s->forest, label));
        }
    }
    json_out_close(json, ']');
}

static void put_integer(json_writer *json, int64_t number)
{
    char text[NUMBER_SIZE];
    snprintf(text, sizeof text, "%lld", (long long)number);
    json_out_raw(json, text);
}

/* Numbers of the listed subtrees under a key. */
static void put_column(json_writer *json, const selection *s, const char *key,
                       int64_t (*value)(const selection *, uint32_t))
{
    json_out_array(json, key, true);
    for (size_t i = 0; i < s->n; i++) {
        put_integer(json, value(s, s->listed[i]));
    }
    json_out_close(json, ']');
}

static int64_t label_of(const selection *s, uint32_t subtree)
{
    int32_t label = phl_subtree_label(s->forest, subtree);
    return label == PHL_UNKNOWN ? -1 : s->name[label];
}

static int64_t count_of(const selection *s, uint32_t subtree)
{
    const phl_link *links;
    return (int64_t)children_of(s, subtree, &links);
}

/* Of each child its place in the table, and for subtrees with empty slots the slots. */
static void put_children(json_writer *json, const selection *s)
{
    const phl_link *links;
    char key[NUMBER_SIZE];
    json_out_array(json, "child", true);
    for (size_t i = 0; i < s->n; i++) {
        size_t n = children_of(s, s->listed[i], &links);
        for (size_t k = 0; k < n; k++) {
            put_integer(json, s->number[links[k].child]);
        }
    }
    json_out_close(json, ']');
    json_out_object(json, "slots", true);
    for (size_t i = 0; i < s->n; i++) {
        size_t n = children_of(s, s->listed[i], &links);
        if (n > 0 && links[n - 1].slot != n) {
            snprintf(key, sizeof key, "%zu", i);
            json_out_array(json, key, true);
            for (size_t k = 0; k < n; k++) {
                json_out_integer(json, links[k].slot);
            }
            json_out_close(json, ']');
        }
    }
    json_out_close(json, '}');
    json_out_object(json, "left_out", true);
    for (size_t i = 0; i < s->n; i++) {
        size_t n = children_of(s, s->listed[i], &links);
        size_t all = phl_subtree_links(s->forest, s->listed[i], &links);
        if (all > n) {
            snprintf(key, sizeof key, "%zu", i);
            json_out_count(json, key, all - n);
        }
    }
    json_out_close(json, '}');
}

void report_trees_table(json_writer *json, const phl_forest *forest, const uint32_t *roots,
                        size_t n, int32_t *number)
{
    size_t subtrees = phl_forest_subtrees(forest);
    selection s = {.forest = forest,
                   .number = number,
                   .depth = terminal_allocate(subtrees + 1, sizeof *s.depth),
                   .listed = terminal_allocate(subtrees + 1, sizeof *s.listed),
                   .name = terminal_allocate(phl_forest_labels(forest) + 1, sizeof *s.name)};
    for (size_t i = 0; i < subtrees; i++) {
        s.number[i] = -1;
        s.depth[i] = UINT32_MAX;
    }
    for (size_t i = 0; i < n; i++) {
        s.depth[roots[i]] = 0;
    }
    select_needed(&s);
    json_out_object(json, "subtrees", false);
    put_labels(json, &s);
    put_column(json, &s, "label", label_of);
    put_column(json, &s, "children", count_of);
    put_children(json, &s);
    json_out_close(json, '}');
    free(s.depth);
    free(s.listed);
    free(s.name);
}

/* ---- one tree node by node ---- */

/* The deepest level down to which at most MOST_NODES nodes lie, and the nodes in all. */
static phl_status find_depth(phl_walk *walk, size_t tree, size_t *depth, size_t *nodes,
                             phl_error *error)
{
    size_t *levels = terminal_allocate(MOST_NODES + 1, sizeof *levels), sum = 0;
    phl_visit visit;
    int more;
    *nodes = *depth = 0;
    phl_walk_start(walk, tree);
    while ((more = phl_walk_next(walk, &visit, error)) > 0) {
        ++*nodes;
        levels[visit.depth < MOST_NODES ? visit.depth : MOST_NODES]++;
    }
    for (size_t d = 0; d < MOST_NODES && sum + levels[d] <= MOST_NODES; d++) {
        sum += levels[d];
        *depth = d;
    }
    free(levels);
    return more < 0 ? (phl_status)more : PHL_OK;
}

phl_status report_trees_flatten(const phl_forest *forest, phl_walk *walk, size_t tree,
                                flat_tree *flat, phl_error *error)
{
    size_t depth, nodes, room = MOST_NODES;
    phl_visit visit;
    int more = 0;
    (void)forest;
    phl_status status = find_depth(walk, tree, &depth, &nodes, error);
    if (status != PHL_OK) {
        return status;
    }
    *flat = (flat_tree){.node = terminal_allocate(room, sizeof *flat->node),
                        .label = terminal_allocate(room, sizeof *flat->label),
                        .parent = terminal_allocate(room, sizeof *flat->parent),
                        .slot = terminal_allocate(room, sizeof *flat->slot)};
    int64_t *last = terminal_allocate(depth + 2, sizeof *last); /* the last node of each depth */
    phl_walk_start(walk, tree);
    while ((more = phl_walk_next(walk, &visit, error)) > 0) {
        /* A root with too many children: some of them. */
        if (visit.depth > depth && !(depth == 0 && visit.depth == 1)) {
            continue;
        }
        if (flat->n == room) {
            break;
        }
        flat->node[flat->n] = visit.node;
        flat->label[flat->n] = visit.label;
        flat->parent[flat->n] = visit.depth == 0 ? -1 : last[visit.depth - 1];
        flat->slot[flat->n] = visit.slot;
        last[visit.depth] = (int64_t)flat->n++;
    }
    flat->left_out = nodes - flat->n;
    free(last);
    if (more < 0) {
        report_trees_clear(flat);
        return (phl_status)more;
    }
    return PHL_OK;
}

void report_trees_flat(json_writer *json, const phl_forest *forest, const flat_tree *flat)
{
    json_out_array(json, "label", true);
    for (size_t i = 0; i < flat->n; i++) {
        report_values_name(json, flat->label[i] == PHL_UNKNOWN
                                     ? NULL
                                     : phl_forest_label_name(forest, flat->label[i]));
    }
    json_out_close(json, ']');
    json_out_array(json, "parent", true);
    for (size_t i = 0; i < flat->n; i++) {
        put_integer(json, flat->parent[i]);
    }
    json_out_close(json, ']');
    json_out_array(json, "slot", true);
    for (size_t i = 0; i < flat->n; i++) {
        json_out_integer(json, flat->slot[i]);
    }
    json_out_close(json, ']');
    json_out_count(json, "left_out", flat->left_out);
}

void report_trees_clear(flat_tree *flat)
{
    free(flat->node);
    free(flat->label);
    free(flat->parent);
    free(flat->slot);
    *flat = (flat_tree){0};
}
