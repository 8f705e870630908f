/* cmd_convert.c - phloem convert: trees from one format into another. */
#include "commands.h"
#include "forests.h"
#include "print/terminal.h"

/* The trees as --encode and --decode want them, in place of what was read. */
static int encode(const cli_arguments *parsed, phl_forest **forest)
{
    phl_error error = {0};
    phl_forest *made = NULL;
    bool back = arguments_given(parsed, "decode");
    if (back && arguments_given(parsed, "encode")) {
        return usage_error(parsed->command, "--encode and --decode exclude one another");
    }
    if (!back && !arguments_given(parsed, "encode")) {
        return EXIT_OK;
    }
    phl_status status = (back ? phl_forest_decode : phl_forest_encode)(
        *forest, PHL_ENCODING_FIRST_CHILD, &made, &error);
    if (status != PHL_OK) {
        return terminal_error(&error);
    }
    phl_forest_free(*forest);
    *forest = made;
    return EXIT_OK;
}

static int run(const cli_arguments *parsed)
{
    phl_forest *forest = NULL;
    int code = forest_read(parsed, &forest, NULL);
    if (code == EXIT_OK) {
        code = encode(parsed, &forest);
    }
    if (code == EXIT_OK) {
        code = forest_write(parsed, forest);
    }
    phl_forest_free(forest);
    return code;
}

static const cli_option encoding_rows[] = {
    OPTION_CHOICE_ROW("encode", "WAY", "first-child",
                      "write trees of first children and next siblings instead: the first "
                      "child of a node in its slot 1, its next sibling in slot 2"),
    OPTION_CHOICE_ROW("decode", "WAY", "first-child", "the way back")};
static const option_group encoding_options = {"Encoding", encoding_rows,
                                              sizeof encoding_rows / sizeof *encoding_rows};

static const option_group *const groups[] = {&encoding_options,
                                             &writing_options,
                                             &reading_options,
                                             &reading_formats,
                                             &reading_caps,
                                             &general_options,
                                             NULL};

static const example examples[] = {
    {"INEX trees as JSON lines, compressed", "phloem convert train.elastic.tree -o train.jsonl.gz"},
    {"every XML file below docs/, attributes included, class = folder",
     "phloem convert docs/ --attributes -o docs.trees"},
    {"the first ten trees of two classes on the terminal",
     "phloem convert train.elastic.tree --only-class 3,7 --limit 10 -o -"},
    {"dependency trees labelled by relation",
     "phloem convert en.conllu --conllu-label deprel -o en.trees"},
    {"sentences as trees of first children and next siblings",
     "phloem convert en.trees --encode first-child -o en.binary.trees"},
    {"from a pipe, skipping bad trees",
     "zcat big.trees.gz | phloem convert - --from brackets --skip-bad -o good.trees"},
    {NULL, NULL}};

const cli_command command_convert = {
    .name = "convert",
    .summary = "convert trees between formats",
    .description = "Reads all trees of the inputs and writes them to one output in "
                   "another format.\n\n"
                   "Formats: brackets (.trees), json (.jsonl), elastic (.elastic.tree), "
                   "xml (.xml), html (.html, read only), conllu (.conllu), ptb (.ptb, .mrg), "
                   "newick (.nwk), dbn (.dbn, read only) and ct (.ct, read only). "
                   "Files ending in "
                   ".gz or .zst are compressed. json expresses everything, brackets "
                   "everything but weights and ids. A tree that the output format cannot "
                   "express is an error that names the tree, and the output stays as it "
                   "was.",
    .operands = "IN...",
    .operand_help = "files, folders (every file below with a known ending), or '-' for standard "
                    "input",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run,
};
