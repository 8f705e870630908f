/* cmd_evaluate.c - phloem evaluate: cross-validation, and a choice of models that may be saved.
 *
 * Contents: what to compare, the trees, files, the command.
 */
#include "commands.h"
#include "forests.h"
#include "interrupt.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "print/validations.h"
#include "runs.h"
#include "training.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct validation {
    progress_line line; /* first: what callbacks report to */
    const cli_arguments *parsed;
    const phl_forest *forest;
    phl_evaluate_options options;
    training how;                     /* what all trainings have in common */
    phl_train_options *ways;          /* [n_ways] */
    const phl_train_options **listed; /* [n_ways] the same */
    size_t n_ways;
    phl_class_prior *priors;
    uint32_t *fold; /* NULL: dealt at random */
    char *work;     /* file that keeps trials; NULL: none */
    bool per_class;
    bool told; /* that some are there already */
} validation;

/* ---- what to compare ---- */

static int bad_number(const validation *v, const char *option, const char *found)
{
    char most[NUMBER_SIZE];
    return usage_error(v->parsed->command,
                       "option --%s: found '%.100s', expected whole numbers from 1 to %s, "
                       "separated by commas",
                       option, found, number_grouped(PHL_MOST_STATES, most));
}

static bool read_states(const char *text, uint32_t *states)
{
    unsigned long number = 0;
    if (strspn(text, "0123456789") == strlen(text) && strlen(text) < 10) {
        number = strtoul(text, NULL, 10);
    }
    *states = (uint32_t)number;
    return number >= 1 && number <= PHL_MOST_STATES;
}

/* "tf" or "tf:10"; *states stays if there are none. */
static int read_model(const validation *v, const char *text, phl_kind *kind, uint32_t *states)
{
    char name[32] = "";
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length < sizeof name) {
        memcpy(name, text, length);
    }
    *kind = strcmp(name, "classifier") == 0 ? PHL_NO_KIND
            : strcmp(name, "none") == 0     ? 0
                                            : phl_kind_find(name);
    if (!*kind || (colon && *kind == PHL_NO_KIND)) {
        return usage_error(v->parsed->command,
                           "option --models: found '%.100s', expected grammar, tf, sp, full, td, "
                           "each alone or with a number of states (tf:10), or classifier",
                           text);
    }
    return !colon || read_states(colon + 1, states) ? EXIT_OK : bad_number(v, "models", colon + 1);
}

static void add_way(validation *v, phl_kind kind, uint32_t states, phl_head_kind head)
{
    phl_train_options *way = &v->ways[v->n_ways];
    *way = v->how.options;
    way->kind = kind;
    way->states = states;
    way->head = kind == PHL_NO_KIND ? PHL_HEAD_LINEAR : head;
    v->listed[v->n_ways++] = way;
}

/* Every number of states of a model with every head; a classifier alone has neither. */
static int add_ways(validation *v, phl_kind kind, uint32_t own, const phl_head_kind *heads,
                    size_t n_heads)
{
    size_t n = 0;
    const char *const *items = arguments_list(v->parsed, "states", &n);
    bool listed = n > 0 && own == (uint32_t)PHL_DEFAULT && kind != PHL_NO_KIND;
    for (size_t i = 0; i < (listed ? n : 1); i++) {
        uint32_t states = own;
        if (listed && !read_states(items[i], &states)) {
            return bad_number(v, "states", items[i]);
        }
        for (size_t h = 0; h < (kind == PHL_NO_KIND ? 1 : n_heads); h++) {
            add_way(v, kind, states, heads[h]);
        }
    }
    return EXIT_OK;
}

static int read_heads(const validation *v, phl_head_kind *heads, size_t *n_heads)
{
    size_t n = 0;
    const char *const *items = arguments_list(v->parsed, "heads", &n);
    heads[0] = v->how.options.head;
    *n_heads = 1;
    for (size_t i = 0; i < n; i++) {
        bool linear = strcmp(items[i], "linear") == 0;
        if ((!linear && strcmp(items[i], "none") != 0) || i == 2) {
            return usage_error(v->parsed->command,
                               "option --heads: found '%.100s', expected none, linear or both, "
                               "separated by a comma",
                               items[i]);
        }
        heads[i] = linear ? PHL_HEAD_LINEAR : PHL_HEAD_NONE;
        *n_heads = i + 1;
    }
    return EXIT_OK;
}

static int read_priors(validation *v)
{
    size_t n = 0;
    const char *const *items = arguments_list(v->parsed, "class-priors", &n);
    v->options.prior = run_class_prior(v->parsed);
    v->priors = terminal_allocate(n + 1, sizeof *v->priors);
    for (size_t i = 0; i < n; i++) {
        phl_class_prior prior = PHL_PRIOR_UNIFORM;
        while (prior <= PHL_PRIOR_CHOSEN && strcmp(items[i], validation_prior_name(prior)) != 0) {
            prior++;
        }
        if (prior > PHL_PRIOR_CHOSEN) {
            return usage_error(v->parsed->command,
                               "option --class-priors: found '%.100s', expected uniform, "
                               "empirical, learned or chosen, separated by commas",
                               items[i]);
        }
        v->priors[i] = prior;
    }
    v->options.priors = v->priors;
    v->options.n_priors = n;
    return EXIT_OK;
}

/* How to train, as far as all models have it in common; `kind` takes most options. */
static int read_common(validation *v, const char *const *models, size_t n)
{
    phl_kind kind = PHL_NO_KIND;
    uint32_t states;
    for (size_t i = 0; i < n; i++) {
        phl_kind found;
        int code = read_model(v, models[i], &found, &states);
        if (code != EXIT_OK) {
            return code;
        }
        kind =
            kind == PHL_NO_KIND || found == PHL_TF || (kind == PHL_GRAMMAR && found != PHL_NO_KIND)
                ? found
                : kind;
    }
    return training_begin(v->parsed, v, n > 0 && kind == PHL_NO_KIND ? PHL_SP : kind, &v->how);
}

static int read_ways(validation *v)
{
    size_t n = 0, n_states = 0, n_heads = 1;
    const char *const *models = arguments_list(v->parsed, "models", &n);
    phl_head_kind heads[2];
    (void)arguments_list(v->parsed, "states", &n_states);
    int code = read_common(v, models, n);
    code = code == EXIT_OK ? read_heads(v, heads, &n_heads) : code;
    if (code != EXIT_OK) {
        return code;
    }
    size_t most = (n ? n : 1) * (n_states ? n_states : 1) * n_heads;
    v->ways = terminal_allocate(most, sizeof *v->ways);
    v->listed = terminal_allocate(most, sizeof *v->listed);
    for (size_t i = 0; code == EXIT_OK && i < (n ? n : 1); i++) {
        phl_kind kind = v->how.options.kind;
        uint32_t states = (uint32_t)PHL_DEFAULT;
        code = n ? read_model(v, models[i], &kind, &states) : EXIT_OK;
        code = code == EXIT_OK ? add_ways(v, kind, states, heads, n_heads) : code;
    }
    v->options.trains = v->listed;
    v->options.n_trains = v->n_ways;
    return code;
}

/* ---- the trees ---- */

/* Trees with classes are classified, trees without are scored. */
static int choose_task(validation *v)
{
    size_t n = phl_forest_trees(v->forest), with = 0, without = 0;
    char source[SOURCE_SIZE];
    for (size_t t = 0; t < n; t++) {
        if (phl_tree_class(v->forest, t) != PHL_NO_CLASS) {
            with++;
        } else if (without++ == 0) {
            forest_tree_source(v->forest, t, source);
        }
    }
    if (with && without) {
        terminal_message("%s: the tree has no class, others have; give all trees a class, or "
                         "compare by likelihood with --no-class",
                         source);
        return EXIT_DATA;
    }
    v->per_class = with > 0;
    for (size_t i = 0; i < v->n_ways; i++) {
        v->ways[i].per_class = v->per_class;
    }
    return EXIT_OK;
}

static int read_folds(validation *v)
{
    v->options.n_folds = (size_t)arguments_integer(v->parsed, "folds");
    int code = training_read_folds(v->parsed, v->forest, &v->fold, &v->options.n_folds);
    v->options.fold = v->fold;
    return code;
}

static void describe(const validation *v)
{
    char means[120], models[80];
    size_t kinds = 1;
    for (size_t i = 1; i < v->n_ways; i++) {
        kinds += v->ways[i].kind != v->ways[i - 1].kind;
    }
    training_describe_forest(v->forest);
    training_describe_means(&v->how, means, sizeof means);
    if (kinds == 1) {
        phl_kind kind = v->ways[0].kind;
        snprintf(models, sizeof models, "model %s",
                 kind == PHL_NO_KIND ? "classifier" : phl_kind_name(kind));
    } else {
        number_of(v->n_ways, "candidate", "candidates", models, sizeof models);
    }
    terminal_message("%s, %zu folds, by %s; %s", models, v->options.n_folds,
                     v->per_class ? "class" : "held-out likelihood (no classes)", means);
}

/* ---- files ---- */

/* The file that keeps trials, by default beside the run; a run is replaced only if that is asked
 * for, or if it is to be gone on with. */
static int choose_files(validation *v)
{
    const char *run = arguments_path(v->parsed, "output");
    const char *work = arguments_path(v->parsed, "work");
    struct stat known;
    v->work = work ? text_format("%s", work) : run ? text_format("%s.work", run) : NULL;
    v->options.work = v->work;
    if (run && strcmp(run, "-") == 0) {
        return usage_error(v->parsed->command, "a run is a file, it cannot go to standard output");
    }
    if (run && lstat(run, &known) == 0) {
        if (S_ISDIR(known.st_mode)) {
            return usage_error(v->parsed->command, "the output '%s' is a folder", run);
        }
        if (!arguments_flag(v->parsed, "force") && !phl_work_recognise(v->work)) {
            return usage_error(v->parsed->command, "%s exists already; --force replaces it", run);
        }
    }
    return EXIT_OK;
}

/* The choice, trained on all trees. */
static int save_choice(validation *v, const phl_cross_validation *result)
{
    const char *path = arguments_path(v->parsed, "output");
    bool quiet = arguments_flag(v->parsed, "quiet");
    bool best = strcmp(arguments_choice(v->parsed, "choose"), "best") == 0;
    size_t choice = best ? result->winner : result->chosen;
    const phl_choice_result *chosen = &result->choices[choice];
    phl_run *run = NULL;
    phl_error error = {0};
    phl_file_options file;
    char words[160];
    phl_file_options_init(&file);
    file.replace = arguments_flag(v->parsed, "force");
    validation_describe(result, choice, true, words, sizeof words);
    fflush(stdout);
    if (!quiet) {
        terminal_message("training on all trees: %s", words);
    }
    progress_begin(&v->line, quiet);
    v->line.chains = chosen->kind == PHL_TF && training_samples(&v->how);
    phl_status status = phl_refit(v->forest, &v->options, choice, &file, path, &run, &error);
    progress_end(&v->line);
    int code = EXIT_OK;
    if (status == PHL_ERR_CANCELLED) {
        terminal_message("interrupted; the same command goes on from %s", v->work);
        code = EXIT_INTERRUPTED;
    } else if (status != PHL_OK) {
        code = usage_report(v->parsed->command, &error);
    } else if (phl_run_kind(run) == PHL_NO_KIND) {
        if (!quiet) {
            terminal_message("run written to %s", path);
        }
    } else {
        code = training_end(v->parsed, run, path);
    }
    phl_run_free(run);
    if (code == EXIT_OK && !arguments_given(v->parsed, "work") && unlink(v->work) != 0) {
        terminal_message("cannot remove %s: %s", v->work, strerror(errno));
    }
    if (code == EXIT_OK && chosen->prior != PHL_PRIOR_CHOSEN && v->per_class && !quiet) {
        terminal_message("classify with --class-prior %s", validation_prior_name(chosen->prior));
    }
    return code;
}

/* ---- the command ---- */

/* A phl_evaluate_progress_fn. */
static void watch(const phl_evaluate_progress *p, void *context)
{
    validation *v = context;
    if (!v->told && p->done > 0 && p->training && !v->line.quiet) {
        terminal_message("%zu of %zu trainings are in %s already", p->done, p->all, v->work);
    }
    v->told = true;
    progress_evaluate(p, context);
}

static int tell_interrupted(const validation *v)
{
    if (v->work) {
        terminal_message("interrupted; what is done is in %s, and the same command goes on from "
                         "there",
                         v->work);
    } else {
        terminal_message("interrupted; with --work or -o it could go on");
    }
    return EXIT_INTERRUPTED;
}

static int validate(validation *v)
{
    phl_cross_validation *result = NULL;
    phl_error error = {0};
    int code = EXIT_OK;
    progress_begin(&v->line, arguments_flag(v->parsed, "quiet"));
    v->line.chains = training_samples(&v->how);
    interrupt_poll(true);
    phl_status status = phl_cross_validate(v->forest, &v->options, &result, &error);
    progress_end(&v->line);
    if (status == PHL_ERR_CANCELLED) {
        code = tell_interrupted(v);
    } else if (status != PHL_OK) {
        code = usage_report(v->parsed->command, &error);
    } else if (result->done < result->all) {
        if (!arguments_flag(v->parsed, "quiet")) {
            terminal_message("piece %zu of %zu: %zu of %zu trainings, in %s; 'phloem merge' puts "
                             "the pieces together",
                             v->options.piece, v->options.pieces, result->done, result->all,
                             v->work);
        }
    } else {
        if (arguments_flag(v->parsed, "json")) {
            validation_json(result);
        } else {
            validation_print(result);
        }
        if (arguments_path(v->parsed, "output")) {
            code = save_choice(v, result);
        }
    }
    interrupt_poll(false);
    phl_cross_validation_free(result);
    return code;
}

/* Everything but the trees. */
static int begin(validation *v)
{
    phl_evaluate_options_init(&v->options);
    int code = read_ways(v);
    code = code == EXIT_OK ? read_priors(v) : code;
    code = code == EXIT_OK ? choose_files(v) : code;
    v->options.structure = run_structure(v->parsed);
    v->options.progress = watch;
    v->options.report = progress_report;
    v->options.cancel = interrupt_asked;
    v->options.context = v;
    return code == EXIT_OK ? training_piece_read(v->parsed, &v->options.piece, &v->options.pieces)
                           : code;
}

static int run_evaluate(const cli_arguments *parsed)
{
    validation v = {.parsed = parsed};
    phl_forest *forest = NULL;
    int code = begin(&v);
    if (code == EXIT_OK) {
        code = forest_read(parsed, &forest, NULL);
        v.forest = forest;
    }
    code = code == EXIT_OK ? choose_task(&v) : code;
    code = code == EXIT_OK ? read_folds(&v) : code;
    if (code == EXIT_OK) {
        if (!arguments_flag(parsed, "quiet")) {
            describe(&v);
        }
        code = validate(&v);
    }
    training_clear(&v.how);
    free(v.ways);
    free(v.listed);
    free(v.priors);
    free(v.fold);
    free(v.work);
    phl_forest_free(forest);
    return code;
}

static const cli_option evaluate_rows[] = {
    {.name = "folds",
     .letter = 'k',
     .type = OPTION_INTEGER,
     .argument = "K",
     .least = 2,
     .most = 1000000,
     .fallback = "10",
     .excludes = "folds-file",
     .help = "divide the trees at random into K folds with nearly the same mix of "
             "classes"},
    {.name = "folds-file",
     .type = OPTION_PATH,
     .argument = "FILE",
     .help = "test folds, one per line: the numbers of its trees, counted from 1"},
    {.name = "states",
     .letter = 'C',
     .type = OPTION_LIST,
     .argument = "C,C,...",
     .fallback_note = "20 for tf, grammar 16, others 10",
     .help = "numbers of hidden states to choose from; grammar: of annotations"},
    OPTION_LIST_ROW("models", "MODEL,...",
                    "models to compare: grammar, tf, sp, full, td, each with every number of "
                    "--states or with one of its own (tf:10); classifier: a linear classifier "
                    "alone",
                    .excludes = "model learner partition"),
    OPTION_LIST_ROW("heads", "HEAD,...",
                    "with several: none and linear, each model without and with a linear head",
                    .excludes = "head"),
    OPTION_LIST_ROW("class-priors", "WHAT,...",
                    "class priors to compare: uniform, empirical, learned, chosen (by training)",
                    .excludes = "class-prior"),
    OPTION_OUTPUT_ROW("output", "RUN", "train what is chosen on all trees, and write it there",
                      .letter = 'o'),
    OPTION_FLAG_ROW("force", "replace RUN if it exists"),
    OPTION_CHOICE_ROW("choose", "WHICH", "one-se|best",
                      "what goes into RUN: the cheapest to train whose figure is within one "
                      "standard error of the best, or the best",
                      .fallback = "one-se"),
    OPTION_OUTPUT_ROW("work", "FILE",
                      "keep every training that is finished there; the same command goes on from "
                      "it",
                      .fallback_note = "RUN.work with -o, removed at the end"),
    OPTION_STRING_ROW("piece", "I/N",
                      "do piece I of N, counted from 1, of about the same cost, into --work; "
                      "'phloem merge' puts the pieces together",
                      .excludes = "output"),
    OPTION_STRUCTURE_ROW("slots"),
    OPTION_CLASS_PRIOR_ROW,
    OPTION_JSON_ROW("print one JSON object, with every fold"),
};
static const option_group evaluate_options = {"Evaluation", evaluate_rows,
                                              sizeof evaluate_rows / sizeof *evaluate_rows};
static const option_group *const groups[] = {
    &evaluate_options, &training_options, &gibbs_options,   &reading_options,
    &reading_formats,  &reading_caps,     &general_options, NULL};

static const example examples[] = {
    {"how many states classify best?", "phloem evaluate --model tf --states 2,4,8 train.trees"},
    {"models with and without a head; what is chosen becomes a run",
     "phloem evaluate train.trees --models grammar,tf:10,tf:20,classifier --heads none,linear -o "
     "best.run"},
    {"a piece of it on each of two machines, then together",
     "phloem evaluate train.trees --models tf,td --piece 1/2 --work p1.work"},
    {"...", "phloem merge p1.work p2.work -o all.work"},
    {"five folds, the better of two starts",
     "phloem evaluate --folds 5 --model td --restarts 2 --states 4,8 train.trees"},
    {"folds given in a file",
     "phloem evaluate --folds-file folds.txt --model td --states 8 glycans.trees"},
    {"without classes: which number of states fits unseen trees best?",
     "phloem evaluate --no-class --model sp --states 2,4,8,16 train.trees"},
    {NULL, NULL}};

const cli_command command_evaluate = {
    .name = "evaluate",
    .summary = "cross-validate models, and choose one",
    .description =
        "Trains on all folds but one and tests on that one, for each fold and each candidate: a "
        "model with a number of states, with or without a head. If the trees have classes, one "
        "model per class is trained and the test trees are classified; the best candidate has the "
        "highest mean accuracy. Without classes (or with --no-class) one model is trained, and the "
        "best one has the highest mean log-likelihood of the test trees.\n\n"
        "Figures are means over folds with their standard errors. A candidate that is not more "
        "than one standard error of the best worse than it may well be as good: of these the one "
        "that is cheapest to train is chosen. With -o it is trained on all trees, and written to "
        "RUN.\n\n"
        "With --work or -o every training that is finished is kept in a file. After Ctrl-C, which "
        "ends with code 130, after a kill or a crash, the same command goes on from there and ends "
        "with the same figures; with other trees, folds, options or seeds it is refused. The "
        "number of threads may change.\n\n"
        "All trees are kept in memory, since each is used in training for all folds but one.",
    .operands = "IN...",
    .operand_help = "files, folders (every file below with a known ending), or '-' for standard "
                    "input",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_evaluate,
};
