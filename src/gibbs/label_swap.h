/* label_swap.h - the label swap: two hidden states change places in a group of nodes with one
 * label.
 *
 * A group is fixed by the data (label_groups.h).  a is the state of a node of it drawn at random, b
 * one of the other states; nodes of the group in a go to b and those in b to a.  That undoes
 * itself, and {a, b} is drawn with the same probability before and after, so the proposal cancels:
 * it is taken with probability min(1, ratio of p(x, Q, c | lambda0)), pi, b and lambda integrated
 * out, a ratio of rising factorials of the counts that change.
 *
 * On counts (state_counts.h): of every subtree of the group the occurrences in a and in b change
 * places, in its portions and in its pairs.  Where the two states lie in different blocks of an
 * active slot, parents move to other cells: those that show the one block to the other.  Who of
 * them has which child must be certain, so a swap is left alone when a pair has children of other
 * states in the two blocks; that is so after it if and only if it was so before.
 */
#ifndef PHL_GIBBS_LABEL_SWAP_H
#define PHL_GIBBS_LABEL_SWAP_H

#include "gibbs/gibbs.h"
#include "gibbs/label_groups.h"

struct phl_label_swap {
    phl_label_groups *groups;
    size_t *place;   /* [n_pairs] of a pair in an eligible slot: its number in phl_slot_pairs */
    size_t tries;    /* in an iteration */
    int64_t *totals; /* [C] nodes with known labels by state */
    phl_move_count count;
    /* Portions that would change, and how. */
    uint32_t *touched;
    size_t n_touched, touched_capacity;
    uint8_t *mark; /* [n_portions] LISTED, FLIPPED; 0 between moves */
    size_t mark_capacity;
    int64_t *shift; /* [n_portions] change of the cell; 0 between moves */
    size_t shift_capacity;
    /* Counts that would change; all 0 between moves. */
    int64_t *cell_change; /* [n_cells][C] */
    size_t cell_change_capacity;
    int64_t *total_change; /* [n_cells] */
    size_t total_change_capacity;
    int64_t *prior_change; /* [L + 1] leaves that go from a to b */
    uint32_t *rows;        /* rows of pi touched */
    uint8_t *row_listed;   /* [L + 1] */
    size_t n_rows;
    size_t *keys; /* of cell_change, some perhaps twice */
    size_t n_keys, key_capacity;
    bool changed;
};

phl_status phl_label_swap_create(const phl_gibbs *gibbs, phl_label_swap **swap, phl_error *error);
void phl_label_swap_free(phl_label_swap *swap);

/* Make ready for moves: phl_partitions_set_base was called on the counts there are. */
phl_status phl_label_swap_begin(phl_gibbs *gibbs, phl_error *error);
/* One move on group g. */
void phl_label_swap_try(phl_gibbs *gibbs, size_t g, double temperature, phl_rng *rng);
/* After moves: what depends on all of them. */
void phl_label_swap_end(phl_gibbs *gibbs);

/* As many moves on random groups as cost about a tenth of an iteration. */
phl_status phl_label_swap_sweep(phl_gibbs *gibbs, double temperature, phl_error *error);

#endif
