/* parallel.c - parallel loops over fixed blocks; see parallel.h. */
#include "base/parallel.h"

#include <omp.h>
#include <stdatomic.h>

/* Shared by the workers of one loop. */
struct loop {
    size_t items;
    size_t block_size;
    size_t blocks;
    phl_block_fn body;
    void *context;
    phl_cancel_fn cancel;
    void *cancel_context;
    atomic_size_t next;         /* first block not yet handed out */
    atomic_size_t first_failed; /* blocks behind it need not run; SIZE_MAX: none failed */
    atomic_bool cancelled;
    phl_status status; /* of first_failed; written under the lock named `phl_loop_failure` */
    phl_error *error;  /* the same; may be NULL */
};

int phl_core_count(void)
{
    int cores = omp_get_num_procs(); /* libgomp and libomp both read the affinity mask */
    return cores > 0 ? cores : 1;
}

int phl_thread_count(int threads)
{
    return threads > 0 ? threads : phl_core_count();
}

static void note_failure(struct loop *loop, size_t block, phl_status status, const phl_error *error)
{
#pragma omp critical(phl_loop_failure)
    {
        if (block < atomic_load(&loop->first_failed)) {
            atomic_store(&loop->first_failed, block);
            loop->status = status;
            if (loop->error != NULL) {
                *loop->error = *error;
            }
        }
    }
}

/* Take blocks, in ascending order, until none is left. */
static void work(struct loop *loop, int worker)
{
    for (;;) {
        if (atomic_load(&loop->next) >= loop->blocks) {
            return;
        }
        if (worker == 0 && loop->cancel != NULL && loop->cancel(loop->cancel_context)) {
            atomic_store(&loop->cancelled, true);
        }
        if (atomic_load(&loop->cancelled)) {
            return;
        }
        size_t block = atomic_fetch_add(&loop->next, 1);
        if (block >= loop->blocks || block > atomic_load(&loop->first_failed)) {
            return;
        }
        size_t begin = block * loop->block_size;
        size_t left = loop->items - begin;
        size_t end = begin + (left < loop->block_size ? left : loop->block_size);
        phl_error error = {.status = PHL_OK};
        phl_status status = loop->body(block, begin, end, worker, loop->context, &error);
        if (status != PHL_OK) {
            note_failure(loop, block, status, &error);
        }
    }
}

phl_status phl_parallel_blocks(size_t items, size_t block_size, int threads, phl_block_fn body,
                               void *context, phl_cancel_fn cancel, void *cancel_context,
                               phl_error *error)
{
    PHL_CHECK_BUG(block_size > 0, error);
    struct loop loop = {
        .items = items,
        .block_size = block_size,
        .blocks = phl_block_count(items, block_size),
        .body = body,
        .context = context,
        .cancel = cancel,
        .cancel_context = cancel_context,
        .status = PHL_OK,
        .error = error,
    };
    atomic_init(&loop.next, 0);
    atomic_init(&loop.first_failed, SIZE_MAX);
    atomic_init(&loop.cancelled, false);
    if (loop.blocks > 0 && cancel != NULL && cancel(cancel_context)) {
        /* asked here too, lest the other workers finish before this thread gets a turn */
        return phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
    }
    int workers = phl_thread_count(threads);
    if (loop.blocks < (size_t)workers) {
        workers = (int)loop.blocks;
    }
    if (workers <= 1) {
        work(&loop, 0);
    } else {
#pragma omp parallel num_threads(workers) shared(loop) default(none)
        work(&loop, omp_get_thread_num());
    }
    if (loop.status == PHL_OK && atomic_load(&loop.cancelled)) {
        return phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
    }
    return loop.status;
}
