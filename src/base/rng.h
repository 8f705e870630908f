/* rng.h - random streams that do not depend on the number of threads.
 *
 * A stream is a pure function of six numbers.  Philox4x64-10 (Salmon et al. 2011)
 * is keyed by (seed, purpose) and counted by (stream, iteration, item, draw), one 64-bit word each.
 * `stream` tells class and chain, `item` what is drawn for (some subtrees, a slot, a table), `draw`
 * counts from 0 inside the generator.  So each item makes its own phl_rng on the stack, whichever
 * thread handles it, and a resumed run needs no saved generator.
 *
 * Two streams are independent when any of the six numbers differs.  Purposes are numbered where
 * they are used; each kind of draw in one iteration needs its own.
 */
#ifndef PHL_BASE_RNG_H
#define PHL_BASE_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PHL_RNG_ROOM = 16 };

typedef struct phl_rng {
    uint64_t key[2];              /* seed, purpose */
    uint64_t counter[4];          /* stream, iteration, item, draw: the next block of four words */
    uint64_t words[PHL_RNG_ROOM]; /* blocks made already; the last one ends where the room ends */
    unsigned used;                /* where the next word is */
    unsigned blocks;              /* to be made next: one, and then as many as there is room for */
} phl_rng;

void phl_rng_init(phl_rng *rng, uint64_t seed, uint64_t purpose, uint64_t stream,
                  uint64_t iteration, uint64_t item);

/* Compute the next words (what phl_rng_next calls when there are none left). */
void phl_rng_refill(phl_rng *rng);

/* 64 random bits. */
static inline uint64_t phl_rng_next(phl_rng *rng)
{
    if (rng->used == PHL_RNG_ROOM) {
        phl_rng_refill(rng);
    }
    return rng->words[rng->used++];
}

/* Uniform on the open interval (0, 1): k * 2^-53 with k uniform on 1 .. 2^53 - 1. */
static inline double phl_rng_uniform(phl_rng *rng)
{
    uint64_t bits;
    do {
        bits = phl_rng_next(rng) >> 11;
    } while (bits == 0);
    return (double)bits * 0x1p-53;
}

/* Uniform on (0, 1) as a real number rounded down to 53 significant bits: small values keep full
 * relative precision, where phl_rng_uniform has steps of 1.1e-16. */
double phl_rng_uniform_fine(phl_rng *rng);

/* Uniform on 0 .. bound - 1, without bias; bound >= 1.  (Lemire 2019: the high word of word * bound
 * is uniform once the few low words below 2^64 mod bound are rejected.) */
static inline uint64_t phl_rng_bounded(phl_rng *rng, uint64_t bound)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)phl_rng_next(rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t threshold = (0 - bound) % bound;
        while ((uint64_t)product < threshold) {
            product = (wide)phl_rng_next(rng) * bound;
        }
    }
    return (uint64_t)(product >> 64);
}

/* A stream taken 32 bits at a time: halves of its words. */
typedef struct phl_halves {
    phl_rng *rng;
    uint64_t word; /* the half not given out yet is the upper one */
    bool left;
} phl_halves;

static inline uint32_t phl_halves_next(phl_halves *halves)
{
    halves->word = halves->left ? halves->word >> 32 : phl_rng_next(halves->rng);
    halves->left = !halves->left;
    return (uint32_t)halves->word;
}

/* Uniform on 0 .. bound - 1, as phl_rng_bounded. */
static inline uint32_t phl_halves_bounded(phl_halves *halves, uint32_t bound)
{
    uint64_t product = (uint64_t)phl_halves_next(halves) * bound;
    if ((uint32_t)product < bound) {
        uint32_t threshold = (0 - bound) % bound;
        while ((uint32_t)product < threshold) {
            product = (uint64_t)phl_halves_next(halves) * bound;
        }
    }
    return (uint32_t)(product >> 32);
}

/* Exponential with mean 1.  Never 0; steps of at most 6e-14 of the value, also near 0. */
double phl_rng_exponential(phl_rng *rng);

/* Standard normal. */
double phl_rng_normal(phl_rng *rng);

/* Many at once, faster one by one: the next `count` words of the stream, uniforms, exponentials,
 * normals.  Uniforms are odd multiples of 2^-53. */
void phl_rng_words(phl_rng *rng, size_t count, uint64_t *words);
void phl_rng_uniforms(phl_rng *rng, size_t count, double *values);
void phl_rng_exponentials(phl_rng *rng, size_t count, double *values);
void phl_rng_normals(phl_rng *rng, size_t count, double *values);

#endif
