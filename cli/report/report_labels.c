/* report_labels.c - labels of test trees hidden and filled in, with the trees where most of them
 * are wrong; see report.h.
 *
 * Contents: which trees, one tree, labels, all of it.
 */
#include "interrupt.h"
#include "print/show.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

enum { TREES_LABELLED = 2000, TREES_SHOWN = 60, LABELS_LISTED = 200 };
static const double usual_hide = 0.2;

typedef struct labelling {
    report *r;
    const phl_run *run;
    const size_t *chosen; /* [n] numbers in the test of the trees that are labelled, */
    weighted *wrong;      /* and how many of their labels are wrong */
    size_t n;
    bool *shown; /* [n] the second time: which trees to write; NULL the first time */
} labelling;

/* ---- which trees ---- */

static bool is_wrong(const labelling *l, const phl_tree_at *at, const phl_labelled_tree *tree,
                     size_t node)
{
    const char *truth = phl_forest_label_name(at->block, tree->truth[node]);
    const char *best = tree->best[node] < 0 ? NULL : phl_run_label_name(l->run, tree->best[node]);
    return !best || strcmp(truth, best) != 0;
}

static void count_wrong(labelling *l, const phl_tree_at *at, const phl_labelled_tree *tree)
{
    size_t wrong = 0;
    for (size_t i = 0; i < tree->n; i++) {
        wrong += tree->hidden[i] && is_wrong(l, at, tree, i);
    }
    l->wrong[l->n++] = (weighted){at->number, (double)wrong};
}

/* ---- one tree ---- */

/* For each node shown whose label was hidden: its place, the prediction, the probability. */
static void put_predictions(labelling *l, const phl_tree_at *at, const phl_labelled_tree *tree,
                            const flat_tree *flat)
{
    json_writer *json = l->r->json;
    size_t labels = phl_run_labels(l->run), filled = 0, at_node = 0;
    json_out_array(json, "hidden", false);
    for (size_t i = 0; i < flat->n; i++) {
        size_t node = flat->node[i];
        for (; at_node < node; at_node++) {
            filled += tree->filled[at_node];
        }
        if (!tree->hidden[node]) {
            continue;
        }
        int32_t best = tree->best[node];
        json_out_open(json, '{', true);
        json_out_count(json, "node", i);
        report_values_text(json, "predicted", best < 0 ? NULL : phl_run_label_name(l->run, best));
        report_values_real(json, "p",
                           best < 0 ? 0 : tree->probability[filled * labels + (size_t)best], 4);
        json_out_truth(json, "wrong", is_wrong(l, at, tree, node));
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

static phl_status put_tree(labelling *l, const phl_tree_at *at, const phl_labelled_tree *tree,
                           phl_error *error)
{
    flat_tree flat;
    phl_status status = report_trees_flatten(at->block, at->walk, at->tree, &flat, error);
    if (status != PHL_OK) {
        return status;
    }
    size_t hidden = 0, wrong = 0;
    for (size_t i = 0; i < tree->n; i++) {
        hidden += tree->hidden[i];
        wrong += tree->hidden[i] && is_wrong(l, at, tree, i);
    }
    json_out_open(l->r->json, '{', false);
    json_out_count(l->r->json, "tree", l->chosen[at->number]);
    json_out_count(l->r->json, "n_hidden", hidden);
    json_out_count(l->r->json, "n_wrong", wrong);
    report_trees_flat(l->r->json, at->block, &flat);
    put_predictions(l, at, tree, &flat);
    json_out_close(l->r->json, '}');
    report_trees_clear(&flat);
    return PHL_OK;
}

static phl_status take(const phl_tree_at *at, const phl_labelled_tree *tree, void *context,
                       phl_error *error)
{
    labelling *l = context;
    if (!l->shown) {
        count_wrong(l, at, tree);
        return PHL_OK;
    }
    return l->shown[at->number] ? put_tree(l, at, tree, error) : PHL_OK;
}

/* ---- labels ---- */

static void put_evaluation(json_writer *json, const phl_evaluation *e)
{
    weighted *ranked = terminal_allocate(e->n_names + 1, sizeof *ranked);
    size_t n = 0;
    json_out_count(json, "n", e->n);
    report_values_real(json, "accuracy", e->best->accuracy, 6);
    report_values_real(json, "low", e->accuracy_low, 6);
    report_values_real(json, "high", e->accuracy_high, 6);
    report_values_real(json, "log_loss", e->log_loss, 6);
    report_values_real(json, "largest_share", e->largest_share, 6);
    for (size_t i = 0; i < e->n_names; i++) {
        if (e->best->measures[i].n > 0) {
            ranked[n++] = (weighted){i, (double)e->best->measures[i].n};
        }
    }
    shown_sort(ranked, n);
    json_out_array(json, "per_label", false);
    for (size_t i = 0; i < n && i < LABELS_LISTED; i++) {
        const phl_name_measure *m = &e->best->measures[ranked[i].number];
        json_out_open(json, '{', true);
        report_values_text(json, "label", e->names[ranked[i].number]);
        json_out_count(json, "n", m->n);
        report_values_real(json, "accuracy", m->accuracy, 6);
        report_values_interval(json, m->accuracy, m->n);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    free(ranked);
}

/* ---- all of it ---- */

/* Trees whose model the run has, TREES_LABELLED at most; how many. */
static size_t choose(const labelling *l, size_t *trees)
{
    const phl_forest *test = l->r->test;
    size_t n = 0;
    for (size_t t = 0; t < phl_forest_trees(test) && n < TREES_LABELLED; t++) {
        int32_t number = phl_tree_class(test, t);
        const char *name = number == PHL_NO_CLASS ? NULL : phl_forest_class_name(test, number);
        if (!phl_run_per_class(l->run) || (name && phl_run_find_class(l->run, name) != SIZE_MAX)) {
            trees[n++] = t;
        }
    }
    return n;
}

static phl_status label(labelling *l, const phl_forest *trees, double hide,
                        phl_evaluation **evaluation, phl_error *error)
{
    phl_label_options options;
    phl_source *source = NULL;
    phl_label_options_init(&options);
    options.hide = hide;
    options.no_draw = true;
    options.seed = l->r->seed;
    options.threads = l->r->threads;
    options.cancel = interrupt_asked;
    options.context = l;
    phl_status status = phl_source_forest(trees, &source, error);
    if (status == PHL_OK) {
        status = phl_label(l->run, source, &options, take, evaluation, error);
    }
    phl_source_free(source);
    return status;
}

/* The trees with most wrong labels.  All are labelled once more: which labels are hidden depends on
 * a tree's number. */
static phl_status show_worst(labelling *l, const phl_forest *trees, double hide, phl_error *error)
{
    l->shown = terminal_allocate(l->n, sizeof *l->shown);
    shown_sort(l->wrong, l->n);
    for (size_t i = 0; i < l->n && i < TREES_SHOWN && l->wrong[i].weight > 0; i++) {
        l->shown[l->wrong[i].number] = true;
    }
    json_out_array(l->r->json, "worst", false);
    phl_status status = label(l, trees, hide, NULL, error);
    json_out_close(l->r->json, ']');
    free(l->shown);
    return status;
}

static phl_status label_chosen(labelling *l, const phl_forest *trees, double hide, phl_error *error)
{
    phl_evaluation *evaluation = NULL;
    phl_status status = label(l, trees, hide, &evaluation, error);
    if (status == PHL_OK) {
        json_out_object(l->r->json, "labelling", false);
        report_values_real(l->r->json, "hide", hide, 6);
        json_out_count(l->r->json, "trees", l->n);
        put_evaluation(l->r->json, evaluation);
        status = show_worst(l, trees, hide, error);
        json_out_close(l->r->json, '}');
    }
    phl_evaluation_free(evaluation);
    return status;
}

phl_status report_labels_write(report *r, size_t run, phl_error *error)
{
    double hide = r->hide >= 0 ? r->hide : phl_run_per_class(r->runs[run].run) ? 0 : usual_hide;
    size_t all = phl_forest_trees(r->test), *chosen;
    labelling l = {.r = r, .run = r->runs[run].run};
    phl_expert_summary expert;
    phl_forest *trees = NULL;
    phl_status status = PHL_OK;
    phl_expert_summarise(l.run, &expert);
    if (hide == 0 || (!r->runs[run].trained && expert.trees == 0) || phl_run_labels(l.run) == 0) {
        return PHL_OK;
    }
    chosen = terminal_allocate(all + 1, sizeof *chosen);
    l.wrong = terminal_allocate(all + 1, sizeof *l.wrong);
    size_t n = choose(&l, chosen);
    l.chosen = chosen;
    if (n > 0) {
        status = phl_forest_select(r->test, chosen, n, &trees, error);
        status = status == PHL_OK ? label_chosen(&l, trees, hide, error) : status;
    }
    phl_forest_free(trees);
    free(chosen);
    free(l.wrong);
    return status;
}
