/* tiny_tf.c - draws of tf with given partitions, for comparison with another sampler.
 *
 * One chain over all trees, one thread.  After the warm-up every draw is a line of --draws FILE:
 * lambda0 [C], pi [L][C], b [C][M + 1], lambda [cells][C].  Printed is a line of JSON with the
 * seconds of the processor that the kept iterations took, and the labels in the order of b.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "classes.h"
#include "gibbs/gibbs.h"

static const char USAGE[] =
    "tiny_tf [--states 2] [--iterations 2000] [--warmup 1000] [--seed 42] [--alpha 1] [--alpha0 "
    "1]\n"
    "    [--beta 1] [--gamma 1] --blocks B,B,.. --draws FILE TREES\n"
    "--blocks: block of each child value, the empty slot last, slot after slot";

enum { MAX_BLOCKS = 1024 };

struct settings {
    double states, iterations, warmup, seed, alpha, alpha0, beta, gamma;
    const char *blocks, *draws;
};

/* Active slots from the list of blocks: all slots it covers with more than one block. */
static uint32_t make_axes(const struct settings *settings, uint32_t *blocks, phl_axis *axes)
{
    size_t values = (size_t)settings->states + 1;
    size_t slots = bench_list(settings->blocks, blocks, MAX_BLOCKS) / values;
    uint32_t n = 0;
    for (size_t l = 0; l < slots && n < PHL_MAX_AXES; l++) {
        uint32_t size = 1;
        for (size_t q = 0; q < values; q++) {
            uint32_t block = blocks[l * values + q];
            size = block + 1 > size ? block + 1 : size;
        }
        if (size > 1) {
            axes[n++] =
                (phl_axis){.slot = (uint32_t)l + 1, .size = size, .block = blocks + l * values};
        }
    }
    return n;
}

static void write_draw(FILE *out, const phl_gibbs *gibbs)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states, m = (size_t)params->labels + 1;
    for (size_t j = 0; j < c; j++) {
        fprintf(out, "%.17g ", exp(gibbs->log_lambda0[j]));
    }
    for (size_t i = 0; i < params->slots * c; i++) {
        fprintf(out, "%.17g ", params->prior[i]);
    }
    for (size_t i = 0; i < c * m; i++) {
        fprintf(out, "%.17g ", params->emission[i % m * c + i / m]);
    }
    for (size_t i = 0; i < params->core_rows * c; i++) {
        fprintf(out, "%.17g%c", params->core[i], i + 1 < params->core_rows * c ? ' ' : '\n');
    }
}

static phl_status sample(const bench_classes *classes, const struct settings *settings, FILE *out,
                         double *seconds, phl_error *error)
{
    uint32_t blocks[MAX_BLOCKS];
    phl_axis axes[PHL_MAX_AXES];
    uint32_t n_axes = make_axes(settings, blocks, axes);
    phl_gibbs_options options = {
        .alpha = settings->alpha,
        .alpha0 = settings->alpha0,
        .beta = settings->beta,
        .gamma = settings->gamma,
        .delta = 1.0,
        .prior = {.slots_max = PHL_MAX_AXES, .core_max = 1 << 20},
        .fixed_partitions = true,
        .seed = (uint64_t)settings->seed,
        .threads = 1,
    };
    phl_gibbs *gibbs = NULL;
    phl_slot_pairs *pairs = NULL;
    phl_status status = phl_slot_pairs_create(classes->class[0].index, 0.0, &pairs, error);
    if (status == PHL_OK) {
        status = phl_gibbs_create(pairs, classes->class[0].label_row, (uint32_t)settings->states,
                                  classes->labels, axes, n_axes, &options, &gibbs, error);
    }
    size_t iterations = (size_t)settings->iterations, warmup = (size_t)settings->warmup;
    for (size_t i = 0; status == PHL_OK && i < iterations; i++) {
        double began = bench_seconds();
        status = phl_gibbs_step(gibbs, 1.0, error);
        if (status == PHL_OK && i >= warmup) {
            *seconds += bench_seconds() - began;
            write_draw(out, gibbs);
        }
    }
    phl_gibbs_free(gibbs);
    phl_slot_pairs_free(pairs);
    return status;
}

int main(int argc, char **argv)
{
    struct settings settings = {2, 2000, 1000, 42, 1, 1, 1, 1, NULL, NULL};
    const bench_option options[] = {
        {"--states", &settings.states, NULL, NULL},
        {"--iterations", &settings.iterations, NULL, NULL},
        {"--warmup", &settings.warmup, NULL, NULL},
        {"--seed", &settings.seed, NULL, NULL},
        {"--alpha", &settings.alpha, NULL, NULL},
        {"--alpha0", &settings.alpha0, NULL, NULL},
        {"--beta", &settings.beta, NULL, NULL},
        {"--gamma", &settings.gamma, NULL, NULL},
        {"--blocks", NULL, &settings.blocks, NULL},
        {"--draws", NULL, &settings.draws, NULL},
        {NULL, NULL, NULL, NULL},
    };
    int files = bench_options(argc, argv, options, USAGE);
    if (files == 0 || settings.blocks == NULL || settings.draws == NULL) {
        return 2;
    }
    FILE *out = fopen(settings.draws, "w");
    if (out == NULL) {
        perror(settings.draws);
        return 4;
    }
    bench_classes classes;
    double seconds = 0.0;
    phl_error error = {0};
    phl_status status = bench_classes_read((const char *const *)argv + files,
                                           (size_t)(argc - files), false, 1, &classes, &error);
    if (status == PHL_OK) {
        status = sample(&classes, &settings, out, &seconds, &error);
    }
    if (fclose(out) != 0 && status == PHL_OK) {
        status = phl_raise(&error, PHL_ERR_WRITE, NULL, "%s cannot be written", settings.draws);
    }
    if (status == PHL_OK) {
        bench_classes_print(&classes);
        printf(", \"seconds\": %.6f, \"labels\": [", seconds);
        for (uint32_t i = 0; i < classes.labels; i++) {
            printf("%s\"%s\"", i > 0 ? ", " : "", phl_alphabet_name(&classes.all->labels, i));
        }
        printf("]}\n");
    }
    bench_classes_clear(&classes);
    return bench_end("tiny_tf", status, &error);
}
