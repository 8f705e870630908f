/* train_options.c - options of a training: defaults and checks. */
#include "train/train_options.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "grammar/grammar_part.h"

static const phl_train_options defaults = {
    .size = sizeof(phl_train_options),
    .kind = PHL_GRAMMAR,
    .states = (uint32_t)PHL_DEFAULT,
    .seed = 42,
    .iterations = PHL_DEFAULT,
    .restarts = PHL_DEFAULT,
    .tolerance = 1e-6,
    .smoothing = 0.01,
    .warmup = PHL_DEFAULT,
    .chains = 4,
    .keep = 10,
    .anneal_start = 1.0,
    .anneal_end = PHL_DEFAULT,
    .slots_max = (uint32_t)PHL_DEFAULT,
    .slot_support = 0.01,
    .core_max = (uint64_t)1 << 20,
    .phi = 2.0,
    .alpha = 1.0,
    .alpha0 = 1.0,
    .beta = 0.05,
    .gamma = 1.0,
    .delta = 1.0,
    .n_folds = 5,
    .recycle = 200,
    .states_max = 40,
};

void phl_train_options_init_sized(phl_train_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

phl_status phl_train_options_take(const phl_train_options *given, phl_train_options *taken,
                                  phl_error *error)
{
    return phl_options_take(taken, &defaults, sizeof defaults, given, "phl_train", error);
}

static uint64_t half_of_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 0;
}

void phl_train_options_resolve(phl_train_options *options)
{
    if (options->learner == PHL_LEARNER_AUTO) {
        options->learner = options->kind == PHL_TF ? PHL_LEARNER_GIBBS : PHL_LEARNER_EM;
    }
    if (options->states == (uint32_t)PHL_DEFAULT) {
        options->states = options->kind == PHL_GRAMMAR ? 16 : options->kind == PHL_TF ? 20 : 10;
    }
    if (options->restarts == PHL_DEFAULT) {
        options->restarts = options->kind == PHL_GRAMMAR ? 4 : 1;
    }
    if (options->iterations == PHL_DEFAULT && options->kind == PHL_GRAMMAR) {
        options->iterations = 15;
    }
    if (options->iterations == PHL_DEFAULT) {
        options->iterations = options->learner == PHL_LEARNER_EM ? 100 : 200;
    }
    if (options->warmup == PHL_DEFAULT) {
        options->warmup = options->iterations / 2;
    }
    if (options->anneal_end == PHL_DEFAULT) {
        options->anneal_end = options->warmup;
    }
    if (options->slots_max == (uint32_t)PHL_DEFAULT) {
        options->slots_max = 5;
    }
    if (options->memory_limit == 0) {
        options->memory_limit = half_of_memory();
    }
}

/* A concentration: more would overflow in sums over labels and counts, less vanish when divided. */
static bool is_concentration(double value)
{
    return value >= 1e-100 && value <= 1e100;
}

static phl_status check_em(const phl_train_options *options, phl_error *error)
{
    if (options->kind == PHL_TF && options->partition == NULL) {
        return phl_raise(
            error, PHL_ERR_ARGUMENT,
            "give " PHL_OPTION_TO(
                "train.partition",
                "") ", or let the sampler learn them (" PHL_OPTION_TO("train.learner", "gibbs") ")",
            "EM for a model of kind tf needs partitions");
    }
    if (options->soft) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "soft clustering is learned by Gibbs only");
    }
    if (options->restarts < 1 || options->restarts > PHL_MOST_RESTARTS) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "restarts must be from 1 to %d",
                         PHL_MOST_RESTARTS);
    }
    if (!is_concentration(options->gamma)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "gamma must be from 1e-100 to 1e100");
    }
    if (!(options->smoothing >= 0.0 && options->smoothing < 1e9) ||
        !(options->tolerance >= 0.0 && options->tolerance < 1.0)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "smoothing must be 0 or more, and tolerance from 0 to below 1");
    }
    return PHL_OK;
}

static phl_status check_gibbs(const phl_train_options *options, phl_error *error)
{
    if (options->kind != PHL_TF) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "use " PHL_OPTION_TO("train.learner", "em"),
                         "a model of kind %s is learned by EM only", phl_kind_name(options->kind));
    }
    if (options->warmup >= options->iterations) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "raise " PHL_OPTION("train.iterations") ", which include the warm-up",
                         "a warm-up of %zu leaves nothing of %zu iterations", options->warmup,
                         options->iterations);
    }
    if (options->recycle > PHL_MOST_ITERATIONS) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "recycle must be from 0 to %d",
                         PHL_MOST_ITERATIONS);
    }
    if (!(options->anneal_start >= 1.0 && isfinite(options->anneal_start)) ||
        options->anneal_end > options->warmup) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "end the annealing within the warm-up (" PHL_OPTION_TO(
                             "train.anneal_start", "") " " PHL_OPTION_TO("train.warmup", "") ")",
                         "annealing from %g to iteration %zu with a warm-up of %zu",
                         options->anneal_start, options->anneal_end, options->warmup);
    }
    if (options->chains < 1 || options->chains > PHL_MOST_CHAINS || options->keep < 1 ||
        options->keep > PHL_MOST_KEPT) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "chains must be from 1 to %d, and keep from 1 to %d", PHL_MOST_CHAINS,
                         PHL_MOST_KEPT);
    }
    if (options->slots_min > options->slots_max) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "at least %u and at most %u active slots is impossible",
                         options->slots_min, options->slots_max);
    }
    if (options->slots_max > PHL_MOST_ACTIVE) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "at most %d slots can be active",
                         PHL_MOST_ACTIVE);
    }
    if (!(isfinite(options->phi) && options->phi >= 0.0) || !is_concentration(options->alpha) ||
        !is_concentration(options->alpha0) || !is_concentration(options->beta) ||
        !is_concentration(options->gamma) || !is_concentration(options->delta)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "alpha, alpha0, beta, gamma and delta must be from 1e-100 to 1e100, "
                         "phi 0 or more");
    }
    if (!(options->slot_support >= 0.0 && options->slot_support <= 1.0) || options->core_max < 1 ||
        options->core_max > UINT32_MAX) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "slot support must be from 0 to 1, and core max from 1 to %u", UINT32_MAX);
    }
    for (size_t i = 0; options->sizes != NULL && i < options->n_sizes; i++) {
        if (options->sizes[i] < 1 || options->sizes[i] > options->states + 1) {
            return phl_raise(
                error, PHL_ERR_ARGUMENT, NULL,
                "slot %zu: %u blocks, expected 1 to %u (the states and the empty slot)", i + 1,
                options->sizes[i], options->states + 1);
        }
    }
    if (options->sizes != NULL && options->partition != NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "sizes and partitions cannot both be given");
    }
    if (options->sampler == PHL_SAMPLER_PAPER &&
        (options->sizes != NULL || options->partition != NULL || options->soft)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "use " PHL_OPTION_TO("train.sampler", "blocked"),
                         "the paper's sampler takes no sizes, partitions or soft clustering");
    }
    return PHL_OK;
}

/* A number of states that is to be chosen. */
static phl_status check_auto(const phl_train_options *options, phl_error *error)
{
    if (options->kind == PHL_GRAMMAR) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "give the greatest number: " PHL_OPTION("train.states"),
                         "a grammar finds the number of annotations of each label by itself");
    }
    if (options->partition != NULL || options->sizes != NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "give the number: " PHL_OPTION("train.states"),
                         "partitions and sizes are of a certain number of states, which cannot be "
                         "chosen then");
    }
    if (options->piece != 0 || options->pieces != 0 || options->n_piece_classes > 0 ||
        options->piece_first_chain != 0 || options->piece_last_chain != 0) {
        return phl_raise(
            error, PHL_ERR_ARGUMENT,
            "choose it by a training of its own, and give every piece the number: " PHL_OPTION(
                "train.states"),
            "a piece of a training cannot choose the number of states, which all "
            "pieces must have in common");
    }
    return options->states_max >= 1 && options->states_max <= PHL_MOST_STATES
               ? PHL_OK
               : phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                           PHL_OPTION("train.states_max") " must be from 1 to %d", PHL_MOST_STATES);
}

phl_status phl_train_options_check(const phl_train_options *options, phl_error *error)
{
    if (options->kind < PHL_SP || options->kind > PHL_GRAMMAR) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "no such kind of model: %d",
                         (int)options->kind);
    }
    if (options->kind != PHL_TF && options->partition != NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "use " PHL_OPTION_TO("train.kind", "tf"),
                         "a model of kind %s takes no partitions", phl_kind_name(options->kind));
    }
    if (((int)options->head != PHL_HEAD_NONE && options->head != PHL_HEAD_LINEAR) ||
        (options->fold != NULL && options->n_folds < 2)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "no such kind of head: %d, or %zu folds",
                         (int)options->head, options->n_folds);
    }
    if ((options->head != PHL_HEAD_NONE || options->calibrate) && !options->per_class) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "train with " PHL_OPTION("train.per_class"),
                         "a head and calibration are for telling classes apart");
    }
    if (options->states < 1 || options->states > PHL_MOST_STATES || options->iterations < 1 ||
        options->iterations > PHL_MOST_ITERATIONS) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "states must be from 1 to %d, and iterations from 1 to %d",
                         PHL_MOST_STATES, PHL_MOST_ITERATIONS);
    }
    if (options->kind == PHL_GRAMMAR && options->states > PHL_MOST_ANNOTATIONS) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "a grammar has at most %d annotations per label: " PHL_OPTION(
                             "train.states") " must be from 1 to %d",
                         PHL_MOST_ANNOTATIONS, PHL_MOST_ANNOTATIONS);
    }
    phl_status status = options->states_auto ? check_auto(options, error) : PHL_OK;
    if (status != PHL_OK) {
        return status;
    }
    return options->learner == PHL_LEARNER_EM ? check_em(options, error)
                                              : check_gibbs(options, error);
}
