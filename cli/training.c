/* training.c - the options that say how to train; see training.h. */
#include "training.h"
#include "forests.h"
#include "interrupt.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "runs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_option training_rows[] = {
    {.name = "model",
     .letter = 'm',
     .type = OPTION_CHOICE,
     .argument = "MODEL",
     .choices = "grammar|tf|sp|full|td",
     .fallback = "grammar",
     .help = "grammar: labels and shape together, by rules between annotated labels; tf: "
             "factorised, bottom-up, learns which child positions matter; sp: switching parent, "
             "bottom-up; full: a table over all joint states of the children; td: top-down"},
    {.name = "learner",
     .type = OPTION_CHOICE,
     .argument = "LEARNER",
     .choices = "em|gibbs",
     .fallback_note = "gibbs for tf, em otherwise",
     .help = "gibbs: draws from the posterior; em: expectation maximisation, for tf with "
             "--partition"},
    {.name = "iterations",
     .letter = 'i',
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 1,
     .most = PHL_MOST_ITERATIONS,
     .fallback_note = "em 100, gibbs 200, grammar 15",
     .help = "number of iterations: em the greatest number, gibbs including the warm-up, grammar "
             "in each stage"},
    {.name = "restarts",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 1,
     .most = PHL_MOST_RESTARTS,
     .fallback_note = "1, grammar 4",
     .help = "em: random starts, of which the best is kept; grammar: all are, and averaged"},
    {.name = "tolerance",
     .type = OPTION_REAL,
     .argument = "X",
     .low = 0,
     .high = 1,
     .fallback = "1e-6",
     .help = "em: stop when the relative gain of an iteration is less; 0: never"},
    {.name = "smoothing",
     .type = OPTION_REAL,
     .argument = "S",
     .low = 0,
     .high = HUGE_VAL,
     .fallback = "0.01",
     .help = "em: prior Dir(1 + S) on every table; 0: maximum likelihood"},
    {.name = "partition",
     .type = OPTION_PATH,
     .argument = "FILE",
     .help = "tf: keep these active slots and blocks fixed; JSON as in 'show --json'"},
    {.name = "head",
     .type = OPTION_CHOICE,
     .argument = "HEAD",
     .choices = "linear|none",
     .fallback_note = TRAINING_HEAD_DEFAULT,
     .help = "with --per-class: beside the models, a linear classifier on pieces of trees ('phloem "
             "features'); 'classify' asks whichever did best on trees held out, or both"},
    {.name = "calibrate",
     .type = OPTION_FLAG,
     .help = "with --per-class: fit a temperature and a class prior on trees held out, so that "
             "class probabilities can be believed; done without asking for the grammar and with a "
             "head; other models are trained once more for it, by one chain or start"},
    OPTION_MEMORY_LIMIT_ROW,
    OPTION_SEED_ROW,
};
const option_group training_options = {"Training", training_rows,
                                       sizeof training_rows / sizeof *training_rows};

/* A whole text file; NULL after saying why not. */
static char *read_text(const char *path)
{
    enum { MOST = 1 << 26 };
    FILE *file = fopen(path, "rb");
    if (!file) {
        terminal_message("cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    size_t used = 0, capacity = 1 << 12, got;
    char *text = terminal_allocate(capacity, 1);
    errno = 0;
    while ((got = fread(text + used, 1, capacity - used - 1, file)) > 0 && used < MOST) {
        used += got;
        if (used + 1 == capacity) {
            char *grown = terminal_allocate(2 * capacity, 1);
            memcpy(grown, text, used);
            free(text);
            text = grown;
            capacity *= 2;
        }
    }
    bool failed = ferror(file) || used >= MOST;
    if (failed) {
        terminal_message("cannot read %s: %s", path, errno ? strerror(errno) : "it is too long");
        free(text);
        text = NULL;
    } else {
        text[used] = '\0';
    }
    fclose(file);
    return text;
}

/* Options that some models have, or that mean something else in each: they need --model. */
static int check_model_given(const cli_arguments *parsed)
{
    static const struct {
        const char *name, *models;
    } some[] = {
        {"states", "is the number of hidden states of tf, sp, full and td, and the greatest number "
                   "of annotations per label of grammar: say which with --model"},
        {"learner", "is for --model tf, which has two"},
        {"partition", "is for --model tf"},
        {"tolerance", "is for --model sp, full and td, and for tf with --partition"},
        {"smoothing", "is for --model sp, full and td, and for tf with --partition"},
    };
    if (arguments_given(parsed, "model")) {
        return EXIT_OK;
    }
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        if (arguments_given(parsed, some[i].name)) {
            return usage_error(parsed->command, "option --%s %s", some[i].name, some[i].models);
        }
    }
    for (size_t i = 0; i < gibbs_options.n; i++) {
        const char *name = gibbs_options.options[i].name;
        if (arguments_given(parsed, name)) {
            return usage_error(parsed->command,
                               "option --%s is for --model tf; without --model it is grammar",
                               name);
        }
    }
    return EXIT_OK;
}

int training_begin(const cli_arguments *parsed, void *context, phl_kind kind, training *how)
{
    phl_train_options *o = &how->options;
    const char *partition = arguments_path(parsed, "partition");
    *how = (training){0};
    phl_train_options_init(o);
    int missing = kind == PHL_NO_KIND ? check_model_given(parsed) : EXIT_OK;
    if (missing != EXIT_OK) {
        return missing;
    }
    o->kind = kind == PHL_NO_KIND ? phl_kind_find(arguments_choice(parsed, "model")) : kind;
    if (o->kind != PHL_TF && partition) {
        return usage_error(parsed->command, "option --partition is for --model tf, not for %s",
                           phl_kind_name(o->kind));
    }
    static const char *const not_for_grammars[] = {"smoothing", "tolerance"};
    for (size_t i = 0; o->kind == PHL_GRAMMAR && i < 2; i++) {
        if (arguments_given(parsed, not_for_grammars[i])) {
            return usage_error(
                parsed->command,
                "option --%s is not for --model grammar, which chooses that by trees "
                "held out",
                not_for_grammars[i]);
        }
    }
    if (partition && !(how->partition = read_text(partition))) {
        return EXIT_SYSTEM;
    }
    how->command_line = arguments_line(parsed);
    o->partition = how->partition;
    o->command_line = how->command_line;
    o->threads = arguments_threads(parsed);
    if (arguments_given(parsed, "iterations")) {
        o->iterations = (size_t)arguments_integer(parsed, "iterations");
    }
    if (arguments_given(parsed, "learner")) {
        o->learner = strcmp(arguments_choice(parsed, "learner"), "em") == 0 ? PHL_LEARNER_EM
                                                                            : PHL_LEARNER_GIBBS;
    }
    if (arguments_given(parsed, "restarts")) {
        o->restarts = (size_t)arguments_integer(parsed, "restarts");
    }
    o->tolerance = arguments_real(parsed, "tolerance");
    o->smoothing = arguments_real(parsed, "smoothing");
    o->memory_limit = arguments_size(parsed, "memory-limit");
    o->calibrate = arguments_flag(parsed, "calibrate");
    if (arguments_given(parsed, "head") && arguments_choice_index(parsed, "head") == 0) {
        o->head = PHL_HEAD_LINEAR;
    }
    o->progress = progress_training;
    o->report = progress_report;
    o->cancel = interrupt_asked;
    o->context = context;
    int code = training_gibbs_read(parsed, how);
    return code == EXIT_OK ? arguments_seed(parsed, &o->seed) : code;
}

void training_choose_head(const cli_arguments *parsed, const phl_forest *forest, training *how)
{
    phl_train_options *o = &how->options;
    if (o->per_class && !arguments_given(parsed, "head") && !arguments_given(parsed, "model") &&
        o->kind == PHL_GRAMMAR && phl_forest_classes(forest) > 1) {
        o->head = PHL_HEAD_LINEAR;
    }
}

int training_read_folds(const cli_arguments *parsed, const phl_forest *forest, uint32_t **fold,
                        size_t *n_folds)
{
    const char *path = arguments_path(parsed, "folds-file");
    size_t n = phl_forest_trees(forest);
    phl_error error = {0};
    if (!path) {
        return EXIT_OK;
    }
    *fold = terminal_allocate(n, sizeof **fold);
    return phl_folds_read(path, n, *fold, n_folds, &error) == PHL_OK
               ? EXIT_OK
               : usage_report(parsed->command, &error);
}

void training_clear(training *how)
{
    free(how->partition);
    free(how->command_line);
    free(how->sizes);
    *how = (training){0};
}

bool training_samples(const training *how)
{
    const phl_train_options *o = &how->options;
    return o->learner == PHL_LEARNER_GIBBS ||
           (o->learner == PHL_LEARNER_AUTO && o->kind == PHL_TF && !o->partition);
}

void training_describe_forest(const phl_forest *forest)
{
    char trees[80], nodes[80], subtrees[80], labels[80];
    number_of(phl_forest_trees(forest), "tree", "trees", trees, sizeof trees);
    number_of(forest_nodes(forest), "node", "nodes", nodes, sizeof nodes);
    number_of(phl_forest_subtrees(forest), "distinct subtree", "distinct subtrees", subtrees,
              sizeof subtrees);
    number_of(phl_forest_labels(forest), "label", "labels", labels, sizeof labels);
    terminal_message("%s, %s, %s, %s, largest slot %u", trees, nodes, subtrees, labels,
                     (unsigned)phl_forest_max_slot(forest));
}

void training_describe_means(const training *how, char *text, size_t size)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = how->options.threads ? how->options.threads : (int)(cores > 0 ? cores : 1);
    snprintf(text, size, "seed %" PRIu64 ", %d %s", how->options.seed, threads,
             threads == 1 ? "thread" : "threads");
}

static void print_summary(const phl_run *run)
{
    text_table table;
    char name[TABLE_CELL], trees[NUMBER_SIZE], log_likelihood[NUMBER_SIZE], iterations[NUMBER_SIZE];
    table_begin(&table, 5);
    table_row(&table, (const char *const[]){phl_run_per_class(run) ? "class" : "", "trees",
                                            "log-likelihood", "iterations", "stopped by"});
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        const phl_model *model = phl_run_model(run, i);
        const char *class_name = phl_run_class_name(run, i);
        text_printable(class_name ? class_name : "all trees", 40, name, sizeof name);
        number_grouped(phl_model_trees(model), trees);
        number_grouped(phl_model_iterations(model), iterations);
        snprintf(log_likelihood, sizeof log_likelihood, "%.8g", phl_model_log_likelihood(model));
        bool trained = phl_model_draws(model) > 0;
        table_row(&table, (const char *const[]){name, trees, trained ? log_likelihood : "-",
                                                iterations, run_stop_in_words(model)});
    }
    table_end(&table, stderr, 2);
}

bool training_interrupted(const phl_run *run)
{
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        if (phl_model_stop_reason(phl_run_model(run, i)) == PHL_STOP_INTERRUPTED) {
            return true;
        }
    }
    return false;
}

/* What 'diagnose' says at its end. */
static void tell_verdict(const phl_run *run)
{
    phl_diagnosis diagnosis = {0};
    phl_error error = {0};
    if (phl_diagnose(run, NULL, &diagnosis, &error) == PHL_OK) {
        char *summary = terminal_words(diagnosis.summary);
        terminal_message("verdict: %s%s", summary,
                         diagnosis.trouble ? "; 'phloem diagnose' says more" : "");
        free(summary);
    }
    phl_diagnosis_clear(&diagnosis);
}

int training_end(const cli_arguments *parsed, const phl_run *run, const char *path)
{
    bool quiet = arguments_flag(parsed, "quiet");
    if (!quiet) {
        if (phl_run_meta(run, "states_tried")) {
            char states[80];
            number_of(phl_run_states(run), "state", "states", states, sizeof states);
            terminal_message("%s, chosen by trees held out", states);
        }
        print_summary(run);
    }
    if (training_interrupted(run)) {
        terminal_message("interrupted; the state so far is in %s, and 'phloem resume' goes on "
                         "from there",
                         path);
        return EXIT_INTERRUPTED;
    }
    if (!quiet) {
        terminal_message("written to %s", path);
        tell_verdict(run);
    }
    return EXIT_OK;
}
