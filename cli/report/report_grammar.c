/* report_grammar.c - what a grammar learned: starts, and annotations with what stands around them;
 * see report.h.
 *
 * Contents: symbols, typical subtrees, annotations, starts, all classes.
 */
#include "print/grammars.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

enum { LABELS = 10, LISTED = 4, DRAWN = 4, TYPICAL = 1 + DRAWN + DRAWN * DRAWN };

/* ---- symbols ---- */

static bool is_special(const grammar *g, size_t symbol)
{
    return symbol >= g->labels;
}

static const char *name_of(const grammar *g, size_t symbol)
{
    return is_special(g, symbol) ? grammar_special(g, symbol)
                                 : phl_run_label_name(g->run, (int32_t)symbol);
}

static void put_list(json_writer *json, const grammar *g, const char *key, weighted *items)
{
    double total = grammar_sort(g, items);
    json_out_array(json, key, true);
    for (size_t i = 0; total > 0 && i < LISTED && items[i].weight >= 0.01 * total; i++) {
        json_out_open(json, '{', true);
        report_values_text(json, "name", name_of(g, items[i].number));
        report_values_real(json, "share", items[i].weight / total, 4);
        if (is_special(g, items[i].number)) {
            json_out_truth(json, "special", true);
        }
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

/* ---- typical subtrees ---- */

typedef struct typical {
    size_t n, left_out;
    state nodes[TYPICAL];
    size_t parent[TYPICAL], slot[TYPICAL];
} typical;

static void add_children(const grammar *g, typical *tree, size_t parent)
{
    state children[DRAWN];
    size_t n = 0;
    if (is_special(g, (size_t)tree->nodes[parent].symbol)) {
        return;
    }
    tree->left_out += grammar_usual_children(g, tree->nodes[parent], children, DRAWN, &n);
    for (size_t i = 0; i < n; i++) {
        if (children[i].symbol == (int32_t)(g->labels + EMPTY)) {
            continue; /* shows in the slots of the others */
        }
        tree->nodes[tree->n] = children[i];
        tree->parent[tree->n] = parent;
        tree->slot[tree->n++] = i + 1;
    }
}

/* A node with the children and grandchildren that it most often has. */
static void put_typical(json_writer *json, const grammar *g, state root)
{
    typical tree = {.n = 1, .nodes = {root}, .slot = {1}};
    add_children(g, &tree, 0);
    for (size_t i = 1, children = tree.n; i < children; i++) {
        add_children(g, &tree, i);
    }
    json_out_object(json, "typical", true);
    json_out_array(json, "label", true);
    for (size_t i = 0; i < tree.n; i++) {
        size_t symbol = (size_t)tree.nodes[i].symbol;
        report_values_name(json, is_special(g, symbol) ? NULL : name_of(g, symbol));
    }
    json_out_close(json, ']');
    json_out_array(json, "parent", true);
    for (size_t i = 0; i < tree.n; i++) {
        if (i == 0) {
            json_out_raw(json, "-1");
        } else {
            json_out_integer(json, tree.parent[i]);
        }
    }
    json_out_close(json, ']');
    json_out_array(json, "slot", true);
    for (size_t i = 0; i < tree.n; i++) {
        json_out_integer(json, tree.slot[i]);
    }
    json_out_close(json, ']');
    json_out_count(json, "left_out", tree.left_out);
    json_out_close(json, '}');
}

/* ---- annotations ---- */

static void put_label(json_writer *json, const grammar *g, size_t label, double count,
                      neighbours *found)
{
    json_out_open(json, '{', false);
    report_values_text(json, "name", phl_run_label_name(g->run, (int32_t)label));
    report_values_real(json, "nodes", count, 6);
    json_out_array(json, "annotations", false);
    for (int32_t a = 0; a < g->sizes[label]; a++) {
        grammar_count_neighbours(g, (int32_t)label, a, found);
        if (found->count < 0.001 * count) {
            continue; /* another class's */
        }
        json_out_open(json, '{', false);
        json_out_count(json, "annotation", (uint64_t)a);
        report_values_real(json, "share", found->count / count, 4);
        put_list(json, g, "parents", found->parents);
        put_list(json, g, "left_siblings", found->lefts);
        put_list(json, g, "next_siblings", found->nexts);
        put_list(json, g, "first_children", found->firsts);
        put_typical(json, g, (state){(int32_t)label, a});
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

static void put_labels(json_writer *json, const grammar *g)
{
    weighted *ranked = grammar_rank_labels(g);
    neighbours found = grammar_neighbours(g);
    json_out_array(json, "labels", false);
    for (size_t i = 0; i < g->labels && i < LABELS && ranked[i].weight > 0; i++) {
        put_label(json, g, ranked[i].number, ranked[i].weight, &found);
    }
    json_out_close(json, ']');
    grammar_neighbours_free(&found);
    free(ranked);
}

/* ---- starts ---- */

static void put_start(json_writer *json, const grammar *g, const phl_draw *draw, bool best)
{
    size_t states = 0;
    for (size_t x = 0; x < g->labels; x++) {
        states += (size_t)g->sizes[x];
    }
    json_out_open(json, '{', true);
    json_out_count(json, "start", draw->chain);
    json_out_truth(json, "best", best);
    json_out_text(json, "rules_see", g->pair ? "parent and left sibling" : "one of them");
    json_out_count(json, "rules", g->n_rules);
    json_out_count(json, "annotated_labels", states);
    report_values_real(json, "splits", g->numbers[6], 6);
    json_out_count(json, "steps", draw->iteration);
    report_values_real(json, "log_likelihood", draw->log_likelihood, 10);
    report_values_real(json, "held_out", g->numbers[7], 8);
    report_values_real(json, "held_out_before_last_split", g->numbers[8], 8);
    report_values_real(json, "weight", draw->weight, 6);
    json_out_close(json, '}');
}

/* ---- all classes ---- */

static void put_class(json_writer *json, const phl_run *run, size_t index)
{
    const phl_model *model = phl_run_model(run, index);
    size_t best = phl_model_best_draw(model);
    grammar g;
    json_out_open(json, '{', false);
    report_values_text(json, "class", phl_run_class_name(run, index));
    json_out_array(json, "starts", false);
    for (size_t d = 0; d < phl_model_draws(model); d++) {
        if (grammar_open(&g, run, phl_model_draw(model, d))) {
            put_start(json, &g, phl_model_draw(model, d), d == best);
            grammar_close(&g);
        }
    }
    json_out_close(json, ']');
    if (phl_model_draws(model) && grammar_open(&g, run, phl_model_draw(model, best))) {
        put_labels(json, &g);
        grammar_close(&g);
    } else {
        json_out_array(json, "labels", true);
        json_out_close(json, ']');
    }
    json_out_close(json, '}');
}

void report_grammar_write(report *r, size_t run)
{
    const phl_run *of = r->runs[run].run;
    json_out_object(r->json, "grammar", false);
    json_out_text(r->json, "starts_used", phl_run_meta(of, "form"));
    json_out_array(r->json, "classes", false);
    for (size_t i = 0; i < phl_run_classes(of); i++) {
        put_class(r->json, of, i);
    }
    json_out_close(r->json, ']');
    json_out_close(r->json, '}');
}
