/* completion.h - completion for shells, from the option tables: phloem --completion SHELL.
 *
 * The scripts need nothing but their shell.  They know the commands, their options, and for each
 * option whether its value is one of some words, a file, or free.
 */
#ifndef PHLOEM_CLI_COMPLETION_H
#define PHLOEM_CLI_COMPLETION_H

#include "args/options.h"

/* "bash, zsh or fish", for messages. */
extern const char completion_shells[];
/* Prints the script of a shell; false: there is none of that name. */
bool completion_print(const char *shell);

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

/* What the scripts share. */

/* What the value of an option completes to. */
typedef enum completion_value {
    COMPLETION_FREE,
    COMPLETION_WORDS,
    COMPLETION_FILES
} completion_value;
completion_value completion_kind(const cli_option *option); /* of one that takes a value */
/* "a b c" of the words that an option takes. */
void completion_words(const cli_option *option);
/* "a b c" of "a|b|c". */
void completion_choices(const char *choices);
/* The first phrase of a help text, without the characters that any of the shells would read. */
void completion_phrase(const char *help);
/* Calls visit for every command that can be run, subcommands in place of their parent. */
void completion_each_command(void (*visit)(const cli_command *));

#endif
