/* mpi_commands.h - the commands of phloem-mpi. */
#ifndef PHLOEM_CLI_MPI_COMMANDS_H
#define PHLOEM_CLI_MPI_COMMANDS_H

#include "args/options.h"

extern const cli_command command_mpi_train;
extern const cli_command command_mpi_resume;

#endif
