/* unseen.h - labels that a run never saw, counted over the blocks of a source. */
#ifndef PHL_TASK_UNSEEN_H
#define PHL_TASK_UNSEEN_H

#include "model/run.h"

typedef struct phl_unseen {
    phl_alphabet names;
    uint64_t nodes;
    int32_t example;       /* a name that stands lowest in a tree; -1: none */
    size_t example_height; /* of its node */
} phl_unseen;

void phl_unseen_init(phl_unseen *unseen);
void phl_unseen_clear(phl_unseen *unseen);
phl_status phl_unseen_add(phl_unseen *unseen, const phl_run *run, const phl_forest *forest,
                          phl_error *error);
/* Fill in the note; false: there is nothing to tell. */
bool phl_unseen_note(const phl_unseen *unseen, phl_error *note);

#endif
