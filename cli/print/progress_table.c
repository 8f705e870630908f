/* progress_table.c - a training with chains, or several classes or restarts, as a table that is
 * updated in place, or as JSON for programs; see progress.h. */
#include "print/progress.h"
#include "print/terminal.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MOST_ROWS = 40, ROW_SIZE = 400, NAME_WIDTH = 12 };

void progress_table_note(progress_line *line, const phl_progress *p)
{
    size_t at = p->class_index * p->restarts + p->restart;
    if (!line->fits) {
        line->fits = terminal_allocate(p->classes * p->restarts, sizeof *line->fits);
    }
    progress_fit *fit = &line->fits[at];
    fit->width =
        text_printable(p->class_name ? p->class_name : "", NAME_WIDTH, fit->name, sizeof fit->name);
    fit->restart = p->restart;
    fit->iteration = p->iteration;
    fit->iterations = p->iterations;
    fit->log_likelihood = p->log_likelihood;
    fit->active = p->active;
    for (size_t i = 0; i < p->restarts; i++) { /* it belongs to the class */
        line->fits[p->class_index * p->restarts + i].rhat = p->rhat;
    }
}

void progress_table_clear(progress_line *line)
{
    if (line->n_lines) {
        fprintf(stderr, "\r\033[%zuA\033[J", line->n_lines);
        line->n_lines = 0;
    }
}

static void window_size(size_t *columns, size_t *rows)
{
    struct winsize window = {0};
    *columns = TERMINAL_WIDTH;
    *rows = 24;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 20 && window.ws_row > 5) {
        *columns = window.ws_col;
        *rows = window.ws_row;
    }
}

/* A line of the table, cut so that the terminal does not break it. */
static void put_row(progress_line *line, const char *text, size_t columns)
{
    char cut[4 * ROW_SIZE];
    text_printable(text, columns < ROW_SIZE ? columns - 1 : ROW_SIZE, cut, sizeof cut);
    fprintf(stderr, "\r%s\033[K\n", cut);
    line->n_lines++;
}

static void put_fit(progress_line *line, const progress_fit *fit, size_t columns)
{
    char text[ROW_SIZE], active[16] = "", rhat[32] = "";
    if (line->chains) {
        snprintf(active, sizeof active, "%u", fit->active);
        snprintf(rhat, sizeof rhat, "%.3f", fit->rhat);
    }
    if (line->chains && isnan(fit->rhat)) {
        snprintf(rhat, sizeof rhat, "-");
    }
    snprintf(text, sizeof text, "  %s%*s  %7zu  %10zu/%-10zu  %15.8g  %6s  %5s", fit->name,
             (int)(NAME_WIDTH - fit->width), "", fit->restart + 1, fit->iteration, fit->iterations,
             fit->log_likelihood, active, rhat);
    put_row(line, text, columns);
}

/* "2 of 3 at their end, at most 12 s left" */
static void put_end(progress_line *line, size_t ended, const char *left, size_t columns)
{
    char text[ROW_SIZE], share[80] = "";
    if (line->n_fits > 1) {
        snprintf(share, sizeof share, "%zu of %zu at their end%s", ended, line->n_fits,
                 *left ? ", " : "");
    }
    snprintf(text, sizeof text, "  %s%s%s%s", share, *left ? "at most " : "", left,
             *left ? " left" : "");
    put_row(line, text, columns);
}

void progress_table_show(progress_line *line, const char *left)
{
    size_t columns, rows, begun = 0, ended = 0, shown = 0;
    bool named = false;
    char text[ROW_SIZE];
    window_size(&columns, &rows);
    size_t room = rows - 4 < MOST_ROWS ? rows - 4 : MOST_ROWS;
    for (size_t i = 0; i < line->n_fits; i++) {
        begun += line->fits[i].iterations > 0;
        named = named || line->fits[i].name[0];
        ended +=
            line->fits[i].iterations > 0 && line->fits[i].iteration == line->fits[i].iterations;
    }
    progress_table_clear(line);
    snprintf(text, sizeof text, "  %-*s  %7s  %21s  %15s  %6s  %5s", NAME_WIDTH,
             named ? "class" : "", line->chains ? "chain" : "restart", "iteration",
             "log-likelihood", line->chains ? "active" : "", line->chains ? "R-hat" : "");
    put_row(line, text, columns);
    for (size_t i = 0; i < line->n_fits && shown < room; i++) {
        const progress_fit *fit = &line->fits[i];
        bool running = fit->iterations > 0 && fit->iteration < fit->iterations;
        /* Where there is no room for all, those at work. */
        if (running || (fit->iterations > 0 && begun <= room)) {
            put_fit(line, fit, columns);
            shown++;
        }
    }
    put_end(line, ended, left, columns);
    fflush(stderr);
}
