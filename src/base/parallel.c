/* parallel.c - parallel loops over fixed chunks; see parallel.h.
 *
 * The threads of a loop are made when it begins and have ended when it returns, so nothing outlives
 * the call: a child of fork() finds no team it believes to have. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT */
#endif
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

/* Shared by the workers of one loop. */
struct loop {
    size_t items;
    size_t chunk_size;
    size_t chunks;
    phl_chunk_fn body;
    void *context;
    phl_cancel_fn cancel;
    void *cancel_context;
    atomic_int workers;         /* numbers of workers given away */
    atomic_size_t next;         /* first chunk not yet handed out */
    atomic_size_t first_failed; /* chunks after it need not run; SIZE_MAX: none failed */
    atomic_bool cancelled;
    pthread_mutex_t failure; /* guards the two below */
    phl_status status;       /* of first_failed */
    phl_error *error;        /* the same; may be NULL */
};

int phl_parallel_cores(void)
{
    long cores = 0;
#ifdef CPU_COUNT
    cpu_set_t allowed; /* of 1024 processors; a machine with more answers EINVAL */
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        cores = CPU_COUNT(&allowed);
    }
#endif
    if (cores <= 0) {
        cores = sysconf(_SC_NPROCESSORS_ONLN);
    }
    return cores < 1 ? 1 : cores > PHL_MAX_THREADS ? PHL_MAX_THREADS : (int)cores;
}

int phl_parallel_threads(int threads)
{
    return threads <= 0                ? phl_parallel_cores()
           : threads < PHL_MAX_THREADS ? threads
                                       : PHL_MAX_THREADS;
}

static void note_failure(struct loop *loop, size_t chunk, phl_status status, const phl_error *error)
{
    (void)pthread_mutex_lock(&loop->failure);
    if (chunk < atomic_load(&loop->first_failed)) {
        atomic_store(&loop->first_failed, chunk);
        loop->status = status;
        if (loop->error != NULL) {
            *loop->error = *error;
        }
    }
    (void)pthread_mutex_unlock(&loop->failure);
}

/* Take chunks, in ascending order, until none is left. */
static void work(struct loop *loop, int worker)
{
    for (;;) {
        if (atomic_load(&loop->next) >= loop->chunks) {
            return;
        }
        if (worker == 0 && loop->cancel != NULL && loop->cancel(loop->cancel_context)) {
            atomic_store(&loop->cancelled, true);
        }
        if (atomic_load(&loop->cancelled)) {
            return;
        }
        size_t chunk = atomic_fetch_add(&loop->next, 1);
        if (chunk >= loop->chunks || chunk > atomic_load(&loop->first_failed)) {
            return;
        }
        size_t begin = chunk * loop->chunk_size;
        size_t left = loop->items - begin;
        size_t end = begin + (left < loop->chunk_size ? left : loop->chunk_size);
        phl_error error = {.status = PHL_OK};
        phl_status status = loop->body(chunk, begin, end, worker, loop->context, &error);
        if (status != PHL_OK) {
            note_failure(loop, chunk, status, &error);
        }
    }
}

static void *work_beside(void *context)
{
    struct loop *loop = context;
    work(loop, atomic_fetch_add(&loop->workers, 1));
    return NULL;
}

/* Work in `workers` threads, the calling one among them, or in as many as can be made. */
static void work_together(struct loop *loop, int workers)
{
    pthread_t beside[PHL_MAX_THREADS - 1];
    int made = 0;
    while (made < workers - 1 && pthread_create(&beside[made], NULL, work_beside, loop) == 0) {
        made++;
    }
    work(loop, 0);
    while (made > 0) {
        (void)pthread_join(beside[--made], NULL);
    }
}

phl_status phl_parallel_chunks(size_t items, size_t chunk_size, int threads, phl_chunk_fn body,
                               void *context, phl_cancel_fn cancel, void *cancel_context,
                               phl_error *error)
{
    PHL_CHECK_BUG(chunk_size > 0, error);
    struct loop loop = {
        .items = items,
        .chunk_size = chunk_size,
        .chunks = phl_chunk_count(items, chunk_size),
        .body = body,
        .context = context,
        .cancel = cancel,
        .cancel_context = cancel_context,
        .failure = PTHREAD_MUTEX_INITIALIZER,
        .status = PHL_OK,
        .error = error,
    };
    atomic_init(&loop.workers, 1); /* 0 is the calling thread */
    atomic_init(&loop.next, 0);
    atomic_init(&loop.first_failed, SIZE_MAX);
    atomic_init(&loop.cancelled, false);
    if (loop.chunks > 0 && cancel != NULL && cancel(cancel_context)) {
        /* asked here too, lest the other workers finish before this thread gets a turn */
        return phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
    }
    int workers = phl_parallel_threads(threads);
    if (loop.chunks < (size_t)workers) {
        workers = (int)loop.chunks;
    }
    if (workers <= 1) {
        work(&loop, 0);
    } else {
        work_together(&loop, workers);
    }
    (void)pthread_mutex_destroy(&loop.failure);
    if (loop.status == PHL_OK && atomic_load(&loop.cancelled)) {
        return phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
    }
    return loop.status;
}
