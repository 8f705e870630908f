/* training_gibbs.c - the options of the sampler: its chains, its prior, what is held fixed. */
#include "print/terminal.h"
#include "training.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cli_option gibbs_rows[] = {
    OPTION_INTEGER_ROW("warmup", "N", 0, PHL_MOST_ITERATIONS,
                       "iterations before draws are kept; part of --iterations",
                       .fallback_note = "half of the iterations"),
    OPTION_INTEGER_ROW("chains", "N", 1, PHL_MOST_CHAINS,
                       "independent chains, whose draws are used together", .fallback = "4"),
    OPTION_INTEGER_ROW("keep", "N", 1, PHL_MOST_KEPT, "draws kept of each chain", .fallback = "10"),
    OPTION_STRING_ROW("anneal", "T0:M0",
                      "temperature of the partition moves at the start, and the iteration at "
                      "which it reaches 1",
                      .fallback_note = "no annealing"),
    OPTION_CHOICE_ROW("sampler", "SAMPLER", "blocked|paper",
                      "blocked: exact; paper: the paper's own algorithm, for comparison "
                      "only, since it does not leave the posterior invariant",
                      .older = "seed=paper", .fallback = "blocked"),
    OPTION_CHOICE_ROW("clustering", "KIND", "hard|soft",
                      "soft: a second stage in which a child state belongs to blocks by degrees",
                      .fallback = "hard"),
    OPTION_LIST_ROW("k", "K,...",
                    "keep the number of blocks of slots 1, 2, ... fixed; the other slots "
                    "have 1"),
    OPTION_INTEGER_ROW("slots-min", "N", 0, PHL_MOST_ACTIVE, "least number of active slots",
                       .fallback = "0"),
    OPTION_INTEGER_ROW("slots-max", "N", 0, PHL_MOST_ACTIVE, "greatest number of active slots",
                       .fallback = "5"),
    OPTION_REAL_ROW("slot-support", "P", 0, 1,
                    "only slots that are filled in at least this share of a class's "
                    "internal nodes may be active",
                    .fallback = "0.01"),
    OPTION_INTEGER_ROW("core-max", "N", 1, 4294967295u, "greatest number of cells of the core",
                       .fallback = "1048576"),
    OPTION_REAL_ROW("phi", "X", 0, HUGE_VAL,
                    "penalty of a block: p(k) is proportional to exp(-X k)", .fallback = "2"),
    OPTION_REAL_ROW("alpha", "X", 0, HUGE_VAL, "concentration of the core around its base",
                    .fallback = "1"),
    OPTION_REAL_ROW("alpha0", "X", 0, HUGE_VAL, "concentration of the base", .fallback = "1"),
    OPTION_REAL_ROW("beta", "X", 0, HUGE_VAL, "Dirichlet parameter of the labels",
                    .fallback = "0.05"),
    OPTION_REAL_ROW("gamma", "X", 0, HUGE_VAL,
                    "Dirichlet parameter of leaf states (tf) and of shapes (every model)",
                    .fallback = "1"),
    OPTION_REAL_ROW("delta", "X", 0, HUGE_VAL,
                    "soft clustering: Dirichlet parameter of a state's blocks", .fallback = "1"),
    OPTION_FLAG_ROW("update-concentration", "learn alpha and alpha0 as well"),
    OPTION_INTEGER_ROW("recycle", "N", 0, PHL_MOST_ITERATIONS,
                       "tries of each chain, in its warm-up, to put two states together and to "
                       "divide another one between them; 0: none",
                       .fallback = "200"),
};
const option_group gibbs_options = {"Sampling (model tf)", gibbs_rows,
                                    sizeof gibbs_rows / sizeof *gibbs_rows};

/* --anneal T0:m0 */
static int read_anneal(const cli_arguments *parsed, phl_train_options *o)
{
    const char *text = arguments_string(parsed, "anneal");
    char *end = NULL;
    if (!text) {
        return EXIT_OK;
    }
    errno = 0;
    double start = strtod(text, &end);
    bool good = end != text && *end == ':' && start >= 1 && isfinite(start);
    const char *second = good ? end + 1 : text;
    unsigned long long until = strtoull(second, &end, 10);
    if (!good || end == second || *end != '\0' || second[0] == '-' || errno != 0) {
        return usage_error(parsed->command,
                           "option --anneal: found '%.100s', expected a temperature of 1 or more "
                           "and an iteration, for example 10:50",
                           text);
    }
    o->anneal_start = start;
    o->anneal_end = (size_t)until;
    return EXIT_OK;
}

/* --k 2,2,2 */
static int read_sizes(const cli_arguments *parsed, training *how)
{
    size_t n = 0;
    const char *const *items = arguments_list(parsed, "k", &n);
    if (n == 0) {
        return EXIT_OK;
    }
    how->sizes = terminal_allocate(n, sizeof *how->sizes);
    for (size_t i = 0; i < n; i++) {
        char *end = NULL;
        unsigned long number = strtoul(items[i], &end, 10);
        if (end == items[i] || *end != '\0' || items[i][0] == '-' || number < 1 ||
            number > PHL_MOST_STATES + 1) {
            return usage_error(parsed->command,
                               "option --k: found '%.100s', expected whole numbers from 1 on, "
                               "for example 2,2,3",
                               items[i]);
        }
        how->sizes[i] = (uint32_t)number;
    }
    how->options.sizes = how->sizes;
    how->options.n_sizes = n;
    return EXIT_OK;
}

int training_gibbs_read(const cli_arguments *parsed, training *how)
{
    phl_train_options *o = &how->options;
    if (arguments_given(parsed, "warmup")) {
        o->warmup = (size_t)arguments_integer(parsed, "warmup");
    }
    o->chains = (size_t)arguments_integer(parsed, "chains");
    o->keep = (size_t)arguments_integer(parsed, "keep");
    o->sampler = strcmp(arguments_choice(parsed, "sampler"), "paper") == 0 ? PHL_SAMPLER_PAPER
                                                                           : PHL_SAMPLER_BLOCKED;
    o->soft = strcmp(arguments_choice(parsed, "clustering"), "soft") == 0;
    o->slots_min = (uint32_t)arguments_integer(parsed, "slots-min");
    if (arguments_given(parsed, "slots-max")) {
        o->slots_max = (uint32_t)arguments_integer(parsed, "slots-max");
    }
    o->slot_support = arguments_real(parsed, "slot-support");
    o->core_max = arguments_integer(parsed, "core-max");
    o->phi = arguments_real(parsed, "phi");
    o->alpha = arguments_real(parsed, "alpha");
    o->alpha0 = arguments_real(parsed, "alpha0");
    o->beta = arguments_real(parsed, "beta");
    o->gamma = arguments_real(parsed, "gamma");
    o->delta = arguments_real(parsed, "delta");
    o->update_concentration = arguments_flag(parsed, "update-concentration");
    o->recycle = (size_t)arguments_integer(parsed, "recycle");
    int code = read_anneal(parsed, o);
    return code == EXIT_OK ? read_sizes(parsed, how) : code;
}
