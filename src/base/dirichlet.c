/* dirichlet.c - gamma, beta and Dirichlet draws; see sampler.h.
 *
 * A Dirichlet draw is a row of independent gamma draws divided by their sum.  Most rows of a model
 * are long and have concentrations of 1 + counts, mostly 1; so a row is sorted by kind of shape and
 * each kind is drawn by one loop.
 */
#include <string.h>

#include "base/logs.h"
#include "base/sampler.h"

/* ---- Gamma --------------------------------------------------------------------------------- */

/* A Gamma(shape, 1) draw for shape >= 1 as d v, v = (1 + c x)^3 for a normal x (Marsaglia & Tsang
 * 2000): d = shape - 1/3, c = 1 / sqrt(9 d).  The first x and the first uniform u are given. */
static double gamma_from(phl_rng *rng, double d, double c, double x, double u)
{
    for (;;) {
        double y = c * x;
        if (y > -1) {
            double square = x * x;
            /* Accept if log u < x^2/2 + d (1 - v + log v), where 1 - v + log v is
             * 3 (log(1+y) - y) - 3 y^2 - y^3; 1 - v alone would cancel for large d. */
            if (u < 1 - 0.0331 * square * square ||
                log(u) < square / 2 + d * (3 * phl_log1p_minus(y) - y * y * (3 + y))) {
                return d * ((1 + y) * (1 + y) * (1 + y));
            }
        }
        x = phl_rng_normal(rng);
        u = phl_rng_uniform(rng);
    }
}

/* Gamma(shape, 1) for shape >= 1. */
static double gamma_large(phl_rng *rng, double shape)
{
    if (shape == 1) {
        return phl_rng_exponential(rng);
    }
    double d = shape - 1.0 / 3;
    double x = phl_rng_normal(rng);
    return gamma_from(rng, d, 1 / sqrt(9 * d), x, phl_rng_uniform(rng));
}

/* For a shape a < 1 all functions here use G(a) = G(a + 1) U^(1/a) = G(a + 1) e^(-E/a), E
 * exponential. */

double phl_gamma_draw(phl_rng *rng, double shape)
{
    if (shape >= 1) {
        return gamma_large(rng, shape);
    }
    if (!(shape > 0)) {
        return 0;
    }
    double boosted = gamma_large(rng, shape + 1);
    return boosted * exp(-phl_rng_exponential(rng) / shape);
}

double phl_log_gamma_draw(phl_rng *rng, double shape)
{
    if (shape >= 1) {
        return log(gamma_large(rng, shape));
    }
    if (!(shape > 0)) {
        return -INFINITY;
    }
    double boosted = log(gamma_large(rng, shape + 1));
    return boosted - phl_rng_exponential(rng) / shape;
}

/* Draws taken together. */
enum { GAMMAS = 128 };

/* Independent gamma draws: draw i is base[i], for those listed in `small` times e^-fall; the j-th
 * of these is number small[j] and has fall[j]. */
typedef struct gamma_draws {
    double base[GAMMAS];
    double fall[GAMMAS];
    uint8_t small[GAMMAS];
    size_t n_small;
} gamma_draws;

/* Draws of any shapes, those of the `count` numbers in `at`. */
static void draw_any(phl_rng *rng, const double *shape, const uint8_t *at, size_t count,
                     gamma_draws *draws)
{
    double d[GAMMAS];
    double c[GAMMAS];
    double x[GAMMAS];
    double u[GAMMAS];
    size_t smalls = 0;
    for (size_t j = 0; j < count; j++) {
        double a = shape[at[j]];
        draws->small[smalls] = at[j];
        draws->fall[smalls] = a;
        smalls += a < 1;
        d[j] = (a < 1 ? a + 1 : a) - 1.0 / 3;
    }
    for (size_t j = 0; j < count; j++) {
        c[j] = 1 / sqrt(9 * d[j]);
    }
    phl_rng_normals(rng, count, x);
    phl_rng_uniforms(rng, count, u);
    for (size_t j = 0; j < count; j++) {
        double root = 1 + c[j] * x[j];
        double square = x[j] * x[j];
        bool sure = root > 0 && u[j] < 1 - 0.0331 * square * square;
        draws->base[at[j]] =
            sure ? d[j] * (root * root * root) : gamma_from(rng, d[j], c[j], x[j], u[j]);
    }
    phl_rng_exponentials(rng, smalls, x);
    for (size_t j = 0; j < smalls; j++) {
        draws->fall[j] = x[j] / draws->fall[j];
    }
    draws->n_small = smalls;
}

/* Draws of shape 1, those of the `count` numbers in `at`. */
static void draw_ones(phl_rng *rng, const uint8_t *at, size_t count, gamma_draws *draws)
{
    double value[GAMMAS];
    phl_rng_exponentials(rng, count, value);
    for (size_t j = 0; j < count; j++) {
        draws->base[at[j]] = value[j];
    }
}

/* Draws for up to GAMMAS shapes >= 0; a shape of 0 gives 0, by a fall of +inf. */
static void draw_gammas(phl_rng *rng, const double *shape, size_t count, gamma_draws *draws)
{
    uint8_t one[GAMMAS];
    uint8_t other[GAMMAS];
    size_t ones = 0;
    for (size_t i = 0; i < count; i++) { /* no branches, which could not be foretold */
        one[ones] = (uint8_t)i;
        other[i - ones] = (uint8_t)i;
        ones += !(shape[i] < 1) & !(shape[i] > 1);
    }
    draw_any(rng, shape, other, count - ones, draws);
    draw_ones(rng, one, ones, draws);
}

/* Make base[i] the whole draw and return the sum of all. */
static double add_up(gamma_draws *draws, size_t count)
{
    double factor[GAMMAS];
    for (size_t j = 0; j < draws->n_small; j++) {
        factor[j] = -draws->fall[j];
    }
    phl_exps(factor, draws->n_small, factor);
    for (size_t j = 0; j < draws->n_small; j++) {
        draws->base[draws->small[j]] *= factor[j];
    }
    return phl_sum_block(draws->base, count);
}

/* ---- Dirichlet and beta -------------------------------------------------------------------- */

/* The largest concentration from which on the gamma draws may be added up as plain numbers: a draw
 * of shape 0.1 is a draw of shape 1.1 times e^(-10 E), and E > 60, for which that would come near
 * the smallest double, has probability 1e-26. */
#define PLAIN_CONCENTRATION 0.1

/* Up to here the gamma draw of a concentration a is e^(-E/a) with E/a near 1e250 or above: next to
 * any larger concentration it is 0.  When all are that small, the smallest E/a takes everything: an
 * exponential race, won with probability proportional to a. */
#define RACE_CONCENTRATION 1e-250

static bool any_above(const double *values, size_t count, double limit)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i] > limit) {
            return true;
        }
    }
    return false;
}

/* log_p may be log_concentration. */
static void dirichlet_race(phl_rng *rng, const double *log_concentration, size_t count,
                           double *log_p)
{
    size_t winner = count;
    double fastest = INFINITY; /* log(E/a) of the winner */
    for (size_t i = 0; i < count; i++) {
        double log_a = log_concentration[i];
        log_p[i] = -INFINITY;
        if (log_a > -INFINITY) {
            double time = log(phl_rng_exponential(rng)) - log_a;
            winner = time < fastest ? i : winner;
            fastest = time < fastest ? time : fastest;
        }
    }
    if (winner < count) {
        log_p[winner] = 0;
    }
}

void phl_dirichlet_draw(phl_rng *rng, const double *concentration, size_t count, double *p)
{
    if (!any_above(concentration, count, PLAIN_CONCENTRATION)) {
        phl_log_dirichlet_draw(rng, concentration, count, p);
        phl_exps(p, count, p);
        return;
    }
    gamma_draws draws;
    double total = 0;
    for (size_t begin = 0; begin < count; begin += GAMMAS) {
        size_t now = count - begin < GAMMAS ? count - begin : GAMMAS;
        draw_gammas(rng, concentration + begin, now, &draws);
        total += add_up(&draws, now);
        memcpy(p + begin, draws.base, now * sizeof *p);
    }
    double scale = 1 / total;
    for (size_t i = 0; i < count; i++) {
        p[i] *= scale;
    }
}

/* The logarithms of up to GAMMAS gamma draws.  With `plain`, also returns their sum. */
static double log_gammas(phl_rng *rng, const double *shape, size_t count, bool plain, double *logs)
{
    gamma_draws draws;
    draw_gammas(rng, shape, count, &draws);
    phl_logs(draws.base, count, logs);
    for (size_t j = 0; j < draws.n_small; j++) {
        logs[draws.small[j]] -= draws.fall[j];
    }
    return plain ? add_up(&draws, count) : 0;
}

/* Logarithms of gamma draws to logarithms of shares.  total is the sum of the draws, or 0 when they
 * are too small to be added up. */
static void log_shares(double *log_p, size_t count, double total)
{
    if (!(total > 0)) {
        (void)phl_log_normalise(log_p, count);
        return;
    }
    double log_total = log(total);
    for (size_t i = 0; i < count; i++) {
        log_p[i] -= log_total;
    }
}

void phl_log_dirichlet_draw(phl_rng *rng, const double *concentration, size_t count, double *log_p)
{
    if (!any_above(concentration, count, RACE_CONCENTRATION)) {
        phl_logs(concentration, count, log_p);
        dirichlet_race(rng, log_p, count, log_p);
        return;
    }
    bool plain = any_above(concentration, count, PLAIN_CONCENTRATION);
    double total = 0;
    for (size_t begin = 0; begin < count; begin += GAMMAS) {
        size_t now = count - begin < GAMMAS ? count - begin : GAMMAS;
        total += log_gammas(rng, concentration + begin, now, plain, log_p + begin);
    }
    log_shares(log_p, count, total);
}

void phl_log_dirichlet_draw_log(phl_rng *rng, const double *log_concentration, size_t count,
                                double *log_p)
{
    if (!any_above(log_concentration, count, log(RACE_CONCENTRATION))) {
        dirichlet_race(rng, log_concentration, count, log_p);
        return;
    }
    bool plain = any_above(log_concentration, count, log(PLAIN_CONCENTRATION));
    double total = 0;
    for (size_t begin = 0; begin < count; begin += GAMMAS) {
        size_t now = count - begin < GAMMAS ? count - begin : GAMMAS;
        double shape[GAMMAS];
        phl_exps(log_concentration + begin, now, shape);
        total += log_gammas(rng, shape, now, plain, log_p + begin);
    }
    log_shares(log_p, count, total);
}

void phl_log_beta_draw(phl_rng *rng, double a, double b, double *log_p, double *log_rest)
{
    double pair[2] = {a, b};
    phl_log_dirichlet_draw(rng, pair, 2, pair);
    *log_p = pair[0];
    *log_rest = pair[1];
}

double phl_beta_draw(phl_rng *rng, double a, double b)
{
    double pair[2] = {a, b};
    phl_dirichlet_draw(rng, pair, 2, pair);
    return pair[0];
}
