/* train_options.h - options of a training: defaults, checks, and how a run records them. */
#ifndef PHL_LEARN_TRAIN_OPTIONS_H
#define PHL_LEARN_TRAIN_OPTIONS_H

#include "base/text.h"

/* Replace every PHL_DEFAULT and automatic choice. */
void phl_train_options_resolve(phl_train_options *options);

/* Of resolved options. */
phl_status phl_train_options_check(const phl_train_options *options, phl_error *error);

/* Resolved options as a JSON object; `slots` is that of the data. */
phl_status phl_train_options_json(const phl_train_options *options, uint32_t slots, phl_text *text,
                                  phl_error *error);

#endif
