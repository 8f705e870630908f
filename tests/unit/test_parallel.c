/* test_parallel.c - loops over chunks: every item once, same bits for any number of threads, errors
 * and cancelling. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "check.h"

#define ITEMS 20000
static const int thread_counts[] = {1, 2, 3, 4, 8, 0};
#define COUNTS (sizeof thread_counts / sizeof thread_counts[0])

struct work {
    double values[ITEMS];
    double partials[ITEMS];
    atomic_int visits[ITEMS];
    atomic_int busy[64]; /* of each worker */
    atomic_int clashes;
    size_t chunk_size;
    size_t fails[2]; /* chunks that fail */
    size_t stop_after;
    atomic_size_t done;
    int threads;
};

static phl_status body(size_t chunk, size_t begin, size_t end, int worker, void *context,
                       phl_error *error)
{
    struct work *work = context;
    if (worker < 0 || worker >= phl_parallel_threads(work->threads) ||
        atomic_fetch_add(&work->busy[worker], 1) != 0 || begin != chunk * work->chunk_size ||
        end <= begin || end - begin > work->chunk_size) {
        atomic_fetch_add(&work->clashes, 1);
    }
    for (size_t item = begin; item < end; item++) {
        phl_rng rng;
        phl_rng_init(&rng, 1, 2, 3, 4, item);
        work->values[item] = phl_rng_normal(&rng) * exp(20 * phl_rng_uniform(&rng));
        atomic_fetch_add(&work->visits[item], 1);
    }
    work->partials[chunk] = phl_sum_chunk(work->values + begin, end - begin);
    atomic_fetch_add(&work->done, 1);
    atomic_fetch_add(&work->busy[worker], -1);
    if (chunk == work->fails[0] || chunk == work->fails[1]) {
        return phl_raise(error, PHL_ERR_LIMIT, "a remedy", "chunk %zu", chunk);
    }
    return PHL_OK;
}

static struct work *fresh(size_t chunk_size, int threads)
{
    static struct work work;
    memset(&work, 0, sizeof work);
    work.chunk_size = chunk_size;
    work.threads = threads;
    work.fails[0] = work.fails[1] = SIZE_MAX;
    work.stop_after = SIZE_MAX;
    return &work;
}

static void test_same_bits(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 7, 1000, PHL_CHUNK_SIZE, ITEMS - 1, ITEMS, ITEMS + 5};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        double first = 0;
        for (size_t t = 0; t < COUNTS; t++) {
            struct work *work = fresh(sizes[s], thread_counts[t]);
            phl_error error;
            assert_int_equal(phl_parallel_chunks(ITEMS, sizes[s], thread_counts[t], body, work,
                                                 NULL, NULL, &error),
                             PHL_OK);
            size_t chunks = phl_chunk_count(ITEMS, sizes[s]);
            assert_true(atomic_load(&work->done) == chunks);
            assert_int_equal(atomic_load(&work->clashes), 0);
            for (size_t item = 0; item < ITEMS; item++) {
                assert_int_equal(atomic_load(&work->visits[item]), 1);
            }
            double sum = phl_sum_partials(work->partials, chunks);
            if (sizes[s] == PHL_CHUNK_SIZE) {
                check_ulps(sum, phl_sum(work->values, ITEMS), 0);
            }
            if (t == 0) {
                first = sum;
            }
            check_ulps(sum, first, 0);
        }
    }
}

static void test_failures(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        for (size_t t = 0; t < COUNTS; t++) {
            struct work *work = fresh(100, thread_counts[t]);
            work->fails[0] = 41;
            work->fails[1] = 37 + (size_t)(round % 4); /* the lower one, always */
            phl_error error;
            memset(&error, 0, sizeof error);
            assert_int_equal(
                phl_parallel_chunks(ITEMS, 100, thread_counts[t], body, work, NULL, NULL, &error),
                PHL_ERR_LIMIT);
            char expected[32];
            (void)snprintf(expected, sizeof expected, "chunk %zu", work->fails[1]);
            assert_string_equal(error.message, expected);
            assert_string_equal(error.remedy, "a remedy");
            assert_int_equal(error.status, PHL_ERR_LIMIT);
            for (size_t item = 0; item < (work->fails[1] + 1) * 100; item++) {
                assert_int_equal(atomic_load(&work->visits[item]), 1);
            }
            if (thread_counts[t] == 1) {
                assert_true(atomic_load(&work->done) == work->fails[1] + 1);
            }
        }
    }
    struct work *work = fresh(100, 2); /* without a record */
    work->fails[0] = 0;
    assert_int_equal(phl_parallel_chunks(ITEMS, 100, 2, body, work, NULL, NULL, NULL),
                     PHL_ERR_LIMIT);
    assert_int_equal(phl_parallel_chunks(ITEMS, 0, 2, body, work, NULL, NULL, NULL),
                     PHL_ERR_INTERNAL);
}

static bool enough(void *context)
{
    struct work *work = context;
    return atomic_load(&work->done) >= work->stop_after;
}

static void test_cancel(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNTS; t++) {
        struct work *work = fresh(1, thread_counts[t]);
        phl_error error;
        assert_int_equal(
            phl_parallel_chunks(ITEMS, 1, thread_counts[t], body, work, enough, work, &error),
            PHL_OK);
        work = fresh(1, thread_counts[t]);
        work->stop_after = 0;
        assert_int_equal(
            phl_parallel_chunks(ITEMS, 1, thread_counts[t], body, work, enough, work, &error),
            PHL_ERR_CANCELLED);
        assert_int_equal(error.status, PHL_ERR_CANCELLED);
        assert_true(atomic_load(&work->done) < ITEMS);
    }
    struct work *work = fresh(1, 1);
    work->stop_after = 5;
    assert_int_equal(phl_parallel_chunks(ITEMS, 1, 1, body, work, enough, work, NULL),
                     PHL_ERR_CANCELLED);
    assert_true(atomic_load(&work->done) == 5);
    work = fresh(1, 1); /* asked to stop when all is done: too late */
    work->stop_after = 10;
    assert_int_equal(phl_parallel_chunks(10, 1, 1, body, work, enough, work, NULL), PHL_OK);
    work = fresh(1, 1); /* nothing to do, nothing to stop */
    work->stop_after = 0;
    assert_int_equal(phl_parallel_chunks(0, 1, 4, body, work, enough, work, NULL), PHL_OK);
    assert_true(atomic_load(&work->done) == 0);
}

/* A loop in a loop. */
static phl_status outer(size_t chunk, size_t begin, size_t end, int worker, void *context,
                        phl_error *error)
{
    (void)chunk;
    (void)worker;
    struct work *works = context;
    for (size_t i = begin; i < end; i++) {
        phl_status status = phl_parallel_chunks(50, 5, 4, body, &works[i], NULL, NULL, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    return PHL_OK;
}

/* Threads that can still be made; linked instead of pthread_create. */
static atomic_int makeable = 1 << 30;
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *context)
{
    return makeable-- > 0 ? __real_pthread_create(thread, attributes, start, context) : EAGAIN;
}

static void test_no_threads(void **state)
{
    (void)state;
    double first = 0;
    for (int left = 0; left < 5; left++) {
        struct work *work = fresh(1000, 4);
        makeable = left;
        assert_int_equal(phl_parallel_chunks(ITEMS, 1000, 4, body, work, NULL, NULL, NULL), PHL_OK);
        assert_int_equal(makeable, left < 3 ? -1 : left - 3); /* was asked, and not again */
        makeable = 1 << 30;
        assert_true(atomic_load(&work->done) == 20);
        assert_int_equal(atomic_load(&work->clashes), 0);
        double sum = phl_sum_partials(work->partials, 20);
        first = left == 0 ? sum : first;
        check_ulps(sum, first, 0);
    }
}

static void test_nested(void **state)
{
    (void)state;
    static struct work works[4];
    for (size_t i = 0; i < 4; i++) {
        works[i] = (struct work){.chunk_size = 5, .threads = 4, .fails = {SIZE_MAX, SIZE_MAX}};
    }
    assert_int_equal(phl_parallel_chunks(4, 1, 4, outer, works, NULL, NULL, NULL), PHL_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_true(atomic_load(&works[i].done) == 10);
        assert_int_equal(atomic_load(&works[i].clashes), 0);
    }
}

static void test_counts(void **state)
{
    (void)state;
    assert_true(phl_parallel_cores() >= 1);
    assert_int_equal(phl_parallel_threads(0), phl_parallel_cores());
    assert_int_equal(phl_parallel_threads(-3), phl_parallel_cores());
    assert_int_equal(phl_parallel_threads(5), 5);
    assert_int_equal(phl_parallel_threads(INT_MAX), PHL_MAX_THREADS);
    assert_true(phl_chunk_count(0, 10) == 0);
    assert_true(phl_chunk_count(10, 10) == 1);
    assert_true(phl_chunk_count(11, 10) == 2);
    assert_true(phl_chunk_count(SIZE_MAX, 2) == SIZE_MAX / 2 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_cancel),    cmocka_unit_test(test_nested),
        cmocka_unit_test(test_counts),    cmocka_unit_test(test_no_threads),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL) != 0;
}
