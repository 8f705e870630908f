/* calibration.c - how far class posteriors can be believed; see calibration.h. */
#include "grammar/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_gaps(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

double phl_calibration_decile(double *pairs, size_t n)
{
    double total = 0.0, below = 0.0;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        total += pairs[2 * i + 1];
    }
    qsort(pairs, n, 2 * sizeof *pairs, compare_gaps);
    for (size_t i = 0; i + 1 < n && below + pairs[2 * i + 1] <= 0.1 * total; i++) {
        below += pairs[2 * i + 1];
        found = i + 1;
    }
    return n > 0 && isfinite(pairs[2 * found]) ? pairs[2 * found] : 0.0;
}

double phl_calibration_gap(const double *row, size_t n, size_t own)
{
    double other = -INFINITY;
    for (size_t c = 0; c < n; c++) {
        other = c != own && row[c] > other ? row[c] : other;
    }
    return fabs(row[own] - other);
}

double phl_calibration_doubt(const phl_calibration_data *data, const double *score, double *room)
{
    size_t n = 0, k = data->n_classes;
    for (size_t t = 0; t < data->n; t++) {
        if (data->weight[t] > 0.0) {
            room[2 * n] = phl_calibration_gap(score + t * k, k, (size_t)data->class_of[t]);
            room[2 * n + 1] = data->weight[t];
            n++;
        }
    }
    return phl_calibration_decile(room, n);
}

double phl_calibration_posterior(const phl_calibration_data *data, double temperature)
{
    double sum = 0.0, total = 0.0;
    for (size_t t = 0; t < data->n; t++) {
        const double *row = data->score + t * data->n_classes;
        double most = -INFINITY, all = 0.0;
        for (size_t c = 0; c < data->n_classes; c++) {
            double value = data->log_prior[c] + row[c] / temperature;
            most = value > most ? value : most;
        }
        for (size_t c = 0; c < data->n_classes; c++) {
            all += exp(data->log_prior[c] + row[c] / temperature - most);
        }
        size_t own = (size_t)data->class_of[t];
        double log_posterior = data->log_prior[own] + row[own] / temperature - most - log(all);
        sum += data->weight[t] * log_posterior;
        total += data->weight[t];
    }
    if (total > 0.0 && data->doubt > 0.0) {
        sum -= data->doubt / temperature + log1p(exp(-data->doubt / temperature));
        total += 1.0;
    }
    return total > 0.0 ? sum / total : 0.0;
}

/* The mean log posterior is concave in 1/T, so it has one top: coarse steps find where, fine ones
 * around it find it. */
double phl_calibration_fit(const phl_calibration_data *data, double *best)
{
    enum { FIRST = -16, LAST = 96, COARSE = 8 }; /* 0.5 to 64, in steps of 4 % */
    int found = 0;
    *best = phl_calibration_posterior(data, 1.0);
    for (int step = COARSE, from = FIRST, to = LAST;; step = 1) {
        for (int i = from; i <= to; i += step) {
            double value = phl_calibration_posterior(data, exp2((double)i / 16.0));
            if (value > *best) {
                *best = value;
                found = i;
            }
        }
        if (step == 1) {
            return exp2((double)found / 16.0);
        }
        from = found - COARSE < FIRST ? FIRST : found - COARSE + 1;
        to = found + COARSE > LAST ? LAST : found + COARSE - 1;
    }
}

/* e^(z - log sum e^z) of K numbers, in place. */
static void normalise(double *z, size_t n)
{
    double most = -INFINITY, all = 0.0;
    for (size_t c = 0; c < n; c++) {
        most = z[c] > most ? z[c] : most;
    }
    for (size_t c = 0; c < n; c++) {
        z[c] = exp(z[c] - most);
        all += z[c];
    }
    for (size_t c = 0; c < n; c++) {
        z[c] /= all;
    }
}

/* Generalised iterative scaling: each class moves by the ratio of how often it is there to how
 * often it is expected, one tree of the old prior added to both. */
void phl_calibration_learn_prior(const phl_calibration_data *data, double temperature,
                                 double *log_prior, double *room)
{
    enum { ROUNDS = 50 };
    size_t n = data->n_classes;
    double *expected = room, *there = room + n, *row = room + 2 * n;
    memcpy(log_prior, data->log_prior, n * sizeof *log_prior);
    memcpy(row, data->log_prior, n * sizeof *row);
    normalise(row, n);
    for (size_t c = 0; c < n; c++) {
        there[c] = row[c];
    }
    for (size_t t = 0; t < data->n; t++) {
        there[data->class_of[t]] += data->weight[t];
    }
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(row, data->log_prior, n * sizeof *row);
        normalise(row, n);
        memcpy(expected, row, n * sizeof *expected);
        for (size_t t = 0; t < data->n; t++) {
            for (size_t c = 0; c < n; c++) {
                row[c] = log_prior[c] + data->score[t * n + c] / temperature;
            }
            normalise(row, n);
            for (size_t c = 0; c < n; c++) {
                expected[c] += data->weight[t] * row[c];
            }
        }
        for (size_t c = 0; c < n; c++) {
            log_prior[c] += log(there[c] / expected[c]);
        }
    }
}

/* What phl_calibration_blend makes largest, at u and v: its value, slope and (negated) curvature.
 */
struct slope {
    double value, by_u, by_v, uu, uv, vv;
};

static struct slope look(const phl_calibration_data *data, const double *a, const double *b,
                         const double doubt[2], double u, double v, double *row)
{
    double apart = u * doubt[0] + v * doubt[1], p = 1.0 / (1.0 + exp(-apart));
    size_t n = data->n_classes;
    struct slope s = {.value = -0.5 * ((u - 0.5) * (u - 0.5) + (v - 0.5) * (v - 0.5)) - apart -
                               log1p(exp(-apart)),
                      .by_u = 0.5 - u - p * doubt[0],
                      .by_v = 0.5 - v - p * doubt[1],
                      .uu = 1.0 + p * (1.0 - p) * doubt[0] * doubt[0],
                      .uv = p * (1.0 - p) * doubt[0] * doubt[1],
                      .vv = 1.0 + p * (1.0 - p) * doubt[1] * doubt[1]};
    for (size_t t = 0; t < data->n; t++) {
        const double *x = a + t * n, *y = b + t * n;
        size_t own = (size_t)data->class_of[t];
        double w = data->weight[t], mx = 0.0, my = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;
        for (size_t c = 0; c < n; c++) {
            row[c] = u * x[c] + v * y[c];
        }
        normalise(row, n);
        for (size_t c = 0; c < n; c++) {
            double dx = x[c] - x[own], dy = y[c] - y[own];
            mx += row[c] * dx;
            my += row[c] * dy;
            xx += row[c] * dx * dx;
            xy += row[c] * dx * dy;
            yy += row[c] * dy * dy;
        }
        s.value += w * log(row[own] > 1e-300 ? row[own] : 1e-300);
        s.by_u -= w * mx;
        s.by_v -= w * my;
        s.uu += w * (xx - mx * mx);
        s.uv += w * (xy - mx * my);
        s.vv += w * (yy - my * my);
    }
    return s;
}

/* Newton's method; a step that goes down or leaves the quadrant is shortened or bent. */
void phl_calibration_blend(const phl_calibration_data *data, const double *a, const double *b,
                           const double doubt[2], double weights[2], double *room)
{
    enum { STEPS = 40 };
    double u = 0.5, v = 0.5;
    struct slope at = look(data, a, b, doubt, u, v, room);
    for (int step = 0; step < STEPS; step++) {
        double det = at.uu * at.vv - at.uv * at.uv;
        double du = (at.by_u * at.vv - at.by_v * at.uv) / det;
        double dv = (at.by_v * at.uu - at.by_u * at.uv) / det;
        if (u + du <= 0.0 && u == 0.0) { /* along the border */
            du = 0.0;
            dv = at.by_v / at.vv;
        } else if (v + dv <= 0.0 && v == 0.0) {
            dv = 0.0;
            du = at.by_u / at.uu;
        }
        double size = 1.0, gain = -INFINITY, x = u, y = v;
        struct slope next = at;
        for (; size > 1e-6 && !(gain > 0.0); size *= 0.5) {
            x = fmax(u + size * du, 0.0);
            y = fmax(v + size * dv, 0.0);
            next = look(data, a, b, doubt, x, y, room);
            gain = next.value - at.value;
        }
        if (!(gain > 1e-9)) {
            break;
        }
        u = x;
        v = y;
        at = next;
    }
    weights[0] = u;
    weights[1] = v;
}
