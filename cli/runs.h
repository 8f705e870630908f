/* runs.h - what the commands that use a run share: opening it, the options all of them have, and
 * names.
 */
#ifndef PHLOEM_CLI_RUNS_H
#define PHLOEM_CLI_RUNS_H

#include "args/options.h"

#define OPTION_JSON_ROW(what_)                                                                     \
    {                                                                                              \
        .name = "json", .type = OPTION_FLAG, .help = what_                                         \
    }
#define OPTION_DRAW_ROW                                                                            \
    {                                                                                              \
        .name = "draw", .type = OPTION_INTEGER, .argument = "N", .least = 0, .most = SIZE_MAX,     \
        .fallback_note = "the best one", .help = "draw of the model to use, counted from 0"        \
    }
#define OPTION_STRUCTURE_ROW(default_)                                                             \
    {                                                                                              \
        .name = "structure", .type = OPTION_CHOICE, .argument = "WHAT", .choices = "slots|none",   \
        .fallback = default_,                                                                      \
        .help = "slots: the shape of a tree counts too (whether a slot is empty, a "               \
                "leaf or a node with children); none: only the labels given the shape"             \
    }
#define OPTION_CLASS_PRIOR_ROW                                                                     \
    {                                                                                              \
        .name = "class-prior", .type = OPTION_CHOICE, .argument = "WHAT",                          \
        .choices = "uniform|empirical|learned", .fallback_note = "as training chose, or uniform",  \
        .help = "probabilities of the classes before a tree is seen: all equal, as frequent as "   \
                "in training, or what training found best on trees held out"                       \
    }
#define RUN_AND_TREES "RUN IN..."
#define RUN_AND_TREES_HELP                                                                         \
    "a file written by 'phloem train', then trees: files, folders (every file below with a known " \
    "ending), or '-' for standard input"

/* Open the run named by the first operand.  Returns an exit code. */
int run_open(const cli_arguments *parsed, phl_run **run);
/* The same, refusing a run with a class that an interruption left untrained. */
int run_open_trained(const cli_arguments *parsed, phl_run **run);
/* The same; an expert alone will do. */
int run_open_labeller(const cli_arguments *parsed, phl_run **run);
/* The runs of --with, [n], each with labels to predict; to be closed in any case. */
typedef struct run_company {
    phl_run **runs;
    size_t n;
} run_company;
#define OPTION_WITH_ROW(what_)                                                                     \
    {                                                                                              \
        .name = "with", .type = OPTION_LIST, .argument = "RUN,...", .help = what_                  \
    }
int run_open_company(const cli_arguments *parsed, run_company *company);
void run_close_company(run_company *company);
/* That refusal alone, and of a run without models.  Returns an exit code. */
int run_check_trained(const cli_arguments *parsed, const phl_run *run);

bool run_structure(const cli_arguments *parsed);
phl_class_prior run_class_prior(const cli_arguments *parsed);
/* Value of --draw, or the draw to use without; false after saying that there is none such. */
bool run_choose_draw(const cli_arguments *parsed, const phl_model *model, size_t *draw, int *code);

/* Why the training of a model ended: "stopped by ...". */
const char *run_stop_in_words(const phl_model *model);

/* Columns for a row_writer: the fixed ones, then "p(NAME)" for each of n names of the run. */
const char **run_columns(const char *const *fixed, size_t n_fixed, const phl_run *run,
                         const char *(*name)(const phl_run *, size_t), size_t n);
void run_columns_free(const char **columns, size_t n_fixed, size_t n);

/* "5: -1.95, 10: -1.83 nats a node of 41 trees held out", where training chose the number of
 * states; false: it did not. */
bool run_states_tried(const phl_run *run, char *buffer, size_t size);

/* "a, b, c" of the run's classes, cut when long. */
char *run_class_names(const phl_run *run, char *buffer, size_t size);
/* Number of the class of that name; SIZE_MAX after saying that it was never trained. */
size_t run_find_class(const cli_arguments *parsed, const phl_run *run, const char *name, int *code);

#endif
