/* json_nodes.c - from the numbers of a json object to the nodes of a tree.
 *
 * Parents are sorted into lists of children; then the nodes are handed to the builder from the root
 * down, with a stack of our own.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "format/json.h"

static phl_position place(const phl_json_parse *parse, const char *at)
{
    return phl_lines_position(&parse->line.lines, parse->line.line, at);
}

/* The place of an entry of `parent` or `slot`. */
static phl_position entry_place(const phl_json_parse *parse, enum phl_json_key key, size_t node)
{
    return place(parse, phl_json_scan_entry(parse->value[key], node));
}

/* An integer that is not in its range, with its digits as they stand there. */
phl_status phl_json_nodes_out_of_range(const phl_json_parse *parse, enum phl_json_key key,
                                       size_t node, const char *expected, phl_error *error)
{
    const char *at = phl_json_scan_entry(parse->value[key], node);
    bool whole;
    const char *end = phl_json_number(at, &whole);
    char excerpt[PHL_EXCERPT_SIZE];
    return phl_raise_at(error, PHL_ERR_SYNTAX, place(parse, at), NULL,
                        "\"%s\"[%zu] is %s, expected %s",
                        key == PHL_JSON_PARENT ? "parent" : "slot", node,
                        phl_text_excerpt(at, (size_t)(end - at), excerpt), expected);
}

/* The root, and every other node's parent in its range. */
static phl_status find_root(const phl_json_parse *parse, size_t n, size_t *root, phl_error *error)
{
    const uint32_t *parent = parse->columns[PHL_JSON_PARENT].values;
    *root = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (parent[i] < n) {
            continue;
        }
        if (parent[i] != PHL_JSON_NO_PARENT) {
            char range[48];
            (void)snprintf(range, sizeof range, "-1 to %zu", n - 1);
            return phl_json_nodes_out_of_range(parse, PHL_JSON_PARENT, i, range, error);
        }
        if (*root != SIZE_MAX) {
            return phl_raise_at(error, PHL_ERR_SYNTAX, entry_place(parse, PHL_JSON_PARENT, i),
                                "one tree per object",
                                "\"parent\"[%zu] is -1, but node %zu is the root already", i,
                                *root);
        }
        *root = i;
    }
    if (*root == SIZE_MAX) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, place(parse, parse->value[PHL_JSON_PARENT]),
                            NULL, "no root, expected one \"parent\" of -1");
    }
    if (parse->value[PHL_JSON_SLOT] != NULL && parse->columns[PHL_JSON_SLOT].values[*root] != 1) {
        return phl_json_nodes_out_of_range(parse, PHL_JSON_SLOT, *root, "1 for the root", error);
    }
    return PHL_OK;
}

/* Children by parent, in order of node number: a counting sort. */
static phl_status sort_children(phl_json_parse *parse, size_t n, phl_error *error)
{
    const phl_room rooms[] = {
        PHL_ROOM(parse->first, parse->first_capacity, n + 2),
        PHL_ROOM(parse->order, parse->order_capacity, n),
        PHL_ROOM(parse->stack, parse->stack_capacity, n),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (status != PHL_OK) {
        return status;
    }
    const uint32_t *parent = parse->columns[PHL_JSON_PARENT].values;
    memset(parse->first, 0, (n + 2) * sizeof *parse->first);
    for (size_t i = 0; i < n; i++) {
        if (parent[i] != PHL_JSON_NO_PARENT) {
            parse->first[(size_t)parent[i] + 2]++;
        }
    }
    for (size_t i = 2; i < n + 2; i++) {
        parse->first[i] += parse->first[i - 1];
    }
    for (size_t i = 0; i < n; i++) {
        if (parent[i] != PHL_JSON_NO_PARENT) {
            parse->order[parse->first[(size_t)parent[i] + 1]++] = (uint32_t)i;
        }
    }
    return PHL_OK;
}

/* first[i] is where the children of node i begin in `order`, and serves as the cursor: they end
 * where an entry has another parent. */
static inline bool has_child(const phl_json_parse *parse, size_t node, size_t n)
{
    size_t next = parse->first[node];
    return next < n - 1 && parse->columns[PHL_JSON_PARENT].values[parse->order[next]] == node;
}

/* Nodes are left that the walk from the root did not come to: one of them has a child. */
static phl_status raise_cycle(const phl_json_parse *parse, size_t n, size_t seen, phl_error *error)
{
    size_t node = 0;
    while (node < n - 1 && !has_child(parse, node, n)) {
        node++;
    }
    return phl_raise_at(error, PHL_ERR_SYNTAX, entry_place(parse, PHL_JSON_PARENT, node), NULL,
                        "%zu of %zu nodes are not below the root: \"parent\" has a cycle", n - seen,
                        n);
}

/* Where the builder objects to closing `node`: at the second of two children in one slot. */
static phl_position clash_place(const phl_json_parse *parse, size_t node)
{
    const uint32_t *slot = parse->columns[PHL_JSON_SLOT].values;
    size_t found = node;
    if (parse->value[PHL_JSON_SLOT] == NULL) {
        return entry_place(parse, PHL_JSON_PARENT, node);
    }
    for (size_t i = 0, met = 0; met < 2 && i < parse->columns[PHL_JSON_SLOT].n; i++) {
        if (parse->columns[PHL_JSON_PARENT].values[i] == node &&
            slot[i] == parse->reader->builder->double_slot) {
            found = i;
            met++;
        }
    }
    return entry_place(parse, PHL_JSON_SLOT, found);
}

/* Hand the nodes to the builder, depth first. */
phl_status phl_json_nodes(phl_json_parse *parse, phl_error *error)
{
    phl_builder *builder = parse->reader->builder;
    const int32_t *label = (const int32_t *)parse->columns[PHL_JSON_LABEL].values;
    const uint32_t *slot =
        parse->value[PHL_JSON_SLOT] != NULL ? parse->columns[PHL_JSON_SLOT].values : NULL;
    size_t n = parse->columns[PHL_JSON_LABEL].n;
    size_t root;
    phl_status status = find_root(parse, n, &root, error);
    if (status == PHL_OK) {
        status = sort_children(parse, n, error);
    }
    if (status == PHL_OK) {
        status = phl_builder_open_label(builder, label[root], 1, error);
    }
    if (status != PHL_OK) {
        return phl_error_locate(error, place(parse, parse->value[PHL_JSON_PARENT]));
    }
    size_t depth = 0, seen = 1;
    parse->stack[depth++] = (uint32_t)root;
    while (depth > 0) {
        size_t node = parse->stack[depth - 1];
        if (has_child(parse, node, n)) {
            size_t child = parse->order[parse->first[node]++];
            uint32_t its_slot = slot != NULL ? slot[child] : 0;
            seen++;
            if (has_child(parse, child, n)) {
                status = phl_builder_open_label(builder, label[child], its_slot, error);
                parse->stack[depth++] = (uint32_t)child;
            } else {
                status = phl_builder_leaf(builder, label[child], its_slot, error);
            }
            if (status != PHL_OK) {
                return phl_error_locate(error, entry_place(parse, PHL_JSON_PARENT, child));
            }
        } else {
            status = phl_builder_close(builder, error);
            if (status != PHL_OK) {
                return phl_error_locate(error, clash_place(parse, node));
            }
            depth--;
        }
    }
    return seen == n ? PHL_OK : raise_cycle(parse, n, seen, error);
}
