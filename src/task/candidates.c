/* candidates.c - what the options of a cross-validation compare; see candidates.h. */
#include "task/candidates.h"

#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "task/trials.h"
#include "train/train_config.h"
#include "train/train_options.h"

static const phl_evaluate_options defaults = {.size = sizeof(phl_evaluate_options),
                                              .n_folds = 10,
                                              .structure = true,
                                              .prior = PHL_PRIOR_CHOSEN};

void phl_evaluate_options_init_sized(phl_evaluate_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

phl_train_options phl_candidates_resolved(const phl_candidates *candidates, size_t number)
{
    phl_train_options options = candidates->train[number];
    phl_train_options_resolve(&options);
    return options;
}

/* A way to train with one number of states, or with its own. */
static phl_status add(phl_candidates *candidates, const phl_train_options *train,
                      const uint32_t *states, phl_error *error)
{
    phl_train_options *made = &candidates->train[candidates->n++];
    *made = *train;
    made->fold = NULL; /* is of other trees than any training here has */
    made->states_auto = false;
    if (made->kind == PHL_NO_KIND) {
        made->states = 0;
        return made->head == PHL_HEAD_LINEAR && made->per_class
                   ? PHL_OK
                   : phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                               "a linear classifier alone is for telling classes apart");
    }
    made->states = states != NULL ? *states : made->states;
    phl_train_options resolved = phl_candidates_resolved(candidates, candidates->n - 1);
    made->states = resolved.states;
    return phl_train_options_check(&resolved, error);
}

static phl_status add_train(phl_candidates *candidates, const phl_train_options *given,
                            phl_error *error)
{
    const phl_evaluate_options *options = &candidates->options;
    phl_train_options train;
    phl_status status = phl_train_options_take(given, &train, error);
    if (status != PHL_OK) {
        return status;
    }
    train.per_class = train.per_class || given == NULL;
    if (candidates->n > 0 && train.per_class != candidates->per_class) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "all ways to train are compared by class, or none is");
    }
    candidates->per_class = train.per_class;
    if (train.states_auto) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "give the numbers to compare: " PHL_OPTION("evaluate.states"),
                         "cross-validation compares numbers of states itself");
    }
    size_t n = options->n_states > 0 && train.kind != PHL_NO_KIND ? options->n_states : 1;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        const uint32_t *states = options->n_states > 0 ? &options->states[i] : NULL;
        if (states != NULL && train.kind != PHL_NO_KIND && *states < 1) {
            return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "0 states, expected at least 1");
        }
        status = add(candidates, &train, states, error);
    }
    return status;
}

static phl_status check_priors(const phl_candidates *candidates, phl_error *error)
{
    for (size_t p = 0; p < candidates->n_priors; p++) {
        if ((int)candidates->priors[p] < PHL_PRIOR_UNIFORM ||
            candidates->priors[p] > PHL_PRIOR_CHOSEN) {
            return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "no such class prior: %d",
                             (int)candidates->priors[p]);
        }
    }
    return candidates->n_priors > 1 && !candidates->per_class
               ? phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                           "class priors are compared by class, not by held-out likelihood")
               : PHL_OK;
}

phl_status phl_candidates_take(const phl_evaluate_options *given, phl_candidates *candidates,
                               phl_error *error)
{
    phl_evaluate_options *options = &candidates->options;
    phl_status status =
        phl_options_take(options, &defaults, sizeof *options, given, "phl_evaluate", error);
    if (status != PHL_OK) {
        return status;
    }
    size_t n_trains = options->n_trains > 0 ? options->n_trains : 1;
    size_t n_states = options->n_states > 0 ? options->n_states : 1;
    if (n_trains > PHL_MOST_TRIALS || n_states > PHL_MOST_TRIALS / n_trains) {
        return phl_raise(error, PHL_ERR_LIMIT, "compare less",
                         "%zu ways to train with %zu numbers of states are too many to compare",
                         n_trains, n_states);
    }
    candidates->n_priors = options->n_priors > 0 ? options->n_priors : 1;
    candidates->train = phl_alloc(n_trains * n_states, sizeof *candidates->train, error);
    status = candidates->train == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n_trains; i++) {
        status = add_train(candidates, options->n_trains > 0 ? options->trains[i] : options->train,
                           error);
    }
    candidates->priors = options->n_priors > 0 ? options->priors : &options->prior;
    return status == PHL_OK ? check_priors(candidates, error) : status;
}

void phl_candidates_clear(phl_candidates *candidates)
{
    phl_free(candidates->train);
    candidates->train = NULL;
}

phl_status phl_candidates_config(const phl_candidates *candidates, size_t number, uint32_t slots,
                                 char **config, phl_error *error)
{
    phl_train_options options = phl_candidates_resolved(candidates, number);
    if (options.kind != PHL_NO_KIND && options.partition == NULL) {
        return phl_train_config_text(&options, slots, config, error);
    }
    if (options.kind != PHL_NO_KIND) {
        phl_text text = {0};
        char *begin = NULL;
        phl_status status = phl_train_config_text(&options, slots, &begin, error);
        status = status == PHL_OK ? phl_text_append_string(&text, begin, error) : status;
        status = status == PHL_OK ? phl_text_append(&text, options.partition,
                                                    strlen(options.partition) + 1, error)
                                  : status;
        phl_free(begin);
        if (status != PHL_OK) {
            phl_text_clear(&text);
            return status;
        }
        *config = text.bytes;
        return PHL_OK;
    }
    char text[80];
    (void)phl_remedy(text, sizeof text, "{\"model\":\"none\",\"head\":\"linear\",\"seed\":%llu}",
                     (unsigned long long)options.seed);
    *config = phl_copy_text(text, strlen(text), error);
    return *config == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

phl_status phl_candidates_train(const phl_train_options *options, const phl_forest *forest,
                                phl_run **run, phl_error *error)
{
    if (options->kind != PHL_NO_KIND) {
        return phl_train(forest, options, run, error);
    }
    phl_classifier_options classifier;
    phl_classifier_options_init(&classifier);
    classifier.seed = options->seed;
    classifier.memory_limit = options->memory_limit;
    classifier.threads = options->threads;
    classifier.command_line = options->command_line;
    classifier.cancel = options->cancel;
    classifier.context = options->context;
    return phl_train_classifier(forest, &classifier, run, error);
}
