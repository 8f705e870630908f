/* states_choice.h - how the number of states of a run was chosen, where training chose it: the
 * numbers that were tried and what trees held out said of each.
 *
 * In a run file it is the fact "states_tried": the number of trees held out, then for every number
 * of states that number and the log-likelihood of a node, separated by spaces.
 */
#ifndef PHL_MODEL_STATES_CHOICE_H
#define PHL_MODEL_STATES_CHOICE_H

#include "model/run.h"

#define PHL_KEY_STATES_TRIED "states_tried"

enum { PHL_MOST_STATES_TRIED = 16 };

typedef struct phl_states_choice {
    size_t trees; /* held out */
    size_t n;
    struct {
        uint32_t states;
        double nats; /* log-likelihood of a node, labels without shape */
    } tried[PHL_MOST_STATES_TRIED];
} phl_states_choice;

/* Into the facts of the run. */
phl_status phl_states_choice_record(phl_run *run, const phl_states_choice *choice,
                                    phl_error *error);

/* From them; false: nothing was chosen, or the fact makes no sense. */
bool phl_states_choice_read(const phl_run *run, phl_states_choice *choice);

/* The number of states with the highest log-likelihood, the least one of equals. */
uint32_t phl_states_choice_best(const phl_states_choice *choice);

#endif
