/* fields.h - options and calls of the library in the words of the command line. */
#ifndef PHLOEM_CLI_FIELDS_H
#define PHLOEM_CLI_FIELDS_H

#include "phloem.h"

/* A phl_name_fn: "read.max_name" is --max-name, with a value "--max-name N". */
bool fields_name(const char *name, const char *value, char *out, size_t size, void *context);

#endif
