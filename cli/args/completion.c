/* completion.c - what the completion scripts share; see completion.h. */
#include "args/completion.h"

#include <stdio.h>
#include <string.h>

const char completion_shells[] = "bash, zsh or fish";

bool completion_print(const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].print();
            return true;
        }
    }
    return false;
}

completion_value completion_kind(const cli_option *option)
{
    switch (option->type) {
    case OPTION_CHOICE:
    case OPTION_SEED:
        return COMPLETION_WORDS;
    case OPTION_PATH:
    case OPTION_PATHS:
    case OPTION_OUTPUT:
        return COMPLETION_FILES;
    default:
        return option->word ? COMPLETION_WORDS : COMPLETION_FREE;
    }
}

void completion_words(const cli_option *option)
{
    if (option->type == OPTION_CHOICE) {
        completion_choices(option->choices);
    } else {
        printf("%s", option->type == OPTION_SEED ? "random" : option->word);
    }
}

void completion_choices(const char *choices)
{
    for (; *choices; choices++) {
        putchar(*choices == '|' ? ' ' : *choices);
    }
}

void completion_phrase(const char *help)
{
    for (const char *at = help; *at && !strchr(":;([", *at); at++) {
        if (*at == '.' && (at[1] == ' ' || !at[1])) {
            break; /* one inside a word does not end the phrase */
        }
        if (!strchr("'\"\\$`]", *at)) {
            putchar(*at);
        }
    }
}

void completion_each_command(void (*visit)(const cli_command *))
{
    for (size_t i = 0; program_commands[i]; i++) {
        const cli_command *c = program_commands[i];
        if (!c->subcommands) {
            visit(c);
        }
        for (size_t k = 0; c->subcommands && c->subcommands[k]; k++) {
            visit(c->subcommands[k]);
        }
    }
}
