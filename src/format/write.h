/* write.h - what writing a file, a folder and a stream of blocks share. */
#ifndef PHL_FORMAT_WRITE_H
#define PHL_FORMAT_WRITE_H

#include "format/format.h"

/* The driver that the options, or the name of the output, ask for; it can write. */
phl_status phl_write_driver(const phl_write_options *options, const char *path,
                            const phl_format_driver **driver, phl_error *error);

phl_status phl_write_options_take(const phl_write_options *given, phl_write_options *taken,
                                  phl_error *error);

/* Write the trees of a block, numbered from `first` in messages, to *output, which is opened at
 * `path` if it is NULL; nothing if a tree cannot be expressed.  Not for XML. */
phl_status phl_write_block(const phl_forest *block, size_t first, const phl_write_options *options,
                           const phl_format_driver *driver, const char *path, phl_output **output,
                           phl_error *error);
/* "tree N: FORMAT cannot express WHAT", with the file and line the tree came from. */
phl_status phl_write_objection(const phl_writer *writer, const phl_format_driver *driver,
                               size_t tree, const char *what, phl_error *error);
/* PHL_ERR_CANCELLED if the caller wants to stop. */
phl_status phl_write_check_cancel(const phl_writer *writer, phl_error *error);

/* One document per tree: PATH/CLASS/00000001.xml, those of trees without class in PATH itself.
 *
 * A folder that is new or empty appears complete or not at all.  With options->force documents are
 * put into a folder that holds others, in place of those of the same name: all of them, or after a
 * failure none.  (Killed while it puts them in place, it leaves some old and some new ones, each
 * whole.)  Links in the folder are never followed: one in place of a document is replaced, one in
 * place of a folder refused. */
phl_status phl_write_folder(phl_writer *writer, const phl_format_driver *driver, const char *path,
                            phl_error *error);

#endif
