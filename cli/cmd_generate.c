/* cmd_generate.c - phloem generate: the paper's labelling trees, synthetic document families,
 * trees of gates.
 *
 * Contents: generate symm, generate documents, generate logic, the command.
 */
#include "commands.h"
#include "forests.h"
#include "print/terminal.h"

#define COUNT(name_, least_, most_, default_, what_)                                               \
    {                                                                                              \
        .name = name_, .type = OPTION_INTEGER, .argument = "N", .least = least_, .most = most_,    \
        .fallback = default_, .help = what_                                                        \
    }
#define SHARE(name_, default_, what_)                                                              \
    {                                                                                              \
        .name = name_, .type = OPTION_REAL, .argument = "P", .low = 0, .high = 1,                  \
        .fallback = default_, .help = what_                                                        \
    }

enum { MOST_TREES = 100000000 };

static int write_and_free(const cli_arguments *parsed, phl_status status, phl_forest *forest,
                          const phl_error *error)
{
    int code =
        status == PHL_OK ? forest_write(parsed, forest) : usage_report(parsed->command, error);
    phl_forest_free(forest);
    return code;
}

/* ---- generate symm ---- */

static int run_symm(const cli_arguments *parsed)
{
    phl_symm_options options;
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_symm_options_init(&options);
    options.trees_per_class = (size_t)arguments_integer(parsed, "trees-per-class");
    int code = arguments_seed(parsed, &options.seed);
    if (code != EXIT_OK) {
        return code;
    }
    phl_status status = phl_generate_symm(&options, &forest, &error);
    return write_and_free(parsed, status, forest, &error);
}

static const cli_option symm_rows[] = {
    COUNT("trees-per-class", 1, MOST_TREES, "260", "trees of each of the three classes"),
    OPTION_SEED_ROW,
};
static const option_group symm_options = {"Trees", symm_rows, sizeof symm_rows / sizeof *symm_rows};
static const option_group *const symm_groups[] = {&writing_options, &symm_options, &general_options,
                                                  NULL};
static const example symm_examples[] = {
    {"the paper's data set: 260 trees of each class", "phloem generate symm -o symm.trees"},
    {"another random sample of it", "phloem generate symm --seed random -o symm2.trees"},
    {"a look at some trees", "phloem generate symm --trees-per-class 2 -o -"},
    {NULL, NULL}};

static const cli_command command_symm = {
    .name = "generate symm",
    .summary = "the paper's labelling trees",
    .description =
        "Ternary trees of three classes: left (20 to 25 nodes, slots filled with probability "
        "0.9, 0.3 and 0.1), symmetric (50 to 60 nodes, 0.6 each) and right (80 to 100 nodes, 0.1, "
        "0.3, 0.9). The label of a node is the number of its children, so that labels can be "
        "predicted from the shape alone.",
    .groups = symm_groups,
    .examples = symm_examples,
    .run = run_symm,
};

/* ---- generate documents ---- */

static int run_documents(const cli_arguments *parsed)
{
    phl_documents_options options;
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_documents_options_init(&options);
    options.classes = (size_t)arguments_integer(parsed, "classes");
    options.trees_per_class = (size_t)arguments_integer(parsed, "trees-per-class");
    options.nodes = (size_t)arguments_integer(parsed, "nodes");
    options.vocabulary = (size_t)arguments_integer(parsed, "vocabulary");
    options.noise = arguments_real(parsed, "noise");
    options.overlap = arguments_real(parsed, "overlap");
    int code = arguments_seed(parsed, &options.seed);
    if (code != EXIT_OK) {
        return code;
    }
    phl_status status = phl_generate_documents(&options, &forest, &error);
    return write_and_free(parsed, status, forest, &error);
}

static const cli_option documents_rows[] = {
    COUNT("classes", 1, 100000, "4", "number of document families, each with a grammar of its own"),
    COUNT("trees-per-class", 1, MOST_TREES, "100", "documents of each family"),
    COUNT("nodes", 1, 1000000, "40", "elements per document, on average"),
    COUNT("vocabulary", 2, 100000, "60", "element names, shared by all families"),
    SHARE("noise", "0.02", "chance that an element's name is replaced by a random one"),
    SHARE("overlap", "0.5", "share of the grammar rules that all families have in common"),
    OPTION_SEED_ROW,
};
static const option_group documents_options = {"Documents", documents_rows,
                                               sizeof documents_rows / sizeof *documents_rows};
static const option_group *const documents_groups[] = {&writing_options, &documents_options,
                                                       &general_options, NULL};
static const example documents_examples[] = {
    {"400 documents of four families", "phloem generate documents -o docs.trees"},
    {"the same as real XML files, in one folder per family",
     "phloem generate documents --to xml -o docs/"},
    {"a hard problem: ten families that are nearly alike",
     "phloem generate documents --classes 10 --overlap 0.9 --noise 0.1 -o hard.trees"},
    {NULL, NULL}};

static const cli_command command_documents = {
    .name = "generate documents",
    .summary = "families of XML-like documents",
    .description = "Documents of several families over one vocabulary of element names. "
                   "Each family is a class and has a grammar of its own, with optional "
                   "and repeated sections; overlap and noise make the families harder to "
                   "tell apart.",
    .groups = documents_groups,
    .examples = documents_examples,
    .run = run_documents,
};

/* ---- generate logic ---- */

static int run_logic(const cli_arguments *parsed)
{
    phl_logic_options options;
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_logic_options_init(&options);
    options.trees = (size_t)arguments_integer(parsed, "trees");
    options.depth = (size_t)arguments_integer(parsed, "depth");
    int code = arguments_seed(parsed, &options.seed);
    if (code != EXIT_OK) {
        return code;
    }
    phl_status status = phl_generate_logic(&options, &forest, &error);
    return write_and_free(parsed, status, forest, &error);
}

static const cli_option logic_rows[] = {
    COUNT("trees", 1, MOST_TREES, "2000", "number of trees"),
    COUNT("depth", 1, 8, "4", "links from the root to a leaf, at most"),
    OPTION_SEED_ROW,
};
static const option_group logic_options = {"Trees", logic_rows,
                                           sizeof logic_rows / sizeof *logic_rows};
static const option_group *const logic_groups[] = {&writing_options, &logic_options,
                                                   &general_options, NULL};
static const example logic_examples[] = {
    {"2,000 trees", "phloem generate logic -o logic.trees"},
    {"a look at some trees", "phloem generate logic --trees 3 --depth 2 -o -"},
    {NULL, NULL}};

static const cli_command command_logic = {
    .name = "generate logic",
    .summary = "trees of gates: labels that follow from the children's",
    .description =
        "Trees labelled 0 and 1. Leaves have a label at random; the label of any other node is the "
        "value of its gate: of one child 'not', of two 'implies', of three 'if' (the first chooses "
        "between the second and the third). The two last depend on the order of the children, so "
        "a model has to find which child positions matter, and how they act together.",
    .groups = logic_groups,
    .examples = logic_examples,
    .run = run_logic,
};

/* ---- the command ---- */

static const cli_command *const kinds[] = {&command_symm, &command_documents, &command_logic, NULL};

const cli_command command_generate = {
    .name = "generate",
    .summary = "generate trees: the paper's, document families, gates",
    .description = "Generates trees to learn from, for when you have none, or none whose "
                   "truth is known. The same seed gives the same trees.",
    .subcommands = kinds,
};
