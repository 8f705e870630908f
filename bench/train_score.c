/* train_score.c - a whole classification: one tf model per class is trained, the test set
 * classified.
 *
 * What bench/plain does with a program of its own is done here by the library: one chain per class
 * by default, all else as phl_train has it.  --no-sharing reads both files with every occurrence of
 * a subtree as one of its own.  Printed is a line of JSON: seconds of the processor and elapsed
 * seconds of training and of scoring, reading left out, and the accuracy.
 */
#include <stdio.h>
#include <time.h>

#include "base/memory.h"
#include "classes.h"

static const char USAGE[] =
    "train_score [--states 10] [--iterations 100] [--chains 1] [--keep 10] [--seed 42]\n"
    "    [--threads 1] [--no-sharing] TRAIN [TEST]";

struct settings {
    double states, iterations, chains, keep, seed, threads;
    bool no_sharing;
};

static double elapsed_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static phl_status read_trees(const char *path, const struct settings *settings, phl_forest **forest,
                             phl_error *error)
{
    phl_read_options options;
    phl_read_options_init(&options);
    options.no_sharing = settings->no_sharing;
    return phl_forest_read(&path, 1, &options, forest, NULL, error);
}

static phl_status train(const phl_forest *forest, const struct settings *settings, phl_run **run,
                        phl_error *error)
{
    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = PHL_TF;
    options.states = (uint32_t)settings->states;
    options.iterations = (size_t)settings->iterations;
    options.chains = (size_t)settings->chains;
    options.keep = (size_t)settings->keep;
    options.seed = (uint64_t)settings->seed;
    options.threads = (int)settings->threads;
    options.per_class = phl_forest_classes(forest) > 0;
    double began = bench_seconds(), began_elapsed = elapsed_now();
    phl_status status = phl_train(forest, &options, run, error);
    printf("{\"training_seconds\": %.6f, \"training_elapsed\": %.6f", bench_seconds() - began,
           elapsed_now() - began_elapsed);
    return status;
}

static phl_status score(const phl_run *run, const phl_forest *forest,
                        const struct settings *settings, phl_error *error)
{
    phl_evaluation *evaluation = NULL;
    phl_source *source = NULL;
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.threads = (int)settings->threads;
    phl_status status = phl_source_forest(forest, &source, error);
    double began = bench_seconds(), began_elapsed = elapsed_now();
    if (status == PHL_OK) {
        status = phl_classify(run, source, &options, NULL, &evaluation, error);
    }
    printf(", \"scoring_seconds\": %.6f, \"scoring_elapsed\": %.6f", bench_seconds() - began,
           elapsed_now() - began_elapsed);
    printf(", \"accuracy\": %.6f", status == PHL_OK ? evaluation->best->accuracy : 0.0);
    phl_evaluation_free(evaluation);
    phl_source_free(source);
    return status;
}

int main(int argc, char **argv)
{
    struct settings settings = {10, 100, 1, 10, 42, 1, false};
    const bench_option options[] = {
        {"--states", &settings.states, NULL, NULL},
        {"--iterations", &settings.iterations, NULL, NULL},
        {"--chains", &settings.chains, NULL, NULL},
        {"--keep", &settings.keep, NULL, NULL},
        {"--seed", &settings.seed, NULL, NULL},
        {"--threads", &settings.threads, NULL, NULL},
        {"--no-sharing", NULL, NULL, &settings.no_sharing},
        {NULL, NULL, NULL, NULL},
    };
    int files = bench_options(argc, argv, options, USAGE);
    if (files == 0) {
        return 2;
    }
    phl_forest *known = NULL, *new = NULL;
    phl_run *run = NULL;
    phl_error error = {0};
    phl_status status = read_trees(argv[files], &settings, &known, &error);
    if (status == PHL_OK && files + 1 < argc) {
        status = read_trees(argv[files + 1], &settings, &new, &error);
    }
    if (status == PHL_OK) {
        status = train(known, &settings, &run, &error);
    }
    if (status == PHL_OK && new != NULL) {
        status = score(run, new, &settings, &error);
    }
    if (status == PHL_OK) {
        printf("}\n");
    }
    phl_run_free(run);
    phl_forest_free(new);
    phl_forest_free(known);
    return bench_end("train_score", status, &error);
}
