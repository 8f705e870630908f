/* sums.c - log-probabilities of whole trees, for several sets of parameters; see sums.h. */
#include "model/sums.h"

#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/lanes.h"
#include "base/logs.h"
#include "base/memory.h"

phl_status phl_sums_create(const phl_forest *forest, uint32_t slots, size_t lanes, phl_sums **sums,
                           phl_error *error)
{
    phl_sums *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t n = forest->n_subtrees, width = lanes == 1 ? 1 : PHL_SUM_LANES;
    made->forest = forest;
    made->slots = slots;
    made->width = width;
    made->own = phl_alloc_zero(n * width, sizeof *made->own, error);
    made->node = phl_alloc_zero(width, sizeof *made->node, error);
    made->child = phl_alloc_zero(((size_t)slots + 1) * 2 * width, sizeof *made->child, error);
    made->sum = phl_alloc(n * width, sizeof *made->sum, error);
    if (made->own == NULL || made->node == NULL || made->child == NULL || made->sum == NULL) {
        phl_sums_free(made);
        return PHL_ERR_MEMORY;
    }
    *sums = made;
    return PHL_OK;
}

void phl_sums_free(phl_sums *sums)
{
    if (sums == NULL) {
        return;
    }
    phl_free(sums->own);
    phl_free(sums->node);
    phl_free(sums->child);
    phl_free(sums->sum);
    phl_free(sums);
}

void phl_sums_set_labels(phl_sums *sums, size_t lane, const phl_upward *upward)
{
    size_t n = sums->forest->n_subtrees;
    double *own = sums->own + lane * n;
    phl_logs(upward->norm, n, own);
    for (size_t s = 0; upward->exponent != NULL && s < n; s++) {
        own[s] += upward->exponent[s] * log(2.0);
    }
}

void phl_sums_add_shape(phl_sums *sums, size_t lane, const phl_params *params)
{
    if (!phl_shape_tables(params, &sums->node[lane], sums->child + lane, sums->width)) {
        phl_shape_add(params, sums->forest, sums->own + lane * sums->forest->n_subtrees);
    }
}

/* One lane. */
static void run_single(phl_sums *sums, bool shape)
{
    const phl_forest *forest = sums->forest;
    const double *child = sums->child;
    double *sum = sums->sum;
    size_t leaves = forest->n_levels > 0 ? forest->level[1] : 0;
    for (size_t s = 0; s < leaves; s++) {
        sum[s] = sums->own[s];
    }
    for (size_t s = leaves; s < forest->n_subtrees; s++) {
        double total = sums->own[s] + (shape ? sums->node[0] : 0.0);
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t slot = forest->links[k].slot, below = forest->links[k].child;
            size_t row = slot <= sums->slots ? slot - 1 : sums->slots;
            total += shape ? sum[below] + child[2 * row + (below >= leaves)] : sum[below];
        }
        sum[s] = total;
    }
}

typedef double lanes __attribute__((vector_size(64)));
typedef double lanes_there __attribute__((vector_size(64), aligned(8)));
#define lanes_at(address) (*(const lanes_there *)(address))

PHL_INLINED void load_own(const phl_sums *sums, size_t s, lanes *total)
{
    size_t n = sums->forest->n_subtrees;
    const double *own = sums->own + s;
    *total = (lanes){own[0],     own[n],     own[2 * n], own[3 * n],
                     own[4 * n], own[5 * n], own[6 * n], own[7 * n]};
}

/* The same, term by term, in all lanes. */
PHL_INLINED void add_up(phl_sums *sums, bool shape)
{
    const phl_forest *forest = sums->forest;
    const double *child = sums->child;
    double *sum = sums->sum;
    size_t width = PHL_SUM_LANES, leaves = forest->n_levels > 0 ? forest->level[1] : 0;
    lanes total = {0.0};
    for (size_t s = 0; s < leaves; s++) {
        load_own(sums, s, &total);
        *(lanes_there *)(sum + s * width) = total;
    }
    for (size_t s = leaves; s < forest->n_subtrees; s++) {
        load_own(sums, s, &total);
        if (shape) {
            total += lanes_at(sums->node);
        }
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t slot = forest->links[k].slot, below = forest->links[k].child;
            size_t row = slot <= sums->slots ? slot - 1 : sums->slots;
            if (shape) {
                total += lanes_at(sum + below * width) +
                         lanes_at(child + (2 * row + (below >= leaves)) * width);
            } else {
                total += lanes_at(sum + below * width);
            }
        }
        *(lanes_there *)(sum + s * width) = total;
    }
}

PHL_CLONES
static void run_wide(phl_sums *sums, bool shape)
{
    if (shape) {
        add_up(sums, true);
    } else {
        add_up(sums, false);
    }
}

void phl_sums_run(phl_sums *sums, bool shape)
{
    if (sums->width == 1) {
        run_single(sums, shape);
    } else {
        run_wide(sums, shape);
    }
}
