/* trace.c - the order of a run's trace, and the rows of one chain in it; see run.h. */
#include <stdlib.h>

#include "base/memory.h"
#include "model/run.h"

/* By class, chain and iteration. */
static int compare_places(const phl_trace_row *x, const phl_trace_row *y)
{
    if (x->class_index != y->class_index) {
        return x->class_index < y->class_index ? -1 : 1;
    }
    if (x->chain != y->chain) {
        return x->chain < y->chain ? -1 : 1;
    }
    return (x->iteration > y->iteration) - (x->iteration < y->iteration);
}

static int compare_pointers(const void *a, const void *b)
{
    const phl_trace_row *x = *(const phl_trace_row *const *)a;
    const phl_trace_row *y = *(const phl_trace_row *const *)b;
    int order = compare_places(x, y);
    return order != 0 ? order : (x > y) - (x < y);
}

static bool is_ordered(const phl_run *run)
{
    for (size_t i = 1; i < run->n_trace; i++) {
        if (compare_places(&run->trace[i - 1], &run->trace[i]) >= 0) {
            return false;
        }
    }
    return true;
}

phl_status phl_trace_order(phl_run *run, phl_error *error)
{
    if (is_ordered(run)) {
        return PHL_OK;
    }
    const phl_trace_row **rows = phl_alloc(run->n_trace, sizeof *rows, error);
    phl_trace_row *made = rows == NULL ? NULL : phl_alloc(run->n_trace, sizeof *made, error);
    if (made == NULL) {
        phl_free(rows);
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < run->n_trace; i++) {
        rows[i] = &run->trace[i];
    }
    qsort(rows, run->n_trace, sizeof *rows, compare_pointers);
    size_t n = 0;
    for (size_t i = 0; i < run->n_trace; i++) {
        if (i + 1 == run->n_trace || compare_places(rows[i], rows[i + 1]) != 0) {
            made[n++] = *rows[i];
        }
    }
    phl_free(rows);
    phl_free(run->trace);
    run->trace = made;
    run->trace_capacity = run->n_trace;
    run->n_trace = n;
    return PHL_OK;
}

/* The first row at or after a class and chain. */
static size_t find_chain(const phl_run *run, size_t class_index, uint64_t chain)
{
    size_t low = 0, high = run->n_trace;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const phl_trace_row *row = &run->trace[middle];
        if (row->class_index < class_index ||
            (row->class_index == class_index && row->chain < chain)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const phl_trace_row *phl_trace_of_class(const phl_model *model, size_t *n)
{
    size_t begin = find_chain(model->run, model->class_index, 0);
    *n = find_chain(model->run, model->class_index, UINT64_MAX) - begin;
    return *n == 0 ? NULL : &model->run->trace[begin];
}

size_t phl_trace_chains(const phl_model *model)
{
    size_t n = 0;
    const phl_trace_row *rows = phl_trace_of_class(model, &n);
    return n == 0 ? 0 : (size_t)rows[n - 1].chain + 1;
}

const phl_trace_row *phl_trace_get(const phl_model *model, size_t chain, size_t i)
{
    const phl_run *run = model->run;
    size_t begin = find_chain(run, model->class_index, chain);
    if (i >= run->n_trace - begin) {
        return NULL;
    }
    const phl_trace_row *row = &run->trace[begin + i];
    return row->class_index == model->class_index && row->chain == chain ? row : NULL;
}
