/* parallel.h - loops over chunks of items, in several threads, with results that do not depend on
 * how many.
 *
 * A loop over `items` is cut into chunks of `chunk_size` (the last one may be shorter) before any
 * thread starts.  A chunk is handled by one thread from its first item to its last.  A body that
 * writes only to places that belong to its items or its chunk, and keeps float sums per chunk
 * (numeric.h), therefore gives the same bits for any number of threads.
 */
#ifndef PHL_BASE_PARALLEL_H
#define PHL_BASE_PARALLEL_H

#include "base/error.h"
#include "base/numeric.h" /* PHL_CHUNK_SIZE */

/* Handle the items begin .. end - 1 of chunk `chunk`.  `worker` (0 .. phl_parallel_threads - 1) is
 * unique among the bodies running at one moment: for scratch memory, never for results.  On failure
 * fill *error (never NULL here) and return its status. */
typedef phl_status (*phl_chunk_fn)(size_t chunk, size_t begin, size_t end, int worker,
                                   void *context, phl_error *error);

/* No loop uses more. */
#define PHL_MAX_THREADS 4096

/* Processors this process may run on (its affinity mask, not the machine); at least 1. */
int phl_parallel_cores(void);

/* Workers a loop asked for `threads` may use: `threads`, or all cores when it is <= 0; at most
 * PHL_MAX_THREADS. */
int phl_parallel_threads(int threads);

/* Chunks of a loop. */
static inline size_t phl_chunk_count(size_t items, size_t chunk_size)
{
    return items / chunk_size + (items % chunk_size != 0);
}

/* Run `body` on every chunk.  When bodies fail, chunks after the first failing one (in the order of
 * chunks, not of time) are skipped as far as they have not begun, all chunks before it are run, and
 * its status and error are returned: the same for any number of threads.  `cancel` (may be NULL) is
 * asked between chunks, only ever from the calling thread; when it says stop, chunks not yet begun
 * are skipped and, unless a body failed, PHL_ERR_CANCELLED is returned.  A loop inside a body has
 * threads of its own: it asks for 1 unless it is meant to.  Threads that cannot be made are done
 * without. */
phl_status phl_parallel_chunks(size_t items, size_t chunk_size, int threads, phl_chunk_fn body,
                               void *context, phl_cancel_fn cancel, void *cancel_context,
                               phl_error *error);

#endif
