/* em_sharing.c - what sharing subtrees is worth to EM, or what repeating the trees costs it.
 *
 * One iteration of EM (upward pass, expected counts, new parameters) of the switching-parent model,
 * one model per class, on one thread, for two sides: the distinct subtrees, and a forest that keeps
 * every occurrence as a subtree of its own; with --repeat N the distinct subtrees, and those of
 * every tree N times.  The two sides take turns, from the same random start; printed is a line of
 * JSON with the shortest time of each and the largest difference between any two parameters after
 * the iteration.
 */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "classes.h"
#include "em/em.h"

static const char USAGE[] = "em_sharing [--states 10] [--times 60] [--repeat N] FILE...";
static const double SMOOTHING = 0.01;
static const uint64_t SEED = 42;

/* One class: the parameters after one iteration, and what it takes to get there. */
typedef struct class_fit {
    phl_params *params, *counts;
    phl_upward *upward;
} class_fit;

typedef struct em_side {
    bench_classes classes;
    class_fit *fits; /* [classes.n] */
    double seconds;  /* shortest so far */
} em_side;

static phl_status prepare_class(const em_side *side, const bench_class *class, uint32_t states,
                                class_fit *fit, phl_error *error)
{
    phl_status status = phl_params_create(PHL_SP, states, side->classes.slots, side->classes.labels,
                                          NULL, 0, 0, &fit->params, error);
    if (status == PHL_OK) {
        status = phl_params_clone_empty(fit->params, &fit->counts, error);
    }
    if (status == PHL_OK) {
        status =
            phl_upward_create(class->index, fit->params, class->label_row, &fit->upward, error);
    }
    return status;
}

static phl_status prepare(em_side *side, uint32_t states, phl_error *error)
{
    side->seconds = INFINITY;
    side->fits = phl_alloc_zero(side->classes.n, sizeof *side->fits, error);
    phl_status status = side->fits == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < side->classes.n; i++) {
        status = prepare_class(side, &side->classes.class[i], states, &side -> fits[i], error);
    }
    return status;
}

static phl_status iterate(em_side *side, phl_error *error)
{
    for (size_t i = 0; i < side->classes.n; i++) {
        phl_em_start(side->fits[i].params, SEED, i);
        phl_params_clear(side->fits[i].counts);
    }
    double began = bench_seconds();
    for (size_t i = 0; i < side->classes.n; i++) {
        class_fit *fit = &side->fits[i];
        phl_status status = phl_upward_run(fit->upward, 1, error);
        if (status == PHL_OK) {
            status = phl_expected_counts(fit->upward, NULL, 1, fit->counts, error);
        }
        if (status != PHL_OK) {
            return status;
        }
        phl_em_maximise(fit->counts, SMOOTHING, fit->params);
    }
    double seconds = bench_seconds() - began;
    side->seconds = seconds < side->seconds ? seconds : side->seconds;
    return PHL_OK;
}

static double largest_difference(const em_side *left, const em_side *right)
{
    double most = 0.0;
    for (size_t i = 0; i < left->classes.n; i++) {
        phl_table a, b;
        for (size_t t = 0; phl_params_table(left->fits[i].params, t, &a); t++) {
            (void)phl_params_table(right->fits[i].params, t, &b);
            for (size_t r = 0; r < a.rows; r++) {
                for (size_t c = 0; c < a.columns; c++) {
                    size_t at = r * a.row_stride + c * a.column_stride;
                    double difference = fabs(a.data[at] - b.data[at]);
                    most = difference <= most ? most : difference; /* keeps a NaN */
                }
            }
        }
    }
    return most;
}

static void release(em_side *side)
{
    for (size_t i = 0; side->fits != NULL && i < side->classes.n; i++) {
        phl_upward_free(side->fits[i].upward);
        phl_params_free(side->fits[i].counts);
        phl_params_free(side->fits[i].params);
    }
    phl_free(side->fits);
    bench_classes_clear(&side->classes);
}

int main(int argc, char **argv)
{
    double states = 10, times = 60, repeat = 0;
    const bench_option options[] = {
        {"--states", &states, NULL, NULL},
        {"--times", &times, NULL, NULL},
        {"--repeat", &repeat, NULL, NULL},
        {NULL, NULL, NULL, NULL},
    };
    int files = bench_options(argc, argv, options, USAGE);
    if (files == 0) {
        return 2;
    }
    const char *const *paths = (const char *const *)argv + files;
    size_t n_paths = (size_t)(argc - files), copies = repeat > 0 ? (size_t)repeat : 1;
    em_side plain = {0}, other = {0};
    phl_error error = {0};
    phl_status status = bench_classes_read(paths, n_paths, false, 1, &plain.classes, &error);
    if (status == PHL_OK) {
        status = bench_classes_read(paths, n_paths, repeat == 0, copies, &other.classes, &error);
    }
    if (status == PHL_OK) {
        status = prepare(&plain, (uint32_t)states, &error);
    }
    if (status == PHL_OK) {
        status = prepare(&other, (uint32_t)states, &error);
    }
    for (size_t i = 0; status == PHL_OK && i < (size_t)times; i++) {
        status = iterate(&plain, &error);
        if (status == PHL_OK) {
            status = iterate(&other, &error);
        }
    }
    if (status == PHL_OK) {
        bench_classes_print(&plain.classes);
        printf(", \"seconds\": %.9f, \"other_seconds\": %.9f, \"largest_difference\": %.3g}\n",
               plain.seconds, other.seconds, largest_difference(&plain, &other));
    }
    release(&plain);
    release(&other);
    return bench_end("em_sharing", status, &error);
}
