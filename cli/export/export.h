/* export.h - the draws and traces of a run for other tools; docs/report.md describes the files. */
#ifndef PHLOEM_CLI_EXPORT_H
#define PHLOEM_CLI_EXPORT_H

#include "args/options.h"
#include "print/terminal.h"

/* Figures of an iteration: four quantities, then what the sampler did. */
enum { EXPORT_QUANTITIES = 4, EXPORT_MOST_COLUMNS = 6 + 2 * PHL_MOVE_TYPES };

typedef struct export_column {
    char name[40];
    bool statistic; /* about the sampler, not a quantity of the posterior */
} export_column;

/* What there is of one class. */
typedef struct exported {
    const phl_run *run;
    size_t index; /* of the class */
    const phl_model *model;
    const phl_class_diagnosis *diagnosis;
    bool gibbs;
    size_t n_columns;
    export_column columns[EXPORT_MOST_COLUMNS];
} exported;

void export_rows_begin(exported *e, const phl_run *run, const phl_diagnosis *diagnosis,
                       size_t index);
/* A figure of a row. */
double export_rows_value(const exported *e, const phl_trace_row *row, size_t column);
/* The i-th chain that has rows, its number, and how many of its rows are warm-up and after it. */
void export_rows_chain(const exported *e, size_t i, size_t *chain, size_t *warmup, size_t *draws);

/* Write one class (stan-csv: one file for each chain) as STEM...  Each returns an exit code. */
int export_csv_write(const exported *e, const char *stem);
int export_json_write(const exported *e, const char *stem);
int export_netcdf_write(const exported *e, const char *stem);
bool export_netcdf_there(void);

#endif
