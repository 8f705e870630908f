/* schedule.h - what a chain does in which iteration: warm-up, annealing, soft stage, draws kept.
 *
 * Computed here alone, for the training that follows it and for whoever looks at a run afterwards.
 * Iterations are counted from the start of the chain, 0 being none done.
 */
#ifndef PHL_TRAIN_SCHEDULE_H
#define PHL_TRAIN_SCHEDULE_H

#include "base/error.h"

typedef struct phl_schedule {
    double anneal_start;   /* T0 */
    uint64_t anneal_end;   /* m0 */
    uint64_t soften;       /* the soft stage begins there; UINT64_MAX: never */
    uint64_t warm;         /* draws count after it, at temperature 1 */
    uint64_t total;        /* iterations of the chain */
    uint64_t shift;        /* of these, beyond those asked for: the soft stage's */
    uint64_t keep;         /* draws kept between warm-up and end, and of every extension */
    const size_t *earlier; /* [n_earlier] iterations asked for before the run was extended */
    size_t n_earlier;
} phl_schedule;

/* From resolved options of sampling; `earlier` is borrowed. */
phl_schedule phl_schedule_make(const phl_train_options *options, const size_t *earlier,
                               size_t n_earlier);

/* T(m) = max(T0^(1 - m / m0), 1) of the iteration that follows `done` others. */
double phl_schedule_temperature(const phl_schedule *schedule, uint64_t done);

/* Is the state after `done` iterations one of those kept: `keep` spread over what follows the
 * warm-up, and as many over every extension of the run? */
bool phl_schedule_keeps(const phl_schedule *schedule, uint64_t done);

/* Do the figures of iteration number `iteration`, from 1, count when chains are compared? */
static inline bool phl_schedule_counts(const phl_schedule *schedule, uint64_t iteration,
                                       double temperature)
{
    return iteration > schedule->warm && temperature == 1.0;
}

#endif
