/* convergence.h - have chains converged, and how much are their draws worth?
 *
 * Rank-normalised split R-hat, bulk and tail effective sample size (ESS), and the Monte Carlo
 * standard error (MCSE) of the mean: A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C.
 * Bürkner, "Rank-normalization, folding, and localization: an improved R-hat", Bayesian Analysis 16
 * (2021), with every convention of the R package `posterior` (1.4.0), which the tests compare with.
 */
#ifndef PHL_TRAIN_CONVERGENCE_H
#define PHL_TRAIN_CONVERGENCE_H

#include <math.h>

#include "base/error.h"

/* One quantity over several chains.  NaN is posterior's NA: constant or not finite, or too short.
 */
typedef struct phl_convergence {
    bool finite;                   /* every draw is */
    bool constant;                 /* all draws of all chains are equal */
    bool stuck;                    /* every chain is constant, but not at the same value */
    double mean, sd;               /* of all draws; sd with divisor draws - 1 */
    double rhat_rank, rhat_folded; /* of ranks (location), of ranks of |x - median| (scale) */
    double rhat;                   /* the larger; NaN if one of them is, as when x has two values,
                                      equally often */
    double ess_bulk, ess_tail, ess_mean;
    double mcse_mean;
} phl_convergence;

/* draws [chains][n].  Fails for want of memory only. */
phl_status phl_convergence_measure(const double *draws, size_t chains, size_t n,
                                   phl_convergence *convergence, phl_error *error);

/* The R-hat to tell: the larger of both, or that of ranks where the other is not defined. */
static inline double phl_convergence_rhat(const phl_convergence *convergence)
{
    return isnan(convergence->rhat) ? convergence->rhat_rank : convergence->rhat;
}

/* Is a chain of so many draws compared with others, the longest of which has `longest`?  One that
 * lags far behind must not cut them short. */
static inline bool phl_convergence_compares(uint64_t draws, uint64_t longest)
{
    return draws > 0 && draws >= longest - longest / 2;
}

/* Quantile p of values sorted ascending, n >= 1, interpolated linearly (R's type 7). */
double phl_convergence_quantile(const double *sorted, size_t n, double p);
void phl_convergence_sort(double *values, size_t n);

/* The x for which a standard normal variable is below it with probability p; 0 < p < 1. */
double phl_convergence_normal_quantile(double p);

#endif
