/* plain.h - the Bayesian tf model learned and used node by node: the yardstick of what distinct
 * subtrees and count splitting are worth.
 *
 * Same model, same priors, same steps and moves as gibbs/gibbs.h, by hand for every node: no two
 * nodes share anything.  Random numbers, distributions, rising factorials and tables of parameters
 * are the library's own, so that the two differ by the algorithm alone.  One chain, one thread.
 *
 * C states, L slots, values 0 .. C of a child with C the empty slot.
 */
#ifndef PHL_BENCH_PLAIN_H
#define PHL_BENCH_PLAIN_H

#include "base/numeric.h"
#include "base/rng.h"
#include "model/index.h"
#include "model/params.h"

/* A program that measures ends when a call of the library fails. */
#define plain_must(call)                                                                           \
    do {                                                                                           \
        phl_error plain_record = {0};                                                              \
        phl_error *error = &plain_record; /* for the call */                                       \
        if ((call) != PHL_OK) {                                                                    \
            plain_fail(error);                                                                     \
        }                                                                                          \
    } while (0)
_Noreturn void plain_fail(const phl_error *error);
void *plain_alloc(size_t count, size_t size); /* zeroed, released with phl_free */

/* Seconds of the processor. */
double plain_seconds(void);

/* ---- Trees, node by node (plain_model.c) ----------------------------------------------------- */

typedef struct plain_node {
    uint32_t first_child, n_children; /* no children: a leaf */
    uint32_t slot;                    /* in the parent; 1 at a root */
    uint32_t label;                   /* row of emission */
} plain_node;

/* Level by level within a tree: parents come before their children, siblings lie side by side in
 * ascending slots. */
typedef struct plain_trees {
    size_t n_nodes, n_trees, largest; /* largest: nodes of the largest tree */
    plain_node *nodes;
    size_t *first; /* [n_trees + 1] root of each tree */
} plain_trees;

/* The trees of a class (PHL_NO_CLASS: all), a tree of weight w w times if `repeat`.  label_row as
 * phl_index_map_labels gives it, for a model with so many labels. */
plain_trees *plain_trees_create(const phl_forest *forest, int32_t class_number, bool repeat,
                                const uint32_t *label_row, uint32_t labels);
void plain_trees_free(plain_trees *trees);

#define PLAIN_NONE SIZE_MAX

/* The child in a slot, or PLAIN_NONE.  Child number i has at least slot i + 1: where no slot is
 * empty the first look finds it. */
static inline size_t plain_find_child(const plain_node *nodes, size_t u, uint32_t slot)
{
    size_t first = nodes[u].first_child, count = nodes[u].n_children;
    size_t k = first + (slot <= count ? slot : count) - 1;
    while (k > first && nodes[k].slot > slot) {
        k--;
    }
    return nodes[k].slot == slot ? k : PLAIN_NONE;
}

/* ---- Exact inference with given parameters (plain_model.c) ----------------------------------- */

/* Of the nodes begin .. end - 1 (whole trees), numbered from 0. */
typedef struct plain_upward {
    double *beta;    /* [end - begin][C] p(Q | labels of the subtree) */
    double *message; /* [end - begin][C + 1] its sum by blocks, for a child in an active slot */
    double *scratch; /* the core under contraction */
    size_t scratch_capacity;
} plain_upward;

void plain_upward_init(plain_upward *upward, size_t nodes, uint32_t states);
void plain_upward_clear(plain_upward *upward);

/* beta and messages; returns log p(labels). */
double plain_upward_run(plain_upward *upward, const phl_params *params, const plain_trees *trees,
                        size_t begin, size_t end);

/* The shape term, its logarithms taken once for a set of parameters. */
typedef struct plain_shape {
    uint32_t slots;
    double root[2];  /* leaf, internal */
    double internal; /* an internal node, all slots absent, over the condition that not all are */
    double (*child)[2]; /* [L + 1] a leaf or internal instead of absent; row L: beyond */
} plain_shape;

void plain_shape_init(plain_shape *shape, uint32_t slots);
void plain_shape_clear(plain_shape *shape);
void plain_shape_set(plain_shape *shape, const phl_params *params);
double plain_shape_score(const plain_shape *shape, const plain_trees *trees, size_t tree);

/* ---- The sampler (plain_chain.c) ------------------------------------------------------------- */

enum { PLAIN_UPWARD, PLAIN_DOWNWARD, PLAIN_PARTITIONS, PLAIN_TABLES, PLAIN_PHASES };

typedef struct plain_chain {
    const plain_trees *trees; /* borrowed */
    phl_train_options options;
    uint32_t slots_max;
    phl_params *params;
    phl_rng rng;
    double *log_lambda0; /* [C] */
    plain_upward upward;
    uint32_t *state;           /* [nodes] */
    int64_t *prior, *emission; /* counts [L + 1][C], [M + 2][C] */
    double *shape_count;       /* [L][3] */
    double root_count[2];      /* leaf, internal */
    double *weights;           /* for a row of a table, places of a value, cells of a node */
    size_t *offsets;           /* for cells of a node */
    size_t weight_capacity, offset_capacity;

    /* Partitions: I internal nodes, E eligible slots. */
    size_t n_internal;
    uint32_t *internal; /* [I] their nodes */
    uint32_t n_eligible;
    uint32_t *eligible;    /* [E] slots, ascending */
    uint32_t *eligible_of; /* [L + 1] number of a slot, or UINT32_MAX */
    uint32_t *size;        /* [E] k */
    uint32_t *block;       /* [E][C + 1] */
    size_t *stride;        /* [E] 0 when inactive */
    uint32_t n_active;
    uint32_t *own;   /* [I] state */
    uint32_t *cell;  /* [I] */
    uint32_t *value; /* [E][I] of the child in a slot */
    uint32_t *list;  /* [E][I] internal nodes, sorted by that value ... */
    size_t *start;   /* [E][C + 2] ... which begins there */
    size_t n_cells, cell_capacity;
    int64_t *count, *total;       /* [cells][C], [cells] internal nodes by cell and state */
    int64_t *moving, *moving_sum; /* the same for values about to move, by the rest of the cell */
    uint32_t *touched;            /* cells of moving in use */
    size_t n_touched;
    bool *moved;     /* [C + 1] */
    uint32_t *order; /* [E (C + 1)] */
    phl_rising *rising, rising_total;
    phl_stirling stirling;

    /* Figures of the iteration done last, as in the library's traces; seconds of all. */
    double log_likelihood, log_joint;
    uint32_t sum_size;
    uint64_t iteration;
    double seconds[PLAIN_PHASES];
} plain_chain;

/* Sizes, priors, confines and seed are taken from `options`; a chain of the blocked sampler without
 * annealing.  The trees must outlive it. */
plain_chain *plain_chain_create(const plain_trees *trees, uint32_t slots, uint32_t labels,
                                const phl_train_options *options, uint64_t stream);
void plain_chain_free(plain_chain *chain);
void plain_chain_step(plain_chain *chain);

/* Is the state after so many iterations one of those that the library keeps? */
bool plain_is_kept(const phl_train_options *options, uint64_t done);

/* ---- Its partitions (plain_partitions.c) ----------------------------------------------------- */

/* Given the hidden states: one sweep over all moves, lambda integrated out. */
void plain_partitions_draw(plain_chain *chain);

/* log of what the moves have as their target. */
double plain_partitions_score(const plain_chain *chain);

/* The counts of cells. */
void plain_partitions_clear(plain_chain *chain);

#endif
