/* lanes.h - four doubles at a time, with the same results on every machine.
 *
 * Compilers turn a phl_lanes into one AVX register or two of SSE2, whatever a clone (clones.h) has.
 * A sum over lanes has a fixed order.
 */
#ifndef PHL_BASE_LANES_H
#define PHL_BASE_LANES_H

#include <stddef.h>
#include <stdint.h>

enum { PHL_LANES = 4 };
typedef double phl_lanes __attribute__((vector_size(32)));
typedef int64_t phl_lane_mask __attribute__((vector_size(32)));
typedef int64_t phl_lane_mask_there __attribute__((vector_size(32), aligned(8)));

/* For functions that are part of a loop over lanes: they must become part of its clones too. */
#define PHL_INLINED static inline __attribute__((always_inline))

/* n rounded up to whole lanes. */
static inline size_t phl_whole_lanes(size_t n)
{
    return (n + PHL_LANES - 1) / PHL_LANES * PHL_LANES;
}

/* Call function(parts, ...), parts being the number of whole lanes of a row of n doubles: a
 * constant for rows of up to 16, so that loops over it become straight code. */
#define PHL_BY_PARTS(n, function, ...)                                                             \
    do {                                                                                           \
        switch (phl_whole_lanes(n) / PHL_LANES) {                                                  \
        case 1:                                                                                    \
            function(1, __VA_ARGS__);                                                              \
            break;                                                                                 \
        case 2:                                                                                    \
            function(2, __VA_ARGS__);                                                              \
            break;                                                                                 \
        case 3:                                                                                    \
            function(3, __VA_ARGS__);                                                              \
            break;                                                                                 \
        case 4:                                                                                    \
            function(4, __VA_ARGS__);                                                              \
            break;                                                                                 \
        default:                                                                                   \
            function(phl_whole_lanes(n) / PHL_LANES, __VA_ARGS__);                                 \
        }                                                                                          \
    } while (0)

/* Four doubles in memory, at any address of a double. */
typedef double phl_lanes_there __attribute__((vector_size(32), aligned(8)));
#define phl_lanes_at(address) (*(const phl_lanes_there *)(address))
#define phl_lanes_set(address, lanes) (*(phl_lanes_there *)(address) = (lanes))

/* All but the first n lanes, 1 <= n <= PHL_LANES, become 0. */
PHL_INLINED void phl_lanes_keep(phl_lanes *lanes, size_t n)
{
    static const int64_t bits[2 * PHL_LANES] = {-1, -1, -1, -1, 0, 0, 0, 0};
    *lanes =
        (phl_lanes)((phl_lane_mask)*lanes & *(const phl_lane_mask_there *)(bits + PHL_LANES - n));
}

/* Set the first n doubles in memory, 1 <= n <= PHL_LANES. */
PHL_INLINED void phl_lanes_set_first(double *to, const phl_lanes *lanes, size_t n)
{
    if (n == PHL_LANES) {
        phl_lanes_set(to, *lanes);
    } else {
        to[0] = (*lanes)[0];
        if (n > 1) {
            to[1] = (*lanes)[1];
        }
        if (n > 2) {
            to[2] = (*lanes)[2];
        }
    }
}

#define phl_lanes_sum(lanes) (((lanes)[0] + (lanes)[1]) + ((lanes)[2] + (lanes)[3]))

/* The sums of four, each as phl_lanes_sum has it. */
PHL_INLINED void phl_lanes_sums(const phl_lanes four[PHL_LANES], phl_lanes *sums)
{
    phl_lanes first = __builtin_shufflevector(four[0], four[1], 0, 4, 2, 6) +
                      __builtin_shufflevector(four[0], four[1], 1, 5, 3, 7);
    phl_lanes second = __builtin_shufflevector(four[2], four[3], 0, 4, 2, 6) +
                       __builtin_shufflevector(four[2], four[3], 1, 5, 3, 7);
    *sums = __builtin_shufflevector(first, second, 0, 1, 4, 5) +
            __builtin_shufflevector(first, second, 2, 3, 6, 7);
}

#endif
