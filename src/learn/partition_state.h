/* partition_state.h - what partitions.c and partition_moves.c share. */
#ifndef PHL_LEARN_PARTITION_STATE_H
#define PHL_LEARN_PARTITION_STATE_H

#include "learn/partitions.h"

/* log B(alpha lambda0 + n) / B(alpha lambda0) of one cell, counts [C]. */
double phl_cell_score(const phl_partitions *partitions, const int64_t *counts);

/* log of p(k) / S(C + 1, k), up to a constant. */
double phl_size_prior(const phl_partitions *partitions, uint32_t size);

/* Would slot e with that many blocks stay within the confines? */
bool phl_sizes_allowed(const phl_partitions *partitions, uint32_t e, uint32_t size);

/* Cell of a row under the present partitions. */
uint32_t phl_row_cell(const phl_partitions *partitions, size_t row);

#endif
