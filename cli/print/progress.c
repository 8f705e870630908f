/* progress.c - how far a long call is; see progress.h. */
#include "print/progress.h"
#include "print/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double live_seconds = 0.1, plain_seconds = 5;
enum { WIDEST = 400 };

static double now(void)
{
    struct timespec time = {0};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void progress_begin(progress_line *line, bool quiet)
{
    const char *kind = getenv("TERM");
    bool can_erase = kind && *kind && strcmp(kind, "dumb") != 0;
    *line = (progress_line){.quiet = quiet, .last = now()};
    line->live = can_erase && isatty(STDERR_FILENO);
}

/* Is it time for another line? */
static bool is_due(progress_line *line)
{
    double moment = now();
    if (line->quiet ||
        moment - line->last < (line->live || line->json ? live_seconds : plain_seconds)) {
        return false;
    }
    line->last = moment;
    return true;
}

static void clear(progress_line *line)
{
    progress_table_clear(line);
    if (line->shown) {
        fputs("\r\033[K", stderr);
        line->shown = false;
    }
}

void progress_end(progress_line *line)
{
    clear(line);
    free(line->done);
    free(line->fits);
    line->done = NULL;
    line->fits = NULL;
    line->n_fits = 0;
}

static void show(progress_line *line, const char *text)
{
    if (!line->live) {
        terminal_message("%s", text);
        return;
    }
    char cut[4 * WIDEST];
    struct winsize window = {0};
    size_t columns = TERMINAL_WIDTH;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 20) {
        columns = window.ws_col < WIDEST ? window.ws_col : WIDEST;
    }
    text_printable(text, columns - 1, cut, sizeof cut);
    fprintf(stderr, "\r%s\033[K", cut);
    fflush(stderr);
    line->shown = true;
}

/* "1 h 05 min", "3 min 20 s", "12 s" */
static void describe_time(double seconds, char *text, size_t size)
{
    long whole = seconds < 1e9 ? (long)(seconds + 0.5) : 1000000000;
    if (whole >= 3600) {
        snprintf(text, size, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
    } else if (whole >= 60) {
        snprintf(text, size, "%ld min %02ld s", whole / 60, whole % 60);
    } else {
        snprintf(text, size, "%ld s", whole);
    }
}

/* "class left (1/3), restart 2/5, iteration 17/100, " */
static void describe_training(const progress_line *line, const phl_progress *p, char *text,
                              size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    if (p->class_name) {
        char name[100];
        text_printable(p->class_name, 20, name, sizeof name);
        used += (size_t)snprintf(text, size, "class %s (%zu/%zu), ", name, p->class_index + 1,
                                 p->classes);
    }
    if (p->restarts > 1 && used < size) {
        used += (size_t)snprintf(text + used, size - used, "%s %zu/%zu, ",
                                 line->chains ? "chain" : "restart", p->restart + 1, p->restarts);
    }
    if (used < size) {
        snprintf(text + used, size - used, "iteration %zu/%zu, ", p->iteration, p->iterations);
    }
}

/* Count the iterations of all fits; the share of what there is to do at most. */
static double share_done(progress_line *line, const phl_progress *p)
{
    size_t fit = p->class_index * p->restarts + p->restart;
    if (!line->done) {
        line->n_fits = p->classes * p->restarts;
        line->done = terminal_allocate(line->n_fits, sizeof *line->done);
        line->all_done = 0;
    }
    if (fit < line->n_fits && p->iteration > line->done[fit]) {
        line->all_done += (double)(p->iteration - line->done[fit]);
        line->done[fit] = p->iteration;
    }
    return line->all_done / ((double)line->n_fits * (double)p->iterations);
}

void progress_training(const phl_progress *p, void *context)
{
    progress_line *line = context;
    char where[200], left[40] = "", text[400];
    double done = share_done(line, p);
    bool table = line->live && !line->json && !line->quiet && !line->about &&
                 (line->n_fits > 1 || line->chains);
    if (table) {
        progress_table_note(line, p);
    }
    bool due = is_due(line);
    if (line->json) {
        if (due || (p->iteration == p->iterations && !line->quiet)) {
            progress_json(p);
        }
        return;
    }
    if (!due) {
        return;
    }
    if (done > 0 && done < 1) {
        describe_time(p->seconds * (1 - done) / done, left, sizeof left);
    }
    if (table) {
        progress_table_show(line, left);
        return;
    }
    describe_training(line, p, where, sizeof where);
    snprintf(text, sizeof text, "%s%slog-likelihood %.6g", line->about ? line->about : "", where,
             p->log_likelihood);
    if (line->chains) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, ", %u active", (unsigned)p->active);
    }
    if (line->chains && !isnan(p->rhat)) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, ", R-hat %.3f", p->rhat);
    }
    if (*left) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, ", at most %s left", left);
    }
    show(line, text);
}

void progress_evaluate(const phl_evaluate_progress *p, void *context)
{
    progress_line *line = context;
    char where[200] = "", states[60] = "", left[40] = "", text[400];
    if (!is_due(line)) {
        return;
    }
    if (p->training) {
        describe_training(line, p->training, where, sizeof where);
        where[strlen(where) - 2] = '\0';
    }
    if (p->kind != PHL_NO_KIND) {
        snprintf(states, sizeof states, ", %u states", (unsigned)p->states);
    }
    snprintf(text, sizeof text, "%s%s%s (%zu/%zu), fold %zu/%zu%s%s, %zu/%zu done",
             p->kind == PHL_NO_KIND ? "classifier" : phl_kind_name(p->kind), states,
             p->kind != PHL_NO_KIND && p->head == PHL_HEAD_LINEAR ? ", linear head" : "",
             p->choice + 1, p->choices, p->fold + 1, p->folds, where[0] ? ", " : "", where, p->done,
             p->all);
    if (!isnan(p->seconds_left)) {
        size_t used = strlen(text);
        describe_time(p->seconds_left, left, sizeof left);
        snprintf(text + used, sizeof text - used, ", about %s left", left);
    }
    show(line, text);
}

void progress_report(const phl_error *error, void *context)
{
    progress_line *line = context;
    if (!line->quiet) {
        clear(line);
        terminal_report(error->status == PHL_OK ? "note: " : "", error);
    }
}

void progress_json(const phl_progress *p)
{
    json_writer json;
    json_out_begin(&json, stderr);
    json_out_open(&json, '{', true);
    json_out_text(&json, "class", p->class_name);
    json_out_count(&json, "class_index", p->class_index);
    json_out_count(&json, "classes", p->classes);
    json_out_count(&json, "chain", p->restart);
    json_out_count(&json, "chains", p->restarts);
    json_out_count(&json, "iteration", p->iteration);
    json_out_count(&json, "iterations", p->iterations);
    json_out_number(&json, "log_likelihood", p->log_likelihood);
    json_out_count(&json, "active", p->active);
    json_out_number(&json, "rhat", p->rhat);
    json_out_number(&json, "seconds", p->seconds);
    json_out_close(&json, '}');
}
