/* train_options.h - options of a training: defaults, checks, and how a run records them. */
#ifndef PHL_TRAIN_TRAIN_OPTIONS_H
#define PHL_TRAIN_TRAIN_OPTIONS_H

#include "base/text.h"

/* Replace every PHL_DEFAULT and automatic choice. */
void phl_train_options_resolve(phl_train_options *options);

/* The caller's, NULL: the defaults. */
phl_status phl_train_options_take(const phl_train_options *given, phl_train_options *taken,
                                  phl_error *error);

/* Of resolved options. */
phl_status phl_train_options_check(const phl_train_options *options, phl_error *error);

/* Resolved options as a JSON object; `slots` is that of the data, `earlier` the iterations asked
 * for before the run was extended. */
phl_status phl_train_options_json(const phl_train_options *options, const size_t *earlier,
                                  size_t n_earlier, uint32_t slots, phl_text *text,
                                  phl_error *error);

/* ---- And back: train_config.c ---------------------------------------------------------------- */

typedef struct phl_train_config {
    phl_train_options
        options;     /* resolved; seed, partition, command_line and callbacks are not set */
    uint32_t *sizes; /* what options.sizes points to */
    size_t *earlier;
    size_t n_earlier;
} phl_train_config;

/* PHL_ERR_SYNTAX when it is not such an object. */
phl_status phl_train_config_parse(const char *text, phl_train_config *config, phl_error *error);
void phl_train_config_clear(phl_train_config *config);

#endif
