/* cmd_report.c - phloem report: a page, or a JSON document, that shows runs. */
#include "commands.h"
#include "forests.h"
#include "interrupt.h"
#include "print/rows.h"
#include "report/report.h"
#include "runs.h"

#include <stdlib.h>
#include <string.h>

/* Write to --output. */
static int write_page(const cli_arguments *parsed, report *r)
{
    rows_file result = {0};
    const char *path = arguments_path(parsed, "output");
    int code = rows_file_open(&result, path);
    if (code == EXIT_OK) {
        code = report_write(r, result.file, !arguments_flag(parsed, "json"), parsed->command);
    }
    if (code == EXIT_OK && interrupt_asked(NULL)) {
        code = EXIT_INTERRUPTED;
    }
    code = rows_file_close(&result, code);
    if (code == EXIT_OK && strcmp(path, "-") != 0 && !arguments_flag(parsed, "quiet")) {
        terminal_message("report of %zu %s written to %s", r->n_runs,
                         r->n_runs == 1 ? "run" : "runs", path);
    }
    return code;
}

static int make(const cli_arguments *parsed, report *r)
{
    size_t n = 0;
    const char *const *test = arguments_paths(parsed, "test", &n);
    int code = report_write_open(r, parsed->operands, parsed->n_operands, parsed->command);
    if (code == EXIT_OK && n > 0) {
        code = forest_read_paths(parsed, test, n, &r->test, NULL);
    }
    if (code == EXIT_OK && n > 0 && phl_forest_trees(r->test) == 0) {
        terminal_message("there is no tree to test with in %s", test[0]);
        return EXIT_DATA;
    }
    if (code != EXIT_OK) {
        return code;
    }
    return arguments_given(parsed, "output") ? write_page(parsed, r)
                                             : report_write(r, stdout, false, parsed->command);
}

static int run_report(const cli_arguments *parsed)
{
    char *command = arguments_line(parsed);
    report r = {.threads = arguments_threads(parsed),
                .hide = arguments_given(parsed, "hide") ? arguments_real(parsed, "hide") : -1,
                .oddest = (size_t)arguments_integer(parsed, "oddest"),
                .command = command};
    int code = arguments_seed(parsed, &r.seed);
    if (code == EXIT_OK && !arguments_given(parsed, "output") && !arguments_flag(parsed, "json")) {
        code = usage_error(parsed->command,
                           "-o or --output FILE is missing: the page to write; or --json, which "
                           "prints its data");
    }
    if (code == EXIT_OK) {
        code = make(parsed, &r);
    }
    report_write_clear(&r);
    free(command);
    return code;
}

static const cli_option report_rows[] = {
    OPTION_PATHS_ROW("test", "IN",
                     "trees to test with: files, folders, or '-' for standard input; repeating "
                     "adds"),
    OPTION_OUTPUT_ROW("output", "FILE",
                      "page to write, or with --json the data ('-' for standard output); appears "
                      "only when complete",
                      .letter = 'o'),
    OPTION_JSON_ROW("the data as JSON, alerts included, without the page; to standard output "
                    "unless -o names a file"),
    OPTION_REAL_ROW("hide", "P", 0, 1,
                    "hide each label of the test trees with this probability, fill it in, and show "
                    "the trees where most are wrong (of the first 2,000); 0: do not",
                    .fallback_note = "0.2 for a run without classes, else 0"),
    OPTION_INTEGER_ROW("oddest", "N", 0, 1000, "show the N oddest test trees", .fallback = "40"),
    OPTION_SEED_ROW,
};
static const option_group report_options = {"Report", report_rows,
                                            sizeof report_rows / sizeof *report_rows};
static const option_group *const groups[] = {&report_options, &reading_options, &reading_formats,
                                             &reading_caps,   &general_options, NULL};

static const example examples[] = {
    {"what was learned, and whether to trust it", "phloem report trees.run -o report.html"},
    {"with trees put aside: confusion, calibration, the oddest ones",
     "phloem report classes.run --test new -o report.html"},
    {"several runs side by side", "phloem report tf.run grammar.run --test new.trees -o both.html"},
    {"in a script: is there anything to look into?", "phloem report --json trees.run | jq .alerts"},
    {NULL, NULL}};

const cli_command command_report = {
    .name = "report",
    .summary = "write one page that shows runs, and trees they are tested on",
    .description =
        "Writes a page (one HTML file) that opens in any browser from a disk and asks nothing of "
        "the network.  On top stand the verdict and what to look into; then how each run was made, "
        "the trees it was trained on, what it learned, and how its training went.\n\n"
        "With --test there are, for a run that classifies, the confusion matrix (click a cell to "
        "see its trees), calibration, accuracy of each class and all predictions sorted by doubt; "
        "for labels, the trees with wrong ones in red; and the oddest trees with their odd nodes. "
        "Several runs are held side by side. Options of reading are for the test trees.\n\n"
        "Every table of the page can be sorted and saved as CSV, every picture as SVG. "
        "docs/report.md "
        "describes the data that --json prints; the page holds the same.",
    .operands = "RUN...",
    .operand_help = "files written by 'phloem train'",
    .least_operands = 1,
    .most_operands = 50,
    .groups = groups,
    .examples = examples,
    .run = run_report,
};
