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
            int64_t count = gibbs->counts.state[s * c + j];
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

/* Is each value of a row in the list of its slot, and no row there twice? */
static const char *list_fault(const phl_rows *rows)
{
    size_t values = (size_t)rows->states + 1;
    uint8_t *listed = must_alloc(rows->n_rows * values + 1, 1);
    bool complete = true, once = true;
    for (uint32_t e = 0; e < rows->n_eligible; e++) {
        memset(listed, 0, rows->n_rows * values);
        for (uint32_t q = 0; q < values; q++) {
            const phl_row_list *list = phl_rows_list(rows, e, q);
            for (size_t i = 0; i < list->count; i++) {
                once = once && listed[list->rows[i] * values + q]++ == 0;
            }
        }
        for (size_t r = 0; r < rows->n_rows; r++) {
            for (uint32_t q = 0; q < values; q++) {
                complete =
                    complete && (phl_rows_count(rows, r, e, q) == 0 || listed[r * values + q]);
            }
        }
    }
    phl_free(listed);
    demand(complete);
    demand(once);
    return NULL;
}

/* Rows against states, partitions and cells.  given: [n][C] to hold how often children got states.
 */
static const char *row_fault(const phl_gibbs *gibbs, int64_t *cells, int64_t *of_subtree)
{
    const phl_rows *rows = gibbs->rows;
    const phl_partitions *partitions = gibbs->partitions;
    const phl_forest *forest = gibbs->index->forest;
    size_t c = rows->states, values = c + 1;
    for (size_t r = 0; r < rows->n_rows; r++) {
        const phl_row *row = &rows->row[r];
        size_t cell = 0;
        demand(row->n > 0);
        demand(forest->leaf_slot[row->subtree] == 0);
        for (uint32_t e = 0; e < rows->n_eligible; e++) {
            const uint32_t *block = partitions->block + e * values;
            int64_t total = 0;
            uint32_t shown = UINT32_MAX;
            bool one_block = true;
            for (uint32_t q = 0; q < values; q++) {
                int64_t count = phl_rows_count(rows, r, e, q);
                demand(count >= 0);
                total += count;
                one_block = one_block && (count == 0 || shown == UINT32_MAX || shown == block[q]);
                shown = count > 0 ? block[q] : shown;
            }
            demand(total == row->n);
            demand(one_block);
            cell = cell * partitions->size[e] + shown;
        }
        demand(row->cell == cell);
        cells[cell * c + row->state] += row->n;
        of_subtree[row->subtree * c + row->state] += row->n;
    }
    for (size_t i = 0; i < partitions->n_cells * c; i++) {
        demand(cells[i] == partitions->cells[i]);
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        for (size_t j = 0; forest->leaf_slot[s] == 0 && j < c; j++) {
            demand(of_subtree[s * c + j] == gibbs->counts.state[s * c + j]);
        }
    }
    return NULL;
}

/* Children of eligible slots in the margins: not more than there are, and all of them where a
 * subtree is never a root nor in another slot. */
static const char *child_fault(const phl_gibbs *gibbs, int64_t *given, bool *elsewhere)
{
    const phl_rows *rows = gibbs->rows;
    const phl_forest *forest = gibbs->index->forest;
    size_t c = rows->states;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        elsewhere[s] = elsewhere[s] || gibbs->root_count[s] > 0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            bool eligible = false;
            for (uint32_t e = 0; e < rows->n_eligible; e++) {
                eligible = eligible || rows->eligible[e] == forest->links[k].slot;
            }
            elsewhere[forest->links[k].child] = elsewhere[forest->links[k].child] || !eligible;
        }
    }
    for (size_t r = 0; r < rows->n_rows; r++) {
        uint32_t s = rows->row[r].subtree;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            for (uint32_t e = 0; e < rows->n_eligible; e++) {
                for (uint32_t q = 0; rows->eligible[e] == forest->links[k].slot && q < c; q++) {
                    given[forest->links[k].child * c + q] += phl_rows_count(rows, r, e, q);
                }
            }
        }
    }
    for (size_t i = 0; i < forest->n_subtrees * c; i++) {
        demand(given[i] <= gibbs->counts.state[i]);
        demand(elsewhere[i / c] || given[i] == gibbs->counts.state[i]);
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
        for (uint32_t a = 0; a < params->n_modes; a++) {
            counted = 0;
            for (size_t i = 0; i < (c + 1) * params->modes[a].size; i++) {
                counted += gibbs->counts.mode[a][i];
            }
            demand(counted == internal);
        }
        return NULL;
    }
    fault = partition_fault(gibbs->partitions);
    if (fault != NULL) {
        return fault;
    }
    int64_t *cells = must_alloc(gibbs->partitions->n_cells * c, sizeof *cells);
    int64_t *counts = must_alloc(forest->n_subtrees * c, sizeof *counts);
    int64_t *given = must_alloc(forest->n_subtrees * c, sizeof *given);
    bool *elsewhere = must_alloc(forest->n_subtrees, sizeof *elsewhere);
    fault = row_fault(gibbs, cells, counts);
    fault = fault == NULL ? child_fault(gibbs, given, elsewhere) : fault;
    fault = fault == NULL ? list_fault(gibbs->rows) : fault;
    phl_free(elsewhere);
    phl_free(given);
    phl_free(counts);
    phl_free(cells);
    return fault;
}
