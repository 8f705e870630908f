/* stop_reason.c - why a training stopped, and the words for it in files and messages. */
#include <string.h>

#include "model/run.h"

static const struct {
    phl_stop_reason reason;
    const char *name;
} reasons[] = {
    {PHL_STOP_TOLERANCE, "tolerance"},
    {PHL_STOP_ITERATIONS, "iterations"},
    {PHL_STOP_INTERRUPTED, "interrupted"},
    {PHL_STOP_ELSEWHERE, "elsewhere"},
};

const char *phl_stop_reason_name(phl_stop_reason reason)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].reason == reason) {
            return reasons[i].name;
        }
    }
    return NULL;
}

phl_stop_reason phl_stop_reason_find(const char *name)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (strcmp(reasons[i].name, name) == 0) {
            return reasons[i].reason;
        }
    }
    return 0;
}
