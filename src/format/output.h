/* output.h - a stream of bytes to a file, standard output or memory, compressed on the way.
 *
 * A regular file is written beside its final name and put in place by phl_output_commit: readers
 * see the old file or the complete new one.  Devices and pipes are written directly.
 */
#ifndef PHL_FORMAT_OUTPUT_H
#define PHL_FORMAT_OUTPUT_H

#include "base/error.h"

typedef struct phl_output phl_output;

/* path "-" is standard output; a name ending in .gz or .zst is compressed. */
phl_status phl_output_open(const char *path, phl_output **output, phl_error *error);
phl_status phl_output_open_memory(phl_output **output, phl_error *error);

/* A new file written where it is, for folders that are put in place as a whole; `name` is what the
 * user calls it. */
phl_status phl_output_create(const char *path, const char *name, phl_output **output,
                             phl_error *error);

/* Buffered.  After a failure nothing more is written; phl_output_check and phl_output_commit tell
 * what the first one was. */
void phl_output_write(phl_output *output, const char *bytes, size_t length);
void phl_output_string(phl_output *output, const char *string);
void phl_output_repeat(phl_output *output, const char *string, size_t times);
void phl_output_json_string(phl_output *output, const char *bytes, size_t length);
void phl_output_number(phl_output *output, uint64_t number);
phl_status phl_output_check(const phl_output *output, phl_error *error);

/* Flush, sync, put in place.  To be called once, before closing. */
phl_status phl_output_commit(phl_output *output, phl_error *error);

/* After the commit of a memory output: its bytes, to be released with phl_free. */
char *phl_output_take(phl_output *output, size_t *length);

/* Without a commit before it, nothing is left behind. */
void phl_output_close(phl_output *output);

#endif
