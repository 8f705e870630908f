/* evaluations.h - predictions held against the truth, for people or as JSON. */
#ifndef PHLOEM_CLI_EVALUATIONS_H
#define PHLOEM_CLI_EVALUATIONS_H

#include "phloem.h"

#include "print/terminal.h"

/* How a report names things. */
typedef struct evaluation_words {
    const char *items;           /* "trees classified" */
    const char *name;            /* "class" */
    const char *names;           /* "classes" */
    const uint64_t *drawn_right; /* [n_names] drawn labels that are right, by the true name; may be
                                    NULL */
} evaluation_words;

void evaluation_print(const phl_evaluation *evaluation, const evaluation_words *words);
/* One object, as documented for classify and label; accuracy_drawn if labels were drawn. */
void evaluation_json(const phl_evaluation *evaluation, bool drawn);

/* Evaluations of parts of the items, made with the same run, put together (pool.c). */
typedef struct evaluation_pool {
    phl_evaluation total;                              /* valid after finish */
    double right, drawn, predictive_entropy, log_loss; /* sums over items */
} evaluation_pool;
void pool_begin(evaluation_pool *pool, const phl_run *run);
void pool_add(evaluation_pool *pool, const phl_evaluation *part);
void pool_finish(evaluation_pool *pool);
void pool_clear(evaluation_pool *pool);

#endif
