/* run.h - what training gives, in memory: alphabet, one model a class, how it was made, traces.
 *
 * Plain containers: learners fill them, store/ reads and writes them, task/ uses them.
 */
#ifndef PHL_MODEL_RUN_H
#define PHL_MODEL_RUN_H

#include "forest/alphabet.h"
#include "model/params.h"

/* Parameters to predict with, and where they come from. */
typedef struct phl_draw {
    phl_params *params;
    uint32_t chain;     /* chain or restart */
    uint64_t iteration; /* of the chain */
    double log_likelihood;
    double log_joint; /* Gibbs: log p(x, Q, c | lambda0); EM: the objective */
} phl_draw;

enum { PHL_MOVE_TYPES = 4 };

typedef struct phl_trace_row {
    uint32_t class_index, chain;
    uint64_t iteration; /* iterations done before these figures; EM: 0 is the random start */
    double temperature, log_likelihood, log_joint, seconds;
    uint32_t active;   /* active slots; 0 where it means nothing */
    uint32_t sum_size; /* sum of k over the eligible slots; 0 where it means nothing */
    /* Moves tried and changes made in this iteration: reassign, split, merge, carry (blocked
     * sampler); states, sizes (the paper's). */
    uint32_t tried[PHL_MOVE_TYPES], changed[PHL_MOVE_TYPES];
} phl_trace_row;

struct phl_model {
    const struct phl_run *run; /* that it belongs to */
    uint32_t class_index;
    uint64_t trees; /* trained on */
    double weight;  /* total weight of those trees */
    size_t n_draws, draw_capacity;
    phl_draw *draws;
    phl_stop_reason stop_reason;
    uint64_t iterations; /* of the best restart, or of every chain */
};

/* The reason of this name; 0 if there is none such (stop_reason.c). */
phl_stop_reason phl_stop_reason_find(const char *name);

typedef struct phl_meta {
    char *key, *value;
} phl_meta;

struct phl_run {
    phl_kind kind;
    uint32_t states, slots;
    bool per_class;
    phl_alphabet labels;
    phl_alphabet classes; /* one name a model if per_class, else empty */
    size_t n_models;      /* classes, or 1 */
    phl_model *models;    /* [n_models] */
    size_t n_meta, meta_capacity;
    phl_meta *meta;
    size_t n_trace, trace_capacity;
    phl_trace_row *trace;
    phl_forest *forest; /* trained on, to be stored with the run; owned, may be NULL */
};

/* An empty run over copies of the alphabets; per_class: one model a class name, else one model. */
phl_status phl_run_create(phl_kind kind, uint32_t states, uint32_t slots,
                          const phl_alphabet *labels, const phl_alphabet *classes, bool per_class,
                          phl_run **run, phl_error *error);

/* Takes over draw->params, on failure too. */
phl_status phl_model_add_draw(phl_model *model, const phl_draw *draw, phl_error *error);
phl_status phl_run_add_trace(phl_run *run, const phl_trace_row *row, phl_error *error);
/* Set (or set anew) a fact about the run; value is copied. */
phl_status phl_run_set_meta(phl_run *run, const char *key, const char *value, phl_error *error);

#endif
