/* sha256.c - the SHA-256 digest; see sha256.h.  Names as in FIPS 180-4, section 6.2. */
#include "base/sha256.h"

#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define HAVE_SHA_INSTRUCTIONS 1
#endif

enum { BLOCK = 64 };

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t load_big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void store_big_endian(uint32_t word, unsigned char *bytes)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)(word >> (24 - 8 * i));
    }
}

static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    for (int t = 0; t < 16; t++) {
        w[t] = load_big_endian(block + 4 * t);
    }
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
        uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

static void compress_plain(uint32_t state[8], const unsigned char *bytes, size_t blocks)
{
    for (; blocks > 0; blocks--, bytes += BLOCK) {
        compress(state, bytes);
    }
}

#ifdef HAVE_SHA_INSTRUCTIONS

/* The compiler's runtime asks the processor once; asking takes microseconds in a virtual machine.
 * clang learnt the name late. */
static bool has_sha_instructions(void)
{
#if !defined(__clang__) && __GNUC__ >= 11
    return __builtin_cpu_supports("sha") && __builtin_cpu_supports("sse4.1");
#else
    unsigned a, b, c, d;
    bool vectors = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSSE3) && (c & bit_SSE4_1);
    return vectors && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA);
#endif
}

/* The same by the processor's own instructions, which do two rounds and keep the state as the words
 * (f e b a) and (h g d c), highest first. */
__attribute__((target("sha,sse4.1"))) static void
compress_fast(uint32_t state[8], const unsigned char *bytes, size_t blocks)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
    for (; blocks > 0; blocks--, bytes += BLOCK) {
        __m128i before_abef = abef, before_cdgh = cdgh, w[4];
        for (int t = 0; t < 16; t++) { /* four words and four rounds per step */
            if (t < 4) {
                __m128i loaded = _mm_loadu_si128((const __m128i *)(bytes + 16 * t));
                w[t] = _mm_shuffle_epi8(loaded, swap);
            } else {
                __m128i last = w[(t + 3) % 4];
                __m128i seven = _mm_alignr_epi8(last, w[(t + 2) % 4], 4);
                __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[t % 4], w[(t + 1) % 4]), seven);
                w[t % 4] = _mm_sha256msg2_epu32(sum, last);
            }
            __m128i k = _mm_loadu_si128((const __m128i *)(round_constants + 4 * t));
            __m128i sum = _mm_add_epi32(w[t % 4], k);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, before_abef);
        cdgh = _mm_add_epi32(cdgh, before_cdgh);
    }
    low = _mm_shuffle_epi32(abef, 0x1b);
    high = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

#else

static bool has_sha_instructions(void)
{
    return false;
}

static void compress_fast(uint32_t state[8], const unsigned char *bytes, size_t blocks)
{
    compress_plain(state, bytes, blocks);
}

#endif

static void compress_blocks(phl_sha256 *sha, const unsigned char *bytes, size_t blocks)
{
    if (sha->fast) {
        compress_fast(sha->state, bytes, blocks);
    } else {
        compress_plain(sha->state, bytes, blocks);
    }
}

void phl_sha256_init(phl_sha256 *sha)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(sha, 0, sizeof *sha);
    memcpy(sha->state, start, sizeof start);
    sha->fast = has_sha_instructions();
}

void phl_sha256_add(phl_sha256 *sha, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    size_t used = sha->length % BLOCK;
    sha->length += length;
    if (used > 0) {
        size_t part = length < BLOCK - used ? length : BLOCK - used;
        if (part > 0) {
            memcpy(sha->pending + used, from, part);
        }
        if (used + part < BLOCK) {
            return;
        }
        compress_blocks(sha, sha->pending, 1);
        from += part;
        length -= part;
    }
    if (length >= BLOCK) {
        compress_blocks(sha, from, length / BLOCK);
        from += length / BLOCK * BLOCK;
        length %= BLOCK;
    }
    if (length > 0) {
        memcpy(sha->pending, from, length);
    }
}

void phl_sha256_finish(const phl_sha256 *sha, unsigned char digest[PHL_SHA256_SIZE])
{
    phl_sha256 end = *sha;
    unsigned char padding[BLOCK + 8] = {0x80};
    size_t used = sha->length % BLOCK;
    size_t zeros = (used < BLOCK - 8 ? BLOCK - 8 : 2 * BLOCK - 8) - used; /* the 0x80 included */
    uint64_t bits = sha->length * 8;
    store_big_endian((uint32_t)(bits >> 32), padding + zeros);
    store_big_endian((uint32_t)bits, padding + zeros + 4);
    phl_sha256_add(&end, padding, zeros + 8);
    for (int i = 0; i < 8; i++) {
        store_big_endian(end.state[i], digest + 4 * i);
    }
}

void phl_sha256_bytes(const void *bytes, size_t length, unsigned char digest[PHL_SHA256_SIZE])
{
    phl_sha256 sha;
    phl_sha256_init(&sha);
    phl_sha256_add(&sha, bytes, length);
    phl_sha256_finish(&sha, digest);
}
