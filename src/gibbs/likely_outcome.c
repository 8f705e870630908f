/* likely_outcome.c - the likely outcome of a group of twins; see likely_outcome.h. */
#include "gibbs/likely_outcome.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

void phl_likely_outcome_clear(phl_likely_outcomes *likely)
{
    phl_free(likely->group);
    phl_free(likely->block);
    memset(likely, 0, sizeof *likely);
}

phl_status phl_likely_outcome_prepare(phl_likely_outcomes *likely, const phl_upward *upward,
                                      phl_error *error)
{
    const phl_twins *twins = &upward->twins;
    size_t groups = twins->n_groups - twins->n_leaves;
    likely->n_slots = twins->n_slots;
    phl_status status =
        phl_grow(&likely->group, &likely->group_capacity, groups + 1, sizeof *likely->group, error);
    if (status == PHL_OK) {
        status = phl_grow(&likely->block, &likely->block_capacity, groups * twins->n_slots + 1,
                          sizeof *likely->block, error);
    }
    for (size_t g = 0; status == PHL_OK && g < groups; g++) {
        likely->group[g].met = 0;
    }
    return status;
}

uint64_t phl_likely_outcome_run(double odd, phl_rng *rng)
{
    const double longest = 0x1p62;
    double run = floor(log(phl_rng_uniform(rng)) / log1p(-odd)); /* P(run >= k) = (1 - odd)^k */
    return run < longest ? (uint64_t)run : (uint64_t)longest;
}

/* The block with the largest weight, given those after; *passed adds up the weights before it. */
static size_t best_block(const phl_cell_draw_slot *slot, size_t at, double *passed)
{
    size_t best = 0;
    double most = slot->m[0] * slot->rest[at], sum = most, before = 0.0;
    for (size_t z = 1; z < slot->axis->size; z++) {
        double weight = slot->m[z] * slot->rest[at + z * slot->step];
        if (weight > most) {
            best = z;
            most = weight;
            before = sum;
        }
        sum += weight;
    }
    *passed = before;
    return best;
}

/* Any outcome would do; this takes the best state, and then slot by slot the best block. */
void phl_likely_outcome_make(phl_likely_outcomes *likely, phl_cell_draw *cell_draw, uint32_t s,
                             size_t g, phl_rng *rng)
{
    const phl_upward *upward = cell_draw->upward;
    const phl_twins *twins = &upward->twins;
    phl_likely_outcome *group = &likely->group[g];
    uint32_t *block = likely->block + g * likely->n_slots;
    size_t c = upward->params->states, at = 0;
    const double *beta = upward->beta + twins->first[twins->group[s]] * c;
    uint32_t best = 0;
    for (uint32_t j = 1; j < c; j++) {
        best = beta[j] > beta[best] ? j : best;
    }
    phl_cell_draw_node node;
    phl_cell_draw_open(cell_draw, s, &node);
    phl_cell_draw_in_state(cell_draw, &node, best);
    double begin = 0.0, scale = 1.0;
    size_t cell = node.cell;
    memset(block, 0, likely->n_slots * sizeof *block);
    for (size_t i = node.n; i-- > 0;) {
        const phl_cell_draw_slot *slot = &node.slot[i];
        double passed;
        size_t z = best_block(slot, at, &passed);
        begin += passed * scale;
        scale *= slot->m[z];
        at += z * slot->step;
        cell += z * slot->axis->stride;
        block[slot->axis - cell_draw->axis] = (uint32_t)z;
    }
    double width = node.n == 0 ? node.total : scale * node.slot[0].rest[at];
    double rest = node.n == 0 || width >= node.total ? 0.0 : 1.0 - width / node.total;
    group->odd_state = beta[best] < 1.0 ? 1.0 - beta[best] : 0.0;
    group->odd = group->odd_state + beta[best] * rest;
    group->state = best;
    group->cell = (uint32_t)cell;
    group->begin = begin;
    group->width = width;
    group->run = phl_likely_outcome_run(group->odd, rng);
}
