/* label_batch.c - the trees of a batch, and what is needed for them; see label_batch.h.
 *
 * Contents: all blocks, one block, filling a batch.
 */
#include "task/label_batch.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/sampler.h"
#include "forest/copy.h"
#include "model/purposes.h"
#include "task/beside.h"
#include "task/label_forest.h"
#include "task/label_pool.h"
#include "task/measures.h"

/* Numbers kept for the trees of a batch; a larger tree is a batch of its own. */
static const size_t batch_size = (size_t)1 << 23;

/* ---------------------------------------------------------------------------------------------
 * All blocks
 * ------------------------------------------------------------------------------------------- */

/* Batches of a task that share what memory there is. */
static size_t count_batches(const phl_use *use, const phl_label_options *options)
{
    size_t n = 1 + use->run->n_members;
    for (size_t i = 0; i < options->n_with; i++) {
        n += 1 + options->with[i]->n_members;
    }
    return n;
}

static phl_status init_one(phl_label_batch *batch, const phl_use *use, const phl_run *run,
                           const phl_label_options *options, phl_error *error)
{
    *batch = (phl_label_batch){.use = use,
                               .run = run,
                               .options = options,
                               .no_draw = run != use->run || options->no_draw,
                               .sharing = count_batches(use, options),
                               .n_labels = run->labels.count};
    int n_workers = phl_parallel_threads(use->threads);
    batch->workers = phl_alloc_zero((size_t)n_workers, sizeof *batch->workers, error);
    if (batch->workers == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (; batch->n_workers < n_workers; batch->n_workers++) {
        phl_label_batch_worker *worker = &batch->workers[batch->n_workers];
        worker->predictive = phl_alloc(batch->n_labels + 1, sizeof *worker->predictive, error);
        if (worker->predictive == NULL) {
            return PHL_ERR_MEMORY;
        }
    }
    return PHL_OK;
}

phl_status phl_label_batch_init(phl_label_batch *batch, const phl_use *use, const phl_run *run,
                                const phl_label_options *options, phl_error *error)
{
    phl_status status = init_one(batch, use, run, options, error);
    if (status != PHL_OK || run->expert == NULL) {
        return status;
    }
    batch->followers = phl_alloc_zero(run->n_members, sizeof *batch->followers, error);
    status = batch->followers == NULL ? PHL_ERR_MEMORY : PHL_OK;
    while (status == PHL_OK && batch->n_followers < run->n_members) {
        size_t number = batch->n_followers++;
        status = init_one(&batch->followers[number], use, run->members[number], options, error);
    }
    return status == PHL_OK ? phl_label_pool_init(batch, error) : status;
}

static void clear_one(phl_label_batch *batch)
{
    for (int w = 0; w < batch->n_workers; w++) {
        phl_free(batch->workers[w].predictive);
        phl_free(batch->workers[w].states);
        phl_free(batch->workers[w].drawn);
        phl_neighbourhood_clear(&batch->workers[w].nodes);
        phl_free(batch->workers[w].voices);
        phl_free(batch->workers[w].models);
    }
    phl_expert_tables_free(batch->tables);
    phl_free(batch->workers);
    phl_free(batch->shapes);
    phl_free(batch->members);
    phl_free(batch->weights);
    phl_free(batch->row_node);
    phl_free(batch->probability);
    phl_free(batch->unseen);
    phl_free(batch->entropy);
    phl_free(batch->best);
    phl_free(batch->drawn);
    phl_free(batch->followers);
    *batch = (phl_label_batch){0};
}

void phl_label_batch_clear(phl_label_batch *batch)
{
    phl_label_batch_close(batch);
    for (size_t i = 0; i < batch->n_followers; i++) {
        clear_one(&batch->followers[i]);
    }
    clear_one(batch);
}

/* ---------------------------------------------------------------------------------------------
 * One block
 * ------------------------------------------------------------------------------------------- */

/* Passes of all models share what memory there is for them. */
static phl_status open_session(const phl_label_batch *batch, const phl_label_batch_part *part,
                               const phl_forest *forest, phl_session **session, phl_error *error)
{
    return phl_session_create(part->model, forest, batch->use->threads,
                              phl_session_memory() / (batch->n_parts * batch->sharing), session,
                              error);
}

/* part->model, forest and first_ordinal are set. */
static phl_status open_part(const phl_label_batch *batch, phl_label_batch_part *part,
                            phl_error *error)
{
    const phl_run *run = batch->run;
    phl_status status = PHL_OK;
    if (run->kind != PHL_NO_KIND || run->expert == NULL) {
        status = open_session(batch, part, part->forest, &part->session[0], error);
    }
    if (status != PHL_OK) {
        return status;
    }
    status = phl_scores_roots_init(part->forest, &part->roots, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_index_map_labels(part->forest, &run->labels, &part->label_row, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_forest_count_nodes(part->forest, &part->nodes, &part->unknown, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_walk_create(part->forest, &part->walk, error);
    if (status != PHL_OK) {
        return status;
    }
    part->views = phl_alloc_zero((size_t)batch->n_workers, sizeof *part->views, error);
    part->shape_of_root = phl_alloc_zero(part->roots.n, sizeof *part->shape_of_root, error);
    return part->views == NULL || part->shape_of_root == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

static phl_status make_parts(phl_label_batch *batch, size_t n, phl_error *error)
{
    batch->n_shapes = batch->n_members = 0;
    batch->parts = phl_alloc_zero(n, sizeof *batch->parts, error);
    batch->n_parts = batch->parts == NULL ? 0 : n;
    return batch->parts == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

/* The same trees as another batch. */
static phl_status open_one(phl_label_batch *batch, const phl_label_batch *leader, phl_error *error)
{
    phl_status status = make_parts(batch, leader->n_parts, error);
    for (size_t i = 0; status == PHL_OK && i < batch->n_parts; i++) {
        phl_label_batch_part *part = &batch->parts[i];
        part->model = phl_beside_model(batch->run, leader->parts[i].model);
        part->forest = leader->parts[i].forest;
        PHL_CHECK_BUG(part->model != NULL, error);
        status = open_part(batch, part, error);
    }
    return status;
}

static phl_status open_followers(phl_label_batch *batch, const phl_label_batch *leader,
                                 phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < batch->n_followers; i++) {
        status = open_one(&batch->followers[i], leader, error);
    }
    return status;
}

phl_status phl_label_batch_open(phl_label_batch *batch, const phl_use_portions *portions,
                                phl_error *error)
{
    const phl_label_options *options = batch->options;
    phl_status status = make_parts(batch, portions->n, error);
    for (size_t i = 0; status == PHL_OK && i < portions->n; i++) {
        const phl_use_portion *portion = &portions->portions[i];
        phl_label_batch_part *part = &batch->parts[i];
        part->model = portion->model;
        part->forest = portion->forest;
        part->first_ordinal = portion->first_ordinal;
        if (options->hide > 0.0) {
            status = phl_label_forest_hide(portion->forest, options->hide, options->seed,
                                           portion->first_ordinal, &part->hidden, error);
            part->forest = part->hidden;
        }
        if (status == PHL_OK) {
            status = open_part(batch, part, error);
        }
    }
    return status == PHL_OK ? open_followers(batch, batch, error) : status;
}

phl_status phl_label_batch_open_beside(phl_label_batch *batch, const phl_label_batch *leader,
                                       phl_error *error)
{
    phl_status status = open_one(batch, leader, error);
    return status == PHL_OK ? open_followers(batch, leader, error) : status;
}

static void close_one(phl_label_batch *batch)
{
    for (int w = 0; w < batch->n_workers; w++) { /* they borrow what the sessions hold */
        phl_outlook_free(batch->workers[w].outlook);
        batch->workers[w].outlook = NULL;
    }
    for (size_t i = 0; i < batch->n_parts; i++) {
        phl_label_batch_part *part = &batch->parts[i];
        for (int w = 0; part->views != NULL && w < batch->n_workers; w++) {
            phl_tree_view_free(part->views[w][0]);
            phl_tree_view_free(part->views[w][1]);
        }
        phl_session_free(part->session[0]);
        phl_session_free(part->session[1]);
        phl_scores_roots_clear(&part->roots);
        phl_free(part->label_row);
        phl_forest_free(part->hidden);
        phl_forest_free(part->shapes);
        phl_walk_free(part->walk);
        phl_free(part->nodes);
        phl_free(part->unknown);
        phl_free(part->views);
        phl_free(part->shape_of_root);
        phl_free(part->shapes_in);
        phl_free(part->members_in);
    }
    phl_free(batch->parts);
    batch->parts = NULL;
    batch->n_parts = 0;
}

void phl_label_batch_close(phl_label_batch *batch)
{
    for (size_t i = 0; i < batch->n_followers; i++) {
        close_one(&batch->followers[i]);
    }
    close_one(batch);
}

bool phl_label_batch_is_impossible(const phl_label_batch *batch, const phl_use_portions *portions,
                                   size_t tree)
{
    const phl_label_batch_part *part = &batch->parts[portions->of_tree[tree]];
    const phl_session *session = part->session[0];
    size_t place = portions->place[tree];
    if (session == NULL || part->unknown[part->forest->tree_root[place]] == 0) {
        return false;
    }
    for (size_t d = 0; d < session->n_draws; d++) {
        if (!isinf(phl_session_labels(session, d, place))) {
            return false;
        }
    }
    return true;
}

phl_status phl_label_batch_add_shapes(phl_label_batch *batch, size_t number, phl_error *error)
{
    phl_label_batch_part *part = &batch->parts[number];
    if (part->session[1] != NULL) {
        return PHL_OK;
    }
    phl_status status = phl_copy_trees(part->forest, NULL, phl_forest_trees(part->forest),
                                       PHL_COPY_SHAPES, &part->shapes, error);
    return status == PHL_OK ? open_session(batch, part, part->shapes, &part->session[1], error)
                            : status;
}

/* ---------------------------------------------------------------------------------------------
 * Filling a batch
 * ------------------------------------------------------------------------------------------- */

/* Enter a number into a list of a part. */
static phl_status list(size_t **numbers, size_t *n, size_t *capacity, size_t number,
                       phl_error *error)
{
    phl_status status = phl_grow(numbers, capacity, *n + 1, sizeof **numbers, error);
    if (status == PHL_OK) {
        (*numbers)[(*n)++] = number;
    }
    return status;
}

/* Enter a shape, whose tree, part, nodes and rows are known, and what the draws of the model weigh
 * for it. */
static phl_status enter_shape(phl_label_batch *batch, const phl_label_batch_shape *shape,
                              phl_error *error)
{
    phl_label_batch_part *part = &batch->parts[shape->part];
    const phl_session *session = part->session[0];
    size_t draws = session == NULL ? 0 : session->n_draws;
    phl_status status = phl_grow(&batch->shapes, &batch->shape_capacity, batch->n_shapes + 1,
                                 sizeof *batch->shapes, error);
    if (status == PHL_OK) {
        status = phl_grow(&batch->weights, &batch->weights_capacity, batch->n_weights + draws,
                          sizeof *batch->weights, error);
    }
    if (status == PHL_OK) {
        status =
            list(&part->shapes_in, &part->n_shapes, &part->shapes_capacity, batch->n_shapes, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_label_batch_shape *made = &batch->shapes[batch->n_shapes++];
    *made = *shape;
    made->first_weight = batch->n_weights;
    made->possible = session == NULL ||
                     phl_session_weights(session, shape->place, batch->weights + batch->n_weights);
    batch->n_weights += draws;
    return PHL_OK;
}

/* Enter a tree's shape unless the batch has it. */
static phl_status add_shape(phl_label_batch *batch, size_t number, size_t place, size_t *shape,
                            phl_error *error)
{
    phl_label_batch_part *part = &batch->parts[number];
    uint32_t root = part->roots.of_tree[place];
    if (part->shape_of_root[root] != 0) {
        *shape = part->shape_of_root[root] - 1;
        return PHL_OK;
    }
    uint32_t subtree = part->forest->tree_root[place];
    phl_label_batch_shape entered = {.part = number,
                                     .place = place,
                                     .n = (size_t)part->nodes[subtree],
                                     .n_rows = (size_t)part->unknown[subtree],
                                     .first_row = batch->n_rows};
    phl_status status = enter_shape(batch, &entered, error);
    if (status != PHL_OK) {
        return status;
    }
    const phl_label_batch_shape *made = &batch->shapes[batch->n_shapes - 1];
    if (!made->possible && made->n_rows > 0 &&
        !phl_session_weights(part->session[1], place, batch->weights + made->first_weight)) {
        /* Trained models give every shape a chance; forged ones need not. */
        return phl_raise(error, PHL_ERR_SYNTAX, "use an undamaged copy of the run, or train again",
                         "the model holds a tree of this shape for impossible, whatever its "
                         "labels");
    }
    batch->n_rows += made->n_rows;
    part->shape_of_root[root] = batch->n_shapes;
    *shape = batch->n_shapes - 1;
    return PHL_OK;
}

static phl_status add_member(phl_label_batch *batch, const phl_use_portions *portions, size_t tree,
                             phl_error *error)
{
    size_t shape = 0, number = portions->of_tree[tree], place = portions->place[tree];
    phl_label_batch_part *part = &batch->parts[number];
    phl_status status = add_shape(batch, number, place, &shape, error);
    if (status == PHL_OK) {
        status = phl_grow(&batch->members, &batch->member_capacity, batch->n_members + 1,
                          sizeof *batch->members, error);
    }
    if (status == PHL_OK) {
        status = list(&part->members_in, &part->n_members, &part->members_capacity,
                      batch->n_members, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_label_batch_member *made = &batch->members[batch->n_members++];
    *made = (phl_label_batch_member){.tree = tree,
                                     .part = number,
                                     .place = place,
                                     .shape = shape,
                                     .first_drawn = batch->n_drawn,
                                     .pick = SIZE_MAX};
    if (!batch->no_draw && batch->shapes[shape].n_rows > 0) {
        batch->n_drawn += batch->shapes[shape].n;
        phl_rng_init(&made->rng, batch->options->seed, PHL_PURPOSE_LABELS, part->model->class_index,
                     0, part->first_ordinal + place);
        made->pick = part->session[0] == NULL
                         ? 0
                         : phl_categorical_draw(&made->rng,
                                                batch->weights + batch->shapes[shape].first_weight,
                                                part->session[0]->n_draws);
    }
    return PHL_OK;
}

/* Room for the batch's rows, and the node of each. */
static phl_status reserve_rows(phl_label_batch *batch, phl_error *error)
{
    size_t rows = batch->n_rows, m = batch->n_labels;
    const phl_room rooms[] = {
        PHL_ROOM(batch->row_node, batch->row_node_capacity, rows),
        PHL_ROOM(batch->probability, batch->probability_capacity, rows * m),
        PHL_ROOM(batch->unseen, batch->unseen_capacity, rows),
        PHL_ROOM(batch->entropy, batch->entropy_capacity, rows),
        PHL_ROOM(batch->best, batch->best_capacity, rows),
        PHL_ROOM(batch->drawn, batch->drawn_capacity, batch->n_drawn),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (status != PHL_OK || rows == 0) {
        return status;
    }
    memset(batch->unseen, 0, rows * sizeof *batch->unseen);
    if (m > 0) {
        memset(batch->probability, 0, rows * m * sizeof *batch->probability);
    }
    for (size_t s = 0; s < batch->n_shapes; s++) {
        size_t row = batch->shapes[s].first_row;
        phl_visit visit;
        int more;
        phl_walk *walk = batch->parts[batch->shapes[s].part].walk;
        phl_walk_start(walk, batch->shapes[s].place);
        while ((more = phl_walk_next(walk, &visit, error)) > 0) {
            if (visit.label < 0) {
                batch->row_node[row++] = visit.node;
            }
        }
        if (more < 0) {
            return (phl_status)more;
        }
    }
    return PHL_OK;
}

/* The shapes of another batch, with rows of its own. */
static phl_status fill_one(phl_label_batch *batch, const phl_label_batch *leader, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; i < batch->n_parts; i++) {
        batch->parts[i].n_shapes = 0;
    }
    batch->n_shapes = batch->n_weights = 0;
    batch->n_rows = leader->n_rows;
    for (size_t s = 0; status == PHL_OK && s < leader->n_shapes; s++) {
        status = enter_shape(batch, &leader->shapes[s], error);
    }
    return status == PHL_OK ? reserve_rows(batch, error) : status;
}

static phl_status fill_followers(phl_label_batch *batch, const phl_label_batch *leader,
                                 phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < batch->n_followers; i++) {
        status = fill_one(&batch->followers[i], leader, error);
    }
    return status;
}

phl_status phl_label_batch_fill(phl_label_batch *batch, const phl_use_portions *portions,
                                size_t tree, size_t *end, phl_error *error)
{
    for (size_t i = 0; i < batch->n_members; i++) {
        const phl_label_batch_member *before = &batch->members[i];
        phl_label_batch_part *part = &batch->parts[before->part];
        part->shape_of_root[part->roots.of_tree[before->place]] = 0;
    }
    for (size_t i = 0; i < batch->n_parts; i++) {
        batch->parts[i].n_shapes = batch->parts[i].n_members = 0;
    }
    batch->n_shapes = batch->n_members = batch->n_rows = batch->n_drawn = batch->n_weights = 0;
    phl_status status = PHL_OK;
    do {
        status = add_member(batch, portions, tree++, error);
    } while (status == PHL_OK && tree < portions->n_trees &&
             batch->n_rows * (batch->n_labels + 1) + batch->n_drawn + batch->n_members <
                 batch_size);
    *end = tree;
    if (status == PHL_OK) {
        status = reserve_rows(batch, error);
    }
    return status == PHL_OK ? fill_followers(batch, batch, error) : status;
}

phl_status phl_label_batch_fill_beside(phl_label_batch *batch, const phl_label_batch *leader,
                                       phl_error *error)
{
    phl_status status = fill_one(batch, leader, error);
    return status == PHL_OK ? fill_followers(batch, leader, error) : status;
}
