/* head.h - a linear classifier on features of trees: multinomial logistic regression.
 *
 * What a run holds of it; head_train.c makes one.  Classes are numbered as in the run.
 */
#ifndef PHL_HEAD_HEAD_H
#define PHL_HEAD_HEAD_H

#include "head/features.h"

struct phl_head {
    phl_features *features;
    size_t n_classes;
    double *weights;    /* [features + 1][n_classes], those of the constant last */
    double temperature; /* what scores are divided by */

    /* How it was made. */
    size_t n_choices, chosen, n_folds;
    phl_head_choice *choices; /* NULL: none were tried */
    uint64_t trees, rows;     /* trained on, and how many of them differ */
    uint64_t passes;
    double gap, log_loss; /* of the fit: mean KL, mean log-loss of the training trees */
};

void phl_head_free(phl_head *head);

/* log p(class) of a tree whose features are given: [n_classes]. */
void phl_head_log_posterior(const phl_head *head, const phl_feature_row *row, double *values,
                            double *log_posterior);

#endif
