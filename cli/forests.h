/* forests.h - the options of every command that reads or writes trees, and what they do. */
#ifndef PHLOEM_CLI_FORESTS_H
#define PHLOEM_CLI_FORESTS_H

#include "options.h"

/* Groups for a command's table. */
extern const option_group reading_options; /* --from, classes, --limit, --skip-bad */
extern const option_group reading_formats; /* what of XML, CoNLL-U and parse trees is read */
extern const option_group reading_caps;    /* --max-... */
extern const option_group writing_options; /* --output, --to, --force */

/* Read the files and folders named by all operands.  Tells the user about bad and skipped trees.
 * Returns an exit code; `summary` may be NULL. */
int forest_read(const cli_arguments *parsed, phl_forest **forest, phl_read_summary *summary);

/* Write to --output and, unless --quiet, say so.  Returns an exit code. */
int forest_write(const cli_arguments *parsed, const phl_forest *forest);

#endif
