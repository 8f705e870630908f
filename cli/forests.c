/* forests.c - reading and writing trees as the options say; see forests.h.
 *
 * Contents: option tables, names, reports from the library, reading, writing.
 */
#include "forests.h"
#include "interrupt.h"
#include "print/terminal.h"

#include <inttypes.h>
#include <string.h>

#define FORMATS "brackets|json|elastic|xml|html|conllu|ptb|newick|dbn|ct"
#define FORMATS_WRITTEN "brackets|json|elastic|xml|conllu|ptb|newick"
#define CAP(name_, what_, default_)                                                                \
    {                                                                                              \
        .name = name_, .type = OPTION_INTEGER, .argument = "N", .least = 1, .most = UINT64_MAX,    \
        .fallback_note = default_, .help = what_                                                   \
    }
#define GROUP(title_, rows_)                                                                       \
    {                                                                                              \
        title_, rows_, sizeof rows_ / sizeof *rows_                                                \
    }

/* ---- option tables ---- */

static const cli_option reading_rows[] = {
    OPTION_CHOICE_ROW("from", "FORMAT", FORMATS, "format of the input", .letter = 'f',
                      .fallback_note = "by file name, else by content"),
    OPTION_STRING_ROW("class", "NAME", "give every tree this class",
                      .excludes = "no-class class-by-folder class-level",
                      .fallback_note = "as the input says"),
    OPTION_FLAG_ROW("no-class", "drop classes, once --only-class has made its choice"),
    OPTION_FLAG_ROW("class-by-folder",
                    "the class of a tree is the name of the folder its file is in; always "
                    "so for XML and HTML"),
    OPTION_INTEGER_ROW("class-level", "N", 1, UINT32_MAX,
                       "the class is the name of the N-th folder below the folder that was named: "
                       "1 for the folders in it",
                       .excludes = "class-by-folder", .fallback_note = "not"),
    OPTION_LIST_ROW("ending", "E=FORMAT,...",
                    "files with this ending are of this format, as in svg=xml, also in folders"),
    OPTION_STRING_ROW("files-from", "LIST",
                      "read also the files and folders named in the file LIST ('-' for standard "
                      "input), one in a line, or separated by NUL bytes"),
    OPTION_LIST_ROW("only-class", "A,B,...",
                    "use only trees of these classes; '\\,' stands for a comma in a name"),
    OPTION_INTEGER_ROW("limit", "N", 1, SIZE_MAX, "stop after N trees", .letter = 'n',
                       .fallback_note = "all"),
    OPTION_FLAG_ROW("skip-bad", "report and count bad trees, and go on with the next"),
    OPTION_FLAG_ROW("no-sharing",
                    "store every subtree separately, even equal ones (for comparisons)"),
};
const option_group reading_options = GROUP("Reading", reading_rows);

static const cli_option format_rows[] = {
    OPTION_FLAG_ROW("attributes", "XML, HTML: attributes too, as leaves labelled @name"),
    OPTION_FLAG_ROW("text", "XML, HTML: text too, as leaves labelled #text"),
    OPTION_STRING_ROW("xml-label", "name+ATTR",
                      "XML, HTML: the value of an attribute is part of the label, as in div+menu",
                      .fallback_note = "the name alone"),
    OPTION_LIST_ROW("html-skip", "A,B,...",
                    "HTML: leave out these elements and what is in them, as in script,style,svg"),
    OPTION_CHOICE_ROW("lengths", "WHAT", "drop|bin",
                      "Newick: lengths of branches, by powers of two, as part of labels, or not",
                      .fallback = "drop"),
    OPTION_CHOICE_ROW("unpaired", "WHAT", "bases|runs",
                      "RNA: each unpaired base is a leaf, or each run of them",
                      .fallback = "bases"),
    OPTION_CHOICE_ROW("knots", "WHAT", "refuse|drop",
                      "RNA: pairs that cross: an error, or the one that opens later is left out",
                      .fallback = "refuse"),
    OPTION_FLAG_ROW("family", "RNA: the second word of a title is the class"),
    OPTION_CHOICE_ROW("words", "WHAT", "keep|drop", "parse trees: words as leaves, or not at all",
                      .fallback = "keep"),
    OPTION_CHOICE_ROW(
        "conllu-label", "COLUMN", "upos|deprel|form|upos+deprel|form+upos|form+deprel",
        "CoNLL-U: the column that holds the label, or two of them: NOUN+nsubj", .fallback = "upos"),
};
const option_group reading_formats = GROUP("Formats", format_rows);

static const cli_option cap_rows[] = {
    CAP("max-nodes", "nodes per tree", "100,000,000"), /* first: see reading_caps_but_nodes */
    CAP("max-children", "highest slot of a child", "10,000,000"),
    CAP("max-depth", "XML, HTML: depth of elements", "10,000"),
    CAP("max-attributes", "XML, HTML: attributes of an element", "10,000"),
    CAP("max-name", "bytes of a label or class", "65,536"),
    CAP("max-token", "bytes of a line or of one piece of markup",
        "1 GiB; XML 16 MiB; an HTML page 64 MiB"),
    CAP("max-ratio", "size of a compressed file's content in multiples of its own", "1,000"),
};
const option_group reading_caps = GROUP("Caps on input", cap_rows);
const option_group reading_caps_but_nodes = {"Caps on input", cap_rows + 1,
                                             sizeof cap_rows / sizeof *cap_rows - 1};

#define WRITING_ROWS(required_, what_)                                                             \
    {.name = "output",                                                                             \
     .letter = 'o',                                                                                \
     .type = OPTION_OUTPUT,                                                                        \
     .argument = "OUT",                                                                            \
     .required = required_,                                                                        \
     .help = what_ ", '-' for standard output; compressed if its name ends in .gz or .zst; "       \
                   "replaced only when complete"},                                                 \
        {.name = "to",                                                                             \
         .letter = 't',                                                                            \
         .type = OPTION_CHOICE,                                                                    \
         .argument = "FORMAT",                                                                     \
         .choices = FORMATS_WRITTEN,                                                               \
         .fallback_note = "by the name of OUT, else brackets",                                     \
         .help = "format to write; xml writes one file per tree into the folder OUT, with one "    \
                 "folder per class"},                                                              \
    {                                                                                              \
        .name = "force", .type = OPTION_FLAG,                                                      \
        .help = "XML: write into a folder that is not empty; other formats: replace a run"         \
    }

static const cli_option writing_rows[] = {WRITING_ROWS(true, "file to write")};
const option_group writing_options = GROUP("Output", writing_rows);
static const cli_option writing_if_asked_rows[] = {
    WRITING_ROWS(false, "write the trees to a file")};
const option_group writing_if_asked = GROUP("Output", writing_if_asked_rows);

/* ---- names ---- */

char *forest_tree_source(const phl_forest *forest, size_t tree, char *buffer)
{
    const char *file = phl_tree_file(forest, tree);
    uint64_t line = phl_tree_line(forest, tree);
    if (!file) {
        buffer[0] = '\0';
    } else if (line) {
        snprintf(buffer, SOURCE_SIZE, "%.4096s:%" PRIu64, file, line);
    } else {
        snprintf(buffer, SOURCE_SIZE, "%.4096s", file);
    }
    return buffer;
}

const char *forest_tree_class(const phl_forest *forest, size_t tree)
{
    int32_t number = phl_tree_class(forest, tree);
    return number == PHL_NO_CLASS ? NULL : phl_forest_class_name(forest, number);
}

const char *forest_label(const phl_forest *forest, int32_t label)
{
    return label == PHL_UNKNOWN ? NULL : phl_forest_label_name(forest, label);
}

/* ---- reports from the library ---- */

enum { REPORTS_SHOWN = 20 };

static void report(const phl_error *error, void *context)
{
    read_reports *reports = context;
    if (error->status != PHL_OK) {
        reports->skipped++;
    }
    if (reports->quiet || reports->skipped > REPORTS_SHOWN) {
        return;
    }
    terminal_report(error->status == PHL_OK ? "note: " : "skipped: ", error);
}

/* ---- reading ---- */

static phl_format format_of(const cli_arguments *parsed, const char *name)
{
    const char *format = arguments_choice(parsed, name);
    return format ? phl_format_find(format) : PHL_FORMAT_AUTO;
}

void forest_read_options(const cli_arguments *parsed, read_reports *reports, phl_read_options *o)
{
    *reports = (read_reports){.quiet = arguments_flag(parsed, "quiet")};
    phl_read_options_init(o);
    o->format = format_of(parsed, "from");
    o->no_sharing = arguments_flag(parsed, "no-sharing");
    o->skip_bad = arguments_flag(parsed, "skip-bad");
    o->class_name = arguments_string(parsed, "class");
    o->no_class = arguments_flag(parsed, "no-class");
    o->class_by_folder = arguments_flag(parsed, "class-by-folder");
    o->class_level = (uint32_t)arguments_integer(parsed, "class-level");
    o->endings = arguments_list(parsed, "ending", &o->n_endings);
    o->only_classes = arguments_list(parsed, "only-class", &o->n_only_classes);
    o->limit = (size_t)arguments_integer(parsed, "limit");
    o->xml_attributes = arguments_flag(parsed, "attributes");
    o->xml_text = arguments_flag(parsed, "text");
    const char *parts = arguments_string(parsed, "xml-label");
    if (parts) { /* name+ATTR; the name may be left out */
        o->xml_label = strchr(parts, '+') ? strchr(parts, '+') + 1 : parts;
    }
    o->html_skip = arguments_list(parsed, "html-skip", &o->n_html_skip);
    o->newick_lengths = arguments_choice_index(parsed, "lengths") == 1;
    o->rna_runs = arguments_choice_index(parsed, "unpaired") == 1;
    o->rna_drop_knots = arguments_choice_index(parsed, "knots") == 1;
    o->rna_family = arguments_flag(parsed, "family");
    o->ptb_drop_words = strcmp(arguments_choice(parsed, "words"), "drop") == 0;
    o->conllu_label = (phl_conllu_label)arguments_choice_index(parsed, "conllu-label");
    o->max_nodes = arguments_integer(parsed, "max-nodes");
    o->max_children = arguments_integer(parsed, "max-children");
    o->max_depth = arguments_integer(parsed, "max-depth");
    o->max_attributes = arguments_integer(parsed, "max-attributes");
    o->max_name = arguments_integer(parsed, "max-name");
    o->max_token = arguments_integer(parsed, "max-token");
    o->max_ratio = arguments_integer(parsed, "max-ratio");
    o->report = report;
    o->cancel = interrupt_asked;
    o->context = reports;
}

void forest_tell_read(const cli_arguments *parsed, const read_reports *reports,
                      const phl_read_summary *counts)
{
    char number[80];
    size_t n_wanted;
    (void)arguments_list(parsed, "only-class", &n_wanted);
    if (reports->quiet) {
        return;
    }
    if (counts->skipped) {
        number_of(counts->skipped, "bad tree", "bad trees", number, sizeof number);
        if (reports->skipped > REPORTS_SHOWN) {
            terminal_message("%s skipped, the first %d are named above", number, REPORTS_SHOWN);
        } else {
            terminal_message("%s skipped", number);
        }
    }
    if (counts->trees == 0 && n_wanted) {
        terminal_message("note: no tree has one of the classes given with --only-class");
    }
}

int forest_read(const cli_arguments *parsed, phl_forest **forest, phl_read_summary *summary)
{
    return forest_read_paths(parsed, parsed->operands, parsed->n_operands, forest, summary);
}

int forest_read_paths(const cli_arguments *parsed, const char *const *paths, size_t n,
                      phl_forest **forest, phl_read_summary *summary)
{
    read_reports reports;
    phl_read_options options;
    phl_read_summary counts = {0};
    phl_error error = {0};
    forest_read_options(parsed, &reports, &options);
    phl_status status = phl_forest_read(paths, n, &options, forest, &counts, &error);
    if (status != PHL_OK) {
        return usage_report(parsed->command, &error);
    }
    forest_tell_read(parsed, &reports, &counts);
    if (summary) {
        *summary = counts;
    }
    return EXIT_OK;
}

/* ---- writing ---- */

uint64_t forest_nodes(const phl_forest *forest)
{
    uint64_t n = 0;
    for (size_t s = 0; s < phl_forest_subtrees(forest); s++) {
        n += (uint64_t)phl_subtree_multiplicity(forest, (uint32_t)s);
    }
    return n;
}

int forest_out_open(forest_out *out, const cli_arguments *parsed)
{
    const char *path = arguments_path(parsed, "output");
    phl_write_options options;
    phl_error error = {0};
    *out = (forest_out){.parsed = parsed, .reports.quiet = arguments_flag(parsed, "quiet")};
    phl_write_options_init(&options);
    options.format = format_of(parsed, "to");
    if (path[strlen(path) - 1] == '/') {
        if (options.format != PHL_FORMAT_AUTO && options.format != PHL_FORMAT_XML) {
            return usage_error(parsed->command,
                               "the output '%s' is a folder, which --to %s cannot write; only xml "
                               "can",
                               path, phl_format_name(options.format));
        }
        options.format = PHL_FORMAT_XML;
    }
    if (arguments_has(parsed, "conllu-label")) {
        options.conllu_label = (phl_conllu_label)arguments_choice_index(parsed, "conllu-label");
    }
    options.force = arguments_flag(parsed, "force");
    options.report = report;
    options.cancel = interrupt_asked;
    options.context = &out->reports;
    if (phl_sink_open(path, &options, &out->sink, &error) != PHL_OK) {
        return usage_report(parsed->command, &error);
    }
    interrupt_poll(true);
    return EXIT_OK;
}

phl_status forest_out_write(forest_out *out, const phl_forest *block, phl_error *error)
{
    out->trees += phl_forest_trees(block);
    out->nodes += forest_nodes(block);
    return phl_sink_write(out->sink, block, error);
}

static void say_written(const forest_out *out, const char *path)
{
    char trees[80], nodes[80];
    number_of(out->trees, "tree", "trees", trees, sizeof trees);
    number_of(out->nodes, "node", "nodes", nodes, sizeof nodes);
    terminal_message("%s (%s) written to %s", trees, nodes,
                     strcmp(path, "-") == 0 ? "standard output" : path);
}

int forest_out_close(forest_out *out, phl_status status, const phl_error *error)
{
    phl_error own = {0};
    if (!out->sink) {
        return EXIT_OK;
    }
    if (status == PHL_OK) {
        status = phl_sink_finish(out->sink, &own);
        error = &own;
    }
    forest_out_abandon(out);
    const char *path = arguments_path(out->parsed, "output");
    if (status == PHL_ERR_CANCELLED) {
        /* A file appears only when complete, and so do the documents of a folder. */
        bool partial = strcmp(path, "-") == 0;
        terminal_message(partial ? "interrupted, the output is not complete"
                                 : "interrupted, nothing was written");
        return terminal_exit_code(status);
    }
    if (status != PHL_OK) {
        return usage_report(out->parsed->command, error);
    }
    if (!out->reports.quiet) {
        say_written(out, path);
    }
    return EXIT_OK;
}

void forest_out_abandon(forest_out *out)
{
    if (out->sink) {
        phl_sink_free(out->sink);
        out->sink = NULL;
        interrupt_poll(false);
    }
}

int forest_write(const cli_arguments *parsed, const phl_forest *forest)
{
    forest_out out;
    phl_error error = {0};
    int code = forest_out_open(&out, parsed);
    return code == EXIT_OK ? forest_out_close(&out, forest_out_write(&out, forest, &error), &error)
                           : code;
}
