/* upward.c - the upward pass, once a distinct subtree, level by level; see infer.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "model/kernel.h"

double phl_log(double p)
{
    return p > 0.0 ? log(p) : -INFINITY;
}

const phl_kernel *phl_kernel_of(phl_kind kind)
{
    switch (kind) {
    case PHL_SP:
        return &phl_sp_kernel;
    case PHL_TD:
        return &phl_td_kernel;
    case PHL_FULL:
    case PHL_TF:
    default:
        return &phl_tf_kernel;
    }
}

phl_status phl_upward_create(const phl_index *index, const phl_params *params,
                             const uint32_t *label_row, phl_upward **upward, phl_error *error)
{
    phl_upward *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t n = index->forest->n_subtrees, c = params->states;
    made->index = index;
    made->params = params;
    made->label_row = label_row;
    made->inside = phl_alloc(n * c, sizeof *made->inside, error);
    made->beta = phl_alloc(n * c, sizeof *made->beta, error);
    made->norm = phl_alloc(n, sizeof *made->norm, error);
    made->log_likelihood = phl_alloc(n, sizeof *made->log_likelihood, error);
    if (params->kind == PHL_SP) {
        made->empty = phl_alloc(index->n_sets * c, sizeof *made->empty, error);
    }
    if (made->inside == NULL || made->beta == NULL || made->norm == NULL ||
        made->log_likelihood == NULL || (params->kind == PHL_SP && made->empty == NULL)) {
        phl_upward_free(made);
        return PHL_ERR_MEMORY;
    }
    *upward = made;
    return PHL_OK;
}

void phl_upward_free(phl_upward *upward)
{
    if (upward == NULL) {
        return;
    }
    phl_free(upward->inside);
    phl_free(upward->beta);
    phl_free(upward->norm);
    phl_free(upward->log_likelihood);
    phl_free(upward->message);
    phl_free(upward->empty);
    phl_free(upward);
}

/* Leaf: the prior of its slot (bottom-up) or nothing below (td). */
static void leaf_inside(const phl_upward *upward, uint32_t s, double *inside)
{
    const phl_params *params = upward->params;
    size_t c = params->states;
    if (params->prior != NULL) {
        size_t row = phl_leaf_row(params, upward->index->forest->leaf_slot[s]);
        memcpy(inside, params->prior + row * c, c * sizeof *inside);
    } else {
        for (size_t j = 0; j < c; j++) {
            inside[j] = 1.0;
        }
    }
}

/* beta, norm and log-likelihood of s, whose inside is set; then the messages it sends. */
static void finish_subtree(const phl_upward *upward, const phl_kernel *kernel, uint32_t s,
                           double log_factor)
{
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    size_t c = upward->params->states;
    const double *emission = phl_emission_of(upward, s);
    const double *inside = upward->inside + s * c;
    double *beta = upward->beta + s * c;
    double norm = 0.0;
    for (size_t j = 0; j < c; j++) {
        beta[j] = emission[j] * inside[j];
        norm += beta[j];
    }
    double scale = norm > 0.0 ? 1.0 / norm : 0.0;
    if (isinf(scale)) { /* the smallest of doubles: divide instead */
        for (size_t j = 0; j < c; j++) {
            beta[j] /= norm;
        }
    } else {
        for (size_t j = 0; j < c; j++) {
            beta[j] *= scale;
        }
    }
    double sum = norm > 0.0 ? log(norm) + log_factor : -INFINITY;
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        sum += upward->log_likelihood[forest->links[k].child];
    }
    upward->norm[s] = norm;
    upward->log_likelihood[s] = sum;
    for (uint32_t pair = index->first_pair[s]; pair < index->first_pair[s + 1]; pair++) {
        kernel->message(upward, pair);
    }
}

struct pass {
    const phl_upward *upward;
    const phl_kernel *kernel;
    size_t first; /* of the level */
    double *scratch;
    size_t scratch_size; /* a worker */
};

static phl_status run_block(size_t block, size_t begin, size_t end, int worker, void *context,
                            phl_error *error)
{
    (void)block;
    (void)error;
    const struct pass *pass = context;
    const phl_upward *upward = pass->upward;
    const phl_forest *forest = upward->index->forest;
    double *scratch = pass->scratch + (size_t)worker * pass->scratch_size;
    for (size_t i = begin; i < end; i++) {
        uint32_t s = (uint32_t)(pass->first + i);
        double log_factor = 0.0;
        if (forest->leaf_slot[s] != 0) {
            leaf_inside(upward, s, upward->inside + s * upward->params->states);
        } else {
            log_factor = pass->kernel->inside(upward, s, scratch);
        }
        finish_subtree(upward, pass->kernel, s, log_factor);
    }
    return PHL_OK;
}

phl_status phl_upward_run(phl_upward *upward, int threads, phl_error *error)
{
    /* Waking threads costs more than a small level takes. */
    enum { BLOCK = 64, WORTH_SHARING = 1 << 15 };
    const phl_forest *forest = upward->index->forest;
    const phl_kernel *kernel = phl_kernel_of(upward->params->kind);
    int workers = phl_thread_count(threads);
    upward->width = kernel->width(upward->params); /* active slots may have changed */
    phl_status status =
        phl_grow(&upward->message, &upward->message_capacity,
                 upward->index->n_pairs * upward->width + 1, sizeof *upward->message, error);
    if (status != PHL_OK) {
        return status;
    }
    struct pass pass = {.upward = upward, .kernel = kernel};
    pass.scratch_size = kernel->scratch(upward) + 8; /* keeps workers' lines apart */
    pass.scratch = phl_alloc(pass.scratch_size * (size_t)workers, sizeof *pass.scratch, error);
    if (pass.scratch == NULL) {
        return PHL_ERR_MEMORY;
    }
    if (kernel->prepare != NULL) {
        kernel->prepare(upward);
    }
    for (size_t h = 0; status == PHL_OK && h < forest->n_levels; h++) {
        pass.first = forest->level[h];
        size_t count = forest->level[h + 1] - forest->level[h];
        if (workers == 1 || count * upward->params->states < WORTH_SHARING) {
            status = run_block(0, 0, count, 0, &pass, error);
        } else {
            status =
                phl_parallel_blocks(count, BLOCK, threads, run_block, &pass, NULL, NULL, error);
        }
    }
    phl_free(pass.scratch);
    return status;
}

double phl_upward_tree(const phl_upward *upward, size_t tree)
{
    uint32_t root = upward->index->forest->tree_root[tree];
    return upward->log_likelihood[root] +
           phl_kernel_of(upward->params->kind)->root_term(upward, root);
}
