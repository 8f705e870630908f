/* partitions.c - the state and the score of the partitions; moves are in partition_*.c. */
#include "gibbs/partitions.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "gibbs/partition_state.h"

/* Tables beyond this cost more to fill than logarithms for the counts there (measured). */
enum { LARGEST_TABLE = 512 };

phl_status phl_partitions_create(phl_state_counts *counts, const phl_partition_prior *prior,
                                 phl_partitions **partitions, phl_error *error)
{
    phl_partitions *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t e_count = counts->pairs->n_eligible, values = (size_t)counts->states + 1;
    made->counts = counts;
    made->prior = *prior;
    made->states = counts->states;
    made->n_eligible = counts->pairs->n_eligible;
    made->n_cells = 1;
    made->size = phl_alloc(e_count, sizeof *made->size, error);
    made->block = phl_alloc_zero(e_count * values, sizeof *made->block, error);
    made->stride = phl_alloc_zero(e_count, sizeof *made->stride, error);
    made->rising = phl_alloc_zero(counts->states, sizeof *made->rising, error);
    made->open_block = phl_alloc_zero(values, sizeof *made->open_block, error);
    made->weights = phl_alloc(values + 1, sizeof *made->weights, error);
    made->moved = phl_alloc_zero(values, sizeof *made->moved, error);
    made->order = phl_alloc(e_count + values, sizeof *made->order, error);
    phl_status status = PHL_OK;
    if (made->size == NULL || made->block == NULL || made->stride == NULL || made->rising == NULL ||
        made->open_block == NULL || made->weights == NULL || made->moved == NULL ||
        made->order == NULL) {
        status = PHL_ERR_MEMORY;
    } else {
        status = phl_stirling_init(&made->stirling, values, error);
    }
    if (status == PHL_OK) {
        status = phl_slot_view_init(&made->view, counts->states, error);
    }
    if (status != PHL_OK) {
        phl_partitions_free(made);
        return status;
    }
    for (size_t e = 0; e < e_count; e++) {
        made->size[e] = 1;
    }
    *partitions = made;
    return PHL_OK;
}

void phl_partitions_free(phl_partitions *partitions)
{
    if (partitions == NULL) {
        return;
    }
    for (size_t j = 0; partitions->rising != NULL && j < partitions->states; j++) {
        phl_rising_clear(&partitions->rising[j]);
    }
    phl_rising_clear(&partitions->rising_total);
    phl_stirling_clear(&partitions->stirling);
    phl_slot_view_clear(&partitions->view);
    phl_free(partitions->size);
    phl_free(partitions->block);
    phl_free(partitions->stride);
    phl_free(partitions->cells);
    phl_free(partitions->totals);
    phl_free(partitions->live);
    phl_free(partitions->rising);
    phl_free(partitions->open_block);
    phl_free(partitions->own_slab);
    phl_free(partitions->own_slab_total);
    phl_free(partitions->identity);
    phl_free(partitions->zeros);
    phl_free(partitions->rest);
    phl_free(partitions->digit);
    phl_free(partitions->gathered);
    phl_free(partitions->touched);
    phl_free(partitions->is_touched);
    phl_free(partitions->weights);
    phl_free(partitions->moved);
    phl_free(partitions->order);
    phl_free(partitions);
}

void phl_partitions_set_score_base(phl_partitions *partitions, double alpha,
                                   const double *log_lambda0)
{
    partitions->alpha = alpha;
    for (size_t j = 0; j < partitions->states; j++) {
        phl_rising_reset(&partitions->rising[j], alpha * exp(log_lambda0[j]));
    }
    phl_rising_reset(&partitions->rising_total, alpha);
}

/* As large a table as counts up to n need. */
static phl_status tabulate(phl_rising *rising, int64_t n, phl_error *error)
{
    return phl_rising_reserve(rising, n < LARGEST_TABLE ? n : LARGEST_TABLE, error);
}

phl_status phl_partitions_set_base(phl_partitions *partitions, double alpha,
                                   const double *log_lambda0, phl_error *error)
{
    size_t c = partitions->states;
    int64_t all = 0;
    phl_status status = PHL_OK;
    phl_partitions_set_score_base(partitions, alpha, log_lambda0);
    for (size_t j = 0; status == PHL_OK && j < c; j++) {
        int64_t sum = 0; /* no cell has more */
        for (size_t i = 0; i < partitions->n_live; i++) {
            sum += partitions->cells[partitions->live[i] * c + j];
        }
        all += sum;
        status = tabulate(&partitions->rising[j], sum, error);
    }
    return status == PHL_OK ? tabulate(&partitions->rising_total, all, error) : status;
}

double phl_partitions_cell_score(const phl_partitions *partitions, const int64_t *counts)
{
    double score = 0.0;
    int64_t total = 0;
    for (size_t j = 0; j < partitions->states; j++) {
        if (counts[j] > 0) {
            score += phl_rising_get(&partitions->rising[j], counts[j]);
            total += counts[j];
        }
    }
    return total == 0 ? 0.0 : score - phl_rising_get(&partitions->rising_total, total);
}

bool phl_partitions_size_allowed(const phl_partitions *partitions, uint32_t e, uint32_t size)
{
    const phl_partition_prior *prior = &partitions->prior;
    if (prior->fixed != NULL) {
        return size == prior->fixed[e];
    }
    uint32_t before = partitions->size[e];
    uint32_t active = partitions->n_active - (before > 1) + (size > 1);
    return active >= prior->slots_min && active <= prior->slots_max &&
           size <= partitions->states + 1 &&
           (double)(partitions->n_cells / before) * size <= (double)prior->core_max;
}

double phl_partitions_log_prior(const phl_partitions *partitions)
{
    const phl_partition_prior *prior = &partitions->prior;
    double sum = 0.0;
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        if (prior->fixed != NULL && partitions->size[e] != prior->fixed[e]) {
            return -INFINITY;
        }
        sum += phl_partitions_size_prior(partitions, partitions->size[e]);
    }
    if (prior->fixed == NULL &&
        (partitions->n_active < prior->slots_min || partitions->n_active > prior->slots_max ||
         partitions->n_cells > prior->core_max)) {
        return -INFINITY;
    }
    return sum;
}

double phl_partitions_score(const phl_partitions *partitions)
{
    double sum = phl_partitions_log_prior(partitions);
    for (size_t z = 0; z < partitions->n_cells; z++) {
        sum += phl_partitions_cell_score(partitions, partitions->cells + z * partitions->states);
    }
    return sum;
}

void phl_partitions_set_size(phl_partitions *partitions, uint32_t e, uint32_t size)
{
    uint32_t before = partitions->size[e];
    partitions->size[e] = size;
    partitions->n_active += (uint32_t)(size > 1) - (uint32_t)(before > 1);
    partitions->n_cells = partitions->n_cells / before * size;
}

/* The last active slot runs fastest, as in the core of a model. */
void phl_partitions_lay_out(phl_partitions *partitions)
{
    size_t cells = 1;
    partitions->n_active = 0;
    for (uint32_t e = partitions->n_eligible; e-- > 0;) {
        partitions->stride[e] = partitions->size[e] > 1 ? cells : 0;
        cells *= partitions->size[e];
        partitions->n_active += partitions->size[e] > 1;
    }
    partitions->n_cells = cells;
}

phl_status phl_partitions_reserve_cells(phl_partitions *partitions, phl_error *error)
{
    size_t n = partitions->n_cells;
    const phl_room rooms[] = {
        PHL_ROOM(partitions->cells, partitions->cell_capacity, n * partitions->states),
        PHL_ROOM(partitions->totals, partitions->total_capacity, n),
        PHL_ROOM(partitions->live, partitions->live_capacity, n),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    return status;
}

void phl_partitions_survey_cells(phl_partitions *partitions)
{
    size_t c = partitions->states;
    partitions->n_live = 0;
    for (size_t z = 0; z < partitions->n_cells; z++) {
        int64_t total = 0;
        for (size_t j = 0; j < c; j++) {
            total += partitions->cells[z * c + j];
        }
        partitions->totals[z] = total;
        if (total > 0) {
            partitions->live[partitions->n_live++] = (uint32_t)z;
        }
    }
}

phl_status phl_partitions_count(phl_partitions *partitions, phl_error *error)
{
    const phl_state_counts *counts = partitions->counts;
    size_t c = partitions->states;
    phl_partitions_lay_out(partitions);
    phl_status status = phl_partitions_reserve_cells(partitions, error);
    if (status != PHL_OK) {
        return status;
    }
    memset(partitions->cells, 0, partitions->n_cells * c * sizeof *partitions->cells);
    for (size_t r = 0; r < counts->n_portions; r++) {
        partitions->cells[counts->portion[r].cell * c + counts->portion[r].state] +=
            counts->portion[r].n;
    }
    phl_partitions_survey_cells(partitions);
    return PHL_OK;
}

uint32_t phl_partitions_axes(const phl_partitions *partitions, phl_axis *axes)
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        if (partitions->size[e] > 1) {
            axes[count].slot = partitions->counts->pairs->eligible[e];
            axes[count].size = partitions->size[e];
            axes[count].block = partitions->block + (size_t)e * (partitions->states + 1);
            axes[count].matrix = NULL;
            count++;
        }
    }
    return count;
}
