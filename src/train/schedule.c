/* schedule.c - what a chain does in which iteration; see schedule.h. */
#include "train/schedule.h"

#include <math.h>

/* Draws of soft clustering come from a second stage.  It begins after the iterations first asked
 * for, is as long as what follows the warm-up of the first stage, and has a warm-up of half of
 * that; extensions of the run make the second stage longer. */
phl_schedule phl_schedule_make(const phl_train_options *options, const size_t *earlier,
                               size_t n_earlier)
{
    phl_schedule made = {
        .anneal_start = options->anneal_start,
        .anneal_end = options->anneal_end,
        .soften = UINT64_MAX,
        .warm = options->warmup,
        .total = options->iterations,
        .keep = options->keep,
        .earlier = earlier,
        .n_earlier = n_earlier,
    };
    if (options->soft) {
        made.soften = n_earlier > 0 ? earlier[0] : options->iterations;
        made.shift = made.soften - options->warmup;
        made.warm = made.soften + made.shift / 2;
        made.total += made.shift;
    }
    return made;
}

double phl_schedule_temperature(const phl_schedule *schedule, uint64_t done)
{
    if (schedule->anneal_end == 0 || done >= schedule->anneal_end) {
        return 1.0;
    }
    return pow(schedule->anneal_start, 1.0 - (double)done / (double)schedule->anneal_end);
}

bool phl_schedule_keeps(const phl_schedule *schedule, uint64_t done)
{
    uint64_t begin = schedule->warm;
    for (size_t i = 0; i <= schedule->n_earlier; i++) {
        uint64_t end =
            i < schedule->n_earlier ? schedule->earlier[i] + schedule->shift : schedule->total;
        if (done > begin && done <= end) {
            uint64_t at = done - begin, span = end - begin;
            uint64_t keep = schedule->keep < span ? schedule->keep : span;
            return at * keep / span != (at - 1) * keep / span;
        }
        begin = end;
    }
    return false;
}
