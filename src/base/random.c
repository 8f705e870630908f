/* random.c - Philox streams and the elementary distributions; see random.h. */
#include "base/random.h"

#include <Random123/philox.h>
#include <math.h>

void phl_rng_init(phl_rng *rng, uint64_t seed, uint64_t purpose, uint64_t stream,
                  uint64_t iteration, uint64_t item)
{
    rng->key[0] = seed;
    rng->key[1] = purpose;
    rng->counter[0] = stream;
    rng->counter[1] = iteration;
    rng->counter[2] = item;
    rng->counter[3] = 0;
    rng->used = 4;
}

void phl_rng_refill(phl_rng *rng)
{
    philox4x64_key_t key = {{rng->key[0], rng->key[1]}};
    philox4x64_ctr_t counter = {
        {rng->counter[0], rng->counter[1], rng->counter[2], rng->counter[3]}};
    philox4x64_ctr_t words = philox4x64_R(10, counter, key);
    for (int i = 0; i < 4; i++) {
        rng->words[i] = words.v[i];
    }
    rng->counter[3]++;
    rng->used = 0;
}

/* Leading zero bits of a word that is not 0. */
static int leading_zeros(uint64_t word)
{
#if defined(__GNUC__)
    return __builtin_clzll(word);
#else
    int zeros = 0;
    while ((word >> 63) == 0) {
        word <<= 1;
        zeros++;
    }
    return zeros;
#endif
}

double phl_rng_uniform_fine(phl_rng *rng)
{
    /* An endless binary fraction, cut 53 bits behind its first one. */
    int exponent = -53;
    uint64_t bits = phl_rng_next(rng);
    while (bits == 0 && exponent > -900) {
        exponent -= 64;
        bits = phl_rng_next(rng);
    }
    if (bits == 0) {
        bits = 1;
    }
    int zeros = leading_zeros(bits);
    if (zeros > 11) { /* fewer than 53 bits left behind the zeros: take more */
        bits = bits << zeros | phl_rng_next(rng) >> (64 - zeros);
    } else {
        bits <<= zeros;
    }
    return ldexp((double)(bits >> 11), exponent - zeros);
}

uint64_t phl_rng_bounded(phl_rng *rng, uint64_t bound)
{
    /* Lemire (2019): the high word of word * bound is uniform once the few low words below
     * 2^64 mod bound are rejected. */
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

double phl_rng_exponential(phl_rng *rng)
{
    return -log1p(-phl_rng_uniform_fine(rng)); /* not -log(u): a small result keeps its digits */
}

double phl_rng_normal(phl_rng *rng)
{
    /* Ratio of uniforms with Leva's (1992) quadratic bounds: 1.37 pairs a draw, and a logarithm for
     * one pair in eighty. */
    for (;;) {
        double u = phl_rng_uniform(rng);
        double v = 1.7156 * (phl_rng_uniform(rng) - 0.5);
        double x = u - 0.449871;
        double y = fabs(v) + 0.386595;
        double q = x * x + y * (0.19600 * y - 0.25472 * x);
        if (q < 0.27597 || (q <= 0.27846 && v * v <= -4 * u * u * log(u))) {
            return v / u;
        }
    }
}
