/* train_tasks.c - how many tasks a training has, which is how many pieces it can be cut into. */
#include "base/memory.h"
#include "train/pieces.h"
#include "train/train_options.h"

phl_status phl_train_tasks(const phl_forest *forest, const phl_train_options *options, size_t *n,
                           phl_error *error)
{
    phl_train_options own;
    phl_status status = phl_train_options_take(options, &own, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_train_options_resolve(&own);
    status = phl_train_options_check(&own, error);
    if (status != PHL_OK) {
        return status;
    }
    bool *present = phl_alloc_zero(forest->classes.count, sizeof *present, error);
    if (present == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t classes = 0;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        int32_t number = forest->tree_class[tree];
        if (number >= 0 && !present[number]) {
            present[number] = true;
            classes++;
        }
    }
    phl_free(present);
    bool together = own.kind == PHL_GRAMMAR || !own.per_class;
    *n = phl_times(together ? 1 : classes, phl_pieces_chains(&own));
    return PHL_OK;
}
