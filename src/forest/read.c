/* read.c - files, folders and memory into one forest. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "forest/files.h"
#include "forest/format.h"

void phl_read_options_init(phl_read_options *options)
{
    memset(options, 0, sizeof *options);
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
    resolved.max_token = or_default(
        options->max_token, format == PHL_FORMAT_XML ? (uint64_t)16 << 20 : (uint64_t)1 << 30);
    resolved.max_ratio = or_default(options->max_ratio, 1000);
    return resolved;
}

/* The driver for an input: what the caller says, else by name, else by content.  NULL for an empty
 * input that nothing is known about: it holds no trees in any format. */
static phl_status choose_driver(phl_input *input, const char *path, const phl_read_options *options,
                                const phl_format_driver **driver, phl_error *error)
{
    phl_format format = options->format;
    if (format == PHL_FORMAT_AUTO) {
        format = phl_format_of_file(path);
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
        return phl_raise_at(error, PHL_ERR_FORMAT, position,
                            "say it with --from brackets|json|elastic|xml|conllu|ptb",
                            "cannot tell the format from the name or from '%s'",
                            phl_excerpt(text, length, excerpt));
    }
    return PHL_OK;
}

/* Read one input; closes it. */
static phl_status read_input(phl_input *input, const char *path, const char *folder_class,
                             const phl_read_options *options, phl_builder *builder,
                             phl_read_summary *summary, bool *done, phl_error *error)
{
    const phl_format_driver *driver = NULL;
    phl_status status = choose_driver(input, path, options, &driver, error);
    if (status == PHL_OK && driver != NULL) {
        phl_read_options resolved = resolve(options, driver->format);
        phl_reader reader = {
            .options = &resolved,
            .builder = builder,
            .input = input,
            .file = phl_input_name(input),
            .folder_class = folder_class,
            .summary = summary,
        };
        builder->max_nodes = resolved.max_nodes;
        builder->max_slot = resolved.max_children;
        status = driver->read(&reader, error);
        *done = reader.done;
    }
    summary->files++;
    summary->bytes += phl_input_bytes(input);
    phl_input_close(input);
    if (status != PHL_OK) {
        phl_builder_abandon_tree(builder);
    }
    /* What is wrong with one file's data (damaged compression, no known format) is passed over like
     * a bad tree. */
    if (options->skip_bad && phl_status_exit_code(status) == 3) {
        summary->skipped++;
        if (options->report != NULL) {
            options->report(error, options->context);
        }
        return PHL_OK;
    }
    return status;
}

static phl_status read_file(const char *path, const phl_read_options *options, phl_builder *builder,
                            phl_read_summary *summary, bool *done, phl_error *error)
{
    phl_input *input = NULL;
    char *folder_class = NULL;
    phl_read_options resolved = resolve(options, PHL_FORMAT_AUTO);
    phl_status status = phl_files_folder_name(path, &folder_class, error);
    if (status == PHL_OK && folder_class != NULL) {
        size_t length = strlen(folder_class);
        if (phl_utf8_check(folder_class, length) != length) {
            phl_free(folder_class);
            folder_class = NULL; /* a name that is no text is no class */
        }
    }
    if (status == PHL_OK) {
        status = phl_input_open(path, resolved.max_ratio, &input, error);
    }
    if (status == PHL_OK) {
        status = read_input(input, path, folder_class, options, builder, summary, done, error);
    }
    phl_free(folder_class);
    return status;
}

/* What both public calls share around the reading itself. */
struct session {
    phl_read_options options;
    phl_builder *builder;
    phl_read_summary summary;
    phl_error scratch; /* stands in when the caller wants no record: readers need one */
    phl_error *error;
};

static phl_status begin(struct session *session, const phl_read_options *options, phl_error *error)
{
    memset(session, 0, sizeof *session);
    session->error = error != NULL ? error : &session->scratch;
    if (options != NULL) {
        session->options = *options;
    }
    if (session->options.no_class && session->options.class_name != NULL) {
        return phl_raise(session->error, PHL_ERR_ARGUMENT, NULL,
                         "a class for every tree and no class at all cannot go together");
    }
    phl_builder_options building = {session->options.no_sharing};
    return phl_builder_create(&building, &session->builder, session->error);
}

static phl_status finish(struct session *session, phl_status status, phl_forest **forest,
                         phl_read_summary *summary)
{
    if (status == PHL_OK) {
        status = phl_builder_finish(session->builder, forest, session->error);
    }
    if (summary != NULL) {
        *summary = session->summary;
    }
    phl_builder_free(session->builder);
    return status;
}

phl_status phl_forest_read(const char *const *paths, size_t n_paths,
                           const phl_read_options *options, phl_forest **forest,
                           phl_read_summary *summary, phl_error *error)
{
    struct session session;
    phl_files files = {NULL, 0, 0};
    phl_status status = begin(&session, options, error);
    for (size_t i = 0; status == PHL_OK && i < n_paths; i++) {
        status = phl_files_add(&files, paths[i], session.options.format, session.error);
    }
    bool done = false;
    for (size_t i = 0; status == PHL_OK && !done && i < files.count; i++) {
        status = read_file(files.paths[i], &session.options, session.builder, &session.summary,
                           &done, session.error);
    }
    phl_files_clear(&files);
    return finish(&session, status, forest, summary);
}

phl_status phl_forest_read_memory(const void *text, size_t size, const char *name,
                                  const phl_read_options *options, phl_forest **forest,
                                  phl_read_summary *summary, phl_error *error)
{
    struct session session;
    phl_input *input = NULL;
    bool done = false;
    phl_status status = begin(&session, options, error);
    if (name == NULL) {
        name = "<memory>";
    }
    if (status == PHL_OK) {
        phl_read_options resolved = resolve(&session.options, PHL_FORMAT_AUTO);
        status = phl_input_open_memory(text, size, name, resolved.max_ratio, &input, session.error);
    }
    if (status == PHL_OK) {
        status = read_input(input, name, NULL, &session.options, session.builder, &session.summary,
                            &done, session.error);
    }
    return finish(&session, status, forest, summary);
}
