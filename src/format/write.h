/* write.h - what a sink needs of writing. */
#ifndef PHL_FORMAT_WRITE_H
#define PHL_FORMAT_WRITE_H

#include "format/format.h"

/* The driver that the options, or the name of the output, ask for. */
const phl_format_driver *phl_write_driver(const phl_write_options *options, const char *path);

phl_status phl_write_options_take(const phl_write_options *given, phl_write_options *taken,
                                  phl_error *error);

/* Write the trees of a block, numbered from `first` in messages, to *output, which is opened at
 * `path` if it is NULL; nothing if a tree cannot be expressed.  Not for XML. */
phl_status phl_write_block(const phl_forest *block, size_t first, const phl_write_options *options,
                           const phl_format_driver *driver, const char *path, phl_output **output,
                           phl_error *error);

#endif
