/* training_gibbs.c - the options of the sampler: its chains, its prior, what is held fixed. */
#include "print/terminal.h"
#include "training.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cli_option gibbs_rows[] = {
    {.name = "warmup",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 0,
     .most = PHL_MOST_ITERATIONS,
     .fallback_note = "half of the iterations",
     .help = "iterations before draws are kept; part of --iterations"},
    {.name = "chains",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 1,
     .most = PHL_MOST_CHAINS,
     .fallback = "4",
     .help = "independent chains, whose draws are used together"},
    {.name = "keep",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 1,
     .most = PHL_MOST_KEPT,
     .fallback = "10",
     .help = "draws kept of each chain"},
    {.name = "anneal",
     .type = OPTION_STRING,
     .argument = "T0:M0",
     .fallback_note = "no annealing",
     .help = "temperature of the partition moves at the start, and the iteration at "
             "which it reaches 1"},
    {.name = "sampler",
     .type = OPTION_CHOICE,
     .argument = "SAMPLER",
     .choices = "blocked|paper",
     .older = "seed=paper",
     .fallback = "blocked",
     .help = "blocked: exact; paper: the paper's own algorithm, for comparison "
             "only, since it does not leave the posterior invariant"},
    {.name = "clustering",
     .type = OPTION_CHOICE,
     .argument = "KIND",
     .choices = "hard|soft",
     .fallback = "hard",
     .help = "soft: a second stage in which a child state belongs to blocks by degrees"},
    {.name = "k",
     .type = OPTION_LIST,
     .argument = "K,...",
     .help = "keep the number of blocks of slots 1, 2, ... fixed; the other slots "
             "have 1"},
    {.name = "slots-min",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 0,
     .most = PHL_MOST_ACTIVE,
     .fallback = "0",
     .help = "least number of active slots"},
    {.name = "slots-max",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 0,
     .most = PHL_MOST_ACTIVE,
     .fallback = "5",
     .help = "greatest number of active slots"},
    {.name = "slot-support",
     .type = OPTION_REAL,
     .argument = "P",
     .low = 0,
     .high = 1,
     .fallback = "0.01",
     .help = "only slots that are filled in at least this share of a class's "
             "internal nodes may be active"},
    {.name = "core-max",
     .type = OPTION_INTEGER,
     .argument = "N",
     .least = 1,
     .most = 4294967295u,
     .fallback = "1048576",
     .help = "greatest number of cells of the core"},
    {.name = "phi",
     .type = OPTION_REAL,
     .argument = "X",
     .low = 0,
     .high = HUGE_VAL,
     .fallback = "2",
     .help = "penalty of a block: p(k) is proportional to exp(-X k)"},
    {.name = "alpha",
     .type = OPTION_REAL,
     .argument = "X",
     .low = 0,
     .high = HUGE_VAL,
     .fallback = "1",
     .help = "concentration of the core around its base"},
    {.name = "alpha0",
     .type = OPTION_REAL,
     .argument = "X",
     .low = 0,
     .high = HUGE_VAL,
     .fallback = "1",
     .help = "concentration of the base"},
    {.name = "beta",
     .type = OPTION_REAL,
     .argument = "X",
     .low = 0,
     .high = HUGE_VAL,
     .fallback = "1",
     .help = "Dirichlet parameter of the labels"},
    {.name = "gamma",
     .type = OPTION_REAL,
     .argument = "X",
     .low = 0,
     .high = HUGE_VAL,
     .fallback = "1",
     .help = "Dirichlet parameter of leaf states (tf) and of shapes (every model)"},
    {.name = "delta",
     .type = OPTION_REAL,
     .argument = "X",
     .low = 0,
     .high = HUGE_VAL,
     .fallback = "1",
     .help = "soft clustering: Dirichlet parameter of a state's blocks"},
    {.name = "update-concentration", .type = OPTION_FLAG, .help = "learn alpha and alpha0 as well"},
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
    int code = read_anneal(parsed, o);
    return code == EXIT_OK ? read_sizes(parsed, how) : code;
}
