/* generate_logic.c - trees whose labels are a function of their children's labels.
 *
 *   leaves    0 or 1, by a fair coin;
 *   a node    the value of its gate: of one child "not"; of two "implies" (the first implies the
 *             second); of three "if" (the first chooses between the second and the third).  The two
 *             last depend on the order of the children;
 *   shape     a root has 1 to 3 children, each as likely; so has any other node above the greatest
 *             depth with probability 0.7, else it is a leaf.
 *
 * Each tree draws from a stream of its own, so tree i is the same however many are made.
 */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "forest/builder.h"

enum { MOST_CHILDREN = 3 };

static const uint64_t purpose_trees = 0x6c6f6769; /* "logi" */
static const double grows = 0.7;
static const size_t most_trees = 100000000, most_depth = 8;

/* One node of a tree, numbered breadth-first: the children of a node are consecutive. */
typedef struct gate {
    uint32_t slot; /* in the parent */
    uint32_t depth;
    size_t first_child, n_children;
    uint32_t subtree;
    uint8_t value;
} gate;

static const phl_logic_options defaults = {
    .size = sizeof(phl_logic_options),
    .seed = 42,
    .trees = 2000,
    .depth = 4,
};

void phl_logic_options_init_sized(phl_logic_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

/* The shape of a tree; how many nodes it has. */
static size_t grow(phl_rng *rng, size_t depth, gate *gates)
{
    size_t n = 1;
    gates[0] = (gate){.slot = 1};
    for (size_t oldest = 0; oldest < n; oldest++) {
        gate *at = &gates[oldest];
        at->first_child = n;
        bool inner = oldest == 0 || (at->depth < depth && phl_rng_uniform(rng) < grows);
        at->n_children = inner ? 1 + (size_t)phl_rng_bounded(rng, MOST_CHILDREN) : 0;
        for (size_t k = 0; k < at->n_children; k++) {
            gates[n++] = (gate){.slot = (uint32_t)k + 1, .depth = at->depth + 1};
        }
    }
    return n;
}

static uint8_t value_of(const gate *at, const gate *child, phl_rng *rng)
{
    switch (at->n_children) {
    case 0:
        return (uint8_t)phl_rng_bounded(rng, 2);
    case 1:
        return !child[0].value;
    case 2:
        return !child[0].value || child[1].value;
    default:
        return child[0].value ? child[1].value : child[2].value;
    }
}

/* Children have larger numbers than their parent: last to first is bottom-up. */
static phl_status enter(phl_builder *builder, gate *gates, size_t n, phl_rng *rng, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t u = n; u-- > 0 && status == PHL_OK;) {
        gate *at = &gates[u];
        const gate *child = gates + at->first_child;
        phl_link links[MOST_CHILDREN];
        for (size_t k = 0; k < at->n_children; k++) {
            links[k].slot = child[k].slot;
            links[k].child = child[k].subtree;
        }
        at->value = value_of(at, child, rng);
        char digit = (char)('0' + at->value);
        int32_t label = 0;
        status = phl_builder_label(builder, &digit, 1, &label, error);
        if (status == PHL_OK) {
            status = phl_builder_intern(builder, label, at->n_children == 0 ? at->slot : 0, links,
                                        at->n_children, &at->subtree, error);
        }
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_tree_entry entry = {gates[0].subtree, PHL_NO_CLASS, -1, -1, 0, 1.0};
    return phl_builder_enter_tree(builder, &entry, error);
}

static phl_status check(const phl_logic_options *options, phl_error *error)
{
    if (options->trees < 1 || options->trees > most_trees) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "trees: %zu is not allowed; give 1 to %zu",
                         options->trees, most_trees);
    }
    if (options->depth < 1 || options->depth > most_depth) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "depth: %zu is not allowed; give 1 to %zu",
                         options->depth, most_depth);
    }
    return PHL_OK;
}

phl_status phl_generate_logic(const phl_logic_options *options, phl_forest **forest,
                              phl_error *error)
{
    phl_builder *builder = NULL;
    phl_logic_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_logic", error);
    if (status == PHL_OK) {
        status = check(&own, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    size_t most = 1;
    for (size_t level = 0; level < own.depth; level++) {
        most = most * MOST_CHILDREN + 1;
    }
    gate *gates = phl_alloc(most, sizeof *gates, error);
    status = gates == NULL ? PHL_ERR_MEMORY : phl_builder_create(NULL, &builder, error);
    for (size_t i = 0; i < own.trees && status == PHL_OK; i++) {
        phl_rng rng;
        phl_rng_init(&rng, own.seed, purpose_trees, 0, 0, i);
        size_t n = grow(&rng, own.depth, gates);
        status = enter(builder, gates, n, &rng, error);
    }
    if (status == PHL_OK) {
        status = phl_builder_finish(builder, forest, error);
    }
    phl_builder_free(builder);
    phl_free(gates);
    return status;
}
