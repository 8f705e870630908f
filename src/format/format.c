/* format.c - the table of tree formats, and telling one from another by name and content. */
#include "format/format.h"

#include <string.h>

#include "base/text.h"

/* In the order in which they are asked to recognise content: the more particular first. */
static const phl_format_driver *const drivers[] = {
    &phl_html_driver, /* before xml, which takes whatever begins with < */
    &phl_xml_driver,      &phl_json_driver,
    &phl_conllu_driver,   &phl_ct_driver,
    &phl_dbn_driver,      &phl_elastic_driver,
    &phl_newick_driver,   &phl_ptb_driver,
    &phl_brackets_driver, NULL,
};

const phl_format_driver *phl_format_driver_of(phl_format format)
{
    for (size_t i = 0; drivers[i] != NULL; i++) {
        if (drivers[i]->format == format) {
            return drivers[i];
        }
    }
    return NULL;
}

const char *phl_format_name(phl_format format)
{
    const phl_format_driver *driver = phl_format_driver_of(format);
    return driver != NULL ? driver->name : "auto";
}

phl_format phl_format_find(const char *name)
{
    for (size_t i = 0; drivers[i] != NULL; i++) {
        if (strcmp(drivers[i]->name, name) == 0) {
            return drivers[i]->format;
        }
    }
    return PHL_FORMAT_AUTO;
}

/* Length of a name without an ending .gz or .zst. */
static size_t length_without_compression(const char *path)
{
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0) {
        return length - 3;
    }
    if (length > 4 && strcmp(path + length - 4, ".zst") == 0) {
        return length - 4;
    }
    return length;
}

phl_format phl_format_of_file(const char *path)
{
    size_t length = length_without_compression(path);
    for (size_t i = 0; drivers[i] != NULL; i++) {
        for (const char *const *ending = drivers[i]->endings; *ending != NULL; ending++) {
            size_t wanted = strlen(*ending);
            if (length > wanted && memcmp(path + length - wanted, *ending, wanted) == 0) {
                return drivers[i]->format;
            }
        }
    }
    return PHL_FORMAT_AUTO;
}

/* The format that "svg=xml" names, and where the ending stops. */
static phl_format split_ending(const char *given, size_t *length)
{
    const char *equals = strrchr(given, '=');
    *length = equals != NULL ? (size_t)(equals - given) : 0;
    return equals != NULL ? phl_format_find(equals + 1) : PHL_FORMAT_AUTO;
}

phl_status phl_format_check_endings(const phl_read_options *options, phl_error *error)
{
    for (size_t i = 0; i < options->n_endings; i++) {
        size_t length;
        const char *given = options->endings[i];
        phl_format format = split_ending(given, &length);
        if (format == PHL_FORMAT_AUTO || length == 0) {
            char shown[PHL_EXCERPT_SIZE];
            return phl_raise(error, PHL_ERR_ARGUMENT, "write an ending, = and a format: svg=xml",
                             "the ending '%s' does not name a format",
                             phl_text_excerpt(given, strlen(given), shown));
        }
    }
    return PHL_OK;
}

phl_format phl_format_of_name(const char *path, const phl_read_options *options)
{
    size_t length = length_without_compression(path);
    for (size_t i = 0; i < options->n_endings; i++) {
        size_t wanted;
        const char *ending = options->endings[i];
        phl_format format = split_ending(ending, &wanted);
        size_t dot = ending[0] == '.'; /* may be written or not */
        wanted -= dot;
        if (length > wanted + 1 && path[length - wanted - 1] == '.' &&
            memcmp(path + length - wanted, ending + dot, wanted) == 0) {
            return format;
        }
    }
    return phl_format_of_file(path);
}

const phl_format_driver *phl_format_recognise(const char *text, size_t length)
{
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    for (size_t i = 0; drivers[i] != NULL; i++) {
        if (drivers[i]->recognise(text, length)) {
            return drivers[i];
        }
    }
    return NULL;
}

bool phl_format_has_gap(const phl_forest *forest, uint32_t subtree)
{
    const phl_link *links;
    size_t n = phl_subtree_links(forest, subtree, &links);
    return n > 0 && links[n - 1].slot != n;
}

const char *phl_format_bare_tree(const phl_writer *writer, size_t tree)
{
    if (phl_tree_class(writer->forest, tree) != PHL_NO_CLASS) {
        return "a class";
    }
    return phl_tree_weight(writer->forest, tree) != 1.0 ? "a weight other than 1" : NULL;
}

const char *phl_format_bare_node(const phl_writer *writer, uint32_t subtree, const char **name)
{
    if (phl_format_has_gap(writer->forest, subtree)) {
        return "an empty slot before a child";
    }
    int32_t label = phl_subtree_label(writer->forest, subtree);
    if (label == PHL_UNKNOWN) {
        return "an unknown label";
    }
    *name = phl_forest_label_name(writer->forest, label);
    return NULL;
}
