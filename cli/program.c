/* program.c - which command is asked for; see program.h. */
#include "program.h"
#include "args/completion.h"
#include "print/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void program_open_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        if (fcntl(stream, F_GETFD) == -1) {
            int got = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
            if (got != stream) {
                exit(EXIT_SYSTEM);
            }
        }
    }
}

static int unknown_command(const cli_command *parent, const cli_command *const *table,
                           const char *word)
{
    const char *names[64];
    size_t n = 0;
    for (; table[n] && n < sizeof names / sizeof *names; n++) {
        names[n] = command_word(table[n]);
    }
    const char *near = suggest(word, names, n);
    const char *what = parent ? "kind" : "command";
    if (near) {
        return usage_error(parent, "unknown %s '%.100s', did you mean '%s'?", what, word, near);
    }
    return usage_error(parent, "unknown %s '%.100s'", what, word);
}

/* The command that the first words name; *used is how many there were.  On NULL, *code is set. */
static const cli_command *find_command(int n_words, char *const *words, int *used, int *code)
{
    const cli_command *c = command_find(program_commands, words[0]);
    *used = 1;
    if (!c) {
        *code = unknown_command(NULL, program_commands, words[0]);
        return NULL;
    }
    if (c->subcommands && n_words > 1 && words[1][0] != '-') {
        const cli_command *kind = command_find(c->subcommands, words[1]);
        *used = 2;
        if (!kind) {
            *code = unknown_command(c, c->subcommands, words[1]);
        }
        return kind;
    }
    return c;
}

static int print_version(void)
{
    printf("%s %s\n%s\n", program_name, PHL_VERSION, phl_version_details());
    return EXIT_OK;
}

/* A command that only has kinds, without one. */
static int run_without_kind(const cli_command *c, int n_words, char *const *words)
{
    char kinds[200] = "";
    const char *word = n_words ? words[0] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        help_command(c);
        return EXIT_OK;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        return print_version();
    }
    for (size_t i = 0; c->subcommands[i]; i++) {
        size_t length = strlen(kinds);
        snprintf(kinds + length, sizeof kinds - length, "%s%s", i ? " or " : "",
                 command_word(c->subcommands[i]));
    }
    return usage_error(c, "%s needs a kind right after it: %s", c->name, kinds);
}

static int run_command(int n_words, char *const *words, program_check *check)
{
    int used, code = EXIT_OK;
    cli_arguments parsed = {0};
    const cli_command *c = find_command(n_words, words, &used, &code);
    if (!c) {
        return code;
    }
    if (c->subcommands) {
        return run_without_kind(c, n_words - used, words + used);
    }
    switch (arguments_parse(c, n_words - used, words + used, &parsed)) {
    case PARSE_RUN:
        code = check(&parsed);
        code = code == EXIT_OK ? c->run(&parsed) : code;
        break;
    case PARSE_HELP:
        help_command(c);
        break;
    case PARSE_VERSION:
        print_version();
        break;
    case PARSE_BAD:
        code = EXIT_USAGE;
        break;
    case PARSE_FAILED:
        code = EXIT_SYSTEM;
        break;
    }
    arguments_free(&parsed);
    return code;
}

/* A text about the command named by the words, or about the program. */
static int print_about(int n_words, char *const *words, void (*about_program)(void),
                       void (*about_command)(const cli_command *))
{
    int used, code = EXIT_OK;
    if (n_words == 0) {
        about_program();
        return EXIT_OK;
    }
    const cli_command *c = find_command(n_words, words, &used, &code);
    if (c == NULL) {
        return code;
    }
    if (used < n_words) {
        return usage_error(NULL, "'%.100s' is not part of a command's name", words[used]);
    }
    about_command(c);
    return EXIT_OK;
}

int program_run(int n_words, char *const *words, program_check *check)
{
    const char *word = n_words ? words[0] : "";
    bool completes = strcmp(program_name, "phloem") == 0;
    if (n_words == 0) {
        help_overview();
        return EXIT_USAGE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        return print_about(n_words - 1, words + 1, help_program, help_command);
    }
    if (strcmp(word, "--man") == 0) {
        return print_about(n_words - 1, words + 1, manual_program, manual_command);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        return print_version();
    }
    if (strcmp(word, "--completion") == 0 && completes) {
        if (n_words != 2 || !completion_print(words[1])) {
            return usage_error(NULL, "option --completion: found '%s', expected %s",
                               n_words > 1 ? words[1] : "nothing", completion_shells);
        }
        return EXIT_OK;
    }
    if (word[0] == '-') {
        return usage_error(NULL, "unknown option '%.100s'; a command comes first, then its options",
                           word);
    }
    return run_command(n_words, words, check);
}
