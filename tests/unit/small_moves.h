/* small_moves.h - the partition moves written down from their definitions, for data small enough to
 * list every state, and the real ones on the same data.
 *
 * The posterior is written down anew (by log-gamma functions of the counts of single nodes), and so
 * is the law of where every move ends, given who has which child.  Children are dealt out anew when
 * a slot is opened (slot_view.h); the ways to deal them are listed.
 */
#ifndef PHL_TESTS_SMALL_MOVES_H
#define PHL_TESTS_SMALL_MOVES_H

#include "gibbs/partitions.h"

enum { MOST_SLOTS = 3, MOST_VALUES = 4, MOST_PARTITIONS = 15, MOST_STATES = 225, MOST_NODES = 16 };
enum { MOST_CELLS = 64 };

typedef struct node {
    uint32_t state, value[MOST_SLOTS];
} node;

/* Data, prior and base of a problem. */
typedef struct problem {
    const char *name;
    uint32_t states, slots;
    const node *nodes;
    size_t n_nodes;
    size_t kinds[MOST_SLOTS]; /* the child of node i in slot e is of kind i mod kinds[e] */
    double phi, alpha, lambda0[3];
    uint32_t slots_min, slots_max;
    uint64_t core_max;
    uint32_t fixed[MOST_SLOTS]; /* 0: not fixed */
} problem;

/* Partition states: a number for each slot in the list of all partitions. */
typedef struct space {
    const problem *p;
    uint32_t values;
    size_t n_partitions;
    uint32_t partition[MOST_PARTITIONS][MOST_VALUES]; /* blocks by first occurrence */
    uint32_t size[MOST_PARTITIONS];
    size_t n; /* states within the confines */
    size_t state[MOST_STATES][MOST_SLOTS];
    int number[MOST_STATES]; /* of a code, or -1 outside the confines */
    double log_prior[MOST_STATES];
    double rising[3][MOST_NODES + 1], rising_total[MOST_NODES + 1];
    /* Scores given who has which child, each worked out when it is asked for. */
    const node *nodes;
    uint64_t round, made[MOST_STATES];
    double score[MOST_STATES];
} space;

/* The space of a problem; scores are those of its own nodes until set_nodes. */
void make_space(space *s, const problem *p);
void set_nodes(space *s, const node *nodes); /* borrowed */
double score_of(space *s, size_t i);         /* log posterior of a state, up to a constant */
size_t cell_of(const space *s, const size_t *state, const node *at);

/* All ways to give the children of slot e to nodes of the same kind that show the same block. */
typedef struct deal {
    node nodes[MOST_NODES];
    uint32_t e;
    size_t n_groups, size[MOST_NODES], member[MOST_NODES][MOST_NODES];
} deal;

/* The first way; `partition`: of slot e, which tells the blocks. */
void start_deal(const space *s, const node *nodes, uint32_t e, size_t partition, deal *d);
bool next_deal(deal *d);

typedef enum move { REASSIGN, SPLIT_MERGE, CARRY } move;

/* Add the law of the end of a move that opens slot e (carry: goes to slot e), times weight, to row
 * [states]: given who has which child then, and all else kept. */
void add_ends(space *s, move kind, size_t from, uint32_t e, uint32_t value, double temperature,
              double weight, double *row);

uint32_t count_active(const space *s, size_t from);

/* Is there anything to carry, and is slot `to` free to take it? */
bool can_carry(const space *s, size_t from, uint32_t to);

/* ---- The real thing ---------------------------------------------------------------------------
 */

typedef struct real {
    const space *s;
    phl_forest *forest;
    phl_index *index;
    phl_slot_pairs *pairs;
    phl_state_counts *counts;
    phl_partitions *partitions;
    uint32_t fixed[MOST_SLOTS];
    uint32_t subtree[MOST_NODES];
    uint32_t pair[MOST_NODES][MOST_SLOTS]; /* PHL_NO_PAIR: no child there */
} real;

void make_real(real *r, const space *s);
void free_real(real *r);

/* Set partitions, blocks numbered at random, pairs, and rows: of single nodes, or of all equal
 * ones. */
void set_state(real *r, size_t state, bool apart, phl_rng *rng);
int read_state(const real *r); /* -1: not a state of the space */

/* One move, slot e opened before and closed after it if asked for (carry does both itself), and
 * when no slot is open, all checks of partitions_fault. */
void call_move(real *r, move kind, uint32_t e, uint32_t value, double temperature, bool opens,
               bool closes, phl_rng *rng);

#endif
