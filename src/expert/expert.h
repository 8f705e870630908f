/* expert.h - a neighbourhood expert: p(label of a node | what is seen around it).
 *
 * It holds the distinct neighbourhoods of the training trees with the labels found there.  A chain
 * is a list of places around a node; along it, places that are known are added one by one to the
 * context, and each context's counts are smoothed by what the context before it says (maths.md).
 * An unknown place is left out: labels are missing at random, so that tells nothing.  Chains, and
 * beside them the models of a run, are voices; what the expert says is a product of voices, each to
 * the power of a weight that depends on how much of the neighbourhood is known.
 */
#ifndef PHL_EXPERT_EXPERT_H
#define PHL_EXPERT_EXPERT_H

#include "base/hash_table.h"
#include "expert/neighbourhood.h"
#include "forest/forest.h"

enum {
    PHL_EXPERT_CHAINS = 9,
    PHL_EXPERT_STEPS = 7, /* of a chain at most */
    PHL_EXPERT_MOST_VOICES = PHL_EXPERT_CHAINS + 7,
    PHL_EXPERT_PATTERNS = 16 /* kinds of neighbourhoods, by what is known */
};

/* A context as the places it consists of: bits 1 << PHL_NEAR_... */
typedef uint32_t phl_places;

typedef struct phl_expert_row {
    uint32_t near[PHL_NEAR_PLACES];
    uint32_t label;
    double count; /* weight of the trees */
} phl_expert_row;

struct phl_expert {
    size_t n_labels; /* M */
    size_t n_rows, capacity;
    phl_expert_row *rows;      /* ascending labels */
    double strength, discount; /* of the smoothing */
    size_t n_chains;           /* PHL_EXPERT_CHAINS; 0: models are pooled without it */
    size_t n_voices;           /* chains, and the models of the run */
    double weights[PHL_EXPERT_PATTERNS][PHL_EXPERT_MOST_VOICES];

    /* How odd training trees are that the expert was not made of, ascending. */
    size_t n_odd;
    double *odd;
    uint64_t trees;  /* made of, */
    double log_loss; /* and of labels hidden in trees left out: nats, */
    double accuracy; /* fraction that is right */
    uint64_t hidden; /* how many */
};

void phl_expert_free(phl_expert *expert);

/* An expert of the trees listed (all if NULL), without models: every chain has the same weight.
 * Unknown labels are unknown places. */
phl_status phl_expert_create(const phl_forest *forest, const size_t *trees, size_t n,
                             phl_expert **expert, phl_error *error);

/* Rows enter in ascending order of labels and fit the number of labels; false: they do not. */
bool phl_expert_is_sound(const phl_expert *expert);

/* The kind of a neighbourhood: 0 to PHL_EXPERT_PATTERNS - 1. */
size_t phl_expert_pattern(const uint32_t near[PHL_NEAR_PLACES]);

/* ---- Tables of contexts -----------------------------------------------------------------------
 */

/* The labels found in every context of some places. */
typedef struct phl_expert_table {
    phl_places places;
    size_t n;        /* contexts */
    uint32_t *row;   /* [n] one of its rows, */
    double *total;   /* [n] and the count of all */
    uint64_t *first; /* [n + 1] its cells: */
    uint32_t *label;
    double *count;
    phl_hash_table hashes;
} phl_expert_table;

/* Tables are made as they are needed, by one task for its own use. */
typedef struct phl_expert_tables {
    const phl_expert *expert; /* borrowed */
    double *base;             /* [M + 1] without a context */
    phl_expert_table *of_places[1 << PHL_NEAR_PLACES];
} phl_expert_tables;

phl_status phl_expert_tables_create(const phl_expert *expert, phl_expert_tables **tables,
                                    phl_error *error);
void phl_expert_tables_free(phl_expert_tables *tables);

/* Make those that a neighbourhood needs.  Not from several threads at once. */
phl_status phl_expert_tables_reserve(phl_expert_tables *tables,
                                     const uint32_t near[PHL_NEAR_PLACES], phl_error *error);

/* p(label | neighbourhood) by every chain: [PHL_EXPERT_CHAINS][M + 1], a label never seen last.
 * The tables are there. */
void phl_expert_chains(const phl_expert_tables *tables, const uint32_t near[PHL_NEAR_PLACES],
                       double *p);

/* ---- Pooling: expert_pool.c
 * --------------------------------------------------------------------------
 */

/* The product of voices: log_p [n][width] of each, weights [n], into p [width], which adds up to 1.
 * p may be the first row of log_p. */
void phl_expert_pool(const double *log_p, const double *weights, size_t n, size_t width, double *p);

/* Samples to learn weights from. */
typedef struct phl_expert_samples {
    size_t n, capacity, n_voices, width;
    float *log_p; /* [n][n_voices][width] */
    size_t log_capacity;
    uint32_t *label, *pattern; /* [n] */
    size_t label_capacity, pattern_capacity;
} phl_expert_samples;

void phl_expert_pool_clear(phl_expert_samples *samples);
/* Weights for all patterns: those that make the labels most probable, held to the ones of all
 * patterns together, those to equal shares. */
phl_status phl_expert_pool_fit(const phl_expert_samples *samples,
                               double weights[PHL_EXPERT_PATTERNS][PHL_EXPERT_MOST_VOICES],
                               phl_error *error);

#endif
