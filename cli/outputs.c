/* outputs.c - what a command must not write over; see outputs.h.
 *
 * Contents: files, inputs, runs, other outputs.
 */
#include "outputs.h"
#include "print/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

/* An output that the command line names. */
typedef struct output {
    const cli_arguments *parsed;
    const cli_option *option;
    const char *path;
    struct stat info; /* of what is there */
} output;

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool forced(const cli_arguments *parsed)
{
    return arguments_has(parsed, "force") && arguments_flag(parsed, "force");
}

/* Does `path` lie somewhere below the folder? */
static bool is_below(const char *folder, const char *path)
{
    char *above = realpath(folder, NULL), *below = realpath(path, NULL);
    size_t n = above ? strlen(above) : 0;
    bool is =
        above && below && strncmp(above, below, n) == 0 && (below[n] == '/' || above[n - 1] == '/');
    free(above);
    free(below);
    return is;
}

/* ---- inputs ---- */

static int refuse_input(const output *out, const char *file, const char *what)
{
    if (S_ISDIR(out->info.st_mode)) {
        return usage_error(out->parsed->command,
                           "option --%s: the folder %s holds the input file %s, which could be "
                           "lost; choose another folder",
                           out->option->name, out->path, file);
    }
    return usage_error(out->parsed->command,
                       "option --%s: %s is %s, which would be lost; choose another file",
                       out->option->name, out->path, what);
}

/* Hold the output against the files that one input stands for. */
static int check_input(const output *out, const char *input, const char *what)
{
    const cli_arguments *parsed = out->parsed;
    bool folder = S_ISDIR(out->info.st_mode);
    phl_read_options options;
    phl_source *source = NULL;
    int code = EXIT_OK;
    phl_read_options_init(&options);
    options.skip_bad = true;
    if (arguments_has(parsed, "from") && arguments_given(parsed, "from")) {
        options.format = phl_format_find(arguments_choice(parsed, "from"));
    }
    if (phl_source_open(&input, 1, &options, &source, NULL) != PHL_OK) {
        return EXIT_OK; /* whoever reads it says so */
    }
    for (size_t i = 0; i < phl_source_files(source) && code == EXIT_OK; i++) {
        const char *file = phl_source_file(source, i);
        struct stat info;
        bool standard = strcmp(file, "-") == 0;
        if ((standard ? fstat(STDIN_FILENO, &info) : stat(file, &info)) == 0 &&
            (folder ? !standard && is_below(out->path, file) : same_file(&info, &out->info))) {
            code = refuse_input(out, file, what);
        }
    }
    phl_source_free(source);
    return code;
}

static int check_inputs(const output *out)
{
    const cli_arguments *parsed = out->parsed;
    const cli_command *command = parsed->command;
    const cli_option *o;
    bool runs = command->operands && strncmp(command->operands, "RUN", 3) == 0;
    int code = EXIT_OK;
    for (size_t i = 0; i < parsed->n_operands && !command->operand_choices && code == EXIT_OK;
         i++) {
        code = check_input(out, parsed->operands[i], runs && i == 0 ? "the run" : "an input file");
    }
    for (size_t i = 0; (o = command_option(command, i)) && code == EXIT_OK; i++) {
        if (o->type == OPTION_PATH && parsed->values[i].text) {
            code = check_input(out, parsed->values[i].text, "an input file");
        }
        for (size_t k = 0; o->type == OPTION_PATHS && k < parsed->values[i].n_items; k++) {
            code = code == EXIT_OK ? check_input(out, parsed->values[i].items[k], "an input file")
                                   : code;
        }
    }
    return code;
}

/* ---- runs ---- */

/* The files that SQLite keeps beside a run. */
static int check_companion(const output *out)
{
    static const char *const endings[] = {"-wal", "-shm", "-journal"};
    size_t length = strlen(out->path);
    int code = EXIT_OK;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (length <= n || strcmp(out->path + length - n, endings[i]) != 0) {
            continue;
        }
        char *run = terminal_allocate(length, 1);
        memcpy(run, out->path, length - n);
        if (phl_run_recognise(run)) {
            code = usage_error(out->parsed->command,
                               "option --%s: a file of the name %s would be taken for a part of "
                               "the run %s; choose another file",
                               out->option->name, out->path, run);
        }
        free(run);
    }
    return code;
}

static int check_run(const output *out)
{
    bool writes_run = strcmp(out->option->argument, "RUN") == 0;
    if (writes_run || forced(out->parsed) || !phl_run_recognise(out->path)) {
        return EXIT_OK;
    }
    return usage_error(out->parsed->command,
                       "option --%s: %s is a run, which would be lost; choose another file%s",
                       out->option->name, out->path,
                       arguments_has(out->parsed, "force") ? ", or replace it with --force" : "");
}

/* ---- other outputs ---- */

static int check_standard_output(const output *out)
{
    struct stat info;
    if (fstat(STDOUT_FILENO, &info) != 0 || !same_file(&info, &out->info)) {
        return EXIT_OK;
    }
    return usage_error(out->parsed->command,
                       "option --%s: %s is where standard output goes; choose another file",
                       out->option->name, out->path);
}

/* Two names of one file, whether it is there or not. */
static bool same_place(const char *a, const char *b)
{
    struct stat one, other;
    if (stat(a, &one) == 0 || stat(b, &other) == 0) {
        return stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) &&
               same_file(&one, &other);
    }
    const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
    char *folder_a = terminal_allocate(strlen(a) + 2, 1),
         *folder_b = terminal_allocate(strlen(b) + 2, 1);
    sprintf(folder_a, "%.*s.", slash_a ? (int)(slash_a - a + 1) : 0, a);
    sprintf(folder_b, "%.*s.", slash_b ? (int)(slash_b - b + 1) : 0, b);
    bool same = strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) == 0 &&
                stat(folder_a, &one) == 0 && stat(folder_b, &other) == 0 && same_file(&one, &other);
    free(folder_a);
    free(folder_b);
    return same;
}

static int check_outputs_before(const output *out)
{
    const cli_arguments *parsed = out->parsed;
    const cli_option *o;
    for (size_t i = 0; (o = command_option(parsed->command, i)) != out->option; i++) {
        const char *path = o->type == OPTION_OUTPUT ? parsed->values[i].text : NULL;
        if (path && strcmp(path, "-") != 0 && same_place(path, out->path)) {
            return usage_error(parsed->command,
                               "options --%s and --%s name the same file, %s; choose another for "
                               "one of them",
                               o->name, out->option->name, out->path);
        }
    }
    return EXIT_OK;
}

static int check_output(output *out)
{
    bool there = stat(out->path, &out->info) == 0;
    int code = check_companion(out);
    if (code == EXIT_OK) {
        code = check_outputs_before(out);
    }
    /* Into a folder that holds something only --force writes.  Devices and pipes hold nothing. */
    bool folder = there && S_ISDIR(out->info.st_mode) && forced(out->parsed);
    bool file = there && S_ISREG(out->info.st_mode);
    if (code == EXIT_OK && (file || folder)) {
        code = check_inputs(out);
    }
    if (code == EXIT_OK && file) {
        code = check_standard_output(out);
    }
    return code == EXIT_OK && file ? check_run(out) : code;
}

int outputs_check(const cli_arguments *parsed)
{
    const cli_option *o;
    int code = EXIT_OK;
    for (size_t i = 0; (o = command_option(parsed->command, i)) && code == EXIT_OK; i++) {
        output out = {.parsed = parsed, .option = o, .path = parsed->values[i].text};
        if (o->type == OPTION_OUTPUT && out.path && strcmp(out.path, "-") != 0) {
            code = check_output(&out);
        }
    }
    return code;
}
