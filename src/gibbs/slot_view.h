/* slot_view.h - one slot with its children told apart: which parents have which child states.
 *
 * Portions (state_counts.h) keep the parents by state and cell, and the children of every (slot,
 * child) pair by state, but not who belongs to whom.  Looking at a slot means to deal the children
 * of each pair out to its parents, every way being equally likely within a block, and to add up
 * what comes out: D_q(r, j) occurrences have a child in state q, the blocks r in all other slots,
 * and are in state j themselves.  q = C stands for an empty slot.
 *
 * Three ways of dealing have the same law.  Where parents are many and occur many times, they are
 * taken together by (cell, state), and children are drawn by hypergeometric numbers.  In an
 * inactive slot, few children in other states than most are given places drawn at random, all other
 * places having the state that most have; and where parents occur but few times, all children are
 * drawn one by one.
 *
 * Dealing is a function of the portions and the random numbers, so it is not written down: when a
 * partition changed, the same random numbers deal the same way again, and now portions are cut
 * accordingly.
 */
#ifndef PHL_GIBBS_SLOT_VIEW_H
#define PHL_GIBBS_SLOT_VIEW_H

#include "gibbs/state_counts.h"

#define PHL_NO_TABLE UINT32_MAX

/* D_q(r, .) of one q and r. */
typedef struct phl_slot_table {
    uint32_t value, rest;
    uint32_t next; /* of the same value, or PHL_NO_TABLE */
    uint32_t n_terms;
    size_t first_term; /* its states with a count */
    int64_t total;
} phl_slot_table;

typedef struct phl_slot_term {
    int64_t n;
    uint32_t state;
} phl_slot_term;

/* Parents of a pair with the same cell and state. */
typedef struct phl_slot_entry {
    int64_t n;
    uint32_t cell, state;
} phl_slot_entry;

/* One occurrence of a parent, and the state of its child. */
typedef struct phl_slot_unit {
    uint32_t portion, value;
} phl_slot_unit;

/* How the cells of the core divide into the block of one slot and the rest. */
typedef struct phl_slot_layout {
    const uint32_t *rest;  /* [n_cells] */
    const uint32_t *digit; /* [n_cells] block of the slot */
    size_t n_cells, n_rest;
} phl_slot_layout;

typedef struct phl_slot_view {
    phl_slot_table *tables;
    size_t n_tables, table_capacity;
    uint32_t *first_table; /* [C + 1] */
    phl_slot_term *terms;
    size_t n_terms, term_capacity;

    /* Work space. */
    int64_t *count; /* [n_tables][C] */
    size_t count_capacity;
    int64_t *empty; /* [n_rest][C] parents with nothing in the slot */
    size_t empty_capacity;
    uint32_t *number; /* [C + 1][n_rest] table + 1 while counting, else 0 */
    size_t number_capacity;
    uint32_t *entry_of; /* [n_cells][C] entry + 1 of the pair at hand, else 0 */
    size_t entry_of_capacity;
    phl_slot_entry *entries;
    size_t n_entries, entry_capacity;
    int64_t *dealt; /* [n_entries][C + 1] by state; when portions are cut, by new block */
    size_t dealt_capacity;
    phl_slot_unit *units; /* of the pair at hand */
    size_t n_units, unit_capacity;
    uint64_t *taken; /* bits: places given away; all 0 between uses */
    size_t taken_capacity;
    uint32_t *deck; /* states of children */
    size_t deck_capacity;
    int64_t *left;      /* [C + 1] children not yet dealt, by state; [C + 1] by block */
    uint32_t *only;     /* [C + 1] the one state of a block that a pair has */
    uint32_t *new_cell; /* [n_rows] */
    size_t new_cell_capacity;
    uint32_t *base; /* [n_cells] where old cells go */
    size_t base_capacity;
} phl_slot_view;

phl_status phl_slot_view_init(phl_slot_view *view, uint32_t states, phl_error *error);
void phl_slot_view_clear(phl_slot_view *view);

/* Deal, and count.  block: [C + 1] of slot e.  cells: [n_cells][C] counts of all portions; live:
 * the cells with any. */
phl_status phl_slot_view_count(phl_slot_view *view, const phl_state_counts *counts, uint32_t e,
                               const uint32_t *block, const phl_slot_layout *layout,
                               const int64_t *cells, const uint32_t *live, size_t n_live,
                               phl_rng *rng, phl_error *error);

/* Deal as phl_slot_view_count did from the same random numbers, and give every portion the cell
 * that belongs to `block_now`: its rest by `rest` (which may leave out another slot than e, by
 * which it was dealt), with slot e put in at `step`.  Portions are cut where needed, with further
 * random numbers. */
phl_status phl_slot_apply(phl_slot_view *view, phl_state_counts *counts, uint32_t e,
                          const uint32_t *block, const phl_slot_layout *dealt_by,
                          const uint32_t *rest, const uint32_t *block_now, uint32_t size_now,
                          size_t step, phl_rng *again, phl_rng *rng, phl_error *error);

#endif
