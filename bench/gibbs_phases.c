/* gibbs_phases.c - seconds an iteration of the blocked sampler takes, by its three parts.
 *
 * One chain of tf per class, on one thread.  After the warm-up every second iteration is run as a
 * whole (phl_gibbs_step), the others part by part with the clock read in between; the upward pass
 * that opens the first part is also timed alone.  Printed is a line of JSON: seconds of the
 * processor per iteration, summed over the classes, and the core and portions (state_counts.h) of
 * the last iteration.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "classes.h"
#include "gibbs/gibbs.h"
#include "train/train_options.h"

static const char USAGE[] =
    "gibbs_phases [--states 10] [--iterations 100] [--warmup 50] [--seed 42] [--threads 1]\n"
    "    [--sizes k1,k2,...] [--repeat 1] [--no-sharing] FILE...\n"
    "--sizes: blocks by slot, not learned; --repeat: every tree so often; --no-sharing: every\n"
    "occurrence of a subtree is one of its own";

enum { MAX_SIZES = 64 };

struct settings {
    double states, iterations, warmup, seed, threads, repeat;
    const char *sizes;
    bool no_sharing;
};

/* Sums over classes and iterations. */
struct phases {
    double whole, states, partitions, parameters, upward;
    size_t n_whole, n_steps; /* iterations */
    size_t portions, core_rows, active;
};

static phl_gibbs_options chain_options(const struct settings *settings, uint64_t stream)
{
    phl_train_options defaults;
    phl_train_options_init(&defaults);
    defaults.kind = PHL_TF;
    phl_train_options_resolve(&defaults);
    phl_gibbs_options options = {
        .alpha = defaults.alpha,
        .alpha0 = defaults.alpha0,
        .beta = defaults.beta,
        .gamma = defaults.gamma,
        .delta = defaults.delta,
        .prior = {.phi = defaults.phi,
                  .slots_min = defaults.slots_min,
                  .slots_max = defaults.slots_max,
                  .core_max = defaults.core_max},
        .seed = (uint64_t)settings->seed,
        .stream = stream,
        .threads = (int)settings->threads,
    };
    return options;
}

/* Sizes by slot into sizes by eligible slot, as phl_partition_prior wants them. */
static phl_status fix_sizes(const phl_slot_pairs *pairs, const struct settings *settings,
                            phl_gibbs_options *options, uint32_t **fixed, phl_error *error)
{
    uint32_t sizes[MAX_SIZES];
    size_t n = bench_list(settings->sizes, sizes, MAX_SIZES);
    *fixed = NULL;
    if (n == 0) {
        return PHL_OK;
    }
    *fixed = phl_alloc(pairs->n_eligible, sizeof **fixed, error);
    if (*fixed == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (uint32_t e = 0; e < pairs->n_eligible; e++) {
        (*fixed)[e] = pairs->eligible[e] <= n ? sizes[pairs->eligible[e] - 1] : 1;
    }
    options->prior.fixed = *fixed;
    options->prior.slots_max = PHL_MAX_AXES;
    return PHL_OK;
}

static phl_status run_whole(phl_gibbs *gibbs, struct phases *phases, phl_error *error)
{
    double began = bench_seconds();
    phl_status status = phl_gibbs_step(gibbs, 1.0, error);
    phases->whole += bench_seconds() - began;
    phases->n_whole++;
    return status;
}

/* What phl_gibbs_step does, but for the traced log_joint. */
static phl_status run_steps(phl_gibbs *gibbs, struct phases *phases, phl_error *error)
{
    double began = bench_seconds();
    phl_status status = phl_hidden_states_draw(gibbs, error);
    double drawn = bench_seconds();
    if (status == PHL_OK) {
        status = phl_gibbs_draw_partitions(gibbs, 1.0, error);
    }
    double moved = bench_seconds();
    phases->portions += gibbs->state_counts->n_portions;
    if (status == PHL_OK) {
        status = phl_gibbs_parameters_draw(gibbs, gibbs->iteration, error);
    }
    double done = bench_seconds();
    gibbs->iteration++;
    if (status == PHL_OK) { /* the next iteration makes the same pass again */
        status = phl_upward_run(gibbs->upward, gibbs->options.threads, error);
    }
    phases->upward += bench_seconds() - done;
    phases->states += drawn - began;
    phases->partitions += moved - drawn;
    phases->parameters += done - moved;
    phases->n_steps++;
    return status;
}

static phl_status run_class(const bench_classes *classes, size_t number,
                            const struct settings *settings, struct phases *phases,
                            phl_error *error)
{
    const bench_class *class = &classes->class[number];
    phl_gibbs_options options = chain_options(settings, (uint64_t)number << 32);
    uint32_t *fixed = NULL;
    phl_gibbs *gibbs = NULL;
    phl_train_options defaults;
    phl_train_options_init(&defaults);
    phl_slot_pairs *pairs = NULL;
    phl_status status = phl_slot_pairs_create(class->index, defaults.slot_support, &pairs, error);
    if (status == PHL_OK) {
        status = fix_sizes(pairs, settings, &options, &fixed, error);
    }
    if (status == PHL_OK) {
        status = phl_gibbs_create(pairs, class->label_row, (uint32_t)settings->states,
                                  classes->labels, NULL, 0, &options, &gibbs, error);
    }
    size_t iterations = (size_t)settings->iterations, warmup = (size_t)settings->warmup;
    for (size_t i = 0; status == PHL_OK && i < iterations; i++) {
        status = i < warmup              ? phl_gibbs_step(gibbs, 1.0, error)
                 : (i - warmup) % 2 == 0 ? run_steps(gibbs, phases, error)
                                         : run_whole(gibbs, phases, error);
    }
    if (status == PHL_OK) {
        phases->core_rows += gibbs->params->core_rows;
        phases->active += gibbs->params->n_axes;
    }
    phl_gibbs_free(gibbs);
    phl_slot_pairs_free(pairs);
    phl_free(fixed);
    return status;
}

static void print_phases(const bench_classes *classes, const struct phases *phases)
{
    double n = (double)phases->n_steps / (double)classes->n;
    double whole = phases->whole * (double)classes->n / (double)phases->n_whole;
    bench_classes_print(classes);
    printf(", \"slots\": %u, \"active_slots\": %.3g, \"core_rows\": %.4g, \"rows\": %.0f, "
           "\"iteration_seconds\": %.9f, \"states_seconds\": %.9f, \"partitions_seconds\": %.9f, "
           "\"parameters_seconds\": %.9f, \"upward_seconds\": %.9f, \"partitions_share\": %.4f}\n",
           classes->slots, (double)phases->active / (double)classes->n,
           (double)phases->core_rows / (double)classes->n, (double)phases->portions / n, whole,
           phases->states / n, phases->partitions / n, phases->parameters / n, phases->upward / n,
           phases->partitions / (phases->states + phases->partitions + phases->parameters));
}

int main(int argc, char **argv)
{
    struct settings settings = {10, 100, 50, 42, 1, 1, NULL, false};
    const bench_option options[] = {
        {"--states", &settings.states, NULL, NULL},
        {"--iterations", &settings.iterations, NULL, NULL},
        {"--warmup", &settings.warmup, NULL, NULL},
        {"--seed", &settings.seed, NULL, NULL},
        {"--threads", &settings.threads, NULL, NULL},
        {"--sizes", NULL, &settings.sizes, NULL},
        {"--repeat", &settings.repeat, NULL, NULL},
        {"--no-sharing", NULL, NULL, &settings.no_sharing},
        {NULL, NULL, NULL, NULL},
    };
    int files = bench_options(argc, argv, options, USAGE);
    if (files == 0 || settings.iterations < settings.warmup + 2) {
        return 2;
    }
    bench_classes classes;
    struct phases phases = {0};
    phl_error error = {0};
    phl_status status =
        bench_classes_read((const char *const *)argv + files, (size_t)(argc - files),
                           settings.no_sharing, (size_t)settings.repeat, &classes, &error);
    for (size_t i = 0; status == PHL_OK && i < classes.n; i++) {
        status = run_class(&classes, i, &settings, &phases, &error);
    }
    if (status == PHL_OK) {
        print_phases(&classes, &phases);
    }
    bench_classes_clear(&classes);
    return bench_end("gibbs_phases", status, &error);
}
