/* classify.h - what cross-validation shares with classification. */
#ifndef PHL_TASK_CLASSIFY_H
#define PHL_TASK_CLASSIFY_H

#include "model/run.h"
#include "task/measures.h"

/* phl_classify without the note on labels never seen. */
phl_status phl_classify_quietly(const phl_run *run, phl_source *source,
                                const phl_classify_options *options, phl_classify_fn each,
                                phl_error *error);

/* A classified tree as an item of an evaluation over the classes of the run (n of them); truth:
 * the class it has, -1 if the run does not know it. */
phl_item phl_classify_item(const phl_classified_tree *classified, size_t n, size_t truth);

#endif
