/* export_rows.c - rows of a trace as figures with names; see export.h. */
#include "export/export.h"

#include <string.h>

static void add_column(exported *e, const char *name, const char *more, bool statistic)
{
    export_column *column = &e->columns[e->n_columns++];
    snprintf(column->name, sizeof column->name, "%s%s", name, more);
    column->statistic = statistic;
}

void export_rows_begin(exported *e, const phl_run *run, const phl_diagnosis *diagnosis,
                       size_t index)
{
    static const char *const quantities[EXPORT_QUANTITIES] = {"log_joint", "log_likelihood",
                                                              "active", "sum_size"};
    *e = (exported){.run = run,
                    .index = index,
                    .model = phl_run_model(run, index),
                    .diagnosis = &diagnosis->classes[index],
                    .gibbs = diagnosis->learner == PHL_LEARNER_GIBBS};
    for (size_t q = 0; q < EXPORT_QUANTITIES; q++) {
        add_column(e, quantities[q], "", false);
    }
    add_column(e, "temperature", "", true);
    add_column(e, "seconds", "", true);
    for (size_t m = 0; m < e->diagnosis->n_moves; m++) {
        add_column(e, e->diagnosis->moves[m].name, "_tried", true);
        add_column(e, e->diagnosis->moves[m].name, "_changed", true);
    }
}

double export_rows_value(const exported *e, const phl_trace_row *row, size_t column)
{
    const double first[] = {row->log_joint,        row->log_likelihood, (double)row->active,
                            (double)row->sum_size, row->temperature,    row->seconds};
    size_t n = sizeof first / sizeof *first, move = (column - n) / 2;
    (void)e;
    if (column < n) {
        return first[column];
    }
    return (column - n) % 2 == 0 ? row->tried[move] : row->changed[move];
}

void export_rows_chain(const exported *e, size_t i, size_t *chain, size_t *warmup, size_t *draws)
{
    const phl_trace_row *row;
    *chain = e->diagnosis->chains[i].chain;
    *warmup = *draws = 0;
    for (size_t k = 0; (row = phl_trace_get(e->model, *chain, k)); k++) {
        bool counts =
            !e->gibbs || (row->iteration > e->diagnosis->warmup && row->temperature == 1.0);
        *(counts ? draws : warmup) += 1;
    }
}
