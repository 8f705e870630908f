/* plain.c - plain TRAIN TEST [OPTIONS]: train and classify as `phloem train -m tf --per-class
 * --chains 1 --threads 1` and `phloem classify` do, but node by node (plain.h).
 *
 * One model per class; for every tree of TEST and every class the likelihood, with the shape term,
 * is averaged over the draws kept.  Printed is a JSON object: sizes, accuracy, the log-joint of
 * every class after the last iteration, and seconds of the processor; with --phase also those of
 * the parts of an iteration.  With --trace FILE the figures of every iteration go to FILE.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain.h"
#include "train/train_options.h"

/* One class that has training trees. */
typedef struct plain_class {
    const char *name; /* borrowed from the forest */
    int32_t number;
    phl_params **draws; /* [n_draws] */
    size_t n_draws, nodes;
    double log_joint, seconds[PLAIN_PHASES];
} plain_class;

typedef struct plain_run {
    phl_train_options options;
    bool phase;
    const char *train_path, *test_path, *trace_path;
    phl_forest *train, *test;
    FILE *trace;
    plain_class *classes;
    size_t n_classes;
    size_t test_nodes, right, judged;
    double reading, training, scoring; /* seconds */
} plain_run;

/* ---------------------------------------------------------------------------------------------
 * Training
 * ------------------------------------------------------------------------------------------- */

/* Classes that have trees, in the forest's order. */
static void list_classes(plain_run *run)
{
    const phl_forest *forest = run->train;
    size_t n = phl_forest_classes(forest);
    run->classes = plain_alloc(n, sizeof *run->classes);
    for (int32_t k = 0; k < (int32_t)n; k++) {
        size_t tree = 0;
        while (tree < phl_forest_trees(forest) && phl_tree_class(forest, tree) != k) {
            tree++;
        }
        if (tree < phl_forest_trees(forest)) {
            run->classes[run->n_classes].number = k;
            run->classes[run->n_classes++].name = phl_forest_class_name(forest, k);
        }
    }
}

static void train_class(plain_run *run, size_t index, const uint32_t *label_row)
{
    plain_class *class = &run->classes[index];
    uint32_t labels = (uint32_t)phl_forest_labels(run->train);
    plain_trees *trees = plain_trees_create(run->train, class->number, true, label_row, labels);
    plain_chain *chain =
        plain_chain_create(trees, phl_forest_max_slot(run->train), labels, &run->options, index);
    class->draws = plain_alloc(run->options.keep, sizeof(phl_params *));
    while (chain->iteration < run->options.iterations) {
        plain_chain_step(chain);
        if (plain_is_kept(&run->options, chain->iteration)) {
            plain_must(phl_params_clone(chain->params, &class->draws[class->n_draws++], error));
        }
        if (run->trace != NULL) {
            fprintf(run->trace, "%s\t%llu\t%.17g\t%.17g\t%u\t%u\n", class->name,
                    (unsigned long long)chain->iteration, chain->log_likelihood, chain->log_joint,
                    chain->n_active, chain->sum_size);
        }
    }
    class->nodes = trees->n_nodes;
    class->log_joint = chain->log_joint;
    memcpy(class->seconds, chain->seconds, sizeof class->seconds);
    plain_chain_free(chain);
    plain_trees_free(trees);
}

static void train(plain_run *run)
{
    uint32_t *label_row = NULL;
    double began = plain_seconds();
    plain_must(phl_index_map_labels(run->train, &run->train->labels, &label_row, error));
    for (size_t k = 0; k < run->n_classes; k++) {
        train_class(run, k, label_row);
    }
    phl_free(label_row);
    run->training = plain_seconds() - began;
}

/* ---------------------------------------------------------------------------------------------
 * Scoring
 * ------------------------------------------------------------------------------------------- */

/* log p(tree) under a class, averaged over its draws, into scores [trees]; values [trees][draws].
 */
static void score_class(const plain_class *class, const plain_trees *trees, plain_upward *upward,
                        plain_shape *shape, double *values, double *scores)
{
    size_t draws = class->n_draws;
    for (size_t d = 0; d < draws; d++) {
        plain_shape_set(shape, class->draws[d]);
        for (size_t tree = 0; tree < trees->n_trees; tree++) {
            values[tree * draws + d] =
                plain_upward_run(upward, class->draws[d], trees, trees->first[tree],
                                 trees->first[tree + 1]) +
                plain_shape_score(shape, trees, tree);
        }
    }
    for (size_t tree = 0; tree < trees->n_trees; tree++) {
        scores[tree] = phl_log_sum(values + tree * draws, draws) - log((double)draws);
    }
}

/* Trees with a class, and those whose class has the highest score (the first of equals). */
static void judge(plain_run *run, const double *scores)
{
    size_t n = phl_forest_trees(run->test);
    for (size_t tree = 0; tree < n; tree++) {
        int32_t class_number = phl_tree_class(run->test, tree);
        size_t best = 0;
        for (size_t k = 1; k < run->n_classes; k++) {
            best = scores[k * n + tree] > scores[best * n + tree] ? k : best;
        }
        if (class_number != PHL_NO_CLASS) {
            const char *truth = phl_forest_class_name(run->test, class_number);
            run->judged++;
            run->right += strcmp(truth, run->classes[best].name) == 0;
        }
    }
}

static void classify(plain_run *run)
{
    double began = plain_seconds();
    size_t n = phl_forest_trees(run->test);
    uint32_t *label_row = NULL;
    plain_must(phl_index_map_labels(run->test, &run->train->labels, &label_row, error));
    plain_trees *trees = plain_trees_create(run->test, PHL_NO_CLASS, false, label_row,
                                            (uint32_t)phl_forest_labels(run->train));
    double *scores = plain_alloc(run->n_classes * n, sizeof *scores);
    double *values = plain_alloc(run->options.keep * n, sizeof *values);
    plain_upward upward;
    plain_shape shape;
    plain_upward_init(&upward, trees->largest, run->options.states);
    plain_shape_init(&shape, phl_forest_max_slot(run->train));
    for (size_t k = 0; k < run->n_classes; k++) {
        score_class(&run->classes[k], trees, &upward, &shape, values, scores + k * n);
    }
    judge(run, scores);
    run->test_nodes = trees->n_nodes;
    plain_shape_clear(&shape);
    plain_upward_clear(&upward);
    phl_free(values);
    phl_free(scores);
    plain_trees_free(trees);
    phl_free(label_row);
    run->scoring = plain_seconds() - began;
}

/* ---------------------------------------------------------------------------------------------
 * The program
 * ------------------------------------------------------------------------------------------- */

static void print_run(const plain_run *run)
{
    static const char *const names[PLAIN_PHASES] = {"upward", "downward", "partitions", "tables"};
    json_t *object = json_object(), *joints = json_object(), *phases = json_object();
    size_t nodes = 0, draws = 0;
    double seconds[PLAIN_PHASES] = {0};
    for (size_t k = 0; k < run->n_classes; k++) {
        const plain_class *class = &run->classes[k];
        nodes += class->nodes;
        draws += class->n_draws;
        json_object_set_new(joints, class->name, json_real(class->log_joint));
        for (int i = 0; i < PLAIN_PHASES; i++) {
            seconds[i] += class->seconds[i];
        }
    }
    for (int i = 0; i < PLAIN_PHASES; i++) {
        json_object_set_new(phases, names[i], json_real(seconds[i]));
    }
    json_object_set_new(object, "states", json_integer((json_int_t)run->options.states));
    json_object_set_new(object, "iterations", json_integer((json_int_t)run->options.iterations));
    json_object_set_new(object, "seed", json_integer((json_int_t)run->options.seed));
    json_object_set_new(object, "classes", json_integer((json_int_t)run->n_classes));
    json_object_set_new(object, "draws", json_integer((json_int_t)draws));
    json_object_set_new(object, "training_nodes", json_integer((json_int_t)nodes));
    json_object_set_new(object, "test_nodes", json_integer((json_int_t)run->test_nodes));
    json_object_set_new(object, "n", json_integer((json_int_t)run->judged));
    json_object_set_new(object, "accuracy", json_real((double)run->right / (double)run->judged));
    json_object_set_new(object, "log_joint", joints);
    json_object_set_new(object, "reading_seconds", json_real(run->reading));
    json_object_set_new(object, "training_seconds", json_real(run->training));
    json_object_set_new(object, "scoring_seconds", json_real(run->scoring));
    if (run->phase) {
        json_object_set(object, "phase_seconds", phases);
        json_object_set_new(object, "seconds_per_iteration",
                            json_real(run->training / (double)run->options.iterations));
        json_object_set_new(object, "scoring_seconds_per_draw",
                            json_real(run->scoring / (double)draws));
    }
    json_dumpf(object, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    printf("\n");
    json_decref(phases);
    json_decref(object);
}

/* False: the arguments are not to be understood. */
static bool read_arguments(plain_run *run, int argc, char **argv)
{
    static const struct option known[] = {{"states", required_argument, NULL, 'C'},
                                          {"iterations", required_argument, NULL, 'i'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"keep", required_argument, NULL, 'k'},
                                          {"trace", required_argument, NULL, 't'},
                                          {"phase", no_argument, NULL, 'p'},
                                          {NULL, 0, NULL, 0}};
    phl_train_options *options = &run->options;
    int found;
    while ((found = getopt_long(argc, argv, "C:i:", known, NULL)) != -1) {
        unsigned long long number = optarg == NULL ? 0 : strtoull(optarg, NULL, 10);
        switch (found) {
        case 'C':
            options->states = (uint32_t)number;
            break;
        case 'i':
            options->iterations = (size_t)number;
            break;
        case 's':
            options->seed = number;
            break;
        case 'k':
            options->keep = (size_t)number;
            break;
        case 't':
            run->trace_path = optarg;
            break;
        case 'p':
            run->phase = true;
            break;
        default:
            return false;
        }
    }
    if (optind + 2 != argc) {
        return false;
    }
    run->train_path = argv[optind];
    run->test_path = argv[optind + 1];
    return true;
}

static void start(plain_run *run)
{
    double began = plain_seconds();
    phl_train_options_resolve(&run->options);
    plain_must(phl_train_options_check(&run->options, error));
    plain_must(phl_forest_read(&run->train_path, 1, NULL, &run->train, NULL, error));
    plain_must(phl_forest_read(&run->test_path, 1, NULL, &run->test, NULL, error));
    run->reading = plain_seconds() - began;
    list_classes(run);
    if (run->n_classes == 0) {
        plain_must(phl_raise(error, PHL_ERR_EMPTY, NULL, "no training tree has a class"));
    }
    if (run->trace_path != NULL) {
        run->trace = fopen(run->trace_path, "w");
        if (run->trace == NULL) {
            plain_must(phl_raise(error, PHL_ERR_OPEN, NULL, "cannot write %s", run->trace_path));
        }
        fprintf(run->trace, "class\titeration\tlog_likelihood\tlog_joint\tactive\tsum_size\n");
    }
}

static void release(plain_run *run)
{
    for (size_t k = 0; k < run->n_classes; k++) {
        for (size_t d = 0; d < run->classes[k].n_draws; d++) {
            phl_params_free(run->classes[k].draws[d]);
        }
        phl_free(run->classes[k].draws);
    }
    phl_free(run->classes);
    phl_forest_free(run->train);
    phl_forest_free(run->test);
    if (run->trace != NULL) {
        (void)fclose(run->trace);
    }
}

int main(int argc, char **argv)
{
    plain_run run = {0};
    phl_train_options_init(&run.options);
    run.options.kind = PHL_TF;
    run.options.chains = 1;
    run.options.per_class = true;
    if (!read_arguments(&run, argc, argv)) {
        fprintf(stderr, "usage: plain TRAIN TEST [-C STATES] [-i ITERATIONS] [--seed N] [--keep N] "
                        "[--phase] [--trace FILE]\n");
        return 2;
    }
    start(&run);
    train(&run);
    classify(&run);
    print_run(&run);
    release(&run);
    return 0;
}
