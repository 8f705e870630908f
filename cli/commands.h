/* commands.h - the commands, one file each (cmd_NAME.c); the table of them is in main.c. */
#ifndef PHLOEM_CLI_COMMANDS_H
#define PHLOEM_CLI_COMMANDS_H

#include "args/options.h"

extern const cli_command command_convert;
extern const cli_command command_stats;
extern const cli_command command_generate;
extern const cli_command command_features;
extern const cli_command command_train;
extern const cli_command command_resume;
extern const cli_command command_merge;
extern const cli_command command_show;
extern const cli_command command_diagnose;
extern const cli_command command_score;
extern const cli_command command_decode;
extern const cli_command command_label;
extern const cli_command command_sample;
extern const cli_command command_classify;
extern const cli_command command_evaluate;
extern const cli_command command_report;
extern const cli_command command_export;
extern const cli_command command_reproduce;

#endif
