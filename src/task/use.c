/* use.c - what all tasks on a run share; see use.h.
 *
 * Contents: blocks, notes, classes, the trees of a block by model.
 */
#include "task/use.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "forest/forest.h"
#include "format/source.h"

/* ---------------------------------------------------------------------------------------------
 * Blocks
 * ------------------------------------------------------------------------------------------- */

phl_status phl_use_begin(phl_use *use, const phl_run *run, phl_source *source,
                         const char *class_option, const char *class_name, int threads,
                         phl_report_fn report, phl_cancel_fn cancel, void *context,
                         phl_error *error)
{
    *use = (phl_use){.run = run,
                     .source = source,
                     .named = SIZE_MAX,
                     .class_option = class_option,
                     .threads = threads,
                     .report = report,
                     .cancel = cancel,
                     .context = context};
    use->count_unseen = report != NULL;
    phl_unseen_init(&use->unseen);
    use->ordinal = phl_alloc_zero(run->n_models, sizeof *use->ordinal, error);
    phl_status status = use->ordinal == NULL ? PHL_ERR_MEMORY : phl_use_check_whole(run, error);
    if (status == PHL_OK && class_name != NULL) {
        status = phl_use_find_class(run, class_name, &use->named, error);
    }
    if (status == PHL_OK && source != NULL) {
        phl_source_begin(source);
    }
    return status;
}

phl_status phl_use_check_whole(const phl_run *run, phl_error *error)
{
    return phl_run_meta(run, "piece") == NULL
               ? PHL_OK
               : phl_raise(error, PHL_ERR_ARGUMENT,
                           "put the pieces together with " PHL_CALL("phl_merge") " first",
                           "the run is a piece of a training");
}

phl_status phl_use_check_kind(const phl_run *run, const char *task, phl_error *error)
{
    return run->kind != PHL_GRAMMAR
               ? PHL_OK
               : phl_raise(error, PHL_ERR_ARGUMENT,
                           "train a model of another kind with " PHL_OPTION("train.kind"),
                           "a model of kind grammar cannot %s", task);
}

phl_status phl_use_check_cancel(const phl_use *use, phl_error *error)
{
    return use->cancel != NULL && use->cancel(use->context)
               ? phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request")
               : PHL_OK;
}

phl_status phl_use_next(phl_use *use, phl_error *error)
{
    use->first += use->block != NULL ? use->block->n_trees : 0;
    use->block = NULL;
    phl_walk_free(use->walk);
    use->walk = NULL;
    phl_status status = phl_source_next(use->source, &use->block, error);
    if (status == PHL_OK) { /* the input may have ended by what is the reason to stop */
        status = phl_use_check_cancel(use, error);
    }
    if (status != PHL_OK || use->block == NULL) {
        return status;
    }
    if (use->count_unseen) {
        status = phl_unseen_add(&use->unseen, use->run, use->block, error);
    }
    return status == PHL_OK ? phl_walk_create(use->block, &use->walk, error) : status;
}

void phl_use_clear(phl_use *use)
{
    phl_walk_free(use->walk);
    phl_unseen_clear(&use->unseen);
    phl_free(use->impossible.file);
    phl_free(use->ordinal);
    memset(use, 0, sizeof *use);
}

phl_tree_at phl_use_at(const phl_use *use, size_t tree, size_t model)
{
    return (phl_tree_at){.block = use->block,
                         .tree = tree,
                         .number = use->first + tree,
                         .class_index = model,
                         .walk = use->walk};
}

/* ---------------------------------------------------------------------------------------------
 * Notes
 * ------------------------------------------------------------------------------------------- */

void phl_use_note(const phl_use *use, const phl_error *note)
{
    if (use->report != NULL) {
        use->report(note, use->context);
    }
}

void phl_use_tell(const phl_use *use)
{
    phl_error note = {.status = PHL_OK};
    if (phl_unseen_note(&use->unseen, &note)) {
        phl_use_note(use, &note);
    }
}

phl_status phl_use_count(const phl_use *use, phl_noted *noted, size_t tree, phl_error *error)
{
    const char *file = phl_tree_file(use->block, tree);
    if (noted->count == 0) {
        noted->first = use->first + tree;
        noted->line = phl_tree_line(use->block, tree);
        if (file != NULL) {
            noted->file = phl_copy_text(file, strlen(file), error);
            if (noted->file == NULL) {
                return PHL_ERR_MEMORY;
            }
        }
    }
    noted->count++;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Classes
 * ------------------------------------------------------------------------------------------- */

enum { NAMES_SIZE = 200 };

/* "a, b, c", cut when long. */
static const char *list_classes(const phl_run *run, char *out)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < run->n_models; i++) {
        char name[PHL_EXCERPT_SIZE];
        phl_text_excerpt(phl_alphabet_name(&run->classes, i), phl_alphabet_length(&run->classes, i),
                         name);
        size_t length = strlen(name);
        if (used + length + 8 > NAMES_SIZE) {
            strcpy(out + used, ", ...");
            break;
        }
        if (i > 0) {
            memcpy(out + used, ", ", 2);
            used += 2;
        }
        memcpy(out + used, name, length + 1);
        used += length;
    }
    return out;
}

phl_status phl_use_find_class(const phl_run *run, const char *name, size_t *model, phl_error *error)
{
    char names[NAMES_SIZE], shown[PHL_EXCERPT_SIZE];
    phl_text_excerpt(name, strlen(name), shown);
    if (!run->per_class) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "the run was not trained per class: it has one model for all trees, none "
                         "for class '%s'",
                         shown);
    }
    size_t found = phl_run_find_class(run, name);
    if (found == SIZE_MAX) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "class '%s' was never trained; the run has %s", shown,
                         list_classes(run, names));
    }
    *model = found;
    return PHL_OK;
}

/* A tree that no model is for. */
static phl_status no_model(const phl_use *use, size_t tree, phl_error *error)
{
    const phl_forest *block = use->block;
    const char *name = phl_forest_class_name(block, block->tree_class[tree]);
    phl_position position = {phl_tree_file(block, tree), phl_tree_line(block, tree), 0};
    char names[NAMES_SIZE], list[NAMES_SIZE + 40], remedy[NAMES_SIZE + 120];
    char where[40] = "", shown[PHL_EXCERPT_SIZE];
    if (position.file == NULL) {
        (void)snprintf(where, sizeof where, "tree %zu: ", use->first + tree);
    }
    phl_remedy(list, sizeof list, "%s", list_classes(use->run, names));
    (void)snprintf(remedy, sizeof remedy, "choose one%s with %s: %s",
                   name == NULL ? "" : " of the run's classes", use->class_option, list);
    if (name == NULL) {
        return phl_raise_at(error, PHL_ERR_ARGUMENT, position, remedy,
                            "%sthe tree has no class, and the run has a model for each class",
                            where);
    }
    return phl_raise_at(error, PHL_ERR_CLASS, position, remedy, "%sclass '%s' was never trained",
                        where, phl_text_excerpt(name, strlen(name), shown));
}

/* ---------------------------------------------------------------------------------------------
 * The trees of a block by model
 * ------------------------------------------------------------------------------------------- */

/* Model of each class of the block; SIZE_MAX: none. */
static phl_status map_classes(const phl_use *use, size_t **model_of, phl_error *error)
{
    const phl_alphabet *classes = &use->block->classes;
    *model_of = phl_alloc(classes->count, sizeof **model_of, error);
    if (*model_of == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < classes->count; i++) {
        int32_t found = phl_alphabet_find(&use->run->classes, phl_alphabet_name(classes, i),
                                          phl_alphabet_length(classes, i));
        (*model_of)[i] = found < 0 ? SIZE_MAX : (size_t)found;
    }
    return PHL_OK;
}

/* Number of the model that is for a tree; SIZE_MAX: none. */
static size_t model_of_tree(const phl_use *use, const size_t *model_of, size_t tree)
{
    int32_t class_number = use->block->tree_class[tree];
    if (use->named != SIZE_MAX || !use->run->per_class) {
        return use->named != SIZE_MAX ? use->named : 0;
    }
    return class_number < 0 ? SIZE_MAX : model_of[class_number];
}

/* Deal the trees; `portion_of` [models] has room for the portion of each. */
static phl_status deal(const phl_use *use, const size_t *model_of, size_t *portion_of,
                       phl_use_portions *made, phl_error *error)
{
    const phl_run *run = use->run;
    size_t *count = phl_alloc_zero(run->n_models, sizeof *count, error);
    if (count == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t model = 0;
    while (made->n_trees < use->block->n_trees &&
           (model = model_of_tree(use, model_of, made->n_trees)) != SIZE_MAX) {
        count[model]++;
        made->n_trees++;
    }
    phl_status status = PHL_OK;
    for (size_t m = 0; status == PHL_OK && m < run->n_models; m++) {
        if (count[m] == 0) {
            continue;
        }
        portion_of[m] = made->n;
        phl_use_portion *portion = &made->portions[made->n++];
        portion->model = &run->models[m];
        portion->first_ordinal = use->ordinal[m];
        portion->trees = phl_alloc(count[m], sizeof *portion->trees, error);
        status = portion->trees == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t t = 0; status == PHL_OK && t < made->n_trees; t++) {
        made->of_tree[t] = portion_of[model_of_tree(use, model_of, t)];
        phl_use_portion *portion = &made->portions[made->of_tree[t]];
        made->place[t] = portion->n;
        portion->trees[portion->n++] = t;
    }
    phl_free(count);
    return status;
}

phl_status phl_use_portions_make(const phl_use *use, phl_use_portions *portions, phl_error *error)
{
    size_t n_trees = use->block->n_trees, n_models = use->run->n_models;
    memset(portions, 0, sizeof *portions);
    portions->portions = phl_alloc_zero(n_models, sizeof *portions->portions, error);
    portions->of_tree = phl_alloc(n_trees, sizeof *portions->of_tree, error);
    portions->place = phl_alloc(n_trees, sizeof *portions->place, error);
    size_t *model_of = NULL, *portion_of = phl_alloc(n_models, sizeof *portion_of, error);
    phl_status status = portions->portions == NULL || portions->of_tree == NULL ||
                                portions->place == NULL || portion_of == NULL
                            ? PHL_ERR_MEMORY
                            : map_classes(use, &model_of, error);
    if (status == PHL_OK) {
        status = deal(use, model_of, portion_of, portions, error);
    }
    for (size_t i = 0; status == PHL_OK && i < portions->n; i++) {
        phl_use_portion *portion = &portions->portions[i];
        portion->forest = use->block;
        if (portion->n < n_trees) {
            status =
                phl_forest_select(use->block, portion->trees, portion->n, &portion->own, error);
            portion->forest = portion->own;
        }
    }
    phl_free(model_of);
    phl_free(portion_of);
    return status;
}

phl_status phl_use_portions_finish(phl_use *use, const phl_use_portions *portions, phl_error *error)
{
    for (size_t i = 0; i < portions->n; i++) {
        use->ordinal[portions->portions[i].model->class_index] += portions->portions[i].n;
    }
    return portions->n_trees < use->block->n_trees ? no_model(use, portions->n_trees, error)
                                                   : PHL_OK;
}

void phl_use_portions_clear(phl_use_portions *portions)
{
    for (size_t i = 0; portions->portions != NULL && i < portions->n; i++) {
        phl_free(portions->portions[i].trees);
        phl_forest_free(portions->portions[i].own);
    }
    phl_free(portions->portions);
    phl_free(portions->of_tree);
    phl_free(portions->place);
    memset(portions, 0, sizeof *portions);
}
