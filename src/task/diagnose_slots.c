/* diagnose_slots.c - the kept draws: what chains count, which slots are active, do chains agree on
 * them?  See diagnosis.h.
 *
 * Contents: chain by chain, overlap, the limit, all of it.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/chain_weights.h"
#include "task/diagnosis.h"

enum { MOST_DRAWS = 1000 }; /* that are compared two by two, evenly spread */

/* ---- chain by chain ---- */

static bool same_slots(const phl_params *a, const phl_params *b)
{
    bool same = a->n_axes == b->n_axes;
    for (uint32_t i = 0; same && i < a->n_axes; i++) {
        same = a->axes[i].slot == b->axes[i].slot && a->axes[i].size == b->axes[i].size;
    }
    return same;
}

/* The kept draw of a chain whose active slots and sizes most of its kept draws share, the earliest
 * of equals; NULL without any. */
static const phl_params *usual_draw(const phl_model *model, size_t chain)
{
    const phl_params *best = NULL;
    size_t most = 0;
    for (size_t d = 0; d < model->n_draws; d++) {
        size_t alike = 0;
        for (size_t e = 0; model->draws[d].chain == chain && e < model->n_draws; e++) {
            alike += model->draws[e].chain == chain &&
                     same_slots(model->draws[d].params, model->draws[e].params);
        }
        if (alike > most) {
            most = alike;
            best = model->draws[d].params;
        }
    }
    return best;
}

static phl_status find_slots(const phl_model *model, phl_class_diagnosis *made, phl_error *error)
{
    for (size_t c = 0; c < made->n_chains; c++) {
        phl_chain_diagnosis *chain = &made->chains[c];
        const phl_params *draw = usual_draw(model, chain->chain);
        if (draw == NULL) {
            continue;
        }
        chain->slots = phl_alloc(draw->n_axes, sizeof *chain->slots, error);
        chain->sizes = phl_alloc(draw->n_axes, sizeof *chain->sizes, error);
        if (chain->slots == NULL || chain->sizes == NULL) {
            return PHL_ERR_MEMORY;
        }
        chain->n_slots = draw->n_axes;
        for (uint32_t i = 0; i < draw->n_axes; i++) {
            chain->slots[i] = draw->axes[i].slot;
            chain->sizes[i] = draw->axes[i].size;
        }
    }
    return PHL_OK;
}

static void find_weights(const phl_model *model, phl_class_diagnosis *made)
{
    bool differ = phl_chain_weights_differ(model);
    for (size_t c = 0; c < made->n_chains; c++) {
        phl_chain_diagnosis *chain = &made->chains[c];
        for (size_t d = 0; d < model->n_draws; d++) {
            double weight = differ ? model->draws[d].weight : 1.0 / (double)model->n_draws;
            chain->weight += model->draws[d].chain == chain->chain ? weight : 0.0;
        }
    }
}

/* ---- overlap ---- */

static double overlap(const phl_params *a, const phl_params *b)
{
    uint32_t i = 0, j = 0, both = 0;
    while (i < a->n_axes && j < b->n_axes) {
        uint32_t left = a->axes[i].slot, right = b->axes[j].slot;
        both += left == right;
        i += left <= right;
        j += right <= left;
    }
    uint32_t either = a->n_axes + b->n_axes - both;
    return either == 0 ? 1.0 : (double)both / (double)either;
}

static void find_overlap(const phl_model *model, phl_class_diagnosis *made)
{
    double sums[2] = {0.0, 0.0}, pairs[2] = {0.0, 0.0}; /* within, between */
    size_t n = model->n_draws < MOST_DRAWS ? model->n_draws : MOST_DRAWS;
    for (size_t i = 0; i < n; i++) {
        const phl_draw *a = &model->draws[i * model->n_draws / n];
        for (size_t j = 0; j < i; j++) {
            const phl_draw *b = &model->draws[j * model->n_draws / n];
            sums[a->chain != b->chain] += overlap(a->params, b->params);
            pairs[a->chain != b->chain] += 1.0;
        }
    }
    made->overlap_within = sums[0] / pairs[0];
    made->overlap_between = sums[1] / pairs[1];
    double within = isnan(made->overlap_within) ? 1.0 : made->overlap_within;
    made->slots_agree = made->overlap_between >= PHL_OVERLAP_LEAST * within;
}

/* ---- the limit ---- */

static void find_limit(const phl_model *model, const phl_plan *plan, phl_class_diagnosis *made)
{
    size_t n = 0;
    for (size_t d = 0; d < model->n_draws; d++) {
        n += model->draws[d].params->n_axes >= plan->slots_max;
    }
    if (model->n_draws > 0 && plan->slots_max > 0 && plan->slots_max < model->run->slots) {
        made->slots_at_limit = (double)n / (double)model->n_draws;
    }
}

/* ---- all of it ---- */

phl_status phl_diagnose_slots(const phl_model *model, const phl_plan *plan,
                              phl_class_diagnosis *made, phl_error *error)
{
    made->overlap_within = made->overlap_between = made->slots_at_limit = (double)NAN;
    if (!plan->gibbs) {
        return PHL_OK;
    }
    find_weights(model, made);
    find_overlap(model, made);
    find_limit(model, plan, made);
    return find_slots(model, made, error);
}
