/* numeric.c - sums, log-space arithmetic, special functions; see numeric.h. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1 /* lgamma_r */
#endif
#include "base/numeric.h"

#include <string.h>

#include "base/clones.h"
#include "base/logs.h"
#include "base/memory.h"

/* ---- Sums ---------------------------------------------------------------------------------- */

double phl_sum_chunk(const double *values, size_t count)
{
    double lane[4] = {0, 0, 0, 0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        lane[0] += values[i];
        lane[1] += values[i + 1];
        lane[2] += values[i + 2];
        lane[3] += values[i + 3];
    }
    for (size_t l = 0; i < count; i++, l++) {
        lane[l] += values[i];
    }
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

double phl_sum(const double *values, size_t count)
{
    double sum = 0;
    for (size_t begin = 0; begin < count; begin += PHL_CHUNK_SIZE) {
        size_t left = count - begin;
        sum += phl_sum_chunk(values + begin, left < PHL_CHUNK_SIZE ? left : PHL_CHUNK_SIZE);
    }
    return sum;
}

double phl_sum_partials(const double *partials, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += partials[i];
    }
    return sum;
}

/* ---- Log-space arithmetic ------------------------------------------------------------------ */

double phl_log_add(double a, double b)
{
    double high = a > b ? a : b;
    double low = a > b ? b : a;
    if (isinf(high)) { /* both -inf, or one +inf: the sum is the larger one */
        return high;
    }
    return high + log1p(exp(low - high));
}

double phl_log_complement(double a)
{
    /* Maechler's rule: the two forms change over at log 2. */
    return a > -0.69314718055994530942 ? log(-expm1(a)) : log1p(-exp(a));
}

static double highest_of(const double *values, size_t count)
{
    double lane[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        lane[i % 4] = values[i] > lane[i % 4] ? values[i] : lane[i % 4];
    }
    double first = lane[0] > lane[1] ? lane[0] : lane[1];
    double second = lane[2] > lane[3] ? lane[2] : lane[3];
    return first > second ? first : second;
}

/* The sum of e^(values - highest). */
static double sum_of_exps(const double *values, size_t count, double highest)
{
    enum { CHUNK = 64, FEW = 8 };
    double sum = 0;
    if (count < FEW) {
        for (size_t i = 0; i < count; i++) {
            sum += exp(values[i] - highest);
        }
        return sum;
    }
    for (size_t begin = 0; begin < count; begin += CHUNK) {
        double terms[CHUNK];
        size_t now = count - begin < CHUNK ? count - begin : CHUNK;
        for (size_t i = 0; i < now; i++) {
            terms[i] = values[begin + i] - highest;
        }
        phl_exps(terms, now, terms);
        sum += phl_sum_chunk(terms, now);
    }
    return sum;
}

double phl_log_sum(const double *values, size_t count)
{
    double highest = highest_of(values, count);
    return isinf(highest) ? highest : highest + log(sum_of_exps(values, count, highest));
}

double phl_log_normalise(double *values, size_t count)
{
    double highest = highest_of(values, count);
    if (isinf(highest)) {
        return highest;
    }
    /* In two steps: near -1e8 the sum highest + log_sum would be rounded to 1e-8. */
    double log_sum = log(sum_of_exps(values, count, highest));
    for (size_t i = 0; i < count; i++) {
        values[i] = (values[i] - highest) - log_sum;
    }
    return highest + log_sum;
}

double phl_log1p_minus(double x)
{
    if (x < -0.2 || x > 0.25) {
        return log1p(x) - x;
    }
    /* With r = x / (2 + x): log(1 + x) = 2 (r + r^3/3 + r^5/5 + ...) and 2 r - x = -x r.
     * |r| <= 1/9 here, so r^22 is below 1e-20. */
    double r = x / (2 + x);
    double s = r * r;
    static const double inverse_odd[10] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                           1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    double series = inverse_odd[9];
    for (int i = 8; i >= 0; i--) {
        series = series * s + inverse_odd[i];
    }
    return r * (2 * s * series - x);
}

/* ---- Gamma and beta functions -------------------------------------------------------------- */

double phl_log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

#define HALF_LOG_2_PI 0.91893853320467274178

/* log Gamma(x) - [(x - 1/2) log x - x + log(2 pi) / 2] for x >= 10, absolute error below 1e-16. */
static double stirling_series(double x)
{
    double y = 1 / x;
    double s = y * y;
    return y *
           (1.0 / 12 +
            s * (-1.0 / 360 +
                 s * (1.0 / 1260 + s * (-1.0 / 1680 + s * (1.0 / 1188 + s * (-691.0 / 360360 +
                                                                             s * (1.0 / 156)))))));
}

double phl_stirling_rest(double k)
{
    static const double small[10] = {
        0.08106146679532725822,   0.041340695955409294094, 0.027677925684998339149,
        0.020790672103765093112,  0.016644691189821192163, 0.013876128823070747999,
        0.011896709945891770095,  0.010411265261972096497, 0.0092554621827127329177,
        0.0083305634333628712565,
    };
    return k < 10 ? small[(int)k] : stirling_series(k + 1);
}

double phl_log_beta(const double *a, size_t count)
{
    double total = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        total += a[i];
        sum += phl_log_gamma(a[i]);
    }
    return sum - phl_log_gamma(total);
}

double phl_log_beta_ratio(const double *a, const int64_t *n, size_t count)
{
    double a_total = 0;
    int64_t n_total = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        a_total += a[i];
        n_total += n[i];
        sum += phl_log_rising(a[i], n[i]);
    }
    return n_total == 0 ? 0 : sum - phl_log_rising(a_total, n_total);
}

/* ---- Rising factorials --------------------------------------------------------------------- */

double phl_log_rising(double a, int64_t n)
{
    if (n <= 0) {
        return 0;
    }
    /* Up to ten factors by multiplication: all when n is small; otherwise until a passes 10, where
     * Stirling's series holds.  The product cannot overflow: factors above 1e30 are not multiplied
     * further. */
    double sum = 0;
    double product = 1;
    while (n > 0 && (a < 10 || n < 8)) {
        product *= a;
        a += 1;
        n--;
        if (product > 1e270) {
            sum += log(product);
            product = 1;
        }
        if (a > 1e30) {
            break;
        }
    }
    sum += log(product);
    if (n == 0) {
        return sum;
    }
    /* log Gamma(a+n) - log Gamma(a) with the two large parts subtracted on paper. */
    double count = (double)n;
    double top = a + count;
    return sum + ((a - 0.5) * log1p(count / a) + count * (log(top) - 1)) +
           (stirling_series(top) - stirling_series(a));
}

double phl_log_rising_log(double log_a, int64_t n)
{
    if (n <= 0) {
        return 0;
    }
    if (log_a > -600) {
        return phl_log_rising(exp(log_a), n);
    }
    /* (a)_n = a (1+a) ... (n-1+a), and a < 1e-260 adds nothing to the other factors. */
    return log_a + phl_log_rising(1, n - 1);
}

void phl_rising_init(phl_rising *table, double a)
{
    memset(table, 0, sizeof *table);
    table->a = a;
}

void phl_rising_clear(phl_rising *table)
{
    phl_free(table->values);
    memset(table, 0, sizeof *table);
}

void phl_rising_reset(phl_rising *table, double a)
{
    table->a = a;
    table->count = 0;
}

/* a + first, a + first + 1, ...; count is a multiple of 8. */
PHL_CLONES
static void count_up(double a, size_t first, size_t count, double *values)
{
    double start = (double)first;
    int end = (int)(count - count % 8);
    for (int i = 0; i < end; i++) {
        values[i] = a + (start + i);
    }
}

/* Eight running sums from `sum` on, that of none of the eight first; returns the ninth.  Few of the
 * additions wait for others. */
static inline double add_eight(const double *logs, double sum, double *restrict values)
{
    double two = logs[0] + logs[1];
    double four = two + (logs[2] + logs[3]);
    double six = four + (logs[4] + logs[5]);
    values[0] = sum;
    values[1] = sum + logs[0];
    values[2] = sum + two;
    values[3] = sum + (two + logs[2]);
    values[4] = sum + four;
    values[5] = sum + (four + logs[4]);
    values[6] = sum + six;
    values[7] = sum + (six + logs[6]);
    return sum + (six + (logs[6] + logs[7]));
}

/* log (a)_n for n = first .. end-1, both multiples of PHL_RISING_BLOCK, given those before.  Every
 * ANCHOR-th comes from the formula and the others by adding up logarithms, always the same eight
 * together: so rounding errors do not pile up, and a value has the same bits however far the table
 * reached when it was filled. */
static void fill_rising(double a, size_t first, size_t end, double *restrict values)
{
    enum { ANCHOR = 4 * PHL_RISING_BLOCK };
    double logs[ANCHOR];
    while (first < end) {
        double sum;
        if (first % ANCHOR == 0) {
            sum = phl_log_rising(a, (int64_t)first);
        } else { /* the sum after the last eight, again */
            double again[8];
            count_up(a, first - 8, 8, logs);
            phl_logs(logs, 8, logs);
            sum = add_eight(logs, values[first - 8], again);
        }
        size_t now = ANCHOR - first % ANCHOR;
        now = now < end - first ? now : end - first;
        count_up(a, first, now, logs);
        phl_logs(logs, now, logs);
        for (size_t i = 0; i < now; i += 8) {
            sum = add_eight(logs + i, sum, values + first + i);
        }
        first += now;
    }
}

phl_status phl_rising_reserve(phl_rising *table, int64_t largest, phl_error *error)
{
    if (largest < 0 || (uint64_t)largest < table->count) {
        return PHL_OK;
    }
    size_t needed = ((size_t)largest / PHL_RISING_BLOCK + 1) * PHL_RISING_BLOCK;
    phl_status status =
        phl_grow(&table->values, &table->capacity, needed, sizeof *table->values, error);
    if (status != PHL_OK) {
        return status;
    }
    fill_rising(table->a, table->count, needed, table->values);
    table->count = needed;
    table->offset = HALF_LOG_2_PI - phl_log_gamma(table->a);
    return PHL_OK;
}

double phl_rising_beyond(const phl_rising *table, int64_t n)
{
    double count = (double)n;
    if (table->count == 0 || table->a > count) { /* nothing to start from; or it would cancel */
        return phl_log_rising(table->a, n);
    }
    double top = table->a + count;
    double log_top = log(top);
    return top * (log_top - 1) + (table->offset - 0.5 * log_top + stirling_series(top));
}

/* ---- Stirling numbers of the second kind --------------------------------------------------- */

/* S(n,k) = k S(n-1,k) + S(n-1,k-1), all terms positive, so relative errors only add up: at most
 * 2 n ulp.  The numbers pass 1e308 near n = 220; a row is therefore kept as mantissa * 2^exponent
 * in `mantissa` and `exponent`, and only its logarithm goes to the table. */
static void fill_stirling(phl_stirling *table, double *mantissa, int *exponent)
{
    const double log_2 = 0.69314718055994530942;
    double *row = table->values;
    mantissa[0] = 1;
    exponent[0] = 0;
    row[0] = 0; /* S(0,0) = 1 */
    for (size_t n = 1; n <= table->largest; n++) {
        row += n;
        mantissa[n] = 0;
        exponent[n] = 0;
        for (size_t k = n; k > 0; k--) { /* downwards: entry k-1 is still that of row n-1 */
            double stay = (double)k * mantissa[k];
            double join = mantissa[k - 1];
            int scale = exponent[k - 1];
            if (stay > 0) {
                scale = exponent[k] > scale ? exponent[k] : scale;
                stay = ldexp(stay, exponent[k] - scale);
                join = ldexp(join, exponent[k - 1] - scale);
            }
            int shift = 0;
            mantissa[k] = frexp(stay + join, &shift);
            exponent[k] = scale + shift;
            row[k] = k == 1 || k == n ? 0 : log(mantissa[k]) + exponent[k] * log_2;
        }
        mantissa[0] = 0;
        exponent[0] = 0;
        row[0] = -INFINITY;
    }
}

phl_status phl_stirling_init(phl_stirling *table, size_t largest, phl_error *error)
{
    memset(table, 0, sizeof *table);
    if (largest > 10000) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "use at most 9999 states",
                         "a table of %zu^2 / 2 Stirling numbers is too large", largest);
    }
    double *values = phl_alloc((largest + 1) * (largest + 2) / 2, sizeof *values, error);
    double *mantissa = phl_alloc(largest + 1, sizeof *mantissa, error);
    int *exponent = phl_alloc(largest + 1, sizeof *exponent, error);
    bool made = values != NULL && mantissa != NULL && exponent != NULL;
    if (made) {
        table->largest = largest;
        table->values = values;
        values = NULL;
        fill_stirling(table, mantissa, exponent);
    }
    phl_free(values);
    phl_free(mantissa);
    phl_free(exponent);
    return made ? PHL_OK : PHL_ERR_MEMORY;
}

void phl_stirling_clear(phl_stirling *table)
{
    phl_free(table->values);
    memset(table, 0, sizeof *table);
}
