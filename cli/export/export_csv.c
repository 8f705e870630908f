/* export_csv.c - one file for each chain as CmdStan writes them; see export.h. */
#include "export/export.h"
#include "print/rows.h"

#include <math.h>
#include <stdlib.h>

static void put_number(FILE *file, double number)
{
    char text[NUMBER_SIZE];
    fputs(isnan(number)   ? "nan"
          : isinf(number) ? (number > 0 ? "inf" : "-inf")
                          : number_exact(number, text),
          file);
}

/* Comments that readers of such files look at. */
static void put_head(const exported *e, FILE *file, size_t chain, size_t warmup, size_t draws)
{
    const char *name = phl_run_class_name(e->run, e->index);
    fprintf(file, "# phloem %s\n# model = phloem_%s\n# class = ", phl_version(),
            phl_kind_name(phl_run_kind(e->run)));
    text_put(file, name ? name : "");
    fprintf(file,
            "\n# method = sample (Default)\n#   sample\n#     num_samples = %zu\n#     num_warmup "
            "= %zu\n#     save_warmup = 1\n#     thin = 1 (Default)\n# id = %zu\n",
            draws, warmup, chain + 1);
    fprintf(file, "lp__");
    for (size_t c = 1; c < e->n_columns; c++) {
        if (e->columns[c].statistic) {
            fprintf(file, ",%s__", e->columns[c].name);
        }
    }
    fprintf(file, ",log_joint");
    for (size_t c = 1; c < EXPORT_QUANTITIES; c++) {
        fprintf(file, ",%s", e->columns[c].name);
    }
    fputc('\n', file);
}

static void put_rows(const exported *e, FILE *file, size_t chain)
{
    const phl_trace_row *row;
    for (size_t i = 0; (row = phl_trace_get(e->model, chain, i)); i++) {
        put_number(file, row->log_joint);
        for (size_t c = EXPORT_QUANTITIES; c < e->n_columns; c++) {
            fputc(',', file);
            put_number(file, export_rows_value(e, row, c));
        }
        for (size_t c = 0; c < EXPORT_QUANTITIES; c++) {
            fputc(',', file);
            put_number(file, export_rows_value(e, row, c));
        }
        fputc('\n', file);
    }
}

int export_csv_write(const exported *e, const char *stem)
{
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < e->diagnosis->n_chains; i++) {
        size_t chain, warmup, draws;
        rows_file result = {0};
        export_rows_chain(e, i, &chain, &warmup, &draws);
        char *path = text_format("%s-%zu.csv", stem, chain + 1);
        code = rows_file_open(&result, path);
        if (code == EXIT_OK) {
            put_head(e, result.file, chain, warmup, draws);
            put_rows(e, result.file, chain);
        }
        code = rows_file_close(&result, code);
        free(path);
    }
    return code;
}
