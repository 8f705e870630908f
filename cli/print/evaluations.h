/* evaluations.h - predictions held against the truth, for people or as JSON. */
#ifndef PHLOEM_CLI_EVALUATIONS_H
#define PHLOEM_CLI_EVALUATIONS_H

#include "phloem.h"

#include "print/terminal.h"

/* How a report names things. */
typedef struct evaluation_words {
    const char *items; /* "trees classified" */
    const char *name;  /* "class" */
    const char *names; /* "classes" */
    bool classes;      /* with what tells whether an accuracy is a good one */
} evaluation_words;

void evaluation_print(const phl_evaluation *evaluation, const evaluation_words *words);
/* A name for people, "(unseen)" for what has none. */
const char *evaluation_name(const phl_evaluation *evaluation, size_t name);
/* One object, as documented for classify and label. */
void evaluation_json(const phl_evaluation *evaluation);
/* The same as a value of something larger. */
void evaluation_json_write(json_writer *json, const phl_evaluation *evaluation);

/* A confusion matrix of an evaluation, as a member of an object: names as the evaluation has them
 * or, with `order` [n_names], in that order. */
void evaluation_confusion_json(json_writer *json, const phl_evaluation *evaluation,
                               const phl_confusion *confusion, const size_t *order);
/* The names of an evaluation in order, numbers in them taken as numbers; to be freed. */
size_t *evaluation_names_in_order(const phl_evaluation *evaluation);

#endif
