/* picture_tree.c - a tree with generated labels as a picture; see pictures.h.
 *
 * Leaves stand side by side in the order they come, an internal node in the middle above its
 * children, and an empty slot takes the room of a fraction of a leaf.
 *
 * Contents: nodes, layout, drawing.
 */
#include "print/pictures.h"
#include "print/svg.h"
#include "print/terminal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_GAPS = 4 }; /* in trees with more slots, empty ones take no room */
static const double gap_width = 0.6, leaf_width = 26, level_height = 46, radius = 10, margin = 24,
                    title_height = 34, legend_height = 30;

/* ---- nodes ---- */

typedef struct placed_node {
    size_t parent, depth; /* parent: SIZE_MAX at the root */
    uint32_t slot, last;  /* last: highest slot filled */
    int32_t label;
    bool leaf;
    double x, left, right; /* in leaves; left and right: of its slots */
} placed_node;

typedef struct placed_tree {
    placed_node *nodes;
    size_t n, capacity, depth;
    double width, gap;
    uint32_t slots;
} placed_tree;

static placed_node *add_node(placed_tree *t)
{
    if (t->n == t->capacity) {
        size_t capacity = 2 * t->capacity + 64;
        placed_node *grown = terminal_allocate(capacity, sizeof *grown);
        if (t->n) {
            memcpy(grown, t->nodes, t->n * sizeof *grown);
        }
        free(t->nodes);
        t->nodes = grown;
        t->capacity = capacity;
    }
    return &t->nodes[t->n++];
}

static int read_nodes(placed_tree *t, const phl_forest *forest, size_t tree)
{
    phl_walk *walk = NULL;
    phl_visit visit;
    phl_error error = {0};
    int more = (int)phl_walk_create(forest, &walk, &error);
    if (more == PHL_OK) {
        phl_walk_start(walk, tree);
        while ((more = phl_walk_next(walk, &visit, &error)) > 0) {
            *add_node(t) = (placed_node){.parent = visit.parent,
                                         .depth = visit.depth,
                                         .slot = visit.slot,
                                         .label = visit.label,
                                         .leaf = visit.leaf,
                                         .left = -1};
            t->depth = visit.depth > t->depth ? visit.depth : t->depth;
            t->slots = visit.slot > t->slots ? visit.slot : t->slots;
        }
    }
    phl_walk_free(walk);
    return more == 0 ? EXIT_OK : terminal_error(&error);
}

/* ---- layout ---- */

/* One of a node's slots, filled or empty, is at x. */
static void widen(placed_node *node, double x)
{
    node->left = node->left < 0 ? x : node->left;
    node->right = x;
}

/* Empty slots after the last one filled, up to `slot`. */
static void leave_gaps(placed_tree *t, placed_node *node, uint32_t slot)
{
    for (uint32_t empty = node->last + 1; empty < slot && t->gap > 0; empty++) {
        widen(node, t->width + t->gap / 2 - 0.5);
        t->width += t->gap;
    }
}

/* All children of a node are placed: it goes above their middle. */
static void close_node(placed_tree *t, size_t at)
{
    placed_node *node = &t->nodes[at];
    if (node->leaf) {
        node->x = t->width;
        t->width += 1;
    } else {
        leave_gaps(t, node, t->slots + 1);
        node->x = (node->left + node->right) / 2;
    }
    if (node->parent != SIZE_MAX) {
        widen(&t->nodes[node->parent], node->x);
    }
}

static void place(placed_tree *t)
{
    size_t open = SIZE_MAX; /* innermost node whose children are not done */
    t->gap = t->slots <= MOST_GAPS ? gap_width : 0;
    for (size_t u = 0; u < t->n; u++) {
        while (open != t->nodes[u].parent) {
            close_node(t, open);
            open = t->nodes[open].parent;
        }
        if (open != SIZE_MAX) {
            leave_gaps(t, &t->nodes[open], t->nodes[u].slot);
            t->nodes[open].last = t->nodes[u].slot;
        }
        open = u;
    }
    while (open != SIZE_MAX) {
        close_node(t, open);
        open = t->nodes[open].parent;
    }
}

/* ---- drawing ---- */

static double x_of(const placed_node *node)
{
    return margin + leaf_width * (node->x + 0.5);
}

static double y_of(const placed_node *node)
{
    return title_height + radius + 4 + level_height * (double)node->depth;
}

static void draw_edges(FILE *file, const placed_tree *t)
{
    for (size_t u = 1; u < t->n; u++) {
        const placed_node *node = &t->nodes[u], *parent = &t->nodes[node->parent];
        svg_line(file, x_of(parent), y_of(parent), x_of(node), y_of(node));
    }
}

/* Returns how many labels are wrong. */
static size_t draw_nodes(FILE *file, const placed_tree *t, const phl_forest *forest,
                         char *const *labels)
{
    size_t wrong = 0;
    for (size_t u = 0; u < t->n; u++) {
        const placed_node *node = &t->nodes[u];
        const char *truth = node->label < 0 ? "?" : phl_forest_label_name(forest, node->label);
        bool right = strcmp(truth, labels[u]) == 0;
        char shown[TABLE_CELL], is[TABLE_CELL], hint[3 * TABLE_CELL];
        text_printable(labels[u], 3, shown, sizeof shown);
        text_printable(truth, 24, is, sizeof is);
        snprintf(hint, sizeof hint, "%s, in truth %s", shown, is);
        svg_circle(file, x_of(node), y_of(node), radius, right ? "white" : SVG_WRONG,
                   right ? SVG_INK : SVG_WRONG, right ? NULL : hint);
        svg_text(file, x_of(node), y_of(node), 12, SVG_MIDDLE, right ? SVG_INK : "white", shown);
        wrong += !right;
    }
    return wrong;
}

static void draw_legend(FILE *file, double y, size_t n, size_t wrong)
{
    char text[80];
    snprintf(text, sizeof text, "right: %zu", n - wrong);
    svg_circle(file, margin + 6, y, 6, "white", SVG_INK, NULL);
    svg_text(file, margin + 18, y, 12, SVG_START, SVG_INK, text);
    snprintf(text, sizeof text, "wrong: %zu", wrong);
    svg_circle(file, margin + 96, y, 6, SVG_WRONG, SVG_WRONG, NULL);
    svg_text(file, margin + 108, y, 12, SVG_START, SVG_INK, text);
}

int picture_tree(FILE *file, const phl_forest *forest, size_t tree, char *const *labels,
                 const char *title)
{
    placed_tree t = {0};
    int code = read_nodes(&t, forest, tree);
    if (code == EXIT_OK) {
        place(&t);
        double width = 2 * margin + leaf_width * t.width;
        double title_width = 2 * margin + 6.6 * (double)strlen(title);
        double bottom = title_height + 2 * radius + 8 + level_height * (double)t.depth;
        svg_begin(file, width > title_width ? width : title_width, bottom + legend_height, title);
        svg_text(file, margin, 18, 13, SVG_START, SVG_INK, title);
        draw_edges(file, &t);
        draw_legend(file, bottom + 12, t.n, draw_nodes(file, &t, forest, labels));
        svg_end(file);
    }
    free(t.nodes);
    return code;
}
