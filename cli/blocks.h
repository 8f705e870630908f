/* blocks.h - the trees a run is used on, read block by block, so that memory does not grow with
 * their number, and what is told about all of them at the end.
 */
#ifndef PHLOEM_CLI_BLOCKS_H
#define PHLOEM_CLI_BLOCKS_H

#include "forests.h"

#define OPTION_BLOCK_ROW                                                                           \
    {                                                                                              \
        .name = "block", .type = OPTION_INTEGER, .argument = "N", .least = 1, .most = SIZE_MAX,    \
        .fallback_note = "100,000, or fewer if they have a million distinct subtrees and links",   \
        .help = "read and handle N trees at a time, whatever their size; fewer take "              \
                "less memory, more are faster, and the results are the same; with "                \
                "'--block 1' results are printed as soon as a tree comes out of a pipe"            \
    }

/* For a command's description. */
#define BLOCKS_IN_WORDS                                                                            \
    "Trees are read block by block, so there may be any number of them, "                          \
    "and rows are printed as they come. If a tree is bad, the rows of the "                        \
    "trees before it are printed (a JSON array is left open), then the "                           \
    "error."

/* First in what the callbacks of a task get as their context. */
typedef struct tree_blocks {
    const cli_arguments *parsed;
    read_reports reports;
    phl_source *source;
    bool told; /* what reading has to tell */
    int code;  /* a callback ended the task with this exit code, and has said why */
} tree_blocks;

/* A source of the trees of these paths, as --block and the reading options say.  Returns an exit
 * code; close in any case.  The struct must stay where it is. */
int blocks_open(tree_blocks *blocks, const cli_arguments *parsed, const char *const *paths,
                size_t n);
void blocks_close(tree_blocks *blocks);

/* For the options of a task: its report, NULL with --quiet. */
phl_report_fn blocks_report(const tree_blocks *blocks);

/* At the end of a callback: an exit code that ends the task, if it is not EXIT_OK.  After the last
 * tree of a block standard output is flushed. */
phl_status blocks_result(tree_blocks *blocks, const phl_tree_at *at, int code);

/* The exit code of a task, after saying what went wrong or what reading has to tell. */
int blocks_finish(tree_blocks *blocks, phl_status status, const phl_error *error);

#endif
