/* test_progress.c - what a training tells while it is at work: R-hat so far, held against the
 * traces of the finished run.
 *
 * On one thread chains come one after the other, so the traces as they were at any report are
 * known.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "model/run.h"
#include "model_checks.h"
#include "train/convergence.h"

#define SEED 8128
enum { MOST_CHAINS = 4, MOST_REPORTS = 2000, NAP_AT = 30 };

struct report {
    size_t class_index, chain, iteration;
    double rhat, seconds;
};

struct watcher {
    size_t nap_at; /* iteration of the last chain after which a second goes by; 0: never */
    size_t n;
    struct report reports[MOST_REPORTS];
};

static void watch(const phl_progress *progress, void *context)
{
    struct watcher *watcher = context;
    assert_true(watcher->n < MOST_REPORTS);
    watcher->reports[watcher->n++] =
        (struct report){progress->class_index, progress->restart, progress->iteration,
                        progress->rhat, progress->seconds};
    if (progress->restart + 1 == progress->restarts && progress->iteration == watcher->nap_at) {
        struct timespec nap = {1, 100000000};
        (void)nanosleep(&nap, NULL);
    }
}

static phl_train_options chain_options(size_t chains, struct watcher *watcher)
{
    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = PHL_TF;
    options.states = 3;
    options.iterations = 60;
    options.warmup = 20;
    options.chains = chains;
    options.threads = 1;
    options.progress = watch;
    options.context = watcher;
    memset(watcher, 0, sizeof *watcher);
    return options;
}

static phl_run *train(const phl_forest *forest, const phl_train_options *options)
{
    phl_run *run = NULL;
    must(phl_train(forest, options, &run, error));
    return run;
}

/* R-hat of the first `n` draws after iteration `warm` of the first chains. */
static double rhat_of(const phl_run *run, size_t class_index, size_t chains, uint64_t warm,
                      size_t n)
{
    double *draws = must_alloc(chains * n, sizeof *draws);
    size_t taken[MOST_CHAINS] = {0};
    for (size_t i = 0; i < run->n_trace; i++) {
        const phl_trace_row *row = &run->trace[i];
        if (row->class_index == class_index && row->chain < chains && row->iteration > warm &&
            taken[row->chain] < n) {
            draws[row->chain * n + taken[row->chain]++] = row->log_likelihood;
        }
    }
    phl_convergence found;
    must(phl_convergence_measure(draws, chains, n, &found, error));
    phl_free(draws);
    return found.rhat;
}

/* What is known when `chain` has done `iteration`, those before it all theirs, those after none.
 */
static double expected(const phl_run *run, const phl_train_options *options,
                       const struct report *report)
{
    size_t all = options->iterations - options->warmup;
    size_t n = report->iteration > options->warmup ? report->iteration - options->warmup : 0;
    bool joins = report->chain == 0 || 2 * n >= all;
    size_t compared = report->chain + joins;
    if (compared < 2 && options->chains > 1) {
        return (double)NAN;
    }
    return rhat_of(run, report->class_index, compared, options->warmup, joins ? n : all);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Every report is as the one before, unless it was computed afresh, as it is for the last iteration
 * of a chain.  Returns how many of the others were. */
static size_t check_reports(const phl_run *run, const phl_train_options *options,
                            const struct watcher *watcher)
{
    size_t fresh = 0;
    for (size_t i = 0; i < watcher->n; i++) {
        const struct report *report = &watcher->reports[i];
        bool first = i == 0 || report[-1].class_index != report->class_index;
        double before = first ? (double)NAN : report[-1].rhat;
        if (report->iteration == options->iterations) {
            assert_true(same(report->rhat, expected(run, options, report)));
        } else if (!same(report->rhat, before)) {
            assert_true(same(report->rhat, expected(run, options, report)));
            fresh++;
        }
    }
    return fresh;
}

static double last_of(const struct watcher *watcher, size_t class_index)
{
    double rhat = (double)INFINITY;
    for (size_t i = 0; i < watcher->n; i++) {
        if (watcher->reports[i].class_index == class_index) {
            rhat = watcher->reports[i].rhat;
        }
    }
    return rhat;
}

/* The last word of a class is what a diagnosis of the run says. */
static void check_diagnosis(const phl_run *run, const struct watcher *watcher)
{
    phl_diagnosis diagnosis;
    must(phl_diagnose(run, NULL, &diagnosis, error));
    for (size_t i = 0; i < diagnosis.n_classes; i++) {
        double rhat = diagnosis.classes[i].quantities[PHL_LOG_LIKELIHOOD].rhat;
        assert_true(isfinite(rhat) && last_of(watcher, i) == rhat);
    }
    phl_diagnosis_clear(&diagnosis);
}

static void test_several_chains(void **state)
{
    (void)state;
    struct watcher watcher;
    phl_forest *forest = symm_forest(SEED, 4);
    phl_train_options options = chain_options(3, &watcher);
    phl_run *run = train(forest, &options);
    assert_int_equal(watcher.n, 180);
    check_reports(run, &options, &watcher);
    for (size_t i = 0; i < 60; i++) { /* a chain that others are still missing beside */
        assert_true(isnan(watcher.reports[i].rhat));
    }
    assert_true(isfinite(watcher.reports[119].rhat)); /* the second is at its end */
    check_diagnosis(run, &watcher);
    phl_run_free(run);
    phl_forest_free(forest);
}

/* After a second the figure is a new one, and then stays for another. */
static void test_afresh_after_a_second(void **state)
{
    (void)state;
    struct watcher watcher;
    phl_forest *forest = symm_forest(SEED, 4);
    for (size_t chains = 1; chains <= 2; chains++) {
        phl_train_options options = chain_options(chains, &watcher);
        watcher.nap_at = chains == 1 ? NAP_AT : 2 * NAP_AT - 15;
        phl_run *run = train(forest, &options);
        const struct report *next = &watcher.reports[60 * (chains - 1) + watcher.nap_at];
        size_t fresh = check_reports(run, &options, &watcher);
        assert_true(fresh >= 1 && (double)fresh <= watcher.reports[watcher.n - 1].seconds);
        assert_true(isfinite(next[0].rhat) && next[0].rhat != next[-1].rhat);
        assert_true(next[0].rhat == expected(run, &options, next));
        phl_run_free(run);
    }
    phl_forest_free(forest);
}

/* Unknown until there are four draws: two a half. */
static void test_too_few_draws(void **state)
{
    (void)state;
    struct watcher watcher;
    phl_forest *forest = symm_forest(SEED, 4);
    for (size_t draws = 1; draws <= 6; draws++) {
        for (size_t chains = 1; chains <= 2; chains++) {
            phl_train_options options = chain_options(chains, &watcher);
            options.warmup = options.iterations - draws;
            phl_run *run = train(forest, &options);
            check_reports(run, &options, &watcher);
            assert_true(isnan(last_of(&watcher, 0)) == (draws < 4));
            phl_run_free(run);
        }
    }
    phl_forest_free(forest);
}

/* By class and on several threads; who watches changes nothing. */
static void test_classes_and_threads(void **state)
{
    (void)state;
    struct watcher watcher;
    phl_forest *forest = document_forest(SEED, 8);
    phl_train_options options = chain_options(2, &watcher);
    options.per_class = true;
    phl_run *run = train(forest, &options);
    check_reports(run, &options, &watcher);
    check_diagnosis(run, &watcher);
    for (int threads = 2; threads <= 8; threads *= 2) {
        options = chain_options(2, &watcher);
        options.per_class = true;
        options.threads = threads;
        options.progress = threads < 8 ? watch : NULL;
        phl_run *other = train(forest, &options);
        if (threads < 8) {
            check_diagnosis(other, &watcher);
        }
        assert_int_equal(other->n_trace, run->n_trace);
        for (size_t i = 0; i < run->n_trace; i++) {
            assert_true(other->trace[i].log_joint == run->trace[i].log_joint);
        }
        phl_run_free(other);
    }
    phl_run_free(run);
    phl_forest_free(forest);
}

static void test_em_has_none(void **state)
{
    (void)state;
    struct watcher watcher;
    phl_forest *forest = symm_forest(SEED, 4);
    phl_train_options options = chain_options(1, &watcher);
    options.kind = PHL_SP;
    options.restarts = 2;
    phl_run *run = train(forest, &options);
    assert_true(watcher.n > 0);
    for (size_t i = 0; i < watcher.n; i++) {
        assert_true(isnan(watcher.reports[i].rhat));
    }
    phl_run_free(run);
    phl_forest_free(forest);
}

int main(void)
{
    print_message("seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_chains), cmocka_unit_test(test_afresh_after_a_second),
        cmocka_unit_test(test_too_few_draws),  cmocka_unit_test(test_classes_and_threads),
        cmocka_unit_test(test_em_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
