/* use_run.h - everything that can be done with a run file, to see that nothing goes wrong. */
#ifndef PHL_TESTS_USE_RUN_H
#define PHL_TESTS_USE_RUN_H

#include "phloem.h"

/* Open the run, show, diagnose, score, decode, label, classify and sample with it, and go on with
 * its training for a moment.  What fails must say why and be no failure of ours; figures must be
 * numbers.  Otherwise the program is aborted, with words on standard error.  Returns the status of
 * opening. */
phl_status use_run(const char *path);

/* Make fingerprint and number of slots fit the trees that the run holds, and the digests fit.
 * False: it holds none that can be read. */
bool use_run_fit(const char *path);

#endif
