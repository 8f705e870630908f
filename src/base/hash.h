/* hash.h - 64-bit mixing for hash tables and fingerprints.  Fast, well spread, not for security. */
#ifndef PHL_BASE_HASH_H
#define PHL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Folded 64 x 64 -> 128 bit product: every input bit reaches every output bit. */
static inline uint64_t phl_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Fold one more word into a running hash. */
static inline uint64_t phl_hash_step(uint64_t hash, uint64_t word)
{
    return phl_mix(hash ^ 0x9e3779b97f4a7c15u, word ^ 0xd6e8feb86659fd93u);
}

/* Of bytes; seed picks one of many independent functions. */
uint64_t phl_hash_bytes(const void *bytes, size_t length, uint64_t seed);

#endif
