/* unseen.h - labels of trees that a run never saw in training: no error, but worth a note. */
#ifndef PHLOEM_CLI_UNSEEN_H
#define PHLOEM_CLI_UNSEEN_H

#include "phloem.h"

/* Counted over all forests added, as if they were one; zero-initialise but for the run. */
typedef struct unseen_labels {
    const phl_run *run;
    const char **known; /* [labels of the run] sorted; NULL: not made yet */
    uint64_t nodes;
    char **names; /* [size] a hash table of those met; NULL: empty */
    size_t n, size;
    const char *first;   /* the one to name: of a lowest subtree, the first of these, */
    size_t first_height; /* and its height */
} unseen_labels;

void unseen_add(unseen_labels *unseen, const phl_forest *forest);
/* Say how many there were, if any. */
void unseen_tell(const unseen_labels *unseen);
void unseen_clear(unseen_labels *unseen);

#endif
