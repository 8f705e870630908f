/* blocks.h - the trees a run is used on, block by block, so that memory does not grow with their
 * number.  Results do not depend on where blocks end.
 */
#ifndef PHLOEM_CLI_BLOCKS_H
#define PHLOEM_CLI_BLOCKS_H

#include "forests.h"
#include "unseen.h"

#define OPTION_BLOCK_ROW                                                                           \
    {                                                                                              \
        .name = "block", .type = OPTION_INTEGER, .argument = "N", .least = 1, .most = SIZE_MAX,    \
        .fallback_note = "100,000, fewer when they have a million distinct subtrees and links",    \
        .help = "trees read and handled at a time, if given whatever their size: fewer take less " \
                "memory, more are faster, the results are the same; '--block 1' prints at once "   \
                "what comes from a pipe that does not end"                                         \
    }

/* For a command's description. */
#define BLOCKS_IN_WORDS                                                                            \
    "Trees are read block by block, so there may be any number of them, and rows are printed as "  \
    "they come: at a bad tree those of the trees before it are there (a JSON array is left "       \
    "open), then come the error and its exit code."

typedef struct tree_blocks {
    const cli_arguments *parsed;
    read_reports reports;
    phl_forest_reader *reader;
    unseen_labels unseen;
    const phl_forest *forest; /* the block at hand; NULL: none is left */
    phl_forest *own;          /* the same */
    size_t first;             /* number in the input of its first tree */
} tree_blocks;

/* Read the trees of the operands behind the first, as --block and the reading options say.  Returns
 * an exit code; close in any case.  The struct must stay where it is. */
int blocks_open(tree_blocks *blocks, const cli_arguments *parsed, const phl_run *run);
/* Flush standard output and take the next block.  At the end the user is told what forest_read_for
 * tells.  Returns an exit code. */
int blocks_next(tree_blocks *blocks);
void blocks_close(tree_blocks *blocks);

#endif
