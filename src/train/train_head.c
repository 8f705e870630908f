/* train_head.c - the linear head of a run; see train_head.h. */
#include "train/train_head.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"

/* The folds of the cross-validation; without one where everything is given. */
static phl_status choose_folds(const phl_forest *forest, const phl_classifier_options *options,
                               phl_head_settings *settings, uint32_t **made, phl_error *error)
{
    size_t n_folds = options->n_folds < forest->n_trees ? options->n_folds : forest->n_trees;
    if (options->groups != 0 && options->c > 0.0) {
        return PHL_OK;
    }
    settings->n_folds = options->fold != NULL ? options->n_folds : n_folds;
    settings->fold = options->fold;
    if (options->fold != NULL) {
        if (options->n_folds > forest->n_trees) {
            return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "%zu folds of %zu trees",
                             options->n_folds, forest->n_trees);
        }
        for (size_t t = 0; t < forest->n_trees; t++) {
            if (options->fold[t] >= options->n_folds) {
                return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                                 "tree %zu is in fold %u of %zu (numbered from 0)", t,
                                 options->fold[t], options->n_folds);
            }
        }
        return PHL_OK;
    }
    *made = phl_alloc(forest->n_trees, sizeof **made, error);
    settings->fold = *made;
    return *made == NULL ? PHL_ERR_MEMORY
                         : phl_folds_make(forest, n_folds, options->seed, *made, error);
}

phl_status phl_train_head(const phl_forest *forest, const phl_classifier_options *options,
                          const uint32_t *number, size_t n_classes, phl_head **head,
                          phl_error *error)
{
    uint32_t *fold = NULL;
    phl_head_settings settings = phl_head_train_defaults();
    settings.class_number = number;
    settings.n_classes = n_classes;
    settings.seed = options->seed;
    settings.memory_limit = options->memory_limit;
    settings.threads = options->threads;
    settings.cancel = options->cancel;
    settings.context = options->context;
    if (options->groups != 0) {
        settings.groups = &options->groups;
        settings.n_groups = 1;
    }
    if (options->c > 0.0) {
        settings.c = &options->c;
        settings.n_c = 1;
    }
    phl_status status = choose_folds(forest, options, &settings, &fold, error);
    if (status == PHL_OK) {
        status = phl_head_train(forest, &settings, head, error);
    }
    phl_free(fold);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Folds that were given
 * ------------------------------------------------------------------------------------------- */

phl_status phl_train_head_record_folds(phl_run *run, const uint32_t *fold, size_t n_trees,
                                       phl_error *error)
{
    phl_text_writer writer = {{NULL, 0, 0}, PHL_OK, error};
    for (size_t t = 0; t < n_trees; t++) {
        phl_text_put(&writer, t > 0 ? " " : "");
        phl_text_put_number(&writer, fold[t]);
    }
    if (writer.status == PHL_OK) {
        writer.status = phl_text_append(&writer.text, "", 1, error);
    }
    phl_status status = writer.status == PHL_OK
                            ? phl_run_set_meta(run, "folds", writer.text.bytes, error)
                            : writer.status;
    phl_text_clear(&writer.text);
    return status;
}

phl_status phl_train_head_restore_folds(const phl_run *run, size_t n_trees, uint32_t **fold,
                                        size_t *n_folds, phl_error *error)
{
    const char *text = phl_run_meta(run, "folds");
    *fold = NULL;
    if (text == NULL) {
        return PHL_OK;
    }
    uint32_t *made = phl_alloc(n_trees, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    bool good = true;
    uint32_t last = 0;
    for (size_t t = 0; good && t < n_trees; t++) {
        char *end = NULL;
        unsigned long number = strtoul(text, &end, 10);
        good = end != text && number < n_trees;
        made[t] = (uint32_t)number;
        last = good && made[t] > last ? made[t] : last;
        text = end;
    }
    if (!good || *text != '\0') {
        phl_free(made);
        return phl_raise(error, PHL_ERR_SYNTAX, "use an undamaged copy, or train again",
                         "the run is damaged: its folds are not those of %zu trees", n_trees);
    }
    *fold = made;
    *n_folds = (size_t)last + 1;
    return PHL_OK;
}
