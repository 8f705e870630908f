/* partitions.c - the state and the score of the partitions; moves are in partition_moves.c. */
#include "learn/partitions.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "learn/partition_state.h"

/* Nearly every look-up is below this. */
enum { LARGEST_TABLE = 4096 };

phl_status phl_partitions_create(phl_rows *rows, const phl_partition_prior *prior,
                                 phl_partitions **partitions, phl_error *error)
{
    phl_partitions *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t e_count = rows->n_eligible, values = (size_t)rows->states + 1;
    made->rows = rows;
    made->prior = *prior;
    made->states = rows->states;
    made->n_eligible = rows->n_eligible;
    made->n_cells = 1;
    made->size = phl_alloc(e_count, sizeof *made->size, error);
    made->block = phl_alloc_zero(e_count * values, sizeof *made->block, error);
    made->stride = phl_alloc_zero(e_count, sizeof *made->stride, error);
    made->rising = phl_alloc_zero(rows->states, sizeof *made->rising, error);
    made->weights = phl_alloc(values + 1, sizeof *made->weights, error);
    made->moved = phl_alloc_zero(values, sizeof *made->moved, error);
    phl_status status = PHL_OK;
    if (made->size == NULL || made->block == NULL || made->stride == NULL || made->rising == NULL ||
        made->weights == NULL || made->moved == NULL) {
        status = PHL_ERR_MEMORY;
    } else {
        status = phl_stirling_init(&made->stirling, values, error);
    }
    if (status != PHL_OK) {
        phl_partitions_free(made);
        return status;
    }
    for (size_t e = 0; e < e_count; e++) {
        made->size[e] = 1;
    }
    const phl_forest *forest = rows->index->forest;
    for (size_t s = 0; s < forest->n_subtrees && made->table_size < LARGEST_TABLE; s++) {
        made->table_size += forest->leaf_slot[s] == 0 ? forest->multiplicity[s] : 0;
    }
    made->table_size = made->table_size < LARGEST_TABLE ? made->table_size : LARGEST_TABLE;
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
    phl_free(partitions->size);
    phl_free(partitions->block);
    phl_free(partitions->stride);
    phl_free(partitions->cells);
    phl_free(partitions->rising);
    phl_free(partitions->gathered);
    phl_free(partitions->touched);
    phl_free(partitions->is_touched);
    phl_free(partitions->weights);
    phl_free(partitions->moved);
    phl_free(partitions->other);
    phl_free(partitions);
}

phl_status phl_partitions_set_base(phl_partitions *partitions, double alpha,
                                   const double *log_lambda0, phl_error *error)
{
    partitions->alpha = alpha;
    phl_rising_reset(&partitions->rising_total, alpha);
    phl_status status =
        phl_rising_reserve(&partitions->rising_total, partitions->table_size, error);
    for (size_t j = 0; status == PHL_OK && j < partitions->states; j++) {
        phl_rising_reset(&partitions->rising[j], alpha * exp(log_lambda0[j]));
        status = phl_rising_reserve(&partitions->rising[j], partitions->table_size, error);
    }
    return status;
}

double phl_cell_score(const phl_partitions *partitions, const int64_t *counts)
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

double phl_size_prior(const phl_partitions *partitions, uint32_t size)
{
    return -partitions->prior.phi * size -
           phl_stirling_get(&partitions->stirling, (size_t)partitions->states + 1, size);
}

bool phl_sizes_allowed(const phl_partitions *partitions, uint32_t e, uint32_t size)
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
        sum += phl_size_prior(partitions, partitions->size[e]);
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
        sum += phl_cell_score(partitions, partitions->cells + z * partitions->states);
    }
    return sum;
}

/* Strides from sizes: the last active slot runs fastest, as in the core of a model. */
static void lay_out(phl_partitions *partitions)
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

uint32_t phl_row_cell(const phl_partitions *partitions, size_t row)
{
    size_t cell = 0;
    size_t values = (size_t)partitions->states + 1;
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        if (partitions->size[e] > 1) {
            uint32_t value = phl_rows_some_value(partitions->rows, row, e);
            cell += partitions->stride[e] * partitions->block[e * values + value];
        }
    }
    return (uint32_t)cell;
}

phl_status phl_partitions_count(phl_partitions *partitions, phl_error *error)
{
    lay_out(partitions);
    phl_rows *rows = partitions->rows;
    size_t c = partitions->states, n = partitions->n_cells;
    phl_status status = phl_grow(&partitions->cells, &partitions->cell_capacity, n * c,
                                 sizeof *partitions->cells, error);
    if (status == PHL_OK && partitions->gathered_capacity < n * c) {
        size_t before = partitions->gathered_capacity;
        status = phl_grow(&partitions->gathered, &partitions->gathered_capacity, n * c,
                          sizeof *partitions->gathered, error);
        if (status == PHL_OK) {
            memset(partitions->gathered + before, 0,
                   (partitions->gathered_capacity - before) * sizeof *partitions->gathered);
        }
    }
    if (status == PHL_OK && partitions->is_touched_capacity < n) {
        size_t before = partitions->is_touched_capacity;
        status = phl_grow(&partitions->is_touched, &partitions->is_touched_capacity, n,
                          sizeof *partitions->is_touched, error);
        if (status == PHL_OK) {
            memset(partitions->is_touched + before, 0, partitions->is_touched_capacity - before);
        }
    }
    if (status == PHL_OK) {
        status = phl_grow(&partitions->touched, &partitions->touched_capacity, n,
                          sizeof *partitions->touched, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    memset(partitions->cells, 0, n * c * sizeof *partitions->cells);
    for (size_t row = 0; row < rows->n_rows; row++) {
        rows->row[row].cell = phl_row_cell(partitions, row);
        partitions->cells[rows->row[row].cell * c + rows->row[row].state] += rows->row[row].n;
    }
    return PHL_OK;
}

uint32_t phl_partitions_modes(const phl_partitions *partitions, phl_mode *modes)
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        if (partitions->size[e] > 1) {
            modes[count].slot = partitions->rows->eligible[e];
            modes[count].size = partitions->size[e];
            modes[count].block = partitions->block + (size_t)e * (partitions->states + 1);
            modes[count].matrix = NULL;
            count++;
        }
    }
    return count;
}
