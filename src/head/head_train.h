/* head_train.h - training a linear classifier: settings by cross-validation, then all trees. */
#ifndef PHL_HEAD_HEAD_TRAIN_H
#define PHL_HEAD_HEAD_TRAIN_H

#include "head/head.h"

typedef struct phl_head_settings {
    const uint32_t *class_number; /* [classes of the forest] number in the head */
    size_t n_classes;             /* of the head: 2 or more */
    const uint32_t *fold;         /* [trees] test folds of the cross-validation; */
    size_t n_folds;               /* 0: no cross-validation, the first settings are taken */
    const unsigned *groups;       /* [n_groups] sets of features to choose from */
    size_t n_groups;
    const double *c; /* [n_c] ascending */
    size_t n_c;
    size_t least_trees; /* features in fewer distinct trees are left out */
    double tolerance;   /* of the last fit: mean KL */
    uint64_t seed;
    uint64_t memory_limit; /* bytes; 0: half of the machine's */
    int threads;
    phl_cancel_fn cancel;
    void *context;
} phl_head_settings;

/* The defaults. */
phl_head_settings phl_head_train_defaults(void);

/* Every tree must have a class. */
phl_status phl_head_train(const phl_forest *forest, const phl_head_settings *options,
                          phl_head **head, phl_error *error);

#endif
