/* rng.c - Philox streams and the elementary distributions; see rng.h. */
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/clones.h"
#include "base/ziggurat.h"

void phl_rng_init(phl_rng *rng, uint64_t seed, uint64_t purpose, uint64_t stream,
                  uint64_t iteration, uint64_t item)
{
    rng->key[0] = seed;
    rng->key[1] = purpose;
    rng->counter[0] = stream;
    rng->counter[1] = iteration;
    rng->counter[2] = item;
    rng->counter[3] = 0;
    rng->used = PHL_RNG_ROOM;
    rng->blocks = 1;
}

/* ---- Philox -------------------------------------------------------------------------------- */

enum { ROUNDS = 10 };

/* One round: two words are multiplied to 128 bits, the halves change places. */
static inline void philox_round(uint64_t x[4], uint64_t key_0, uint64_t key_1)
{
    __extension__ typedef unsigned __int128 wide;
    wide first = (wide)x[0] * UINT64_C(0xD2E7470EE14C6C93);
    wide second = (wide)x[2] * UINT64_C(0xCA5A826395121157);
    x[0] = (uint64_t)(second >> 64) ^ x[1] ^ key_0;
    x[1] = (uint64_t)second;
    x[2] = (uint64_t)(first >> 64) ^ x[3] ^ key_1;
    x[3] = (uint64_t)first;
}

/* The keys of the rounds: steps of the golden ratio and of sqrt(3) - 1. */
static inline void philox_keys(const phl_rng *rng, uint64_t keys[2 * ROUNDS])
{
    for (int round = 0; round < ROUNDS; round++) {
        keys[2 * round] = rng->key[0] + (uint64_t)round * UINT64_C(0x9E3779B97F4A7C15);
        keys[2 * round + 1] = rng->key[1] + (uint64_t)round * UINT64_C(0xBB67AE8584CAA73B);
    }
}

/* Ten rounds, not as a loop: compilers leave it rolled. */
static inline void philox(uint64_t x[4], const uint64_t keys[2 * ROUNDS])
{
    philox_round(x, keys[0], keys[1]);
    philox_round(x, keys[2], keys[3]);
    philox_round(x, keys[4], keys[5]);
    philox_round(x, keys[6], keys[7]);
    philox_round(x, keys[8], keys[9]);
    philox_round(x, keys[10], keys[11]);
    philox_round(x, keys[12], keys[13]);
    philox_round(x, keys[14], keys[15]);
    philox_round(x, keys[16], keys[17]);
    philox_round(x, keys[18], keys[19]);
}

/* Successive blocks of a stream, from `counter` on. */
PHL_CLONES_MUL
static void philox_blocks(const uint64_t *restrict keys, const uint64_t *restrict counter,
                          size_t blocks, uint64_t *restrict words)
{
    for (size_t block = 0; block < blocks; block++) {
        uint64_t x[4] = {counter[0], counter[1], counter[2], counter[3] + block};
        philox(x, keys);
        for (size_t i = 0; i < 4; i++) {
            words[4 * block + i] = x[i];
        }
    }
}

void phl_rng_refill(phl_rng *rng)
{
    uint64_t keys[2 * ROUNDS];
    unsigned blocks = rng->blocks;
    philox_keys(rng, keys);
    rng->used = PHL_RNG_ROOM - 4 * blocks;
    philox_blocks(keys, rng->counter, blocks, rng->words + rng->used);
    rng->counter[3] += blocks;
    rng->blocks = PHL_RNG_ROOM / 4;
}

void phl_rng_words(phl_rng *rng, size_t count, uint64_t *words)
{
    for (; count > 0 && rng->used < PHL_RNG_ROOM; count--) {
        *words++ = rng->words[rng->used++];
    }
    size_t blocks = count / 4;
    if (blocks > 1) {
        uint64_t keys[2 * ROUNDS];
        philox_keys(rng, keys);
        philox_blocks(keys, rng->counter, blocks, words);
        rng->counter[3] += blocks;
        words += 4 * blocks;
        count -= 4 * blocks;
    }
    for (; count > 0; count--) {
        *words++ = phl_rng_next(rng);
    }
}

/* ---- Uniforms ------------------------------------------------------------------------------ */

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
    /* An endless binary fraction, cut 53 bits after its first one. */
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
    /* times 2^(exponent - zeros), at least 2^-1012 */
    uint64_t power = (uint64_t)(1023 + exponent - zeros) << 52;
    double scale;
    memcpy(&scale, &power, sizeof scale);
    return (double)(bits >> 11) * scale;
}

/* Words taken at a time by the functions for many draws. */
enum { CHUNK = 128 };

/* 1 + k 2^-52 for the k of the upper 52 bits, less 1 - 2^-53: exact. */
PHL_CLONES
static void uniform_chunk(const uint64_t *restrict words, size_t count, double *restrict values)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = words[i] >> 12 | UINT64_C(0x3ff0000000000000);
        double above_one;
        memcpy(&above_one, &bits, sizeof above_one);
        values[i] = above_one - (1 - 0x1p-53);
    }
}

void phl_rng_uniforms(phl_rng *rng, size_t count, double *values)
{
    uint64_t words[CHUNK];
    for (size_t now; count > 0; count -= now, values += now) {
        now = count < CHUNK ? count : CHUNK;
        phl_rng_words(rng, now, words);
        uniform_chunk(words, now, values);
    }
}

/* ---- Exponentials and normals -------------------------------------------------------------- */

/* A point under the density: a layer by the low 8 bits of a word, a place x in it by the upper
 * ones. A place left of where the layer above ends is under the density for sure, 98 times in 100;
 * otherwise a second uniform, the height, decides.  No bit is used twice (Doornik 2005). */

static inline double exponential_place(uint64_t word)
{
    return (double)(word >> 11) * 0x1p-53 * phl_exponential_layer[word & 255];
}

/* Places in the first 1/512 of a layer get more bits: here x may be near 0. */
static inline bool exponential_sure(uint64_t word, double x)
{
    return x < phl_exponential_layer[(word & 255) + 1] && word >= (uint64_t)1 << 55;
}

/* An exponential whose first word is `word`. */
static double exponential_from(phl_rng *rng, uint64_t word)
{
    double before = 0;
    for (;;) {
        size_t layer = word & 255;
        double x = exponential_place(word);
        if (word < (uint64_t)1 << 55) {
            x = ((double)(word >> 11) + phl_rng_uniform_fine(rng)) * 0x1p-53 *
                phl_exponential_layer[layer];
        }
        if (x < phl_exponential_layer[layer + 1]) {
            return before + x;
        }
        if (layer == 0) { /* past the end of layer 0 the law starts anew */
            before += phl_exponential_layer[1];
        } else {
            double low = exp(-phl_exponential_layer[layer]);
            double high = exp(-phl_exponential_layer[layer + 1]);
            if (low + phl_rng_uniform(rng) * (high - low) < exp(-x)) {
                return before + x;
            }
        }
        word = phl_rng_next(rng);
    }
}

double phl_rng_exponential(phl_rng *rng)
{
    uint64_t word = phl_rng_next(rng);
    double x = exponential_place(word);
    return exponential_sure(word, x) ? x : exponential_from(rng, word);
}

void phl_rng_exponentials(phl_rng *rng, size_t count, double *values)
{
    uint64_t words[CHUNK];
    for (size_t now; count > 0; count -= now, values += now) {
        now = count < CHUNK ? count : CHUNK;
        phl_rng_words(rng, now, words);
        for (size_t i = 0; i < now; i++) {
            double x = exponential_place(words[i]);
            values[i] = exponential_sure(words[i], x) ? x : exponential_from(rng, words[i]);
        }
    }
}

/* With its sign: the upper 54 bits as a number from -2^53 to 2^53 - 1. */
static inline double normal_place(uint64_t word)
{
    return (double)((int64_t)word >> 10) * 0x1p-53 * phl_normal_layer[word & 255];
}

static inline bool normal_sure(uint64_t word, double x)
{
    return fabs(x) < phl_normal_layer[(word & 255) + 1];
}

/* |x| given that it is beyond x_1 (Marsaglia 1964). */
static double normal_tail(phl_rng *rng)
{
    for (;;) {
        double past = phl_rng_exponential(rng) / phl_normal_layer[1];
        if (2 * phl_rng_exponential(rng) > past * past) {
            return phl_normal_layer[1] + past;
        }
    }
}

/* A normal whose first word is `word`. */
static double normal_from(phl_rng *rng, uint64_t word)
{
    for (;;) {
        size_t layer = word & 255;
        double x = normal_place(word);
        if (normal_sure(word, x)) {
            return x;
        }
        if (layer == 0) {
            return copysign(normal_tail(rng), x);
        }
        double wide = phl_normal_layer[layer];
        double narrow = phl_normal_layer[layer + 1];
        double low = exp(-0.5 * wide * wide);
        double high = exp(-0.5 * narrow * narrow);
        if (low + phl_rng_uniform(rng) * (high - low) < exp(-0.5 * x * x)) {
            return x;
        }
        word = phl_rng_next(rng);
    }
}

double phl_rng_normal(phl_rng *rng)
{
    uint64_t word = phl_rng_next(rng);
    double x = normal_place(word);
    return normal_sure(word, x) ? x : normal_from(rng, word);
}

void phl_rng_normals(phl_rng *rng, size_t count, double *values)
{
    uint64_t words[CHUNK];
    for (size_t now; count > 0; count -= now, values += now) {
        now = count < CHUNK ? count : CHUNK;
        phl_rng_words(rng, now, words);
        for (size_t i = 0; i < now; i++) {
            double x = normal_place(words[i]);
            values[i] = normal_sure(words[i], x) ? x : normal_from(rng, words[i]);
        }
    }
}
