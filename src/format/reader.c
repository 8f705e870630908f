/* reader.c - what every format's reader does the same: ending a tree, passing over a bad one. */
#include "format/reader.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

static bool is_wanted(const phl_read_options *options, phl_span class_name)
{
    if (options->n_only_classes == 0) {
        return true;
    }
    for (size_t i = 0; class_name.bytes != NULL && i < options->n_only_classes; i++) {
        const char *wanted = options->only_classes[i];
        if (strlen(wanted) == class_name.length &&
            memcmp(wanted, class_name.bytes, class_name.length) == 0) {
            return true;
        }
    }
    return false;
}

static phl_span span_of(const char *string)
{
    phl_span span = {string, string != NULL ? strlen(string) : 0};
    return span;
}

/* Number of an optional name: -1 if absent. */
static phl_status number_name(phl_alphabet *names, phl_span name, int32_t *number, phl_error *error)
{
    *number = -1;
    return name.bytes == NULL ? PHL_OK
                              : phl_alphabet_add(names, name.bytes, name.length, number, error);
}

phl_status phl_reader_end_tree(phl_reader *reader, phl_span class_name, double weight, phl_span id,
                               uint64_t line, phl_error *error)
{
    const phl_read_options *options = reader->options;
    phl_builder *builder = reader->builder;
    if (options->class_name != NULL) {
        class_name = span_of(options->class_name);
    } else if ((options->class_by_folder || options->class_level > 0) &&
               reader->folder_class != NULL) {
        class_name = span_of(reader->folder_class);
    }
    if (!is_wanted(options, class_name)) {
        phl_builder_abandon_tree(builder);
        return phl_reader_check_cancel(reader, error);
    }
    if (options->no_class) {
        class_name = span_of(NULL);
    }
    phl_tree_entry entry = {.line = line, .weight = weight == 0.0 ? 1.0 : weight};
    if (!(isfinite(entry.weight) && entry.weight > 0.0)) {
        phl_position position = {reader->file, line, 0};
        return phl_raise_at(error, PHL_ERR_SYNTAX, position, NULL,
                            "a weight of %g, expected a positive number", weight);
    }
    phl_status status = phl_builder_take_root(builder, &entry.root, error);
    if (status != PHL_OK) {
        return status;
    }
    status = number_name(&builder->classes, class_name, &entry.class_number, error);
    if (status != PHL_OK) {
        return status;
    }
    status = number_name(&builder->ids, id, &entry.id, error);
    if (status != PHL_OK) {
        return status;
    }
    status = number_name(&builder->files, span_of(reader->file), &entry.file, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_builder_enter_tree(builder, &entry, error);
    if (status != PHL_OK) {
        return status;
    }
    reader->summary->trees++;
    reader->pause = builder->n_trees >= reader->max_trees ||
                    builder->n_nodes + builder->n_links >= reader->max_size ||
                    (options->limit != 0 && reader->summary->trees >= options->limit);
    return phl_reader_check_cancel(reader, error);
}

phl_status phl_reader_end_document(phl_reader *reader, phl_error *error)
{
    return phl_reader_end_tree(reader, span_of(reader->folder_class), 1.0, span_of(NULL), 0, error);
}

phl_status phl_reader_check_name(const phl_reader *reader, phl_position place, const char *what,
                                 const char *name, size_t length, phl_error *error)
{
    uint64_t cap = reader->options->max_name;
    if (length <= cap) {
        return PHL_OK;
    }
    char shown[PHL_EXCERPT_SIZE];
    return phl_raise_at(error, PHL_ERR_LIMIT, place,
                        "raise the cap with " PHL_OPTION_TO("read.max_name", ""),
                        "%s '%s' of %zu bytes, more than %llu", what,
                        phl_text_excerpt(name, length, shown), length, (unsigned long long)cap);
}

phl_status phl_reader_join_label(phl_text *label, const char *first, size_t length,
                                 const char *second, size_t second_length, phl_error *error)
{
    label->length = 0;
    phl_status status = phl_text_append(label, first, length, error);
    if (status == PHL_OK) {
        status = phl_text_append(label, "+", 1, error);
    }
    return status == PHL_OK ? phl_text_append(label, second, second_length, error) : status;
}

phl_status phl_reader_raise_depth(const phl_reader *reader, phl_position place, phl_error *error)
{
    return phl_raise_at(
        error, PHL_ERR_LIMIT, place, "raise the cap with " PHL_OPTION_TO("read.max_depth", ""),
        "elements nested more than %llu deep", (unsigned long long)reader->options->max_depth);
}

phl_status phl_reader_bad_tree(phl_reader *reader, phl_status status, phl_error *error)
{
    phl_builder_abandon_tree(reader->builder);
    /* Only what is wrong with the data can be passed over. */
    if (!reader->options->skip_bad || phl_status_group(status) != PHL_GROUP_DATA) {
        return status;
    }
    reader->summary->skipped++;
    if (reader->options->report != NULL) {
        reader->options->report(error, reader->options->context);
    }
    return PHL_OK;
}

phl_status phl_reader_check_cancel(phl_reader *reader, phl_error *error)
{
    const phl_read_options *options = reader->options;
    if (options->cancel != NULL && options->cancel(options->context)) {
        return phl_raise(error, PHL_ERR_CANCELLED, NULL, "interrupted");
    }
    return PHL_OK;
}

phl_status phl_reader_lines(phl_reader *reader, phl_lines *lines, phl_line_fn take,
                            phl_error *error)
{
    phl_status status = PHL_OK;
    while (status == PHL_OK && !reader->pause) {
        const char *line;
        size_t length;
        status = phl_lines_next(lines, &line, &length, error);
        if (status == PHL_OK && line == NULL) {
            reader->ended = true;
            break;
        }
        if (status == PHL_OK) {
            status = take(reader->state, line, length, error);
        }
        if (status != PHL_OK) {
            status = phl_reader_bad_tree(reader, status, error);
        }
    }
    return status;
}
