/* block_reader.c - files, folders and memory into forests, block by block or all at once.
 *
 * Contents: options, the input at hand, blocks, whole forests.
 *
 * A forest reader has at most one input open and one builder, which hands over what it holds when a
 * block is full.  A whole forest is one block without bounds.
 */
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "format/block_reader.h"
#include "format/files.h"
#include "format/format.h"

/* ---------------------------------------------------------------------------------------------
 * Options
 * ------------------------------------------------------------------------------------------- */

static const phl_read_options defaults = {.size = sizeof(phl_read_options)};

void phl_read_options_init_sized(phl_read_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

static uint64_t or_default(uint64_t value, uint64_t standard)
{
    return value != 0 ? value : standard;
}

static phl_read_options resolve(const phl_read_options *options, phl_format format)
{
    phl_read_options resolved = *options;
    resolved.format = format;
    resolved.max_nodes = or_default(options->max_nodes, 100000000);
    resolved.max_children = or_default(options->max_children, 10000000);
    resolved.max_depth = or_default(options->max_depth, 10000);
    resolved.max_attributes = or_default(options->max_attributes, 10000);
    resolved.max_name = or_default(options->max_name, 65536);
    uint64_t token = format == PHL_FORMAT_XML    ? (uint64_t)16 << 20
                     : format == PHL_FORMAT_HTML ? (uint64_t)64 << 20
                                                 : (uint64_t)1 << 30;
    resolved.max_token = or_default(options->max_token, token);
    resolved.max_ratio = or_default(options->max_ratio, 1000);
    return resolved;
}

/* ---------------------------------------------------------------------------------------------
 * The input at hand
 * ------------------------------------------------------------------------------------------- */

struct phl_block_reader {
    phl_read_options options;
    phl_files files;   /* from memory: the one name */
    struct named {     /* what the caller named: a file, or a folder of files */
        size_t end;    /* number of the file behind its last */
        size_t length; /* bytes of its path */
    } * named;
    size_t n_named;
    size_t next_file;
    bool from_memory;
    const void *text;
    size_t size;
    phl_builder *builder;
    phl_read_summary summary;
    phl_status failure; /* what reading ended with; PHL_OK: it may go on */
    phl_error error;    /* its record; formats need one, whatever the caller gives */

    phl_input *input; /* NULL: none is open */
    char *folder_class;
    const phl_format_driver *driver; /* NULL: an empty input of no known format */
    phl_read_options resolved;
    phl_reader format; /* what the driver works with */
};

/* The driver for an input: what the caller says, else by name, else by content.  NULL for an empty
 * input that nothing is known about: it holds no trees in any format. */
static phl_status choose_driver(phl_input *input, const char *path, const phl_read_options *options,
                                const phl_format_driver **driver, phl_error *error)
{
    phl_format format = options->format;
    if (format == PHL_FORMAT_AUTO) {
        format = phl_format_of_name(path, options);
    }
    *driver = phl_format_driver_of(format);
    if (*driver != NULL) {
        return PHL_OK;
    }
    const char *text;
    size_t length;
    phl_status status = phl_input_peek(input, &text, &length, error);
    if (status != PHL_OK || length == 0) {
        return status;
    }
    *driver = phl_format_recognise(text, length);
    if (*driver == NULL) {
        char excerpt[PHL_EXCERPT_SIZE];
        phl_position position = {phl_input_name(input), 0, 0};
        return phl_raise_at(
            error, PHL_ERR_FORMAT, position,
            "name it with " PHL_OPTION_TO(
                "read.format", "brackets|json|elastic|xml|html|conllu|ptb|newick|dbn|ct"),
            "cannot tell the format from the name or from '%s'",
            phl_text_excerpt(text, length, excerpt));
    }
    return PHL_OK;
}

static void close_input(phl_block_reader *reader)
{
    if (reader->input != NULL) {
        reader->summary.files++;
        reader->summary.bytes += phl_input_bytes(reader->input);
    }
    if (reader->format.state != NULL) {
        reader->driver->close(&reader->format);
    }
    phl_free(reader->format.state);
    phl_input_close(reader->input);
    phl_free(reader->folder_class);
    memset(&reader->format, 0, sizeof reader->format);
    reader->driver = NULL;
    reader->input = NULL;
    reader->folder_class = NULL;
}

/* Make the format's reader ready for the input that was opened. */
static phl_status open_format(phl_block_reader *reader, const char *path, phl_error *error)
{
    phl_status status =
        choose_driver(reader->input, path, &reader->options, &reader->driver, error);
    if (status != PHL_OK || reader->driver == NULL) {
        return status;
    }
    const phl_format_driver *driver = reader->driver;
    reader->resolved = resolve(&reader->options, driver->format);
    reader->builder->max_nodes = reader->resolved.max_nodes;
    reader->builder->max_slot = reader->resolved.max_children;
    reader->format = (phl_reader){
        .options = &reader->resolved,
        .builder = reader->builder,
        .input = reader->input,
        .file = phl_input_name(reader->input),
        .folder_class = reader->folder_class,
        .summary = &reader->summary,
    };
    if (driver->state_size > 0) {
        reader->format.state = phl_alloc_zero(1, driver->state_size, error);
        if (reader->format.state == NULL) {
            return PHL_ERR_MEMORY;
        }
        driver->open(&reader->format);
    }
    return PHL_OK;
}

static phl_status find_folder_class(phl_block_reader *reader, const char *path, phl_error *error)
{
    size_t file = reader->next_file - 1;
    size_t named = 0;
    while (named < reader->n_named && reader->named[named].end <= file) {
        named++;
    }
    uint32_t level = reader->options.class_level;
    phl_status status = level == 0 ? phl_files_folder_name(path, &reader->folder_class, error)
                                   : phl_files_level_name(path, reader->named[named].length, level,
                                                          &reader->folder_class, error);
    if (status == PHL_OK && reader->folder_class != NULL) {
        size_t length = strlen(reader->folder_class);
        if (phl_utf8_check(reader->folder_class, length) != length) {
            phl_free(reader->folder_class);
            reader->folder_class = NULL; /* a name that is no text is no class */
        }
    }
    return status;
}

static phl_status open_input(phl_block_reader *reader, phl_error *error)
{
    const char *path = reader->files.paths[reader->next_file++];
    phl_read_options resolved = resolve(&reader->options, PHL_FORMAT_AUTO);
    phl_status status = PHL_OK;
    if (reader->from_memory) {
        status = phl_input_open_memory(reader->text, reader->size, path, resolved.max_ratio,
                                       &reader->input, error);
    } else {
        status = find_folder_class(reader, path, error);
        if (status == PHL_OK) {
            status = phl_input_open(path, resolved.max_ratio, &reader->input, error);
        }
    }
    return status == PHL_OK ? open_format(reader, path, error) : status;
}

/* Read on in the open input, to a pause or to its end, where it is closed. */
static phl_status read_input(phl_block_reader *reader, size_t max_trees, size_t max_size,
                             bool *pause, phl_error *error)
{
    phl_reader *format = &reader->format;
    phl_status status = PHL_OK;
    bool ended = true;
    if (reader->driver != NULL) {
        format->max_trees = max_trees;
        format->max_size = max_size;
        format->pause = false;
        status = reader->driver->read(format, error);
        *pause = format->pause;
        ended = format->ended;
    }
    if (status != PHL_OK || ended) {
        close_input(reader);
    }
    return status;
}

/* What is wrong with one file's data (damaged compression, no known format) is passed over like a
 * bad tree. */
static phl_status pass_over_input(phl_block_reader *reader, phl_status status, phl_error *error)
{
    close_input(reader);
    phl_builder_abandon_tree(reader->builder);
    if (!reader->options.skip_bad || phl_status_group(status) != PHL_GROUP_DATA) {
        return status;
    }
    reader->summary.skipped++;
    if (reader->options.report != NULL) {
        reader->options.report(error, reader->options.context);
    }
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Blocks
 * ------------------------------------------------------------------------------------------- */

/* A reader of nothing yet. */
static phl_status make_reader(const phl_read_options *options, phl_block_reader **reader,
                              phl_error *error)
{
    phl_read_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_read", error);
    if (status != PHL_OK) {
        return status;
    }
    if (own.no_class && own.class_name != NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "a class for every tree and no class at all cannot go together");
    }
    status = phl_format_check_endings(&own, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_block_reader *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->options = own;
    phl_builder_options building;
    phl_builder_options_init(&building);
    building.no_sharing = own.no_sharing;
    status = phl_builder_create(&building, &made->builder, error);
    if (status != PHL_OK) {
        phl_block_reader_free(made);
        return status;
    }
    *reader = made;
    return PHL_OK;
}

phl_status phl_block_reader_create(const char *const *paths, size_t n_paths,
                                   const phl_read_options *options, phl_block_reader **reader,
                                   phl_error *error)
{
    phl_block_reader *made = NULL;
    phl_status status = make_reader(options, &made, error);
    if (status == PHL_OK) {
        made->named = phl_alloc_zero(n_paths, sizeof *made->named, error);
        status = made->named == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t i = 0; status == PHL_OK && i < n_paths; i++) {
        status =
            phl_files_add(&made->files, paths[i], &made->options, &made->summary.skipped, error);
        made->named[made->n_named++] = (struct named){made->files.count, strlen(paths[i])};
    }
    if (status != PHL_OK) {
        phl_block_reader_free(made);
        return status;
    }
    *reader = made;
    return PHL_OK;
}

phl_status phl_block_reader_create_memory(const void *text, size_t size, const char *name,
                                          const phl_read_options *options,
                                          phl_block_reader **reader, phl_error *error)
{
    phl_block_reader *made = NULL;
    phl_status status = make_reader(options, &made, error);
    if (status == PHL_OK) {
        made->from_memory = true;
        made->text = text;
        made->size = size;
        status = phl_files_append(&made->files, name != NULL ? name : "<memory>", error);
    }
    if (status != PHL_OK) {
        phl_block_reader_free(made);
        return status;
    }
    *reader = made;
    return PHL_OK;
}

void phl_block_reader_free(phl_block_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    close_input(reader);
    phl_builder_free(reader->builder);
    phl_files_clear(&reader->files);
    phl_free(reader->named);
    phl_free(reader);
}

/* Trees into the builder until it holds a block, or there are no more. */
static phl_status read_on(phl_block_reader *reader, size_t max_trees, size_t max_size)
{
    phl_error *error = &reader->error;
    bool pause = false;
    while (reader->failure == PHL_OK && !pause &&
           (reader->input != NULL || reader->next_file < reader->files.count)) {
        phl_status status = reader->input == NULL ? open_input(reader, error) : PHL_OK;
        if (status == PHL_OK) {
            status = read_input(reader, max_trees, max_size, &pause, error);
        }
        if (status != PHL_OK) {
            reader->failure = pass_over_input(reader, status, error);
        }
    }
    if (reader->options.limit != 0 && reader->summary.trees >= reader->options.limit) {
        close_input(reader);
        reader->next_file = reader->files.count;
    }
    return reader->failure;
}

static phl_status tell_failure(const phl_block_reader *reader, phl_error *error)
{
    if (error != NULL) {
        *error = reader->error;
    }
    return reader->failure;
}

phl_status phl_block_reader_next(phl_block_reader *reader, size_t max_trees, size_t max_size,
                                 phl_forest **block, phl_error *error)
{
    phl_status status =
        read_on(reader, max_trees != 0 ? max_trees : SIZE_MAX, max_size != 0 ? max_size : SIZE_MAX);
    /* Trees before what went wrong come first. */
    if (reader->builder->n_trees > 0 && status != PHL_ERR_CANCELLED) {
        return phl_builder_take_forest(reader->builder, block, error);
    }
    if (status != PHL_OK) {
        return tell_failure(reader, error);
    }
    *block = NULL;
    return PHL_OK;
}

void phl_block_reader_bounds(const phl_block_reader *reader, size_t *max_trees, size_t *max_size)
{
    *max_trees = (size_t)or_default(reader->options.block_trees, 100000);
    *max_size = (size_t)or_default(reader->options.block_size, 1000000);
}

size_t phl_block_reader_files(const phl_block_reader *reader)
{
    return reader->files.count;
}

const char *phl_block_reader_file(const phl_block_reader *reader, size_t file)
{
    return reader->files.paths[file];
}

void phl_block_reader_summary(const phl_block_reader *reader, phl_read_summary *summary)
{
    *summary = reader->summary;
    summary->bytes += reader->input != NULL ? phl_input_bytes(reader->input) : 0;
}

/* ---------------------------------------------------------------------------------------------
 * Whole forests
 * ------------------------------------------------------------------------------------------- */

/* One block of everything; the reader is used up. */
static phl_status read_all(phl_block_reader *reader, phl_forest **forest, phl_read_summary *summary,
                           phl_error *error)
{
    phl_status status = read_on(reader, SIZE_MAX, SIZE_MAX) != PHL_OK
                            ? tell_failure(reader, error)
                            : phl_builder_finish(reader->builder, forest, error);
    if (status == PHL_OK && summary != NULL) {
        phl_block_reader_summary(reader, summary);
    }
    phl_block_reader_free(reader);
    return status;
}

phl_status phl_forest_read(const char *const *paths, size_t n_paths,
                           const phl_read_options *options, phl_forest **forest,
                           phl_read_summary *summary, phl_error *error)
{
    phl_block_reader *reader = NULL;
    phl_status status = phl_block_reader_create(paths, n_paths, options, &reader, error);
    return status == PHL_OK ? read_all(reader, forest, summary, error) : status;
}

phl_status phl_forest_read_memory(const void *text, size_t size, const char *name,
                                  const phl_read_options *options, phl_forest **forest,
                                  phl_read_summary *summary, phl_error *error)
{
    phl_block_reader *reader = NULL;
    phl_status status = phl_block_reader_create_memory(text, size, name, options, &reader, error);
    return status == PHL_OK ? read_all(reader, forest, summary, error) : status;
}
