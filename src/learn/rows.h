/* rows.h - the hidden states of a forest as the blocked sampler holds them: rows with margins.
 *
 * A row is n occurrences of one distinct internal subtree in one state whose children show the same
 * blocks in all active slots.  Given the row its children are independent, so each child slot keeps
 * only a margin: how many of the n children have which value.  Margins are kept for the eligible
 * slots, those that may be active.  When a partition changes, rows are refined: a row whose margin
 * falls into two blocks is cut in two, and its other margins are dealt to the parts by
 * hypergeometric draws, which is exact because the children are exchangeable within a row.
 *
 * C states, values 0 .. C with C the empty slot; E eligible slots, numbered 0 .. E - 1.
 */
#ifndef PHL_LEARN_ROWS_H
#define PHL_LEARN_ROWS_H

#include "base/random.h"
#include "model/index.h"

typedef struct phl_margin_entry {
    int64_t count; /* > 0, or 0 after all of it was dealt away */
    uint32_t value;
} phl_margin_entry;

typedef struct phl_margin {
    size_t first; /* in rows->entries */
    uint32_t length;
} phl_margin;

typedef struct phl_row {
    int64_t n;
    size_t first_margin; /* in rows->margins: one for each filled eligible slot of the subtree */
    uint32_t subtree, state;
    uint32_t cell; /* of the core, kept by the partition moves */
} phl_row;

/* Rows that (may) have a value in a slot. */
typedef struct phl_row_list {
    uint32_t *rows;
    size_t count, capacity;
} phl_row_list;

typedef struct phl_rows {
    const phl_index *index; /* borrowed */
    uint32_t states;
    uint32_t n_eligible;
    uint32_t *eligible;  /* [E] slots, ascending */
    uint16_t *ordinal;   /* [n][E] which margin of a subtree is that slot's; PHL_NO_MARGIN: empty */
    uint16_t *n_margins; /* [n] */

    phl_row *row;
    size_t n_rows, row_capacity;
    phl_margin *margins;
    size_t n_margin_total, margin_capacity;
    phl_margin_entry *entries;
    size_t n_entries, entry_capacity;
    phl_row_list *lists; /* [E][C + 1]; entries may be stale: then the count is 0 */
    int64_t *scratch;    /* [C + 1] twice */
} phl_rows;

#define PHL_NO_MARGIN UINT16_MAX

/* Eligible slots are filled in at least `support` of the internal nodes (occurrences). */
phl_status phl_rows_create(const phl_index *index, uint32_t states, double support, phl_rows **rows,
                           phl_error *error);
void phl_rows_free(phl_rows *rows);

/* Forget all rows; room is kept. */
void phl_rows_reset(phl_rows *rows);

/* Add a row; its margins must follow in order of slots, each closed by phl_rows_end_margin. */
phl_status phl_rows_add(phl_rows *rows, uint32_t subtree, uint32_t state, int64_t n,
                        phl_error *error);
phl_status phl_rows_add_entry(phl_rows *rows, uint32_t value, int64_t count, phl_error *error);
phl_status phl_rows_end_margin(phl_rows *rows, phl_error *error);

/* After all rows were added: the lists. */
phl_status phl_rows_index(phl_rows *rows, phl_error *error);

/* How many of a row's n have `value` in eligible slot e. */
int64_t phl_rows_count(const phl_rows *rows, size_t row, uint32_t e, uint32_t value);

/* Any value of the row in slot e: tells the block of an active slot. */
uint32_t phl_rows_some_value(const phl_rows *rows, size_t row, uint32_t e);

static inline const phl_row_list *phl_rows_list(const phl_rows *rows, uint32_t e, uint32_t value)
{
    return &rows->lists[(size_t)e * (rows->states + 1) + value];
}

/* Cut every row whose margin in slot e has both values with moved[value] and others.  The part with
 * the moved values is a new row.  Cells are not touched. */
phl_status phl_rows_refine(phl_rows *rows, uint32_t e, const bool *moved, phl_rng *rng,
                           phl_error *error);

#endif
