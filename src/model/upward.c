/* upward.c - the upward pass, once per distinct subtree, level by level; see infer.h. */
#include <math.h>

#include "base/lanes.h"
#include "base/logs.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "model/kernel.h"

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
        made->empty = phl_alloc_zero(index->n_sets * c + PHL_LANES, sizeof *made->empty, error);
    }
    if (params->kind == PHL_TD) {
        made->exponent = phl_alloc(n, sizeof *made->exponent, error);
    }
    if (made->inside == NULL || made->beta == NULL || made->norm == NULL ||
        made->log_likelihood == NULL || (params->kind == PHL_SP && made->empty == NULL) ||
        (params->kind == PHL_TD && made->exponent == NULL)) {
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
    phl_free(upward->exponent);
    phl_free(upward->table);
    phl_free(upward->scratch);
    phl_free(upward->members);
    phl_twins_clear(&upward->twins);
    phl_free(upward);
}

uint64_t phl_upward_bytes(const phl_upward *upward)
{
    const phl_index *index = upward->index;
    uint64_t c = upward->params->states;
    uint64_t doubles = index->forest->n_subtrees * (2 * c + (upward->exponent != NULL ? 3 : 2)) +
                       upward->message_capacity + upward->table_capacity +
                       upward->scratch_capacity + (upward->empty != NULL ? index->n_sets * c : 0);
    return doubles * sizeof(double) + upward->members_capacity * sizeof *upward->members +
           phl_twins_bytes(&upward->twins, index);
}

/* ---------------------------------------------------------------------------------------------
 * The pass
 * ------------------------------------------------------------------------------------------- */

struct pass {
    phl_upward *upward;
    const phl_kernel *kernel;
    int workers;
    size_t first;        /* of the items at hand */
    size_t scratch_size; /* a worker */
};

static phl_status run_chunk(size_t chunk, size_t begin, size_t end, int worker, void *context,
                            phl_error *error)
{
    (void)chunk;
    (void)error;
    const struct pass *pass = context;
    pass->kernel->run(pass->upward, pass->first + begin, pass->first + end,
                      pass->upward->scratch + (size_t)worker * pass->scratch_size);
    return PHL_OK;
}

static phl_status send_chunk(size_t chunk, size_t begin, size_t end, int worker, void *context,
                             phl_error *error)
{
    (void)chunk;
    (void)worker;
    (void)error;
    const struct pass *pass = context;
    pass->kernel->send(pass->upward, pass->first + begin, pass->first + end);
    return PHL_OK;
}

static phl_status copy_chunk(size_t chunk, size_t begin, size_t end, int worker, void *context,
                             phl_error *error)
{
    (void)chunk;
    (void)worker;
    (void)error;
    const struct pass *pass = context;
    pass->kernel->copy(pass->upward, pass->first + begin, pass->first + end);
    return PHL_OK;
}

/* A loop over the items first .. end - 1, in several threads if they are many. */
static phl_status share(struct pass *pass, phl_chunk_fn body, size_t first, size_t end,
                        phl_error *error)
{
    /* Making a thread costs more than so many numbers take. */
    enum { CHUNK = 64, WORTH_A_THREAD = 1 << 14 };
    size_t count = end - first;
    size_t worth = count * pass->upward->params->states / WORTH_A_THREAD;
    pass->first = first;
    if (pass->workers == 1 || worth < 2) {
        return body(0, 0, count, 0, pass, error);
    }
    int workers = worth < (size_t)pass->workers ? (int)worth : pass->workers;
    return phl_parallel_chunks(count, CHUNK, workers, body, pass, NULL, NULL, error);
}

static phl_status prepare(struct pass *pass, phl_error *error)
{
    phl_upward *upward = pass->upward;
    upward->width = pass->kernel->width(upward->params);    /* active slots may have changed */
    pass->scratch_size = pass->kernel->scratch(upward) + 8; /* keeps workers' lines apart */
    phl_status status = phl_grow(&upward->message, &upward->message_capacity,
                                 upward->index->n_pairs * upward->width + PHL_LANES,
                                 sizeof *upward->message, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_grow(&upward->scratch, &upward->scratch_capacity,
                      pass->scratch_size * (size_t)pass->workers, sizeof *upward->scratch, error);
    return status == PHL_OK ? pass->kernel->prepare(upward, error) : status;
}

/* All but the copies of twins. */
static phl_status run_levels(phl_upward *upward, int threads, struct pass *pass, phl_error *error)
{
    const phl_forest *forest = upward->index->forest;
    *pass = (struct pass){.upward = upward,
                          .kernel = phl_kernel_of(upward->params->kind),
                          .workers = phl_parallel_threads(threads)};
    phl_status status = prepare(pass, error);
    const phl_twins *twins = &upward->twins;
    const uint32_t *level = pass->kernel->copy != NULL ? twins->level : forest->level;
    for (size_t h = 0; status == PHL_OK && h < forest->n_levels; h++) {
        status = share(pass, run_chunk, level[h], level[h + 1], error);
        if (status == PHL_OK && pass->kernel->send != NULL) {
            status = share(pass, send_chunk, twins->sent_level[h], twins->sent_level[h + 1], error);
        }
    }
    return status;
}

phl_status phl_upward_pass(phl_upward *upward, int threads, phl_error *error)
{
    struct pass pass;
    phl_status status = run_levels(upward, threads, &pass, error);
    if (status == PHL_OK && pass.kernel->copy != NULL) {
        status = share(&pass, copy_chunk, upward->twins.n_leaves, upward->index->forest->n_subtrees,
                       error);
    }
    return status;
}

phl_status phl_upward_norms(phl_upward *upward, int threads, phl_error *error)
{
    struct pass pass;
    const phl_twins *twins = &upward->twins;
    phl_status status = run_levels(upward, threads, &pass, error);
    if (status == PHL_OK && pass.kernel->copy != NULL) {
        for (size_t s = twins->n_leaves; s < upward->index->forest->n_subtrees; s++) {
            upward->norm[s] = upward->norm[twins->first[twins->group[s]]];
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Logarithms
 * ------------------------------------------------------------------------------------------- */

static phl_status score_chunk(size_t chunk, size_t begin, size_t end, int worker, void *context,
                              phl_error *error)
{
    (void)chunk;
    (void)worker;
    (void)error;
    const struct pass *pass = context;
    const phl_upward *upward = pass->upward;
    const phl_forest *forest = upward->index->forest;
    double *sum = upward->log_likelihood;
    size_t first = pass->first + begin, last = pass->first + end;
    phl_logs(upward->norm + first, last - first, sum + first);
    for (size_t s = first; s < last; s++) {
        double own = sum[s] + (upward->exponent != NULL ? upward->exponent[s] * log(2.0) : 0.0);
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            own += sum[forest->links[k].child];
        }
        sum[s] = own;
    }
    return PHL_OK;
}

phl_status phl_upward_score(phl_upward *upward, int threads, phl_error *error)
{
    const phl_forest *forest = upward->index->forest;
    struct pass pass = {.upward = upward, .workers = phl_parallel_threads(threads)};
    phl_status status = PHL_OK;
    for (size_t h = 0; status == PHL_OK && h < forest->n_levels; h++) {
        status = share(&pass, score_chunk, forest->level[h], forest->level[h + 1], error);
    }
    return status;
}

phl_status phl_upward_run(phl_upward *upward, int threads, phl_error *error)
{
    phl_status status = phl_upward_pass(upward, threads, error);
    return status == PHL_OK ? phl_upward_score(upward, threads, error) : status;
}

double phl_upward_total(const phl_upward *upward, const double *times)
{
    enum { CHUNK = 128 };
    double terms[CHUNK], total = 0.0;
    size_t n = upward->index->forest->n_subtrees;
    for (size_t first = 0; first < n; first += CHUNK) {
        size_t count = n - first < CHUNK ? n - first : CHUNK;
        phl_logs(upward->norm + first, count, terms);
        for (size_t i = 0; i < count; i++) {
            terms[i] = times[first + i] > 0.0 ? times[first + i] * terms[i] : 0.0;
        }
        total += phl_sum_chunk(terms, count);
    }
    return total;
}

double phl_upward_root(const phl_upward *upward, uint32_t root)
{
    return phl_kernel_of(upward->params->kind)->root_term(upward, root);
}

double phl_upward_tree(const phl_upward *upward, size_t tree)
{
    uint32_t root = upward->index->forest->tree_root[tree];
    return upward->log_likelihood[root] + phl_upward_root(upward, root);
}
