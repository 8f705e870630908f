/* sampler.c - draws of categories, counts and partitions; see sampler.h.
 *
 * Contents: categorical, binomial and Poisson (transformed rejection, Hoermann 1993), multinomial,
 * hypergeometric (ratio of uniforms, Stadlober 1990), table counts (skipping, thinning),
 * partitions.
 */
#include "base/sampler.h"

#include <string.h>

#include "base/clones.h"
#include "base/factorials.h"
#include "base/lanes.h"
#include "base/logs.h"

#define LARGEST_COUNT ((int64_t)1 << 62)

/* ---- 2. Categorical ------------------------------------------------------------------------ */

/* Up to so many outcomes running sums are kept and compared with the target one and all; a branch
 * out of the loop, taken at a place that cannot be foretold, costs more. */
enum { FEW_OUTCOMES = 32 };

size_t phl_categorical_search(const double *weights, size_t count, double target)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weights[i];
        if (target < sum) { /* for the first time, so the weight is above 0 */
            return i;
        }
    }
    while (count > 0 && !(weights[count - 1] > 0)) {
        count--;
    }
    return count - 1;
}

/* Running sums of up to FEW_OUTCOMES weights; returns the last. */
static double running_sums(const double *weights, size_t count, double *sums)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weights[i];
        sums[i] = sum;
    }
    return sum;
}

/* Running sums that are not above the target. */
static inline size_t sums_below(const double *sums, size_t count, double target)
{
    size_t below = 0;
    for (size_t i = 0; i < count; i++) {
        below += sums[i] <= target;
    }
    return below;
}

size_t phl_categorical_draw(phl_rng *rng, const double *weights, size_t count)
{
    if (count > FEW_OUTCOMES) {
        double total = 0;
        for (size_t i = 0; i < count; i++) {
            total += weights[i];
        }
        return total > 0 ? phl_categorical_search(weights, count, phl_rng_uniform(rng) * total)
                         : PHL_NO_OUTCOME;
    }
    double sums[FEW_OUTCOMES];
    double total = running_sums(weights, count, sums);
    if (!(total > 0)) {
        return PHL_NO_OUTCOME;
    }
    double target = phl_rng_uniform(rng) * total;
    size_t below = sums_below(sums, count, target);
    return below < count ? below : phl_categorical_search(weights, count, target);
}

size_t phl_categorical_draw_log(phl_rng *rng, const double *log_weights, size_t count)
{
    enum { KEPT = 64 };
    double kept[KEPT]; /* the first weights, so that small cases take each exponential once */
    double highest = -INFINITY;
    size_t top = PHL_NO_OUTCOME, rivals = 0;
    for (size_t i = 0; i < count; i++) {
        top = log_weights[i] > highest ? i : top;
        highest = log_weights[i] > highest ? log_weights[i] : highest;
    }
    if (highest == -INFINITY) {
        return PHL_NO_OUTCOME;
    }
    if (count <= KEPT) {
        for (size_t i = 0; i < count; i++) {
            /* Weights below e^-45, even KEPT of them, no uniform number can tell from 0. */
            bool rival = i != top && log_weights[i] > highest - 45.0;
            kept[i] = i == top ? 1.0 : rival ? exp(log_weights[i] - highest) : 0.0;
            rivals += rival;
        }
        return rivals == 0 ? top : phl_categorical_draw(rng, kept, count);
    }
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        total += exp(log_weights[i] - highest);
    }
    double target = phl_rng_uniform(rng) * total;
    double sum = 0;
    size_t last = PHL_NO_OUTCOME;
    for (size_t i = 0; i < count; i++) {
        double weight = exp(log_weights[i] - highest);
        sum += weight;
        if (target < sum && weight > 0) {
            return i;
        }
        last = weight > 0 ? i : last;
    }
    return last;
}

/* ---- 3. Counts ----------------------------------------------------------------------------- */

/* log (h+j)! - log h! - j log(h+1), for h >= 0 and h + j >= 0.  With K = h + 1, x = j / K and
 * Stirling's formula the parts linear in j cancel on paper, so that the rest is accurate for h up
 * to 2^62: (K + j - 1/2)(log(1+x) - x) + j^2 / K - j / (2 K) + difference of the Stirling rests. */
static double log_factorial_step(int64_t h, double j)
{
    double base = (double)h + 1;
    double x = j / base;
    return (base + j - 0.5) * phl_log1p_minus(x) + x * (j - 0.5) +
           (phl_stirling_rest((double)h + j) - phl_stirling_rest((double)h));
}

/* x^n for n >= 0. */
static double whole_power(double x, int64_t n)
{
    double power = 1;
    for (; n > 0; n /= 2) {
        const double factor[2] = {1, x};
        power *= factor[n % 2];
        x *= x;
    }
    return power;
}

/* Number of ways to choose k of n <= PHL_FACTORIALS. */
static double choose(int64_t n, int64_t k)
{
    return phl_factorial[n] / (phl_factorial[k] * phl_factorial[n - k]);
}

/* Search from the mode, which is near in any case: m, m + 1, m - 1, m + 2, ...; for n <=
 * PHL_FACTORIALS and p <= 1/2. */
static int64_t binomial_from_mode(phl_rng *rng, int64_t n, double p)
{
    double trials = (double)n;
    double odds = p / (1 - p);
    int64_t m = (int64_t)((trials + 1) * p);
    double most = choose(n, m) * whole_power(p, m) * whole_power(1 - p, n - m);
    for (;;) {
        double left = phl_rng_uniform(rng) - most;
        double above = most;
        double below = most;
        double up = (double)m;
        double down = (double)m;
        /* Past either end the masses are 0. */
        while (left > 0 && above + below > 1e-25) {
            above *= odds * (trials - up) / (up + 1);
            up += 1;
            left -= above;
            if (left <= 0) {
                return (int64_t)up;
            }
            below *= down / (odds * (trials - down + 1));
            down -= 1;
            left -= below;
        }
        if (left <= 0) {
            return (int64_t)down;
        }
        /* The masses add up to 1 - 1e-14 and the uniform fell in the gap: again. */
    }
}

/* Search from 0, for n p < 10. */
static int64_t binomial_search(phl_rng *rng, int64_t n, double p)
{
    double trials = (double)n;
    double odds = p / (1 - p);
    double none = -1;
    for (;;) {
        double left = phl_rng_uniform(rng);
        if (left <= 1 - trials * p) { /* <= (1 - p)^n */
            return 0;
        }
        none = none < 0 ? exp(trials * log1p(-p)) : none;
        double mass = none;
        int64_t k = 0;
        while (left > mass && k < n && mass > 1e-25) {
            left -= mass;
            k++;
            mass *= odds * (double)(n - k + 1) / (double)k;
        }
        if (left <= mass) {
            return k;
        }
        /* The masses add up to 1 - 1e-16 and the uniform fell in the gap: again. */
    }
}

/* Hoermann's BTRS, for n p >= 10 and p <= 1/2.  Everything is measured from the mode m, as j = k -
 * m, so that nothing is lost when n passes 2^53. */
static int64_t binomial_reject(phl_rng *rng, int64_t n, double p)
{
    double q = 1 - p;
    /* n p = m + shift, to more than 53 bits. */
    double trials = (double)n;
    double mean = trials * p;
    double below = fma(trials, p, -mean) + (double)(n - (int64_t)trials) * p;
    double whole = floor(mean);
    double shift = (mean - whole) + below;
    double step = floor(shift + p); /* the mode is floor(n p + p) */
    int64_t m = (int64_t)whole + (int64_t)step;
    shift -= step;

    double sd = sqrt(mean * q);
    double b = 1.15 + 2.53 * sd;
    double a = -0.0873 + 0.0248 * b + 0.01 * p;
    double alpha = (2.83 + 5.1 / b) * sd;
    double sure = 0.92 - 4.2 / b;
    double lowest = -(double)m;
    double highest = (double)(n - m);
    for (;;) {
        double u = phl_rng_uniform(rng) - 0.5;
        double v = phl_rng_uniform(rng);
        double side = 0.5 - fabs(u);
        if (side <= 0) {
            continue;
        }
        double j = floor((2 * a / side + b) * u + shift + 0.5);
        if (j < lowest || j > highest) {
            continue;
        }
        if (side >= 0.07 && v <= sure) {
            return m + (int64_t)j;
        }
        /* log of (n-m+1) p / ((m+1) q): the ratio of successive probabilities, nearly 1 at the
         * mode */
        double tilt = log1p((shift + p - q) / (((double)m + 1) * q));
        double height = log(v * alpha / (a / (side * side) + b));
        if (height <= j * tilt - log_factorial_step(m, j) - log_factorial_step(n - m, -j)) {
            return m + (int64_t)j;
        }
    }
}

int64_t phl_binomial_draw(phl_rng *rng, int64_t n, double p)
{
    if (n <= 0 || !(p > 0)) {
        return 0;
    }
    if (p >= 1) {
        return n;
    }
    if (n <= 4) { /* one by one */
        int64_t successes = 0;
        for (; n > 0; n--) {
            successes += phl_rng_uniform(rng) < p;
        }
        return successes;
    }
    double small = p <= 0.5 ? p : 1 - p; /* exact */
    double mean = (double)n * small;
    int64_t k;
    if (mean < 0.5) {
        k = binomial_search(rng, n, small);
    } else if (n <= PHL_FACTORIALS) {
        k = binomial_from_mode(rng, n, small);
    } else {
        k = mean < 10 ? binomial_search(rng, n, small) : binomial_reject(rng, n, small);
    }
    return p <= 0.5 ? k : n - k;
}

/* Weights wait in the array of counts for their turn. */
_Static_assert(sizeof(double) == sizeof(int64_t), "weights are kept in place of counts");

static inline double kept_weight(const int64_t *counts, size_t i)
{
    double weight;
    memcpy(&weight, &counts[i], sizeof weight);
    return weight;
}

static inline void keep_weight(int64_t *counts, size_t i, double weight)
{
    memcpy(&counts[i], &weight, sizeof weight);
}

/* Up to DIRECT draws are made one by one; their array is filled up to a multiple of VECTOR. */
enum { DIRECT = 128, VECTOR = 8 };

/* above[i]: how many of `draws` numbers, a multiple of VECTOR, are not below bound[i]. */
PHL_CLONES
static void count_above(const double *restrict u, size_t draws, const double *restrict bound,
                        size_t count, int64_t *restrict above)
{
    draws -= draws % VECTOR;
    for (size_t i = 0; i < count; i++) {
        int64_t sum = 0;
        for (size_t d = 0; d < draws; d++) {
            sum += u[d] >= bound[i];
        }
        above[i] = sum;
    }
}

/* Every draw on its own, for up to FEW_OUTCOMES; weights are kept in counts. */
static void multinomial_direct(phl_rng *rng, int64_t n, size_t count, int64_t *counts)
{
    double bound[FEW_OUTCOMES];
    double u[DIRECT];
    double total = 0;
    size_t last = 0; /* outcome with a weight: it gets all that is not below the bound before */
    for (size_t i = 0; i < count; i++) {
        double weight = kept_weight(counts, i);
        last = weight > 0 ? i : last;
        total += weight;
        bound[i] = total;
        counts[i] = 0;
    }
    if (n == 0 || !(total > 0)) {
        return;
    }
    for (size_t i = 0; i < last; i++) {
        bound[i] /= total;
    }
    size_t draws = (size_t)n;
    phl_rng_uniforms(rng, draws, u);
    for (; draws % VECTOR != 0; draws++) {
        u[draws] = -1;
    }
    count_above(u, draws, bound, last, counts);
    int64_t before = n;
    for (size_t i = 0; i <= last; i++) {
        int64_t above = counts[i];
        counts[i] = before - above;
        before = above;
    }
}

/* The same for more outcomes: ascending uniforms, which are running sums of exponentials divided by
 * the last one, are sorted in on one way along the weights. */
static void multinomial_spaced(phl_rng *rng, int64_t n, size_t count, int64_t *counts)
{
    double at[DIRECT + 1];
    double total = 0;
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = kept_weight(counts, i);
        last = weight > 0 ? i : last;
        total += weight;
    }
    size_t draws = total > 0 ? (size_t)n : 0;
    phl_rng_exponentials(rng, draws + 1, at);
    for (size_t d = 1; d <= draws; d++) {
        at[d] += at[d - 1];
    }
    double scale = total / at[draws];
    double sum = 0;
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        sum += kept_weight(counts, i);
        size_t before = done;
        while (done < draws && (at[done] * scale < sum || i == last)) {
            done++;
        }
        counts[i] = (int64_t)(done - before);
    }
}

/* One binomial draw per outcome, from the last outcome to the first: given those after it, outcome
 * i takes each of the remaining draws with probability w_i / (w_0 + ... + w_i).  The first outcome
 * with a weight has probability exactly 1, so nothing is left over, and nothing is ever subtracted.
 * The kept weights are 0 for outcomes that are left out. */
static void multinomial_one_by_one(phl_rng *rng, int64_t n, size_t count, const size_t *without,
                                   size_t n_without, const double *weights, int64_t *counts)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += kept_weight(counts, i);
        keep_weight(counts, i, sum);
    }
    for (size_t i = count; i-- > 0;) {
        bool skip = n == 0;
        for (size_t t = 0; t < n_without; t++) {
            skip = skip || without[t] == i;
        }
        counts[i] = skip ? 0 : phl_binomial_draw(rng, n, weights[i] / kept_weight(counts, i));
        n -= counts[i];
    }
}

/* The largest kept weight and the sum of the others. */
static size_t largest_kept(const int64_t *counts, size_t count, double *rest)
{
    size_t top = 0;
    double most = kept_weight(counts, 0);
    double sum = 0;
    for (size_t i = 1; i < count; i++) {
        double weight = kept_weight(counts, i);
        bool larger = weight > most;
        sum += larger ? most : weight;
        top = larger ? i : top;
        most = larger ? weight : most;
    }
    *rest = sum;
    return top;
}

void phl_multinomial_draw(phl_rng *rng, int64_t n, const double *weights, size_t count,
                          int64_t *counts)
{
    /* First those outcomes, a few at most, that take a good part of what is there: then little is
     * left to the others. */
    enum { TOPS = 3 };
    size_t top[TOPS];
    int64_t taken[TOPS];
    size_t n_tops = 0;
    for (size_t i = 0; i < count; i++) {
        keep_weight(counts, i, weights[i]);
    }
    int64_t few = count < 8 ? 8 * (int64_t)count : 64; /* cost less one by one (measured) */
    while (n > few && n_tops < TOPS && count > 0) {
        double rest;
        size_t i = largest_kept(counts, count, &rest);
        double most = kept_weight(counts, i);
        if (!(most > 0.25 * rest)) {
            break;
        }
        int64_t others = phl_binomial_draw(rng, n, rest / (rest + most));
        keep_weight(counts, i, 0);
        top[n_tops] = i;
        taken[n_tops++] = n - others;
        n = others;
    }
    if (n > DIRECT) {
        multinomial_one_by_one(rng, n, count, top, n_tops, weights, counts);
    } else if (count > FEW_OUTCOMES) {
        multinomial_spaced(rng, n, count, counts);
    } else {
        multinomial_direct(rng, n, count, counts);
    }
    for (size_t t = 0; t < n_tops; t++) {
        counts[top[t]] = taken[t];
    }
}

/* Sequential search from 0, for mean < 10. */
static int64_t poisson_search(phl_rng *rng, double mean)
{
    double none = exp(-mean);
    for (;;) {
        double left = phl_rng_uniform(rng);
        double mass = none;
        int64_t k = 0;
        while (left > mass && mass > 1e-25) {
            left -= mass;
            k++;
            mass *= mean / (double)k;
        }
        if (left <= mass) {
            return k;
        }
    }
}

/* Hoermann's PTRS, for 10 <= mean < 2^62, measured from the integer below the mean. */
static int64_t poisson_reject(phl_rng *rng, double mean)
{
    double m = floor(mean);
    double shift = mean - m;
    double root = sqrt(mean);
    double b = 0.931 + 2.53 * root;
    double a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    double sure = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = phl_rng_uniform(rng) - 0.5;
        double v = phl_rng_uniform(rng);
        double side = 0.5 - fabs(u);
        if (side <= 0) {
            continue;
        }
        double j = floor((2 * a / side + b) * u + shift + 0.43);
        if (j < -m || j > 0x1p61) {
            continue;
        }
        if (side >= 0.07 && v <= sure) {
            return (int64_t)m + (int64_t)j;
        }
        if (side < 0.013 && v > side) {
            continue;
        }
        /* log p(k) = k log mean - mean - log k!, with K = k + 1 and x = (K - mean) / mean:
         * -(K - 1/2) log(1 + x) + (K - mean) - log(mean)/2 - log(2 pi)/2 - rest(k). */
        double past = j - shift + 1; /* K - mean */
        double x = past / mean;
        double log_mass = -(mean + past - 0.5) * phl_log1p_minus(x) - x * (past - 0.5) -
                          0.5 * log(6.283185307179586477 * mean) - phl_stirling_rest(m + j);
        if (log(v * inverse_alpha / (a / (side * side) + b)) <= log_mass) {
            return (int64_t)m + (int64_t)j;
        }
    }
}

int64_t phl_poisson_draw(phl_rng *rng, double mean)
{
    if (!(mean > 0)) {
        return 0;
    }
    if (mean < 10) {
        return poisson_search(rng, mean);
    }
    return mean < (double)LARGEST_COUNT ? poisson_reject(rng, mean) : LARGEST_COUNT;
}

int64_t phl_negative_binomial_draw(phl_rng *rng, int64_t n, double log_p0)
{
    if (n <= 0 || log_p0 == -INFINITY) {
        return 0;
    }
    double log_odds = log_p0 - phl_log_complement(log_p0);
    return phl_poisson_draw(rng, exp(phl_log_gamma_draw(rng, (double)n) + log_odds));
}

/* Good items among `sample`, one by one, two by a random word; for a small sample. */
static int64_t hypergeometric_urn(phl_rng *rng, uint32_t good, uint32_t total, uint32_t sample)
{
    phl_halves halves = {.rng = rng};
    uint32_t left = good;
    for (; sample > 0; sample--, total--) {
        left -= phl_halves_bounded(&halves, total) < left;
    }
    return good - left;
}

/* a (a - 1) ... / (b (b - 1) ...), k factors each, k <= PHL_FACTORIALS and k <= a, b. */
static double falling_ratio(double a, double b, int64_t k)
{
    double ratio = 1;
    while (k >= 4) { /* up to 16 factors, which do not overflow, for one division */
        double top = 1;
        double bottom = 1;
        for (int i = 0; i < 4 && k >= 4; i++, k -= 4) {
            top *= (a * (a - 1)) * ((a - 2) * (a - 3));
            bottom *= (b * (b - 1)) * ((b - 2) * (b - 3));
            a -= 4;
            b -= 4;
        }
        ratio *= top / bottom;
    }
    double top = 1;
    double bottom = 1;
    for (; k > 0; k--) {
        top *= a;
        bottom *= b;
        a -= 1;
        b -= 1;
    }
    return ratio * (top / bottom);
}

/* Search from the mode; sample <= good <= bad, sample <= PHL_FACTORIALS. */
static int64_t hypergeometric_from_mode(phl_rng *rng, int64_t good, int64_t bad, int64_t sample)
{
    double marked = (double)good;
    double taken = (double)sample;
    double others = (double)bad;
    double spare = (double)(bad - sample);
    int64_t m = (int64_t)((taken + 1) * ((marked + 1) / (marked + others + 2)));
    double most = choose(sample, m) * falling_ratio(marked, marked + others, m) *
                  falling_ratio(others, marked + others - (double)m, sample - m);
    for (;;) {
        double left = phl_rng_uniform(rng) - most;
        double above = most;
        double below = most;
        double up = (double)m;
        double down = (double)m;
        while (left > 0 && above + below > 1e-25) {
            above *= (marked - up) * (taken - up) / ((up + 1) * (spare + up + 1));
            up += 1;
            left -= above;
            if (left <= 0) {
                return (int64_t)up;
            }
            below *= down * (spare + down) / ((marked - down + 1) * (taken - down + 1));
            down -= 1;
            left -= below;
        }
        if (left <= 0) {
            return (int64_t)down;
        }
    }
}

/* Stadlober's ratio of uniforms with a table mountain hat; good <= bad, sample <= total / 2.
 * Everything is measured from the mode m, as j = k - m. */
static int64_t hypergeometric_reject(phl_rng *rng, int64_t good, int64_t bad, int64_t sample)
{
    __extension__ typedef __int128 wide;
    wide total = (wide)good + bad;
    int64_t m = (int64_t)((wide)(sample + 1) * (good + 1) / (total + 2));
    double share = (double)good / (double)total;
    /* mean - m, to more digits than either has */
    double shift = (double)((wide)sample * good - (wide)m * total) / (double)total;
    double variance = (double)sample * share * ((double)bad / (double)total) *
                      ((double)(total - sample) / (double)(total - 1));
    double centre = shift + 0.5;
    /* 2 sqrt(2/e) and 3 - 2 sqrt(3/e) */
    double width = 1.7155277699214135 * sqrt(variance + 0.5) + 0.8989161620588988;
    double lowest = -(double)m;
    double highest = (double)((sample < good ? sample : good) - m);
    /* log of (m+1)(bad-sample+m+1) / ((good-m+1)(sample-m+1)): nearly 0 at the mode */
    wide up = (wide)(m + 1) * (bad - sample + m + 1);
    wide down = (wide)(good - m + 1) * (sample - m + 1);
    double tilt = log1p((double)(up - down) / (double)down);
    for (;;) {
        double x = phl_rng_uniform(rng);
        double y = phl_rng_uniform(rng);
        double j = floor(centre + width * (y - 0.5) / x);
        if (j < lowest || j > highest) {
            continue;
        }
        double height = -j * tilt - log_factorial_step(m, j) - log_factorial_step(good - m, -j) -
                        log_factorial_step(sample - m, -j) -
                        log_factorial_step(bad - sample + m, j);
        /* Accept if 2 log x <= height; the first two lines spare the logarithm. */
        if (x * (4 - x) - 3 <= height) {
            return m + (int64_t)j;
        }
        if (x * (x - height) >= 1) {
            continue;
        }
        if (2 * log(x) <= height) {
            return m + (int64_t)j;
        }
    }
}

int64_t phl_hypergeometric_draw(phl_rng *rng, int64_t good, int64_t bad, int64_t sample)
{
    /* Three mirrors bring every case to sample <= good <= bad: good and bad change places, sample
     * and the rest do, and, the law being that of the overlap of two sets, good and sample do. */
    int64_t total = good + bad;
    int64_t small = good < bad ? good : bad;
    int64_t few = sample < total - sample ? sample : total - sample;
    int64_t marked = few < small ? small : few;
    int64_t taken = few < small ? few : small;
    int64_t overlap;
    if (taken <= 24 && total <= UINT32_MAX) {
        overlap = hypergeometric_urn(rng, (uint32_t)marked, (uint32_t)total, (uint32_t)taken);
    } else if (taken <= PHL_FACTORIALS) {
        overlap = hypergeometric_from_mode(rng, marked, total - marked, taken);
    } else {
        overlap = hypergeometric_reject(rng, marked, total - marked, taken);
    }
    if (few != sample) { /* drawn: those of the smaller colour left behind */
        overlap = small - overlap;
    }
    return small == good ? overlap : sample - overlap;
}

void phl_multivariate_hypergeometric_draw(phl_rng *rng, const int64_t *colours, size_t count,
                                          int64_t sample, int64_t *taken)
{
    int64_t rest = 0;
    for (size_t i = 0; i < count; i++) {
        rest += colours[i];
    }
    for (size_t i = 0; i < count; i++) {
        rest -= colours[i];
        taken[i] = sample > 0 ? phl_hypergeometric_draw(rng, colours[i], rest, sample) : 0;
        sample -= taken[i];
    }
}

/* ---- 4. Table counts ----------------------------------------------------------------------- */

/* Customer i opens a table with probability p_i = a / (a + i).  Up to a = 1, tables are among the
 * events of a process that is easily skipped along: with x = i + a/2, customer i has none with
 * probability q_i = ((x - 1/2) / (x + 1/2))^a, and from s to t-1 there is none with probability
 * ((s + (a-1)/2) / (t + (a-1)/2))^a, the product.  Tables are rarer, since
 *     -log q_i = 2 a artanh(1 / 2x) >= 2 artanh(a / 2x) = -log(1 - p_i),
 * artanh being convex; an event at i is a table with probability p_i / (1 - q_i), nearly 1. */
static int64_t crt_skip(phl_rng *rng, int64_t n, double a)
{
    int64_t tables = 1; /* the first customer always */
    double shift = 0.5 * (a - 1);
    double next = 1;
    for (;;) {
        double past = (next + shift) * exp(phl_rng_exponential(rng) / a);
        double customer = fmax(floor(past - shift), next);
        if (!(customer < (double)n)) {
            return tables;
        }
        /* artanh y <= y / (1 - y^2): mostly this tells without a logarithm that it is a table */
        double x = customer + 0.5 * a;
        double u = phl_rng_uniform(rng);
        bool sure = u * (4 * x * (x + 0.5 * a)) < 4 * x * x - 1;
        tables += sure || u * -expm1(a * log1p(-1 / (x + 0.5))) * (a + customer) < a;
        next = customer + 1;
    }
}

/* For a above 1, where tables are more frequent, a stretch of customers s .. e-1 is drawn together.
 * Write the event "table" as "A or B" with A, B independent, A of the lowest probability of the
 * stretch, p_low = p_{e-1}, and B of the small probability (p_i - p_low) / (1 - p_low) <= r.  The
 * B's are found by skipping along candidates of rate r, each kept with its share of r; the
 * customers without B then have one binomial draw.  Near the start, where most customers open a
 * table, the same is done for the event "no table".  Stretches are as long as gives about
 * CANDIDATES candidates. */
#define CANDIDATES 3.0

/* The number of B's among the `length` customers from s on, for the event "table" or "no table". */
static int64_t crt_thin(phl_rng *rng, double a, double s, int64_t length, bool tables)
{
    double end = s + (double)(length - 1);
    /* tables:    rate_i = (p_i - p_end) / (1 - p_end) = a (end - i) / (end (a + i)), most at s
     * no tables: rate_i = (q_i - q_s) / (1 - q_s)     = (i - s) / (a + i),           most at end */
    double reach = (double)(length - 1);
    double most = tables ? a * reach / (end * (a + s)) : reach / (a + end);
    if (!(most > 0)) {
        return 0;
    }
    double scale = -1 / log1p(-most);
    int64_t kept = 0;
    double at = -1;
    for (;;) {
        at += 1 + floor(phl_rng_exponential(rng) * scale);
        if (!(at < (double)length)) {
            return kept;
        }
        double customer = s + at;
        double share = tables ? (end - customer) / reach * ((a + s) / (a + customer))
                              : at / reach * ((a + end) / (a + customer));
        kept += phl_rng_uniform(rng) < share;
    }
}

/* Tables opened by the `length` customers from s >= 1 on. */
static int64_t crt_stretch(phl_rng *rng, double a, double s, int64_t length, bool tables)
{
    int64_t marked = crt_thin(rng, a, s, length, tables);
    if (tables) {
        double low = a / (a + s + (double)(length - 1));
        return marked + phl_binomial_draw(rng, length - marked, low);
    }
    return length - marked - phl_binomial_draw(rng, length - marked, s / (a + s));
}

enum { SHORT = 48 }; /* stretches below this cost more than customers one by one */

/* Tables opened by up to SHORT customers from s on, one by one. */
static int64_t crt_each(phl_rng *rng, double a, int64_t s, int64_t length)
{
    int64_t tables = 0;
    if (length < 12) {
        for (int64_t i = 0; i < length; i++) {
            tables += phl_rng_uniform(rng) * (a + (double)(s + i)) < a;
        }
        return tables;
    }
    double u[SHORT];
    phl_rng_uniforms(rng, (size_t)length, u);
    for (int i = 0; i < (int)length; i++) {
        tables += u[i] * (a + ((double)s + i)) < a;
    }
    return tables;
}

int64_t phl_crt_draw(phl_rng *rng, int64_t n, double a)
{
    if (n <= 1) {
        return n > 0;
    }
    if (a <= 1) {
        return crt_skip(rng, n, a);
    }
    int64_t tables = 1; /* the first customer always */
    int64_t at = 1;
    while (n - at > SHORT) {
        double s = (double)at;
        /* Lengths for which length * rate is CANDIDATES, either way of writing the event. */
        double w = CANDIDATES * (1 + s / a);
        double long_tables = (w + sqrt(w * w + 4 * w * s)) / 2;
        double long_none = (CANDIDATES + sqrt(CANDIDATES * (CANDIDATES + 4 * (a + s)))) / 2;
        bool by_tables = long_tables >= long_none;
        double length = floor(by_tables ? long_tables : long_none) + 1;
        int64_t step = length < (double)(n - at) ? (int64_t)length : n - at;
        if (step > SHORT) {
            tables += crt_stretch(rng, a, s, step, by_tables);
        } else {
            step = SHORT;
            tables += crt_each(rng, a, at, step);
        }
        at += step;
    }
    return tables + crt_each(rng, a, at, n - at);
}

int64_t phl_crt_draw_log(phl_rng *rng, int64_t n, double log_a)
{
    if (n <= 1) {
        return n > 0;
    }
    if (log_a < -600) { /* a second table has probability a log n < 1e-258 */
        return 1;
    }
    if (log_a > 600) { /* a customer without a table has probability n / a < 1e-241 */
        return n;
    }
    return phl_crt_draw(rng, n, exp(log_a));
}

/* ---- 5. Partitions and permutations -------------------------------------------------------- */

void phl_partition_draw(phl_rng *rng, const phl_stirling *table, size_t n, size_t k,
                        uint32_t *blocks)
{
    /* S(n,k) = S(n-1,k-1) + k S(n-1,k): the last item is alone, or in any of the k blocks of the
     * items before it.  Decided from the last item to the first; numbers by first occurrence come
     * out by themselves, since a last item alone in its block has the highest number, k - 1. */
    for (size_t item = n; item-- > 0;) {
        double alone = phl_stirling_get(table, item, k - 1) - phl_stirling_get(table, item + 1, k);
        if (k == item + 1 || (k > 1 && phl_rng_uniform(rng) < exp(alone))) {
            blocks[item] = (uint32_t)(k - 1);
            k--;
        } else {
            blocks[item] = (uint32_t)phl_rng_bounded(rng, k);
        }
    }
}

void phl_shuffle(phl_rng *rng, size_t count, uint32_t *items)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)phl_rng_bounded(rng, i);
        uint32_t item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}
