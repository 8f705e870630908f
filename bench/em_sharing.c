/* em_sharing.c - em_sharing STATES REPEATS FILE...: what sharing subtrees is worth to EM.
 *
 * One iteration of EM (upward pass, expected counts, new parameters) of the switching-parent model,
 * one model a class, on one thread: on the distinct subtrees, and on a forest that keeps every
 * occurrence as a subtree of its own.  The two sides take turns REPEATS times, from the same random
 * start; printed is a line of JSON with the shortest time of each and the largest difference
 * between any two parameters after the iteration.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "learn/em.h"

static const double SMOOTHING = 0.01;
static const uint64_t SEED = 42;

/* One class: its trees prepared, the start, and the parameters after one iteration. */
typedef struct class_fit {
    phl_forest *forest;
    phl_index *index;
    uint32_t *label_row;
    phl_params *params, *counts;
    phl_upward *upward;
} class_fit;

typedef struct em_side {
    bool no_sharing;
    phl_forest *forest;
    class_fit *fits; /* [n_classes] */
    size_t n_classes;
    double seconds; /* shortest so far */
} em_side;

/* Of the processor: other programs on the machine do not count. */
static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static phl_status select_class(const phl_forest *forest, int32_t class_number,
                               phl_forest **selected, phl_error *error)
{
    size_t n = 0;
    size_t *trees = phl_alloc(phl_forest_trees(forest), sizeof *trees, error);
    if (trees == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t tree = 0; tree < phl_forest_trees(forest); tree++) {
        if (phl_tree_class(forest, tree) == class_number) {
            trees[n++] = tree;
        }
    }
    phl_status status = phl_forest_select(forest, trees, n, selected, error);
    phl_free(trees);
    return status;
}

static phl_status prepare_class(const em_side *side, size_t number, uint32_t states, class_fit *fit,
                                phl_error *error)
{
    const phl_forest *all = side->forest;
    uint32_t slots = phl_forest_max_slot(all);
    phl_status status = select_class(all, (int32_t)number, &fit->forest, error);
    if (status == PHL_OK) {
        status = phl_index_create(fit->forest, slots, false, &fit->index, error);
    }
    if (status == PHL_OK) {
        status = phl_map_labels(fit->forest, &all->labels, &fit->label_row, error);
    }
    if (status == PHL_OK) {
        status = phl_params_create(PHL_SP, states, slots, (uint32_t)phl_forest_labels(all), NULL, 0,
                                   0, &fit->params, error);
    }
    if (status == PHL_OK) {
        status = phl_params_clone_empty(fit->params, &fit->counts, error);
    }
    if (status == PHL_OK) {
        status = phl_upward_create(fit->index, fit->params, fit->label_row, &fit->upward, error);
    }
    return status;
}

static phl_status prepare(em_side *side, const char *const *paths, size_t n_paths, uint32_t states,
                          phl_error *error)
{
    phl_read_options options;
    phl_read_options_init(&options);
    options.no_sharing = side->no_sharing;
    phl_status status = phl_forest_read(paths, n_paths, &options, &side->forest, NULL, error);
    if (status != PHL_OK) {
        return status;
    }
    side->n_classes = phl_forest_classes(side->forest);
    side->fits = phl_alloc_zero(side->n_classes, sizeof *side->fits, error);
    status = side->fits == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < side->n_classes; i++) {
        status = prepare_class(side, i, states, &side->fits[i], error);
    }
    return status;
}

static phl_status iterate(em_side *side, phl_error *error)
{
    for (size_t i = 0; i < side->n_classes; i++) {
        phl_em_start(side->fits[i].params, SEED, i);
        phl_params_clear(side->fits[i].counts);
    }
    double began = seconds_now();
    for (size_t i = 0; i < side->n_classes; i++) {
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
    double seconds = seconds_now() - began;
    side->seconds = seconds < side->seconds ? seconds : side->seconds;
    return PHL_OK;
}

static double largest_difference(const em_side *left, const em_side *right)
{
    double most = 0.0;
    for (size_t i = 0; i < left->n_classes; i++) {
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
    for (size_t i = 0; side->fits != NULL && i < side->n_classes; i++) {
        class_fit *fit = &side->fits[i];
        phl_upward_free(fit->upward);
        phl_params_free(fit->counts);
        phl_params_free(fit->params);
        phl_free(fit->label_row);
        phl_index_free(fit->index);
        phl_forest_free(fit->forest);
    }
    phl_free(side->fits);
    phl_forest_free(side->forest);
}

static void print_result(const em_side *shared, const em_side *unshared)
{
    size_t distinct = 0, nodes = 0;
    for (size_t i = 0; i < shared->n_classes; i++) {
        distinct += phl_forest_subtrees(shared->fits[i].forest);
        nodes += phl_forest_subtrees(unshared->fits[i].forest);
    }
    printf("{\"classes\": %zu, \"distinct_subtrees\": %zu, \"nodes\": %zu, "
           "\"shared_seconds\": %.9f, \"unshared_seconds\": %.9f, \"largest_difference\": %.3g}\n",
           shared->n_classes, distinct, nodes, shared->seconds, unshared->seconds,
           largest_difference(shared, unshared));
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: em_sharing STATES REPEATS FILE...\n");
        return 2;
    }
    uint32_t states = (uint32_t)strtoul(argv[1], NULL, 10);
    unsigned long repeats = strtoul(argv[2], NULL, 10);
    const char *const *paths = (const char *const *)argv + 3;
    em_side shared = {.no_sharing = false, .seconds = INFINITY};
    em_side unshared = {.no_sharing = true, .seconds = INFINITY};
    phl_error error = {0};
    phl_status status = prepare(&shared, paths, (size_t)argc - 3, states, &error);
    if (status == PHL_OK) {
        status = prepare(&unshared, paths, (size_t)argc - 3, states, &error);
    }
    for (unsigned long i = 0; status == PHL_OK && i < repeats; i++) {
        status = iterate(&shared, &error);
        if (status == PHL_OK) {
            status = iterate(&unshared, &error);
        }
    }
    if (status == PHL_OK) {
        print_result(&shared, &unshared);
    } else {
        char text[1600];
        fprintf(stderr, "em_sharing: %s\n", phl_error_format(&error, text, sizeof text));
    }
    release(&unshared);
    release(&shared);
    return phl_status_exit_code(status);
}
