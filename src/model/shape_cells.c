/* shape_cells.c - see shape_cells.h. */
#include "model/shape_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

phl_shape_levels phl_shape_cells_levels(uint32_t event)
{
    static const phl_shape_levels levels[PHL_SHAPE_EVENTS] = {
        [PHL_SHAPE_SIZE] = {2, {0, 0}}, /* in bins, and by itself */
        [PHL_SHAPE_HEIGHT] = {2, {0, 1}},  [PHL_SHAPE_SLOT] = {5, {1, 3, 4, 5, 6}},
        [PHL_SHAPE_DROP] = {3, {0, 1, 2}}, [PHL_SHAPE_LABEL] = {2, {0, 1}},
    };
    return levels[event];
}

void phl_shape_cells_context(const phl_shape_node *node, uint32_t context[PHL_SHAPE_CONTEXT])
{
    context[0] = node->reached;
    context[1] = node->slot < PHL_SHAPE_SLOTS ? node->slot : PHL_SHAPE_SLOTS;
    context[2] = node->before;
    context[3] = phl_shape_bin(node->left);
    context[4] = phl_shape_bin(node->height);
    context[5] = node->depth < PHL_SHAPE_DEPTHS ? node->depth : PHL_SHAPE_DEPTHS;
}

static int compare_contexts(const phl_shape_cell *x, const phl_shape_cell *y)
{
    uint32_t left[3 + PHL_SHAPE_CONTEXT] = {x->class_index, x->event, x->level};
    uint32_t right[3 + PHL_SHAPE_CONTEXT] = {y->class_index, y->event, y->level};
    memcpy(left + 3, x->context, sizeof x->context);
    memcpy(right + 3, y->context, sizeof y->context);
    for (size_t i = 0; i < 3 + PHL_SHAPE_CONTEXT; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_cells(const void *a, const void *b)
{
    const phl_shape_cell *x = a, *y = b;
    int order = compare_contexts(x, y);
    if (order == 0) {
        order = (x->outcome > y->outcome) - (x->outcome < y->outcome);
    }
    return order != 0 ? order : (x->count > y->count) - (x->count < y->count);
}

/* The cell of a row at a level. */
static phl_shape_cell cell_of(const phl_shape_row *row, uint32_t level, size_t length)
{
    phl_shape_cell cell = {row->class_index, row->event, level, {0}, row->outcome, row->count};
    memcpy(cell.context, row->context, length * sizeof *cell.context);
    if (row->event == PHL_SHAPE_SIZE && level == 0) {
        cell.outcome = phl_shape_bin(row->outcome);
    }
    return cell;
}

static void make_cells(phl_shape_model *model)
{
    size_t n = 0, left = 0;
    for (size_t i = 0; i < model->n_rows; i++) {
        const phl_shape_row *row = &model->rows[i];
        phl_shape_levels levels = phl_shape_cells_levels(row->event);
        for (size_t k = 0; k < levels.n; k++) {
            model->cells[n++] = cell_of(row, (uint32_t)k, levels.length[k]);
        }
        /* Every internal node has one first slot. */
        if (row->event == PHL_SHAPE_SLOT && row->context[1] == 1) {
            model->internal[row->class_index] += row->count;
        }
    }
    if (n > 1) {
        qsort(model->cells, n, sizeof *model->cells, compare_cells);
    }
    for (size_t i = 0; i < n; i++) {
        phl_shape_cell *last = &model->cells[left > 0 ? left - 1 : 0];
        if (left > 0 && compare_contexts(last, &model->cells[i]) == 0 &&
            last->outcome == model->cells[i].outcome) {
            last->count += model->cells[i].count;
        } else {
            model->cells[left++] = model->cells[i];
        }
    }
    model->n_cells = left;
}

phl_status phl_shape_cells_finish(phl_shape_model *model, phl_error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < model->n_rows; i++) {
        n += phl_shape_cells_levels(model->rows[i].event).n;
    }
    phl_free(model->cells);
    phl_free(model->internal);
    model->cells = phl_alloc(n, sizeof *model->cells, error);
    model->internal = phl_alloc_zero(model->n_classes, sizeof *model->internal, error);
    if (model->cells == NULL || model->internal == NULL) {
        return PHL_ERR_MEMORY;
    }
    make_cells(model);
    phl_shrink(&model->cells, model->n_cells, sizeof *model->cells);
    return PHL_OK;
}

const phl_shape_cell *phl_shape_cells_find(const phl_shape_model *model, size_t class_index,
                                           uint32_t event, uint32_t level,
                                           const uint32_t context[PHL_SHAPE_CONTEXT], size_t *n)
{
    phl_shape_cell at = {(uint32_t)class_index, event, level, {0}, 0, 0.0};
    size_t first = 0, end = model->n_cells;
    memcpy(at.context, context, phl_shape_cells_levels(event).length[level] * sizeof *at.context);
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (compare_contexts(&model->cells[middle], &at) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    for (end = first; end < model->n_cells && compare_contexts(&model->cells[end], &at) == 0;) {
        end++;
    }
    *n = end - first;
    return model->cells + first;
}
