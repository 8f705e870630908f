/* partition_json.h - partitions given by the user: [{"slot":1,"blocks":[0,0,1]}], as in show
 * --json. */
#ifndef PHL_TRAIN_PARTITION_JSON_H
#define PHL_TRAIN_PARTITION_JSON_H

#include "model/params.h"

/* Modes for a model of `states` states and `slots` slots; release with phl_partition_json_free. */
phl_status phl_partition_json_parse(const char *text, uint32_t states, uint32_t slots,
                                    phl_axis **axes, uint32_t *n_axes, phl_error *error);
void phl_partition_json_free(phl_axis *axes, uint32_t n_axes);

#endif
