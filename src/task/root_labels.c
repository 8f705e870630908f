/* root_labels.c - see root_labels.h. */
#include "task/root_labels.h"

#include "base/memory.h"
#include "base/rng.h"
#include "forest/copy.h"
#include "model/purposes.h"

struct rooting {
    const phl_model *model;
    const phl_forest *shapes;
    phl_copy copy;
    double *chances; /* [M + 1] */
    int32_t *labels; /* of a tree: all unknown but the first */
    size_t labels_capacity;
};

/* Never the one for labels that training has not seen. */
static int32_t pick(const double *chances, size_t n, phl_rng *rng)
{
    double at = phl_rng_uniform(rng) * (1.0 - chances[n]);
    size_t last = 0;
    for (size_t x = 0; x < n && at >= 0.0; x++) {
        last = chances[x] > 0.0 ? x : last;
        at -= chances[x];
    }
    return (int32_t)last;
}

static phl_status add_tree(struct rooting *work, size_t tree, size_t nodes, phl_rng *rng,
                           phl_error *error)
{
    size_t before = work->labels_capacity, n = work->model->run->labels.count;
    uint32_t root = work->shapes->tree_root[tree];
    phl_status status =
        phl_grow(&work->labels, &work->labels_capacity, nodes, sizeof *work->labels, error);
    if (status != PHL_OK) {
        return status;
    }
    for (size_t u = before; u < work->labels_capacity; u++) {
        work->labels[u] = PHL_UNKNOWN;
    }
    uint64_t children = work->shapes->first_link[root + 1] - work->shapes->first_link[root];
    phl_shape_chances_label(work->model->run->shapes, work->model->class_index, (uint32_t)children,
                            work->chances);
    work->labels[0] = n > 0 ? pick(work->chances, n, rng) : PHL_UNKNOWN;
    return phl_copy_add_relabelled(&work->copy, tree, work->labels, error);
}

phl_status phl_root_labels_draw(const phl_model *model, const phl_forest *shapes,
                                const uint64_t *nodes, uint64_t seed, size_t first_ordinal,
                                phl_forest **rooted, phl_error *error)
{
    struct rooting work = {.model = model, .shapes = shapes};
    phl_status status = phl_copy_begin_relabelled(&work.copy, shapes, &model->run->labels, error);
    if (status == PHL_OK) {
        work.chances = phl_alloc(model->run->labels.count + 1, sizeof *work.chances, error);
        status = work.chances == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t t = 0; status == PHL_OK && t < shapes->n_trees; t++) {
        phl_rng rng;
        phl_rng_init(&rng, seed, PHL_PURPOSE_ROOT, model->class_index, 0, first_ordinal + t);
        status = add_tree(&work, t, (size_t)nodes[shapes->tree_root[t]], &rng, error);
    }
    if (status == PHL_OK) {
        status = phl_copy_finish(&work.copy, rooted, error);
    }
    phl_copy_clear(&work.copy);
    phl_free(work.chances);
    phl_free(work.labels);
    return status;
}
