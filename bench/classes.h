/* classes.h - what the programs of bench/ share: words of the command line, the time, and trees
 * read from files, one forest per class, prepared for inference.
 */
#ifndef PHL_BENCH_CLASSES_H
#define PHL_BENCH_CLASSES_H

#include "model/index.h"

/* One of `number` and `text` is set, or neither: then the option is a flag and sets *flag. */
typedef struct bench_option {
    const char *name; /* with its dashes; NULL ends a list */
    double *number;
    const char **text;
    bool *flag;
} bench_option;

/* Options come first; returns where the other words begin, or 0 after a complaint. */
int bench_options(int argc, char **argv, const bench_option *options, const char *usage);

/* "2,3,4" into sizes, at most `room` of them; returns how many. */
size_t bench_list(const char *text, uint32_t *sizes, size_t room);

/* Seconds of the processor, all threads of this process: other programs do not count. */
double bench_seconds(void);

/* Prints what went wrong; returns the exit code. */
int bench_end(const char *program, phl_status status, const phl_error *error);

/* The trees of one class. */
typedef struct bench_class {
    phl_forest *forest;
    phl_index *index;
    uint32_t *label_row; /* rows of the alphabet of all classes */
} bench_class;

typedef struct bench_classes {
    phl_forest *all;
    uint32_t slots, labels; /* of all classes */
    size_t n;               /* 1 when the trees have no classes */
    bench_class *class;     /* [n] */
} bench_classes;

/* Each tree enters its class `repeat` times.  no_sharing: every occurrence of a subtree is one of
 * its own. */
phl_status bench_classes_read(const char *const *paths, size_t n_paths, bool no_sharing,
                              size_t repeat, bench_classes *classes, phl_error *error);
void bench_classes_clear(bench_classes *classes);

/* Sums over the classes, as the beginning of a JSON object: classes, trees, nodes,
 * distinct_subtrees, links. */
void bench_classes_print(const bench_classes *classes);

#endif
