/* packed_rows.h - rows of a sparse matrix in few bytes.
 *
 * A row has many features and few different values, for a value is the root of a share: a small
 * count of a total.  So a row is kept as its values, each once, and for every feature how far it is
 * from the one before and which value it has, as numbers of variable length.  Values are exact; a
 * feature takes some three bytes instead of twelve.
 */
#ifndef PHL_HEAD_PACKED_ROWS_H
#define PHL_HEAD_PACKED_ROWS_H

#include "base/error.h"

typedef struct phl_packed_rows {
    size_t n, first_capacity;
    uint64_t *first; /* [n + 1] where the bytes of a row begin; NULL while there is none */
    uint8_t *bytes;
    size_t capacity;
    size_t widest; /* features of the longest row */
    double *table; /* values of the row that is being packed */
    size_t table_capacity;
} phl_packed_rows;

void phl_packed_rows_clear(phl_packed_rows *rows);

/* A row more; features ascend. */
phl_status phl_packed_rows_append(phl_packed_rows *rows, size_t n, const uint32_t *feature,
                                  const double *value, phl_error *error);
/* The rows of another more. */
phl_status phl_packed_rows_join(phl_packed_rows *rows, const phl_packed_rows *more,
                                phl_error *error);

/* A row, its values multiplied by a scale; there is room for the widest.  Returns its length. */
size_t phl_packed_rows_get(const phl_packed_rows *rows, size_t row, double scale, uint32_t *feature,
                           double *value);

#endif
