/* folder.h - a folder for the files of a test program.
 *
 * Made and removed by the fixtures of a test or of a group; start_empty empties it before every
 * test of a group.
 */
#ifndef PHL_TESTS_FOLDER_H
#define PHL_TESTS_FOLDER_H

#include <stddef.h>

int make_folder(void **state);
int remove_folder(void **state);
int start_empty(void **state);

extern char folder[200];
const char *in_folder(const char *name); /* a path in it; good for seven more calls */
size_t entries_in(const char *path);     /* of any folder, folders too */
void empty_folder(void);

/* To be released with test_free; a NUL is put after the bytes.  size may be NULL. */
void *read_bytes(const char *path, size_t *size);
void write_bytes(const char *path, const void *bytes, size_t size);

/* The same with the name of a file in the folder and with text. */
void put_text(const char *name, const char *text);
void check_content(const char *name, const char *expected);

#endif
