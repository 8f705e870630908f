/* input.h - a stream of bytes from a file, standard input or memory, decompressed on the way.
 *
 * gzip and zstd are recognised by content, whatever the name.  Names, sizes and the decompression
 * ratio are watched here so that no reader has to.
 */
#ifndef PHL_FORMAT_INPUT_H
#define PHL_FORMAT_INPUT_H

#include "base/error.h"

typedef struct phl_input phl_input;

/* path "-" is standard input.  max_ratio caps decompressed / compressed size past 64 MiB. */
phl_status phl_input_open(const char *path, uint64_t max_ratio, phl_input **input,
                          phl_error *error);
/* Borrows `bytes` for the life of the input. */
phl_status phl_input_open_memory(const void *bytes, size_t size, const char *name,
                                 uint64_t max_ratio, phl_input **input, phl_error *error);
void phl_input_close(phl_input *input);

/* For messages: the path, or "<stdin>". */
const char *phl_input_name(const phl_input *input);

/* The first bytes of the text, without using them up: for telling the format by content.  Valid
 * until the next call of phl_input_read. */
phl_status phl_input_peek(phl_input *input, const char **bytes, size_t *length, phl_error *error);

/* Up to `size` bytes; *got is 0 only at the end. */
phl_status phl_input_read(phl_input *input, void *buffer, size_t size, size_t *got,
                          phl_error *error);

/* Bytes of text handed out so far. */
uint64_t phl_input_bytes(const phl_input *input);

#endif
