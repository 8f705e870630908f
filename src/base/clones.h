/* clones.h - one loop, compiled for several instruction sets.
 *
 * PHL_CLONES before the definition of a function (not its declaration in a header, not an inline
 * function) makes the compiler build it for AVX-512, AVX2 and the plain machine; the loader picks
 * one.  It is meant for a function that is a loop over many numbers, which the compiler can turn
 * into vector instructions.  Functions called in the loop must be `static inline` in the same file.
 *
 * PHL_CLONES_MUL does the same for loops of 128-bit products, which BMI2 helps.
 *
 * Results must have the same bits in every clone.  They have, as long as
 * - every element is computed on its own (a sum over elements runs in an order that the code spells
 *   out, as in phl_sum_chunk: compilers do not reorder sums without -ffast-math);
 * - products and sums are not fused (-ffp-contract=off, set in meson.build);
 * - the only calls are to functions with one correct result: sqrt, fabs, floor, fma.
 *
 * The macro is empty where loaders cannot choose: other machines, other C libraries, clang (which
 * learnt it late), and sanitizers, whose instrumentation would run before they are set up.
 */
#ifndef PHL_BASE_CLONES_H
#define PHL_BASE_CLONES_H

#include <stdint.h> /* for __GLIBC__ */

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__ELF__) &&         \
    defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&       \
    !defined(PHL_NO_CLONES)
#define PHL_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define PHL_CLONES_MUL __attribute__((target_clones("bmi2", "default")))
#else
#define PHL_CLONES
#define PHL_CLONES_MUL
#endif

#endif
