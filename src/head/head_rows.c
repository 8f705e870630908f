/* head_rows.c - distinct trees as rows of a sparse matrix; see head_rows.h.
 *
 * Contents: rows, targets, parts.
 */
#include "head/head_rows.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"

/* ---------------------------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------------------------- */

/* Rows of a chunk, one after the other. */
struct chunk {
    size_t n, feature_capacity, value_capacity;
    uint32_t *feature;
    double *value;
};

struct filling {
    phl_head_rows *rows;
    const phl_dictionary *dictionary;
    struct chunk *chunks;
};

void phl_head_rows_clear(phl_head_rows *rows)
{
    phl_free(rows->first);
    phl_free(rows->feature);
    phl_free(rows->value);
    phl_free(rows->groups);
    phl_free(rows->first_target);
    phl_free(rows->target);
    memset(rows, 0, sizeof *rows);
}

static phl_status take_row(size_t item, const phl_feature_row *row, size_t number, int worker,
                           void *context, phl_error *error)
{
    (void)worker;
    struct filling *work = context;
    struct chunk *chunk = &work->chunks[number];
    size_t n = chunk->n + row->n, at = 0;
    phl_status status =
        phl_grow(&chunk->feature, &chunk->feature_capacity, n, sizeof *chunk->feature, error);
    if (status == PHL_OK) {
        status = phl_grow(&chunk->value, &chunk->value_capacity, n, sizeof *chunk->value, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    work->rows->groups[item] = 0;
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        size_t end = phl_dictionary_first(work->dictionary, g + 1);
        if (row->total[g] > 0) {
            work->rows->groups[item] = (uint8_t)(work->rows->groups[item] | 1u << g);
        }
        for (; at < row->n && row->feature[at] < end; at++, chunk->n++) {
            chunk->feature[chunk->n] = row->feature[at];
            chunk->value[chunk->n] = sqrt((double)row->count[at] / (double)row->total[g]);
        }
    }
    work->rows->first[item + 1] = row->n;
    return PHL_OK;
}

/* Chunk after chunk into one array. */
static phl_status join(struct filling *work, size_t chunks, phl_error *error)
{
    phl_head_rows *rows = work->rows;
    size_t at = 0;
    rows->first[0] = 0;
    for (size_t i = 0; i < rows->n; i++) {
        rows->first[i + 1] += rows->first[i];
    }
    rows->feature = phl_alloc((size_t)rows->first[rows->n], sizeof *rows->feature, error);
    rows->value = phl_alloc((size_t)rows->first[rows->n], sizeof *rows->value, error);
    if (rows->feature == NULL || rows->value == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t c = 0; c < chunks; c++) {
        struct chunk *chunk = &work->chunks[c];
        if (chunk->n > 0) {
            memcpy(rows->feature + at, chunk->feature, chunk->n * sizeof *rows->feature);
            memcpy(rows->value + at, chunk->value, chunk->n * sizeof *rows->value);
        }
        at += chunk->n;
        phl_free(chunk->feature);
        phl_free(chunk->value);
        *chunk = (struct chunk){0};
    }
    return PHL_OK;
}

static phl_status fill_rows(phl_head_rows *rows, const phl_features *features,
                            const phl_forest *forest, const size_t *trees, int threads,
                            phl_cancel_fn cancel, void *context, phl_error *error)
{
    struct filling work = {.rows = rows, .dictionary = &features->dictionary};
    size_t chunks = phl_chunk_count(rows->n, PHL_FEATURE_CHUNK);
    phl_feature_index index = {0};
    work.chunks = phl_alloc_zero(chunks, sizeof *work.chunks, error);
    phl_status status = work.chunks == NULL
                            ? PHL_ERR_MEMORY
                            : phl_feature_index_init(&index, forest, &features->dictionary,
                                                     features->groups, error);
    if (status == PHL_OK) {
        status = phl_feature_index_count(&index, trees, rows->n, threads, take_row, &work, cancel,
                                         context, error);
    }
    phl_feature_index_clear(&index);
    if (status == PHL_OK) {
        status = join(&work, chunks, error);
    }
    for (size_t c = 0; work.chunks != NULL && c < chunks; c++) {
        phl_free(work.chunks[c].feature);
        phl_free(work.chunks[c].value);
    }
    phl_free(work.chunks);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Targets
 * ------------------------------------------------------------------------------------------- */

/* Put in order and join those of one fold and class; returns how many are left.  Rows are short, or
 * their trees come in the order of folds and classes. */
static size_t tidy(struct phl_head_target *target, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct phl_head_target moved = target[i];
        size_t to = kept;
        while (to > 0 && (target[to - 1].fold > moved.fold ||
                          (target[to - 1].fold == moved.fold &&
                           target[to - 1].class_number > moved.class_number))) {
            to--;
        }
        if (to > 0 && target[to - 1].fold == moved.fold &&
            target[to - 1].class_number == moved.class_number) {
            target[to - 1].weight += moved.weight;
            continue;
        }
        memmove(target + to + 1, target + to, (kept - to) * sizeof *target);
        target[to] = moved;
        kept++;
    }
    return kept;
}

static phl_status fill_targets(phl_head_rows *rows, const phl_forest *forest,
                               const size_t *row_of_tree, const uint32_t *class_number,
                               const uint32_t *fold, phl_error *error)
{
    size_t kept = 0;
    uint64_t begin = 0;
    rows->target = phl_alloc(forest->n_trees, sizeof *rows->target, error);
    uint64_t *next = phl_alloc_zero(rows->n + 1, sizeof *next, error);
    if (rows->target == NULL || next == NULL) {
        phl_free(next);
        return PHL_ERR_MEMORY;
    }
    for (size_t t = 0; t < forest->n_trees; t++) {
        next[row_of_tree[t] + 1]++;
    }
    for (size_t i = 0; i < rows->n; i++) {
        next[i + 1] += next[i];
    }
    for (size_t t = 0; t < forest->n_trees; t++) {
        double weight = phl_tree_weight(forest, t);
        rows->target[next[row_of_tree[t]]++] = (struct phl_head_target){
            fold != NULL ? fold[t] : 0, class_number[forest->tree_class[t]], weight};
        rows->weight += weight;
    }
    for (size_t i = 0; i < rows->n; i++) { /* next[i] is now the end of row i */
        size_t n = (size_t)(next[i] - begin);
        memmove(rows->target + kept, rows->target + begin, n * sizeof *rows->target);
        begin = next[i];
        rows->first_target[i] = kept;
        kept += tidy(rows->target + kept, n);
    }
    rows->first_target[rows->n] = kept;
    phl_free(next);
    return PHL_OK;
}

phl_status phl_head_rows_init(phl_head_rows *rows, const phl_features *features,
                              const phl_forest *forest, const phl_distinct_trees *distinct,
                              const uint32_t *class_number, const uint32_t *fold, int threads,
                              phl_cancel_fn cancel, void *context, phl_error *error)
{
    memset(rows, 0, sizeof *rows);
    rows->n = distinct->n;
    rows->first = phl_alloc(rows->n + 1, sizeof *rows->first, error);
    rows->groups = phl_alloc(rows->n, sizeof *rows->groups, error);
    rows->first_target = phl_alloc(rows->n + 1, sizeof *rows->first_target, error);
    if (rows->first == NULL || rows->groups == NULL || rows->first_target == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status =
        fill_rows(rows, features, forest, distinct->tree, threads, cancel, context, error);
    return status == PHL_OK
               ? fill_targets(rows, forest, distinct->of_tree, class_number, fold, error)
               : status;
}

double phl_head_rows_scale(const phl_head_rows *rows, size_t row, unsigned groups)
{
    unsigned has = rows->groups[row] & groups;
    double parts = 0.0;
    for (; has != 0; has >>= 1) {
        parts += has & 1;
    }
    return parts > 0.0 ? 1.0 / sqrt(parts) : 0.0;
}

/* ---------------------------------------------------------------------------------------------
 * Parts
 * ------------------------------------------------------------------------------------------- */

void phl_head_rows_part_clear(phl_head_part *part)
{
    phl_free(part->number);
    phl_free(part->row);
    phl_free(part->first);
    phl_free(part->first_target);
    phl_free(part->feature);
    phl_free(part->target);
    phl_free(part->value);
    phl_free(part->weight);
    memset(part, 0, sizeof *part);
}

/* Does a row have a tree outside the fold? */
static bool is_outside(const phl_head_rows *rows, size_t row, uint32_t fold)
{
    uint64_t first = rows->first_target[row], end = rows->first_target[row + 1];
    return end > first && (rows->target[first].fold != fold || rows->target[end - 1].fold != fold);
}

/* The features that are used, numbered in order; returns how many. */
static size_t number_features(phl_head_part *part, const phl_head_rows *rows, const uint8_t *group,
                              size_t n_features, unsigned groups, size_t least_rows)
{
    size_t n = 0;
    memset(part->number, 0, n_features * sizeof *part->number);
    for (size_t i = 0; i < part->problem.n; i++) {
        for (uint64_t j = rows->first[part->row[i]]; j < rows->first[part->row[i] + 1]; j++) {
            part->number[rows->feature[j]]++;
        }
    }
    for (size_t f = 0; f < n_features; f++) {
        bool used = (groups >> group[f] & 1) != 0 && part->number[f] >= least_rows;
        part->number[f] = used ? (uint32_t)n++ : PHL_NO_FEATURE;
    }
    return n;
}

static phl_status allocate(phl_head_part *part, const phl_head_rows *rows, phl_error *error)
{
    size_t features = 0, targets = 0, n = part->problem.n;
    for (size_t i = 0; i < n; i++) {
        size_t row = part->row[i];
        features += (size_t)(rows->first[row + 1] - rows->first[row]);
        targets += (size_t)(rows->first_target[row + 1] - rows->first_target[row]);
    }
    part->first = phl_alloc(n + 1, sizeof *part->first, error);
    part->first_target = phl_alloc(n + 1, sizeof *part->first_target, error);
    if (part->feature == NULL) {
        part->feature = phl_alloc(features, sizeof *part->feature, error);
        part->value = phl_alloc(features, sizeof *part->value, error);
    }
    part->target = phl_alloc(targets, sizeof *part->target, error);
    part->weight = phl_alloc(targets, sizeof *part->weight, error);
    return part->first == NULL || part->first_target == NULL || part->feature == NULL ||
                   part->value == NULL || part->target == NULL || part->weight == NULL
               ? PHL_ERR_MEMORY
               : PHL_OK;
}

static void fill_part(phl_head_part *part, const phl_head_rows *rows, uint32_t without_fold,
                      unsigned groups)
{
    size_t feature = 0, target = 0;
    for (size_t i = 0; i < part->problem.n; i++) {
        size_t row = part->row[i];
        double scale = phl_head_rows_scale(rows, row, groups);
        part->first[i] = feature;
        part->first_target[i] = target;
        for (uint64_t j = rows->first[row]; j < rows->first[row + 1]; j++) {
            if (part->number[rows->feature[j]] != PHL_NO_FEATURE) {
                part->feature[feature] = part->number[rows->feature[j]];
                part->value[feature++] = rows->value[j] * scale;
            }
        }
        for (uint64_t j = rows->first_target[row]; j < rows->first_target[row + 1]; j++) {
            if (rows->target[j].fold != without_fold) {
                part->target[target] = rows->target[j].class_number;
                part->weight[target++] = rows->target[j].weight * ((double)rows->n / rows->weight);
            }
        }
    }
    part->first[part->problem.n] = feature;
    part->first_target[part->problem.n] = target;
}

/* Everything but the rows, which are listed already. */
static phl_status make_part(phl_head_part *part, const phl_head_rows *rows, const uint8_t *group,
                            size_t n_features, size_t n_classes, uint32_t without_fold,
                            unsigned groups, size_t least_rows, phl_error *error)
{
    phl_status status = PHL_OK;
    part->number = phl_alloc(n_features, sizeof *part->number, error);
    if (part->number == NULL) {
        return PHL_ERR_MEMORY;
    }
    part->problem.n_classes = n_classes;
    part->problem.n_features = number_features(part, rows, group, n_features, groups, least_rows);
    status = allocate(part, rows, error);
    if (status == PHL_OK) {
        fill_part(part, rows, without_fold, groups);
        part->problem.first = part->first;
        part->problem.feature = part->feature;
        part->problem.value = part->value;
        part->problem.first_target = part->first_target;
        part->problem.target = part->target;
        part->problem.weight = part->weight;
    }
    return status;
}

phl_status phl_head_rows_part_init(phl_head_part *part, const phl_head_rows *rows,
                                   const uint8_t *group, size_t n_features, size_t n_classes,
                                   const size_t *list, size_t n_list, uint32_t without_fold,
                                   unsigned groups, size_t least_rows, phl_error *error)
{
    memset(part, 0, sizeof *part);
    size_t most = list != NULL ? n_list : rows->n;
    part->row = phl_alloc(most, sizeof *part->row, error);
    if (part->row == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < most; i++) {
        size_t row = list != NULL ? list[i] : i;
        if (is_outside(rows, row, without_fold)) {
            part->row[part->problem.n++] = row;
        }
    }
    return make_part(part, rows, group, n_features, n_classes, without_fold, groups, least_rows,
                     error);
}

phl_status phl_head_rows_part_take(phl_head_part *part, phl_head_rows *rows, const uint8_t *group,
                                   size_t n_features, size_t n_classes, unsigned groups,
                                   size_t least_rows, phl_error *error)
{
    memset(part, 0, sizeof *part);
    part->row = phl_alloc(rows->n, sizeof *part->row, error);
    if (part->row == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < rows->n; i++) {
        part->row[part->problem.n++] = i;
    }
    /* Features only ever move towards the front. */
    part->feature = rows->feature;
    part->value = rows->value;
    phl_status status = make_part(part, rows, group, n_features, n_classes, PHL_HEAD_NO_FOLD,
                                  groups, least_rows, error);
    rows->feature = NULL;
    rows->value = NULL;
    return status;
}
