/* generate_symm.c - the paper's labelling trees (section "Labelling Task").
 *
 * Ternary trees of three classes, labelled by their number of children.  The growth rule was read
 * off the authors' published trees and is checked against them by tests/oracle/symm_reference.py:
 *
 *   size    a real number uniform over the class's range, rounded: the two ends of the range come
 *           half as often as the sizes between them;
 *   growth  breadth-first: the oldest node not yet looked at fills its slots 1, 2, 3, each with the
 *           slot's probability.  The size is checked before every slot, so the last node to get
 *           children may be cut short; all nodes after it are leaves.  A node that fills no slot
 *           is a leaf too;
 *   retry   a tree that dies out before it has its size is thrown away and grown again to the same
 *           size.
 *
 * Each tree draws from a stream of its own, so tree i of a class is the same however many are made.
 */
#include "base/options.h"
#include "base/rng.h"
#include "forest/builder.h"

#include <string.h>

enum { SLOTS = 3, MAX_SIZE = 100 };

static const uint64_t purpose_trees = 0x73796d6d; /* "symm" */

typedef struct family {
    const char *name;
    int smallest, largest; /* nodes */
    double fill[SLOTS];    /* chance that a slot is filled */
} family;

/* Mean children are 1.3, 1.8, 1.3: a tree of any size survives with probability > 0.8, so the
 * expected number of retries is below 0.25. */
static const family families[] = {
    {"left", 20, 25, {0.9, 0.3, 0.1}},
    {"symmetric", 50, 60, {0.6, 0.6, 0.6}},
    {"right", 80, MAX_SIZE, {0.1, 0.3, 0.9}},
};
enum { N_FAMILIES = sizeof families / sizeof families[0] };

static const size_t most_trees = 100000000; /* a class */

/* One tree, its nodes numbered breadth-first: the children of a node are consecutive. */
typedef struct sketch {
    int size;
    uint32_t slot[MAX_SIZE];   /* slot in the parent */
    int first_child[MAX_SIZE]; /* valid for nodes with children */
    int n_children[MAX_SIZE];
} sketch;

static const phl_symm_options defaults = {
    .size = sizeof(phl_symm_options),
    .seed = 42,
    .trees_per_class = 260,
};

void phl_symm_options_init_sized(phl_symm_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

/* One attempt at `size` nodes; false if the tree died out. */
static bool grow(phl_rng *rng, const family *kind, int size, sketch *tree)
{
    int n = 1;
    tree->slot[0] = 1;
    memset(tree->n_children, 0, sizeof tree->n_children);
    for (int oldest = 0; oldest < n && n < size; oldest++) {
        tree->first_child[oldest] = n;
        for (uint32_t slot = 1; slot <= SLOTS && n < size; slot++) {
            if (phl_rng_uniform(rng) < kind->fill[slot - 1]) {
                tree->slot[n++] = slot;
                tree->n_children[oldest]++;
            }
        }
    }
    tree->size = n;
    return n == size;
}

static int draw_size(phl_rng *rng, const family *kind)
{
    int size =
        kind->smallest + (int)((kind->largest - kind->smallest) * phl_rng_uniform(rng) + 0.5);
    return size > kind->largest ? kind->largest : size;
}

/* Labels are numbered when first met, so that the alphabet holds no label that does not occur. */
static phl_status label_of(phl_builder *builder, int n_children, int32_t *label, phl_error *error)
{
    char digit = (char)('0' + n_children);
    return phl_builder_label(builder, &digit, 1, label, error);
}

/* Children have larger numbers than their parent: last to first is bottom-up. */
static phl_status enter(phl_builder *builder, const sketch *tree, int32_t class_number,
                        phl_error *error)
{
    uint32_t subtree[MAX_SIZE];
    phl_status status = PHL_OK;
    for (int node = tree->size - 1; node >= 0 && status == PHL_OK; node--) {
        int n = tree->n_children[node];
        phl_link links[SLOTS];
        for (int k = 0; k < n; k++) {
            int child = tree->first_child[node] + k;
            links[k].slot = tree->slot[child];
            links[k].child = subtree[child];
        }
        int32_t label = 0;
        status = label_of(builder, n, &label, error);
        if (status == PHL_OK) {
            status = phl_builder_intern(builder, label, n == 0 ? tree->slot[node] : 0, links,
                                        (size_t)n, &subtree[node], error);
        }
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_tree_entry entry = {subtree[0], class_number, -1, -1, 0, 1.0};
    return phl_builder_enter_tree(builder, &entry, error);
}

static phl_status generate_family(phl_builder *builder, const phl_symm_options *options,
                                  size_t which, phl_error *error)
{
    const family *kind = &families[which];
    int32_t class_number = PHL_NO_CLASS;
    phl_status status =
        phl_alphabet_add(&builder->classes, kind->name, strlen(kind->name), &class_number, error);
    for (size_t i = 0; i < options->trees_per_class && status == PHL_OK; i++) {
        phl_rng rng;
        sketch tree;
        phl_rng_init(&rng, options->seed, purpose_trees, which, 0, i);
        int size = draw_size(&rng, kind);
        while (!grow(&rng, kind, size, &tree)) {
        }
        status = enter(builder, &tree, class_number, error);
    }
    return status;
}

phl_status phl_generate_symm(const phl_symm_options *options, phl_forest **forest, phl_error *error)
{
    phl_builder *builder = NULL;
    phl_symm_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_symm", error);
    if (status != PHL_OK) {
        return status;
    }
    options = &own;
    if (options->trees_per_class < 1 || options->trees_per_class > most_trees) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "trees per class: %zu is not allowed; give 1 to %zu",
                         options->trees_per_class, most_trees);
    }
    status = phl_builder_create(NULL, &builder, error);
    for (size_t which = 0; which < N_FAMILIES && status == PHL_OK; which++) {
        status = generate_family(builder, options, which, error);
    }
    if (status == PHL_OK) {
        status = phl_builder_finish(builder, forest, error);
    }
    phl_builder_free(builder);
    return status;
}
