/* cmd_train.c - phloem train: a model of the trees, or one per class, into a run file.
 *
 * Contents: before training, the command.
 */
#include "commands.h"
#include "forests.h"
#include "interrupt.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "runs.h"
#include "training.h"

#include <stdlib.h>
#include <string.h>

/* ---- before training ---- */

/* More states than nodes cannot all be learned. */
static int note_many_states(const cli_arguments *parsed, const phl_forest *forest,
                            const training *how)
{
    phl_stats *stats = NULL;
    phl_error error = {0};
    char nodes[80];
    if (phl_stats_compute(forest, &stats, &error) != PHL_OK) {
        return usage_report(parsed->command, &error);
    }
    uint64_t fewest = stats->nodes;
    for (size_t i = 0; i < stats->n_classes && how->options.per_class; i++) {
        fewest = stats->classes[i].nodes < fewest ? stats->classes[i].nodes : fewest;
    }
    phl_stats_free(stats);
    if (how->options.states > fewest && fewest && !how->options.states_auto) {
        number_of(fewest, "node", "nodes", nodes, sizeof nodes);
        terminal_message("note: there %s %s%s, too few to learn %u states from",
                         fewest == 1 ? "is" : "are", nodes,
                         how->options.per_class ? " in the smallest class" : "",
                         (unsigned)how->options.states);
    }
    return EXIT_OK;
}

static int describe(const cli_arguments *parsed, const phl_forest *forest, const training *how)
{
    char means[120], models[80];
    training_describe_forest(forest);
    training_describe_means(how, means, sizeof means);
    number_of(phl_forest_classes(forest), "class", "classes", models, sizeof models);
    bool grammar = how->options.kind == PHL_GRAMMAR, one = how->options.states == 1;
    char states[40] = "a number of";
    if (!how->options.states_auto) {
        snprintf(states, sizeof states, "%u", (unsigned)how->options.states);
    }
    terminal_message("model %s, %s %s%s, %s%s%s; %s", phl_kind_name(how->options.kind), states,
                     grammar ? one ? "annotation per label" : "annotations per label at most"
                     : one && !how->options.states_auto ? "state"
                                                        : "states",
                     how->options.states_auto ? " to be chosen" : "",
                     how->options.per_class ? "one model for each of " : "one model for all trees",
                     how->options.per_class ? models : "",
                     how->options.head == PHL_HEAD_LINEAR ? ", and a linear head" : "", means);
    return grammar ? EXIT_OK : note_many_states(parsed, forest, how);
}

/* ---- the command ---- */

static int train(const cli_arguments *parsed, const phl_forest *forest, const training *how,
                 progress_line *line)
{
    const char *path = arguments_path(parsed, "output");
    phl_run *run = NULL;
    phl_error error = {0};
    phl_file_options file;
    int code = EXIT_OK;
    phl_file_options_init(&file);
    file.replace = arguments_flag(parsed, "force");
    file.no_embed = arguments_flag(parsed, "no-embed");
    file.checkpoint_seconds = arguments_real(parsed, "checkpoint");
    if (!arguments_flag(parsed, "quiet")) {
        code = describe(parsed, forest, how);
    }
    if (code != EXIT_OK) {
        return code;
    }
    progress_begin(line, arguments_flag(parsed, "quiet"));
    line->json = strcmp(arguments_choice(parsed, "progress"), "json") == 0;
    line->chains = training_samples(how);
    interrupt_poll(true);
    phl_status status = phl_train_file(forest, &how->options, &file, path, &run, &error);
    progress_end(line);
    if (status == PHL_OK && training_members_missing(run) && !training_interrupted(run)) {
        code = training_members_add(parsed, forest, path, run);
    }
    if (status == PHL_OK && code == EXIT_OK) {
        code = training_end(parsed, run, path);
    } else if (status == PHL_OK) { /* has said why */
    } else if (status == PHL_ERR_CANCELLED) {
        terminal_message("interrupted, nothing was written");
        code = EXIT_INTERRUPTED;
    } else {
        code = usage_report(parsed->command, &error);
    }
    interrupt_poll(false);
    phl_run_free(run);
    return code;
}

/* A linear classifier or an expert, without a model of trees. */
static int train_alone(const cli_arguments *parsed, bool expert)
{
    phl_forest *forest = NULL;
    int code = forest_read(parsed, &forest, NULL);
    code = code != EXIT_OK ? code
           : expert        ? training_members_expert(parsed, forest)
                           : training_classifier(parsed, forest);
    phl_forest_free(forest);
    return code;
}

static int run_train(const cli_arguments *parsed)
{
    progress_line line = {0};
    phl_forest *forest = NULL;
    uint32_t *fold = NULL;
    training how = {0};
    training_members members = {0};
    int code = training_start_check(parsed);
    code = code == EXIT_OK ? training_members_read(parsed, &members) : code;
    bool alone = members.expert && members.n == 0;
    if (code == EXIT_OK && (alone || arguments_flag(parsed, "classifier"))) {
        return train_alone(parsed, alone);
    }
    if (code == EXIT_OK) {
        code = training_start_read(parsed, &members, &line, &how);
        code = code == EXIT_OK ? training_piece_choose(parsed, &how.options) : code;
    }
    if (code == EXIT_OK) {
        code = forest_read(parsed, &forest, NULL);
    }
    if (code == EXIT_OK) {
        training_choose_head(parsed, forest, &how);
        if (how.options.head == PHL_HEAD_NONE && arguments_given(parsed, "folds-file")) {
            code = usage_error(parsed->command,
                               "option --folds-file belongs to --classifier or --head linear");
        }
    }
    if (code == EXIT_OK) {
        code = training_read_folds(parsed, forest, &fold, &how.options.n_folds);
        how.options.fold = fold;
    }
    if (code == EXIT_OK) {
        code = train(parsed, forest, &how, &line);
    }
    training_clear(&how);
    free(fold);
    phl_forest_free(forest);
    return code;
}

static const cli_option run_rows[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_OUTPUT,
     .argument = "RUN",
     .required = true,
     .help = "file to write, usually named .run; it holds the state of training so "
             "far"},
    {.name = "force",
     .type = OPTION_FLAG,
     .help = "replace RUN if it exists, once the first iteration is done"},
    OPTION_CHECKPOINT_ROW,
    OPTION_PROGRESS_ROW,
    {.name = "no-embed",
     .type = OPTION_FLAG,
     .help = "leave the trees out of RUN to make it smaller; 'resume' then needs "
             "--data"},
    {.name = "states",
     .letter = 'C',
     .type = OPTION_INTEGER,
     .argument = "C",
     .word = "auto",
     .least = 1,
     .most = PHL_MOST_STATES,
     .fallback_note = "10, tf 20, grammar 16, td with --members 40",
     .help = "hidden states; grammar: annotations of a label at most; auto: the number under which "
             "trees held out are most likely, see below"},
    OPTION_INTEGER_ROW("states-max", "N", 1, PHL_MOST_STATES,
                       "with --states auto: the greatest number that is tried", .fallback = "40"),
    {.name = "per-class",
     .letter = 'c',
     .type = OPTION_FLAG,
     .help = "train one model per class, as 'classify' needs; every tree must have "
             "a class"},
    {.name = "members",
     .type = OPTION_STRING,
     .argument = "LIST",
     .excludes = "model piece piece-classes piece-chains",
     .help =
         "what labels are filled in and odd trees are found by, together: some of tf, sp, full, "
         "td and grammar, and expert, separated by commas; other options are for the first "
         "model, which also draws trees and classifies; 'expert' alone is a predictor on the "
         "labels around a node, without a model of trees"},
    {.name = "classifier",
     .type = OPTION_FLAG,
     .excludes = "members per-class head calibrate model learner states states-max iterations "
                 "restarts tolerance "
                 "smoothing partition "
                 "checkpoint no-embed progress warmup chains keep anneal sampler clustering k "
                 "slots-min slots-max slot-support core-max phi alpha alpha0 beta gamma delta "
                 "update-concentration recycle",
     .help = "train no model of trees but a linear classifier on their pieces, which "
             "is fast and usually classifies best; every tree must have a class"},
    {.name = "folds-file",
     .type = OPTION_PATH,
     .argument = "FILE",
     .help = "with --classifier or --head: folds of the cross-validation that chooses "
             "its settings, one per line, the numbers of its trees, counted from 1; without, "
             "5 folds at random"},
};
const option_group run_options = {"Run", run_rows, sizeof run_rows / sizeof *run_rows};
static const option_group *const groups[] = {&run_options,   &training_options, &gibbs_options,
                                             &piece_options, &reading_options,  &reading_formats,
                                             &reading_caps,  &general_options,  NULL};

static const example examples[] = {
    {"one model of all trees", "phloem train train.trees -o trees.run"},
    {"one model per class, to classify with",
     "phloem train --per-class --states 8 train.elastic.tree -o classes.run"},
    {"tree grammars and a linear classifier, which answer together",
     "phloem train --per-class --model grammar --head linear train.elastic.tree -o both.run"},
    {"a linear classifier, for those who only classify",
     "phloem train --classifier train.elastic.tree -o classifier.run"},
    {"the best of five random starts, top-down",
     "phloem train --model td --restarts 5 train.trees -o td.run"},
    {"every joint state of the children, within 4 GiB",
     "phloem train --model full --states 4 --memory-limit 4G train.trees -o full.run"},
    {"only some classes, with another seed",
     "phloem train --per-class --only-class a,b --seed 7 train.trees -o ab.run"},
    {NULL, NULL}};

const cli_command command_train = {
    .name = "train",
    .summary = "learn a model of trees, or one per class",
    .description =
        "Fits a hidden tree Markov model to the trees and writes it to a run "
        "file, from which other commands use it. Unknown labels are treated as "
        "missing data; trees with such labels are used as well.\n\n"
        "The model is a tree grammar unless --model says otherwise: labels split into "
        "annotations, learned from several starts, which predictions are averaged over; "
        "with --per-class a linear head is trained beside it. 'tf' is learned by "
        "drawing from the posterior: several chains run, several draws of each "
        "are kept, and predictions are averaged over the draws. The other "
        "models are fitted by EM, which ends when an iteration gains less than "
        "--tolerance, or after --iterations; the table at the end says why it "
        "ended.\n\n"
        "The run file is written after the first iteration and updated every "
        "--checkpoint seconds; it can be read during training. Ctrl-C finishes "
        "the current iteration, saves the state and exits with code 130; a "
        "second Ctrl-C ends at once. After either, and after a crash, 'phloem "
        "resume' goes on and ends with the same model.\n\n"
        "With --states auto every tenth tree of a class is held out, models with 5, 10, "
        "20, ... states, at last --states-max, are trained on the rest by four chains at most, "
        "until a number is clearly worse than one before, and the number under which "
        "the trees held out are most likely is taken for a training on all trees; it "
        "is the same for all classes. This is a choice by held-out likelihood, not "
        "part of the model. Nothing is written before the choice is made; if that is "
        "interrupted, it begins anew.\n\n"
        "With --classifier, multinomial logistic regression on complete subtrees, "
        "neighbours and labels ('phloem features') is trained instead. How strongly "
        "it is held back, which features it uses and a temperature are chosen by the "
        "log-loss of trees left out. It takes seconds, and RUN is written at its end: "
        "there is nothing to resume.",
    .operands = "IN...",
    .operand_help = "files, folders (every file below with a known ending), or '-' for standard "
                    "input",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_train,
};
