/* cmd_diagnose.c - phloem diagnose: can a run be trusted? */
#include "commands.h"
#include "print/diagnoses.h"
#include "print/terminal.h"
#include "runs.h"

static int diagnose(const cli_arguments *parsed, const phl_run *run)
{
    const char *name = arguments_string(parsed, "class");
    phl_diagnose_options options;
    phl_diagnosis diagnosis = {0};
    phl_error error = {0};
    int code = EXIT_OK;
    phl_diagnose_options_init(&options);
    options.allow_few = arguments_flag(parsed, "allow-few");
    if (name) {
        options.class_index = run_find_class(parsed, run, name, &code);
        if (options.class_index == SIZE_MAX) {
            return code;
        }
    }
    if (phl_diagnose(run, &options, &diagnosis, &error) != PHL_OK) {
        return usage_report(parsed->command, &error);
    }
    if (arguments_flag(parsed, "json")) {
        diagnose_json(&diagnosis, run);
    } else {
        char text[80];
        terminal_fact("run", parsed->operands[0]);
        snprintf(text, sizeof text, "%s, by %s", phl_kind_name(phl_run_kind(run)),
                 diagnosis.learner == PHL_LEARNER_GIBBS ? "Gibbs sampling" : "EM");
        terminal_fact("model", diagnosis.n_classes > 0 ? text : "none (a linear classifier alone)");
        diagnose_report(&diagnosis, run, name ? options.class_index : 0);
    }
    code = diagnosis.trouble ? EXIT_NO : EXIT_OK;
    phl_diagnosis_clear(&diagnosis);
    return code;
}

static int run_diagnose(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    int code = run_open(parsed, &run);
    if (code == EXIT_OK) {
        code = diagnose(parsed, run);
    }
    phl_run_free(run);
    return code;
}

static const cli_option diagnose_rows[] = {
    OPTION_STRING_ROW("class", "NAME", "diagnose only the model of this class, in full",
                      .fallback_note = "all"),
    OPTION_FLAG_ROW("allow-few", "do not count fewer than 4 chains as trouble"),
    OPTION_JSON_ROW("print everything as JSON"),
};
static const option_group diagnose_options = {"Report", diagnose_rows,
                                              sizeof diagnose_rows / sizeof *diagnose_rows};
static const option_group *const groups[] = {&diagnose_options, &general_options, NULL};

static const example examples[] = {
    {"do the chains agree?", "phloem diagnose trees.run"},
    {"one class in full", "phloem diagnose --class left classes.run"},
    {"in a script: go on only with a run that can be trusted",
     "phloem diagnose trees.run >report.txt && phloem label trees.run new.trees"},
    {NULL, NULL}};

const cli_command command_diagnose = {
    .name = "diagnose",
    .summary = "tell whether a run can be trusted; exit code 1 on trouble",
    .description = "Compares the chains of a run on quantities that do not depend on how "
                   "states are numbered. The verdict rests on the log-likelihood, the "
                   "number of active slots and the sum of their sizes k, which predictions "
                   "depend on. The log-joint depends on states that no prediction needs as "
                   "well, and is shown only.  Only draws after the warm-up and at "
                   "temperature 1 count.  Prints in sentences what is wrong, with advice.\n\n"
                   "R-hat compares chains with each other and their first halves with "
                   "their second: near 1 they agree.  ESS is the number of independent "
                   "draws that would be worth as much, for averages (bulk) and for the 5 "
                   "% and 95 % quantiles (tail).  MCSE is the standard error of the "
                   "mean.  They are computed as in the R package posterior.\n\n"
                   "Trouble is an R-hat above 1.05, a bulk ESS below 100 over all chains, "
                   "a quantity that is constant in every chain but differs between chains "
                   "(stuck), and fewer than 4 chains.  A quantity with one value in all "
                   "chains is constant, which is fine.  So is a log-likelihood whose means "
                   "over halves of chains differ by less than 0.02 nats a tree, or nine of ten "
                   "draws of every chain have the same number of slots or blocks (slight).  "
                   "Chains are in different modes if their log-likelihoods (the central "
                   "90 % of them) do not overlap; drift is the mean of the last quarter of "
                   "a chain's draws minus that of the first.  The overlap of the active "
                   "slots of two draws is the number of slots active in both over that of "
                   "slots active in either.\n\n"
                   "When chains disagree, predictions can still be used, because they "
                   "average over the chains; what one chain says about slots and states "
                   "is one possibility of several.\n\n"
                   "For EM, the final objectives of the restarts are compared.  Trouble "
                   "is an objective that is not finite or that fell; reaching the limit "
                   "of --iterations and having a single restart are only noted.\n\n"
                   "For a grammar, the starts are compared on the trees held out in training: "
                   "what the last split gained, and, with classes, whether both halves of the "
                   "starts, averaged, give a tree the same class.  Trouble is a class where "
                   "the probabilities of the two halves differ by more than 0.14 (the mean total "
                   "variation distance, over 10 trees or more), so that those of all starts "
                   "would differ by more than 0.1 with another seed.\n\n"
                   "A linear head is judged by its cross-validation: trouble is a log-loss or "
                   "accuracy of the trees left out that is no better than to say the shares of "
                   "the classes, probabilities that are far from the shares of right answers "
                   "(a calibration error above 0.05 plus what chance does to so many trees), "
                   "and a fit that did not come to its end.",
    .operands = "RUN",
    .operand_help = "a file written by 'phloem train'",
    .least_operands = 1,
    .most_operands = 1,
    .groups = groups,
    .examples = examples,
    .run = run_diagnose,
};
