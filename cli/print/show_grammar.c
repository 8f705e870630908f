/* show_grammar.c - one draw of a grammar in words; see show.h.
 *
 * Contents: counts, symbols, drawings, annotations.
 */
#include "print/show.h"
#include "print/terminal.h"

#include <stdlib.h>
#include <string.h>

enum { LISTED = 4, INDENT = 14, DRAWN = 4 };

/* Symbols behind the labels, as docs/run-file.md numbers them. */
enum { UNSEEN, EMPTY, STOP, BEGIN, ROOT, ANY, SPECIALS };

typedef struct grammar {
    const phl_run *run;
    const int32_t *sizes;
    const int32_t (*rules)[3];
    size_t n_rules, labels;
    const double *counts;
    bool pair;     /* rules see parent and left sibling together */
    size_t *first; /* [n_rules] where the counts of each begin */
} grammar;

/* ---- counts ---- */

/* Sums over the block of a rule, by annotation of the symbol in place `which` (0 parent, 1 left, 2
 * the symbol itself), of annotation `a`. */
static double sum_block(const grammar *g, const int32_t *rule, const double *block, int which,
                        int32_t a)
{
    int32_t n[3] = {g->sizes[rule[0]], g->sizes[rule[1]], g->sizes[rule[2]]}, at[3];
    double sum = 0;
    for (at[0] = 0; at[0] < n[0]; at[0]++) {
        for (at[1] = 0; at[1] < n[1]; at[1]++) {
            for (at[2] = 0; at[2] < n[2]; at[2]++, block++) {
                sum += at[which] == a ? *block : 0;
            }
        }
    }
    return sum;
}

/* What one annotation of a label stands beside. */
typedef struct neighbours {
    double count;
    weighted *parents, *lefts, *firsts, *nexts; /* [labels + SPECIALS] */
} neighbours;

static void count_neighbours(const grammar *g, int32_t label, int32_t a, neighbours *found)
{
    size_t symbols = g->labels + SPECIALS;
    weighted *lists[] = {found->parents, found->lefts, found->firsts, found->nexts};
    const double *block = g->counts;
    int32_t begin = (int32_t)(g->labels + BEGIN);
    found->count = 0;
    for (size_t i = 0; i < 4; i++) {
        for (size_t s = 0; s < symbols; s++) {
            lists[i][s] = (weighted){s, 0};
        }
    }
    for (size_t r = 0; r < g->n_rules; r++) {
        const int32_t *rule = g->rules[r];
        if (rule[2] == label) {
            double n = sum_block(g, rule, block, 2, a);
            found->count += n;
            found->parents[rule[0]].weight += n;
            found->lefts[rule[1]].weight += n;
        }
        if (rule[1] == label) {
            found->nexts[rule[2]].weight += sum_block(g, rule, block, 1, a);
        }
        if (rule[0] == label && rule[1] == begin) {
            found->firsts[rule[2]].weight += sum_block(g, rule, block, 0, a);
        }
        block += (size_t)g->sizes[rule[0]] * (size_t)g->sizes[rule[1]] * (size_t)g->sizes[rule[2]];
    }
}

/* ---- symbols ---- */

static void put_symbol(const grammar *g, size_t symbol)
{
    static const char *const specials[SPECIALS] = {
        [UNSEEN] = "(new label)", [EMPTY] = "(empty slot)", [STOP] = "(none)",
        [BEGIN] = "(none)",       [ROOT] = "(root)",        [ANY] = NULL};
    char name[TABLE_CELL];
    if (symbol >= g->labels) {
        printf("%s", specials[symbol - g->labels]);
    } else {
        text_printable(phl_run_label_name(g->run, (int32_t)symbol), 40, name, sizeof name);
        printf("%s", name);
    }
}

static void put_list(const grammar *g, const char *heading, weighted *items)
{
    double total = 0;
    items[g->labels + ANY].weight = 0; /* not looked at by rules of this form */
    for (size_t s = 0; s < g->labels + SPECIALS; s++) {
        total += items[s].weight;
    }
    shown_sort(items, g->labels + SPECIALS);
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

/* A label, or another symbol, and its annotation. */
typedef struct state {
    int32_t symbol, annotation;
} state;

/* What comes most often below `parent`, beside `left`. */
static state usual_next(const grammar *g, state parent, state left)
{
    state found = {(int32_t)(g->labels + STOP), 0};
    bool first = left.symbol == (int32_t)(g->labels + BEGIN);
    state above = g->pair || first ? parent : (state){(int32_t)(g->labels + ANY), 0};
    double most = 0;
    for (size_t r = 0; r < g->n_rules; r++) {
        const int32_t *rule = g->rules[r];
        if (rule[0] != above.symbol || rule[1] != left.symbol) {
            continue;
        }
        int32_t n = g->sizes[rule[2]];
        const double *row =
            g->counts + g->first[r] +
            ((size_t)above.annotation * (size_t)g->sizes[rule[1]] + (size_t)left.annotation) *
                (size_t)n;
        for (int32_t k = 0; k < n; k++) {
            if (row[k] > most) {
                most = row[k];
                found = (state){rule[2], k};
            }
        }
    }
    return found;
}

/* The children that a node most often has, one after the other, at most DRAWN; true: more follow.
 */
static bool usual_children(const grammar *g, state parent, state *children, size_t *n)
{
    state left = {(int32_t)(g->labels + BEGIN), 0};
    *n = 0;
    for (;;) {
        state next = usual_next(g, parent, left);
        if (next.symbol == (int32_t)(g->labels + STOP) || *n == DRAWN) {
            return next.symbol != (int32_t)(g->labels + STOP);
        }
        children[(*n)++] = left = next;
    }
}

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
    bool more = usual_children(g, root, children, &n);
    for (size_t i = 0; i < n; i++) {
        putchar(' ');
        draw_symbol(g, children[i]);
        if (children[i].symbol == (int32_t)(g->labels + EMPTY)) {
            continue;
        }
        bool more_below = usual_children(g, children[i], below, &m);
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
        count_neighbours(g, (int32_t)label, a, found);
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

/* Nodes of each label, most frequent first; to be freed. */
static weighted *rank_labels(const grammar *g)
{
    weighted *labels = terminal_allocate(g->labels + SPECIALS, sizeof *labels);
    const double *block = g->counts;
    for (size_t s = 0; s < g->labels + SPECIALS; s++) {
        labels[s] = (weighted){s, 0};
    }
    for (size_t r = 0; r < g->n_rules; r++) {
        const int32_t *rule = g->rules[r];
        size_t size =
            (size_t)g->sizes[rule[0]] * (size_t)g->sizes[rule[1]] * (size_t)g->sizes[rule[2]];
        for (size_t i = 0; i < size; i++) {
            labels[rule[2]].weight += *block++;
        }
    }
    shown_sort(labels, g->labels);
    return labels;
}

void show_grammar(const phl_run *run, const phl_draw *draw, size_t top)
{
    phl_tensor numbers, sizes, rules, counts;
    if (!phl_tensor_find(draw, "numbers", 0, &numbers) ||
        !phl_tensor_find(draw, "annotations", 0, &sizes) ||
        !phl_tensor_find(draw, "rules", 0, &rules) ||
        !phl_tensor_find(draw, "counts", 0, &counts)) {
        return;
    }
    const double *known = numbers.data;
    grammar g = {.run = run,
                 .sizes = sizes.data,
                 .rules = (const int32_t(*)[3])rules.data,
                 .n_rules = rules.shape[0],
                 .labels = phl_run_labels(run),
                 .counts = counts.data,
                 .pair = known[0] != 0,
                 .first = terminal_allocate(rules.shape[0], sizeof(size_t))};
    size_t symbols = g.labels + SPECIALS, states = 0, at = 0;
    for (size_t r = 0; r < g.n_rules; r++) {
        const int32_t *rule = g.rules[r];
        g.first[r] = at;
        at += (size_t)g.sizes[rule[0]] * (size_t)g.sizes[rule[1]] * (size_t)g.sizes[rule[2]];
    }
    for (size_t x = 0; x < g.labels; x++) {
        states += (size_t)g.sizes[x];
    }
    printf("\n  rules see %s; %zu rules between %zu annotated labels, after %.0f %s\n",
           known[0] != 0 ? "parent and left sibling" : "the parent, or the left sibling", g.n_rules,
           states, known[6], known[6] == 1 ? "split" : "splits");
    printf("  smoothing: labels %g, states %g, annotations %g, shared with other classes %g\n",
           known[1], known[2], known[3], known[4]);
    weighted *ranked = rank_labels(&g);
    neighbours found = {.parents = terminal_allocate(symbols, sizeof(weighted)),
                        .lefts = terminal_allocate(symbols, sizeof(weighted)),
                        .firsts = terminal_allocate(symbols, sizeof(weighted)),
                        .nexts = terminal_allocate(symbols, sizeof(weighted))};
    for (size_t i = 0; i < g.labels && i < top && ranked[i].weight > 0; i++) {
        show_label(&g, ranked[i].number, ranked[i].weight, &found);
    }
    free(found.parents);
    free(found.lefts);
    free(found.firsts);
    free(found.nexts);
    free(ranked);
    free(g.first);
}
