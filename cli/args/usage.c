/* usage.c - telling what is wrong with a command line. */
#include "args/options.h"
#include "print/terminal.h"

#include <stdarg.h>

int usage_error(const cli_command *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    terminal_message_list(format, list);
    va_end(list);
    if (command) {
        terminal_message("try '%s %s --help'", program_name, command->name);
    } else {
        terminal_message("try '%s --help'", program_name);
    }
    return EXIT_USAGE;
}

int usage_report(const cli_command *command, const phl_error *error)
{
    if (error->status == PHL_ERR_CANCELLED) { /* results appear only when complete */
        terminal_message("interrupted, nothing was written");
        return terminal_exit_code(error->status);
    }
    int code = terminal_error(error);
    if (code == EXIT_USAGE) {
        terminal_message("try '%s %s --help'", program_name, command->name);
    }
    return code;
}
