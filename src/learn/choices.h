/* choices.h - the cells of the core that a node can use, with their weights given its state.
 *
 * Twins (model/twins.h) have the same cells and weights, so these are listed once a group and
 * state, when they are first asked for, and kept while there is room.
 */
#ifndef PHL_LEARN_CHOICES_H
#define PHL_LEARN_CHOICES_H

#include "base/random.h"
#include "model/infer.h"

typedef struct phl_choices {
    const phl_upward *upward; /* borrowed */
    uint32_t *digit;          /* [modes][cells] block of each active slot in a cell */
    size_t stride;            /* cells of the core: room of one list */
    size_t n_places;          /* lists kept; group g has place (g - leaves) mod n_places */
    uint32_t *owner;          /* [n_places] group whose list it is */
    uint32_t *count;          /* [n_places] cells */
    uint32_t *cell;           /* [n_places][stride] */
    double *message;          /* [n_places][stride] product of the messages */
    uint8_t *has;             /* [n_places][C] are the sums below made? */
    double *sum;              /* [n_places][C][stride] running sums of the weights */
    size_t digit_capacity, owner_capacity, count_capacity, cell_capacity, message_capacity,
        has_capacity, sum_capacity;
} phl_choices;

/* Zero-initialised is empty. */
void phl_choices_clear(phl_choices *choices);

/* The upward pass was run anew: forget all lists. */
phl_status phl_choices_prepare(phl_choices *choices, const phl_upward *upward, phl_error *error);

/* Cells for a node of internal group g in state j, and running sums of their weights: in proportion
 * to lambda_z(j) prod m. */
typedef struct phl_choice {
    size_t count;
    const uint32_t *cell;
    const double *sum;
} phl_choice;
phl_choice phl_choices_of(phl_choices *choices, uint32_t g, uint32_t j);

/* Draw one: its number. */
static inline size_t phl_choice_draw(const phl_choice *choice, phl_rng *rng)
{
    const double *sum = choice->sum;
    size_t low = 0, high = choice->count - 1; /* the first sum beyond the target, or the last */
    double target = phl_rng_uniform(rng) * sum[high];
    while (low < high) {
        size_t middle = (low + high) / 2;
        bool beyond = sum[middle] > target;
        high = beyond ? middle : high;
        low = beyond ? low : middle + 1;
    }
    while (low > 0 && sum[low - 1] == sum[low]) { /* the target was rounded up to the total */
        low--;
    }
    return low;
}

#endif
