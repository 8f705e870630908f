/* xml_write.c - writing a tree as an XML document.
 *
 * A node is an element named by its label where that is possible: the label is an XML name and the
 * node sits in the slot after its elder sibling's.  Any other node is <node label="..."
 * slot="...">, and the instruction <?phloem nodes?> before the root says that <node> is to be
 * decoded; then a label that is literally "node" is written that way too.
 */
#include <string.h>

#include "base/memory.h"
#include "format/xml.h"

enum { DEEPEST_INDENT = 50 }; /* deeper lines are not indented: long chains stay small */

/* Ranges of name characters beyond ASCII, first and last, ascending.  A part of what XML 1.0
 * allows: letters that the fourth edition (expat) and the fifth agree on, so that what is written
 * here is read by any parser.  Labels with other characters are written as <node label="...">. */
static const uint32_t name_ranges[][2] = {
    {0xc0, 0xd6},     {0xd8, 0xf6},     {0xf8, 0x131},    {0x134, 0x13e},   {0x141, 0x148},
    {0x14a, 0x17e},   {0x180, 0x1c3},   {0x388, 0x38a},   {0x38e, 0x3a1},   {0x3a3, 0x3ce},
    {0x401, 0x40c},   {0x40e, 0x44f},   {0x451, 0x45c},   {0x45e, 0x481},   {0x531, 0x556},
    {0x561, 0x586},   {0x5d0, 0x5ea},   {0x621, 0x63a},   {0x641, 0x64a},   {0x905, 0x939},
    {0xe01, 0xe2e},   {0x10a0, 0x10c5}, {0x10d0, 0x10f6}, {0x1e00, 0x1e9b}, {0x1ea0, 0x1ef9},
    {0x3041, 0x3094}, {0x30a1, 0x30fa}, {0x4e00, 0x9fa5}, {0xac00, 0xd7a3},
};

/* The character at *at (valid UTF-8, NUL-terminated), and on to the next. */
static uint32_t next_character(const char **at)
{
    uint32_t character = 0;
    *at += phl_utf8_decode(*at, 4, &character);
    return character;
}

static bool is_name_start(uint32_t character)
{
    if (character < 0x80) {
        return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
               character == '_' || character == ':';
    }
    for (size_t i = 0; i < sizeof name_ranges / sizeof name_ranges[0]; i++) {
        if (character <= name_ranges[i][1]) {
            return character >= name_ranges[i][0];
        }
    }
    return false;
}

static bool is_name(const char *label)
{
    const char *at = label;
    if (!is_name_start(next_character(&at))) {
        return false;
    }
    while (*at != '\0') {
        uint32_t character = next_character(&at);
        bool more = (character >= '0' && character <= '9') || character == '-' || character == '.';
        if (!more && !is_name_start(character)) {
            return false;
        }
    }
    return true;
}

const char *phl_xml_write_tree_objection(const phl_writer *writer, size_t tree)
{
    return phl_tree_weight(writer->forest, tree) != 1.0 ? "a weight other than 1" : NULL;
}

const char *phl_xml_write_node_objection(const phl_writer *writer, uint32_t subtree)
{
    int32_t label = phl_subtree_label(writer->forest, subtree);
    if (label == PHL_UNKNOWN) {
        return NULL;
    }
    const char *name = phl_forest_label_name(writer->forest, label);
    const char *at = name;
    while (*at != '\0') {
        uint32_t character = next_character(&at);
        if (character < 0x20 && character != '\t' && character != '\n' && character != '\r') {
            return "a label that holds a control character";
        }
        if (character == 0xfffe || character == 0xffff) {
            return "a label that holds U+FFFE or U+FFFF";
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

/* An element whose end tag is still to come. */
typedef struct open_tag {
    const char *name;   /* of the element; borrowed from the forest */
    uint32_t next_slot; /* of its children */
} open_tag;

typedef struct xml_writing {
    phl_output *output;
    bool nodes;     /* <node> stands for a coded node */
    open_tag *open; /* [depth] */
    size_t depth, capacity;
} xml_writing;

static const char *label_of(const phl_writer *writer, const phl_visit *visit)
{
    return visit->label == PHL_UNKNOWN ? NULL : phl_forest_label_name(writer->forest, visit->label);
}

/* Does any node of the tree need to be coded?  Whether it does depends on the distinct subtrees in
 * it alone, but a walk is simpler than keeping account of those. */
static phl_status needs_nodes(phl_writer *writer, size_t tree, bool *needed, phl_error *error)
{
    phl_visit visit;
    int more;
    *needed = false;
    phl_walk_start(writer->walk, tree);
    while (!*needed && (more = phl_walk_next(writer->walk, &visit, error)) != 0) {
        if (more < 0) {
            return (phl_status)more;
        }
        const char *label = label_of(writer, &visit);
        *needed =
            label == NULL || !is_name(label) || phl_format_has_gap(writer->forest, visit.subtree);
    }
    return PHL_OK;
}

/* The inside of an attribute value. */
static void write_escaped(phl_output *output, const char *text)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, "&<>\"\t\n\r");
        phl_output_write(output, text, plain);
        text += plain;
        if (*text == '\0') {
            return;
        }
        const char *reference = *text == '&'    ? "&amp;"
                                : *text == '<'  ? "&lt;"
                                : *text == '>'  ? "&gt;"
                                : *text == '"'  ? "&quot;"
                                : *text == '\t' ? "&#9;"
                                : *text == '\n' ? "&#10;"
                                                : "&#13;";
        phl_output_string(output, reference);
        text++;
    }
}

static void write_indent(phl_output *output, size_t depth)
{
    phl_output_repeat(output, "  ", depth <= DEEPEST_INDENT ? depth : 0);
}

static void close_tags(xml_writing *writing, size_t depth)
{
    phl_output *output = writing->output;
    while (writing->depth > depth) {
        writing->depth--;
        write_indent(output, writing->depth);
        phl_output_string(output, "</");
        phl_output_string(output, writing->open[writing->depth].name);
        phl_output_string(output, ">\n");
    }
}

static void write_coded_attributes(phl_output *output, const char *label, uint32_t slot)
{
    if (label != NULL) {
        phl_output_string(output, " label=\"");
        write_escaped(output, label);
        phl_output_string(output, "\"");
    }
    if (slot != 0) {
        phl_output_string(output, " slot=\"");
        phl_output_number(output, slot);
        phl_output_string(output, "\"");
    }
}

/* The start tag of a node, or all of it when it is a leaf. */
static phl_status write_node(xml_writing *writing, const phl_visit *visit, const char *label,
                             phl_error *error)
{
    phl_output *output = writing->output;
    uint32_t said_slot = 0; /* 0: the next one, which need not be said */
    close_tags(writing, visit->depth);
    if (visit->depth > 0) {
        open_tag *parent = &writing->open[visit->depth - 1];
        said_slot = visit->slot == parent->next_slot ? 0 : visit->slot;
        parent->next_slot = visit->slot + 1;
    }
    bool coded = said_slot != 0 || label == NULL || !is_name(label) ||
                 (writing->nodes && strcmp(label, PHL_XML_NODE) == 0);
    const char *name = coded ? PHL_XML_NODE : label;
    write_indent(output, visit->depth);
    phl_output_string(output, "<");
    phl_output_string(output, name);
    if (coded) {
        write_coded_attributes(output, label, said_slot);
    }
    phl_output_string(output, visit->leaf ? "/>\n" : ">\n");
    if (visit->leaf) {
        return PHL_OK;
    }
    phl_status status = phl_grow(&writing->open, &writing->capacity, writing->depth + 1,
                                 sizeof *writing->open, error);
    if (status == PHL_OK) {
        writing->open[writing->depth++] = (open_tag){name, 1};
    }
    return status;
}

static phl_status write_nodes(phl_writer *writer, xml_writing *writing, size_t tree,
                              phl_error *error)
{
    phl_visit visit;
    int more = 0;
    phl_status status = PHL_OK;
    phl_walk_start(writer->walk, tree);
    while (status == PHL_OK && (more = phl_walk_next(writer->walk, &visit, error)) > 0) {
        status = write_node(writing, &visit, label_of(writer, &visit), error);
    }
    return more < 0 ? (phl_status)more : status;
}

phl_status phl_xml_write_tree(phl_writer *writer, size_t tree, phl_error *error)
{
    xml_writing writing = {.output = writer->output};
    phl_status status = needs_nodes(writer, tree, &writing.nodes, error);
    if (status != PHL_OK) {
        return status;
    }
    bool no_class = phl_tree_class(writer->forest, tree) == PHL_NO_CLASS;
    phl_output_string(writing.output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if (writing.nodes || no_class) {
        phl_output_string(writing.output, "<?" PHL_XML_PI);
        phl_output_string(writing.output, writing.nodes ? " " PHL_XML_PI_NODES : "");
        phl_output_string(writing.output, no_class ? " " PHL_XML_PI_NO_CLASS : "");
        phl_output_string(writing.output, "?>\n");
    }
    status = write_nodes(writer, &writing, tree, error);
    if (status == PHL_OK) {
        close_tags(&writing, 0);
        status = phl_output_check(writing.output, error);
    }
    phl_free(writing.open);
    return status;
}
