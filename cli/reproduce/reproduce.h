/* reproduce.h - the paper's experiments done again: what is trained, how it is tested, what is kept
 * of it, and the files of the output folder.
 *
 *   DIR/results.json, DIR/table.md         all figures
 *   DIR/runs/MODEL-cSTATES-sSEED.run       a run file for each run
 *   DIR/predictions/MODEL-cSTATES-sSEED.tsv
 *   DIR/report.html                        the best run of each model, as `phloem report` shows it
 *   DIR/tree-MODEL.svg, DIR/confusion-MODEL.svg   of each model's best run
 *   DIR/symm/                              the labelling trees, if they were generated
 */
#ifndef PHLOEM_CLI_REPRODUCE_H
#define PHLOEM_CLI_REPRODUCE_H

#include "args/options.h"
#include "print/evaluations.h"
#include "print/progress.h"
#include "reproduce/paper.h"

enum { MOST_SETTINGS = 4, MOST_ROWS = PAPER_ROWS, HEADLINE = 0 };

/* One of the paper's experiments. */
typedef struct experiment {
    const char *name;
    const char *title;
    bool labelling;           /* else: classification */
    const char *train, *test; /* below the data folder */
    size_t n_settings;        /* ways of testing one run; the first is the paper's */
    const char *settings[MOST_SETTINGS];
    size_t n_rows; /* rows of a run's figures: labels and "all"; classification has one */
} experiment;

/* How a model is trained. */
typedef struct model_variant {
    const char *name;
    phl_kind kind;
    phl_sampler sampler;
    bool one_chain; /* --chains does not change it */
    int paper;      /* column of the paper's table to hold it against; -1: none */
} model_variant;

/* Figures of one test, or of one label in it; NaN: there is no such figure. */
typedef struct figure {
    double accuracy; /* fraction */
    double entropy;  /* bits, of the truth given the prediction */
    double log_loss; /* nats */
} figure;

/* One run: trained from one seed, and tested. */
typedef struct outcome {
    uint64_t seed;
    char *file, *predictions;             /* below the output folder */
    char *command;                        /* that trains the same run again */
    char *config, *version, *fingerprint; /* as the run file has them */
    figure figures[MOST_SETTINGS][MOST_ROWS];
    phl_evaluation *evaluation;     /* of the headline setting, */
    const phl_confusion *confusion; /* and that of its matrices that counts */
    char **drawn; /* labelling: labels drawn for the tree of the pictures, NULL last */
} outcome;

/* Runs that differ in nothing but their seed. */
typedef struct cell {
    const model_variant *model;
    uint32_t states;
    outcome *outcomes; /* [runs] */
    figure mean[MOST_SETTINGS][MOST_ROWS], sd[MOST_SETTINGS][MOST_ROWS];
    size_t best; /* run of the highest headline accuracy, the first of equals */
} cell;

typedef struct data_set {
    char *path;
    phl_forest *forest;
    char fingerprint[33]; /* of the trees in their order, as in run files */
} data_set;

typedef struct reproduction {
    progress_line line; /* first: what callbacks report to */
    const cli_arguments *parsed;
    const experiment *experiment;
    const paper_table *paper;
    const char *folder;
    data_set train, test;
    bool generated; /* the trees */
    size_t picture; /* labelling: the tree of the pictures */
    uint64_t seed;
    size_t runs, iterations, chains; /* chains: of tf */
    cell *cells;
    size_t n_cells;
} reproduction;

/* ---- what there is (reproduce_settings.c) ---- */

const experiment *reproduce_settings_experiment(const char *name);
const model_variant *reproduce_settings_variant(const char *name);
extern const char *const variant_names; /* "sp, tf, ..." */
/* Name of a row of figures: a label or "all"; NULL for classification. */
const char *reproduce_settings_row_name(const reproduction *r, size_t row);
/* The row that stands for a run: "all". */
size_t reproduce_settings_row_of_all(const reproduction *r);
/* Options of one run, without callbacks. */
void reproduce_settings_options(const reproduction *r, const cell *c, uint64_t seed,
                                phl_train_options *options);
/* The command that does the same; to be freed. */
char *reproduce_settings_command(const reproduction *r, const cell *c,
                                 const phl_train_options *options, const char *file);

/* ---- files (reproduce_files.c) ---- */

/* Make the output folder and those below.  Returns an exit code. */
int reproduce_files_make(const char *folder);
/* Find, or for labelling generate, and read the trees.  Returns an exit code. */
int reproduce_files_read(reproduction *r);

/* ---- one run (reproduce_run.c, reproduce_test.c) ---- */

/* Train, unless the run file is there already, and test.  Returns an exit code. */
int reproduce_run_make(reproduction *r, cell *c, size_t number);
/* Test a run, and write its predictions. */
int reproduce_test_outcome(reproduction *r, const phl_run *run, outcome *o);
/* Means, standard deviations, the best run. */
void reproduce_run_finish(const reproduction *r, cell *c);

/* ---- results (reproduce_table.c, _json.c, _pictures.c, _report.c) ---- */

void reproduce_table_print(const reproduction *r);
/* Each writes its files below the folder and returns an exit code. */
int reproduce_table_write(const reproduction *r);
int reproduce_json_write(const reproduction *r);
int reproduce_pictures_write(const reproduction *r);
int reproduce_report_write(const reproduction *r);
/* The cell with the best run of c's model; NULL unless c is the first cell of that model. */
const cell *reproduce_run_best(const reproduction *r, const cell *c);

#endif
