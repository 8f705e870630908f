/* commands.c - looking things up in the tables of commands, and the options that all have. */
#include "args/options.h"

#include <string.h>

static const cli_option general_rows[] = {
    OPTION_INTEGER_ROW("threads", "N", 1, 4096, "number of threads; results do not depend on it",
                       .letter = 'j', .fallback_note = "all cores"),
    OPTION_FLAG_ROW("quiet", "print only errors, no notes and no summary", .letter = 'q'),
    OPTION_FLAG_ROW("help", "print this help", .letter = 'h'),
    OPTION_FLAG_ROW("version", "print the version", .letter = 'V'),
};
const option_group general_options = {"General", general_rows,
                                      sizeof general_rows / sizeof *general_rows};

const cli_option *command_option(const cli_command *command, size_t i)
{
    if (!command->groups) {
        return NULL;
    }
    for (size_t g = 0; command->groups[g]; g++) {
        if (i < command->groups[g]->n) {
            return &command->groups[g]->options[i];
        }
        i -= command->groups[g]->n;
    }
    return NULL;
}

const char *command_word(const cli_command *command)
{
    const char *blank = strrchr(command->name, ' ');
    return blank ? blank + 1 : command->name;
}

const cli_command *command_find(const cli_command *const *table, const char *word)
{
    for (size_t i = 0; table[i]; i++) {
        if (strcmp(command_word(table[i]), word) == 0) {
            return table[i];
        }
    }
    return NULL;
}

size_t command_find_option(const cli_command *command, const char *name, size_t length)
{
    const cli_option *o;
    for (size_t i = 0; (o = command_option(command, i)); i++) {
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}
