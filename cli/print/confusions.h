/* confusions.h - confusion matrices that outlive the run they came from, names in order. */
#ifndef PHLOEM_CLI_CONFUSIONS_H
#define PHLOEM_CLI_CONFUSIONS_H

#include "phloem.h"

typedef struct confusion {
    size_t n;
    char **names;     /* [n] */
    uint64_t *counts; /* [n][n], true by rows, predicted by columns */
} confusion;

/* A copy, ordered by name, of counts [n][n]. */
void confusion_copy(confusion *made, char *const *names, const uint64_t *counts, size_t n);
void confusion_clear(confusion *c);

/* Number of a name; SIZE_MAX if there is none such. */
size_t confusion_find(const confusion *c, const char *name);
uint64_t confusion_row_sum(const confusion *c, size_t row);

/* Share of right predictions among those whose truth is `name`; SIZE_MAX: of all.  NaN: no items.
 */
double confusion_accuracy(const confusion *c, size_t name);
/* H2(true | predicted = name) in bits, NaN when it was never predicted; SIZE_MAX: the mean over
 * what was predicted, the paper's entropy. */
double confusion_entropy(const confusion *c, size_t name);

#endif
