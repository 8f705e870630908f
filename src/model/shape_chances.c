/* shape_chances.c - probabilities of shapes from counts; see shape_model.h and docs/maths.md.
 *
 * p(x | longer context) = (max(N(x) - discount, 0) + escape p(x | shorter context)) / (N + 1), from
 * equal chances on; then what cannot be (too few nodes left, too high) is left out.
 */
#include "model/shape_cells.h"

static const double discount = 0.5, strength = 1.0;

/* Bins of sizes: each next one is less probable by this, before any tree was seen. */
static const double decay = 0.9;

/* ---------------------------------------------------------------------------------------------
 * Counts to chances
 * ------------------------------------------------------------------------------------------- */

/* What outcomes that were seen leave to the shorter context; *total is what counts are divided by.
 */
static double escape(const phl_shape_cell *cells, size_t n, double *total)
{
    double sum = 0.0, taken = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += cells[i].count;
        taken += cells[i].count < discount ? cells[i].count : discount;
    }
    *total = sum + strength;
    double rest = (strength + taken) / *total;
    return rest > 1e-30 ? rest : 1e-30; /* whatever the counts, nothing becomes impossible */
}

/* One level: chances [width] of the shorter context become those of the longer one. */
static void refine(const phl_shape_cell *cells, size_t n, double *chances, size_t width)
{
    double total = 0.0, rest = escape(cells, n, &total);
    for (size_t x = 0; n > 0 && x < width; x++) {
        chances[x] *= rest;
    }
    for (size_t i = 0; i < n; i++) {
        if (cells[i].outcome < width && cells[i].count > discount) {
            chances[cells[i].outcome] += (cells[i].count - discount) / total;
        }
    }
}

/* Chances [width] of an event, from those that they have before anything was seen. */
static void back_off(const phl_shape_model *model, size_t class_index, uint32_t event,
                     const uint32_t context[PHL_SHAPE_CONTEXT], double *chances, size_t width)
{
    phl_shape_levels levels = phl_shape_cells_levels(event);
    for (size_t k = 0; k < levels.n; k++) {
        size_t n = 0;
        const phl_shape_cell *cells =
            phl_shape_cells_find(model, class_index, event, (uint32_t)k, context, &n);
        refine(cells, n, chances, width);
    }
}

static void normalise(double *chances, size_t width)
{
    double sum = 0.0;
    for (size_t i = 0; i < width; i++) {
        sum += chances[i];
    }
    for (size_t i = 0; i < width; i++) {
        chances[i] /= sum;
    }
}

/* ---------------------------------------------------------------------------------------------
 * A node and its slots
 * ------------------------------------------------------------------------------------------- */

phl_shape_node phl_shape_chances_begin(uint32_t size, uint32_t height, uint32_t depth)
{
    return (phl_shape_node){
        .depth = depth, .height = height, .left = size - 1, .slot = 1, .before = PHL_BEFORE_NONE};
}

void phl_shape_chances_pass(phl_shape_node *node, uint32_t size, uint32_t height)
{
    node->slot++;
    node->left -= size;
    node->before = size == 0 ? PHL_BEFORE_EMPTY : size == 1 ? PHL_BEFORE_LEAF : PHL_BEFORE_INTERNAL;
    node->reached = node->reached || (size > 0 && height + 1 == node->height);
}

/* Nodes of the largest tree of that height with so many slots; 2^32 stands for all larger numbers.
 */
static uint64_t capacity(uint64_t slots, uint32_t height)
{
    const uint64_t most = (uint64_t)1 << 32;
    uint64_t level = 1, nodes = 1;
    if (slots == 1) {
        return (uint64_t)height + 1;
    }
    for (uint32_t i = 0; i < height && nodes < most; i++) {
        level *= slots;
        nodes += level;
    }
    return nodes < most ? nodes : most;
}

/* Nodes that the slots after the next one can take. */
static uint64_t room_after(const phl_shape_model *model, const phl_shape_node *node)
{
    return (model->slots - node->slot) * capacity(model->slots, node->height - 1);
}

void phl_shape_chances_sizes(const phl_shape_model *model, const phl_shape_node *node,
                             uint32_t outcome, uint64_t *first, uint64_t *last)
{
    uint32_t bin = (outcome - 1) / 2, h = node->height;
    bool high = (outcome - 1) % 2 == 1;
    uint64_t left = node->left, from, to, room = room_after(model, node);
    if (high) { /* it needs a node for each of its levels */
        from = h;
        to = capacity(model->slots, h - 1);
    } else { /* it must leave as many to a child that is high */
        from = 1;
        to = h < 2 ? 0 : capacity(model->slots, h - 2);
        uint64_t spared = node->reached ? 0 : h;
        to = left < spared ? 0 : to < left - spared ? to : left - spared;
    }
    from = left > room && left - room > from ? left - room : from;
    if (bin == 0) {
        *first = *last = left;
    } else {
        phl_shape_model_bin(bin, first, last);
        to = to < left ? to : left - 1;
    }
    *first = *first > from ? *first : from;
    *last = *last < to ? *last : to;
}

void phl_shape_chances_slot(const phl_shape_model *model, size_t class_index,
                            const phl_shape_node *node, double chances[PHL_SHAPE_OUTCOMES])
{
    uint32_t context[PHL_SHAPE_CONTEXT];
    size_t width = 2 * phl_shape_bin(node->left) + 3;
    for (size_t x = 0; x < PHL_SHAPE_OUTCOMES; x++) {
        chances[x] = x < width ? 1.0 / (double)width : 0.0;
    }
    phl_shape_cells_context(node, context);
    back_off(model, class_index, PHL_SHAPE_SLOT, context, chances, width);
    if (node->left > room_after(model, node)) {
        chances[PHL_SHAPE_EMPTY] = 0.0;
    }
    for (uint32_t x = 1; x < width; x++) {
        uint64_t first, last;
        phl_shape_chances_sizes(model, node, x, &first, &last);
        chances[x] = first <= last ? chances[x] : 0.0;
    }
    normalise(chances, width);
}

/* The least height of a tree of so many nodes. */
static uint32_t least_height(const phl_shape_model *model, uint32_t size)
{
    uint32_t height = 0;
    if (model->slots < 2) {
        return size - 1;
    }
    while (capacity(model->slots, height) < size) {
        height++;
    }
    return height;
}

/* Chances of the bins of numbers from `first` to `last`. */
static void chances_of_bins(const phl_shape_model *model, size_t class_index, uint32_t event,
                            const uint32_t context[PHL_SHAPE_CONTEXT], uint32_t first,
                            uint32_t last, double chances[PHL_SHAPE_BINS])
{
    uint32_t from = phl_shape_bin(first), to = phl_shape_bin(last);
    for (uint32_t b = 0; b < PHL_SHAPE_BINS; b++) {
        chances[b] = b >= from && b <= to ? 1.0 / (to - from + 1) : 0.0;
    }
    back_off(model, class_index, event, context, chances, PHL_SHAPE_BINS);
    for (uint32_t b = 0; b < PHL_SHAPE_BINS; b++) {
        chances[b] = b >= from && b <= to ? chances[b] : 0.0;
    }
    normalise(chances, PHL_SHAPE_BINS);
}

void phl_shape_chances_drop(const phl_shape_model *model, size_t class_index, uint32_t height,
                            uint32_t size, uint32_t *first, uint32_t *last,
                            double chances[PHL_SHAPE_BINS])
{
    uint32_t context[PHL_SHAPE_CONTEXT] = {phl_shape_bin(height), phl_shape_bin(size)};
    *first = least_height(model, size);
    *last = size < 3 ? size - 1 : size - 1 < height - 2 ? size - 1 : height - 2;
    if (*first < *last) {
        chances_of_bins(model, class_index, PHL_SHAPE_DROP, context, height - 1 - *last,
                        height - 1 - *first, chances);
    }
}

void phl_shape_chances_height(const phl_shape_model *model, size_t class_index, uint32_t size,
                              uint32_t *first, uint32_t *last, double chances[PHL_SHAPE_BINS])
{
    uint32_t context[PHL_SHAPE_CONTEXT] = {phl_shape_bin(size)};
    *first = least_height(model, size);
    *last = size - 1;
    if (*first < *last) {
        chances_of_bins(model, class_index, PHL_SHAPE_HEIGHT, context, *first, *last, chances);
    }
}

void phl_shape_chances_label(const phl_shape_model *model, size_t class_index, uint32_t children,
                             double *chances)
{
    uint32_t context[PHL_SHAPE_CONTEXT] = {phl_shape_bin(children)};
    size_t width = (size_t)model->labels + 1;
    for (size_t x = 0; x < width; x++) {
        chances[x] = 1.0 / (double)width;
    }
    back_off(model, class_index, PHL_SHAPE_LABEL, context, chances, width);
}

void phl_shape_chances_size(const phl_shape_model *model, size_t class_index, double *old,
                            double chances[PHL_SHAPE_BINS])
{
    const uint32_t context[PHL_SHAPE_CONTEXT] = {0};
    size_t n = 0;
    double total = 0.0, next = 1.0;
    chances[0] = 0.0;
    for (size_t b = 1; b < PHL_SHAPE_BINS; b++) {
        chances[b] =
            b == 1 || model->slots > 0 ? next : 0.0; /* without slots there are no others */
        next *= decay;
    }
    normalise(chances, PHL_SHAPE_BINS);
    const phl_shape_cell *cells =
        phl_shape_cells_find(model, class_index, PHL_SHAPE_SIZE, 0, context, &n);
    refine(cells, n, chances, PHL_SHAPE_BINS);
    cells = phl_shape_cells_find(model, class_index, PHL_SHAPE_SIZE, 1, context, &n);
    double rest = escape(cells, n, &total);
    *old = 0.0;
    for (size_t i = 0; i < n; i++) {
        *old += cells[i].count > discount ? (cells[i].count - discount) / total : 0.0;
    }
    for (size_t b = 1; b < PHL_SHAPE_BINS; b++) {
        chances[b] *= n > 0 ? rest : 1.0;
    }
}

uint32_t phl_shape_chances_old_size(const phl_shape_model *model, size_t class_index, double at)
{
    const uint32_t context[PHL_SHAPE_CONTEXT] = {0};
    size_t n = 0;
    double total = 0.0;
    uint32_t size = 1;
    const phl_shape_cell *cells =
        phl_shape_cells_find(model, class_index, PHL_SHAPE_SIZE, 1, context, &n);
    (void)escape(cells, n, &total);
    for (size_t i = 0; i < n && at >= 0.0; i++) {
        if (cells[i].count > discount) {
            size = cells[i].outcome;
            at -= (cells[i].count - discount) / total;
        }
    }
    return size;
}
