/* cells.h - the cells of the core a node can use.
 *
 * Modes whose block is known (an empty slot, hard) are fixed; the others are free and run like an
 * odometer, the last one fastest.  Usage: start, then do ... while (next).
 */
#ifndef PHL_MODEL_CELLS_H
#define PHL_MODEL_CELLS_H

#include "model/infer.h"

typedef struct phl_cells {
    uint32_t n; /* free axes */
    struct {
        uint32_t axis, size, digit;
        uint32_t pair;   /* of the child, or PHL_NO_PAIR for an empty slot (soft) */
        size_t stride;   /* in cells */
        const double *m; /* [size] */
    } free[PHL_MAX_AXES];
    size_t cell; /* the present one: row of the core */
} phl_cells;

/* At the first cell of internal subtree s, after the upward pass. */
void phl_cells_start(phl_cells *cells, const phl_upward *upward, uint32_t s);

/* The next cell, or false after the last one (the odometer is then at the first again). */
bool phl_cells_next(phl_cells *cells);

/* Product of the messages of all free axes at the present cell; of all but one. */
double phl_cells_weight(const phl_cells *cells);
double phl_cells_weight_without(const phl_cells *cells, uint32_t without);

#endif
