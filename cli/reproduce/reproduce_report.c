/* reproduce_report.c - the page of an experiment: the best run of each model, on the test trees;
 * see reproduce.h. */
#include "interrupt.h"
#include "print/rows.h"
#include "report/report.h"
#include "reproduce/reproduce.h"

#include <stdlib.h>

/* As `phloem report` writes it. */
static int write_page(report *page, const char *path, const cli_command *command)
{
    rows_file result = {0};
    int code = rows_file_open(&result, path);
    if (code == EXIT_OK) {
        code = report_write(page, result.file, true, command);
    }
    if (code == EXIT_OK && interrupt_asked(NULL)) {
        code = EXIT_INTERRUPTED;
    }
    return rows_file_close(&result, code);
}

int reproduce_report_write(const reproduction *r)
{
    const cli_command *command = r->parsed->command;
    char *line = arguments_line(r->parsed), *path = text_path(r->folder, "report.html");
    char **files = terminal_allocate(r->n_cells, sizeof *files);
    size_t n = 0;
    report page = {.threads = arguments_threads(r->parsed),
                   .hide = r->experiment->labelling ? 1 : 0,
                   .oddest = 40,
                   .seed = r->seed,
                   .command = line};
    for (size_t i = 0; i < r->n_cells; i++) {
        const cell *best = reproduce_run_best(r, &r->cells[i]);
        if (best) {
            files[n++] = text_path(r->folder, best->outcomes[best->best].file);
        }
    }
    int code = report_write_open(&page, (const char *const *)files, n, command);
    if (code == EXIT_OK) {
        page.test = r->test.forest; /* borrowed */
        code = write_page(&page, path, command);
        page.test = NULL;
    }
    report_write_clear(&page);
    for (size_t i = 0; i < n; i++) {
        free(files[i]);
    }
    free(files);
    free(path);
    free(line);
    return code;
}
