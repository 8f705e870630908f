/* grammars.c - a draw of a grammar, read from its tensors; see grammars.h. */
#include "print/grammars.h"
#include "print/terminal.h"

#include <stdlib.h>

bool grammar_open(grammar *g, const phl_run *run, const phl_draw *draw)
{
    phl_tensor numbers, sizes, rules, counts;
    if (!phl_tensor_find(draw, "numbers", 0, &numbers) ||
        !phl_tensor_find(draw, "annotations", 0, &sizes) ||
        !phl_tensor_find(draw, "rules", 0, &rules) ||
        !phl_tensor_find(draw, "counts", 0, &counts)) {
        return false;
    }
    *g = (grammar){.run = run,
                   .numbers = numbers.data,
                   .sizes = sizes.data,
                   .rules = (const int32_t(*)[3])rules.data,
                   .n_rules = rules.shape[0],
                   .labels = phl_run_labels(run),
                   .counts = counts.data,
                   .first = terminal_allocate(rules.shape[0], sizeof(size_t))};
    g->pair = g->numbers[0] != 0;
    size_t at = 0;
    for (size_t r = 0; r < g->n_rules; r++) {
        const int32_t *rule = g->rules[r];
        g->first[r] = at;
        at += (size_t)g->sizes[rule[0]] * (size_t)g->sizes[rule[1]] * (size_t)g->sizes[rule[2]];
    }
    return true;
}

void grammar_close(grammar *g)
{
    free(g->first);
}

const char *grammar_special(const grammar *g, size_t symbol)
{
    static const char *const specials[SPECIALS] = {
        [UNSEEN] = "(new label)", [EMPTY] = "(empty slot)", [STOP] = "(none)",
        [BEGIN] = "(none)",       [ROOT] = "(root)",        [ANY] = NULL};
    return specials[symbol - g->labels];
}

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

neighbours grammar_neighbours(const grammar *g)
{
    size_t symbols = g->labels + SPECIALS;
    return (neighbours){.parents = terminal_allocate(symbols, sizeof(weighted)),
                        .lefts = terminal_allocate(symbols, sizeof(weighted)),
                        .firsts = terminal_allocate(symbols, sizeof(weighted)),
                        .nexts = terminal_allocate(symbols, sizeof(weighted))};
}

void grammar_neighbours_free(neighbours *found)
{
    free(found->parents);
    free(found->lefts);
    free(found->firsts);
    free(found->nexts);
}

void grammar_count_neighbours(const grammar *g, int32_t label, int32_t a, neighbours *found)
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

double grammar_sort(const grammar *g, weighted *items)
{
    double total = 0;
    items[g->labels + ANY].weight = 0; /* not looked at by rules of this form */
    for (size_t s = 0; s < g->labels + SPECIALS; s++) {
        total += items[s].weight;
    }
    shown_sort(items, g->labels + SPECIALS);
    return total;
}

weighted *grammar_rank_labels(const grammar *g)
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

/* ---- what is usual ---- */

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

bool grammar_usual_children(const grammar *g, state parent, state *children, size_t most, size_t *n)
{
    state left = {(int32_t)(g->labels + BEGIN), 0};
    *n = 0;
    for (;;) {
        state next = usual_next(g, parent, left);
        if (next.symbol == (int32_t)(g->labels + STOP) || *n == most) {
            return next.symbol != (int32_t)(g->labels + STOP);
        }
        children[(*n)++] = left = next;
    }
}
