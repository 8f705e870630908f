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

struct filling {
    phl_head_rows *rows;
    const phl_dictionary *dictionary;
    phl_packed_rows *chunks; /* rows of a chunk, one after the other */
    struct room {
        double *values;
        size_t capacity;
    } * rooms; /* [workers] */
};

void phl_head_rows_clear(phl_head_rows *rows)
{
    phl_packed_rows_clear(&rows->packed);
    phl_free(rows->groups);
    phl_free(rows->first_target);
    phl_free(rows->target);
    memset(rows, 0, sizeof *rows);
}

static phl_status take_row(size_t item, const phl_feature_row *row, size_t number, int worker,
                           void *context, phl_error *error)
{
    struct filling *work = context;
    struct room *room = &work->rooms[worker];
    size_t at = 0;
    phl_status status =
        phl_grow(&room->values, &room->capacity, row->n, sizeof *room->values, error);
    if (status != PHL_OK) {
        return status;
    }
    work->rows->groups[item] = 0;
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        size_t end = phl_dictionary_first(work->dictionary, g + 1);
        if (row->total[g] > 0) {
            work->rows->groups[item] = (uint8_t)(work->rows->groups[item] | 1u << g);
        }
        for (; at < row->n && row->feature[at] < end; at++) {
            room->values[at] = sqrt((double)row->count[at] / (double)row->total[g]);
        }
    }
    return phl_packed_rows_append(&work->chunks[number], row->n, row->feature, room->values, error);
}

/* Chunk after chunk into one array. */
static phl_status join(const struct filling *work, size_t chunks, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t c = 0; status == PHL_OK && c < chunks; c++) {
        status = phl_packed_rows_join(&work->rows->packed, &work->chunks[c], error);
        phl_packed_rows_clear(&work->chunks[c]);
    }
    return status;
}

static phl_status fill_rows(phl_head_rows *rows, const phl_features *features,
                            const phl_forest *forest, const size_t *trees, int threads,
                            phl_cancel_fn cancel, void *context, phl_error *error)
{
    struct filling work = {.rows = rows, .dictionary = &features->dictionary};
    size_t chunks = phl_chunk_count(rows->n, PHL_FEATURE_CHUNK);
    size_t workers = (size_t)phl_parallel_threads(threads);
    phl_feature_index index = {0};
    work.chunks = phl_alloc_zero(chunks, sizeof *work.chunks, error);
    work.rooms = phl_alloc_zero(workers, sizeof *work.rooms, error);
    phl_status status = work.chunks == NULL || work.rooms == NULL
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
        phl_packed_rows_clear(&work.chunks[c]);
    }
    for (size_t i = 0; work.rooms != NULL && i < workers; i++) {
        phl_free(work.rooms[i].values);
    }
    phl_free(work.chunks);
    phl_free(work.rooms);
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
    rows->groups = phl_alloc(rows->n, sizeof *rows->groups, error);
    rows->first_target = phl_alloc(rows->n + 1, sizeof *rows->first_target, error);
    if (rows->groups == NULL || rows->first_target == NULL) {
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
    phl_packed_rows_clear(&part->packed);
    phl_free(part->number);
    phl_free(part->row);
    phl_free(part->first_target);
    phl_free(part->target);
    phl_free(part->scale);
    phl_free(part->weight);
    memset(part, 0, sizeof *part);
}

/* Does a row have a tree outside the fold? */
static bool is_outside(const phl_head_rows *rows, size_t row, uint32_t fold)
{
    uint64_t first = rows->first_target[row], end = rows->first_target[row + 1];
    return end > first && (rows->target[first].fold != fold || rows->target[end - 1].fold != fold);
}

/* What a part is made with, beside the rows. */
struct making {
    const phl_head_rows *rows;
    uint32_t *feature; /* [widest] of one row */
    double *value;
};

/* The features that are used, numbered in order; returns how many. */
static size_t number_features(const struct making *work, phl_head_part *part, const uint8_t *group,
                              size_t n_features, unsigned groups, size_t least_rows)
{
    size_t n = 0;
    memset(part->number, 0, n_features * sizeof *part->number);
    for (size_t i = 0; i < part->problem.n; i++) {
        size_t length =
            phl_packed_rows_get(&work->rows->packed, part->row[i], 1.0, work->feature, work->value);
        for (size_t j = 0; j < length; j++) {
            part->number[work->feature[j]]++;
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
    size_t targets = 0, n = part->problem.n;
    for (size_t i = 0; i < n; i++) {
        size_t row = part->row[i];
        targets += (size_t)(rows->first_target[row + 1] - rows->first_target[row]);
    }
    part->first_target = phl_alloc(n + 1, sizeof *part->first_target, error);
    part->scale = phl_alloc(n, sizeof *part->scale, error);
    part->target = phl_alloc(targets, sizeof *part->target, error);
    part->weight = phl_alloc(targets, sizeof *part->weight, error);
    return part->first_target == NULL || part->scale == NULL || part->target == NULL ||
                   part->weight == NULL
               ? PHL_ERR_MEMORY
               : PHL_OK;
}

/* The features of a row that are used, under their new numbers. */
static phl_status pack_row(const struct making *work, phl_head_part *part, size_t row,
                           phl_error *error)
{
    size_t n = 0;
    size_t length = phl_packed_rows_get(&work->rows->packed, row, 1.0, work->feature, work->value);
    for (size_t j = 0; j < length; j++) {
        uint32_t number = part->number[work->feature[j]];
        if (number != PHL_NO_FEATURE) {
            work->feature[n] = number;
            work->value[n++] = work->value[j];
        }
    }
    return phl_packed_rows_append(&part->packed, n, work->feature, work->value, error);
}

static phl_status fill_part(const struct making *work, phl_head_part *part, bool borrowed,
                            uint32_t without_fold, unsigned groups, phl_error *error)
{
    const phl_head_rows *rows = work->rows;
    size_t target = 0;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < part->problem.n; i++) {
        size_t row = part->row[i];
        part->scale[i] = phl_head_rows_scale(rows, row, groups);
        part->first_target[i] = target;
        status = borrowed ? PHL_OK : pack_row(work, part, row, error);
        for (uint64_t j = rows->first_target[row]; j < rows->first_target[row + 1]; j++) {
            if (rows->target[j].fold != without_fold) {
                part->target[target] = rows->target[j].class_number;
                part->weight[target++] = rows->target[j].weight * ((double)rows->n / rows->weight);
            }
        }
    }
    part->first_target[part->problem.n] = target;
    return status;
}

/* Everything but the rows, which are listed already. */
static phl_status make_part(const struct making *work, phl_head_part *part, const uint8_t *group,
                            size_t n_features, size_t n_classes, uint32_t without_fold,
                            unsigned groups, size_t least_rows, phl_error *error)
{
    const phl_head_rows *rows = work->rows;
    part->number = phl_alloc(n_features, sizeof *part->number, error);
    if (part->number == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t n = number_features(work, part, group, n_features, groups, least_rows);
    bool borrowed = n == n_features && part->problem.n == rows->n;
    phl_status status = allocate(part, rows, error);
    if (status == PHL_OK) {
        status = fill_part(work, part, borrowed, without_fold, groups, error);
    }
    part->problem = (phl_logistic_problem){.n = part->problem.n,
                                           .n_features = n,
                                           .n_classes = n_classes,
                                           .rows = borrowed ? &rows->packed : &part->packed,
                                           .scale = part->scale,
                                           .first_target = part->first_target,
                                           .target = part->target,
                                           .weight = part->weight};
    return status;
}

phl_status phl_head_rows_part_init(phl_head_part *part, const phl_head_rows *rows,
                                   const uint8_t *group, size_t n_features, size_t n_classes,
                                   uint32_t without_fold, unsigned groups, size_t least_rows,
                                   phl_error *error)
{
    struct making work = {.rows = rows};
    memset(part, 0, sizeof *part);
    part->row = phl_alloc(rows->n, sizeof *part->row, error);
    work.feature = phl_alloc(rows->packed.widest, sizeof *work.feature, error);
    work.value = phl_alloc(rows->packed.widest, sizeof *work.value, error);
    phl_status status =
        part->row == NULL || work.feature == NULL || work.value == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < rows->n; i++) {
        if (is_outside(rows, i, without_fold)) {
            part->row[part->problem.n++] = i;
        }
    }
    if (status == PHL_OK) {
        status = make_part(&work, part, group, n_features, n_classes, without_fold, groups,
                           least_rows, error);
    }
    phl_free(work.feature);
    phl_free(work.value);
    return status;
}
