/* runs.h - helpers for testing run files: random runs, comparing them.
 *
 * A failed check prints what was found and fails the running cmocka test.
 */
#ifndef PHL_TESTS_RUNS_H
#define PHL_TESTS_RUNS_H

#include "check.h"
#include "folder.h"
#include "forest/forest.h"
#include "forests.h"
#include "must.h"
#include "store/run_file.h"

enum { SEED = 42 };

/* Sizes of a random run. */
struct shape {
    const char *name;
    phl_kind kind;
    bool soft;
    uint32_t states, slots, labels, classes, draws, active; /* classes 0: not per class */
};

/* One of every kind: sp, td, full, tf, soft tf, tf without active slots (hard, soft), the smallest.
 */
enum { A_SP, A_TD, A_FULL, A_TF, A_SOFT, A_FLAT, A_FLAT_SOFT, A_TINY, N_SHAPES };
extern const struct shape shapes[N_SHAPES];

/* Tables peppered with zeros, names that need care, traces with -inf and NaN. */
phl_run *random_run(const struct shape *shape, uint64_t seed, bool with_forest);

/* What differs between two runs, to the bit; NULL if nothing does. */
const char *difference(const phl_run *a, const phl_run *b);
void check_same_forest(const phl_forest *a, const phl_forest *b);

void save(const phl_run *run, const char *path); /* replaces */
phl_run *open_run(const char *path);

#endif
