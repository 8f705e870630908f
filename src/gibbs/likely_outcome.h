/* likely_outcome.h - the state and cell that most occurrences of a group of twins have.
 *
 * Occurrences of twins (model/twins.h) that stand in no active slot are drawn alike and on their
 * own: the state from beta, then the cell.  Mostly one outcome is likely by far.  So it is drawn
 * how many of the occurrences to come have that outcome before the next one that has not (a
 * geometric number), and only for the latter what they have instead.  Used for internal subtrees
 * that occur once, when clustering is hard.
 */
#ifndef PHL_GIBBS_LIKELY_OUTCOME_H
#define PHL_GIBBS_LIKELY_OUTCOME_H

#include "gibbs/cell_draw.h"

/* Occurrences of a group that are drawn one by one before it is looked at in this way. */
enum { PHL_LIKELY_OUTCOME_AFTER = 1 };

typedef struct phl_likely_outcome {
    uint32_t
        met; /* occurrences so far, up to PHL_LIKELY_OUTCOME_AFTER + 1: then all below is valid */
    uint32_t state, cell;
    uint64_t run;        /* occurrences to come that have them */
    double odd;          /* probability of any other outcome */
    double odd_state;    /* probability of another state */
    double begin, width; /* where the cell lies between 0 and the total of its state */
} phl_likely_outcome;

typedef struct phl_likely_outcomes {
    phl_likely_outcome *group; /* [internal groups] */
    uint32_t *block;           /* [internal groups][slots] the cell's in each active slot */
    size_t n_slots;
    size_t group_capacity, block_capacity;
} phl_likely_outcomes;

/* Zero-initialised is empty. */
void phl_likely_outcome_clear(phl_likely_outcomes *likely);

/* The upward pass was run anew: forget all. */
phl_status phl_likely_outcome_prepare(phl_likely_outcomes *likely, const phl_upward *upward,
                                      phl_error *error);

/* Make the outcome of the group of s ready, g numbering internal groups, and draw the first run. */
void phl_likely_outcome_make(phl_likely_outcomes *likely, phl_cell_draw *cell_draw, uint32_t s,
                             size_t g, phl_rng *rng);

/* Draw the number of likely ones before the next other one. */
uint64_t phl_likely_outcome_run(double odd, phl_rng *rng);

#endif
