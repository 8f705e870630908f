/* reproduce_run.c - one run of an experiment: trained, or taken as it is; see reproduce.h.
 *
 * Contents: is it there already?, training, the run, several runs.
 */
#include "interrupt.h"
#include "print/terminal.h"
#include "reproduce/reproduce.h"
#include "runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static double now(void)
{
    struct timespec time = {0};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- is it there already? ---- */

static bool same_fact(const phl_run *run, const char *key, const char *value)
{
    const char *fact = phl_run_meta(run, key);
    return fact && strcmp(fact, value) == 0;
}

static bool is_complete(const phl_run *run)
{
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        const phl_model *model = phl_run_model(run, i);
        if (phl_model_draws(model) == 0 || phl_model_stop_reason(model) == PHL_STOP_INTERRUPTED) {
            return false;
        }
    }
    return true;
}

/* The run in the file, if it is what would be trained now; else NULL, and why. */
static phl_run *take_run(const reproduction *r, const outcome *o, const char *path, bool *exists)
{
    phl_run *run = NULL;
    phl_error error = {0};
    struct stat known;
    const char *reason = NULL;
    *exists = lstat(path, &known) == 0;
    if (!*exists) {
        return NULL;
    }
    if (phl_run_open(path, &run, &error) != PHL_OK) {
        reason = "it is damaged or no run";
    } else if (!same_fact(run, "command", o->command)) {
        reason = "it was trained with other options";
    } else if (!same_fact(run, "fingerprint", r->train.fingerprint)) {
        reason = "it was trained on other trees";
    } else if (!same_fact(run, "version", phl_version())) {
        reason = "it was trained by another version";
    } else if (!is_complete(run)) {
        reason = "it was interrupted";
    }
    if (!reason) {
        return run;
    }
    if (!r->line.quiet) {
        terminal_message("%s is trained again: %s", path, reason);
    }
    phl_run_free(run);
    return NULL;
}

/* ---- training ---- */

static int train(reproduction *r, const cell *c, const outcome *o, const char *path, bool exists)
{
    phl_train_options options;
    phl_run *run = NULL;
    phl_error error = {0};
    int code = EXIT_OK;
    reproduce_settings_options(r, c, o->seed, &options);
    options.command_line = o->command;
    options.threads = arguments_threads(r->parsed);
    options.progress = progress_training;
    options.report = progress_report;
    options.cancel = interrupt_asked;
    options.context = &r->line;
    r->line.chains = options.kind == PHL_TF;
    phl_status status = phl_train(r->train.forest, &options, &run, &error);
    progress_end(&r->line);
    if (status == PHL_ERR_CANCELLED || (status == PHL_OK && !is_complete(run))) {
        code = EXIT_INTERRUPTED;
    } else if (status != PHL_OK || phl_run_save(run, path, exists, &error) != PHL_OK) {
        code = usage_report(r->parsed->command, &error);
    }
    phl_run_free(run);
    return code;
}

/* What is tested is always what the file holds. */
static int open_run(const reproduction *r, const char *path, phl_run **run)
{
    phl_error error = {0};
    return phl_run_open(path, run, &error) == PHL_OK ? EXIT_OK
                                                     : usage_report(r->parsed->command, &error);
}

/* ---- the run ---- */

static char *copy_fact(const phl_run *run, const char *key)
{
    const char *fact = phl_run_meta(run, key);
    return text_format("%s", fact ? fact : "");
}

static void tell(const reproduction *r, const cell *c, size_t run, bool reused, double seconds)
{
    const figure *all = &c->outcomes[run].figures[HEADLINE][reproduce_settings_row_of_all(r)];
    char time[60] = "trained before";
    if (!reused) {
        snprintf(time, sizeof time, "%.1f s", seconds);
    }
    if (!r->line.quiet) {
        terminal_message("%s, %u %s, run %zu/%zu: accuracy %.2f %%, entropy %.2f (%s)",
                         c->model->name, (unsigned)c->states, c->states == 1 ? "state" : "states",
                         run + 1, r->runs, 100 * all->accuracy, 100 * all->entropy, time);
    }
}

/* Where a run goes, and the command that trains it. */
static void name_outcome(const reproduction *r, const cell *c, outcome *o, uint64_t seed)
{
    phl_train_options options;
    char stem[80];
    snprintf(stem, sizeof stem, "%s-c%u-s%" PRIu64, c->model->name, (unsigned)c->states, seed);
    o->seed = seed;
    o->file = text_format("runs/%s.run", stem);
    o->predictions = text_format("predictions/%s.tsv", stem);
    reproduce_settings_options(r, c, seed, &options);
    o->command = reproduce_settings_command(r, c, &options, o->file);
}

/* Train, unless *run is there already, and test. */
static int train_and_test(reproduction *r, const cell *c, outcome *o, const char *path, bool exists,
                          phl_run **run)
{
    int code = EXIT_OK;
    if (!*run) {
        code = train(r, c, o, path, exists);
        code = code == EXIT_OK ? open_run(r, path, run) : code;
    }
    if (code == EXIT_OK) {
        o->config = copy_fact(*run, "config");
        o->version = copy_fact(*run, "version");
        o->fingerprint = copy_fact(*run, "fingerprint");
        code = reproduce_test_outcome(r, *run, o);
    }
    return code == EXIT_OK && interrupt_asked(NULL) ? EXIT_INTERRUPTED : code;
}

int reproduce_run_make(reproduction *r, cell *c, size_t number)
{
    outcome *o = &c->outcomes[number];
    double start = now();
    bool exists = false;
    name_outcome(r, c, o, r->seed + number);
    char *path = text_path(r->folder, o->file);
    char *about = text_format("%s, %u states, run %zu/%zu: ", c->model->name, (unsigned)c->states,
                              number + 1, r->runs);
    phl_run *run = take_run(r, o, path, &exists);
    bool reused = run != NULL;
    r->line.about = about;
    interrupt_poll(true);
    int code = train_and_test(r, c, o, path, exists, &run);
    interrupt_poll(false);
    r->line.about = NULL;
    if (code == EXIT_INTERRUPTED) {
        terminal_message("interrupted; runs that are complete stay in %s, and the same command "
                         "goes on from there",
                         r->folder);
    } else if (code == EXIT_OK) {
        tell(r, c, number, reused, now() - start);
    }
    phl_run_free(run);
    free(path);
    free(about);
    return code;
}

/* ---- several runs ---- */

static void push(double value, double *values, size_t *n)
{
    if (!isnan(value)) {
        values[(*n)++] = value;
    }
}

/* Mean and sd over the runs that have a figure; values [3][runs] is room to work in. */
static void spread(cell *c, size_t runs, size_t setting, size_t row, double *values)
{
    double *accuracy = values, *entropy = values + runs, *log_loss = values + 2 * runs;
    size_t n_accuracy = 0, n_entropy = 0, n_log_loss = 0;
    figure *mean = &c->mean[setting][row], *sd = &c->sd[setting][row];
    for (size_t i = 0; i < runs; i++) {
        const figure *f = &c->outcomes[i].figures[setting][row];
        push(f->accuracy, accuracy, &n_accuracy);
        push(f->entropy, entropy, &n_entropy);
        push(f->log_loss, log_loss, &n_log_loss);
    }
    phl_mean_sd(accuracy, n_accuracy, &mean->accuracy, &sd->accuracy);
    phl_mean_sd(entropy, n_entropy, &mean->entropy, &sd->entropy);
    phl_mean_sd(log_loss, n_log_loss, &mean->log_loss, &sd->log_loss);
}

void reproduce_run_finish(const reproduction *r, cell *c)
{
    double *values = terminal_allocate(3 * r->runs, sizeof *values);
    for (size_t s = 0; s < r->experiment->n_settings; s++) {
        for (size_t row = 0; row < r->experiment->n_rows; row++) {
            spread(c, r->runs, s, row, values);
        }
    }
    free(values);
    size_t all = reproduce_settings_row_of_all(r);
    for (size_t i = 1; i < r->runs; i++) {
        if (c->outcomes[i].figures[HEADLINE][all].accuracy >
            c->outcomes[c->best].figures[HEADLINE][all].accuracy) {
            c->best = i;
        }
    }
}

const cell *reproduce_run_best(const reproduction *r, const cell *c)
{
    const cell *best = c;
    size_t all = reproduce_settings_row_of_all(r);
    for (const cell *other = r->cells; other < r->cells + r->n_cells; other++) {
        if (other->model != c->model) {
            continue;
        }
        if (other < c) {
            return NULL;
        }
        if (other->outcomes[other->best].figures[HEADLINE][all].accuracy >
            best->outcomes[best->best].figures[HEADLINE][all].accuracy) {
            best = other;
        }
    }
    return best;
}
