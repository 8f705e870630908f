/* training.h - the options that say how to train, shared by train and evaluate. */
#ifndef PHLOEM_CLI_TRAINING_H
#define PHLOEM_CLI_TRAINING_H

#include "args/options.h"

extern const option_group training_options; /* --model, --learner ... --seed */
extern const option_group gibbs_options;    /* --warmup, --chains ... (training_gibbs.c) */

#define OPTION_CHECKPOINT_ROW                                                                      \
    {                                                                                              \
        .name = "checkpoint", .type = OPTION_REAL, .argument = "SECONDS", .low = 0, .high = 1e9,   \
        .fallback = "30", .help = "seconds between updates of RUN; 0: after every iteration"       \
    }

#define OPTION_MEMORY_LIMIT_ROW                                                                    \
    {                                                                                              \
        .name = "memory-limit", .type = OPTION_SIZE, .argument = "SIZE",                           \
        .fallback_note = "half of the machine's memory",                                           \
        .help = "refuse a training whose models (of all draws, chains and classes "                \
                "together) need more memory; for example 500M or 2G"                               \
    }

/* What training_choose_head does, in words. */
#define TRAINING_HEAD_DEFAULT "linear in train without --model, else none"

extern const option_group run_options; /* of train: --output, --force ... (cmd_train.c) */

typedef struct training {
    phl_train_options options; /* states and per_class are the command's to set */
    char *partition;           /* text of the --partition file */
    char *command_line;
    uint32_t *sizes; /* --k */
} training;

/* Fill in the options as given; the callbacks report to `context`, which begins with a
 * progress_line.  kind: given by --members, or PHL_NO_KIND.
 * Returns an exit code; clear in any case. */
int training_begin(const cli_arguments *parsed, void *context, phl_kind kind, training *how);
void training_clear(training *how);
/* A grammar per class that nobody asked for by name gets a head beside it, unless --head says
 * otherwise. */
void training_choose_head(const cli_arguments *parsed, const phl_forest *forest, training *how);
/* The test folds of --folds-file, to be freed; NULL without.  Returns an exit code. */
int training_read_folds(const cli_arguments *parsed, const phl_forest *forest, uint32_t **fold,
                        size_t *n_folds);

/* The options of the sampler; called by training_begin. */
int training_gibbs_read(const cli_arguments *parsed, training *how);

/* What would make saving to --output fail is better known before hours of training.  Returns an
 * exit code (training_start.c). */
int training_start_check(const cli_arguments *parsed);
/* training_begin, and what train's own options say; trees play no role.  Returns an exit code. */
struct training_members;
int training_start_read(const cli_arguments *parsed, const struct training_members *members,
                        void *line, training *how);

/* Is it the sampler that will learn? */
bool training_samples(const training *how);

/* Train a linear classifier alone on the forest and write it to --output (training_classifier.c).
 * Returns the exit code. */
int training_classifier(const cli_arguments *parsed, const phl_forest *forest);

/* Options that choose a piece of a training (training_piece.c); the choice is borrowed from the
 * arguments.  Returns the exit code. */
extern const option_group piece_options;
/* --piece alone; both stay 0 without. */
int training_piece_read(const cli_arguments *parsed, size_t *piece, size_t *pieces);
int training_piece_choose(const cli_arguments *parsed, phl_train_options *options);

/* --members: the models, if any, and whether there is an expert (training_members.c). */
enum { TRAINING_MOST_MEMBERS = 6 };
typedef struct training_members {
    const char *text; /* as it was given; NULL: it was not */
    size_t n;
    phl_kind kinds[TRAINING_MOST_MEMBERS]; /* [n] the first is trained as other options say */
    bool expert;
} training_members;
int training_members_read(const cli_arguments *parsed, training_members *members);
/* The states a model has unless --states says otherwise. */
uint32_t training_members_states(phl_kind kind, const training_members *members);
/* Train an expert alone and write it to --output.  Returns the exit code. */
int training_members_expert(const cli_arguments *parsed, const phl_forest *forest);
/* Are there members that a run is to have, and has not? */
bool training_members_missing(const phl_run *run);
/* Give the run in `path`, whose first model is trained, the members that it lacks.  Returns the
 * exit code. */
int training_members_add(const cli_arguments *parsed, const phl_forest *forest, const char *path,
                         phl_run *run);

/* Did a class or chain stop before its end? */
bool training_interrupted(const phl_run *run);
/* What came out, in a table, and where it is.  Returns the exit code. */
int training_end(const cli_arguments *parsed, const phl_run *run, const char *path);

/* Say on standard error what will be trained on. */
void training_describe_forest(const phl_forest *forest);
/* "seed 42, 2 threads" */
void training_describe_means(const training *how, char *text, size_t size);

#endif
