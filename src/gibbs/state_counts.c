/* state_counts.c - hidden states as counts; see state_counts.h. */
#include "gibbs/state_counts.h"

#include "base/memory.h"

phl_status phl_state_counts_create(const phl_slot_pairs *pairs, uint32_t states,
                                   phl_state_counts **counts, phl_error *error)
{
    phl_state_counts *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    const phl_index *index = pairs->index;
    made->pairs = pairs;
    made->states = states;
    made->n_first = index->forest->n_subtrees - pairs->n_leaves;
    phl_status status = phl_grow(&made->portion, &made->portion_capacity, made->n_first,
                                 sizeof *made->portion, error);
    made->value = phl_alloc_zero(index->n_pairs * states, sizeof *made->value, error);
    made->one_value = phl_alloc_zero(index->n_pairs, sizeof *made->one_value, error);
    if (status != PHL_OK || made->value == NULL || made->one_value == NULL) {
        phl_state_counts_free(made);
        return PHL_ERR_MEMORY;
    }
    phl_state_counts_reset(made);
    *counts = made;
    return PHL_OK;
}

void phl_state_counts_free(phl_state_counts *counts)
{
    if (counts == NULL) {
        return;
    }
    phl_free(counts->portion);
    phl_free(counts->value);
    phl_free(counts->one_value);
    phl_free(counts);
}

void phl_state_counts_reset(phl_state_counts *counts)
{
    uint32_t n_leaves = (uint32_t)counts->pairs->n_leaves;
    for (uint32_t r = 0; r < counts->n_first; r++) {
        counts->portion[r] = (phl_portion){0, n_leaves + r, 0, 0, PHL_NO_PORTION};
    }
    counts->n_portions = counts->n_first;
}

phl_status phl_state_counts_add(phl_state_counts *counts, uint32_t subtree, uint32_t state,
                                uint32_t cell, int64_t n, phl_error *error)
{
    phl_portion *first = &counts->portion[phl_state_counts_first(counts, subtree)];
    if (first->n == 0) {
        *first = (phl_portion){n, subtree, state, cell, PHL_NO_PORTION};
        return PHL_OK;
    }
    if (counts->n_portions >= PHL_NO_PORTION) {
        return phl_raise(error, PHL_ERR_LIMIT, "split the data",
                         "more than %u different hidden states of subtrees", PHL_NO_PORTION - 1);
    }
    if (counts->n_portions == counts->portion_capacity) {
        phl_status status = phl_grow(&counts->portion, &counts->portion_capacity,
                                     counts->n_portions + 1, sizeof *counts->portion, error);
        if (status != PHL_OK) {
            return status;
        }
        first = &counts->portion[phl_state_counts_first(counts, subtree)];
    }
    counts->portion[counts->n_portions] = (phl_portion){n, subtree, state, cell, first->next};
    first->next = (uint32_t)counts->n_portions++;
    return PHL_OK;
}
