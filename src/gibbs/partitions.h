/* partitions.h - partitions of the child values of every eligible slot, and the moves that change
 * them, with lambda integrated out.
 *
 * The target of every move, given the hidden states and lambda0, is
 *   prod over cells z of B(alpha lambda0 + n_z) / B(alpha lambda0)  x  prod over slots p(k) /
 * S(C+1, k) to the power 1 / temperature, confined to: the number of active slots (k > 1) in
 * [slots_min, slots_max], at most core_max cells, and fixed sizes if asked for
 * (docs/maths.md).
 *
 * Moves (a) and (b) work on one slot, which must be open: its children are dealt out to their
 * parents (slot_view.h), and the counts of the cells lie in slabs, one per block of that slot, so
 * that a block can come and go.  Portions are brought up to date when the slot is closed, if
 * anything changed.
 */
#ifndef PHL_GIBBS_PARTITIONS_H
#define PHL_GIBBS_PARTITIONS_H

#include "base/numeric.h"
#include "gibbs/slot_view.h"
#include "model/params.h"

typedef struct phl_partition_prior {
    double phi;
    uint32_t slots_min, slots_max; /* active slots */
    uint64_t core_max;             /* cells */
    const uint32_t *fixed;         /* [E] size of each eligible slot; NULL: sizes are learned */
} phl_partition_prior;

/* Moves tried and changes made, by type. */
typedef struct phl_move_count {
    uint64_t tried, changed;
} phl_move_count;

typedef struct phl_partitions {
    phl_state_counts *counts; /* borrowed */
    phl_partition_prior prior;
    uint32_t states, n_eligible;
    uint32_t *size;  /* [E] k */
    uint32_t *block; /* [E][C + 1] blocks 0 .. k - 1, none empty */
    uint32_t n_active;
    size_t *stride; /* [E] cells per step of the slot's block; 0 when inactive */
    size_t n_cells;
    int64_t *cells;  /* [n_cells][C] n_z(j) */
    int64_t *totals; /* [n_cells] */
    size_t cell_capacity, total_capacity;
    uint32_t *live; /* cells with any count */
    size_t n_live, live_capacity;

    double alpha;
    phl_rising *rising;      /* [C] log (alpha lambda0_j)_n */
    phl_rising rising_total; /* log (alpha)_n */
    phl_stirling stirling;   /* up to C + 1 */

    /* The open slot. */
    bool is_open, changed;
    uint32_t open;
    uint32_t *open_block; /* [C + 1] its blocks when it was opened */
    phl_rng open_rng;     /* the random numbers its children were dealt with */
    phl_slot_layout layout;
    phl_slot_view view;
    const int64_t *slab;       /* [k][n_rest][C]: `cells` while they serve, or own_slab */
    const int64_t *slab_total; /* [k][n_rest] */
    int64_t *own_slab, *own_slab_total;
    size_t own_slab_capacity, own_slab_total_capacity;

    /* Work space. */
    uint32_t *identity, *zeros; /* [n_cells] layout of an inactive slot */
    size_t identity_capacity, zeros_capacity;
    uint32_t *rest, *digit; /* [n_cells] of an active one */
    size_t rest_capacity, digit_capacity;
    int64_t *gathered; /* [n_rest][C] counts of the values that would move; 0 when not in use */
    size_t gathered_capacity;
    uint32_t *touched; /* rests of `gathered` in use */
    size_t n_touched, touched_capacity;
    uint8_t *is_touched;
    size_t is_touched_capacity;
    double *weights; /* [C + 2] */
    bool *moved;     /* [C + 1] */
    uint32_t *order; /* [E], [C + 1] */
    phl_move_count reassigned, split, merged, carried;
} phl_partitions;

phl_status phl_partitions_create(phl_state_counts *counts, const phl_partition_prior *prior,
                                 phl_partitions **partitions, phl_error *error);
void phl_partitions_free(phl_partitions *partitions);

/* alpha and log lambda0 [C] for the moves to come, on the portions counted last. */
phl_status phl_partitions_set_base(phl_partitions *partitions, double alpha,
                                   const double *log_lambda0, phl_error *error);
/* The same for scores alone, which are few: without tables. */
void phl_partitions_set_score_base(phl_partitions *partitions, double alpha,
                                   const double *log_lambda0);

/* Sizes were set, and portions are new: the layout of the cells and their counts.  Cells of
 * portions must be those of that layout: the last active slot runs fastest, as in the core of a
 * model. */
phl_status phl_partitions_count(phl_partitions *partitions, phl_error *error);

/* Log of the target at temperature 1: all cells, prior included. */
double phl_partitions_score(const phl_partitions *partitions);
double phl_partitions_log_prior(const phl_partitions *partitions); /* -inf outside the confines */

/* Open slot e for moves (a) and (b), and close it. */
phl_status phl_partition_slot_open(phl_partitions *partitions, uint32_t e, phl_rng *rng,
                                   phl_error *error);
phl_status phl_partition_slot_close(phl_partitions *partitions, phl_rng *rng, phl_error *error);

/* (a) One value of the open slot to any block or a new one, drawn from its exact conditional. */
phl_status phl_partition_reassign(phl_partitions *partitions, uint32_t value, double temperature,
                                  phl_rng *rng, phl_error *error);
/* (b) Two values of the open slot drawn at random: their common block is split between them, the
 * others going either way by a fair coin; or their two blocks are merged. */
phl_status phl_partition_split_merge(phl_partitions *partitions, double temperature, phl_rng *rng,
                                     phl_error *error);
/* (c) The partition of a random active slot goes over to a random inactive one.  No slot may be
 * open. */
phl_status phl_partition_carry(phl_partitions *partitions, double temperature, phl_rng *rng,
                               phl_error *error);

/* One sweep: every slot in random order, in it every value in random order and a split or merge;
 * then a few carries. */
phl_status phl_partition_sweep(phl_partitions *partitions, double temperature, phl_rng *rng,
                               phl_error *error);

/* The active slots as axes of a model (block arrays borrowed); returns how many. */
uint32_t phl_partitions_axes(const phl_partitions *partitions, phl_axis *axes);

#endif
