/* grammar_session.h - a forest under one model of a grammar run, to ask about its trees one by one:
 * what session.h is for the other kinds.
 *
 * Values of lists are kept as long as they fit the bytes given; others are made again when they are
 * asked for, and then stay until another such one is.  Loops over many trees should therefore have
 * the starts outermost.
 */
#ifndef PHL_TASK_GRAMMAR_SESSION_H
#define PHL_TASK_GRAMMAR_SESSION_H

#include "grammar/outlook.h"
#include "model/grammar_scores.h"

typedef struct phl_grammar_session {
    size_t part;    /* number of the model */
    uint64_t bytes; /* that are left for values */
    phl_grammars grammars;
    phl_lists *lists[2];    /* by form */
    phl_backoff **backoffs; /* [starts] */
    phl_values **values;    /* [starts] NULL: not kept */
    phl_values *spare;      /* of a start whose values are not kept, or NULL */
    size_t spare_start;
    phl_outlook *outlook; /* for predictives, made when needed */
    double *room;         /* [nodes or labels] grows as needed */
    size_t room_capacity;
} phl_grammar_session;

/* label_row: symbols of the forest's labels.  forest NULL: none, backoffs alone. */
phl_status phl_grammar_session_create(const phl_model *model, const phl_forest *forest,
                                      const uint32_t *label_row, uint64_t bytes,
                                      phl_grammar_session **session, phl_error *error);
void phl_grammar_session_free(phl_grammar_session *session);

/* log p of trees [n] under a start. */
phl_status phl_grammar_session_score(phl_grammar_session *session, size_t start,
                                     const size_t *trees, size_t n, double *log_p,
                                     phl_error *error);

/* The values of a start, kept or made again. */
phl_status phl_grammar_session_values(phl_grammar_session *session, size_t start,
                                      const phl_values **values, phl_error *error);

/* A work space, made if *outlook is NULL, turned to values. */
phl_status phl_grammar_session_turn(phl_outlook **outlook, const phl_values *values,
                                    phl_error *error);

/* Weights of the states of all labels by label: out [M + 1], adding up to 1. */
void phl_grammar_session_sum_labels(const phl_backoff *backoff, const double *weights, double *out);

/* See phl_session_predict; log_p [starts] of the tree. */
phl_status phl_grammar_session_predict(phl_grammar_session *session, const double *log_p,
                                       size_t tree, size_t nodes, double *predictive,
                                       bool *possible, phl_error *error);

/* Into sums [nodes]: sum over starts of weights [starts] / p(x_u | all other labels), weights alone
 * where the label is unknown. */
phl_status phl_grammar_session_surprise(phl_grammar_session *session, const double *weights,
                                        size_t tree, size_t nodes, double *sums, phl_error *error);

#endif
