/* blocks.c - the trees a run is used on, block by block; see blocks.h. */
#include "blocks.h"
#include "interrupt.h"
#include "print/terminal.h"

#include <string.h>

/* Distinct subtrees and links of a block, and trees. */
enum { BLOCK_SIZE = 1000000, BLOCK_TREES = 100000 };

int blocks_open(tree_blocks *blocks, const cli_arguments *parsed, const phl_run *run)
{
    phl_read_options options;
    phl_error error = {0};
    *blocks = (tree_blocks){.parsed = parsed, .unseen = {.run = run}};
    forest_read_options(parsed, &blocks->reports, &options);
    phl_status status = phl_forest_reader_create(parsed->operands + 1, parsed->n_operands - 1,
                                                 &options, &blocks->reader, &error);
    return status == PHL_OK ? EXIT_OK : library_error(parsed->command, &error);
}

static void tell(const tree_blocks *blocks)
{
    phl_read_summary counts;
    phl_forest_reader_summary(blocks->reader, &counts);
    forest_tell_read(blocks->parsed, &blocks->reports, &counts);
    if (!blocks->reports.quiet) {
        if (counts.trees == 0) {
            terminal_message("note: there is no tree in the input");
        }
        unseen_tell(&blocks->unseen);
    }
}

int blocks_next(tree_blocks *blocks)
{
    size_t trees = (size_t)arguments_integer(blocks->parsed, "block");
    phl_error error = {0};
    if (blocks->own) {
        blocks->first += phl_forest_trees(blocks->own);
        phl_forest_free(blocks->own);
        blocks->own = NULL;
        blocks->forest = NULL;
    }
    int code = terminal_finish();
    if (code != EXIT_OK) {
        return code;
    }
    phl_status status =
        trees
            ? phl_forest_reader_next(blocks->reader, trees, 0, &blocks->own, &error)
            : phl_forest_reader_next(blocks->reader, BLOCK_TREES, BLOCK_SIZE, &blocks->own, &error);
    if (status != PHL_OK) {
        return library_error(blocks->parsed->command, &error);
    }
    if (interrupt_asked(NULL)) { /* the input may have ended by the same signal */
        terminal_message("interrupted, nothing was written");
        return EXIT_INTERRUPTED;
    }
    blocks->forest = blocks->own;
    if (!blocks->own) {
        tell(blocks);
    } else if (!blocks->reports.quiet) {
        unseen_add(&blocks->unseen, blocks->own);
    }
    return EXIT_OK;
}

void blocks_close(tree_blocks *blocks)
{
    phl_forest_free(blocks->own);
    phl_forest_reader_free(blocks->reader);
    unseen_clear(&blocks->unseen);
    blocks->own = NULL;
    blocks->forest = NULL;
    blocks->reader = NULL;
}
