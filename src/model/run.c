/* run.c - what training gives, in memory; see run.h. */
#include "model/run.h"

#include <string.h>

#include "base/memory.h"

phl_status phl_run_create(phl_kind kind, uint32_t states, uint32_t slots,
                          const phl_alphabet *labels, const phl_alphabet *classes, bool per_class,
                          phl_run **run, phl_error *error)
{
    phl_run *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->kind = kind;
    made->states = states;
    made->slots = slots;
    made->per_class = per_class;
    phl_status status = phl_alphabet_copy(labels, &made->labels, error);
    if (status == PHL_OK && per_class) {
        status = phl_alphabet_copy(classes, &made->classes, error);
    }
    if (status == PHL_OK) {
        size_t n = per_class ? classes->count : 1;
        made->models = phl_alloc_zero(n, sizeof *made->models, error);
        status = made->models == NULL ? PHL_ERR_MEMORY : PHL_OK;
        for (size_t i = 0; status == PHL_OK && i < n; i++) {
            made->models[i].run = made;
            made->models[i].class_index = (uint32_t)i;
            made->models[i].stop_reason = PHL_STOP_INTERRUPTED;
            made->n_models++;
        }
    }
    if (status != PHL_OK) {
        phl_run_free(made);
        return status;
    }
    *run = made;
    return PHL_OK;
}

static void free_options(phl_train_options *options)
{
    if (options != NULL) {
        phl_free((char *)options->partition);
        phl_free((char *)options->command_line);
        phl_free((char *)options->members);
        phl_free((uint32_t *)options->sizes);
        phl_free(options);
    }
}

/* All but further members. */
static void free_one(phl_run *run)
{
    for (size_t i = 0; i < run->n_models; i++) {
        for (size_t d = 0; d < run->models[i].n_draws; d++) {
            phl_params_free(run->models[i].draws[d].params);
        }
        phl_free(run->models[i].draws);
    }
    for (size_t i = 0; i < run->n_meta; i++) {
        phl_free(run->meta[i].key);
        phl_free(run->meta[i].value);
    }
    phl_alphabet_clear(&run->labels);
    phl_alphabet_clear(&run->classes);
    phl_free(run->models);
    phl_free(run->meta);
    phl_free(run->trace);
    free_options(run->options);
    phl_free(run->earlier);
    phl_head_free(run->head);
    phl_expert_free(run->expert);
    phl_shape_model_free(run->shapes);
    phl_forest_free(run->forest);
    phl_free(run->members);
    phl_free(run);
}

void phl_run_free(phl_run *run)
{
    if (run == NULL) {
        return;
    }
    for (size_t i = 0; i < run->n_members; i++) { /* which have none themselves */
        free_one(run->members[i]);
    }
    free_one(run);
}

phl_status phl_run_take_member(phl_run *run, phl_run *member, phl_error *error)
{
    bool fits = member->n_members == 0 && member->kind != PHL_NO_KIND &&
                member->per_class == run->per_class &&
                phl_alphabet_equal(&member->labels, &run->labels) &&
                phl_alphabet_equal(&member->classes, &run->classes);
    for (size_t i = 0; fits && i < member->n_models; i++) {
        fits = member->models[i].n_draws > 0;
    }
    if (!fits) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "train all members on the same trees",
                         "a further model that does not fit the labels and classes of the run");
    }
    if (run->n_members + 1 >= PHL_RUN_MOST_MODELS) {
        return phl_raise(error, PHL_ERR_LIMIT, NULL, "more than %d models in a run",
                         PHL_RUN_MOST_MODELS);
    }
    phl_status status = phl_grow(&run->members, &run->member_capacity, run->n_members + 1,
                                 sizeof *run->members, error);
    if (status == PHL_OK) {
        run->members[run->n_members++] = member;
    }
    return status;
}

size_t phl_run_members(const phl_run *run)
{
    return run->n_members;
}

const phl_run *phl_run_member(const phl_run *run, size_t index)
{
    return index < run->n_members ? run->members[index] : NULL;
}

phl_status phl_run_add_trace(phl_run *run, const phl_trace_row *row, phl_error *error)
{
    phl_status status =
        phl_grow(&run->trace, &run->trace_capacity, run->n_trace + 1, sizeof *run->trace, error);
    if (status == PHL_OK) {
        run->trace[run->n_trace++] = *row;
    }
    return status;
}

/* *text becomes a copy of what it points to; NULL stays NULL. */
static phl_status own_text(const char **text, phl_error *error)
{
    if (*text == NULL) {
        return PHL_OK;
    }
    *text = phl_copy_text(*text, strlen(*text), error);
    return *text == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

static phl_status own_sizes(const uint32_t **sizes, size_t n, phl_error *error)
{
    uint32_t *copy = *sizes == NULL ? NULL : phl_alloc(n, sizeof *copy, error);
    if (*sizes != NULL && copy == NULL) {
        *sizes = NULL;
        return PHL_ERR_MEMORY;
    }
    if (copy != NULL) {
        memcpy(copy, *sizes, n * sizeof *copy);
    }
    *sizes = copy;
    return PHL_OK;
}

phl_status phl_run_set_options(phl_run *run, const phl_train_options *options,
                               const size_t *earlier, size_t n_earlier, phl_error *error)
{
    phl_train_options *made = phl_alloc(1, sizeof *made, error);
    size_t *before = made == NULL ? NULL : phl_alloc(n_earlier, sizeof *before, error);
    if (before == NULL) {
        phl_free(made);
        return PHL_ERR_MEMORY;
    }
    *made = *options;
    phl_status texts = own_text(&made->partition, error);
    phl_status command = own_text(&made->command_line, error);
    phl_status members = own_text(&made->members, error);
    phl_status sizes = own_sizes(&made->sizes, made->n_sizes, error);
    if (texts != PHL_OK || command != PHL_OK || members != PHL_OK || sizes != PHL_OK) {
        free_options(made);
        phl_free(before);
        return PHL_ERR_MEMORY;
    }
    if (n_earlier > 0) {
        memcpy(before, earlier, n_earlier * sizeof *before);
    }
    free_options(run->options);
    phl_free(run->earlier);
    run->options = made;
    run->earlier = before;
    run->n_earlier = n_earlier;
    return PHL_OK;
}

const phl_train_options *phl_run_options(const phl_run *run)
{
    return run->options;
}

static phl_meta *find_meta(const phl_run *run, const char *key)
{
    for (size_t i = 0; i < run->n_meta; i++) {
        if (strcmp(run->meta[i].key, key) == 0) {
            return &run->meta[i];
        }
    }
    return NULL;
}

phl_status phl_run_set_meta(phl_run *run, const char *key, const char *value, phl_error *error)
{
    char *value_copy = phl_copy_text(value, strlen(value), error);
    if (value_copy == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_meta *known = find_meta(run, key);
    if (known != NULL) {
        phl_free(known->value);
        known->value = value_copy;
        return PHL_OK;
    }
    char *key_copy = phl_copy_text(key, strlen(key), error);
    phl_status status = key_copy == NULL ? PHL_ERR_MEMORY
                                         : phl_grow(&run->meta, &run->meta_capacity,
                                                    run->n_meta + 1, sizeof *run->meta, error);
    if (status != PHL_OK) {
        phl_free(key_copy);
        phl_free(value_copy);
        return status;
    }
    phl_meta *added = &run->meta[run->n_meta++];
    added->key = key_copy;
    added->value = value_copy;
    return PHL_OK;
}

phl_status phl_run_set_facts(phl_run *run, const char *const (*facts)[2], size_t n,
                             phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        if (facts[i][1] != NULL) {
            status = phl_run_set_meta(run, facts[i][0], facts[i][1], error);
        }
    }
    return status;
}

const char *phl_run_meta(const phl_run *run, const char *key)
{
    const phl_meta *found = find_meta(run, key);
    return found != NULL ? found->value : NULL;
}

phl_kind phl_run_kind(const phl_run *run)
{
    return run->kind;
}

uint32_t phl_run_states(const phl_run *run)
{
    return run->states;
}

uint32_t phl_run_slots(const phl_run *run)
{
    return run->slots;
}

size_t phl_run_labels(const phl_run *run)
{
    return run->labels.count;
}

const char *phl_run_label_name(const phl_run *run, int32_t label)
{
    bool known = label >= 0 && (size_t)label < run->labels.count;
    return known ? phl_alphabet_name(&run->labels, (size_t)label) : NULL;
}

bool phl_run_per_class(const phl_run *run)
{
    return run->per_class;
}

size_t phl_run_classes(const phl_run *run)
{
    return run->n_models;
}

const char *phl_run_class_name(const phl_run *run, size_t index)
{
    return run->per_class && index < run->n_models ? phl_alphabet_name(&run->classes, index) : NULL;
}

const phl_model *phl_run_model(const phl_run *run, size_t index)
{
    return index < run->n_models ? &run->models[index] : NULL;
}

const phl_head *phl_run_head(const phl_run *run)
{
    return run->head;
}

size_t phl_run_find_class(const phl_run *run, const char *name)
{
    int32_t found = phl_alphabet_find(&run->classes, name, strlen(name));
    return found < 0 ? SIZE_MAX : (size_t)found;
}
