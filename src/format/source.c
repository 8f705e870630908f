/* source.c - trees from files, text or a forest, block by block (phloem.h section 6). */
#include "format/source.h"

#include "base/memory.h"
#include "forest/forest.h"
#include "format/read.h"

struct phl_source {
    const phl_forest *forest;  /* NULL: there is a reader */
    bool given;                /* the forest was */
    phl_forest_reader *reader; /* NULL: there is a forest */
    size_t block_trees, block_size;
    phl_forest *block; /* from the reader, at hand */
};

static phl_status make_source(const phl_read_options *options, phl_source **source,
                              phl_error *error)
{
    phl_source *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->block_trees = options != NULL ? options->block_trees : 0;
    made->block_size = options != NULL ? options->block_size : 0;
    made->block_trees = made->block_trees != 0 ? made->block_trees : 100000;
    made->block_size = made->block_size != 0 ? made->block_size : 1000000;
    *source = made;
    return PHL_OK;
}

phl_status phl_source_files(const char *const *paths, size_t n_paths,
                            const phl_read_options *options, phl_source **source, phl_error *error)
{
    phl_source *made = NULL;
    phl_status status = make_source(options, &made, error);
    if (status == PHL_OK) {
        status = phl_forest_reader_create(paths, n_paths, options, &made->reader, error);
    }
    if (status != PHL_OK) {
        phl_source_free(made);
        return status;
    }
    *source = made;
    return PHL_OK;
}

phl_status phl_source_memory(const void *text, size_t size, const char *name,
                             const phl_read_options *options, phl_source **source, phl_error *error)
{
    phl_source *made = NULL;
    phl_status status = make_source(options, &made, error);
    if (status == PHL_OK) {
        status = phl_forest_reader_create_memory(text, size, name, options, &made->reader, error);
    }
    if (status != PHL_OK) {
        phl_source_free(made);
        return status;
    }
    *source = made;
    return PHL_OK;
}

phl_status phl_source_forest(const phl_forest *forest, phl_source **source, phl_error *error)
{
    phl_source *made = NULL;
    phl_status status = make_source(NULL, &made, error);
    if (status == PHL_OK) {
        made->forest = forest;
        *source = made;
    }
    return status;
}

void phl_source_free(phl_source *source)
{
    if (source != NULL) {
        phl_forest_free(source->block);
        phl_forest_reader_free(source->reader);
        phl_free(source);
    }
}

void phl_source_begin(phl_source *source)
{
    source->given = false;
}

phl_status phl_source_next(phl_source *source, const phl_forest **block, phl_error *error)
{
    if (source->reader == NULL) {
        bool empty = source->given || source->forest->n_trees == 0;
        *block = empty ? NULL : source->forest;
        source->given = true;
        return PHL_OK;
    }
    phl_forest_free(source->block);
    source->block = NULL;
    phl_status status = phl_forest_reader_next(source->reader, source->block_trees,
                                               source->block_size, &source->block, error);
    if (status == PHL_OK) {
        *block = source->block;
    }
    return status;
}

void phl_source_summary(const phl_source *source, phl_read_summary *summary)
{
    if (source->reader != NULL) {
        phl_forest_reader_summary(source->reader, summary);
    } else {
        *summary = (phl_read_summary){.trees = source->given ? source->forest->n_trees : 0};
    }
}
