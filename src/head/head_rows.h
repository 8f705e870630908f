/* head_rows.h - the distinct trees of a forest as rows of a sparse matrix, and what they are to be
 * told as.
 */
#ifndef PHL_HEAD_HEAD_ROWS_H
#define PHL_HEAD_HEAD_ROWS_H

#include "head/features.h"
#include "head/logistic.h"

typedef struct phl_head_rows {
    size_t n;
    phl_packed_rows packed; /* values: root of the share of a group */
    uint8_t *groups;        /* [n] bits of the groups it has features of, known or not */
    uint64_t *first_target; /* [n + 1] */
    struct phl_head_target {
        uint32_t fold, class_number;
        double weight;
    } * target;    /* by fold, then class, within a row */
    double weight; /* of all trees */
} phl_head_rows;

/* class_number [classes of the forest] is what is to be told; fold [trees] may be NULL: all in fold
 * 0.  Every tree has a class.  Clear in any case. */
phl_status phl_head_rows_init(phl_head_rows *rows, const phl_features *features,
                              const phl_forest *forest, const phl_distinct_trees *distinct,
                              const uint32_t *class_number, const uint32_t *fold, int threads,
                              phl_cancel_fn cancel, void *context, phl_error *error);
void phl_head_rows_clear(phl_head_rows *rows);

#define PHL_HEAD_NO_FOLD UINT32_MAX

/* A part of the rows as a problem of its own, to be solved with C = 1 for weights as they are. */
typedef struct phl_head_part {
    phl_logistic_problem problem;
    uint32_t *number;       /* [features of the rows] in the problem; PHL_NO_FEATURE: left out */
    size_t *row;            /* [problem.n] */
    phl_packed_rows packed; /* empty where the problem borrows those of all rows */
    uint64_t *first_target;
    uint32_t *target;
    double *scale, *weight;
} phl_head_part;

/* The trees outside a fold, and the features of some groups that are in so many rows at least.
 * `group` [features] is the group of each.  Where that is every row and feature, the problem
 * borrows them from the rows.  Clear in any case. */
phl_status phl_head_rows_part_init(phl_head_part *part, const phl_head_rows *rows,
                                   const uint8_t *group, size_t n_features, size_t n_classes,
                                   uint32_t without_fold, unsigned groups, size_t least_rows,
                                   phl_error *error);
void phl_head_rows_part_clear(phl_head_part *part);

/* What a value of a row is multiplied by when these groups are used. */
double phl_head_rows_scale(const phl_head_rows *rows, size_t row, unsigned groups);

#endif
