/* world.h - everything the Bayesian tf model talks about, drawn forward from its prior, for the
 * tests of the blocked sampler.
 *
 * A world is parameters, hidden states and labels on a fixed small set of tree shapes, drawn
 * exactly as docs/maths.md writes it down, node by node and without sharing; the forest made of
 * the labelled trees shares what is equal.  A picture is what can be said about a state of the
 * sampler in numbers that do not depend on the names of states and blocks; it is taken of a world
 * (written here, from the hidden states node by node) or of a phl_gibbs (from its counts and
 * portions), and a function of a picture must have the same mean before and after a right step.
 */
#ifndef PHL_TESTS_WORLD_H
#define PHL_TESTS_WORLD_H

#include "gibbs/gibbs.h"

enum {
    W_STATES = 3,
    W_VALUES = W_STATES + 1, /* child values, the empty slot last */
    W_SLOTS = 5,
    W_ELIGIBLE = 3, /* slot 4 is filled too rarely, slot 5 never */
    W_LABELS = 4,
    W_SYMBOLS = W_LABELS + 1, /* the unseen symbol last */
    W_NODES = 80,
    W_TREES = 24,
    W_CELLS = 64,
    W_SHAPE_NODES = 6, /* internal nodes and trees of the shape term, drawn apart from the trees */
    W_SHAPE_TREES = 5,
};

/* The shapes: nodes in pre-order, tree by tree. */
typedef struct skeleton {
    int n_nodes, n_trees;
    int parent[W_NODES]; /* -1: root */
    uint32_t slot[W_NODES];
    int child[W_NODES][W_SLOTS + 1]; /* by slot; -1: empty */
    bool leaf[W_NODES], known[W_NODES];
    int root[W_TREES];
} skeleton;

void skeleton_make(skeleton *bones);

typedef struct world_prior {
    double alpha, alpha0, beta, gamma, delta;
    bool update_concentration; /* alpha, alpha0 ~ Gamma(1, 1) */
    double phi;
    uint32_t slots_min, slots_max;
    uint64_t core_max;
    bool soft;
    uint32_t soft_size[W_ELIGIBLE]; /* sizes of the soft axes; 1: inactive */
} world_prior;

/* Hard partitions of any size, and soft ones of sizes 2, 1 and 3. */
world_prior world_prior_hard(double beta);
world_prior world_prior_soft(double beta);
/* Narrow confines, and the concentrations drawn too. */
world_prior world_prior_confined(double beta);

typedef struct world {
    const skeleton *bones;
    world_prior prior;
    /* Parameters. */
    double alpha, alpha0;
    double log_lambda0[W_STATES];
    uint32_t size[W_ELIGIBLE], block[W_ELIGIBLE][W_VALUES];
    size_t n_cells;
    double core[W_CELLS][W_STATES];
    double pi[W_SLOTS][W_STATES];
    double b[W_STATES][W_SYMBOLS];
    double kappa[W_ELIGIBLE][W_VALUES][W_VALUES]; /* [slot][value][block] */
    double shape[W_SLOTS][3], root_kind[2];
    int64_t shape_count[W_SLOTS][3], root_count[2];
    /* Hidden states, blocks shown (soft), labels (-1: unknown). */
    int state[W_NODES];
    uint32_t shown[W_NODES][W_ELIGIBLE];
    int label[W_NODES];
    /* The forest. */
    phl_forest *forest;
    phl_index *index;
    phl_slot_pairs *pairs;
    uint32_t *label_row;
    uint32_t subtree[W_NODES];
} world;

/* Draw all of it; released by world_clear. */
void world_draw(world *w, const skeleton *bones, const world_prior *prior, phl_rng *rng);
void world_clear(world *w);

/* Options for a chain on a world. */
phl_gibbs_options world_options(const world *w, uint64_t seed);

/* A chain on a world, in the state of the world: parameters, partitions, counts and portions.
 * Portions hold equal occurrences together, or (apart) one occurrence each. */
phl_gibbs *world_gibbs(const world *w, uint64_t seed); /* at the start of a chain */
void world_set_shape_counts(const world *w, phl_gibbs *gibbs);
void world_set_parameters(const world *w, phl_gibbs *gibbs);
void world_set_hidden(const world *w, phl_gibbs *gibbs, bool apart);

/* alpha and lambda0 for the partition moves, without tables of the rising factorials, which take
 * long to make. */
void world_set_base(const world *w, phl_gibbs *gibbs);

/* ---- Pictures -------------------------------------------------------------------------------- */

/* What a feature depends on, and what a step changes. */
enum {
    ON_STATES = 1,
    ON_PARTITIONS = 2,
    ON_CORE = 4,
    ON_BASE = 8,
    ON_PRIOR = 16,
    ON_EMISSION = 32,
    ON_KAPPA = 64,
    ON_CONCENTRATION = 128,
    ON_SHAPE = 256,
    ON_JOINT =
        512, /* expected given portions and pairs: changes with what they keep, but not its mean */
};

/* margin: how many have a child in that state; what is not known counts as expected, every way of
 * giving the children of a pair to parents that show their block being as likely. */
typedef struct picture_portion {
    uint32_t subtree, state;
    int64_t n;
    size_t cell;
    double margin[W_ELIGIBLE][W_VALUES];
} picture_portion;

typedef struct picture {
    const world *w;
    bool soft;
    double alpha, alpha0, lambda0[W_STATES];
    uint32_t size[W_ELIGIBLE], block[W_ELIGIBLE][W_VALUES];
    size_t n_cells;
    double core[W_CELLS][W_STATES];
    double pi[W_SLOTS][W_STATES], b[W_STATES][W_SYMBOLS];
    double kappa[W_ELIGIBLE][W_VALUES][W_VALUES];
    double shape[W_SLOTS][3], root_kind[2];
    int64_t state[W_NODES][W_STATES]; /* [distinct subtree] */
    int64_t prior_count[W_SLOTS][W_STATES], emission_count[W_STATES][W_SYMBOLS];
    int64_t core_count[W_CELLS][W_STATES];
    int64_t axis_count[W_ELIGIBLE][W_VALUES][W_VALUES];
    size_t n_portions; /* hard */
    picture_portion portion[4 * W_NODES];
} picture;

void picture_of_world(picture *p, const world *w);
void picture_of_gibbs(picture *p, const world *w, phl_gibbs *gibbs);

/* Draw what a picture of a chain only expects: who has which child, b of labels and pi of slots
 * that the trees do not have (and which must be their expectation, to the bit).  Then it is, like
 * that of a world, one of a single state, as ranks among draws need it. */
void picture_deal(picture *p, const phl_state_counts *counts, phl_rng *rng);

enum { MAX_FEATURES = 96 };

typedef struct feature {
    char name[40];
    unsigned on;
    double value; /* within [0, 1] */
} feature;

/* All features of a picture; how many. */
size_t picture_features(const picture *p, feature *features);

/* ---- What must hold in every state of a chain --------------------------------------------------
 */

/* NULL, or what is wrong: partitions are partitions within their confines, no slot is open, every
 * portion is in the chain of its subtree, cells are those of the portions, and the children of
 * every pair are, by block, as many as its parents show. */
const char *partitions_fault(const phl_partitions *partitions);

/* The same, and: tables are those of the states, the states of a subtree those of its portions, and
 * of its pairs and the occurrences that belong to none.  multiplicity: occurrences of each distinct
 * subtree. */
const char *gibbs_fault(const phl_gibbs *gibbs, const int64_t *multiplicity);

/* Repetitions a statistical test can afford: all of them, a tenth under a sanitizer, a fiftieth
 * under valgrind, which only look for faults of memory. */
size_t affordable(size_t repetitions);

#endif
