/* sums.h - log-probabilities of whole trees, for several sets of parameters in one go.
 *
 * The logarithm of a tree's probability is a sum over its nodes: every subtree adds a term of its
 * own to those of its children, and the shape adds something for every internal node and for every
 * child, by its slot.  Adding up along the links takes about as long as an upward pass, so it is
 * done for up to PHL_SUM_LANES sets of parameters at once, each in a lane of its own.  What a lane
 * holds does not depend on the others.
 */
#ifndef PHL_MODEL_SUMS_H
#define PHL_MODEL_SUMS_H

#include "model/infer.h"

enum { PHL_SUM_LANES = 8 };

typedef struct phl_sums {
    const phl_forest *forest; /* borrowed */
    uint32_t slots;           /* L */
    size_t width;             /* lanes: 1 or PHL_SUM_LANES */
    double *own;              /* [width][n] term of the subtree itself */
    double *node;             /* [width] shape: of every internal node */
    double
        *child; /* [L + 1][2][width] shape: of a child that is a leaf, or internal; row L: beyond */
    double *sum; /* [n][width] over the subtree, after phl_sums_run */
} phl_sums;

/* For `lanes` sets of parameters, 1 to PHL_SUM_LANES. */
phl_status phl_sums_create(const phl_forest *forest, uint32_t slots, size_t lanes, phl_sums **sums,
                           phl_error *error);
void phl_sums_free(phl_sums *sums);

/* Terms of the labels, from the norms of an upward pass. */
void phl_sums_set_labels(phl_sums *sums, size_t lane, const phl_upward *upward);

/* Add the shape term of these parameters to the lane's terms. */
void phl_sums_add_shape(phl_sums *sums, size_t lane, const phl_params *params);

/* Add up.  `shape`: phl_sums_add_shape was called for all lanes in use. */
void phl_sums_run(phl_sums *sums, bool shape);

#endif
