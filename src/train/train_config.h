/* train_config.h - the options of a training, as the run it gives records them.
 *
 * A run has them twice: as phl_run_options, and as the facts "config" (a JSON object), "seed",
 * "command" and "partition", which go into its file.  One is made from the other here alone.
 */
#ifndef PHL_TRAIN_TRAIN_CONFIG_H
#define PHL_TRAIN_TRAIN_CONFIG_H

#include "model/run.h"

/* Options and facts of a run from resolved options; `earlier` are the iterations asked for before
 * the run was extended.  What does not shape the result (threads, callbacks, the memory limit,
 * options of the other learner) is not recorded and has its default. */
phl_status phl_train_config_record(const phl_train_options *options, const size_t *earlier,
                                   size_t n_earlier, phl_run *run, phl_error *error);

/* The fact "config" of a run with so many slots, to be released with phl_free. */
phl_status phl_train_config_text(const phl_train_options *options, uint32_t slots, char **text,
                                 phl_error *error);

/* Options of a run from its facts; there are none when it has no fact "config".  PHL_ERR_SYNTAX
 * when the facts are not those of such a run, or would not be accepted for one. */
phl_status phl_train_config_restore(phl_run *run, phl_error *error);

#endif
