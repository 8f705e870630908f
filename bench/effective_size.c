/* effective_size.c - effective_size COLUMNS <DRAWS: how much the draws of one chain are worth.
 *
 * Standard input holds a draw per line, so many numbers each.  Printed is a list of JSON objects,
 * one a column: mean, its Monte Carlo standard error, the effective sample size (bulk, and of the
 * mean).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "classes.h"
#include "train/convergence.h"

static phl_status read_draws(size_t columns, double **draws, size_t *n, phl_error *error)
{
    size_t capacity = 0, used = 0;
    double number;
    phl_status status = PHL_OK;
    while (status == PHL_OK && scanf("%lf", &number) == 1) {
        status = phl_grow(draws, &capacity, used + 1, sizeof **draws, error);
        if (status == PHL_OK) {
            (*draws)[used++] = number;
        }
    }
    if (status == PHL_OK && (used == 0 || used % columns != 0 || !feof(stdin))) {
        status = phl_raise(error, PHL_ERR_SYNTAX, NULL, "expected %zu numbers per line", columns);
    }
    *n = used / columns;
    return status;
}

int main(int argc, char **argv)
{
    size_t columns = argc == 2 ? strtoul(argv[1], NULL, 10) : 0, n = 0;
    if (columns == 0) {
        fprintf(stderr, "usage: effective_size COLUMNS\n");
        return 2;
    }
    double *draws = NULL;
    phl_error error = {0};
    phl_status status = read_draws(columns, &draws, &n, &error);
    double *column = status == PHL_OK ? phl_alloc(n, sizeof *column, &error) : NULL;
    status = status == PHL_OK && column == NULL ? PHL_ERR_MEMORY : status;
    for (size_t i = 0; status == PHL_OK && i < columns; i++) {
        phl_convergence found;
        for (size_t d = 0; d < n; d++) {
            column[d] = draws[d * columns + i];
        }
        status = phl_convergence_measure(column, 1, n, &found, &error);
        printf("%s{\"mean\": %.17g, \"mcse\": %.17g, \"ess_bulk\": %.6f, \"ess_mean\": %.6f}",
               i == 0 ? "[" : ", ", found.mean, found.mcse_mean, found.ess_bulk, found.ess_mean);
    }
    printf("]\n");
    phl_free(column);
    phl_free(draws);
    return bench_end("effective_size", status, &error);
}
