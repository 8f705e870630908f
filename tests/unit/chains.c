/* chains.c - chains with given parameters; see chains.h. */
#include "chains.h"

#include <string.h>

#include "base/memory.h"
#include "check.h"

void copy_tables(const phl_params *params, phl_params *into)
{
    phl_table from, to;
    for (size_t t = 0; phl_params_table(params, t, &from); t++) {
        assert_true(phl_params_table(into, t, &to));
        for (size_t r = 0; r < from.rows; r++) {
            for (size_t c = 0; c < from.columns; c++) {
                size_t at = r * from.row_stride + c * from.column_stride;
                to.data[at] = from.data[at];
            }
        }
    }
    phl_params_complete(into);
}

phl_gibbs *chain_of(const prepared *p, const phl_params *params, uint64_t seed)
{
    phl_gibbs_options options = {
        .alpha = 1.0,
        .alpha0 = 1.0,
        .beta = 1.0,
        .gamma = 1.0,
        .delta = 1.0,
        .prior = {.phi = 1.0, .slots_max = params->n_axes > 0 ? 3 : 0, .core_max = 1000},
        .seed = seed,
        .threads = 1};
    phl_axis *axes = must_alloc(params->n_axes, sizeof *axes);
    uint32_t *block = must_alloc((size_t)params->n_axes * (params->states + 1), sizeof *block);
    for (uint32_t a = 0; a < params->n_axes; a++) {
        axes[a].slot = params->axes[a].slot;
        axes[a].size = params->axes[a].size;
        axes[a].block = block + (size_t)a * (params->states + 1);
        for (uint32_t q = 0; q <= params->states; q++) {
            axes[a].block[q] = params->soft ? q % axes[a].size : params->axes[a].block[q];
        }
    }
    phl_gibbs *gibbs = NULL;
    must(phl_gibbs_create(p->pairs, p->label_row, params->states, params->labels, axes,
                          params->n_axes, &options, &gibbs, error));
    if (params->soft) {
        must(phl_gibbs_soften(gibbs, error));
    }
    copy_tables(params, gibbs->params);
    phl_free(block);
    phl_free(axes);
    return gibbs;
}

void open_slot(phl_gibbs *gibbs, uint32_t e, phl_rng *rng, int64_t *out)
{
    const phl_slot_view *view = &gibbs->partitions->view;
    size_t values = (size_t)gibbs->params->states + 1;
    memset(out, 0, (values - 1) * values * sizeof *out);
    must(phl_partition_slot_open(gibbs->partitions, e, rng, error));
    for (size_t t = 0; t < view->n_tables; t++) {
        for (uint32_t i = 0; i < view->tables[t].n_terms; i++) {
            const phl_slot_term *term = &view->terms[view->tables[t].first_term + i];
            out[term->state * values + view->tables[t].value] += term->n;
        }
    }
    must(phl_partition_slot_close(gibbs->partitions, rng, error));
}
