/* shape_model.c - events of shapes: counting, contexts, soundness; see shape_model.h. */
#include "model/shape_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "forest/forest.h"
#include "model/shape_cells.h"

/* So many rows, or twice those that are left, and equal ones are put together. */
static const size_t MANY_ROWS = 1000000;

/* The largest count. */
static const double MOST = 1e300;

void phl_shape_model_bin(uint32_t bin, uint64_t *first, uint64_t *last)
{
    uint32_t shift = bin < 4 ? 0 : bin / 2 - 1;
    *first = bin < 4 ? bin : (uint64_t)(2 + (bin & 1)) << shift;
    *last = *first + ((uint64_t)1 << shift) - 1;
}

phl_status phl_shape_model_create(uint32_t slots, uint32_t labels, size_t n_classes,
                                  phl_shape_model **model, phl_error *error)
{
    phl_shape_model *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->slots = slots;
    made->labels = labels;
    made->n_classes = n_classes;
    *model = made;
    return PHL_OK;
}

void phl_shape_model_free(phl_shape_model *model)
{
    if (model != NULL) {
        phl_free(model->rows);
        phl_free(model->cells);
        phl_free(model->internal);
        phl_free(model);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Counting
 * ------------------------------------------------------------------------------------------- */

static int compare(const uint32_t *a, const uint32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_rows(const void *a, const void *b)
{
    const phl_shape_row *x = a, *y = b;
    uint32_t left[] = {x->class_index, x->event}, right[] = {y->class_index, y->event};
    int order = compare(left, right, 2);
    order = order != 0 ? order : compare(x->context, y->context, PHL_SHAPE_CONTEXT);
    order = order != 0 ? order : compare(&x->outcome, &y->outcome, 1);
    /* Equal ones in order of their counts: sums do not depend on the way of sorting. */
    return order != 0 ? order : (x->count > y->count) - (x->count < y->count);
}

static bool are_alike(const phl_shape_row *x, const phl_shape_row *y)
{
    return x->class_index == y->class_index && x->event == y->event && x->outcome == y->outcome &&
           compare(x->context, y->context, PHL_SHAPE_CONTEXT) == 0;
}

/* Weights of trees may be as large as numbers can be. */
static double bounded(double count)
{
    return count < MOST ? count : MOST;
}

static void put_together(phl_shape_model *model)
{
    size_t n = 0;
    if (model->n_rows > 1) {
        qsort(model->rows, model->n_rows, sizeof *model->rows, compare_rows);
    }
    for (size_t i = 0; i < model->n_rows; i++) {
        if (n > 0 && are_alike(&model->rows[n - 1], &model->rows[i])) {
            model->rows[n - 1].count = bounded(model->rows[n - 1].count + model->rows[i].count);
        } else {
            model->rows[n++] = model->rows[i];
        }
    }
    model->n_rows = n;
}

static phl_status add(phl_shape_model *model, const phl_shape_row *row, size_t *most,
                      phl_error *error)
{
    if (model->n_rows >= *most) {
        put_together(model);
        *most = model->n_rows > *most / 2 ? 2 * *most : *most;
    }
    phl_status status =
        phl_grow(&model->rows, &model->row_capacity, model->n_rows + 1, sizeof *model->rows, error);
    if (status == PHL_OK) {
        model->rows[model->n_rows] = *row;
        model->rows[model->n_rows++].count = bounded(row->count);
    }
    return status;
}

struct counting {
    phl_shape_model *model;
    const phl_forest *forest;
    uint32_t class_index;
    uint32_t *size, *height; /* [subtrees] */
    double *times;           /* [subtrees][depths + 1] */
    size_t most;
};

/* What a slot of the node got, `times` times. */
static phl_status count_slot(struct counting *work, const phl_shape_node *node, uint32_t outcome,
                             double times, phl_error *error)
{
    phl_shape_row row = {work->class_index, PHL_SHAPE_SLOT, {0}, outcome, times};
    phl_shape_cells_context(node, row.context);
    return add(work->model, &row, &work->most, error);
}

/* Empty slots up to `slot`; from some slot on they are all alike. */
static phl_status count_gap(struct counting *work, phl_shape_node *node, uint32_t slot,
                            double times, phl_error *error)
{
    phl_status status = PHL_OK;
    while (status == PHL_OK && node->slot < slot) {
        uint32_t alike = 1;
        if (node->slot >= PHL_SHAPE_SLOTS && node->before == PHL_BEFORE_EMPTY) {
            alike = slot - node->slot;
        }
        status = count_slot(work, node, PHL_SHAPE_EMPTY, times * (double)alike, error);
        phl_shape_chances_pass(node, 0, 0);
        node->slot += alike - 1;
    }
    return status;
}

static phl_status count_child(struct counting *work, phl_shape_node *node, uint32_t child,
                              double times, phl_error *error)
{
    uint32_t size = work->size[child], height = work->height[child];
    bool high = height + 1 == node->height;
    uint32_t bin = size == node->left ? 0 : phl_shape_bin(size);
    phl_status status = count_slot(work, node, phl_shape_outcome(bin, high), times, error);
    if (status == PHL_OK && !high && size > 2) {
        phl_shape_row row = {work->class_index,
                             PHL_SHAPE_DROP,
                             {phl_shape_bin(node->height), phl_shape_bin(size)},
                             phl_shape_bin(node->height - 1 - height),
                             times};
        status = add(work->model, &row, &work->most, error);
    }
    phl_shape_chances_pass(node, size, height);
    return status;
}

static phl_status count_node(struct counting *work, size_t s, uint32_t depth, phl_error *error)
{
    const phl_forest *forest = work->forest;
    double times = work->times[s * (PHL_SHAPE_DEPTHS + 1) + depth];
    phl_shape_node node = phl_shape_chances_begin(work->size[s], work->height[s], depth);
    phl_status status = PHL_OK;
    for (uint64_t k = forest->first_link[s]; status == PHL_OK && k < forest->first_link[s + 1];
         k++) {
        status = count_gap(work, &node, forest->links[k].slot, times, error);
        if (status == PHL_OK) {
            status = count_child(work, &node, forest->links[k].child, times, error);
        }
    }
    return status;
}

static phl_status count_root(struct counting *work, size_t tree, const uint32_t *label_row,
                             phl_error *error)
{
    const phl_forest *forest = work->forest;
    uint32_t root = forest->tree_root[tree];
    double weight = phl_tree_weight(forest, tree);
    phl_shape_row row = {work->class_index, PHL_SHAPE_SIZE, {0}, work->size[root], weight};
    if (!(weight > 0.0)) {
        return PHL_OK;
    }
    work->times[(size_t)root * (PHL_SHAPE_DEPTHS + 1)] += weight;
    phl_status status = add(work->model, &row, &work->most, error);
    if (status == PHL_OK && work->size[root] > 1) {
        row.event = PHL_SHAPE_HEIGHT;
        row.context[0] = phl_shape_bin(work->size[root]);
        row.outcome = phl_shape_bin(work->height[root]);
        status = add(work->model, &row, &work->most, error);
    }
    int32_t label = forest->label[root];
    if (status == PHL_OK && label >= 0 && label_row[label] < work->model->labels) {
        row.event = PHL_SHAPE_LABEL;
        row.context[0] =
            phl_shape_bin((uint32_t)(forest->first_link[root + 1] - forest->first_link[root]));
        row.outcome = label_row[label];
        status = add(work->model, &row, &work->most, error);
    }
    return status;
}

/* Nodes and height of every subtree; UINT32_MAX nodes: so many or more. */
static void measure(const phl_forest *forest, uint32_t *size, uint32_t *height)
{
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        uint64_t nodes = 1;
        height[s] = 0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t child = forest->links[k].child;
            nodes += size[child];
            height[s] = height[child] >= height[s] ? height[child] + 1 : height[s];
        }
        size[s] = nodes < UINT32_MAX ? (uint32_t)nodes : UINT32_MAX;
    }
}

static phl_status count_all(struct counting *work, const uint32_t *label_row, phl_error *error)
{
    const phl_forest *forest = work->forest;
    size_t n = forest->n_subtrees, depths = PHL_SHAPE_DEPTHS + 1;
    work->size = phl_alloc(n, sizeof *work->size, error);
    work->height = phl_alloc(n, sizeof *work->height, error);
    work->times = phl_alloc_zero(phl_times(n, depths), sizeof *work->times, error);
    if (work->size == NULL || work->height == NULL || work->times == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status = PHL_OK;
    measure(forest, work->size, work->height);
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        status = count_root(work, t, label_row, error);
    }
    for (size_t s = n; status == PHL_OK && s-- > 0;) {
        for (uint32_t d = 0; status == PHL_OK && d < depths; d++) {
            double times = work->times[s * depths + d];
            uint32_t below = d < PHL_SHAPE_DEPTHS ? d + 1 : d;
            if (!(times > 0.0) || work->size[s] == UINT32_MAX) {
                continue;
            }
            status = count_node(work, s, d, error);
            for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
                work->times[forest->links[k].child * depths + below] += times;
            }
        }
    }
    return status;
}

phl_status phl_shape_model_count(phl_shape_model *model, size_t class_index,
                                 const phl_forest *forest, const uint32_t *label_row,
                                 phl_error *error)
{
    struct counting work = {
        .model = model, .forest = forest, .class_index = (uint32_t)class_index, .most = MANY_ROWS};
    phl_status status = count_all(&work, label_row, error);
    put_together(model);
    phl_free(work.size);
    phl_free(work.height);
    phl_free(work.times);
    return status;
}

phl_status phl_shape_model_clone(const phl_shape_model *model, phl_shape_model **copy,
                                 phl_error *error)
{
    phl_shape_model *made = NULL;
    phl_status status =
        phl_shape_model_create(model->slots, model->labels, model->n_classes, &made, error);
    if (status == PHL_OK) {
        status =
            phl_grow(&made->rows, &made->row_capacity, model->n_rows, sizeof *made->rows, error);
    }
    if (status == PHL_OK) {
        if (model->n_rows > 0) {
            memcpy(made->rows, model->rows, model->n_rows * sizeof *made->rows);
        }
        made->n_rows = model->n_rows;
        status = phl_shape_cells_finish(made, error);
    }
    if (status != PHL_OK) {
        phl_shape_model_free(made);
        return status;
    }
    *copy = made;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Soundness
 * ------------------------------------------------------------------------------------------- */

/* The largest values of a context, and of the outcome. */
static void find_bounds(const phl_shape_model *model, uint32_t event,
                        uint32_t most[PHL_SHAPE_CONTEXT + 1])
{
    const uint32_t bin = PHL_SHAPE_BINS - 1;
    const uint32_t bounds[PHL_SHAPE_EVENTS][PHL_SHAPE_CONTEXT + 1] = {
        [PHL_SHAPE_SIZE] = {0, 0, 0, 0, 0, 0, UINT32_MAX},
        [PHL_SHAPE_HEIGHT] = {bin, 0, 0, 0, 0, 0, bin},
        [PHL_SHAPE_SLOT] = {1, PHL_SHAPE_SLOTS, PHL_BEFORE_INTERNAL, bin, bin, PHL_SHAPE_DEPTHS,
                            PHL_SHAPE_OUTCOMES - 1},
        [PHL_SHAPE_DROP] = {bin, bin, 0, 0, 0, 0, bin},
        [PHL_SHAPE_LABEL] = {bin, 0, 0, 0, 0, 0, model->labels - 1},
    };
    memcpy(most, bounds[event], sizeof bounds[event]);
}

bool phl_shape_model_is_sound(const phl_shape_model *model)
{
    bool sound = true;
    for (size_t i = 0; sound && i < model->n_rows; i++) {
        const phl_shape_row *row = &model->rows[i];
        uint32_t most[PHL_SHAPE_CONTEXT + 1];
        sound = row->class_index < model->n_classes && row->event < PHL_SHAPE_EVENTS &&
                row->count > 0.0 && row->count <= MOST &&
                (i == 0 || (compare_rows(row - 1, row) < 0 && !are_alike(row - 1, row)));
        if (!sound) {
            break;
        }
        find_bounds(model, row->event, most);
        for (size_t k = 0; k < PHL_SHAPE_CONTEXT; k++) {
            sound = sound && row->context[k] <= most[k];
        }
        sound = sound && row->outcome <= most[PHL_SHAPE_CONTEXT] &&
                (row->event != PHL_SHAPE_LABEL || model->labels > 0) &&
                (row->event == PHL_SHAPE_SLOT || row->event == PHL_SHAPE_LABEL || row->outcome > 0);
    }
    return sound;
}
