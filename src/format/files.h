/* files.h - the files behind what a user names: folders, classes by folder. */
#ifndef PHL_FORMAT_FILES_H
#define PHL_FORMAT_FILES_H

#include "base/error.h"

/* A list of paths; zero-initialise, release with phl_files_clear. */
typedef struct phl_files {
    char **paths;
    size_t count, capacity;
} phl_files;

void phl_files_clear(phl_files *files);

/* Append a copy of `path`, whatever it is. */
phl_status phl_files_append(phl_files *files, const char *path, phl_error *error);

/* Append `path`, or, if it is a folder, every file below it whose name has an ending of
 * options->format (PHL_FORMAT_AUTO: of any format), in order of name.  Hidden names are passed
 * over, links to folders not followed, with a note.  What should be read below a folder and cannot
 * be (a link that leads nowhere, a path that is too long, a pipe, no permission) is an error; with
 * options->skip_bad it is reported and counted in *skipped. */
phl_status phl_files_add(phl_files *files, const char *path, const phl_read_options *options,
                         uint64_t *skipped, phl_error *error);

/* Name of the folder a file lies in, as far as the path says: NULL if it does not.  To be released
 * with phl_free. */
phl_status phl_files_folder_name(const char *path, char **name, phl_error *error);

/* The same for the level-th folder below `base` bytes of the path, which name a folder. */
phl_status phl_files_level_name(const char *path, size_t base, uint32_t level, char **name,
                                phl_error *error);

#endif
