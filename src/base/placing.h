/* placing.h - a file that is written beside its final name and put in place when it is complete.
 *
 * Whoever opens the name finds the old file or the whole new one, also after a kill or a power
 * failure at any moment.  The new file lies behind symbolic links and has the permissions of the
 * old one.  Its temporary name, .NAME.phloem-0.tmp and so on, is locked (flock) by the process that
 * writes it: one that is not locked was left behind by a process that died, and is removed by the
 * next one that writes to the same name.
 */
#ifndef PHL_BASE_PLACING_H
#define PHL_BASE_PLACING_H

#include "base/error.h"

typedef struct phl_placing {
    const char *name; /* as the user calls it, for messages; borrowed */
    char *target;     /* the same behind symbolic links; NULL: no regular file */
    char *temporary;  /* what is being written; NULL: nothing, or it is in place */
    int file;         /* open for reading and writing, and locked; -1: none */
} phl_placing;

typedef enum phl_placing_rule {
    PHL_PLACING_REPLACES, /* whatever is there */
    PHL_PLACING_IS_NEW    /* fails when there is a file by now */
} phl_placing_rule;

/* Begin a file that will be `path`.  What is neither a file nor a folder, a pipe or a device, is
 * opened itself, to be written directly. */
phl_status phl_placing_open(phl_placing *placing, const char *path, phl_error *error);
/* Everything is written: sync it and put it in place.  The descriptor stays open. */
phl_status phl_placing_commit(phl_placing *placing, phl_placing_rule rule, phl_error *error);
/* Without a commit before it, nothing is left behind.  Fine on a zeroed struct with file -1. */
void phl_placing_close(phl_placing *placing);

/* Remove what a process that died while it wrote to `path` has left behind.  `held` is a descriptor
 * of a file that the caller has locked, or -1: a second name of that one is removed as well. */
void phl_placing_sweep(const char *path, int held);

/* Is the file that `path` names the one that is open as `file`? */
bool phl_placing_is_file(const char *path, int file);
/* The folder that `path` lies in, open for reading; -1: that cannot be. */
int phl_placing_open_folder(const char *path);

#endif
