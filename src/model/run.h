/* run.h - what training gives, in memory: alphabet, one model per class, how it was made, traces.
 *
 * Plain containers: learners fill them, store/ reads and writes them, task/ uses them.
 */
#ifndef PHL_MODEL_RUN_H
#define PHL_MODEL_RUN_H

#include "expert/expert.h"
#include "forest/alphabet.h"
#include "head/head.h"
#include "model/params.h"
#include "model/shape_model.h"

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
    phl_trace_row *trace;       /* by class, chain and iteration; no iteration twice */
    phl_train_options *options; /* see phl_run_options; owned with what it points to, may be NULL */
    size_t *earlier; /* [n_earlier] iterations asked for before the run was extended, ascending */
    size_t n_earlier;
    phl_head *head;                    /* linear classifier; NULL: none */
    size_t n_members, member_capacity; /* further models of the same trees, */
    phl_run **members;                 /* each a run without more than models; owned */
    phl_expert *expert;                /* on neighbourhoods, and how all are pooled; NULL: none */
    phl_shape_model *shapes; /* that whole trees are drawn from; NULL: those of the draws */
    phl_forest *forest;      /* trained on, to be stored with the run; owned, may be NULL */
};

/* An empty run over copies of the alphabets; per_class: one model per class name, else one model.
 */
phl_status phl_run_create(phl_kind kind, uint32_t states, uint32_t slots,
                          const phl_alphabet *labels, const phl_alphabet *classes, bool per_class,
                          phl_run **run, phl_error *error);

enum { PHL_RUN_MOST_MODELS = 6 }; /* with the first one: voices of the pool */
/* Add a further model, a run over the same labels and classes; it is taken over on success. */
phl_status phl_run_take_member(phl_run *run, phl_run *member, phl_error *error);

/* Takes over draw->params, on failure too. */
phl_status phl_model_add_draw(phl_model *model, const phl_draw *draw, phl_error *error);
/* Rows come in the order of the trace, or phl_trace_order is called after the last one. */
phl_status phl_run_add_trace(phl_run *run, const phl_trace_row *row, phl_error *error);
/* Puts the rows in order, whatever order they came in; of an iteration that came twice the later
 * row stays (trace.c). */
phl_status phl_trace_order(phl_run *run, phl_error *error);
/* All rows of a class, by chain and iteration. */
const phl_trace_row *phl_trace_of_class(const phl_model *model, size_t *n);
/* Set (or set anew) how the run was trained; everything is copied, on failure nothing changes. */
phl_status phl_run_set_options(phl_run *run, const phl_train_options *options,
                               const size_t *earlier, size_t n_earlier, phl_error *error);
/* Set (or set anew) a fact about the run; value is copied. */
phl_status phl_run_set_meta(phl_run *run, const char *key, const char *value, phl_error *error);
/* Set all facts (key and value) whose value is not NULL. */
phl_status phl_run_set_facts(phl_run *run, const char *const (*facts)[2], size_t n,
                             phl_error *error);

#endif
