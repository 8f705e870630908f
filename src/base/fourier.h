/* fourier.h - the discrete Fourier transform of a power of two of complex numbers. */
#ifndef PHL_BASE_FOURIER_H
#define PHL_BASE_FOURIER_H

#include "base/error.h"

/* Tables for one length.  Zero-initialised is empty; phl_fourier_clear releases. */
typedef struct phl_fourier {
    size_t n;              /* a power of two, at least 2 */
    double *cosine, *sine; /* [n / 2] of 2 pi k / n */
} phl_fourier;

/* `n` is the least power of two that is at least `least`. */
phl_status phl_fourier_init(phl_fourier *fourier, size_t least, phl_error *error);
void phl_fourier_clear(phl_fourier *fourier);

/* In place, sum over t of x_t exp(-2 pi i k t / n) into k = 0 .. n-1; real and imaginary parts
 * [n] each.  The inverse is the same with the two arrays exchanged, divided by n. */
void phl_fourier_transform(const phl_fourier *fourier, double *real, double *imaginary);

#endif
