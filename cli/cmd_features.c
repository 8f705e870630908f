/* cmd_features.c - phloem features: pieces of trees as numbers, for other programs.
 *
 * Contents: the dictionary, rows, the command.
 */
#include "blocks.h"
#include "commands.h"
#include "interrupt.h"
#include "print/rows.h"
#include "runs.h"

#include <errno.h>
#include <string.h>

typedef struct extraction {
    tree_blocks blocks; /* first: what callbacks get */
    const cli_arguments *parsed;
    const phl_forest *forest; /* the dictionary was made of */
    const phl_features *features;
    rows_file output;
    bool counts, csv;
    uint64_t trees;
} extraction;

/* ---- the dictionary ---- */

/* The sum of --groups; 0 after saying what is wrong. */
static unsigned groups_of(const cli_arguments *parsed)
{
    size_t n = 0;
    unsigned groups = 0;
    const char *const *names = arguments_list(parsed, "groups", &n);
    for (size_t i = 0; i < n; i++) {
        unsigned group = 1;
        while (group < PHL_FEATURES_ALL && strcmp(phl_features_group_name(group), names[i]) != 0) {
            group <<= 1;
        }
        if (group > PHL_FEATURES_ALL) {
            usage_error(parsed->command, "option --groups: found '%s', expected S, B, BG, L or P1",
                        names[i]);
            return 0;
        }
        groups |= group;
    }
    return groups;
}

/* Classes and features, each with its number in the output. */
static int write_dictionary(const extraction *e)
{
    static const char *const columns[] = {"kind", "number", "name"};
    const char *path = arguments_path(e->parsed, "dictionary");
    rows_file result = {.placing.file = -1};
    row_writer rows;
    phl_error error = {0};
    phl_status status = PHL_OK;
    if (!path) {
        return EXIT_OK;
    }
    int code = rows_file_open(&result, path);
    if (code != EXIT_OK) {
        return code;
    }
    rows_begin(&rows, result.file, false, columns, 3);
    for (size_t i = 0; i < phl_forest_classes(e->forest); i++) {
        rows_text(&rows, "class");
        rows_count(&rows, i + 1);
        rows_text(&rows, phl_forest_class_name(e->forest, (int32_t)i));
    }
    for (size_t i = 0; status == PHL_OK && i < phl_features_count(e->features); i++) {
        char *text = NULL;
        status = interrupt_asked(NULL) ? PHL_ERR_CANCELLED
                                       : phl_features_text(e->features, i, &text, &error);
        if (status == PHL_OK) {
            rows_text(&rows, phl_features_group_name(phl_features_group(e->features, i)));
            rows_count(&rows, i + 1);
            rows_text(&rows, text);
        }
        phl_free(text);
    }
    rows_end(&rows);
    if (status != PHL_OK) {
        code = status == PHL_ERR_CANCELLED ? EXIT_INTERRUPTED
                                           : usage_report(e->parsed->command, &error);
    }
    return rows_file_close(&result, code);
}

/* ---- rows ---- */

/* Number of a tree's class, from 1; 0: none, or none of those that the dictionary has. */
static size_t class_number(const extraction *e, const phl_tree_at *at)
{
    const char *name = forest_tree_class(at->block, at->tree);
    int32_t found = name ? phl_forest_find_class(e->forest, name) : PHL_NO_CLASS;
    return found < 0 ? 0 : (size_t)found + 1;
}

static phl_status take_features(const phl_tree_at *at, const phl_tree_features *row, void *context,
                                phl_error *error)
{
    extraction *e = context;
    FILE *file = e->output.file;
    size_t class_index = class_number(e, at);
    char number[NUMBER_SIZE];
    (void)error;
    if (!e->csv) {
        fprintf(file, "%zu", class_index);
    }
    for (size_t i = 0; i < row->n; i++) {
        if (e->counts) {
            snprintf(number, sizeof number, "%llu", (unsigned long long)row->count[i]);
        } else {
            number_exact(row->value[i], number);
        }
        if (e->csv) {
            fprintf(file, "%zu,%zu,%u,%s\n", at->number + 1, class_index, row->feature[i] + 1,
                    number);
        } else {
            fprintf(file, " %u:%s", row->feature[i] + 1, number);
        }
    }
    if (!e->csv) {
        fputc('\n', file);
    }
    e->trees++;
    int code = ferror(file) ? rows_file_close(&e->output, EXIT_OK) : EXIT_OK; /* says why */
    return blocks_result(&e->blocks, at, code);
}

/* ---- the command ---- */

static void summarise(const extraction *e)
{
    char trees[80], features[80];
    if (!arguments_flag(e->parsed, "quiet")) {
        terminal_message("%s with %s written to %s",
                         number_of(e->trees, "tree", "trees", trees, sizeof trees),
                         number_of(phl_features_count(e->features), "feature", "features", features,
                                   sizeof features),
                         strcmp(e->output.path, "-") == 0 ? "standard output" : e->output.path);
    }
}

/* Everything is there but the source of the trees. */
static int extract(extraction *e, const phl_features_options *options)
{
    phl_error error = {0};
    phl_status status = PHL_OK;
    int code = EXIT_OK;
    if (arguments_given(e->parsed, "like")) {
        code = blocks_open(&e->blocks, e->parsed, e->parsed->operands, e->parsed->n_operands);
    } else {
        e->blocks = (tree_blocks){.parsed = e->parsed, .told = true};
        status = phl_source_forest(e->forest, &e->blocks.source, &error);
    }
    if (code == EXIT_OK && status == PHL_OK) {
        code = rows_file_open(&e->output, arguments_path(e->parsed, "output"));
    }
    if (code != EXIT_OK) {
        return code;
    }
    if (e->csv) {
        fputs("tree,class,feature,value\n", e->output.file);
    }
    phl_features_options own = *options;
    own.context = e;
    if (status == PHL_OK) {
        status = phl_features_extract(e->features, e->blocks.source, &own, take_features, &error);
    }
    code = blocks_finish(&e->blocks, status, &error);
    code = code == EXIT_OK ? write_dictionary(e) : code;
    const char *path = e->output.path;
    code = rows_file_close(&e->output, code);
    if (code == EXIT_OK) {
        e->output.path = path;
        summarise(e);
    }
    return code;
}

static int run_features(const cli_arguments *parsed)
{
    extraction e = {.parsed = parsed, .output.placing.file = -1};
    phl_features_options options;
    phl_forest *forest = NULL;
    phl_features *features = NULL;
    phl_error error = {0};
    const char *like = arguments_path(parsed, "like");
    phl_features_options_init(&options);
    options.groups = groups_of(parsed);
    options.least_trees = (size_t)arguments_integer(parsed, "least-trees");
    options.threads = arguments_threads(parsed);
    options.cancel = interrupt_asked;
    e.counts = strcmp(arguments_choice(parsed, "values"), "counts") == 0;
    e.csv = strcmp(arguments_choice(parsed, "to"), "csv") == 0;
    int code = options.groups == 0 ? EXIT_USAGE : EXIT_OK;
    if (code == EXIT_OK) {
        code = like ? forest_read_paths(parsed, &like, 1, &forest, NULL)
                    : forest_read(parsed, &forest, NULL);
    }
    if (code == EXIT_OK && phl_features_create(forest, &options, &features, &error) != PHL_OK) {
        code = usage_report(parsed->command, &error);
    }
    if (code == EXIT_OK) {
        e.forest = forest;
        e.features = features;
        code = extract(&e, &options);
        code = rows_file_close(&e.output, code);
    }
    blocks_close(&e.blocks);
    phl_features_free(features);
    phl_forest_free(forest);
    return code;
}

static const cli_option features_rows[] = {
    OPTION_OUTPUT_ROW("output", "OUT",
                      "file to write, '-' for standard output; replaced only when complete",
                      .letter = 'o', .required = true),
    OPTION_OUTPUT_ROW(
        "dictionary", "FILE",
        "also write what the numbers stand for: classes, and each feature as a small tree in "
        "brackets",
        .letter = 'd'),
    OPTION_CHOICE_ROW("to", "FORMAT", "svmlight|csv",
                      "svmlight: one line per tree; csv: one line per feature of a tree",
                      .letter = 't', .fallback = "svmlight"),
    OPTION_CHOICE_ROW("values", "WHAT", "scaled|counts",
                      "scaled: square roots of shares, so that the squares of a tree add up "
                      "to 1 (features without a number included); counts: how often a "
                      "feature occurs in the tree",
                      .fallback = "scaled"),
    OPTION_LIST_ROW(
        "groups", "G,G,...",
        "S: complete subtrees; B: two neighbours under their parent; BG: the same under the "
        "parent's parent; L: labels; P1: a label under another",
        .fallback = "S,B,BG,L,P1"),
    OPTION_INTEGER_ROW("least-trees", "N", 1, UINT32_MAX,
                       "leave out features that occur in fewer distinct trees", .fallback = "1"),
    OPTION_PATH_ROW("like", "FILE",
                    "number features and classes as for the trees of this file; others "
                    "that occur in IN get no number"),
};
static const option_group features_options = {"Features", features_rows,
                                              sizeof features_rows / sizeof *features_rows};
static const option_group *const groups[] = {&features_options, &reading_options, &reading_formats,
                                             &reading_caps,     &general_options, NULL};

static const example examples[] = {
    {"for scikit-learn's load_svmlight_file, with names",
     "phloem features train.trees -o train.svm -d train.tsv"},
    {"other trees, with the same numbers",
     "phloem features --like train.trees test.trees -o test.svm"},
    {"how often each label and each pair of labels occurs",
     "phloem features --groups L,P1 --values counts --to csv train.trees -o train.csv"},
    {NULL, NULL}};

const cli_command command_features = {
    .name = "features",
    .summary = "write the pieces of trees as numbers, for other programs",
    .description = "Writes which pieces each tree is made of: complete subtrees, "
                   "neighbours among children, labels. A line begins with the number of "
                   "the tree's class, from 1 (0: no class, or one that --like does not "
                   "have); then its features follow as number:value, in ascending "
                   "order.\n\n"
                   "Empty slots between children count as one gap, an unknown label is a "
                   "symbol of its own, and a node without children has no neighbours. "
                   "Weights of trees are ignored.",
    .operands = "IN...",
    .operand_help = "files, folders (every file below with a known ending), or '-' for standard "
                    "input",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run_features,
};
