/* gibbs.h - the Bayesian learner of tf: one chain of the blocked sampler.
 *
 * One iteration (docs/maths.md):
 *   1. hidden states given parameters: exact, as counts divided over distinct subtrees
 * (hidden_states.c);
 *   2. hidden states of whole groups of nodes (label_swap.c) and partitions, given lambda0 and each
 *      other, with lambda integrated out (partition_sweep.c);
 *   3. lambda0 by table counts with lambda integrated out, and only then lambda, pi, b, o.
 * Random numbers are a function of (seed, purpose; stream, iteration, item), so a chain can be
 * taken up at any iteration from (params, log lambda0, alpha, alpha0) alone.
 */
#ifndef PHL_GIBBS_GIBBS_H
#define PHL_GIBBS_GIBBS_H

#include "gibbs/likely_outcome.h"
#include "gibbs/partitions.h"
#include "model/infer.h"

typedef struct phl_gibbs_options {
    double alpha, alpha0, beta, gamma, delta;
    phl_partition_prior prior;
    bool fixed_partitions; /* of step 2, the partitions are left out */
    bool no_swaps;         /* of step 2, the groups of nodes are left out */
    bool update_concentration;
    uint32_t start_slots;          /* active slots of the start, 0 and 1: one */
    bool presence_start;           /* see phl_gibbs_create */
    uint64_t hold_end;             /* partitions stay as they are before that iteration */
    uint64_t recycle, recycle_end; /* tries to recycle states, before that iteration */
    uint64_t seed, stream;
    int threads; /* for the upward pass */
} phl_gibbs_options;

/* Counts of hidden states and labels. */
typedef struct phl_gibbs_counts {
    uint32_t *one_state; /* [n] the state of all occurrences of a subtree, or PHL_MANY: then */
    int64_t *state;      /* [n][C] has how many are in which */
    int64_t *prior;      /* [L][C] leaves */
    int64_t *emission;   /* [M + 1][C] */
    int64_t *core;       /* soft: [core_rows][C]; hard: the cells of the partitions */
    int64_t **kappa;     /* soft: by axis [C + 1][k] */
} phl_gibbs_counts;

typedef struct phl_label_swap phl_label_swap;
typedef struct phl_state_recycle phl_state_recycle;

typedef struct phl_gibbs {
    phl_gibbs_options options;
    const phl_index *index;    /* borrowed */
    const uint32_t *label_row; /* borrowed */
    phl_params *params;
    phl_upward *upward;
    const phl_slot_pairs *pairs; /* borrowed */
    phl_state_counts *state_counts;
    phl_partitions *partitions;
    phl_label_swap *swap;       /* NULL: none */
    phl_state_recycle *recycle; /* NULL: no tries */
    phl_gibbs_counts counts;
    phl_params *shape_counts; /* shape and root_kind of the data: they never change */
    double *log_lambda0;      /* [C] */
    double alpha, alpha0;
    uint64_t iteration; /* iterations done */
    double *times;      /* [n] occurrences, whole numbers */
    bool passed;        /* the upward pass of the next step 1 is done already */
    /* Figures of the iteration done last. */
    double log_likelihood; /* of the parameters that entered it */
    double log_joint;      /* log p(x, Q, c | lambda0) with lambda, pi, b integrated out */
    /* Work space. */
    double *weights;
    size_t weight_capacity;
    int64_t *drawn;
    size_t drawn_capacity;
    phl_cell_draw cell_draw;
    phl_likely_outcomes likely;
    int64_t *pool; /* [n_pairs][width] children of pairs in active slots, by the block they show */
    size_t pool_capacity;
    double *share; /* by axis, at first_share: [k][C] how far a state belongs to a block */
    size_t share_capacity, first_share[PHL_MAX_AXES];
    /* log (beta)_n, log ((M + 1) beta)_n; log (gamma)_n, log (C gamma)_n. */
    phl_rising emission_rising[2], prior_rising[2];
    /* Labels and slots that take no part in step 1; see gibbs_parameters.c. */
    uint32_t *label_order; /* [M + 1] rows of emission, first those the forest has */
    size_t n_seen;
    uint8_t *has_leaf;   /* [L + 1] */
    double *unseen_mass; /* [C] */
    bool expanded;
    uint64_t drawn_in; /* of whose random streams params were drawn */
    double *log_row;   /* [max(C, M + 1)] twice */
} phl_gibbs;

/* A chain at its start: one random eligible slot (or slots_min of them) with a random partition
 * into two blocks; or, by presence, the first three (or slots_min of them), each with the empty
 * value against all others; all tables uniform, so that the first hidden states are uniform. fixed:
 * partitions to start from and, with options->fixed_partitions, to keep. */
phl_status phl_gibbs_create(const phl_slot_pairs *pairs, const uint32_t *label_row, uint32_t states,
                            uint32_t labels, const phl_axis *fixed, uint32_t n_fixed,
                            const phl_gibbs_options *options, phl_gibbs **gibbs, phl_error *error);
void phl_gibbs_free(phl_gibbs *gibbs);

/* Random numbers of a purpose and item in the iteration under way. */
static inline void phl_gibbs_rng(const phl_gibbs *gibbs, uint64_t purpose, uint64_t item,
                                 phl_rng *rng)
{
    phl_rng_init(rng, gibbs->options.seed, purpose, gibbs->options.stream, gibbs->iteration, item);
}

/* Occurrences of a subtree in a state, as step 1 drew them. */
static inline int64_t phl_gibbs_count(const phl_gibbs *gibbs, uint32_t subtree, uint32_t state)
{
    uint32_t one = gibbs->counts.one_state[subtree];
    return one == PHL_MANY ? gibbs->counts.state[(size_t)subtree * gibbs->params->states + state]
           : one == state  ? (int64_t)gibbs->times[subtree]
                           : 0;
}

/* One iteration, its partition moves at a temperature of 1 or more. */
phl_status phl_gibbs_step(phl_gibbs *gibbs, double temperature, phl_error *error);

/* Its three steps, for tests. */
phl_status phl_hidden_states_draw(phl_gibbs *gibbs, phl_error *error);
phl_status phl_gibbs_draw_partitions(phl_gibbs *gibbs, double temperature, phl_error *error);
/* `drawn_in` tells the random streams: those of an iteration, or UINT64_MAX, which none uses. */
phl_status phl_gibbs_parameters_draw(phl_gibbs *gibbs, uint64_t drawn_in, phl_error *error);

/* Labels that the forest does not have get equal shares of what a state leaves to them together:
 * their expectation, given everything else.  To be called before anybody else looks at params. */
void phl_gibbs_parameters_expand(phl_gibbs *gibbs);

/* Parts of phl_gibbs_create and of step 3: what the forest has; active slots of the model from the
 * partitions. */
phl_status phl_gibbs_parameters_list_seen(phl_gibbs *gibbs, phl_error *error);
phl_status phl_gibbs_set_axes(phl_gibbs *gibbs, phl_error *error);

/* Go over to soft clustering: kappa = 0.9 hard + 0.1 / k, sizes kept; later steps are soft. */
phl_status phl_gibbs_soften(phl_gibbs *gibbs, phl_error *error);

/* What a chain is made of between two iterations: enough to go on from. */
typedef struct phl_chain_state {
    uint64_t iteration;
    phl_params *params;
    double *log_lambda0; /* [C] */
    double alpha, alpha0;
} phl_chain_state;

/* Put a new chain where another one was.  Nothing of the state is kept. */
phl_status phl_gibbs_restore(phl_gibbs *gibbs, const phl_chain_state *state, phl_error *error);

/* log p(x, Q, c | lambda0) of the counts of now, by the base of the partitions. */
double phl_gibbs_joint(const phl_gibbs *gibbs);

/* log p(labels) of the training trees under the parameters of now, which takes an upward pass; a
 * step that follows at once does not repeat it. */
phl_status phl_gibbs_likelihood(phl_gibbs *gibbs, double *log_likelihood, phl_error *error);

#endif
