/* progress.h - how far a long call is: a live line or table on a terminal, plain lines every few
 * seconds elsewhere, JSON for programs, nothing with --quiet.
 */
#ifndef PHLOEM_CLI_PROGRESS_H
#define PHLOEM_CLI_PROGRESS_H

#include "args/options.h"

#define OPTION_PROGRESS_ROW                                                                        \
    {                                                                                              \
        .name = "progress", .type = OPTION_CHOICE, .argument = "HOW", .choices = "text|json",      \
        .fallback = "text",                                                                        \
        .help = "text: a table on a terminal, else a line every few seconds, with R-hat of the "   \
                "chains so far; json: one object per line on standard error, for programs"         \
    }

/* Where a class and chain (or restart) stands. */
typedef struct progress_fit {
    char name[64]; /* of its class, "" without */
    size_t width;  /* of the name, in columns */
    size_t restart;
    size_t iteration, iterations; /* 0: not begun */
    double log_likelihood;
    unsigned active;
    double rhat; /* of its class, NaN: unknown */
} progress_fit;

typedef struct progress_line {
    bool quiet, live;
    bool json;          /* an object a line instead */
    progress_fit *fits; /* [n_fits] for the table; NULL before the first word */
    size_t n_lines;     /* of the table on the terminal */
    bool chains;        /* what is told as restarts are chains of a sampler */
    const char *about;  /* said before how a training goes; NULL: nothing */
    bool shown;         /* a live line is on the terminal */
    double last;        /* seconds, when a line was printed */
    size_t n_fits;      /* classes times restarts, which may be trained side by side */
    size_t *done;       /* [n_fits] iterations */
    double all_done;
} progress_line;

void progress_begin(progress_line *line, bool quiet);
/* A phl_progress_fn and a phl_report_fn; the context begins with a progress_line. */
void progress_training(const phl_progress *progress, void *context);
void progress_report(const phl_error *error, void *context);
/* A phl_evaluate_progress_fn. */
void progress_evaluate(const phl_evaluate_progress *progress, void *context);
/* A table of all fits in place of the one before, as large as the terminal allows
 * (progress_table.c). */
void progress_table_note(progress_line *line, const phl_progress *progress);
void progress_table_show(progress_line *line, const char *left);
void progress_table_clear(progress_line *line);
/* One object on standard error. */
void progress_json(const phl_progress *progress);
/* Take the live line away, and free. */
void progress_end(progress_line *line);

#endif
