/* train_options.h - options of a training: defaults and checks. */
#ifndef PHL_TRAIN_TRAIN_OPTIONS_H
#define PHL_TRAIN_TRAIN_OPTIONS_H

#include "base/error.h"

/* Replace every PHL_DEFAULT and automatic choice. */
void phl_train_options_resolve(phl_train_options *options);

/* The caller's, NULL: the defaults. */
phl_status phl_train_options_take(const phl_train_options *given, phl_train_options *taken,
                                  phl_error *error);

/* Of resolved options. */
phl_status phl_train_options_check(const phl_train_options *options, phl_error *error);

#endif
