/* cell_draw.h - drawing the cells of the core that nodes use, slot by slot.
 *
 * A node in state j whose blocks in n active slots are not known uses cell (z_0 .. z_n-1) in
 * proportion to lambda_z(j) m_0(z_0) .. m_n-1(z_n-1).  With R_0 = lambda(j) on the cells it can
 * use, R_i+1(z_i+1 .. z_n-1) = sum over z_i of m_i(z_i) R_i(z_i .. z_n-1), the blocks are drawn
 * from the last slot to the first: given those after it, z_i has a probability in proportion to
 * m_i(z_i) R_i(z_i .. z_n-1).  R_n is inside of the node.
 *
 * R depends on the group of twins (model/twins.h) and the state only: it is made when it is first
 * asked for, and kept while there is room.
 */
#ifndef PHL_GIBBS_CELL_DRAW_H
#define PHL_GIBBS_CELL_DRAW_H

#include "base/rng.h"
#include "model/infer.h"

/* An active slot, as the loops want it. */
typedef struct phl_cell_draw_axis {
    size_t size, stride; /* blocks; distance of two in the core, in cells */
    size_t bit;          /* of this slot in a set of slots; 0 if there is but one block */
    size_t empty_cell;   /* hard: stride times the block that an empty slot shows */
    const double *empty; /* soft: [size] what an empty slot shows; NULL when hard */
} phl_cell_draw_axis;

/* Occurrences that are the same in all but the first `left` of the slots to be drawn. */
typedef struct phl_cell_draw_batch {
    size_t left;
    size_t at,
        cell;     /* in R_left (see phl_cell_draw_slot) and in the core; block 0 where it is left */
    double total; /* R_left there */
    int64_t n;
} phl_cell_draw_batch;

typedef struct phl_cell_draw {
    const phl_upward *upward; /* borrowed */
    phl_cell_draw_axis axis[PHL_MAX_AXES];
    size_t blocks;      /* of all active slots */
    size_t most;        /* doubles of R_0 .. R_n-1 of one node */
    size_t n_sets;      /* of slots whose blocks are not known: 2^slots */
    double *pool;       /* R_0 by set and state, R_1 .. R_n-1 by group and state */
    size_t used, limit; /* doubles of the pool; when it is full all is forgotten */
    size_t *set_place;  /* [n_sets][C] R_0 in the pool + 1; 0: not made */
    size_t *place;      /* [groups][C] R_1 in the pool + 1, the others after it; 0: not made */
    /* Work space. */
    size_t *cell;                 /* [core_rows] */
    phl_cell_draw_batch *waiting; /* [blocks] batches of one node still to be divided */
    size_t pool_capacity, set_capacity, place_capacity, cell_capacity, waiting_capacity;
} phl_cell_draw;

/* Zero-initialised is empty. */
void phl_cell_draw_clear(phl_cell_draw *cell_draw);

/* The upward pass was run anew: forget all. */
phl_status phl_cell_draw_prepare(phl_cell_draw *cell_draw, const phl_upward *upward,
                                 phl_error *error);

/* A slot whose block is to be drawn. */
typedef struct phl_cell_draw_slot {
    const phl_cell_draw_axis *axis;
    uint32_t pair;   /* PHL_NO_PAIR: empty */
    const double *m; /* [size] its message */
    /* Of the state at hand: R_i is at rest[z * step + at] where z is the block in this slot, and at
     * adds up the same of those after it. */
    size_t step;
    const double *rest;
} phl_cell_draw_slot;

/* What a node can choose from. */
typedef struct phl_cell_draw_node {
    uint32_t group;
    size_t n;     /* slots whose block is not known */
    size_t cell;  /* where all of them show block 0 */
    double total; /* R_n in the state at hand */
    phl_cell_draw_slot slot[PHL_MAX_AXES];
} phl_cell_draw_node;

/* The cell_draw of internal subtree s; then, as often as wanted, those in state j. */
void phl_cell_draw_open(const phl_cell_draw *cell_draw, uint32_t s, phl_cell_draw_node *node);
void phl_cell_draw_in_state(phl_cell_draw *cell_draw, phl_cell_draw_node *node, uint32_t j);

/* Draw the block in a slot: *target is uniform between 0 and the total of what is left to draw, and
 * becomes so for the slots before this one. */
static inline size_t phl_cell_draw_block(const phl_cell_draw_slot *slot, size_t at, double *target)
{
    const double *rest = slot->rest + at, *m = slot->m;
    size_t z = 0, step = slot->step, last = slot->axis->size - 1;
    double weight = m[0] * rest[0];
    while (*target >= weight && z < last) {
        *target -= weight;
        z++;
        weight = m[z] * rest[z * step];
    }
    while (weight == 0.0 && z > 0) { /* the target was rounded up to the total */
        z--;
        weight = m[z] * rest[z * step];
    }
    *target /= m[z];
    return z;
}

#endif
