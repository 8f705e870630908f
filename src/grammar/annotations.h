/* annotations.h - splitting and merging the annotations of labels, by their counts. */
#ifndef PHL_GRAMMAR_ANNOTATIONS_H
#define PHL_GRAMMAR_ANNOTATIONS_H

#include "grammar/rule_counts.h"

/* Every annotation of a label becomes two, where they will count `least` each on average and are
 * `most` at most: *sizes and *split (counts of the same rules) are new.  The counts are divided
 * evenly but for random factors of 1 +- `noise`. */
typedef struct phl_split_options {
    double least, noise;
    uint32_t most;
    uint64_t seed, stream, iteration; /* of the random numbers */
} phl_split_options;

/* Annotations that a symbol will have. */
uint32_t phl_annotations_after_split(const phl_rule_counts *counts,
                                     const phl_split_options *options, uint32_t symbol);

phl_status phl_annotations_split(const phl_rule_counts *counts, const phl_split_options *options,
                                 uint32_t **sizes, phl_rule_counts **split, phl_error *error);

/* Neighbouring annotations 2a, 2a + 1, ... of a label that tell too little of children and right
 * siblings become one: where the logarithm of the likelihood of these gains less by telling them
 * apart than the number of cells that takes.  *merged NULL: none. */
phl_status phl_annotations_merge(const phl_rule_counts *counts, uint32_t **sizes,
                                 phl_rule_counts **merged, phl_error *error);

#endif
