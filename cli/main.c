/* main.c - phloem: the table of commands.
 *
 * To add a command NAME: write cmd_NAME.c with a `const cli_command command_NAME`, declare it in
 * commands.h, give it a row below and its name a place in cli/meson.build.  Help, man page and
 * completion follow.
 */
#include "commands.h"
#include "interrupt.h"
#include "outputs.h"
#include "print/terminal.h"
#include "program.h"

const cli_command *const program_commands[] = {&command_convert,
                                               &command_stats,
                                               &command_generate,
                                               &command_features,
                                               &command_train,
                                               &command_resume,
                                               &command_merge,
                                               &command_show,
                                               &command_diagnose,
                                               &command_score,
                                               &command_decode,
                                               &command_label,
                                               &command_sample,
                                               &command_classify,
                                               &command_evaluate,
                                               &command_report,
                                               &command_export,
                                               &command_reproduce,
                                               NULL};

const char program_name[] = "phloem";

int main(int argc, char **argv)
{
    program_open_streams();
    interrupt_install();
    int code = program_run(argc > 0 ? argc - 1 : 0, argv + 1, outputs_check);
    int written = terminal_finish();
    return written != EXIT_OK && (code == EXIT_OK || code == EXIT_NO) ? written : code;
}
