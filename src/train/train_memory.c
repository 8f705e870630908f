/* train_memory.c - what a training will hold in memory, reckoned before it begins; see training.h.
 *
 * In floating point, so that nothing overflows.  What the sampler adds as it goes, cores of active
 * slots and the counts of hidden states, is not known yet and not reckoned.
 */
#include <math.h>

#include "base/memory.h"
#include "train/training.h"

enum { COPIES = 3 }; /* tables a task works with beside those it keeps */

/* What slots that never occur may take by default, as bytes, and as a multiple of the rest. */
#define GAP_BYTES 0x1p26
#define GAP_RATIO 8.0

/* Draws that one task keeps. */
static double count_kept(const phl_training *training)
{
    const phl_train_options *options = &training->options;
    if (options->learner == PHL_LEARNER_EM) {
        return 1.0;
    }
    double kept = 0.0;
    size_t begin = options->warmup;
    for (size_t i = 0; i <= training->n_earlier; i++) {
        size_t end = i < training->n_earlier ? training->earlier[i] : options->iterations;
        size_t span = end > begin ? end - begin : 1;
        kept += (double)(options->keep < span ? options->keep : span);
        begin = end > begin ? end : begin;
    }
    return kept;
}

/* Slots that occur in the forest, at most `slots`.  Where slots are many and links few, the number
 * of links is near enough. */
static phl_status count_slots(const phl_forest *forest, uint32_t *count, phl_error *error)
{
    size_t slots = forest->max_slot;
    *count = 1; /* of roots */
    if (slots / 8 > forest->n_links + 1024) {
        *count += (uint32_t)forest->n_links;
        return PHL_OK;
    }
    unsigned char *occurs = phl_alloc_zero(slots + 1, 1, error);
    if (occurs == NULL) {
        return PHL_ERR_MEMORY;
    }
    occurs[1] = 1;
    for (size_t k = 0; k < forest->n_links; k++) {
        uint32_t slot = forest->links[k].slot;
        *count += occurs[slot] == 0;
        occurs[slot] = 1;
    }
    phl_free(occurs);
    return PHL_OK;
}

static double bytes_of(const phl_training *training, uint32_t slots)
{
    const phl_train_options *options = &training->options;
    return (double)phl_params_bytes(options->kind, options->states, slots,
                                    (uint32_t)training->forest->labels.count, training->axes,
                                    training->n_axes);
}

/* Slot numbers that have little to do with the data would make tables of any size. */
static phl_status check_gaps(const phl_training *training, double models, double bytes,
                             phl_error *error)
{
    uint32_t slots = training->forest->max_slot, count = 0;
    phl_status status = count_slots(training->forest, &count, error);
    if (status != PHL_OK) {
        return status;
    }
    double rest = models * bytes_of(training, count), gaps = bytes - rest;
    if (gaps <= GAP_BYTES || gaps <= GAP_RATIO * rest) {
        return PHL_OK;
    }
    return phl_raise(
        error, PHL_ERR_LIMIT,
        "number the slots without large gaps, or allow it with " PHL_OPTION("train.memory_limit"),
        "there is a slot %u, but no more than %u different slots: tables for those "
        "that never occur would take %.3g GiB",
        slots, count, gaps / 0x1p30);
}

phl_status phl_train_memory_reckon(const phl_training *training, phl_error *error)
{
    const phl_train_options *options = &training->options;
    size_t classes = training->run->n_models;
    size_t chains = options->learner == PHL_LEARNER_EM ? options->restarts : options->chains;
    double model = bytes_of(training, training->forest->max_slot);
    double tasks = (double)classes * (double)chains, kept = count_kept(training);
    double models = tasks * kept + COPIES;
    double total = models * model + tasks * (double)sizeof(phl_train_task);
    phl_status status = training->limited || options->kind == PHL_FULL
                            ? PHL_OK
                            : check_gaps(training, models, models * model, error);
    if (status == PHL_OK) {
        status = phl_params_limit(options->kind, options->states, training->forest->max_slot,
                                  model < 0x1p64 ? (uint64_t)model : UINT64_MAX,
                                  options->memory_limit, error);
    }
    if (status == PHL_OK && total > (double)options->memory_limit) {
        status =
            phl_raise(error, PHL_ERR_LIMIT,
                      "use fewer states, chains, restarts or kept draws, or raise " PHL_OPTION(
                          "train.memory_limit"),
                      "%zu %s of %zu %s with %.0f %s each need %.3g GiB, the limit is %.3g GiB",
                      classes, classes == 1 ? "class" : "classes", chains,
                      options->learner == PHL_LEARNER_EM ? (chains == 1 ? "restart" : "restarts")
                                                         : (chains == 1 ? "chain" : "chains"),
                      kept, kept == 1.0 ? "draw" : "draws", total / 0x1p30,
                      (double)options->memory_limit / 0x1p30);
    }
    return status;
}
