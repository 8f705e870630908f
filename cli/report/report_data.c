/* report_data.c - the trees themselves: sizes, depths, labels, slots and what is common among them;
 * see report.h.
 *
 * Contents: figures of subtrees, distributions, labels and slots, common subtrees.
 */
#include "print/show.h"
#include "report/report.h"

#include <stdlib.h>

enum { LABELS_LISTED = 40, SLOTS_LISTED = 64, COMMON = 12, COMMON_NODES = 40 };

/* ---- figures of subtrees ---- */

/* Nodes (at most 2^62) and depth of each distinct subtree. */
typedef struct figures {
    uint64_t *nodes, *depth;
} figures;

static figures measure(const phl_forest *forest)
{
    const uint64_t most = (uint64_t)1 << 62;
    size_t n = phl_forest_subtrees(forest);
    figures f = {terminal_allocate(n + 1, sizeof *f.nodes),
                 terminal_allocate(n + 1, sizeof *f.depth)};
    for (uint32_t s = 0; s < n; s++) {
        const phl_link *links;
        size_t n_links = phl_subtree_links(forest, s, &links);
        f.nodes[s] = 1;
        for (size_t k = 0; k < n_links; k++) {
            uint64_t below = f.nodes[links[k].child], under = f.depth[links[k].child] + 1;
            f.nodes[s] = below > most - f.nodes[s] ? most : f.nodes[s] + below;
            f.depth[s] = under > f.depth[s] ? under : f.depth[s];
        }
    }
    return f;
}

static void put_of_trees(json_writer *json, const char *key, const phl_forest *forest,
                         const uint64_t *of_subtree)
{
    size_t n = phl_forest_trees(forest);
    uint64_t *values = terminal_allocate(n + 1, sizeof *values);
    for (size_t t = 0; t < n; t++) {
        values[t] = of_subtree[phl_tree_root(forest, t)];
    }
    report_values_distribution(json, key, values, n);
    free(values);
}

/* ---- labels and slots ---- */

static void put_labels(json_writer *json, const phl_forest *forest)
{
    size_t n = phl_forest_labels(forest);
    double *counts = terminal_allocate(n + 1, sizeof *counts), total = 0;
    weighted *ranked = terminal_allocate(n + 1, sizeof *ranked);
    for (uint32_t s = 0; s < phl_forest_subtrees(forest); s++) {
        int32_t label = phl_subtree_label(forest, s);
        double times = (double)phl_subtree_multiplicity(forest, s);
        total += times;
        if (label != PHL_UNKNOWN) {
            counts[label] += times;
        }
    }
    for (size_t i = 0; i < n; i++) {
        ranked[i] = (weighted){i, counts[i]};
    }
    shown_sort(ranked, n);
    json_out_array(json, "common_labels", false);
    for (size_t i = 0; i < n && i < LABELS_LISTED; i++) {
        json_out_open(json, '{', true);
        report_values_text(json, "name", phl_forest_label_name(forest, (int32_t)ranked[i].number));
        json_out_count(json, "nodes", (uint64_t)ranked[i].weight);
        report_values_real(json, "share", ranked[i].weight / total, 4);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    free(counts);
    free(ranked);
}

static void put_stats(json_writer *json, const phl_stats *stats)
{
    const struct {
        const char *key;
        uint64_t number;
    } counts[] = {{"trees", stats->trees},           {"nodes", stats->nodes},
                  {"leaves", stats->leaves},         {"distinct_subtrees", stats->subtrees},
                  {"labels", stats->labels},         {"unknown_labels", stats->unknown},
                  {"nodes_least", stats->nodes_min}, {"nodes_most", stats->nodes_max},
                  {"depth_least", stats->depth_min}, {"depth_most", stats->depth_max},
                  {"largest_slot", stats->max_slot}, {"ambiguous_trees", stats->ambiguous_trees}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_out_count(json, counts[i].key, counts[i].number);
    }
    report_values_real(json, "nodes_mean", stats->nodes_mean, 6);
    report_values_real(json, "nodes_median", stats->nodes_median, 6);
    report_values_real(json, "depth_mean", stats->depth_mean, 6);
    json_out_array(json, "slots_filled", true);
    for (uint32_t slot = 0; slot < stats->max_slot && slot < SLOTS_LISTED; slot++) {
        json_out_integer(json, stats->slot_filled[slot]);
    }
    json_out_close(json, ']');
    json_out_array(json, "classes", false);
    for (size_t i = 0; i < stats->n_classes; i++) {
        json_out_open(json, '{', true);
        report_values_text(json, "name", stats->classes[i].name);
        json_out_count(json, "trees", stats->classes[i].trees);
        json_out_count(json, "nodes", stats->classes[i].nodes);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

/* ---- common subtrees ---- */

/* The subtrees of at least three nodes that occur most often and, told apart by `by_nodes`, those
 * that cover most nodes; how many there are. */
static size_t rank_subtrees(const phl_forest *forest, const figures *f, bool by_nodes,
                            weighted *best)
{
    size_t n = phl_forest_subtrees(forest), used = 0;
    weighted *ranked = terminal_allocate(n + 1, sizeof *ranked);
    for (uint32_t s = 0; s < n; s++) {
        double times = (double)phl_subtree_multiplicity(forest, s);
        if (f->nodes[s] >= 3 && times >= 2 && f->nodes[s] <= COMMON_NODES) {
            ranked[used++] = (weighted){s, by_nodes ? times * (double)f->nodes[s] : times};
        }
    }
    shown_sort(ranked, used);
    used = used > COMMON ? COMMON : used;
    for (size_t i = 0; i < used; i++) {
        best[i] = ranked[i];
    }
    free(ranked);
    return used;
}

static void put_ranked(json_writer *json, const char *key, const phl_forest *forest,
                       const figures *f, const weighted *best, size_t n, const int32_t *number)
{
    json_out_array(json, key, false);
    for (size_t i = 0; i < n; i++) {
        uint32_t s = (uint32_t)best[i].number;
        if (number[s] < 0) {
            continue;
        }
        json_out_open(json, '{', true);
        json_out_count(json, "root", (uint64_t)number[s]);
        json_out_count(json, "occurrences", (uint64_t)phl_subtree_multiplicity(forest, s));
        json_out_count(json, "nodes", f->nodes[s]);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

static void put_common(json_writer *json, const phl_forest *forest, const figures *f)
{
    weighted often[COMMON], large[COMMON];
    uint32_t roots[2 * COMMON];
    size_t n_often = rank_subtrees(forest, f, false, often), n_large, n = 0;
    n_large = rank_subtrees(forest, f, true, large);
    int32_t *number = terminal_allocate(phl_forest_subtrees(forest) + 1, sizeof *number);
    for (size_t i = 0; i < n_often; i++) {
        roots[n++] = (uint32_t)often[i].number;
    }
    for (size_t i = 0; i < n_large; i++) {
        roots[n++] = (uint32_t)large[i].number;
    }
    report_trees_table(json, forest, roots, n, number);
    put_ranked(json, "commonest", forest, f, often, n_often, number);
    put_ranked(json, "covering", forest, f, large, n_large, number);
    free(number);
}

phl_status report_data_write(report *r, const phl_forest *forest, const char *key, phl_error *error)
{
    json_writer *json = r->json;
    phl_stats *stats = NULL;
    char fingerprint[33];
    if (!forest || phl_forest_trees(forest) == 0) {
        json_out_text(json, key, NULL);
        return PHL_OK;
    }
    phl_status status = phl_forest_fingerprint(forest, false, fingerprint, error);
    status = status == PHL_OK ? phl_stats_compute(forest, &stats, error) : status;
    if (status != PHL_OK) {
        return status;
    }
    figures f = measure(forest);
    json_out_object(json, key, false);
    json_out_text(json, "fingerprint", fingerprint);
    put_stats(json, stats);
    put_of_trees(json, "sizes", forest, f.nodes);
    put_of_trees(json, "depths", forest, f.depth);
    put_labels(json, forest);
    put_common(json, forest, &f);
    json_out_close(json, '}');
    free(f.nodes);
    free(f.depth);
    phl_stats_free(stats);
    return PHL_OK;
}
