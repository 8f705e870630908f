/* logistic.c - multinomial logistic regression by dual coordinate ascent; see logistic.h. */
#include "head/logistic.h"

#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/logs.h"
#include "base/memory.h"
#include "base/sampler.h"

struct phl_logistic {
    const phl_logistic_problem *problem;
    uint64_t seed, passes;       /* that were made, for all C */
    double c;                    /* of the solution at hand; 0: none yet */
    double total;                /* weight of all rows */
    size_t n_rows;               /* with a weight */
    uint32_t *order;             /* [n_rows] the rows, shuffled for every pass */
    double *q;                   /* [n][K] */
    double *norm;                /* [n] |x_i|^2 */
    double *mass;                /* [n] m_i */
    double *weights;             /* [features + 1][K] */
    double *z, *y, *step, *work; /* [K] of the row at hand */
    uint32_t *feature;           /* of the row at hand: [widest] */
    double *value;
};

#define PURPOSE_ORDER                                                                              \
    0x6f726472u /* "ordr": of random numbers; no other purpose has it (model/purposes.h) */

uint64_t phl_logistic_memory(size_t n, size_t n_features, size_t n_classes)
{
    size_t numbers = phl_times(n_classes, n + n_features + 8) / 2 + n * 2;
    return numbers > SIZE_MAX / 32 ? UINT64_MAX : (uint64_t)numbers * 16;
}

void phl_logistic_free(phl_logistic *logistic)
{
    if (logistic != NULL) {
        phl_free(logistic->order);
        phl_free(logistic->q);
        phl_free(logistic->norm);
        phl_free(logistic->mass);
        phl_free(logistic->weights);
        phl_free(logistic->z);
        phl_free(logistic->feature);
        phl_free(logistic->value);
        phl_free(logistic);
    }
}

/* W = 0: q_i is the shares of the classes. */
static void start(phl_logistic *made)
{
    const phl_logistic_problem *problem = made->problem;
    size_t classes = problem->n_classes;
    for (size_t i = 0; i < problem->n; i++) {
        made->norm[i] = 1.0;
        size_t n =
            phl_packed_rows_get(problem->rows, i, problem->scale[i], made->feature, made->value);
        for (size_t j = 0; j < n; j++) {
            made->norm[i] += made->value[j] * made->value[j];
        }
        made->mass[i] = 0.0;
        for (uint64_t j = problem->first_target[i]; j < problem->first_target[i + 1]; j++) {
            made->mass[i] += problem->weight[j];
        }
        if (made->mass[i] > 0.0) {
            made->order[made->n_rows++] = (uint32_t)i;
            made->total += made->mass[i];
            for (uint64_t j = problem->first_target[i]; j < problem->first_target[i + 1]; j++) {
                made->q[i * classes + problem->target[j]] += problem->weight[j] / made->mass[i];
            }
        }
    }
}

phl_status phl_logistic_create(const phl_logistic_problem *problem, uint64_t seed,
                               phl_logistic **logistic, phl_error *error)
{
    size_t n = problem->n, classes = problem->n_classes;
    phl_logistic *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->problem = problem;
    made->seed = seed;
    made->order = phl_alloc(n, sizeof *made->order, error);
    made->norm = phl_alloc(n, sizeof *made->norm, error);
    made->mass = phl_alloc(n, sizeof *made->mass, error);
    made->q = phl_alloc_zero(phl_times(n, classes), sizeof *made->q, error);
    made->weights =
        phl_alloc_zero(phl_times(problem->n_features + 1, classes), sizeof *made->weights, error);
    made->z = phl_alloc(phl_times(4, classes), sizeof *made->z, error);
    made->feature = phl_alloc(problem->rows->widest, sizeof *made->feature, error);
    made->value = phl_alloc(problem->rows->widest, sizeof *made->value, error);
    if (made->feature == NULL || made->value == NULL || made->order == NULL || made->norm == NULL ||
        made->mass == NULL || made->q == NULL || made->weights == NULL || made->z == NULL) {
        phl_logistic_free(made);
        return PHL_ERR_MEMORY;
    }
    made->y = made->z + classes;
    made->step = made->y + classes;
    made->work = made->step + classes;
    start(made);
    *logistic = made;
    return PHL_OK;
}

const double *phl_logistic_weights(const phl_logistic *logistic)
{
    return logistic->weights;
}

double *phl_logistic_take_weights(phl_logistic *logistic)
{
    double *weights = logistic->weights;
    logistic->weights = NULL;
    return weights;
}

PHL_CLONES
void phl_logistic_scores(const double *weights, size_t n_features, size_t n_classes, size_t n,
                         const uint32_t *feature, const double *value, double *z)
{
    const double *constant = weights + n_features * n_classes;
    for (size_t k = 0; k < n_classes; k++) {
        z[k] = constant[k];
    }
    for (size_t j = 0; j < n; j++) {
        const double *row = weights + (size_t)feature[j] * n_classes;
        for (size_t k = 0; k < n_classes; k++) {
            z[k] += value[j] * row[k];
        }
    }
}

/* W += x (step)'. */
PHL_CLONES
static void add_row(double *weights, size_t n_features, size_t n_classes, size_t n,
                    const uint32_t *feature, const double *value, const double *step)
{
    double *constant = weights + n_features * n_classes;
    for (size_t k = 0; k < n_classes; k++) {
        constant[k] += step[k];
    }
    for (size_t j = 0; j < n; j++) {
        double *row = weights + (size_t)feature[j] * n_classes;
        for (size_t k = 0; k < n_classes; k++) {
            row[k] += value[j] * step[k];
        }
    }
}

/* log sum e^z. */
static double find_log_sum(phl_logistic *logistic)
{
    size_t classes = logistic->problem->n_classes;
    const double *z = logistic->z;
    double *work = logistic->work, top = z[0], sum = 0.0;
    for (size_t k = 1; k < classes; k++) {
        top = z[k] > top ? z[k] : top;
    }
    for (size_t k = 0; k < classes; k++) {
        work[k] = z[k] - top;
    }
    phl_exps(work, classes, work);
    for (size_t k = 0; k < classes; k++) {
        sum += work[k];
    }
    return top + log(sum);
}

/* KL(q || p). */
static double divergence(phl_logistic *logistic, const double *q, double log_sum)
{
    size_t classes = logistic->problem->n_classes;
    double kl = log_sum, *work = logistic->work;
    phl_logs(q, classes, work);
    for (size_t k = 0; k < classes; k++) {
        kl += q[k] > 0.0 ? q[k] * (work[k] - logistic->z[k]) : 0.0;
    }
    return kl > 0.0 ? kl : 0.0;
}

/* w + log w = y, one step of Fritsch, Shafer and Crowley (1973) for each; logs are those of w. */
PHL_CLONES
static void refine(const double *y, const double *logs, size_t n, double *w)
{
    for (size_t k = 0; k < n; k++) {
        double rest = y[k] - w[k] - logs[k], over = 1.0 + w[k];
        double wide = 2.0 * over * (over + rest * (2.0 / 3.0));
        w[k] *= 1.0 + rest / over * ((wide - rest) / (wide - 2.0 * rest));
        w[k] = w[k] > 1e-300 ? w[k] : 1e-300;
    }
}

/* A first guess of the same, within some percent. */
static void guess(const double *y, size_t n, double *w, double *work)
{
    for (size_t k = 0; k < n; k++) {
        w[k] = y[k] < 1.0 ? y[k] : 1.0;
        w[k] = w[k] > -650.0 ? w[k] : -650.0;
        work[k] = y[k] > 1.0 ? y[k] : 1.0;
    }
    phl_exps(w, n, w);
    phl_logs(work, n, work);
    for (size_t k = 0; k < n; k++) {
        w[k] = y[k] < 1.0 ? w[k] / (1.0 + 0.75 * w[k]) : y[k] - work[k];
    }
}

/* The best q of a row with all others as they are, into `step`: q_k with
 *     log q_k + a q_k = z_k + a (the old q_k) - u,   u such that they add up to 1.
 * By Newton's method on u, which comes up to it from below after one step. */
static void solve_row(phl_logistic *logistic, const double *q, double a, double log_sum)
{
    enum { TURNS = 20 };
    size_t classes = logistic->problem->n_classes;
    const double log_a = log(a);
    double *y = logistic->y, *w = logistic->step, *work = logistic->work;
    for (size_t k = 0; k < classes; k++) {
        y[k] = logistic->z[k] + a * q[k] - log_sum + log_a;
    }
    guess(y, classes, w, work);
    for (int turn = 0; turn < TURNS; turn++) {
        double sum = 0.0, slope = 0.0;
        for (int again = turn == 0 ? 2 : 1; again > 0; again--) {
            phl_logs(w, classes, work);
            refine(y, work, classes, w);
        }
        for (size_t k = 0; k < classes; k++) {
            sum += w[k];
            slope += w[k] / (1.0 + w[k]);
        }
        double move = (sum - a) / slope;
        if (fabs(sum - a) < 1e-9 * a) {
            break;
        }
        for (size_t k = 0; k < classes; k++) {
            double down = move * w[k] / (1.0 + w[k]);
            y[k] -= move;
            w[k] = down < 0.9 * w[k] ? w[k] - down : 0.1 * w[k];
        }
    }
    double sum = 0.0;
    for (size_t k = 0; k < classes; k++) {
        sum += w[k];
    }
    for (size_t k = 0; k < classes; k++) {
        w[k] /= sum;
    }
}

/* One row: its KL and log-loss are added to the sums, and q_i moves. */
static void ascend(phl_logistic *logistic, size_t i, double *gap, double *loss)
{
    const phl_logistic_problem *problem = logistic->problem;
    size_t classes = problem->n_classes;
    size_t n = phl_packed_rows_get(problem->rows, i, problem->scale[i], logistic->feature,
                                   logistic->value);
    const uint32_t *feature = logistic->feature;
    const double *value = logistic->value;
    double *q = logistic->q + i * classes, *step = logistic->step;
    double scale = logistic->c * logistic->mass[i];
    phl_logistic_scores(logistic->weights, problem->n_features, classes, n, feature, value,
                        logistic->z);
    double log_sum = find_log_sum(logistic);
    double kl = divergence(logistic, q, log_sum);
    *gap += logistic->mass[i] * kl;
    *loss += logistic->mass[i] * log_sum;
    for (uint64_t j = problem->first_target[i]; j < problem->first_target[i + 1]; j++) {
        *loss -= problem->weight[j] * logistic->z[problem->target[j]];
    }
    if (kl < 1e-16) {
        return;
    }
    solve_row(logistic, q, scale * logistic->norm[i], log_sum);
    for (size_t k = 0; k < classes; k++) {
        double next = step[k];
        step[k] = scale * (q[k] - next);
        q[k] = next;
    }
    add_row(logistic->weights, problem->n_features, classes, n, feature, value, step);
}

phl_status phl_logistic_solve(phl_logistic *logistic, double c, const phl_logistic_limits *limits,
                              phl_logistic_fit *fit, phl_error *error)
{
    const phl_logistic_problem *problem = logistic->problem;
    size_t numbers = (problem->n_features + 1) * problem->n_classes;
    for (size_t i = 0; logistic->c > 0.0 && i < numbers; i++) {
        logistic->weights[i] *= c / logistic->c;
    }
    logistic->c = c;
    *fit = (phl_logistic_fit){.gap = INFINITY};
    while (fit->passes < limits->most_passes && fit->gap > limits->tolerance) {
        phl_rng rng;
        if (limits->cancel != NULL && limits->cancel(limits->context)) {
            return phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
        }
        phl_rng_init(&rng, logistic->seed, PURPOSE_ORDER, 0, logistic->passes++, 0);
        phl_shuffle(&rng, logistic->n_rows, logistic->order);
        fit->gap = fit->loss = 0.0;
        for (size_t u = 0; u < logistic->n_rows; u++) {
            ascend(logistic, logistic->order[u], &fit->gap, &fit->loss);
        }
        fit->gap /= logistic->total;
        fit->loss /= logistic->total;
        fit->passes++;
    }
    return PHL_OK;
}
