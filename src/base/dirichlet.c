/* dirichlet.c - gamma, beta and Dirichlet draws; see sampler.h.
 *
 * A Dirichlet draw is a row of independent gamma draws divided by their sum.  Most rows of a model
 * are long and have concentrations of 1 + counts, mostly 1, or of a small number + counts; so a row
 * is sorted by kind of shape and each kind is drawn by one loop:
 * - shape 1: an exponential;
 * - shape above 1: from a normal (Marsaglia & Tsang 2000);
 * - SPARSE <= a < 1: G(a) = G(a + 1) U^(1/a) = G(a + 1) e^(-E/a), E exponential;
 * - a < SPARSE: mostly e^(-E/a) alone (Ahrens & Dieter 1974).
 */
#include <string.h>

#include "base/logs.h"
#include "base/sampler.h"

/* ---- Gamma --------------------------------------------------------------------------------- */

#define SPARSE 0.3
#define INVERSE_E 0.36787944117144232

/* Shape >= 1: d v, v = (1 + c x)^3 for a normal x, d = shape - 1/3, c = 1 / sqrt(9 d).  The first x
 * and the first uniform u are given. */
static double large_from(phl_rng *rng, double d, double c, double x, double u)
{
    for (;;) {
        double y = c * x;
        if (!(y <= -1)) {
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

static double gamma_large(phl_rng *rng, double shape)
{
    if (shape == 1) {
        return phl_rng_exponential(rng);
    }
    double d = shape - 1.0 / 3;
    double x = phl_rng_normal(rng);
    return large_from(rng, d, 1 / sqrt(9 * d), x, phl_rng_uniform(rng));
}

/* Shape 0 <= a < 1: a draw, `factor`, and minus its logarithm.  One candidate in 1 + a/e is x =
 * e^(-E/a) and kept with probability e^-x; the others are x = 1 + E and kept with probability
 * x^(a-1).  s, uniform from 0 to 1 + a/e, tells the two apart, and below 1 it decides on keeping x
 * as well.  The first s and E are given. */
static double sparse_from(phl_rng *rng, double a, double s, double exponential, double *factor)
{
    while (a > 0) {
        if (s <= 1) {
            double fall = exponential / a;
            double x = exp(-fall);
            if (s <= 1 - x || s < exp(-x)) {
                *factor = x;
                return fall;
            }
        } else {
            double log_x = log1p(exponential);
            if (phl_rng_uniform(rng) < exp((a - 1) * log_x)) {
                *factor = 1 + exponential;
                return -log_x;
            }
        }
        s = phl_rng_uniform(rng) * (1 + a * INVERSE_E);
        exponential = phl_rng_exponential(rng);
    }
    *factor = 0;
    return INFINITY;
}

/* A draw as base times factor, factor = e^-fall; shape 0 gives a fall of +inf. */
static double gamma_parts(phl_rng *rng, double shape, double *fall, double *factor)
{
    if (shape >= 1) {
        *fall = 0;
        *factor = 1;
        return gamma_large(rng, shape);
    }
    double exponential = phl_rng_exponential(rng);
    if (shape < SPARSE) {
        double s = phl_rng_uniform(rng) * (1 + shape * INVERSE_E);
        *fall = sparse_from(rng, shape, s, exponential, factor);
        return 1;
    }
    *fall = exponential / shape;
    *factor = exp(-*fall);
    return gamma_large(rng, shape + 1);
}

double phl_gamma_draw(phl_rng *rng, double shape)
{
    double fall;
    double factor;
    double base = gamma_parts(rng, shape, &fall, &factor);
    return base * factor;
}

double phl_log_gamma_draw(phl_rng *rng, double shape)
{
    if (shape >= 1) {
        return log(gamma_large(rng, shape));
    }
    double exponential = phl_rng_exponential(rng);
    if (shape < SPARSE) {
        double factor;
        double s = phl_rng_uniform(rng) * (1 + shape * INVERSE_E);
        return -sparse_from(rng, shape, s, exponential, &factor);
    }
    return log(gamma_large(rng, shape + 1)) - exponential / shape;
}

/* ---- Rows of gamma draws ------------------------------------------------------------------- */

enum {
    ROW = 128,     /* draws taken together */
    SHORT_ROW = 12 /* fewer are faster one by one (measured) */
};

/* Independent gamma draws.  Draw i is base[i], for shapes below 1 times factor = e^-fall: the j-th
 * of these, of n_small, is draw small[j] and has factor[j] and fall[j]. */
typedef struct gamma_row {
    double base[ROW];
    size_t n_small;
    uint8_t small[ROW];
    double fall[ROW];
    double factor[ROW];
} gamma_row;

/* Places in a row. */
typedef struct place_list {
    size_t count;
    uint8_t at[ROW];
} place_list;

static void draw_short(phl_rng *rng, const double *shape, size_t count, gamma_row *row)
{
    row->n_small = 0;
    for (size_t i = 0; i < count; i++) {
        size_t j = row->n_small;
        row->base[i] = gamma_parts(rng, shape[i], &row->fall[j], &row->factor[j]);
        row->small[j] = (uint8_t)i;
        row->n_small += shape[i] < 1;
    }
}

/* Shape 1. */
static void draw_ones(phl_rng *rng, const place_list *list, gamma_row *row)
{
    double value[ROW];
    phl_rng_exponentials(rng, list->count, value);
    for (size_t j = 0; j < list->count; j++) {
        row->base[list->at[j]] = value[j];
    }
}

/* Shapes from SPARSE on. */
static void draw_large(phl_rng *rng, const double *shape, const place_list *list, gamma_row *row)
{
    double d[ROW];
    double c[ROW];
    double x[ROW];
    double u[ROW];
    size_t smalls = 0;
    for (size_t j = 0; j < list->count; j++) {
        double a = shape[list->at[j]];
        row->small[smalls] = list->at[j];
        row->fall[smalls] = a;
        smalls += a < 1;
        d[j] = (a < 1 ? a + 1 : a) - 1.0 / 3;
    }
    for (size_t j = 0; j < list->count; j++) {
        c[j] = 1 / sqrt(9 * d[j]);
    }
    phl_rng_normals(rng, list->count, x);
    phl_rng_uniforms(rng, list->count, u);
    for (size_t j = 0; j < list->count; j++) {
        double root = 1 + c[j] * x[j];
        double square = x[j] * x[j];
        bool sure = root > 0 && u[j] < 1 - 0.0331 * square * square;
        row->base[list->at[j]] =
            sure ? d[j] * (root * root * root) : large_from(rng, d[j], c[j], x[j], u[j]);
    }
    phl_rng_exponentials(rng, smalls, x);
    for (size_t j = 0; j < smalls; j++) {
        row->fall[j] = x[j] / row->fall[j];
        row->factor[j] = -row->fall[j];
    }
    phl_exps(row->factor, smalls, row->factor);
    row->n_small = smalls;
}

/* Shapes below SPARSE, after draw_large. */
static void draw_sparse(phl_rng *rng, const double *shape, const place_list *list, gamma_row *row)
{
    double *fall = row->fall + row->n_small;
    double *factor = row->factor + row->n_small;
    double s[ROW];
    double value[ROW];
    phl_rng_exponentials(rng, list->count, value);
    phl_rng_uniforms(rng, list->count, s);
    for (size_t j = 0; j < list->count; j++) {
        double a = shape[list->at[j]];
        row->base[list->at[j]] = 1;
        row->small[row->n_small + j] = list->at[j];
        s[j] *= 1 + a * INVERSE_E;
        fall[j] = value[j] / a;
        factor[j] = -fall[j];
    }
    phl_exps(factor, list->count, factor);
    for (size_t j = 0; j < list->count; j++) {
        if (!(s[j] <= 1 - factor[j])) { /* not below e^-x for sure */
            fall[j] = sparse_from(rng, shape[list->at[j]], s[j], value[j], &factor[j]);
        }
    }
    row->n_small += list->count;
}

/* Draws for up to ROW shapes. */
static void draw_row(phl_rng *rng, const double *shape, size_t count, gamma_row *row)
{
    if (count < SHORT_ROW) {
        draw_short(rng, shape, count, row);
        return;
    }
    place_list one; /* lists made without branches, which could not be foretold */
    place_list other;
    size_t ones = 0;
    for (size_t i = 0; i < count; i++) {
        one.at[ones] = (uint8_t)i;
        other.at[i - ones] = (uint8_t)i;
        ones += !(shape[i] < 1) & !(shape[i] > 1);
    }
    one.count = ones;
    other.count = count - ones;
    place_list large;
    place_list sparse;
    size_t sparses = 0;
    for (size_t j = 0; j < other.count; j++) {
        sparse.at[sparses] = other.at[j];
        large.at[j - sparses] = other.at[j];
        sparses += shape[other.at[j]] < SPARSE;
    }
    sparse.count = sparses;
    large.count = other.count - sparses;
    draw_large(rng, shape, &large, row);
    draw_sparse(rng, shape, &sparse, row);
    draw_ones(rng, &one, row);
}

/* Make base[i] the whole draw and return the sum of all. */
static double add_up(gamma_row *row, size_t count)
{
    for (size_t j = 0; j < row->n_small; j++) {
        row->base[row->small[j]] *= row->factor[j];
    }
    return phl_sum_chunk(row->base, count);
}

/* ---- Dirichlet and beta -------------------------------------------------------------------- */

/* The sum of concentrations from which on the gamma draws may be added up as plain numbers.  Their
 * sum has a gamma law with that shape: a draw of shape 0.1 is a draw of shape 1.1 times e^(-10 E),
 * and E > 60, for which that would come near the smallest double, has probability 1e-26. */
#define PLAIN_CONCENTRATION 0.1

static bool is_plain(const double *concentration, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count && !(sum > PLAIN_CONCENTRATION); i++) {
        sum += concentration[i];
    }
    return sum > PLAIN_CONCENTRATION;
}

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
    if (!is_plain(concentration, count)) {
        phl_log_dirichlet_draw(rng, concentration, count, p);
        phl_exps(p, count, p);
        return;
    }
    gamma_row row;
    double total = 0;
    for (size_t begin = 0; begin < count; begin += ROW) {
        size_t now = count - begin < ROW ? count - begin : ROW;
        draw_row(rng, concentration + begin, now, &row);
        total += add_up(&row, now);
        memcpy(p + begin, row.base, now * sizeof *p);
    }
    double scale = 1 / total;
    for (size_t i = 0; i < count; i++) {
        p[i] *= scale;
    }
}

/* Rows of which several go into one row of gamma draws. */
static void draw_rows(phl_rng *rng, const double *concentration, size_t rows, size_t columns,
                      double *p)
{
    gamma_row row;
    draw_row(rng, concentration, rows * columns, &row);
    for (size_t j = 0; j < row.n_small; j++) {
        row.base[row.small[j]] *= row.factor[j];
    }
    for (size_t r = 0; r < rows; r++) {
        const double *base = row.base + r * columns;
        double *to = p + r * columns;
        if (!is_plain(concentration + r * columns, columns)) {
            phl_dirichlet_draw(rng, concentration + r * columns, columns, to);
            continue;
        }
        double scale = 1 / phl_sum_chunk(base, columns);
        for (size_t i = 0; i < columns; i++) {
            to[i] = base[i] * scale;
        }
    }
}

void phl_dirichlet_rows_draw(phl_rng *rng, const double *concentration, size_t rows, size_t columns,
                             double *p)
{
    size_t most = columns == 0 ? rows : ROW / columns;
    most = most == 0 ? 1 : most;
    for (size_t now; rows > 0; rows -= now) {
        now = rows < most ? rows : most;
        if (now == 1) {
            phl_dirichlet_draw(rng, concentration, columns, p);
        } else {
            draw_rows(rng, concentration, now, columns, p);
        }
        concentration += now * columns;
        p += now * columns;
    }
}

/* The logarithms of up to ROW gamma row.  With `plain`, also returns their sum. */
static double log_gammas(phl_rng *rng, const double *shape, size_t count, bool plain, double *logs)
{
    gamma_row row;
    draw_row(rng, shape, count, &row);
    phl_logs(row.base, count, logs);
    for (size_t j = 0; j < row.n_small; j++) {
        logs[row.small[j]] -= row.fall[j];
    }
    return plain ? add_up(&row, count) : 0;
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
    bool plain = is_plain(concentration, count);
    double total = 0;
    for (size_t begin = 0; begin < count; begin += ROW) {
        size_t now = count - begin < ROW ? count - begin : ROW;
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
    for (size_t begin = 0; begin < count; begin += ROW) {
        size_t now = count - begin < ROW ? count - begin : ROW;
        double shape[ROW];
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
