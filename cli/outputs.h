/* outputs.h - the guard of every file that a command writes. */
#ifndef PHLOEM_CLI_OUTPUTS_H
#define PHLOEM_CLI_OUTPUTS_H

#include "args/options.h"

/* Before a command runs: refuse an output (OPTION_OUTPUT) that is an input under whatever name, the
 * file of another output or of standard output, a run that something else would replace without
 * --force, or that SQLite would take for a part of a run.  Returns an exit code. */
int outputs_check(const cli_arguments *parsed);

#endif
