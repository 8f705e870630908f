/* label_forest.c - forests before and after labelling: hiding labels, and filling them in. */
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "model/purposes.h"
#include "model/run.h"
#include "task/copies.h"
#include "task/label.h"

/* ---------------------------------------------------------------------------------------------
 * Hiding
 * ------------------------------------------------------------------------------------------- */

struct hiding {
    phl_walk *walk;
    double hide;
    uint64_t seed;
};

static phl_status hide_some(size_t tree, size_t n, int32_t *labels, void *context, phl_error *error)
{
    (void)n;
    struct hiding *hiding = context;
    phl_visit visit;
    phl_rng rng;
    int more;
    phl_rng_init(&rng, hiding->seed, PHL_PURPOSE_HIDE, 0, 0, tree);
    phl_walk_start(hiding->walk, tree);
    while ((more = phl_walk_next(hiding->walk, &visit, error)) > 0) {
        bool hidden = visit.label >= 0 && phl_rng_uniform(&rng) < hiding->hide;
        labels[visit.node] = hidden ? PHL_UNKNOWN : visit.label;
    }
    return (phl_status)more;
}

phl_status phl_hide_labels(const phl_forest *forest, double hide, uint64_t seed,
                           phl_forest **hidden, phl_error *error)
{
    if (hide >= 1.0) {
        return phl_copy_shapes(forest, hidden, error);
    }
    struct hiding hiding = {.hide = hide, .seed = seed};
    phl_status status = phl_walk_create(forest, &hiding.walk, error);
    if (status == PHL_OK) {
        status = phl_copy_relabelled(forest, &forest->labels, hide_some, &hiding, hidden, error);
    }
    phl_walk_free(hiding.walk);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Filling in
 * ------------------------------------------------------------------------------------------- */

struct filling {
    bool drawn;
    phl_alphabet names; /* the forest's, then those only the run knows */
    int32_t *of_run;    /* number in names of each label of the run */
    int32_t *labels;    /* of all nodes of all trees */
    size_t used, capacity;
    size_t next; /* where the tree to be built begins */
};

static phl_status keep_labels(const phl_labelled_tree *labelled, void *context, phl_error *error)
{
    struct filling *filling = context;
    phl_status status = phl_grow(&filling->labels, &filling->capacity, filling->used + labelled->n,
                                 sizeof *filling->labels, error);
    const int32_t *chosen = filling->drawn ? labelled->drawn : labelled->best;
    for (size_t u = 0; status == PHL_OK && u < labelled->n; u++) {
        int32_t label = labelled->truth[u];
        if (labelled->filled[u]) {
            label = chosen[u] < 0 ? PHL_UNKNOWN : filling->of_run[chosen[u]];
        }
        filling->labels[filling->used++] = label;
    }
    return status;
}

static phl_status fill_tree(size_t tree, size_t n, int32_t *labels, void *context, phl_error *error)
{
    (void)tree;
    (void)error;
    struct filling *filling = context;
    memcpy(labels, filling->labels + filling->next, n * sizeof *labels);
    filling->next += n;
    return PHL_OK;
}

phl_status phl_label_forest(const phl_model *model, const phl_forest *forest,
                            const phl_label_options *options, bool drawn, phl_forest **filled,
                            phl_error *error)
{
    phl_label_options own;
    phl_status status = phl_label_options_take(options, &own, error);
    if (status != PHL_OK) {
        return status;
    }
    own.no_draw = !drawn;
    const phl_alphabet *known = &model->run->labels;
    struct filling filling = {.drawn = drawn};
    status = phl_alphabet_copy(&forest->labels, &filling.names, error);
    if (status == PHL_OK) {
        filling.of_run = phl_alloc(known->count, sizeof *filling.of_run, error);
        status = filling.of_run == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t i = 0; status == PHL_OK && i < known->count; i++) {
        status = phl_alphabet_add(&filling.names, phl_alphabet_name(known, i),
                                  phl_alphabet_length(known, i), &filling.of_run[i], error);
    }
    if (status == PHL_OK) {
        status = phl_label_with(model, forest, &own, keep_labels, &filling, NULL, error);
    }
    if (status == PHL_OK) {
        status = phl_copy_relabelled(forest, &filling.names, fill_tree, &filling, filled, error);
    }
    phl_alphabet_clear(&filling.names);
    phl_free(filling.of_run);
    phl_free(filling.labels);
    return status;
}
