/* files_list.h - --files-from: operands out of a list in a file. */
#ifndef PHLOEM_CLI_FILES_LIST_H
#define PHLOEM_CLI_FILES_LIST_H

#include "args/options.h"

/* If the option was given, append what its file names to the operands.  Returns an exit code; the
 * user was told. */
int files_list_add(cli_arguments *parsed);

#endif
