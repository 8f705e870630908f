/* sha256.h - the SHA-256 digest (FIPS 180-4), for telling whether stored bytes are the ones
 * written. */
#ifndef PHL_BASE_SHA256_H
#define PHL_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PHL_SHA256_SIZE 32

typedef struct phl_sha256 {
    uint32_t state[8];
    uint64_t length;           /* bytes so far */
    unsigned char pending[64]; /* the last length % 64 of them */
    bool fast;                 /* by the processor's own instructions, where it has them */
} phl_sha256;

void phl_sha256_init(phl_sha256 *sha);
void phl_sha256_add(phl_sha256 *sha, const void *bytes, size_t length);

/* The digest of everything added.  The state is not touched: a running digest can be asked for and
 * then go on. */
void phl_sha256_finish(const phl_sha256 *sha, unsigned char digest[PHL_SHA256_SIZE]);

/* All at one go. */
void phl_sha256_bytes(const void *bytes, size_t length, unsigned char digest[PHL_SHA256_SIZE]);

#endif
