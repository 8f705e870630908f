/* forests.h - the options of every command that reads or writes trees, and what they do. */
#ifndef PHLOEM_CLI_FORESTS_H
#define PHLOEM_CLI_FORESTS_H

#include "args/options.h"

/* Groups for a command's table. */
extern const option_group reading_options;        /* --from, classes, --limit, --skip-bad */
extern const option_group reading_formats;        /* what of XML, CoNLL-U and parse trees is read */
extern const option_group reading_caps;           /* --max-... */
extern const option_group reading_caps_but_nodes; /* for a command with a --max-nodes of its own */
extern const option_group writing_options;        /* --output, --to, --force */
extern const option_group writing_if_asked;       /* the same, with --output not required */

/* What the library reported while reading. */
typedef struct read_reports {
    bool quiet;
    uint64_t skipped;
} read_reports;

/* The options of reading; what goes wrong with single trees is told and counted in `reports`, which
 * must stay where it is. */
void forest_read_options(const cli_arguments *parsed, read_reports *reports,
                         phl_read_options *options);
/* Once all was read: tell how many trees were skipped, or that none was of the classes asked for.
 */
void forest_tell_read(const cli_arguments *parsed, const read_reports *reports,
                      const phl_read_summary *counts);

/* Read the files and folders named by all operands.  Tells the user about bad and skipped trees.
 * Returns an exit code; `summary` may be NULL. */
int forest_read(const cli_arguments *parsed, phl_forest **forest, phl_read_summary *summary);
/* The same from the paths given. */
int forest_read_paths(const cli_arguments *parsed, const char *const *paths, size_t n,
                      phl_forest **forest, phl_read_summary *summary);

/* Nodes of all trees together. */
uint64_t forest_nodes(const phl_forest *forest);

/* "file:line", "file" or "" into buffer.  Returns buffer. */
enum { SOURCE_SIZE = 4200 };
char *forest_tree_source(const phl_forest *forest, size_t tree, char *buffer);
/* Name of a tree's class, NULL without. */
const char *forest_tree_class(const phl_forest *forest, size_t tree);
/* Name of a label of the forest, NULL for an unknown one. */
const char *forest_label(const phl_forest *forest, int32_t label);

/* Trees on their way to --output, block by block.  While it is open an interruption is polled. */
typedef struct forest_out {
    const cli_arguments *parsed;
    read_reports reports;
    phl_sink *sink;
    uint64_t trees, nodes;
} forest_out;

/* Returns an exit code; close in any case. */
int forest_out_open(forest_out *out, const cli_arguments *parsed);
phl_status forest_out_write(forest_out *out, const phl_forest *block, phl_error *error);
/* Put the file in place if all went well so far and, unless --quiet, say so; else tell the error.
 * One that was never opened is fine.  Returns an exit code. */
int forest_out_close(forest_out *out, phl_status status, const phl_error *error);
/* Leave nothing behind, after something else went wrong; one that was closed is fine. */
void forest_out_abandon(forest_out *out);

/* All of a forest. */
int forest_write(const cli_arguments *parsed, const phl_forest *forest);

#endif
