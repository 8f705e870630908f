/* paper.h - what the paper published, for printing beside our own figures. */
#ifndef PHLOEM_CLI_PAPER_H
#define PHLOEM_CLI_PAPER_H

#include <stddef.h>

enum { PAPER_SP, PAPER_TF, PAPER_MODELS, PAPER_ROWS = 5 };

/* Mean and sd over five runs, percent; entropy is 100 times bits. */
typedef struct paper_figure {
    double mean, sd;
} paper_figure;

/* A number of states, or a label; "all" is all labels together. */
typedef struct paper_row {
    const char *name;
    paper_figure accuracy[PAPER_MODELS], entropy[PAPER_MODELS];
} paper_row;

typedef struct paper_table {
    const char *experiment; /* "labelling", "inex05", "inex06" */
    paper_row rows[PAPER_ROWS];
} paper_table;

extern const char *const paper_source;

/* The table of an experiment; NULL if there is none such. */
const paper_table *paper_find(const char *experiment);
/* A row of it by its name; NULL if there is none such. */
const paper_row *paper_row_find(const paper_table *table, const char *name);

#endif
