/* fuzz.h - what the fuzz targets share: saying what is wrong and stopping. */
#ifndef PHL_TESTS_FUZZ_H
#define PHL_TESTS_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "phloem.h"

static inline void stop(const char *what, const phl_error *error)
{
    char line[2048] = "";
    if (error != NULL) {
        phl_error_format(error, line, sizeof line);
    }
    fprintf(stderr, "fuzz: %s: %s\n", what, line);
    abort();
}

static inline void must(bool good, const char *what, const phl_error *error)
{
    if (!good) {
        stop(what, error);
    }
}

#endif
