/* label_batch.h - a batch of trees on their way through labelling.
 *
 * Trees are handled in batches of bounded memory, each distinct tree of a batch once; draws of the
 * model are the outer loop, trees the inner, parallel one (session.h says why).
 */
#ifndef PHL_TASK_LABEL_BATCH_H
#define PHL_TASK_LABEL_BATCH_H

#include "task/session.h"

/* A distinct tree of the batch. */
typedef struct phl_batch_shape {
    size_t tree;      /* its first tree in the forest */
    size_t first_row; /* its rows, one a filled node, begin here */
    size_t n, n_rows;
    bool possible;
} phl_batch_shape;

/* A tree of the batch. */
typedef struct phl_batch_member {
    size_t tree, shape;
    size_t first_drawn; /* its n drawn labels begin here */
    size_t pick;        /* draw of the model; SIZE_MAX: nothing to draw */
    phl_rng rng;
} phl_batch_member;

/* What one thread works with. */
typedef struct phl_batch_worker {
    phl_tree_view *view[2]; /* of the session, of the fallback */
    double *predictive;     /* [M + 1] */
    uint32_t *states;
    size_t states_capacity;
} phl_batch_worker;

typedef struct phl_batch {
    const phl_label_options *options; /* borrowed, as are model, forest and sessions */
    const phl_model *model;
    const phl_forest *forest;  /* what inference sees: labels to fill are unknown */
    phl_session *session[2];   /* on that forest; on its shapes only, NULL unless a tree needs it */
    size_t n_labels;           /* M */
    uint64_t *nodes, *unknown; /* of the forest's subtrees */
    phl_walk *walk;
    phl_batch_worker *workers;
    int n_workers;

    phl_batch_shape *shapes;
    phl_batch_member *members;
    size_t n_shapes, n_members, n_rows, n_drawn;
    size_t *shape_of_root; /* [roots] shape + 1 in the batch; 0: not there */
    double *weights;       /* [shapes][D] */
    size_t *row_node;      /* [rows] node of each row */
    double *probability;   /* [rows][M] */
    double *unseen;        /* [rows] */
    double *entropy;       /* [rows] bits */
    int32_t *best;         /* [rows] */
    int32_t *drawn;
    size_t shape_capacity, member_capacity, weights_capacity, row_node_capacity,
        probability_capacity, unseen_capacity, entropy_capacity, best_capacity, drawn_capacity;
} phl_batch;

/* What phl_batch_run needs, once model, forest, options and session[0] are set; session[1] may
 * follow. phl_batch_clear releases it, after a failure too, but not the sessions. */
phl_status phl_batch_init(phl_batch *batch, phl_error *error);
void phl_batch_clear(phl_batch *batch);

/* Take as many trees from `tree` on as a batch holds; *end is the first that is left out. */
phl_status phl_batch_fill(phl_batch *batch, size_t tree, size_t *end, phl_error *error);

/* Predict and draw the labels of its trees. */
phl_status phl_batch_run(phl_batch *batch, phl_error *error);

#endif
