/* lane_rows.h - arithmetic on rows of C numbers, four at a time (base/lanes.h).
 *
 * Rows lie C doubles apart, whatever C is.  They are read in whole lanes, that is up to three
 * doubles beyond their end; arrays have room for that (tables of phl_params do).  What is read
 * there never reaches a result, and nothing is written there.
 */
#ifndef PHL_MODEL_LANE_ROWS_H
#define PHL_MODEL_LANE_ROWS_H

#include <float.h>

#include "base/lanes.h"

/* inside (a copy of `from`), beta and norm, which is returned, of a subtree.  Rows `emission` and
 * `from` have `lanes` whole lanes. */
PHL_INLINED double phl_finish(size_t lanes, size_t c, const double *restrict emission,
                              const double *restrict from, double *restrict inside,
                              double *restrict beta)
{
    size_t last = (lanes - 1) * PHL_LANES; /* 1 to 4 states in the last lane */
    phl_lanes x, sum = {0.0};
    for (size_t j = 0; j < last; j += PHL_LANES) {
        sum += phl_lanes_at(from + j) * phl_lanes_at(emission + j);
    }
    x = phl_lanes_at(from + last) * phl_lanes_at(emission + last);
    phl_lanes_keep(&x, c - last);
    sum += x;
    double norm = phl_lanes_sum(sum);
    double scale = 1.0 / norm;
    if (scale > DBL_MAX) { /* norm is 0, or so small that beta must be divided */
        for (size_t j = 0; j < c; j++) {
            inside[j] = from[j];
            beta[j] = norm > 0.0 ? from[j] * emission[j] / norm : 0.0;
        }
        return norm;
    }
    for (size_t j = 0; j < last; j += PHL_LANES) {
        x = phl_lanes_at(from + j);
        phl_lanes_set(inside + j, x);
        phl_lanes_set(beta + j, x * phl_lanes_at(emission + j) * scale);
    }
    x = phl_lanes_at(from + last);
    phl_lanes_set_first(inside + last, &x, c - last);
    x = x * phl_lanes_at(emission + last) * scale;
    phl_lanes_set_first(beta + last, &x, c - last);
    return norm;
}

/* out(i) = sum_q weight(q) rows(q, i) for i < c, c numbers being `lanes` whole lanes: at most 4. */
PHL_INLINED void phl_combine_lanes(size_t lanes, size_t c, const double *restrict rows,
                                   size_t stride, const double *restrict weight, size_t n,
                                   double *restrict out)
{
    phl_lanes sum[4] = {{0.0}};
    for (size_t q = 0; q < n; q++) {
        for (size_t p = 0; p < lanes; p++) {
            sum[p] += weight[q] * phl_lanes_at(rows + q * stride + p * PHL_LANES);
        }
    }
    size_t last = (lanes - 1) * PHL_LANES;
    for (size_t p = 0; p + 1 < lanes; p++) {
        phl_lanes_set(out + p * PHL_LANES, sum[p]);
    }
    phl_lanes_set_first(out + last, &sum[lanes - 1], c - last);
}

/* The same for any c: weights [n], rows [n] `stride` apart. */
PHL_INLINED void phl_combine(size_t c, const double *restrict rows, size_t stride,
                             const double *restrict weight, size_t n, double *restrict out)
{
    enum { MOST = 4 * PHL_LANES };
    for (; c > MOST; c -= MOST, rows += MOST, out += MOST) {
        phl_combine_lanes(4, MOST, rows, stride, weight, n, out);
    }
    if (c > 3 * PHL_LANES) {
        phl_combine_lanes(4, c, rows, stride, weight, n, out);
    } else if (c > 2 * PHL_LANES) {
        phl_combine_lanes(3, c, rows, stride, weight, n, out);
    } else if (c > PHL_LANES) {
        phl_combine_lanes(2, c, rows, stride, weight, n, out);
    } else {
        phl_combine_lanes(1, c, rows, stride, weight, n, out);
    }
}

#endif
