/* source.c - trees from files, text or a forest, block by block (phloem.h section 6). */
#include "format/source.h"

#include "base/memory.h"
#include "forest/forest.h"
#include "format/block_reader.h"

struct phl_source {
    const phl_forest *forest; /* NULL: there is a reader */
    bool given;               /* the forest was */
    phl_block_reader *reader; /* NULL: there is a forest */
    phl_forest *block;        /* from the reader, at hand */
};

/* A source that takes over a reader, on failure too. */
static phl_status of_reader(phl_block_reader *reader, phl_source **source, phl_error *error)
{
    phl_source *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        phl_block_reader_free(reader);
        return PHL_ERR_MEMORY;
    }
    made->reader = reader;
    *source = made;
    return PHL_OK;
}

phl_status phl_source_open(const char *const *paths, size_t n_paths,
                           const phl_read_options *options, phl_source **source, phl_error *error)
{
    phl_block_reader *reader = NULL;
    phl_status status = phl_block_reader_create(paths, n_paths, options, &reader, error);
    return status == PHL_OK ? of_reader(reader, source, error) : status;
}

phl_status phl_source_memory(const void *text, size_t size, const char *name,
                             const phl_read_options *options, phl_source **source, phl_error *error)
{
    phl_block_reader *reader = NULL;
    phl_status status = phl_block_reader_create_memory(text, size, name, options, &reader, error);
    return status == PHL_OK ? of_reader(reader, source, error) : status;
}

phl_status phl_source_forest(const phl_forest *forest, phl_source **source, phl_error *error)
{
    phl_source *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->forest = forest;
    *source = made;
    return PHL_OK;
}

void phl_source_free(phl_source *source)
{
    if (source != NULL) {
        phl_forest_free(source->block);
        phl_block_reader_free(source->reader);
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
    size_t trees = 0, size = 0;
    phl_block_reader_bounds(source->reader, &trees, &size);
    phl_status status = phl_block_reader_next(source->reader, trees, size, &source->block, error);
    if (status == PHL_OK) {
        *block = source->block;
    }
    return status;
}

void phl_source_summary(const phl_source *source, phl_read_summary *summary)
{
    if (source->reader != NULL) {
        phl_block_reader_summary(source->reader, summary);
    } else {
        *summary = (phl_read_summary){.trees = source->given ? source->forest->n_trees : 0};
    }
}

size_t phl_source_files(const phl_source *source)
{
    return source->reader != NULL ? phl_block_reader_files(source->reader) : 0;
}

const char *phl_source_file(const phl_source *source, size_t file)
{
    return phl_block_reader_file(source->reader, file);
}
