/* blocks.c - the trees a run is used on, block by block; see blocks.h. */
#include "blocks.h"
#include "interrupt.h"
#include "print/terminal.h"

int blocks_open(tree_blocks *blocks, const cli_arguments *parsed, const char *const *paths,
                size_t n)
{
    phl_read_options options;
    phl_error error = {0};
    *blocks = (tree_blocks){.parsed = parsed};
    forest_read_options(parsed, &blocks->reports, &options);
    if (arguments_has(parsed, "block") && arguments_given(parsed, "block")) {
        options.block_trees = (size_t)arguments_integer(parsed, "block");
        options.block_size = SIZE_MAX;
    }
    return phl_source_open(paths, n, &options, &blocks->source, &error) == PHL_OK
               ? EXIT_OK
               : usage_report(parsed->command, &error);
}

void blocks_close(tree_blocks *blocks)
{
    phl_source_free(blocks->source);
    blocks->source = NULL;
}

/* What reading has to tell comes before what the task has. */
static void tell(tree_blocks *blocks)
{
    phl_read_summary counts;
    if (blocks->told) {
        return;
    }
    blocks->told = true;
    phl_source_summary(blocks->source, &counts);
    forest_tell_read(blocks->parsed, &blocks->reports, &counts);
    if (counts.trees == 0 && !blocks->reports.quiet) {
        terminal_message("note: there is no tree in the input");
    }
}

static void report(const phl_error *note, void *context)
{
    tell(context);
    terminal_report("note: ", note);
}

phl_report_fn blocks_report(const tree_blocks *blocks)
{
    return blocks->reports.quiet ? NULL : report;
}

phl_status blocks_result(tree_blocks *blocks, const phl_tree_at *at, int code)
{
    if (code == EXIT_OK && at->tree + 1 == phl_forest_trees(at->block)) {
        code = terminal_finish();
    }
    blocks->code = code;
    return code == EXIT_OK ? PHL_OK : PHL_ERR_CANCELLED;
}

int blocks_finish(tree_blocks *blocks, phl_status status, const phl_error *error)
{
    if (blocks->code != EXIT_OK) {
        return blocks->code;
    }
    if (status != PHL_OK) {
        return usage_report(blocks->parsed->command, error);
    }
    tell(blocks);
    return EXIT_OK;
}
