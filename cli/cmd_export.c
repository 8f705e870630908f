/* cmd_export.c - phloem export: draws and traces for other tools. */
#include "commands.h"
#include "export/export.h"
#include "folders.h"
#include "runs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* "DIR/all", or "DIR/003-NAME" with what is safe of a class's name. */
static char *stem_of(const char *folder, const phl_run *run, size_t index)
{
    const char *name = phl_run_class_name(run, index);
    char safe[41];
    size_t n = 0;
    if (!name) {
        return text_path(folder, "all");
    }
    for (; name[n] && n < sizeof safe - 1; n++) {
        bool plain = isalnum((unsigned char)name[n]) && (unsigned char)name[n] < 128;
        safe[n] = name[n];
        if (!plain && !strchr("._-+", name[n])) {
            safe[n] = '_';
        }
    }
    safe[n] = '\0';
    return text_format("%s/%03zu-%s", folder, index + 1, safe);
}

static int write_classes(const cli_arguments *parsed, const phl_run *run,
                         const phl_diagnosis *diagnosis)
{
    static int (*const writers[])(const exported *, const char *) = {
        export_csv_write, export_netcdf_write, export_json_write};
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < diagnosis->n_classes; i++) {
        char *stem = stem_of(arguments_path(parsed, "output"), run, i);
        exported e;
        export_rows_begin(&e, run, diagnosis, i);
        code = writers[arguments_choice_index(parsed, "to")](&e, stem);
        free(stem);
    }
    if (code == EXIT_OK && !arguments_flag(parsed, "quiet")) {
        char chains[80];
        size_t n = 0;
        for (size_t i = 0; i < diagnosis->n_classes; i++) {
            n += diagnosis->classes[i].n_chains;
        }
        bool gibbs = diagnosis->learner == PHL_LEARNER_GIBBS;
        number_of(n, gibbs ? "chain" : "restart", gibbs ? "chains" : "restarts", chains,
                  sizeof chains);
        terminal_message("%s written to %s", chains, arguments_path(parsed, "output"));
    }
    return code;
}

static int export_run(const cli_arguments *parsed, const phl_run *run)
{
    const char *folder = arguments_path(parsed, "output");
    phl_diagnose_options options;
    phl_diagnosis diagnosis = {0};
    phl_error error = {0};
    if (phl_run_kind(run) == PHL_NO_KIND) {
        return usage_error(parsed->command, "%s holds %s alone, which has no draws and no traces",
                           parsed->operands[0], phl_run_head(run) ? "a classifier" : "an expert");
    }
    if (strcmp(arguments_choice(parsed, "to"), "netcdf") == 0 && !export_netcdf_there()) {
        return export_netcdf_write(NULL, NULL);
    }
    if (strcmp(folder, "-") == 0) {
        return usage_error(parsed->command, "option --output: found '-', expected a folder");
    }
    if (folder_is_filled(folder) && !arguments_flag(parsed, "force")) {
        return usage_error(parsed->command,
                           "option --output: the folder %s is not empty; choose another one, or "
                           "write into it with --force",
                           folder);
    }
    phl_diagnose_options_init(&options);
    if (phl_diagnose(run, &options, &diagnosis, &error) != PHL_OK) {
        return usage_report(parsed->command, &error);
    }
    int code = folder_make(folder);
    code = code == EXIT_OK ? write_classes(parsed, run, &diagnosis) : code;
    phl_diagnosis_clear(&diagnosis);
    return code;
}

static int run_export(const cli_arguments *parsed)
{
    phl_run *run = NULL;
    int code = run_open(parsed, &run);
    if (code == EXIT_OK) {
        code = export_run(parsed, run);
    }
    phl_run_free(run);
    return code;
}

static const cli_option export_rows[] = {
    OPTION_CHOICE_ROW("to", "FORMAT", "stan-csv|netcdf|json",
                      "stan-csv: a file for each class and chain, as CmdStan writes them; netcdf: "
                      "NetCDF-4 for each class, with the groups of ArviZ; json: a document for "
                      "each class, with the draws that were kept",
                      .letter = 't', .required = true),
    OPTION_OUTPUT_ROW("output", "DIR", "folder to write into, made if need be", .letter = 'o',
                      .required = true),
    OPTION_FLAG_ROW("force", "write into a folder that is not empty"),
};
static const option_group export_options = {"Export", export_rows,
                                            sizeof export_rows / sizeof *export_rows};
static const option_group *const groups[] = {&export_options, &general_options, NULL};

static const example examples[] = {{"for ArviZ", "phloem export tf.run --to netcdf -o draws"},
                                   {"for R's posterior, bayesplot and tools of Stan",
                                    "phloem export tf.run --to stan-csv -o draws"},
                                   {NULL, NULL}};

const cli_command command_export = {
    .name = "export",
    .summary = "write draws and traces for ArviZ, R and the tools of Stan",
    .description =
        "Writes, for every class and chain, the quantities of each iteration that do not depend on "
        "how states are numbered: log-joint, log-likelihood, the number of active slots and the "
        "sum of their sizes, and what the sampler did.  Warm-up is told apart from draws.  R-hat, "
        "ESS and MCSE that other tools compute from them are those of 'phloem diagnose'.\n\n"
        "Of EM and of grammars the iterations of each restart are written; they are a way to an "
        "optimum, not draws.\n\n"
        "Files are named all, or by the number and the name of a class.  docs/report.md describes "
        "them.",
    .operands = "RUN",
    .operand_help = "a file written by 'phloem train'",
    .least_operands = 1,
    .most_operands = 1,
    .groups = groups,
    .examples = examples,
    .run = run_export,
};
