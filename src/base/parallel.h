/* parallel.h - loops over blocks of items, in several threads, with results that do not depend on
 * how many.
 *
 * A loop over `items` is cut into blocks of `block_size` (the last one may be shorter) before any
 * thread starts.  A block is handled by one thread from its first item to its last.  A body that
 * writes only to places that belong to its items or its block, and keeps float sums per block
 * (numeric.h), therefore gives the same bits for any number of threads.
 */
#ifndef PHL_BASE_PARALLEL_H
#define PHL_BASE_PARALLEL_H

#include "base/error.h"
#include "base/numeric.h" /* PHL_BLOCK_SIZE */

/* Handle the items begin .. end - 1 of block `block`.  `worker` (0 .. phl_thread_count - 1) is
 * unique among the bodies running at one moment: for scratch memory, never for results.  On failure
 * fill *error (never NULL here) and return its status. */
typedef phl_status (*phl_block_fn)(size_t block, size_t begin, size_t end, int worker,
                                   void *context, phl_error *error);

/* No loop uses more. */
#define PHL_MAX_THREADS 4096

/* Processors this process may run on (its affinity mask, not the machine); at least 1. */
int phl_core_count(void);

/* Workers a loop asked for `threads` may use: `threads`, or all cores when it is <= 0; at most
 * PHL_MAX_THREADS. */
int phl_thread_count(int threads);

/* Blocks of a loop. */
static inline size_t phl_block_count(size_t items, size_t block_size)
{
    return items / block_size + (items % block_size != 0);
}

/* Run `body` on every block.  When bodies fail, blocks after the first failing one (in the order of
 * blocks, not of time) are skipped as far as they have not begun, all blocks before it are run, and
 * its status and error are returned: the same for any number of threads.  `cancel` (may be NULL) is
 * asked between blocks, only ever from the calling thread; when it says stop, blocks not yet begun
 * are skipped and, unless a body failed, PHL_ERR_CANCELLED is returned.  A loop inside a body has
 * threads of its own: it asks for 1 unless it is meant to.  Threads that cannot be made are done
 * without. */
phl_status phl_parallel_blocks(size_t items, size_t block_size, int threads, phl_block_fn body,
                               void *context, phl_cancel_fn cancel, void *cancel_context,
                               phl_error *error);

#endif
