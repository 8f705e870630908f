/* fourier.c - the discrete Fourier transform; see fourier.h.
 *
 * The textbook loop: reverse the bits of the positions, then join transforms of length 1, 2, 4, ...
 * two by two.  Every cosine is computed, none by recurrence: errors stay at a few ulp.
 */
#include "base/fourier.h"

#include <math.h>

#include "base/memory.h"

phl_status phl_fourier_init(phl_fourier *fourier, size_t least, phl_error *error)
{
    size_t n = 2;
    while (n < least && n <= SIZE_MAX / 2) {
        n *= 2;
    }
    fourier->n = n;
    fourier->cosine = phl_alloc(n / 2, sizeof *fourier->cosine, error);
    fourier->sine = phl_alloc(n / 2, sizeof *fourier->sine, error);
    if (fourier->cosine == NULL || fourier->sine == NULL) {
        phl_fourier_clear(fourier);
        return PHL_ERR_MEMORY;
    }
    for (size_t k = 0; k < n / 2; k++) {
        double angle = 2.0 * acos(-1.0) * ((double)k / (double)n);
        fourier->cosine[k] = cos(angle);
        fourier->sine[k] = sin(angle);
    }
    return PHL_OK;
}

void phl_fourier_clear(phl_fourier *fourier)
{
    phl_free(fourier->cosine);
    phl_free(fourier->sine);
    *fourier = (phl_fourier){0};
}

static void swap(double *values, size_t i, size_t j)
{
    double value = values[i];
    values[i] = values[j];
    values[j] = value;
}

static void reverse_bits(size_t n, double *real, double *imaginary)
{
    size_t reversed = 0;
    for (size_t i = 1; i < n; i++) {
        size_t bit = n / 2; /* add 1 to the reversed number: carry to the right */
        for (; reversed & bit; bit /= 2) {
            reversed ^= bit;
        }
        reversed ^= bit;
        if (i < reversed) {
            swap(real, i, reversed);
            swap(imaginary, i, reversed);
        }
    }
}

void phl_fourier_transform(const phl_fourier *fourier, double *real, double *imaginary)
{
    size_t n = fourier->n;
    reverse_bits(n, real, imaginary);
    for (size_t half = 1; half < n; half *= 2) {
        size_t step = n / 2 / half; /* in the tables */
        for (size_t start = 0; start < n; start += 2 * half) {
            for (size_t k = 0; k < half; k++) {
                size_t a = start + k, b = a + half;
                double c = fourier->cosine[k * step], s = fourier->sine[k * step];
                double re = c * real[b] + s * imaginary[b];
                double im = c * imaginary[b] - s * real[b];
                real[b] = real[a] - re;
                imaginary[b] = imaginary[a] - im;
                real[a] += re;
                imaginary[a] += im;
            }
        }
    }
}
