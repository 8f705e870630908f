/* explanations.h - why a tree was given its class, for people or as JSON. */
#ifndef PHLOEM_CLI_EXPLANATIONS_H
#define PHLOEM_CLI_EXPLANATIONS_H

#include "print/terminal.h"

/* A few lines on standard output. */
phl_status explanation_print(const phl_run *run, const phl_tree_at *at, const char *source,
                             const phl_classified_tree *tree, phl_error *error);
/* An object of an array that is open. */
phl_status explanation_json(json_writer *json, const phl_run *run, const phl_tree_at *at,
                            const char *source, const phl_classified_tree *tree, phl_error *error);

#endif
