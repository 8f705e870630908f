/* label_forest.c - forests before and after labelling: hiding labels, and filling them in. */
#include "task/label_forest.h"
#include "base/memory.h"
#include "base/rng.h"
#include "model/purposes.h"
#include "model/run.h"

/* ---------------------------------------------------------------------------------------------
 * Hiding
 * ------------------------------------------------------------------------------------------- */

/* What of a tree can still be seen, into labels [n]. */
static phl_status hide_some(phl_walk *walk, size_t tree, double hide, phl_rng *rng, int32_t *labels,
                            phl_error *error)
{
    phl_visit visit;
    int more;
    phl_walk_start(walk, tree);
    while ((more = phl_walk_next(walk, &visit, error)) > 0) {
        bool hidden = visit.label >= 0 && phl_rng_uniform(rng) < hide;
        labels[visit.node] = hidden ? PHL_UNKNOWN : visit.label;
    }
    return (phl_status)more;
}

phl_status phl_label_forest_hide(const phl_forest *forest, double hide, uint64_t seed,
                                 size_t first_ordinal, phl_forest **hidden, phl_error *error)
{
    if (hide >= 1.0) {
        return phl_copy_trees(forest, NULL, phl_forest_trees(forest), PHL_COPY_SHAPES, hidden,
                              error);
    }
    phl_copy copy;
    phl_walk *walk = NULL;
    uint64_t *nodes = NULL, *unknown = NULL;
    int32_t *labels = NULL;
    size_t capacity = 0;
    phl_status status = phl_copy_begin_relabelled(&copy, forest, &forest->labels, error);
    if (status == PHL_OK) {
        status = phl_walk_create(forest, &walk, error);
    }
    if (status == PHL_OK) {
        status = phl_forest_count_nodes(forest, &nodes, &unknown, error);
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        phl_rng rng;
        phl_rng_init(&rng, seed, PHL_PURPOSE_HIDE, 0, 0, first_ordinal + t);
        status = phl_grow(&labels, &capacity, (size_t)nodes[forest->tree_root[t]], sizeof *labels,
                          error);
        if (status == PHL_OK) {
            status = hide_some(walk, t, hide, &rng, labels, error);
        }
        if (status == PHL_OK) {
            status = phl_copy_add_relabelled(&copy, t, labels, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_copy_finish(&copy, hidden, error);
    }
    phl_copy_clear(&copy);
    phl_walk_free(walk);
    phl_free(nodes);
    phl_free(unknown);
    phl_free(labels);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Filling in
 * ------------------------------------------------------------------------------------------- */

phl_status phl_label_forest_begin(phl_label_forest *filling, const phl_run *run,
                                  const phl_forest *block, phl_error *error)
{
    const phl_alphabet *known = &run->labels;
    phl_alphabet names = {0};
    *filling =
        (phl_label_forest){.of_run = phl_alloc(known->count, sizeof *filling->of_run, error)};
    phl_status status =
        filling->of_run == NULL ? PHL_ERR_MEMORY : phl_alphabet_copy(&block->labels, &names, error);
    for (size_t i = 0; status == PHL_OK && i < known->count; i++) {
        status = phl_alphabet_add(&names, phl_alphabet_name(known, i),
                                  phl_alphabet_length(known, i), &filling->of_run[i], error);
    }
    if (status == PHL_OK) {
        status = phl_copy_begin_relabelled(&filling->copy, block, &names, error);
    }
    phl_alphabet_clear(&names);
    return status;
}

phl_status phl_label_forest_add(phl_label_forest *filling, size_t tree,
                                const phl_labelled_tree *labelled, bool drawn, phl_error *error)
{
    const int32_t *chosen = drawn ? labelled->drawn : labelled->best;
    phl_status status =
        phl_grow(&filling->labels, &filling->capacity, labelled->n, sizeof *filling->labels, error);
    for (size_t u = 0; status == PHL_OK && u < labelled->n; u++) {
        filling->labels[u] = labelled->truth[u];
        if (labelled->filled[u]) {
            filling->labels[u] = chosen[u] < 0 ? PHL_UNKNOWN : filling->of_run[chosen[u]];
        }
    }
    return status == PHL_OK ? phl_copy_add_relabelled(&filling->copy, tree, filling->labels, error)
                            : status;
}

phl_status phl_label_forest_finish(phl_label_forest *filling, phl_forest **filled, phl_error *error)
{
    return phl_copy_finish(&filling->copy, filled, error);
}

void phl_label_forest_clear(phl_label_forest *filling)
{
    phl_copy_clear(&filling->copy);
    phl_free(filling->of_run);
    phl_free(filling->labels);
    *filling = (phl_label_forest){0};
}
