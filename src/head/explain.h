/* explain.h - the features that spoke for a class and against another, and where they sit. */
#ifndef PHL_HEAD_EXPLAIN_H
#define PHL_HEAD_EXPLAIN_H

#include "head/head.h"

/* What is asked of each tree: features in favour of one class against another. */
typedef struct phl_explain_question {
    size_t best, second;
} phl_explain_question;

/* Of every tree listed the `most` features that weigh most: reasons [n][most], and how many there
 * are [n]; `features` [n] is what all features give together, `constant` [n] the constant.  The
 * difference of the scores is their sum.  Everything is multiplied by `scale`. */
typedef struct phl_explain_answers {
    phl_reason *reasons;
    size_t *n_reasons;
    double *features, *constant;
} phl_explain_answers;

phl_status phl_explain_answers_init(phl_explain_answers *answers, size_t n, size_t most,
                                    phl_error *error);
void phl_explain_answers_clear(phl_explain_answers *answers);

phl_status phl_explain_trees(const phl_head *head, const phl_forest *forest, const size_t *trees,
                             const phl_explain_question *questions, size_t n, size_t most,
                             double scale, int threads, phl_cancel_fn cancel, void *context,
                             const phl_explain_answers *answers, phl_error *error);

#endif
