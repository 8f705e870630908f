/* packed_rows.c - rows of a sparse matrix in few bytes; see packed_rows.h. */
#include "head/packed_rows.h"

#include <string.h>

#include "base/memory.h"

enum { LONGEST = 5 }; /* bytes of a number of 32 bits: seven bits each, the last below 128 */

void phl_packed_rows_clear(phl_packed_rows *rows)
{
    phl_free(rows->first);
    phl_free(rows->bytes);
    phl_free(rows->table);
    memset(rows, 0, sizeof *rows);
}

static uint8_t *put(uint8_t *at, uint32_t number)
{
    for (; number >= 128; number >>= 7) {
        *at++ = (uint8_t)(number | 128);
    }
    *at++ = (uint8_t)number;
    return at;
}

static const uint8_t *get(const uint8_t *at, uint32_t *number)
{
    uint32_t made = *at & 127u;
    for (unsigned shift = 7; *at++ >= 128; shift += 7) {
        made |= (*at & 127u) << shift;
    }
    *number = made;
    return at;
}

/* Room for so many rows and bytes more. */
static phl_status reserve(phl_packed_rows *rows, size_t n, size_t bytes, phl_error *error)
{
    bool none = rows->first == NULL;
    phl_status status =
        phl_grow(&rows->first, &rows->first_capacity, rows->n + n + 1, sizeof *rows->first, error);
    if (status == PHL_OK && none) {
        rows->first[0] = 0;
    }
    return status == PHL_OK ? phl_grow(&rows->bytes, &rows->capacity,
                                       (size_t)rows->first[rows->n] + bytes, 1, error)
                            : status;
}

/* Which of the values of the row this is, appended if it is new. */
static phl_status number_value(phl_packed_rows *rows, double value, size_t *n, uint32_t *number,
                               phl_error *error)
{
    size_t i = 0;
    while (i < *n && rows->table[i] != value) {
        i++;
    }
    *number = (uint32_t)i;
    if (i < *n) {
        return PHL_OK;
    }
    phl_status status =
        phl_grow(&rows->table, &rows->table_capacity, *n + 1, sizeof *rows->table, error);
    if (status == PHL_OK) {
        rows->table[(*n)++] = value;
    }
    return status;
}

/* The features and numbers of values stand before the values themselves until these are known. */
phl_status phl_packed_rows_append(phl_packed_rows *rows, size_t n, const uint32_t *feature,
                                  const double *value, phl_error *error)
{
    size_t most = 2 * LONGEST * (n + 1), n_values = 0;
    phl_status status = reserve(rows, 1, most, error);
    if (status != PHL_OK) {
        return status;
    }
    uint8_t *begin = rows->bytes + rows->first[rows->n], *at = begin;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        uint32_t number = 0;
        status = number_value(rows, value[i], &n_values, &number, error);
        at = put(at, i > 0 ? feature[i] - feature[i - 1] : feature[i]);
        at = put(at, number);
    }
    size_t entries = (size_t)(at - begin);
    if (status == PHL_OK) {
        status = reserve(rows, 1, most + n_values * sizeof(double), error);
    }
    if (status != PHL_OK) {
        return status;
    }
    uint8_t facts[2 * LONGEST];
    size_t length = (size_t)(put(put(facts, (uint32_t)n), (uint32_t)n_values) - facts);
    size_t before = length + n_values * sizeof(double);
    begin = rows->bytes + rows->first[rows->n];
    memmove(begin + before, begin, entries);
    memcpy(begin, facts, length);
    if (n_values > 0) {
        memcpy(begin + length, rows->table, n_values * sizeof(double));
    }
    rows->n++;
    rows->first[rows->n] = rows->first[rows->n - 1] + before + entries;
    rows->widest = n > rows->widest ? n : rows->widest;
    return PHL_OK;
}

phl_status phl_packed_rows_join(phl_packed_rows *rows, const phl_packed_rows *more,
                                phl_error *error)
{
    size_t bytes = more->n > 0 ? (size_t)more->first[more->n] : 0;
    phl_status status = reserve(rows, more->n, bytes, error);
    if (status != PHL_OK || more->n == 0) {
        return status;
    }
    uint64_t from = rows->first[rows->n];
    memcpy(rows->bytes + from, more->bytes, bytes);
    for (size_t i = 1; i <= more->n; i++) {
        rows->first[rows->n + i] = from + more->first[i];
    }
    rows->n += more->n;
    rows->widest = more->widest > rows->widest ? more->widest : rows->widest;
    return PHL_OK;
}

size_t phl_packed_rows_get(const phl_packed_rows *rows, size_t row, double scale, uint32_t *feature,
                           double *value)
{
    uint32_t n = 0, n_values = 0, gap = 0, number = 0, last = 0;
    const uint8_t *at = get(get(rows->bytes + rows->first[row], &n), &n_values);
    const uint8_t *table = at;
    at += n_values * sizeof(double);
    for (uint32_t i = 0; i < n; i++) {
        double own;
        at = get(get(at, &gap), &number);
        last += gap;
        memcpy(&own, table + number * sizeof own, sizeof own);
        feature[i] = last;
        value[i] = own * scale;
    }
    return n;
}
