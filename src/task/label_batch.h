/* label_batch.h - a batch of trees on their way through labelling.
 *
 * Trees of a block are handled in batches of bounded memory, each distinct tree of a model in a
 * batch once; draws of the model are the outer loop, trees the inner, parallel one (session.h says
 * why).
 */
#ifndef PHL_TASK_LABEL_BATCH_H
#define PHL_TASK_LABEL_BATCH_H

#include "expert/expert.h"
#include "task/session.h"
#include "task/use.h"

/* A distinct tree of one model in the batch. */
typedef struct phl_label_batch_shape {
    size_t part;
    size_t place;     /* its first tree in the part */
    size_t first_row; /* its rows, one a filled node, begin here */
    size_t n, n_rows;
    size_t first_weight; /* of the model's draws */
    bool possible;
} phl_label_batch_shape;

/* A tree of the batch. */
typedef struct phl_label_batch_member {
    size_t tree; /* in the block */
    size_t part, place, shape;
    size_t first_drawn; /* its n drawn labels begin here */
    size_t pick;        /* draw of the model; SIZE_MAX: nothing to draw */
    phl_rng rng;
} phl_label_batch_member;

/* What one thread works with. */
typedef struct phl_label_batch_worker {
    double *predictive; /* [M + 1] */
    uint32_t *states;
    size_t states_capacity;
    phl_outlook *outlook; /* of a grammar's trees */
    phl_grammar_state *drawn;
    size_t drawn_capacity;
    phl_neighbourhood nodes; /* with an expert: of a tree, */
    double *voices;          /* what its voices say, [voices][M + 1], */
    double *models;          /* and what the models among them say, [models][M + 1] */
} phl_label_batch_worker;

/* The trees of one model. */
typedef struct phl_label_batch_part {
    const phl_model *model;    /* borrowed, as are the forests */
    const phl_forest *forest;  /* what inference sees: labels to fill are unknown; of a batch that
                                  follows another one, that one's */
    size_t first_ordinal;      /* of its first tree */
    phl_forest *hidden;        /* owned: the same, if labels were hidden */
    phl_forest *shapes;        /* owned: without labels, if a tree needs it */
    phl_session *session[2];   /* on the forest, unless the run has an expert alone; on the shapes,
                                  or NULL */
    phl_roots roots;           /* of the forest */
    uint32_t *label_row;       /* of the forest's labels in the run; M: not known */
    uint64_t *nodes, *unknown; /* of the forest's subtrees */
    phl_walk *walk;
    size_t *shape_of_root;          /* [roots] shape + 1 in the batch; 0: not there */
    phl_tree_view *(*views)[2];     /* [workers] of the session, of the fallback */
    size_t *shapes_in, *members_in; /* of the batch */
    size_t n_shapes, n_members, shapes_capacity, members_capacity;
} phl_label_batch_part;

/* A batch may have others that follow it: the same trees under other models, those that are further
 * members of the run.  They predict, and draw nothing. */
typedef struct phl_label_batch {
    const phl_use *use; /* borrowed */
    const phl_run *run; /* whose models predict: that of the task, a member of it, or one beside */
    const phl_label_options *options;
    bool no_draw;
    size_t sharing;                    /* batches that share what memory there is */
    struct phl_label_batch *followers; /* [n_followers] */
    size_t n_followers;
    size_t n_labels; /* M */
    phl_label_batch_part *parts;
    size_t n_parts;
    phl_label_batch_worker *workers;
    int n_workers;
    phl_expert_tables *tables; /* of the run's expert; NULL: it has none */

    phl_label_batch_shape *shapes;
    phl_label_batch_member *members;
    size_t n_shapes, n_members, n_rows, n_drawn, n_weights;
    double *weights;
    size_t *row_node;    /* [rows] node of each row */
    double *probability; /* [rows][M] */
    double *unseen;      /* [rows] */
    double *entropy;     /* [rows] bits */
    int32_t *best;       /* [rows] */
    int32_t *drawn;
    size_t shape_capacity, member_capacity, weights_capacity, row_node_capacity,
        probability_capacity, unseen_capacity, entropy_capacity, best_capacity, drawn_capacity;
} phl_label_batch;

/* For all blocks of a task.  run: that of the task, or one that is pooled with it. */
phl_status phl_label_batch_init(phl_label_batch *batch, const phl_use *use, const phl_run *run,
                                const phl_label_options *options, phl_error *error);
void phl_label_batch_clear(phl_label_batch *batch);

/* A block: hide labels, prepare its models.  phl_label_batch_close releases it, after a failure
 * too. */
phl_status phl_label_batch_open(phl_label_batch *batch, const phl_use_portions *portions,
                                phl_error *error);
/* The same for a run that is pooled with that of `leader`, whose trees it takes. */
phl_status phl_label_batch_open_beside(phl_label_batch *batch, const phl_label_batch *leader,
                                       phl_error *error);
void phl_label_batch_close(phl_label_batch *batch);

/* Has this tree of the block labels to fill, and what is known of it probability 0?  Then its part
 * needs shapes. */
bool phl_label_batch_is_impossible(const phl_label_batch *batch, const phl_use_portions *portions,
                                   size_t tree);
/* A session on shapes only. */
phl_status phl_label_batch_add_shapes(phl_label_batch *batch, size_t part, phl_error *error);

/* Take as many trees from `tree` on as a batch holds; *end is the first that is left out. */
phl_status phl_label_batch_fill(phl_label_batch *batch, const phl_use_portions *portions,
                                size_t tree, size_t *end, phl_error *error);

/* The trees that `leader` took. */
phl_status phl_label_batch_fill_beside(phl_label_batch *batch, const phl_label_batch *leader,
                                       phl_error *error);

/* Predict and draw the labels of its trees; the rows hold what all members say together. */
phl_status phl_label_batch_predict(phl_label_batch *batch, phl_error *error);
/* Once nothing is added to the rows any more: the best labels. */
phl_status phl_label_batch_predict_best(phl_label_batch *batch, phl_error *error);

#endif
