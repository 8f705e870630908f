/* show_grammar.c - one draw of a grammar in words; see show.h.
 *
 * Contents: symbols, drawings, annotations.
 */
#include "print/grammars.h"
#include "print/terminal.h"

#include <stdlib.h>
#include <string.h>

enum { LISTED = 4, INDENT = 14, DRAWN = 4 };

/* ---- symbols ---- */

static void put_symbol(const grammar *g, size_t symbol)
{
    char name[TABLE_CELL];
    if (symbol >= g->labels) {
        printf("%s", grammar_special(g, symbol));
    } else {
        text_printable(phl_run_label_name(g->run, (int32_t)symbol), 40, name, sizeof name);
        printf("%s", name);
    }
}

static void put_list(const grammar *g, const char *heading, weighted *items)
{
    double total = grammar_sort(g, items);
    if (total <= 0) {
        return;
    }
    printf("      %-*s", INDENT, heading);
    for (size_t i = 0; i < LISTED && items[i].weight >= 0.05 * total; i++) {
        printf("%s", i > 0 ? ", " : "");
        put_symbol(g, items[i].number);
        printf(" %.0f %%", 100 * items[i].weight / total);
    }
    putchar('\n');
}

/* ---- drawings ---- */

static void draw_symbol(const grammar *g, state node)
{
    if (node.symbol == (int32_t)(g->labels + EMPTY)) {
        putchar('_');
        return;
    }
    putchar('(');
    put_symbol(g, (size_t)node.symbol);
}

/* A node with the children and grandchildren that it most often has, in brackets. */
static void draw_subtree(const grammar *g, state root)
{
    state children[DRAWN], below[DRAWN];
    size_t n = 0, m = 0;
    printf("      %-*s", INDENT, "typical");
    draw_symbol(g, root);
    bool more = grammar_usual_children(g, root, children, DRAWN, &n);
    for (size_t i = 0; i < n; i++) {
        putchar(' ');
        draw_symbol(g, children[i]);
        if (children[i].symbol == (int32_t)(g->labels + EMPTY)) {
            continue;
        }
        bool more_below = grammar_usual_children(g, children[i], below, DRAWN, &m);
        for (size_t k = 0; k < m; k++) {
            putchar(' ');
            draw_symbol(g, below[k]);
            printf("%s", below[k].symbol == (int32_t)(g->labels + EMPTY) ? "" : ")");
        }
        printf("%s)", more_below ? " ..." : "");
    }
    printf("%s)\n", more ? " ..." : "");
}

/* ---- annotations ---- */

static void show_label(const grammar *g, size_t label, double count, neighbours *found)
{
    int32_t n = g->sizes[label];
    printf("\n  ");
    put_symbol(g, label);
    printf(": %d %s, %.0f nodes\n", (int)n, n == 1 ? "annotation" : "annotations", count);
    for (int32_t a = 0; a < n; a++) {
        grammar_count_neighbours(g, (int32_t)label, a, found);
        if (found->count < 0.001 * count) {
            continue; /* another class's */
        }
        printf("    %d: %.1f %%\n", (int)a, count > 0 ? 100 * found->count / count : 0);
        put_list(g, "parent", found->parents);
        put_list(g, "left sibling", found->lefts);
        put_list(g, "next sibling", found->nexts);
        put_list(g, "first child", found->firsts);
        draw_subtree(g, (state){(int32_t)label, a});
    }
}

void show_grammar(const phl_run *run, const phl_draw *draw, size_t top)
{
    grammar g;
    size_t states = 0;
    if (!grammar_open(&g, run, draw)) {
        return;
    }
    const double *known = g.numbers;
    for (size_t x = 0; x < g.labels; x++) {
        states += (size_t)g.sizes[x];
    }
    printf("\n  rules see %s; %zu rules between %zu annotated labels, after %.0f %s\n",
           known[0] != 0 ? "parent and left sibling" : "the parent, or the left sibling", g.n_rules,
           states, known[6], known[6] == 1 ? "split" : "splits");
    printf("  smoothing: labels %g, states %g, annotations %g, shared with other classes %g\n",
           known[1], known[2], known[3], known[4]);
    weighted *ranked = grammar_rank_labels(&g);
    neighbours found = grammar_neighbours(&g);
    for (size_t i = 0; i < g.labels && i < top && ranked[i].weight > 0; i++) {
        show_label(&g, ranked[i].number, ranked[i].weight, &found);
    }
    grammar_neighbours_free(&found);
    free(ranked);
    grammar_close(&g);
}
