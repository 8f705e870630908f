/* expert_pool.c - products of voices, and their weights; see expert.h.
 *
 * The weights w of a pattern maximise sum_i log p_w(label_i) - shrinkage / 2 |w - w0|^2, where
 * log p_w = sum_v w_v log p_v - log of the sum over labels: concave, solved by Newton's method with
 * halved steps.
 */
#include "expert/expert.h"

#include <math.h>
#include <string.h>

#include "base/logs.h"
#include "base/memory.h"

/* Prior weight of the starting point: of the weights of all patterns together, and of one. */
static const double shrinkage_all = 1.0, shrinkage_one = 10.0;
static const size_t most_steps = 30;

void phl_expert_pool(const double *log_p, const double *weights, size_t n, size_t width, double *p)
{
    double top = -INFINITY, sum = 0.0;
    for (size_t x = 0; x < width; x++) {
        double z = 0.0;
        for (size_t v = 0; v < n; v++) {
            z += weights[v] * log_p[v * width + x];
        }
        p[x] = z;
        top = z > top ? z : top;
    }
    for (size_t x = 0; x < width; x++) {
        p[x] -= top;
    }
    phl_exps(p, width, p);
    for (size_t x = 0; x < width; x++) {
        sum += p[x];
    }
    for (size_t x = 0; x < width; x++) {
        p[x] /= sum;
    }
}

void phl_expert_pool_clear(phl_expert_samples *samples)
{
    phl_free(samples->log_p);
    phl_free(samples->label);
    phl_free(samples->pattern);
    *samples = (phl_expert_samples){0};
}

enum { MOST = PHL_EXPERT_MOST_VOICES };

struct fit {
    const phl_expert_samples *samples;
    size_t pattern; /* PHL_EXPERT_PATTERNS: all */
    double shrinkage;
    const double *w0; /* [n_voices] */
    double *p;        /* [width] */
    double gradient[MOST], hessian[MOST][MOST];
};

/* Of one sample: its share of the objective, and of gradient and (negative) Hessian if wanted. */
static double add_sample(struct fit *fit, size_t i, const double *w, bool derive)
{
    const phl_expert_samples *samples = fit->samples;
    size_t n = samples->n_voices, width = samples->width;
    const float *log_p = samples->log_p + i * n * width;
    double *p = fit->p, top = -INFINITY, sum = 0.0, mean[MOST], own = 0.0;
    for (size_t x = 0; x < width; x++) {
        p[x] = 0.0;
    }
    for (size_t v = 0; v < n; v++) {
        for (size_t x = 0; x < width; x++) {
            p[x] += w[v] * (double)log_p[v * width + x];
        }
    }
    for (size_t x = 0; x < width; x++) {
        top = p[x] > top ? p[x] : top;
    }
    own = p[samples->label[i]] - top;
    for (size_t x = 0; x < width; x++) {
        p[x] -= top;
    }
    phl_exps(p, width, p);
    for (size_t x = 0; x < width; x++) {
        sum += p[x];
    }
    for (size_t v = 0; derive && v < n; v++) {
        mean[v] = 0.0;
        for (size_t x = 0; x < width; x++) {
            mean[v] += p[x] * (double)log_p[v * width + x];
        }
        mean[v] /= sum;
        fit->gradient[v] += (double)log_p[v * width + samples->label[i]] - mean[v];
        for (size_t u = 0; u <= v; u++) {
            double both = 0.0;
            for (size_t x = 0; x < width; x++) {
                both += p[x] * (double)log_p[v * width + x] * (double)log_p[u * width + x];
            }
            fit->hessian[v][u] += both / sum - mean[v] * mean[u];
        }
    }
    return own - log(sum);
}

static double objective(struct fit *fit, const double *w, bool derive)
{
    size_t n = fit->samples->n_voices;
    double value = 0.0;
    for (size_t v = 0; v < n; v++) {
        double away = w[v] - fit->w0[v];
        value -= 0.5 * fit->shrinkage * away * away;
        if (derive) {
            fit->gradient[v] = -fit->shrinkage * away;
            memset(fit->hessian[v], 0, sizeof fit->hessian[v]);
            fit->hessian[v][v] = fit->shrinkage;
        }
    }
    for (size_t i = 0; i < fit->samples->n; i++) {
        if (fit->pattern == PHL_EXPERT_PATTERNS || fit->samples->pattern[i] == fit->pattern) {
            value += add_sample(fit, i, w, derive);
        }
    }
    return value;
}

/* Solve hessian * step = gradient by the Cholesky decomposition; the diagonal is at least the
 * shrinkage. */
static void solve(struct fit *fit, size_t n, double *step)
{
    double(*h)[MOST] = fit->hessian;
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < j; k++) {
            h[j][j] -= h[j][k] * h[j][k];
        }
        h[j][j] = sqrt(h[j][j] > 1e-12 ? h[j][j] : 1e-12);
        for (size_t i = j + 1; i < n; i++) {
            for (size_t k = 0; k < j; k++) {
                h[i][j] -= h[i][k] * h[j][k];
            }
            h[i][j] /= h[j][j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        step[i] = fit->gradient[i];
        for (size_t k = 0; k < i; k++) {
            step[i] -= h[i][k] * step[k];
        }
        step[i] /= h[i][i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) {
            step[i] -= h[k][i] * step[k];
        }
        step[i] /= h[i][i];
    }
}

static void maximise(struct fit *fit, double *w)
{
    size_t n = fit->samples->n_voices;
    double step[MOST], tried[MOST];
    memcpy(w, fit->w0, n * sizeof *w);
    double value = objective(fit, w, true), gain = INFINITY;
    for (size_t i = 0; i < most_steps && gain > 1e-4; i++) {
        double size = 1.0, reached = -INFINITY;
        solve(fit, n, step);
        for (; size > 1e-6; size /= 2.0) {
            for (size_t v = 0; v < n; v++) {
                tried[v] = w[v] + size * step[v];
            }
            reached = objective(fit, tried, false);
            if (reached >= value) {
                break;
            }
        }
        gain = reached - value;
        if (gain > 0.0) {
            memcpy(w, tried, n * sizeof *w);
            value = objective(fit, w, true);
        }
    }
}

phl_status phl_expert_pool_fit(const phl_expert_samples *samples,
                               double weights[PHL_EXPERT_PATTERNS][PHL_EXPERT_MOST_VOICES],
                               phl_error *error)
{
    double equal[MOST] = {0}, all[MOST];
    for (size_t v = 0; v < samples->n_voices; v++) {
        equal[v] = 1.0 / (double)samples->n_voices;
    }
    struct fit fit = {.samples = samples,
                      .pattern = PHL_EXPERT_PATTERNS,
                      .shrinkage = shrinkage_all,
                      .w0 = equal,
                      .p = phl_alloc(samples->width, sizeof *fit.p, error)};
    if (fit.p == NULL) {
        return PHL_ERR_MEMORY;
    }
    maximise(&fit, all);
    fit.w0 = all;
    fit.shrinkage = shrinkage_one;
    for (size_t i = 0; i < PHL_EXPERT_PATTERNS; i++) {
        fit.pattern = i;
        maximise(&fit, weights[i]);
    }
    phl_free(fit.p);
    return PHL_OK;
}
