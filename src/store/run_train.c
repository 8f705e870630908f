/* run_train.c - training into a run file; see run_writer.c. */
#include "base/options.h"
#include "store/checkpoint.h"
#include "train/train_options.h"

static const phl_file_options defaults = {
    .size = sizeof(phl_file_options),
    .checkpoint_seconds = 30.0,
};

void phl_file_options_init_sized(phl_file_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

phl_status phl_train_file(const phl_forest *forest, const phl_train_options *options,
                          const phl_file_options *file, const char *path, phl_run **run,
                          phl_error *error)
{
    phl_train_options training;
    phl_file_options keeping;
    phl_status status = phl_train_options_take(options, &training, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_options_take(&keeping, &defaults, sizeof defaults, file, "phl_file", error);
    if (status != PHL_OK) {
        return status;
    }
    phl_run_writer writer = {.path = path, .forest = keeping.no_embed ? NULL : forest, .lock = -1};
    phl_keeper keeper = {
        .seconds = keeping.checkpoint_seconds, .save = phl_run_writer_save, .context = &writer};
    phl_run *made = NULL;
    /* What makes writing impossible is better known before the first iteration. */
    status = phl_run_place_begin(path, keeping.replace, &writer.lock, error);
    if (status == PHL_OK) {
        status = phl_train_kept(forest, &training, NULL, 0, &keeper, &made, error);
    }
    if (status == PHL_OK) {
        status = phl_run_writer_finish(&writer, made, error);
    }
    phl_run_writer_close(&writer);
    if (status != PHL_OK) {
        phl_run_free(made);
        return status;
    }
    *run = made;
    return PHL_OK;
}
