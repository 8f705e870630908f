/* train_classifier.c - a run that holds a linear classifier alone. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "train/train_head.h"

static const phl_classifier_options defaults = {
    .size = sizeof(phl_classifier_options), .n_folds = 5, .seed = 42};

void phl_classifier_options_init_sized(phl_classifier_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

static phl_status check_options(const phl_classifier_options *options, phl_error *error)
{
    if (options->groups > PHL_FEATURES_ALL) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "groups of features %u: expected a sum of PHL_FEATURE_... up to %u, or 0 "
                         "to have them chosen",
                         options->groups, PHL_FEATURES_ALL);
    }
    if (!(options->c >= 0.0 && options->c <= 1e9)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "C is %g, expected a number from 0 (chosen) to 1e9", options->c);
    }
    if (options->n_folds < 2) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "%zu folds, expected at least 2",
                         options->n_folds);
    }
    return PHL_OK;
}

/* Classes that occur, in the order of the forest; number [classes of the forest]. */
static phl_status list_classes(const phl_forest *forest, phl_alphabet *classes, uint32_t *number,
                               phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; i < forest->classes.count; i++) {
        number[i] = UINT32_MAX;
    }
    for (size_t t = 0; t < forest->n_trees; t++) {
        if (forest->tree_class[t] < 0) {
            phl_position position = {phl_tree_file(forest, t), phl_tree_line(forest, t), 0};
            return phl_raise_at(error, PHL_ERR_EMPTY, position, "give every tree a class",
                                "tree %zu has no class", t);
        }
        number[forest->tree_class[t]] = 0;
    }
    for (size_t i = 0; status == PHL_OK && i < forest->classes.count; i++) {
        int32_t added = 0;
        if (number[i] == 0) {
            status = phl_alphabet_add(classes, phl_alphabet_name(&forest->classes, i),
                                      phl_alphabet_length(&forest->classes, i), &added, error);
            number[i] = (uint32_t)added;
        }
    }
    if (status == PHL_OK && classes->count < 2) {
        return phl_raise(
            error, PHL_ERR_EMPTY, forest->n_trees == 0 ? NULL : "give trees of two classes or more",
            forest->n_trees == 0
                ? "there are no trees to learn from"
                : "all trees are of one class: a classifier has nothing to tell apart");
    }
    return status;
}

/* How often each class occurs, and facts about how the run was made. */
static phl_status fill_run(phl_run *run, const phl_forest *forest, const uint32_t *number,
                           const phl_classifier_options *options, phl_error *error)
{
    char fingerprint[33], seed[32];
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)options->seed);
    for (size_t i = 0; i < run->n_models; i++) {
        run->models[i].stop_reason = PHL_STOP_TOLERANCE;
    }
    for (size_t t = 0; t < forest->n_trees; t++) {
        phl_model *model = &run->models[number[forest->tree_class[t]]];
        model->trees++;
        model->weight += phl_tree_weight(forest, t);
    }
    phl_status status = phl_forest_fingerprint(forest, false, fingerprint, error);
    const char *const facts[][2] = {{"version", phl_version()},
                                    {"fingerprint", fingerprint},
                                    {"seed", seed},
                                    {"command", options->command_line}};
    return status == PHL_OK ? phl_run_set_facts(run, facts, sizeof facts / sizeof *facts, error)
                            : status;
}

phl_status phl_train_classifier(const phl_forest *forest, const phl_classifier_options *options,
                                phl_run **run, phl_error *error)
{
    phl_classifier_options own;
    phl_alphabet classes = {0};
    phl_run *made = NULL;
    uint32_t *number = NULL;
    phl_status status =
        phl_options_take(&own, &defaults, sizeof own, options, "phl_classifier", error);
    if (status == PHL_OK) {
        status = check_options(&own, error);
    }
    if (status == PHL_OK) {
        number = phl_alloc(forest->classes.count, sizeof *number, error);
        status = number == NULL ? PHL_ERR_MEMORY : list_classes(forest, &classes, number, error);
    }
    if (status == PHL_OK) {
        status = phl_run_create(PHL_NO_KIND, 0, forest->max_slot, &forest->labels, &classes, true,
                                &made, error);
    }
    if (status == PHL_OK) {
        status = fill_run(made, forest, number, &own, error);
    }
    if (status == PHL_OK) {
        status = phl_train_head(forest, &own, number, classes.count, &made->head, error);
    }
    phl_alphabet_clear(&classes);
    phl_free(number);
    if (status != PHL_OK) {
        phl_run_free(made);
        return status;
    }
    *run = made;
    return PHL_OK;
}
