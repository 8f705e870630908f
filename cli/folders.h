/* folders.h - folders that commands write several files into. */
#ifndef PHLOEM_CLI_FOLDERS_H
#define PHLOEM_CLI_FOLDERS_H

#include <stdbool.h>

/* Make a folder, unless it is there; it can be written into.  Returns an exit code, after saying
 * what is wrong. */
int folder_make(const char *path);
/* A folder that holds something. */
bool folder_is_filled(const char *path);

#endif
