/* label_pool.c - the expert of a run on a batch of trees, pooled with its model; see label_pool.h.
 */
#include "task/label_pool.h"

#include "base/logs.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/sampler.h"

phl_status phl_label_pool_init(phl_label_batch *batch, phl_error *error)
{
    const phl_expert *expert = batch->run->expert;
    size_t n_models = expert->n_voices - expert->n_chains, width = batch->n_labels + 1;
    phl_status status = phl_expert_tables_create(expert, &batch->tables, error);
    for (int w = 0; status == PHL_OK && w < batch->n_workers; w++) {
        phl_label_batch_worker *worker = &batch->workers[w];
        worker->voices = phl_alloc(phl_times(expert->n_voices, width), sizeof(double), error);
        worker->models = phl_alloc(phl_times(n_models, width), sizeof(double), error);
        status = worker->voices == NULL || worker->models == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    return status;
}

phl_status phl_label_pool_look(phl_walk *walk, size_t tree, const uint32_t *label_row,
                               size_t n_labels, phl_neighbourhood *nodes, phl_error *error)
{
    phl_visit visit;
    int more;
    phl_neighbourhood_start(nodes, n_labels);
    phl_walk_start(walk, tree);
    while ((more = phl_walk_next(walk, &visit, error)) > 0) {
        uint32_t symbol = visit.label < 0 ? PHL_NEAR_UNKNOWN : label_row[visit.label];
        phl_status status = phl_neighbourhood_add(nodes, visit.parent, symbol, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    return (phl_status)more;
}

void phl_label_pool_voices(const phl_expert_tables *tables, const uint32_t near[PHL_NEAR_PLACES],
                           const double *models, size_t n, double *log_p)
{
    size_t width = tables->expert->n_labels + 1, chains = tables->expert->n_chains * width;
    if (chains > 0) {
        phl_expert_chains(tables, near, log_p);
    }
    for (size_t i = 0; i < n * width; i++) {
        log_p[chains + i] = models[i] > PHL_LABEL_POOL_LEAST ? models[i] : PHL_LABEL_POOL_LEAST;
    }
    phl_logs(log_p, chains + n * width, log_p);
}

/* Tables are made before the threads begin. */
static phl_status reserve_tables(phl_label_batch *batch, phl_error *error)
{
    phl_neighbourhood *nodes = &batch->workers[0].nodes;
    phl_status status = PHL_OK;
    for (size_t s = 0; status == PHL_OK && s < batch->n_shapes; s++) {
        const phl_label_batch_shape *shape = &batch->shapes[s];
        const phl_label_batch_part *part = &batch->parts[shape->part];
        uint32_t near[PHL_NEAR_PLACES];
        if (shape->n_rows == 0) {
            continue;
        }
        status = phl_label_pool_look(part->walk, shape->place, part->label_row, batch->n_labels,
                                     nodes, error);
        for (size_t row = shape->first_row;
             status == PHL_OK && row < shape->first_row + shape->n_rows; row++) {
            phl_neighbourhood_of(nodes, batch->row_node[row], near);
            status = phl_expert_tables_reserve(batch->tables, near, error);
        }
    }
    return status;
}

struct pooling {
    phl_label_batch *batch;
    phl_walk **walks; /* [workers][parts] made as needed */
};

/* What a model says, [M + 1]; where the tree is impossible under it, nothing. */
static void copy_row(const phl_label_batch *batch, size_t row, double *out)
{
    size_t m = batch->n_labels;
    double sum = batch->unseen[row];
    for (size_t x = 0; x < m; x++) {
        out[x] = batch->probability[row * m + x];
        sum += out[x];
    }
    out[m] = batch->unseen[row];
    for (size_t x = 0; !(sum > 0.0) && x <= m; x++) {
        out[x] = 1.0 / (double)(m + 1);
    }
}

static phl_status pool_shape(const struct pooling *work, size_t s, int number, phl_error *error)
{
    phl_label_batch *batch = work->batch;
    const phl_expert *expert = batch->tables->expert;
    phl_label_batch_worker *worker = &batch->workers[number];
    const phl_label_batch_shape *shape = &batch->shapes[s];
    const phl_label_batch_part *part = &batch->parts[shape->part];
    phl_walk **walk = &work->walks[(size_t)number * batch->n_parts + shape->part];
    size_t m = batch->n_labels, n_models = expert->n_voices - expert->n_chains;
    phl_status status = *walk == NULL ? phl_walk_create(part->forest, walk, error) : PHL_OK;
    if (status == PHL_OK && shape->n_rows > 0) {
        status =
            phl_label_pool_look(*walk, shape->place, part->label_row, m, &worker->nodes, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    for (size_t row = shape->first_row; row < shape->first_row + shape->n_rows; row++) {
        uint32_t near[PHL_NEAR_PLACES];
        double *p = batch->probability + row * m;
        phl_neighbourhood_of(&worker->nodes, batch->row_node[row], near);
        for (size_t k = 0; k < n_models; k++) {
            copy_row(k == 0 ? batch : &batch->followers[k - 1], row, worker->models + k * (m + 1));
        }
        phl_label_pool_voices(batch->tables, near, worker->models, n_models, worker->voices);
        phl_expert_pool(worker->voices, expert->weights[phl_expert_pattern(near)], expert->n_voices,
                        m + 1, worker->predictive);
        for (size_t x = 0; x < m; x++) {
            p[x] = worker->predictive[x];
        }
        batch->unseen[row] = worker->predictive[m];
    }
    return PHL_OK;
}

static phl_status pool_shapes(size_t chunk, size_t begin, size_t end, int worker, void *context,
                              phl_error *error)
{
    (void)chunk;
    phl_status status = PHL_OK;
    for (size_t s = begin; status == PHL_OK && s < end; s++) {
        status = pool_shape(context, s, worker, error);
    }
    return status;
}

/* Without a model each label is drawn from its own prediction. */
static void draw_labels(phl_label_batch *batch)
{
    for (size_t i = 0; i < batch->n_members; i++) {
        phl_label_batch_member *member = &batch->members[i];
        const phl_label_batch_shape *shape = &batch->shapes[member->shape];
        if (member->pick == SIZE_MAX) {
            continue;
        }
        for (size_t row = shape->first_row; row < shape->first_row + shape->n_rows; row++) {
            batch->drawn[member->first_drawn + batch->row_node[row]] =
                batch->n_labels == 0
                    ? -1
                    : (int32_t)phl_categorical_draw(&member->rng,
                                                    batch->probability + row * batch->n_labels,
                                                    batch->n_labels);
        }
    }
}

phl_status phl_label_pool_run(phl_label_batch *batch, phl_error *error)
{
    const phl_use *use = batch->use;
    size_t n_walks = (size_t)batch->n_workers * batch->n_parts;
    struct pooling work = {.batch = batch,
                           .walks = phl_alloc_zero(n_walks, sizeof *work.walks, error)};
    phl_status status = work.walks == NULL ? PHL_ERR_MEMORY : reserve_tables(batch, error);
    if (status == PHL_OK) {
        status = phl_parallel_chunks(batch->n_shapes, 1, use->threads, pool_shapes, &work,
                                     use->cancel, use->context, error);
    }
    for (size_t i = 0; work.walks != NULL && i < n_walks; i++) {
        phl_walk_free(work.walks[i]);
    }
    phl_free(work.walks);
    if (status == PHL_OK && batch->run->kind == PHL_NO_KIND) {
        draw_labels(batch);
    }
    return status;
}
