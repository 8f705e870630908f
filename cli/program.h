/* program.h - what the programs of this folder share: phloem (main.c), phloem-mpi (mpi/). */
#ifndef PHLOEM_CLI_PROGRAM_H
#define PHLOEM_CLI_PROGRAM_H

#include "args/options.h"

/* With a standard stream closed, the next file opened would take its number and be written into by
 * messages.  Put something there that fails cleanly. */
void program_open_streams(void);

/* Before a command runs, of each program its own: outputs_check.  Returns an exit code. */
typedef int program_check(const cli_arguments *parsed);

/* Do what the words say, by the table program_commands.  Returns the exit code. */
int program_run(int n_words, char *const *words, program_check *check);

#endif
