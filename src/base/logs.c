/* logs.c - logarithms and exponentials of many numbers at once; see logs.h.
 *
 * Both functions copy their arguments to a short array of whole vectors, which makes in-place calls
 * safe and leaves no odd end to the loops.
 */
#include "base/logs.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/clones.h"

/* Numbers copied at a time, and the multiple that arrays are filled up to: an AVX-512 vector. */
enum { CHUNK = 256, VECTOR = 8 };

/* Below this many numbers, one by one is faster (measured). */
enum { FEW = 8 };

/* log 2 in two parts.  The first has 11 zero bits at its end: its product with an exponent is
 * exact. */
#define LOG2_HIGH 0x1.62e42fefa3800p-1
#define LOG2_LOW 0x1.ef35793c76730p-45

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- Logarithms ---------------------------------------------------------------------------- */

#define LEAST_NORMAL UINT64_C(0x0010000000000000)
#define LARGEST_FINITE UINT64_C(0x7fefffffffffffff)

/* The highest bit is set unless x is positive, normal and finite. */
static inline uint64_t log_is_odd(double x)
{
    uint64_t bits = bits_of(x);
    return (bits - LEAST_NORMAL) | (LARGEST_FINITE - bits);
}

/* log x of a positive normal number.
 *
 * x = 2^k m with sqrt(1/2) <= m < sqrt(2).  With f = m - 1 and s = f / (2 + f),
 *     log m = log (1 + s) / (1 - s) = 2 s + s R(s^2),  R(z) = 2/3 z + 2/5 z^2 + 2/7 z^3 + ...
 * and because 2 s = f - s f, also f - f^2/2 + s (f^2/2 + R), where rounding errors of s and R touch
 * only the small last term.  R(z) / z is the polynomial with the smallest error on |s| < 0.1716,
 * 2^-57.6. */
static inline double log_normal(double x)
{
    const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd);
    const uint64_t one = UINT64_C(0x3ff0000000000000);
    uint64_t shifted = bits_of(x) + (one - root_half); /* the exponent changes at sqrt(1/2) 2^k */
    /* k as a double: its biased form put after the point of 2^52 */
    double k = double_of(shifted >> 52 | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    double f = double_of((shifted & UINT64_C(0x000fffffffffffff)) + root_half) - 1;
    double s = f / (2 + f);
    double z = s * s;
    double w = z * z;
    double even = 0x1.9999999984780p-2 + w * (0x1.c71c52b7fdc4ap-3 + w * 0x1.399d01539c080p-3);
    double odd = 0x1.555555555557cp-1 +
                 w * (0x1.2492493fb46a2p-2 + w * (0x1.74664951cdb3ep-3 + w * 0x1.2f529a6cd369dp-3));
    double half_square = 0.5 * f * f;
    double last = s * (half_square + (z * odd + w * even));
    return k * LOG2_HIGH - ((half_square - (last + k * LOG2_LOW)) - f);
}

/* Logarithms of `count` numbers, a multiple of VECTOR, as if all were normal; the highest bit of
 * the result tells that some are not. */
PHL_CLONES
static uint64_t log_chunk(const double *restrict x, size_t count, double *restrict out)
{
    uint64_t odd = 0;
    count -= count % VECTOR;
    for (size_t i = 0; i < count; i++) {
        odd |= log_is_odd(x[i]);
        out[i] = log_normal(x[i]);
    }
    return odd;
}

/* The next numbers of x, filled up with ones to a multiple of VECTOR; returns that multiple. */
static size_t take_chunk(const double *x, size_t count, double *chunk)
{
    memcpy(chunk, x, count * sizeof *x);
    size_t end = (count + VECTOR - 1) / VECTOR * VECTOR;
    for (size_t i = count; i < end; i++) {
        chunk[i] = 1;
    }
    return end;
}

void phl_logs(const double *x, size_t count, double *out)
{
    if (count < FEW) {
        for (size_t i = 0; i < count; i++) {
            out[i] = log_is_odd(x[i]) >> 63 ? log(x[i]) : log_normal(x[i]);
        }
        return;
    }
    _Alignas(64) double from[CHUNK];
    _Alignas(64) double to[CHUNK];
    while (count > 0) {
        size_t now = count < CHUNK ? count : CHUNK;
        uint64_t odd = log_chunk(from, take_chunk(x, now, from), to);
        if (odd >> 63) {
            for (size_t i = 0; i < now; i++) {
                to[i] = log_is_odd(from[i]) >> 63 ? log(from[i]) : to[i];
            }
        }
        memcpy(out, to, now * sizeof *out);
        x += now;
        out += now;
        count -= now;
    }
}

/* ---- Exponentials -------------------------------------------------------------------------- */

/* e^x = 2^k e^r with x = k log 2 + r, |r| <= log(2) / 2, and e^r = 1 + r + r^2 p(r), p the
 * polynomial with the smallest error, 2^-56.  x from -750, where the result is 0, to 710, +inf. */
static inline double exp_clamped(double x)
{
    const double shifter = 0x1.8p52; /* adding it rounds to an integer, kept in the last bits */
    double k = (x * 0x1.71547652b82fep+0 + shifter) - shifter;
    double r = (x - k * LOG2_HIGH) - k * LOG2_LOW;
    double s = r * r;
    double q = s * s;
    double low = (0x1.0000000000001p-1 + r * 0x1.5555555555558p-3) +
                 s * (0x1.5555555553d62p-5 + r * 0x1.111111110f803p-7);
    double high = (0x1.6c16c1788c0b6p-10 + r * 0x1.a01a01b00c602p-13) +
                  s * (0x1.a019b90c837fdp-16 + r * 0x1.71ddf6b37121cp-19);
    double top = 0x1.2891860f119d7p-22 + r * 0x1.af632bae1c31ep-26;
    double value = 1 + (r + s * (low + q * (high + q * top)));
    /* 2^k in two factors, since k reaches beyond the exponents of normal numbers at both ends. */
    double first = k * 0.5 + shifter;
    double second = (k - (first - shifter)) + shifter;
    const uint64_t one = UINT64_C(0x3ff0000000000000);
    return value * double_of((bits_of(first) << 52) + one) *
           double_of((bits_of(second) << 52) + one);
}

static inline double clamp(double x)
{
    double at_least = x < -750 ? -750 : x;
    return at_least > 710 ? 710 : at_least;
}

/* In place; two loops, since compilers give up on clamps in the longer one. */
PHL_CLONES
static void exp_chunk(double *values, size_t count)
{
    count -= count % VECTOR;
    for (size_t i = 0; i < count; i++) {
        values[i] = clamp(values[i]);
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = exp_clamped(values[i]);
    }
}

void phl_exps(const double *x, size_t count, double *out)
{
    if (count < FEW) {
        for (size_t i = 0; i < count; i++) {
            out[i] = exp_clamped(clamp(x[i]));
        }
        return;
    }
    _Alignas(64) double chunk[CHUNK];
    while (count > 0) {
        size_t now = count < CHUNK ? count : CHUNK;
        exp_chunk(chunk, take_chunk(x, now, chunk));
        memcpy(out, chunk, now * sizeof *out);
        x += now;
        out += now;
        count -= now;
    }
}
