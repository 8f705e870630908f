/* report_odd.c - the oddest test trees, and the bits of each of their nodes; see report.h.
 *
 * Contents: which trees, one tree, all of it.
 */
#include "interrupt.h"
#include "print/show.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct oddities {
    report *r;
    const phl_run *run;
    bool pool;            /* the run has an expert: trees are ranked by oddity, else by bits */
    const size_t *chosen; /* [n] numbers in the test of the trees looked at */
    weighted *odd;        /* [n] */
    size_t n;
    bool show; /* the second time: write the trees */
} oddities;

/* ---- which trees ---- */

/* Trees whose model the run has; how many. */
static size_t choose(const oddities *o, size_t *trees)
{
    const phl_forest *test = o->r->test;
    size_t n = 0;
    for (size_t t = 0; t < phl_forest_trees(test); t++) {
        int32_t number = phl_tree_class(test, t);
        const char *name = number == PHL_NO_CLASS ? NULL : phl_forest_class_name(test, number);
        if (!phl_run_per_class(o->run) || (name && phl_run_find_class(o->run, name) != SIZE_MAX)) {
            trees[n++] = t;
        }
    }
    return n;
}

/* ---- one tree ---- */

static phl_status put_tree(const oddities *o, const phl_tree_at *at, const phl_tree_score *score,
                           phl_error *error)
{
    json_writer *json = o->r->json;
    flat_tree flat;
    phl_status status = report_trees_flatten(at->block, at->walk, at->tree, &flat, error);
    if (status != PHL_OK) {
        return status;
    }
    json_out_open(json, '{', false);
    json_out_count(json, "tree", o->chosen[at->number]);
    report_values_real(json, "bits_per_label", score->bits_per_label, 5);
    report_values_real(json, "log_likelihood", score->log_likelihood, 8);
    if (o->pool) {
        report_values_real(json, "oddity", score->oddity, 5);
        report_values_real(json, "odd_share", score->odd_share, 5);
    }
    report_trees_flat(json, at->block, &flat);
    json_out_array(json, "bits", true);
    for (size_t i = 0; i < flat.n; i++) {
        json_out_rounded(json, score->bits ? score->bits[flat.node[i]] : (double)NAN, 4);
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
    report_trees_clear(&flat);
    return PHL_OK;
}

static phl_status take(const phl_tree_at *at, const phl_tree_score *score, void *context,
                       phl_error *error)
{
    oddities *o = context;
    if (o->show) {
        return put_tree(o, at, score, error);
    }
    double odd = o->pool ? score->oddity : score->bits_per_label;
    o->odd[o->n++] = (weighted){at->number, isnan(odd) ? -1 : isinf(odd) ? 1e9 : odd};
    return PHL_OK;
}

/* ---- all of it ---- */

static phl_status score(oddities *o, const phl_forest *trees, bool bits, phl_error *error)
{
    phl_score_options options;
    phl_source *source = NULL;
    phl_score_options_init(&options);
    options.bits = bits;
    options.structure =
        phl_run_kind(o->run) == PHL_GRAMMAR; /* as 'phloem score': it has both in one */
    options.threads = o->r->threads;
    options.cancel = interrupt_asked;
    options.context = o;
    phl_status status = phl_source_forest(trees, &source, error);
    if (status == PHL_OK) {
        status = phl_score(o->run, source, &options, take, error);
    }
    phl_source_free(source);
    return status;
}

static phl_status show_oddest(oddities *o, size_t *chosen, phl_error *error)
{
    size_t n = o->n < o->r->oddest ? o->n : o->r->oddest;
    phl_forest *oddest = NULL;
    size_t *numbers = terminal_allocate(n + 1, sizeof *numbers);
    shown_sort(o->odd, o->n);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = chosen[o->odd[i].number];
    }
    o->chosen = numbers;
    o->show = true;
    phl_status status = phl_forest_select(o->r->test, numbers, n, &oddest, error);
    if (status == PHL_OK) {
        json_out_array(o->r->json, "trees", false);
        status = score(o, oddest, true, error);
        json_out_close(o->r->json, ']');
    }
    phl_forest_free(oddest);
    free(numbers);
    return status;
}

static phl_status find_oddest(oddities *o, size_t *chosen, size_t n, phl_error *error)
{
    phl_forest *trees = NULL;
    phl_status status = phl_forest_select(o->r->test, chosen, n, &trees, error);
    status = status == PHL_OK ? score(o, trees, o->pool, error) : status;
    if (status == PHL_OK) {
        json_out_object(o->r->json, "oddest", false);
        json_out_text(o->r->json, "by", o->pool ? "oddity" : "bits_per_label");
        json_out_count(o->r->json, "of", n);
        status = show_oddest(o, chosen, error);
        json_out_close(o->r->json, '}');
    }
    phl_forest_free(trees);
    return status;
}

phl_status report_odd_write(report *r, size_t run, phl_error *error)
{
    size_t all = phl_forest_trees(r->test);
    oddities o = {.r = r, .run = r->runs[run].run};
    phl_expert_summary expert;
    phl_status status = PHL_OK;
    phl_expert_summarise(o.run, &expert);
    o.pool = expert.trees > 0;
    if (r->oddest == 0 || (!r->runs[run].trained && !o.pool)) {
        return PHL_OK;
    }
    size_t *chosen = terminal_allocate(all + 1, sizeof *chosen);
    o.odd = terminal_allocate(all + 1, sizeof *o.odd);
    size_t n = choose(&o, chosen);
    if (n > 0) {
        status = find_oddest(&o, chosen, n, error);
    }
    free(chosen);
    free(o.odd);
    return status;
}
