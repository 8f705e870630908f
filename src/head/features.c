/* features.c - pieces of trees that other programs can learn from (phloem.h).
 *
 * Contents: options, a dictionary from trees, questions, the features of trees.
 */
#include "head/features.h"

#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/parallel.h"
#include "format/source.h"

enum { TEXT_NODES = 1000 }; /* of a feature, written out */

/* ---------------------------------------------------------------------------------------------
 * Options
 * ------------------------------------------------------------------------------------------- */

static const phl_features_options defaults = {
    .size = sizeof(phl_features_options),
    .groups = PHL_FEATURES_ALL,
    .least_trees = 1,
};

void phl_features_options_init_sized(phl_features_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

static const char *const names[PHL_FEATURE_GROUPS] = {"S", "B", "BG", "L", "P1"};

const char *phl_features_group_name(unsigned group)
{
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        if (group == 1u << g) {
            return names[g];
        }
    }
    return NULL;
}

static phl_status take_options(const phl_features_options *given, phl_features_options *taken,
                               phl_error *error)
{
    phl_status status =
        phl_options_take(taken, &defaults, sizeof defaults, given, "phl_features", error);
    if (status == PHL_OK && (taken->groups == 0 || taken->groups > PHL_FEATURES_ALL)) {
        status = phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                           "groups of features %u: expected a sum of %u (S), %u (B), %u (BG), %u "
                           "(L) and %u (P1)",
                           taken->groups, PHL_FEATURE_S, PHL_FEATURE_B, PHL_FEATURE_BG,
                           PHL_FEATURE_L, PHL_FEATURE_P1);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * A dictionary from trees
 * ------------------------------------------------------------------------------------------- */

void phl_features_clear_distinct(phl_distinct_trees *distinct)
{
    phl_free(distinct->tree);
    phl_free(distinct->of_tree);
    *distinct = (phl_distinct_trees){0};
}

/* Equal trees have the same root in the dictionary they were learned into. */
static phl_status find_distinct(const phl_feature_index *index, phl_distinct_trees *distinct,
                                phl_error *error)
{
    const phl_forest *forest = index->forest;
    size_t n_subtrees = phl_dictionary_count(index->dictionary, PHL_GROUP_S);
    size_t *known = phl_alloc(n_subtrees, sizeof *known, error);
    distinct->tree = phl_alloc(forest->n_trees, sizeof *distinct->tree, error);
    distinct->of_tree = phl_alloc(forest->n_trees, sizeof *distinct->of_tree, error);
    phl_status status = known == NULL || distinct->tree == NULL || distinct->of_tree == NULL
                            ? PHL_ERR_MEMORY
                            : PHL_OK;
    for (size_t s = 0; status == PHL_OK && s < n_subtrees; s++) {
        known[s] = SIZE_MAX;
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        size_t *number = &known[index->subtree[forest->tree_root[t]]];
        if (*number == SIZE_MAX) {
            *number = distinct->n;
            distinct->tree[distinct->n++] = t;
        }
        distinct->of_tree[t] = *number;
    }
    phl_free(known);
    return status;
}

phl_status phl_features_distinct(const phl_forest *forest, phl_distinct_trees *distinct,
                                 phl_error *error)
{
    phl_dictionary all = {0};
    phl_feature_index index = {0};
    phl_status status = phl_dictionary_init(&all, &forest->labels, error);
    if (status == PHL_OK) {
        status = phl_feature_index_learn(&index, forest, &all, 0, error);
    }
    if (status == PHL_OK) {
        status = find_distinct(&index, distinct, error);
    }
    phl_feature_index_clear(&index);
    phl_dictionary_clear(&all);
    return status;
}

/* Distinct trees that have a feature, by worker. */
struct spread {
    size_t n_features;
    uint32_t *trees; /* [workers][features] */
};

static phl_status count_spread(size_t item, const phl_feature_row *row, size_t chunk, int worker,
                               void *context, phl_error *error)
{
    (void)item;
    (void)chunk;
    (void)error;
    const struct spread *spread = context;
    uint32_t *trees = spread->trees + (size_t)worker * spread->n_features;
    for (size_t i = 0; i < row->n; i++) {
        trees[row->feature[i]] += trees[row->feature[i]] < UINT32_MAX;
    }
    return PHL_OK;
}

/* Which features are in so many distinct trees at least, and of a group that is wanted. */
static phl_status mark_kept(const phl_feature_index *index, const phl_distinct_trees *distinct,
                            const phl_features_options *options, bool *keep, phl_error *error)
{
    const phl_dictionary *dictionary = index->dictionary;
    size_t workers = (size_t)phl_parallel_threads(options->threads);
    struct spread spread = {.n_features = phl_dictionary_first(dictionary, PHL_FEATURE_GROUPS)};
    phl_status status = PHL_OK;
    if (options->least_trees > 1) {
        spread.trees =
            phl_alloc_zero(phl_times(workers, spread.n_features), sizeof *spread.trees, error);
        status = spread.trees == NULL
                     ? PHL_ERR_MEMORY
                     : phl_feature_index_count(index, distinct->tree, distinct->n, options->threads,
                                               count_spread, &spread, options->cancel,
                                               options->context, error);
    }
    for (int g = 0; status == PHL_OK && g < PHL_FEATURE_GROUPS; g++) {
        size_t first = phl_dictionary_first(dictionary, g);
        for (size_t f = first; f < first + phl_dictionary_count(dictionary, g); f++) {
            size_t trees = 0;
            for (size_t w = 0; spread.trees != NULL && w < workers; w++) {
                trees += spread.trees[w * spread.n_features + f];
            }
            keep[f] = (options->groups >> g & 1) != 0 &&
                      (spread.trees == NULL || trees >= options->least_trees);
        }
    }
    phl_free(spread.trees);
    return status;
}

/* What is kept of everything there is. */
static phl_status freeze(const phl_feature_index *index, const phl_distinct_trees *distinct,
                         const phl_features_options *options, phl_features *features,
                         phl_error *error)
{
    size_t n = phl_dictionary_first(index->dictionary, PHL_FEATURE_GROUPS);
    bool *keep = phl_alloc(n, sizeof *keep, error);
    phl_status status =
        keep == NULL ? PHL_ERR_MEMORY : mark_kept(index, distinct, options, keep, error);
    if (status == PHL_OK) {
        status = phl_dictionary_init(&features->dictionary, &index->dictionary->labels, error);
    }
    if (status == PHL_OK) {
        status = phl_dictionary_select(index->dictionary, keep, &features->dictionary, error);
    }
    phl_free(keep);
    return status;
}

phl_status phl_features_learn(const phl_forest *forest, const phl_features_options *options,
                              phl_distinct_trees *distinct, phl_features **features,
                              phl_error *error)
{
    phl_features_options own;
    phl_dictionary all = {0};
    phl_feature_index index = {0};
    phl_distinct_trees found = {0};
    phl_features *made = NULL;
    phl_status status = take_options(options, &own, error);
    if (status == PHL_OK) {
        made = phl_alloc_zero(1, sizeof *made, error);
        status = made == NULL ? PHL_ERR_MEMORY : phl_dictionary_init(&all, &forest->labels, error);
    }
    if (status == PHL_OK) {
        made->groups = own.groups;
        status = phl_feature_index_learn(&index, forest, &all, own.groups, error);
    }
    if (status == PHL_OK) {
        status = find_distinct(&index, &found, error);
    }
    if (status == PHL_OK) {
        status = freeze(&index, &found, &own, made, error);
    }
    phl_feature_index_clear(&index);
    phl_dictionary_clear(&all);
    if (status != PHL_OK || distinct == NULL) {
        phl_features_clear_distinct(&found);
    }
    if (status != PHL_OK) {
        phl_features_free(made);
        return status;
    }
    if (distinct != NULL) {
        *distinct = found;
    }
    *features = made;
    return PHL_OK;
}

phl_status phl_features_create(const phl_forest *forest, const phl_features_options *options,
                               phl_features **features, phl_error *error)
{
    return phl_features_learn(forest, options, NULL, features, error);
}

void phl_features_free(phl_features *features)
{
    if (features != NULL) {
        phl_dictionary_clear(&features->dictionary);
        phl_free(features);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Questions
 * ------------------------------------------------------------------------------------------- */

size_t phl_features_count(const phl_features *features)
{
    return phl_dictionary_first(&features->dictionary, PHL_FEATURE_GROUPS);
}

unsigned phl_features_group(const phl_features *features, size_t feature)
{
    return feature < phl_features_count(features)
               ? 1u << phl_dictionary_group(&features->dictionary, feature)
               : 0;
}

phl_status phl_features_text(const phl_features *features, size_t feature, char **text,
                             phl_error *error)
{
    phl_text made = {NULL, 0, 0};
    if (feature >= phl_features_count(features)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "feature %zu of %zu (numbered from 0)",
                         feature, phl_features_count(features));
    }
    phl_status status =
        phl_dictionary_text(&features->dictionary, feature, TEXT_NODES, &made, error);
    if (status == PHL_OK) {
        status = phl_text_append(&made, "", 1, error);
    }
    if (status != PHL_OK) {
        phl_text_clear(&made);
        return status;
    }
    *text = made.bytes;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The features of trees
 * ------------------------------------------------------------------------------------------- */

/* Rows of a chunk of trees, one behind the other. */
struct portion {
    size_t n, capacity, count_capacity, value_capacity;
    uint32_t *feature;
    uint64_t *count;
    double *value;
};

struct extracting {
    const phl_features *features;
    struct portion *portions; /* [chunks] */
    phl_tree_features *rows;  /* [trees] without their arrays */
    size_t *first;            /* [trees] in its portion */
};

static phl_status take_row(size_t item, const phl_feature_row *row, size_t chunk, int worker,
                           void *context, phl_error *error)
{
    (void)worker;
    struct extracting *work = context;
    struct portion *portion = &work->portions[chunk];
    size_t n = portion->n + row->n;
    phl_status status =
        phl_grow(&portion->feature, &portion->capacity, n, sizeof *portion->feature, error);
    if (status == PHL_OK) {
        status =
            phl_grow(&portion->count, &portion->count_capacity, n, sizeof *portion->count, error);
    }
    if (status == PHL_OK) {
        status =
            phl_grow(&portion->value, &portion->value_capacity, n, sizeof *portion->value, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    work->first[item] = portion->n;
    work->rows[item] = (phl_tree_features){.n = row->n};
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        work->rows[item].occurrences += row->total[g];
    }
    for (size_t i = 0; i < row->n; i++, portion->n++) {
        int group = phl_dictionary_group(&work->features->dictionary, row->feature[i]);
        portion->feature[portion->n] = row->feature[i];
        portion->count[portion->n] = row->count[i];
        portion->value[portion->n] =
            phl_feature_index_value(row, group, row->count[i], work->features->groups);
    }
    return PHL_OK;
}

/* The trees of a block, given to `each` in their order. */
static phl_status extract_block(const phl_features *features, const phl_features_options *options,
                                const phl_forest *block, size_t first, phl_features_fn each,
                                phl_error *error)
{
    size_t n = block->n_trees, chunks = phl_chunk_count(n, PHL_FEATURE_CHUNK);
    struct extracting work = {.features = features};
    phl_feature_index index = {0};
    phl_walk *walk = NULL;
    size_t *trees = phl_alloc(n, sizeof *trees, error);
    work.portions = phl_alloc_zero(chunks, sizeof *work.portions, error);
    work.rows = phl_alloc(n, sizeof *work.rows, error);
    work.first = phl_alloc(n, sizeof *work.first, error);
    phl_status status =
        trees == NULL || work.portions == NULL || work.rows == NULL || work.first == NULL
            ? PHL_ERR_MEMORY
            : phl_feature_index_init(&index, block, &features->dictionary, features->groups, error);
    if (status == PHL_OK) {
        status = phl_walk_create(block, &walk, error);
    }
    for (size_t t = 0; status == PHL_OK && t < n; t++) {
        trees[t] = t;
    }
    if (status == PHL_OK) {
        status = phl_feature_index_count(&index, trees, n, options->threads, take_row, &work,
                                         options->cancel, options->context, error);
    }
    for (size_t t = 0; status == PHL_OK && t < n; t++) {
        const struct portion *portion = &work.portions[t / PHL_FEATURE_CHUNK];
        phl_tree_features row = work.rows[t];
        phl_tree_at at = {.block = block, .tree = t, .number = first + t, .walk = walk};
        row.feature = portion->feature + work.first[t];
        row.count = portion->count + work.first[t];
        row.value = portion->value + work.first[t];
        status = each(&at, &row, options->context, error);
    }
    for (size_t c = 0; work.portions != NULL && c < chunks; c++) {
        phl_free(work.portions[c].feature);
        phl_free(work.portions[c].count);
        phl_free(work.portions[c].value);
    }
    phl_free(work.portions);
    phl_free(work.rows);
    phl_free(work.first);
    phl_free(trees);
    phl_walk_free(walk);
    phl_feature_index_clear(&index);
    return status;
}

phl_status phl_features_extract(const phl_features *features, phl_source *source,
                                const phl_features_options *options, phl_features_fn each,
                                phl_error *error)
{
    phl_features_options own;
    const phl_forest *block = NULL;
    size_t first = 0;
    phl_status status = take_options(options, &own, error);
    if (status == PHL_OK) {
        phl_source_begin(source);
    }
    while (status == PHL_OK && (status = phl_source_next(source, &block, error)) == PHL_OK &&
           block != NULL) {
        status = own.cancel != NULL && own.cancel(own.context)
                     ? phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request")
                     : extract_block(features, &own, block, first, each, error);
        first += block->n_trees;
    }
    return status;
}
