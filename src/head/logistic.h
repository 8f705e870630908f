/* logistic.h - multinomial logistic regression by dual coordinate ascent.
 *
 * Rows x_i (sparse, with a constant 1 behind them) of weight m_i and class shares t_i; the
 * weights W [features + 1][K] minimise
 *
 *     1/2 |W|^2 + C sum_i m_i [log sum_k e^(z_ik) - sum_k t_ik z_ik],   z_i = W' x_i.
 *
 * The dual has a distribution q_i over the classes for each row, W = C sum_i m_i x_i (t_i - q_i)';
 * at the solution q_i is what the model says of row i, p_i = softmax(z_i).  In any order of rows
 * one q_i after the other is moved towards p_i, as far as is best.  The duality gap is C sum_i m_i
 * KL(q_i || p_i); training stops when KL is small on average.  Everything is in double precision
 * and in one fixed order.
 */
#ifndef PHL_HEAD_LOGISTIC_H
#define PHL_HEAD_LOGISTIC_H

#include "head/packed_rows.h"

/* Borrowed while it is solved. */
typedef struct phl_logistic_problem {
    size_t n, n_features, n_classes;
    const phl_packed_rows *rows;
    const double *scale;          /* [n] what the values of a row are multiplied by */
    const uint64_t *first_target; /* [n + 1] the classes of row i are number first_target[i] and so
                                     on; a row without is left out */
    const uint32_t *target;       /* class; one may come several times */
    const double *weight;         /* m_i t_ik */
} phl_logistic_problem;

typedef struct phl_logistic phl_logistic;

typedef struct phl_logistic_limits {
    double tolerance;     /* of the mean KL, in nats */
    size_t most_passes;   /* over all rows */
    phl_cancel_fn cancel; /* asked once per pass; may be NULL */
    void *context;
} phl_logistic_limits;

typedef struct phl_logistic_fit {
    size_t passes;
    double gap;  /* mean KL(q_i || p_i), weighted: the duality gap divided by C sum_i m_i */
    double loss; /* mean log-loss of the rows, weighted */
} phl_logistic_fit;

phl_status phl_logistic_create(const phl_logistic_problem *problem, uint64_t seed,
                               phl_logistic **logistic, phl_error *error);
void phl_logistic_free(phl_logistic *logistic);

/* Bytes that solving takes beside the problem. */
uint64_t phl_logistic_memory(size_t n, size_t n_features, size_t n_classes);

/* Solve for one C > 0, starting from the solution for the one before. */
phl_status phl_logistic_solve(phl_logistic *logistic, double c, const phl_logistic_limits *limits,
                              phl_logistic_fit *fit, phl_error *error);

/* W [features + 1][K], the constant last; borrowed. */
const double *phl_logistic_weights(const phl_logistic *logistic);
/* The same, to be released by the caller; nothing can be solved any more. */
double *phl_logistic_take_weights(phl_logistic *logistic);

/* z [K] of a row. */
void phl_logistic_scores(const double *weights, size_t n_features, size_t n_classes, size_t n,
                         const uint32_t *feature, const double *value, double *z);

#endif
