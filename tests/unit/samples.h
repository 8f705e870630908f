/* samples.h - small random trees as plain arrays, for tests of what the library makes of them.
 *
 * Everything here is decided by brute force on the arrays, so that it can serve as a reference.
 */
#ifndef PHL_TESTS_SAMPLES_H
#define PHL_TESTS_SAMPLES_H

#include <string.h>

#include "formats.h"

enum { SAMPLE_NODES = 40 };

/* Node 0 is the root; parents come before their children. */
typedef struct sample {
    size_t n;
    size_t parent[SAMPLE_NODES];
    uint32_t slot[SAMPLE_NODES];
    const char *label[SAMPLE_NODES]; /* NULL: unknown */
    const char *class_name;          /* or NULL */
    double weight;
} sample;

/* xorshift64*: 0 .. bound - 1. */
static inline uint64_t sample_random(uint64_t *seed, uint64_t bound)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (*seed * 2685821657736338717u >> 11) % bound;
}

static inline bool sample_slot_taken(const sample *tree, size_t parent, uint32_t slot)
{
    for (size_t i = 1; i < tree->n; i++) {
        if (tree->parent[i] == parent && tree->slot[i] == slot) {
            return true;
        }
    }
    return false;
}

/* A tree of up to `most` nodes over few labels, with empty slots and unknown labels. */
static inline void sample_make(sample *tree, uint64_t *seed, const char *const *names,
                               size_t n_names, size_t most)
{
    size_t wanted = 1 + sample_random(seed, most);
    memset(tree, 0, sizeof *tree);
    while (tree->n < wanted) {
        size_t i = tree->n;
        uint32_t slot = 1;
        size_t parent = i == 0 ? 0 : sample_random(seed, i);
        do {
            slot = i == 0 ? 1 : 1 + (uint32_t)sample_random(seed, 6);
            parent = i == 0 ? 0 : sample_random(seed, i);
        } while (i > 0 && sample_slot_taken(tree, parent, slot));
        tree->parent[i] = parent;
        tree->slot[i] = slot;
        tree->label[i] = sample_random(seed, 12) == 0 ? NULL : names[sample_random(seed, n_names)];
        tree->n++;
    }
    tree->class_name = sample_random(seed, 5) == 0 ? NULL : names[sample_random(seed, n_names)];
    tree->weight = 1.0;
}

/* Nodes in pre-order, siblings by ascending or descending slot; depth[k] is that of order[k]. */
static inline void sample_order(const sample *tree, bool descending, size_t *order, size_t *depth)
{
    size_t path[SAMPLE_NODES];
    uint32_t last[SAMPLE_NODES]; /* slot visited last, for each node of the path */
    size_t length = 1, count = 0;
    path[0] = 0;
    last[0] = descending ? UINT32_MAX : 0;
    order[count] = 0;
    depth[count++] = 0;
    while (length > 0) {
        size_t at = path[length - 1], next = 0;
        for (size_t i = 1; i < tree->n; i++) {
            bool behind =
                descending ? tree->slot[i] < last[length - 1] : tree->slot[i] > last[length - 1];
            bool nearer = next == 0 || (descending ? tree->slot[i] > tree->slot[next]
                                                   : tree->slot[i] < tree->slot[next]);
            if (tree->parent[i] == at && behind && nearer) {
                next = i;
            }
        }
        if (next == 0) {
            length--;
            continue;
        }
        last[length - 1] = tree->slot[next];
        path[length] = next;
        last[length] = descending ? UINT32_MAX : 0;
        order[count] = next;
        depth[count++] = length++;
    }
}

/* Open and close the nodes of a tree. */
static inline phl_status sample_nodes(const sample *tree, bool descending, phl_builder *builder,
                                      phl_error *error)
{
    size_t order[SAMPLE_NODES], depth[SAMPLE_NODES];
    size_t open = 0;
    phl_status status = PHL_OK;
    sample_order(tree, descending, order, depth);
    for (size_t k = 0; status == PHL_OK && k < tree->n; k++) {
        while (status == PHL_OK && open > depth[k]) {
            status = phl_builder_close(builder, error);
            open--;
        }
        if (status == PHL_OK) {
            status = phl_builder_open(builder, tree->label[order[k]], tree->slot[order[k]], error);
            open++;
        }
    }
    while (status == PHL_OK && open > 0) {
        status = phl_builder_close(builder, error);
        open--;
    }
    return status;
}

static inline phl_status sample_build(const sample *tree, bool descending, phl_builder *builder,
                                      phl_error *error)
{
    phl_tree_info info = {tree->class_name, tree->weight, NULL, NULL, 0};
    phl_status status = sample_nodes(tree, descending, builder, error);
    return status == PHL_OK ? phl_builder_end_tree(builder, &info, error) : status;
}

static inline phl_forest *sample_forest(const sample *trees, size_t n, bool no_sharing,
                                        bool descending)
{
    phl_builder *builder = NULL;
    phl_forest *forest = NULL;
    phl_builder_options options;
    phl_builder_options_init(&options);
    options.no_sharing = no_sharing;
    assert_int_equal(phl_builder_create(&options, &builder, NULL), PHL_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sample_build(&trees[i], descending, builder, NULL), PHL_OK);
    }
    assert_int_equal(phl_builder_finish(builder, &forest, NULL), PHL_OK);
    phl_builder_free(builder);
    return forest;
}

/* Labels and classes that give writers trouble. */
static const char *const sample_nasty[] = {"a",
                                           "b",
                                           "",
                                           "_",
                                           "?",
                                           "#x",
                                           "x y",
                                           "\t",
                                           "\n",
                                           "\r",
                                           "(",
                                           ")",
                                           "\"",
                                           "\\",
                                           "\x01",
                                           "\x7f",
                                           "\xc3\xa9",
                                           "$",
                                           ":",
                                           "a:b",
                                           "@x",
                                           "#text",
                                           "-",
                                           "1",
                                           "|BT|",
                                           "|ET|",
                                           "<a>",
                                           "&amp;",
                                           "[]",
                                           "\xef\xbb\xbf",
                                           "\xef\xbb\xbfx",
                                           "null",
                                           "_x",
                                           "\xf0\x9f\x98\x80",
                                           "a\\u0041",
                                           "/",
                                           "..",
                                           "a/b",
                                           "]]>",
                                           "\xe2\x80\xa8"};
enum { SAMPLE_NASTY = sizeof sample_nasty / sizeof *sample_nasty };

static inline void sample_fingerprint(const phl_forest *forest, bool ordered, char out[33])
{
    assert_int_equal(phl_forest_fingerprint(forest, ordered, out, NULL), PHL_OK);
}

#endif
