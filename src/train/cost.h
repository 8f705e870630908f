/* cost.h - what a training will cost, reckoned from the size of its data before it begins.
 *
 * Seconds of one core of a fixed machine, by constants that were measured (tests/bench/costs.py).
 * What costs are compared for needs ratios alone: pieces that cost about the same, the cheapest of
 * several models.  The same on every machine, so that pieces agree.
 */
#ifndef PHL_TRAIN_COST_H
#define PHL_TRAIN_COST_H

#include "forest/forest.h"

/* One chain or start on trees of so many distinct subtrees and links, by resolved options. */
double phl_cost_task(const phl_train_options *options, double size, uint32_t slots);

/* Training a head, or a linear classifier alone, on so many trees of so many classes. */
double phl_cost_head(double size, size_t classes);

/* A whole training; of kind PHL_NO_KIND, a linear classifier alone. */
double phl_cost_training(const phl_train_options *options, const phl_forest *forest);

#endif
