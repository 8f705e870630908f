/* progress.h - how far a long call is: a live line on a terminal, plain lines every few seconds
 * elsewhere, nothing with --quiet.
 */
#ifndef PHLOEM_CLI_PROGRESS_H
#define PHLOEM_CLI_PROGRESS_H

#include "options.h"

typedef struct progress_line {
    bool quiet, live;
    bool chains;   /* what is told as restarts are chains of a sampler */
    const char *about; /* said before how a training goes; NULL: nothing */
    bool shown;    /* a live line is on the terminal */
    double last;   /* seconds, when a line was printed */
    size_t n_fits; /* classes times restarts, which may be trained side by side */
    size_t *done;  /* [n_fits] iterations */
    double all_done;
} progress_line;

void progress_begin(progress_line *line, bool quiet);
/* A phl_progress_fn and a phl_report_fn; the context begins with a progress_line. */
void progress_training(const phl_progress *progress, void *context);
void progress_report(const phl_error *error, void *context);
/* A phl_evaluate_progress_fn. */
void progress_evaluate(const phl_evaluate_progress *progress, void *context);
/* Take the live line away, and free. */
void progress_end(progress_line *line);

#endif
