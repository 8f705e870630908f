/* world_checks.c - what must hold of a chain after every step; see world.h. */
#include "world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "models.h"

#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return #condition;                                                                     \
        }                                                                                          \
    } while (0)

static const char *table_fault(const phl_gibbs *gibbs, const int64_t *multiplicity)
{
    const phl_forest *forest = gibbs->index->forest;
    const phl_params *params = gibbs->params;
    size_t c = params->states, n_emission = ((size_t)params->labels + 1) * c;
    size_t n_prior = params->slots * c;
    int64_t *emission = must_alloc(n_emission, sizeof *emission);
    int64_t *prior = must_alloc(n_prior, sizeof *prior);
    bool states_sum = true;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        int64_t total = 0;
        for (size_t j = 0; j < c; j++) {
            int64_t count = phl_gibbs_count(gibbs, (uint32_t)s, (uint32_t)j);
            states_sum = states_sum && count >= 0;
            total += count;
            if (forest->label[s] >= 0) {
                emission[gibbs->label_row[forest->label[s]] * c + j] += count;
            }
            if (forest->leaf_slot[s] != 0) {
                prior[(forest->leaf_slot[s] - 1) * c + j] += count;
            }
        }
        states_sum = states_sum && total == multiplicity[s];
    }
    bool emission_right =
        memcmp(emission, gibbs->counts.emission, n_emission * sizeof *emission) == 0;
    bool prior_right = memcmp(prior, gibbs->counts.prior, n_prior * sizeof *prior) == 0;
    phl_free(emission);
    phl_free(prior);
    demand(states_sum);
    demand(emission_right);
    demand(prior_right);
    return NULL;
}

static const char *partition_fault(const phl_partitions *partitions)
{
    size_t values = (size_t)partitions->states + 1, cells = 1;
    uint32_t active = 0;
    const phl_partition_prior *prior = &partitions->prior;
    for (uint32_t e = partitions->n_eligible; e-- > 0;) {
        uint32_t k = partitions->size[e];
        const uint32_t *block = partitions->block + e * values;
        demand(k >= 1 && k <= values);
        for (uint32_t y = 0; y < k; y++) {
            bool used = false;
            for (size_t q = 0; q < values; q++) {
                used = used || block[q] == y;
            }
            demand(used);
        }
        for (size_t q = 0; q < values; q++) {
            demand(block[q] < k);
        }
        demand(partitions->stride[e] == (k > 1 ? cells : 0));
        demand(prior->fixed == NULL || prior->fixed[e] == k);
        cells *= k;
        active += k > 1;
    }
    demand(partitions->n_cells == cells);
    demand(partitions->n_active == active);
    demand(prior->fixed != NULL || (active >= prior->slots_min && active <= prior->slots_max));
    demand(prior->fixed != NULL || cells <= prior->core_max);
    return NULL;
}

/* Is every portion in the chain of its subtree, once? */
static const char *chain_fault(const phl_state_counts *counts)
{
    size_t n = counts->pairs->index->forest->n_subtrees, listed = 0;
    demand(counts->pairs->n_leaves + counts->n_first == n);
    for (uint32_t s = (uint32_t)counts->pairs->n_leaves; s < n; s++) {
        for (uint32_t r = phl_state_counts_first(counts, s); r != PHL_NO_PORTION;
             r = counts->portion[r].next) {
            demand(r < counts->n_portions);
            demand(counts->portion[r].subtree == s);
            demand(++listed <= counts->n_portions);
        }
    }
    demand(listed == counts->n_portions);
    return NULL;
}

/* Eligible slot e: the block every portion shows there is that of the empty value if it has no
 * child; otherwise the children of its pair, by block, are as many as the portions say.  shown:
 * [n_pairs][C + 1] at 0. */
static const char *slot_fault(const phl_partitions *partitions, uint32_t e, int64_t *shown)
{
    const phl_state_counts *counts = partitions->counts;
    const phl_index *index = counts->pairs->index;
    const phl_forest *forest = index->forest;
    size_t c = counts->states, values = c + 1, below = 1;
    const uint32_t *block = partitions->block + e * values;
    for (uint32_t l = e + 1; l < counts->pairs->n_eligible; l++) {
        below *= partitions->size[l];
    }
    for (size_t r = 0; r < counts->n_portions; r++) {
        const phl_portion *portion = &counts->portion[r];
        size_t digit = portion->cell / below % partitions->size[e];
        uint32_t pair = PHL_NO_PAIR;
        for (uint64_t k = forest->first_link[portion->subtree];
             k < forest->first_link[portion->subtree + 1]; k++) {
            pair = forest->links[k].slot == counts->pairs->eligible[e] ? index->link_pair[k] : pair;
        }
        demand(pair != PHL_NO_PAIR || digit == block[c]);
        if (pair != PHL_NO_PAIR) {
            shown[pair * values + digit] += portion->n;
        }
    }
    for (uint32_t pair = 0; pair < index->n_pairs; pair++) {
        if (index->pair_row[pair] + 1 != counts->pairs->eligible[e]) {
            continue;
        }
        uint32_t states = 0;
        for (uint32_t q = 0; q < c; q++) {
            int64_t value = phl_state_counts_value(counts, pair, q);
            demand(value >= 0);
            states += value > 0;
            shown[pair * values + block[q]] -= value;
        }
        bool many_if_several = (counts->one_value[pair] == PHL_MANY) == (states > 1);
        demand(many_if_several);
        for (size_t y = 0; y < values; y++) {
            bool children_as_the_portions_say = shown[pair * values + y] == 0;
            demand(children_as_the_portions_say);
        }
    }
    return NULL;
}

/* Cells against portions.  cells: [n_cells][C] at 0. */
static const char *cell_fault(const phl_partitions *partitions, int64_t *cells)
{
    const phl_state_counts *counts = partitions->counts;
    size_t c = counts->states, live = 0;
    for (size_t r = 0; r < counts->n_portions; r++) {
        const phl_portion *portion = &counts->portion[r];
        demand(portion->n > 0);
        demand(portion->state < c);
        demand(portion->cell < partitions->n_cells);
        demand(counts->pairs->index->forest->leaf_slot[portion->subtree] == 0);
        cells[portion->cell * c + portion->state] += portion->n;
    }
    for (size_t z = 0; z < partitions->n_cells; z++) {
        int64_t total = 0;
        for (size_t j = 0; j < c; j++) {
            bool cell_as_the_portions_say = cells[z * c + j] == partitions->cells[z * c + j];
            demand(cell_as_the_portions_say);
            total += cells[z * c + j];
        }
        demand(partitions->totals[z] == total);
        if (total > 0) {
            demand(live < partitions->n_live && partitions->live[live] == z);
            live++;
        }
    }
    demand(partitions->n_live == live);
    return NULL;
}

const char *partitions_fault(const phl_partitions *partitions)
{
    const phl_state_counts *counts = partitions->counts;
    size_t c = counts->states;
    demand(!partitions->is_open);
    const char *fault = partition_fault(partitions);
    fault = fault == NULL ? chain_fault(counts) : fault;
    if (fault != NULL) {
        return fault;
    }
    int64_t *cells = must_alloc(partitions->n_cells * c, sizeof *cells);
    int64_t *shown = must_alloc(counts->pairs->index->n_pairs * (c + 1), sizeof *shown);
    fault = cell_fault(partitions, cells);
    for (uint32_t e = 0; fault == NULL && e < counts->pairs->n_eligible; e++) {
        fault = slot_fault(partitions, e, shown);
    }
    phl_free(shown);
    phl_free(cells);
    return fault;
}

static bool is_eligible(const phl_state_counts *counts, uint32_t slot)
{
    bool eligible = false;
    for (uint32_t e = 0; e < counts->pairs->n_eligible; e++) {
        eligible = eligible || counts->pairs->eligible[e] == slot;
    }
    return eligible;
}

/* Portions and pairs against the states of every subtree: of its occurrences, those in eligible
 * slots are in the states its pairs say, and the others make up the rest.  sums: [n][C] at 0;
 * others: [n] multiplicity. */
static const char *state_fault(const phl_gibbs *gibbs, const int64_t *multiplicity, int64_t *sums,
                               int64_t *others)
{
    const phl_state_counts *counts = gibbs->state_counts;
    const phl_index *index = gibbs->index;
    const phl_forest *forest = index->forest;
    size_t c = counts->states;
    for (size_t r = 0; r < counts->n_portions; r++) {
        sums[counts->portion[r].subtree * c + counts->portion[r].state] += counts->portion[r].n;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        for (size_t j = 0; forest->leaf_slot[s] == 0 && j < c; j++) {
            bool portions_as_the_states_say =
                sums[s * c + j] == phl_gibbs_count(gibbs, (uint32_t)s, (uint32_t)j);
            demand(portions_as_the_states_say);
        }
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            others[forest->links[k].child] -=
                is_eligible(counts, forest->links[k].slot) ? multiplicity[s] : 0;
        }
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        for (size_t j = 0; j < c; j++) {
            int64_t left = phl_gibbs_count(gibbs, (uint32_t)s, (uint32_t)j);
            for (uint32_t pair = index->first_pair[s]; pair < index->first_pair[s + 1]; pair++) {
                left -= is_eligible(counts, index->pair_row[pair] + 1)
                            ? phl_state_counts_value(counts, pair, (uint32_t)j)
                            : 0;
            }
            bool no_more_children_than_there_are = left >= 0;
            demand(no_more_children_than_there_are);
            others[s] -= left;
        }
        bool all_occurrences_accounted_for = others[s] == 0;
        demand(all_occurrences_accounted_for);
    }
    return NULL;
}

const char *gibbs_fault(const phl_gibbs *gibbs, const int64_t *multiplicity)
{
    const phl_forest *forest = gibbs->index->forest;
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    const char *fault = table_fault(gibbs, multiplicity);
    if (fault != NULL) {
        return fault;
    }
    if (params->soft) {
        int64_t internal = 0, counted = 0;
        for (size_t s = 0; s < forest->n_subtrees; s++) {
            internal += forest->leaf_slot[s] == 0 ? multiplicity[s] : 0;
        }
        for (size_t i = 0; i < params->core_rows * c; i++) {
            counted += gibbs->counts.core[i];
        }
        demand(counted == internal);
        for (uint32_t a = 0; a < params->n_axes; a++) {
            counted = 0;
            for (size_t i = 0; i < (c + 1) * params->axes[a].size; i++) {
                counted += gibbs->counts.kappa[a][i];
            }
            demand(counted == internal);
        }
        return NULL;
    }
    fault = partitions_fault(gibbs->partitions);
    if (fault != NULL) {
        return fault;
    }
    int64_t *counts = must_alloc(forest->n_subtrees * c, sizeof *counts);
    int64_t *others = must_alloc(forest->n_subtrees, sizeof *others);
    memcpy(others, multiplicity, forest->n_subtrees * sizeof *others);
    fault = state_fault(gibbs, multiplicity, counts, others);
    phl_free(others);
    phl_free(counts);
    return fault;
}
