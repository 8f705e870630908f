/* commands.h - the commands, one file each (cmd_NAME.c); the table of them is in main.c. */
#ifndef PHLOEM_CLI_COMMANDS_H
#define PHLOEM_CLI_COMMANDS_H

#include "options.h"

extern const cli_command command_convert;
extern const cli_command command_stats;
extern const cli_command command_generate;

#endif
