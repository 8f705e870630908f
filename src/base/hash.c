/* hash.c - hashing of byte strings; see hash.h. */
#include "base/hash.h"

uint64_t phl_hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
    const unsigned char *at = bytes;
    uint64_t hash = phl_hash_step(seed, length);
    uint64_t word;
    while (length >= 8) {
        memcpy(&word, at, 8);
        hash = phl_hash_step(hash, word);
        at += 8;
        length -= 8;
    }
    if (length > 0) {
        word = 0;
        memcpy(&word, at, length);
        hash = phl_hash_step(hash, word);
    }
    return hash;
}
