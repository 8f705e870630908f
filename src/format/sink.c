/* sink.c - trees that come in blocks into one file (phloem.h section 7).
 *
 * XML is the exception: one document is a file and several are a folder, so all are kept until the
 * end.
 */
#include <string.h>

#include "base/memory.h"
#include "format/write.h"

struct phl_sink {
    char *path;
    phl_write_options options;
    const phl_format_driver *driver;
    size_t n_trees;
    phl_output *output; /* NULL: nothing was written yet */
    phl_forest **kept;  /* XML */
    size_t n_kept, kept_capacity;
};

phl_status phl_sink_open(const char *path, const phl_write_options *options, phl_sink **sink,
                         phl_error *error)
{
    phl_sink *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status = phl_write_options_take(options, &made->options, error);
    if (status == PHL_OK) {
        status = phl_write_driver(&made->options, path, &made->driver, error);
    }
    if (status == PHL_OK) {
        made->path = phl_copy_text(path, strlen(path), error);
        status = made->path == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status != PHL_OK) {
        phl_sink_free(made);
        return status;
    }
    *sink = made;
    return PHL_OK;
}

static phl_status keep(phl_sink *sink, const phl_forest *block, phl_error *error)
{
    phl_status status =
        phl_grow(&sink->kept, &sink->kept_capacity, sink->n_kept + 1, sizeof *sink->kept, error);
    if (status == PHL_OK) {
        status = phl_forest_concat(&block, 1, &sink->kept[sink->n_kept], error);
    }
    if (status == PHL_OK) {
        sink->n_kept++;
    }
    return status;
}

phl_status phl_sink_write(phl_sink *sink, const phl_forest *block, phl_error *error)
{
    phl_status status = sink->driver->one_tree_a_file
                            ? keep(sink, block, error)
                            : phl_write_block(block, sink->n_trees, &sink->options, sink->driver,
                                              sink->path, &sink->output, error);
    if (status == PHL_OK) {
        sink->n_trees += block->n_trees;
        if (block->tree_id != NULL && !sink->driver->one_tree_a_file) {
            sink->options.report = NULL; /* that ids are left out was told */
        }
    }
    return status;
}

static phl_status write_kept(phl_sink *sink, phl_error *error)
{
    phl_forest *whole = NULL;
    phl_status status =
        phl_forest_concat((const phl_forest *const *)sink->kept, sink->n_kept, &whole, error);
    if (status == PHL_OK) {
        status = phl_forest_write(whole, sink->path, &sink->options, error);
    }
    phl_forest_free(whole);
    return status;
}

phl_status phl_sink_finish(phl_sink *sink, phl_error *error)
{
    if (sink->driver->one_tree_a_file) {
        return write_kept(sink, error);
    }
    phl_status status =
        sink->output == NULL ? phl_output_open(sink->path, &sink->output, error) : PHL_OK;
    return status == PHL_OK ? phl_output_commit(sink->output, error) : status;
}

void phl_sink_free(phl_sink *sink)
{
    if (sink == NULL) {
        return;
    }
    phl_output_close(sink->output);
    for (size_t i = 0; i < sink->n_kept; i++) {
        phl_forest_free(sink->kept[i]);
    }
    phl_free(sink->kept);
    phl_free(sink->path);
    phl_free(sink);
}
