/* convergence.c - R-hat, effective sample sizes, standard errors of chains; see convergence.h.
 *
 * Contents: normal quantiles, sorting and ranks, halves, R-hat, effective sample size, all of
 * it.
 *
 * Function names of `posterior` stand where their conventions are followed.
 */
#include "train/convergence.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/fourier.h"
#include "base/memory.h"

/* ---- normal quantiles ---- */

/* (c0 + c1 x + ... + c7 x^7) */
static double polynomial(const double c[8], double x)
{
    double sum = c[7];
    for (int i = 6; i >= 0; i--) {
        sum = sum * x + c[i];
    }
    return sum;
}

/* M. J. Wichura, algorithm AS 241 (PPND16), Applied Statistics 37 (1988): relative error about
 * 1e-16.  Three ratios of polynomials: for the middle, for the tails, and for the far tails. */
double phl_convergence_normal_quantile(double p)
{
    static const double middle[2][8] = {
        {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
         45921.953931549871457, 67265.770927008700853, 33430.575583588128105,
         2509.0809287301226727},
        {1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
         21213.794301586595867, 39307.895800092710610, 28729.085735721942674,
         5226.4952788528545610}};
    static const double tail[2][8] = {
        {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
         3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
         0.0227238449892691845833, 7.74545014278341407640e-4},
        {1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
         0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4,
         1.05075007164441684324e-9}};
    static const double far[2][8] = {
        {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
         0.296560571828504891230, 0.0265321895265761230930, 0.00124266094738807843860,
         2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
         2.04426310338993978564e-15}};
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q; /* 0.425^2 - q^2 */
        return q * polynomial(middle[0], r) / polynomial(middle[1], r);
    }
    double r = sqrt(-log(q < 0.0 ? p : 0.5 - p + 0.5));
    double x = r <= 5.0 ? polynomial(tail[0], r - 1.6) / polynomial(tail[1], r - 1.6)
                        : polynomial(far[0], r - 5.0) / polynomial(far[1], r - 5.0);
    return q < 0.0 ? -x : x;
}

/* ---- sorting and ranks ---- */

typedef struct placed {
    double value;
    size_t place;
} placed;

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_placed(const void *a, const void *b)
{
    return compare_values(&((const placed *)a)->value, &((const placed *)b)->value);
}

void phl_convergence_sort(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_values);
}

double phl_convergence_quantile(const double *sorted, size_t n, double p)
{
    double at = (double)(n - 1) * p;
    size_t low = (size_t)floor(at), high = low + 1 < n ? low + 1 : low;
    double share = at - (double)low;
    return share > 0.0 && sorted[high] != sorted[low]
               ? (1.0 - share) * sorted[low] + share * sorted[high]
               : sorted[low];
}

/* The mean of two in a wider format and rounded once, as R does it: whether the two stay at the
 * same distance from it makes a tie or not. */
static double median_sorted(const double *sorted, size_t n)
{
    double low = sorted[(n - 1) / 2], high = sorted[n / 2];
    return low == high ? low : (double)(((long double)low + (long double)high) / 2.0L);
}

/* z_scale(): every value by the normal quantile of its rank, ties sharing their mean rank. */
static void rank_normalise(double *values, size_t n, placed *room)
{
    for (size_t i = 0; i < n; i++) {
        room[i] = (placed){values[i], i};
    }
    qsort(room, n, sizeof *room, compare_placed);
    for (size_t first = 0, last; first < n; first = last + 1) {
        for (last = first; last + 1 < n && room[last + 1].value == room[first].value;) {
            last++;
        }
        double rank = 1.0 + (double)(first + last) / 2.0;
        double z = phl_convergence_normal_quantile((rank - 0.375) / ((double)n - 0.75 + 1.0));
        for (size_t i = first; i <= last; i++) {
            values[room[i].place] = z;
        }
    }
}

/* ---- halves ---- */

/* Chains cut in halves: [chains][n]. */
typedef struct halves {
    size_t chains, n;
    double *values;
} halves;

/* .split_chains(): of an odd number of draws the middle one is left out. */
static void halve(const double *draws, size_t chains, size_t n, halves *into)
{
    size_t half = n / 2;
    into->chains = 2 * chains;
    into->n = half;
    for (size_t c = 0; c < chains; c++) {
        const double *chain = draws + c * n;
        for (size_t i = 0; i < half; i++) {
            into->values[2 * c * half + i] = chain[i];
            into->values[(2 * c + 1) * half + i] = chain[n - half + i];
        }
    }
}

/* is_constant(), with its tolerance. */
static bool is_constant(const double *values, size_t n)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    return high - low < DBL_EPSILON;
}

/* Mean and variance with divisor n - 1; a constant gives exactly itself and 0. */
static double variance(const double *values, size_t n, double *mean)
{
    double sum = 0.0, rest = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i] - values[0];
    }
    *mean = values[0] + sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double off = values[i] - *mean;
        rest += off;
        squares += off * off;
    }
    return (squares - rest * rest / (double)n) / (double)(n - 1);
}

/* ---- R-hat ---- */

/* .rhat() of chains that are halved and normalised already; `means` has room for one per chain. */
static double rhat_of_halves(const halves *h, double *means)
{
    if (h->n < 2 || is_constant(h->values, h->chains * h->n)) {
        return (double)NAN;
    }
    double within = 0.0, n = (double)h->n, mean;
    for (size_t c = 0; c < h->chains; c++) {
        within += variance(h->values + c * h->n, h->n, &means[c]);
    }
    within /= (double)h->chains;
    double between = n * variance(means, h->chains, &mean);
    return sqrt((between / within + n - 1.0) / n);
}

/* ---- effective sample size ---- */

/* Room for one quantity. */
typedef struct workspace {
    phl_fourier fourier;
    halves halves;
    placed *placed;                   /* [draws] */
    double *sorted, *folded;          /* [draws] */
    double *means;                    /* [2 chains] */
    double *real, *imaginary, *power; /* [fourier.n] */
} workspace;

/* Autocovariances of the halves, averaged over them, into w->real [n]; divisor n for every lag. Two
 * chains at a time as one of complex numbers: the real part of its autocovariance is the sum of
 * theirs.  Padding with zeros to 2 n keeps the ends from meeting. */
static void mean_autocovariances(workspace *w)
{
    const halves *h = &w->halves;
    size_t length = w->fourier.n;
    for (size_t k = 0; k < length; k++) {
        w->power[k] = 0.0;
    }
    for (size_t c = 0; c < h->chains; c += 2) { /* halves come in pairs */
        const double *first = h->values + c * h->n, *second = first + h->n;
        for (size_t i = 0; i < length; i++) {
            w->real[i] = i < h->n ? first[i] - w->means[c] : 0.0;
            w->imaginary[i] = i < h->n ? second[i] - w->means[c + 1] : 0.0;
        }
        phl_fourier_transform(&w->fourier, w->real, w->imaginary);
        for (size_t k = 0; k < length; k++) {
            w->power[k] += w->real[k] * w->real[k] + w->imaginary[k] * w->imaginary[k];
        }
    }
    for (size_t k = 0; k < length; k++) {
        w->real[k] = w->power[k];
        w->imaginary[k] = 0.0;
    }
    phl_fourier_transform(&w->fourier, w->real, w->imaginary);
    double scale = 1.0 / ((double)length * (double)h->n * (double)h->chains);
    for (size_t i = 0; i < h->n; i++) {
        w->real[i] *= scale;
    }
}

/* The sum of Geyer's initial monotone sequence, from autocorrelations rho [n]: posterior's loops.
 * Pairs (even, odd lag) are added while they are positive, each at most the one before. */
static double autocorrelation_time(const double *covariance, size_t n, double mean_variance,
                                   double total_variance, double *rho)
{
    for (size_t i = 0; i < n; i++) {
        rho[i] = 0.0;
    }
    size_t t = 0;
    double even = 1.0, odd = 1.0 - (mean_variance - covariance[1]) / total_variance;
    rho[0] = even;
    rho[1] = odd;
    while (t + 5 < n && even + odd > 0.0) {
        t += 2;
        even = 1.0 - (mean_variance - covariance[t]) / total_variance;
        odd = 1.0 - (mean_variance - covariance[t + 1]) / total_variance;
        if (even + odd >= 0.0) {
            rho[t] = even;
            rho[t + 1] = odd;
        }
    }
    size_t last = t;
    if (even > 0.0) {
        rho[last] = even;
    }
    for (t = 2; t + 2 <= last; t += 2) {
        if (rho[t] + rho[t + 1] > rho[t - 2] + rho[t - 1]) {
            rho[t] = rho[t + 1] = (rho[t - 2] + rho[t - 1]) / 2.0;
        }
    }
    /* With last = 0 (five draws or fewer) posterior's rho[1:0] is the first element, not none. */
    double sum = last == 0 ? rho[0] : 0.0;
    for (size_t i = 0; i < last; i++) {
        sum += rho[i];
    }
    return -1.0 + 2.0 * sum + rho[last];
}

/* .ess() of w->halves. */
static double ess_of_halves(workspace *w)
{
    const halves *h = &w->halves;
    if (h->n < 3 || is_constant(h->values, h->chains * h->n)) {
        return (double)NAN;
    }
    double n = (double)h->n, draws = (double)h->chains * n, mean;
    for (size_t c = 0; c < h->chains; c++) {
        variance(h->values + c * h->n, h->n, &w->means[c]);
    }
    mean_autocovariances(w);
    double mean_variance = w->real[0] * n / (n - 1.0);
    double total = w->real[0] + variance(w->means, h->chains, &mean);
    double time = autocorrelation_time(w->real, h->n, mean_variance, total, w->power);
    double least = 1.0 / log10(draws);
    return draws / (time > least ? time : least);
}

/* .ess_quantile(): of the indicator of being at most the quantile. */
static double quantile_ess(const double *draws, size_t chains, size_t n, double p, workspace *w)
{
    if (is_constant(draws, chains * n)) {
        return (double)NAN;
    }
    double quantile = phl_convergence_quantile(w->sorted, chains * n, p);
    halve(draws, chains, n, &w->halves);
    for (size_t i = 0; i < w->halves.chains * w->halves.n; i++) {
        w->halves.values[i] = w->halves.values[i] <= quantile ? 1.0 : 0.0;
    }
    return ess_of_halves(w);
}

/* ---- all of it ---- */

/* The larger or smaller of two, NaN if one is. */
static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
}

static double smaller(double a, double b)
{
    return -larger(-a, -b);
}

static void workspace_clear(workspace *w)
{
    phl_fourier_clear(&w->fourier);
    phl_free(w->halves.values);
    phl_free(w->placed);
    phl_free(w->sorted);
    phl_free(w->folded);
    phl_free(w->means);
    phl_free(w->real);
    phl_free(w->imaginary);
    phl_free(w->power);
}

static phl_status workspace_init(workspace *w, size_t chains, size_t n, phl_error *error)
{
    size_t draws = chains * n;
    phl_status status = phl_fourier_init(&w->fourier, n, error); /* twice a half */
    if (status != PHL_OK) {
        return status;
    }
    w->halves.values = phl_alloc(draws, sizeof *w->halves.values, error);
    w->placed = phl_alloc(draws, sizeof *w->placed, error);
    w->sorted = phl_alloc(draws, sizeof *w->sorted, error);
    w->folded = phl_alloc(draws, sizeof *w->folded, error);
    w->means = phl_alloc(2 * chains, sizeof *w->means, error);
    w->real = phl_alloc(w->fourier.n, sizeof *w->real, error);
    w->imaginary = phl_alloc(w->fourier.n, sizeof *w->imaginary, error);
    w->power = phl_alloc(w->fourier.n, sizeof *w->power, error);
    return w->halves.values == NULL || w->placed == NULL || w->sorted == NULL ||
                   w->folded == NULL || w->means == NULL || w->real == NULL ||
                   w->imaginary == NULL || w->power == NULL
               ? PHL_ERR_MEMORY
               : PHL_OK;
}

static void measure(const double *draws, size_t chains, size_t n, workspace *w,
                    phl_convergence *made)
{
    size_t count = chains * n;
    for (size_t i = 0; i < count; i++) {
        w->sorted[i] = draws[i];
    }
    phl_convergence_sort(w->sorted, count);
    double median = median_sorted(w->sorted, count);
    for (size_t i = 0; i < count; i++) {
        w->folded[i] = fabs(draws[i] - median);
    }
    halve(w->folded, chains, n, &w->halves);
    size_t kept = w->halves.chains * w->halves.n;
    rank_normalise(w->halves.values, kept, w->placed);
    made->rhat_folded = rhat_of_halves(&w->halves, w->means);
    halve(draws, chains, n, &w->halves);
    rank_normalise(w->halves.values, kept, w->placed);
    made->rhat_rank = rhat_of_halves(&w->halves, w->means);
    made->rhat = larger(made->rhat_rank, made->rhat_folded);
    made->ess_bulk = ess_of_halves(w);
    made->ess_tail =
        smaller(quantile_ess(draws, chains, n, 0.05, w), quantile_ess(draws, chains, n, 0.95, w));
    halve(draws, chains, n, &w->halves);
    made->ess_mean = ess_of_halves(w);
    made->mcse_mean = made->sd / sqrt(made->ess_mean);
}

phl_status phl_convergence_measure(const double *draws, size_t chains, size_t n,
                                   phl_convergence *convergence, phl_error *error)
{
    const double none = (double)NAN;
    phl_convergence made = {true, true, false, none, none, none,
                            none, none, none,  none, none, none};
    size_t count = chains * n;
    bool each = true; /* is each chain constant? */
    for (size_t i = 0; i < count; i++) {
        made.finite = made.finite && isfinite(draws[i]);
        made.constant = made.constant && draws[i] == draws[0];
        each = each && draws[i] == draws[i - i % n];
    }
    made.constant = made.constant && count > 0;
    made.stuck = each && !made.constant && n > 1;
    if (made.finite && count > 0) {
        made.sd = sqrt(variance(draws, count, &made.mean));
    }
    if (!made.finite || made.constant || n < 2) {
        *convergence = made;
        return PHL_OK;
    }
    workspace w = {0};
    phl_status status = workspace_init(&w, chains, n, error);
    if (status == PHL_OK) {
        measure(draws, chains, n, &w, &made);
        *convergence = made;
    }
    workspace_clear(&w);
    return status;
}
