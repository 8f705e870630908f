/* params.h - the parameters of one model: what one draw (Gibbs) or one fit (EM) consists of.
 *
 * One struct serves all models (docs/maths.md); arrays a model does not have are NULL.  The
 * same struct, zeroed, holds expected counts: a table's counts lie where its probabilities lie.
 *
 * C states, L slots, M labels, child values q = 0 .. C where q = C is the empty slot (bottom).
 * Slots are 1-based outside, rows of tables 0-based: slot l has row l - 1.
 */
#ifndef PHL_MODEL_PARAMS_H
#define PHL_MODEL_PARAMS_H

#include "base/error.h"
#include "grammar/grammar_part.h"

/* Active slots of a model: every one at least doubles the core, so more cannot be. */
#define PHL_MAX_AXES PHL_MOST_ACTIVE

/* An active slot of tf or full, one axis of the core (a mode of the tensor, in the paper): child
 * values are seen through k blocks (hard) or mixed over them
 * (soft). */
typedef struct phl_axis {
    uint32_t slot;   /* 1-based */
    uint32_t size;   /* k >= 1 */
    uint32_t *block; /* hard: [C + 1] block of each child value; NULL when soft */
    double *matrix;  /* soft: [C + 1][k] kappa; NULL when hard */
} phl_axis;

typedef struct phl_params {
    phl_kind kind;
    bool soft; /* tf with mode matrices instead of partitions */
    uint32_t states, slots, labels;

    double *prior;      /* [L + 1][C] pi of a leaf by slot; row L: mean of the others, for slots
                           beyond L.  NULL for td */
    double *emission;   /* [M + 2][C] b by label; row M: the unseen symbol, row M + 1: all 1, for an
                           unknown label */
    double *switching;  /* sp: [L] phi */
    double *transition; /* sp: [L][C + 1][C] A(state | child value)
                           td: [L + 1][C][C] A(child state | parent state); row L as in prior */
    double *root;       /* td: [C] rho */

    uint32_t n_axes;        /* active slots, ascending */
    phl_axis *axes;         /* [n_axes] */
    uint32_t *axis_of_slot; /* [L + 2] number of a slot's axis + 1; 0: inactive (also for L + 1) */
    size_t core_rows;       /* product of k; 1 without active slots */
    double *core;           /* tf, full: [core_rows][C] lambda; last active slot runs fastest */

    double root_kind[2]; /* leaf, internal */
    double *shape;       /* [L][3] absent, leaf, internal */

    phl_grammar_part *grammar; /* grammar: all there is; else NULL */
} phl_params;

/* Sizes and, for tf, the active slots; tables are allocated and zeroed.  `axes` (n_axes of them,
 * copied) is for tf; full makes its own, identity partitions of every slot.  A model that needs
 * more than memory_limit bytes (0: no limit) is refused with PHL_ERR_LIMIT and the size it would
 * need. */
phl_status phl_params_create(phl_kind kind, uint32_t states, uint32_t slots, uint32_t labels,
                             const phl_axis *axes, uint32_t n_axes, uint64_t memory_limit,
                             phl_params **params, phl_error *error);
void phl_params_free(phl_params *params);

/* Of kind grammar.  Takes over the part, on failure too. */
phl_status phl_params_of_grammar(phl_grammar_part *part, uint32_t states, uint32_t slots,
                                 phl_params **params, phl_error *error);

/* Other active slots for tf: axes (copied) and the core, zeroed, are made anew; the other tables
 * stay. On failure params are as before. */
phl_status phl_params_set_axes(phl_params *params, const phl_axis *axes, uint32_t n_axes,
                               phl_error *error);

/* A copy. */
phl_status phl_params_clone(const phl_params *params, phl_params **copy, phl_error *error);

/* Same sizes and partitions, tables zeroed: an accumulator of counts. */
phl_status phl_params_clone_empty(const phl_params *params, phl_params **empty, phl_error *error);

/* All tables to zero. */
void phl_params_clear(phl_params *params);

/* Fill what is derived: the rows beyond L and the row of ones. */
void phl_params_complete(phl_params *params);

/* Every row of every table is a distribution (to 1e-9), partitions cover the child values. */
phl_status phl_params_check(const phl_params *params, phl_error *error);

/* The tables one by one, for whoever treats them all alike (storing, normalising, drawing,
 * writing): a table is `rows` distributions over `columns` outcomes, element (r, c) at data[r *
 * row_stride + c * column_stride]. */
typedef struct phl_table {
    const char *name; /* "prior", "emission", "switch", "transition", "root", "core", "mode",
                         "root_kind", "shape_prior" */
    uint32_t slot;    /* of a mode matrix; 0 otherwise */
    double *data;
    size_t rows, columns, row_stride, column_stride;
} phl_table;

/* Table number i, false after the last one.  Emission has M + 1 columns, the unseen symbol last.
 */
bool phl_params_table(const phl_params *params, size_t i, phl_table *table);

/* A random draw needs no more digits than a float has, and files that hold draws become half as
 * large: every p of a row is rounded to a float, one that is not 0 not to 0, and divided by their
 * sum.  */
void phl_params_round(phl_params *params);

/* Refuse, as phl_params_create does, a model of these bytes. */
phl_status phl_params_limit(phl_kind kind, uint32_t states, uint32_t slots, uint64_t bytes,
                            uint64_t memory_limit, phl_error *error);

/* Bytes the tables of such a model take; UINT64_MAX when that overflows. */
uint64_t phl_params_bytes(phl_kind kind, uint32_t states, uint32_t slots, uint32_t labels,
                          const phl_axis *axes, uint32_t n_axes);

#endif
