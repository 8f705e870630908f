/* train_head.h - the linear head of a run: its folds, and training it. */
#ifndef PHL_TRAIN_TRAIN_HEAD_H
#define PHL_TRAIN_TRAIN_HEAD_H

#include "head/head_train.h"
#include "model/run.h"

/* A head for n_classes classes; number [classes of the forest] says which of them each is.  Every
 * tree has one.  The options were taken over and are good. */
phl_status phl_train_head(const phl_forest *forest, const phl_classifier_options *options,
                          const uint32_t *number, size_t n_classes, phl_head **head,
                          phl_error *error);

/* Folds that were given, as a fact of the run, and from it: *fold is NULL when there is none, and
 * to be released.  PHL_ERR_SYNTAX when the fact is not about so many trees. */
phl_status phl_train_head_record_folds(phl_run *run, const uint32_t *fold, size_t n_trees,
                                       phl_error *error);
phl_status phl_train_head_restore_folds(const phl_run *run, size_t n_trees, uint32_t **fold,
                                        size_t *n_folds, phl_error *error);

#endif
