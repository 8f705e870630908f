/* grow_shape.c - see grow_shape.h.  From the root down and from left to right: docs/maths.md. */
#include "task/grow_shape.h"

#include "base/memory.h"

void phl_grow_shape_clear(phl_grow_shape *growing)
{
    phl_free(growing->stack);
}

/* One of the outcomes by their chances, which add up to `sum`. */
static size_t pick(const double *chances, size_t n, double sum, phl_rng *rng)
{
    double at = phl_rng_uniform(rng) * sum;
    size_t last = 0;
    for (size_t x = 0; x < n && at >= 0.0; x++) {
        last = chances[x] > 0.0 ? x : last;
        at -= chances[x];
    }
    return last;
}

/* A number of a bin, from first to last. */
static uint32_t pick_number(uint32_t bin, uint64_t first, uint64_t last, phl_rng *rng)
{
    uint64_t from, to;
    phl_shape_model_bin(bin, &from, &to);
    from = from > first ? from : first;
    to = to < last ? to : last;
    return (uint32_t)(from + phl_rng_bounded(rng, to - from + 1));
}

static uint32_t pick_size(const phl_grow_shape *growing, phl_rng *rng)
{
    double chances[PHL_SHAPE_BINS], old = 0.0;
    phl_shape_chances_size(growing->model, growing->class_index, &old, chances);
    double at = phl_rng_uniform(rng);
    return at < old ? phl_shape_chances_old_size(growing->model, growing->class_index, at)
                    : pick_number((uint32_t)pick(chances, PHL_SHAPE_BINS, 1.0 - old, rng), 1,
                                  UINT32_MAX, rng);
}

static uint32_t pick_height(const phl_grow_shape *growing, uint32_t size, phl_rng *rng)
{
    double chances[PHL_SHAPE_BINS];
    uint32_t first, last;
    phl_shape_chances_height(growing->model, growing->class_index, size, &first, &last, chances);
    return first == last
               ? first
               : pick_number((uint32_t)pick(chances, PHL_SHAPE_BINS, 1.0, rng), first, last, rng);
}

/* What the next slot gets; *size 0: nothing. */
static void pick_child(const phl_grow_shape *growing, const phl_shape_node *node, phl_rng *rng,
                       uint32_t *size, uint32_t *height)
{
    double chances[PHL_SHAPE_OUTCOMES];
    phl_shape_chances_slot(growing->model, growing->class_index, node, chances);
    uint32_t outcome = (uint32_t)pick(chances, PHL_SHAPE_OUTCOMES, 1.0, rng);
    *size = *height = 0;
    if (outcome == PHL_SHAPE_EMPTY) {
        return;
    }
    uint64_t from, to;
    phl_shape_chances_sizes(growing->model, node, outcome, &from, &to);
    *size = (uint32_t)(from + phl_rng_bounded(rng, to - from + 1));
    *height = node->height - 1;
    if ((outcome - 1) % 2 == 0) { /* a lower one */
        uint32_t first, last;
        phl_shape_chances_drop(growing->model, growing->class_index, node->height, *size, &first,
                               &last, chances);
        *height = first == last
                      ? first
                      : node->height - 1 -
                            pick_number((uint32_t)pick(chances, PHL_SHAPE_BINS, 1.0, rng),
                                        node->height - 1 - last, node->height - 1 - first, rng);
    }
}

static phl_status open(phl_grow_shape *growing, phl_builder *builder, phl_shape_node node,
                       uint32_t slot, size_t *depth, phl_error *error)
{
    phl_status status =
        phl_grow(&growing->stack, &growing->capacity, *depth + 1, sizeof *growing->stack, error);
    if (status == PHL_OK) {
        status = phl_builder_open_label(builder, PHL_UNKNOWN, slot, error);
    }
    if (status == PHL_OK) {
        growing->stack[(*depth)++] = node;
    }
    return status;
}

phl_status phl_grow_shape_tree(phl_grow_shape *growing, phl_builder *builder, size_t max_nodes,
                               phl_rng *rng, size_t *size, phl_error *error)
{
    uint32_t nodes = pick_size(growing, rng);
    size_t depth = 0;
    uint64_t slots = 0;
    *size = 0;
    if (nodes > max_nodes) {
        return PHL_OK;
    }
    phl_shape_node root = phl_shape_chances_begin(nodes, pick_height(growing, nodes, rng), 0);
    phl_status status = open(growing, builder, root, 1, &depth, error);
    while (status == PHL_OK && depth > 0) {
        phl_shape_node *node = &growing->stack[depth - 1];
        if (node->left == 0) {
            status = phl_builder_close(builder, error);
            depth--;
            continue;
        }
        uint32_t slot = node->slot, below, height;
        pick_child(growing, node, rng, &below, &height);
        phl_shape_chances_pass(node, below, height);
        if (below > 0) {
            phl_shape_node child = phl_shape_chances_begin(below, height, node->depth + 1);
            status = open(growing, builder, child, slot, &depth, error);
        } else if (++slots > (uint64_t)max_nodes * 64) {
            return PHL_OK;
        }
    }
    *size = status == PHL_OK ? nodes : 0;
    return status;
}
