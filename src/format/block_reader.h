/* block_reader.h - reading block by block: what a source of files or text is made of.
 *
 * Options, text and name must outlive the reader.
 */
#ifndef PHL_FORMAT_BLOCK_READER_H
#define PHL_FORMAT_BLOCK_READER_H

#include "phloem.h"

typedef struct phl_block_reader phl_block_reader;

phl_status phl_block_reader_create(const char *const *paths, size_t n_paths,
                                   const phl_read_options *options, phl_block_reader **reader,
                                   phl_error *error);
phl_status phl_block_reader_create_memory(const void *text, size_t size, const char *name,
                                          const phl_read_options *options,
                                          phl_block_reader **reader, phl_error *error);
void phl_block_reader_free(phl_block_reader *reader);

/* The next block: it ends after the tree with which it has max_trees trees, or max_size distinct
 * subtrees and links together (0: no bound), or at the end of the input.  *block is NULL when there
 * is no tree left. */
phl_status phl_block_reader_next(phl_block_reader *reader, size_t max_trees, size_t max_size,
                                 phl_forest **block, phl_error *error);

/* The bounds of blocks that the options say. */
void phl_block_reader_bounds(const phl_block_reader *reader, size_t *max_trees, size_t *max_size);

/* The files that the paths stand for, in the order they are read. */
size_t phl_block_reader_files(const phl_block_reader *reader);
const char *phl_block_reader_file(const phl_block_reader *reader, size_t file);

void phl_block_reader_summary(const phl_block_reader *reader, phl_read_summary *summary);

#endif
