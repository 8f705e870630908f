/* report.h - everything about some runs as one JSON document, and the page around it.
 *
 * docs/report.md describes the document, report/schema.json is its schema, and report/ holds what
 * the page is built from.  Each section of the document is one file here; what they find that a
 * user should know is kept as alerts, which stand on top.
 */
#ifndef PHLOEM_CLI_REPORT_H
#define PHLOEM_CLI_REPORT_H

#include "args/options.h"
#include "print/terminal.h"

/* A run of the report. */
typedef struct report_run {
    const char *path;
    phl_run *run;
    phl_forest *trees;       /* trained on; NULL: the file does not hold them */
    phl_diagnosis diagnosis; /* if it was diagnosed: */
    bool diagnosed;
    bool trained; /* its models can be used: there are some, all with draws */
} report_run;

typedef struct report_alert {
    bool trouble;     /* false: a note */
    const char *code; /* a word for programs */
    size_t run;
    char *class_name;    /* NULL: all */
    char *text, *advice; /* advice: NULL for none */
} report_alert;

typedef struct report {
    int threads;
    double hide;         /* labels of test trees to hide; 0: none, below: as is usual */
    size_t oddest;       /* trees to show */
    uint64_t seed;       /* of hiding */
    const char *command; /* line that made the report */
    report_run *runs;
    size_t n_runs;
    phl_forest *test; /* NULL: none */
    report_alert *alerts;
    size_t n_alerts;
    json_writer *json; /* of the section at hand */
} report;

/* ---- all of it (report_write.c) ---- */

/* Open the runs, with the trees they hold.  Returns an exit code. */
int report_write_open(report *r, const char *const *paths, size_t n, const cli_command *command);
/* Work everything out and write it: as a page, or as JSON.  Returns an exit code. */
int report_write(report *r, FILE *file, bool page, const cli_command *command);
void report_write_clear(report *r);

/* ---- values (report_values.c) ---- */

/* Keep something for the top.  Texts are copied; class_name and advice may be NULL. */
void report_values_alert(report *r, size_t run, bool trouble, const char *code,
                         const char *class_name, const char *advice, const char *format, ...)
    PHL_PRINTF(7, 8);
/* A name, cut after 1,000 characters with "..." behind; NULL: null. */
void report_values_name(json_writer *json, const char *name);
void report_values_text(json_writer *json, const char *key, const char *name);
/* A number with so many digits under a key. */
void report_values_real(json_writer *json, const char *key, double number, int digits);
/* Something with its share: {"name": ..., "share": ...}. */
void report_values_share(json_writer *json, const char *name, double share);
/* "distribution": how often each value occurs, in at most 40 pieces of equal width. */
void report_values_distribution(json_writer *json, const char *key, const uint64_t *values,
                                size_t n);
/* The 95 % interval (Wilson) of a share of n as "low" and "high". */
void report_values_interval(json_writer *json, double share, uint64_t n);

/* ---- trees (report_trees.c) ---- */

/* A table of distinct subtrees under the key "subtrees": those that `roots` need, cut where they
 * are wide or deep.  number [subtrees of the forest] gets the place in the table of each, -1: not
 * in it. */
void report_trees_table(json_writer *json, const phl_forest *forest, const uint32_t *roots,
                        size_t n, int32_t *number);

/* One tree node by node, cut below the depth where it has too many nodes. */
typedef struct flat_tree {
    size_t n, left_out;
    size_t *node; /* [n] numbers in pre-order */
    int32_t *label;
    int64_t *parent; /* place in these arrays; -1: the root */
    uint32_t *slot;
} flat_tree;
phl_status report_trees_flatten(const phl_forest *forest, phl_walk *walk, size_t tree,
                                flat_tree *flat, phl_error *error);
/* Its members, without brackets. */
void report_trees_flat(json_writer *json, const phl_forest *forest, const flat_tree *flat);
void report_trees_clear(flat_tree *flat);

/* ---- sections: each writes one member of a run's object ---- */

phl_status report_data_write(report *r, const phl_forest *forest, const char *key,
                             phl_error *error);
phl_status report_learned_write(report *r, size_t run, phl_error *error);
void report_grammar_write(report *r, size_t run);
void report_states_write(report *r, size_t run);
phl_status report_head_write(report *r, size_t run, phl_error *error);
phl_status report_convergence_write(report *r, size_t run, phl_error *error);
phl_status report_test_write(report *r, size_t run, phl_error *error);
phl_status report_classes_write(report *r, size_t run, phl_error *error);
phl_status report_labels_write(report *r, size_t run, phl_error *error);
phl_status report_odd_write(report *r, size_t run, phl_error *error);

/* The page, made from report/page.html at build time; the data go where the mark is. */
extern const char report_page[];
#define REPORT_PAGE_MARK "@PHLOEM-REPORT-DATA@"

#endif
