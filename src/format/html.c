/* html.c - reading HTML: one page is one tree, its elements are the nodes.
 *
 * Contents: labels, from the parser's tree to nodes, one page, the driver.
 *
 * Pages are read as browsers read them, by gumbo, which implements the parsing rules of HTML5: no
 * page is malformed, and <html>, <head> and <body> are there whether written or not.
 */
#include "format/html.h"

#include <string.h>

#include "base/memory.h"

/* A node of the parser's tree on the way to the one being read. */
typedef struct step {
    const GumboNode *node;
    unsigned next; /* child to go to */
    bool in_text;  /* the stretch of text before it has its leaf already */
} step;

typedef struct html_reading {
    phl_reader *reader;
    phl_error *error;
    phl_text page;
    phl_text label;
    phl_html_arena *arena;
    step *steps; /* [depth] from the root to the node at hand */
    size_t depth, capacity;
} html_reading;

/* ---------------------------------------------------------------------------------------------
 * Labels
 * ------------------------------------------------------------------------------------------- */

static phl_position place_of(const html_reading *reading, const GumboNode *node)
{
    const GumboSourcePosition *start = &node->v.element.start_pos;
    phl_position place = {reading->reader->file, start->line, start->column};
    return place;
}

static phl_status append_lower(phl_text *text, const char *bytes, size_t length, phl_error *error)
{
    size_t before = text->length;
    phl_status status = phl_text_append(text, bytes, length, error);
    for (size_t i = before; status == PHL_OK && i < text->length; i++) {
        char c = text->bytes[i];
        text->bytes[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return status;
}

/* The name of an element into reading->label: in small letters, but for those that SVG spells
 * otherwise (linearGradient). */
static phl_status name_element(html_reading *reading, const GumboNode *node)
{
    const GumboElement *element = &node->v.element;
    GumboStringPiece piece = element->original_tag;
    phl_text *label = &reading->label;
    label->length = 0;
    if (piece.data != NULL) {
        gumbo_tag_from_original_text(&piece);
    }
    if (element->tag_namespace == GUMBO_NAMESPACE_SVG && piece.data != NULL) {
        const char *spelled = gumbo_normalize_svg_tagname(&piece);
        if (spelled != NULL) {
            return phl_text_append_string(label, spelled, reading->error);
        }
    }
    if (element->tag != GUMBO_TAG_UNKNOWN) {
        return phl_text_append_string(label, gumbo_normalized_tagname(element->tag),
                                      reading->error);
    }
    return append_lower(label, piece.data != NULL ? piece.data : "", piece.length, reading->error);
}

static phl_status name_attribute(html_reading *reading, const GumboAttribute *attribute)
{
    static const char *const prefixes[] = {
        [GUMBO_ATTR_NAMESPACE_NONE] = "@",
        [GUMBO_ATTR_NAMESPACE_XLINK] = "@xlink:",
        [GUMBO_ATTR_NAMESPACE_XML] = "@xml:",
        [GUMBO_ATTR_NAMESPACE_XMLNS] = "@xmlns:",
    };
    const char *prefix = prefixes[attribute->attr_namespace];
    if (attribute->attr_namespace == GUMBO_ATTR_NAMESPACE_XMLNS &&
        strcmp(attribute->name, "xmlns") == 0) {
        prefix = "@";
    }
    reading->label.length = 0;
    phl_status status = phl_text_append_string(&reading->label, prefix, reading->error);
    return status == PHL_OK
               ? phl_text_append_string(&reading->label, attribute->name, reading->error)
               : status;
}

/* ---------------------------------------------------------------------------------------------
 * From the parser's tree to nodes
 * ------------------------------------------------------------------------------------------- */

/* A leaf or an open node with the name in reading->label. */
static phl_status add_node(html_reading *reading, const GumboNode *node, const char *what,
                           bool leaf)
{
    const phl_text *name = &reading->label;
    phl_status status = phl_reader_check_name(reading->reader, place_of(reading, node), what,
                                              name->bytes, name->length, reading->error);
    if (status != PHL_OK) {
        return status;
    }
    int32_t label;
    phl_builder *builder = reading->reader->builder;
    status = phl_builder_label(builder, name->bytes, name->length, &label, reading->error);
    if (status == PHL_OK) {
        status = leaf ? phl_builder_leaf(builder, label, 0, reading->error)
                      : phl_builder_open_label(builder, label, 0, reading->error);
    }
    if (status != PHL_OK) {
        phl_error_locate(reading->error, place_of(reading, node));
    }
    return status;
}

static phl_status add_attributes(html_reading *reading, const GumboNode *node)
{
    const GumboVector *attributes = &node->v.element.attributes;
    phl_status status = PHL_OK;
    for (unsigned i = 0; status == PHL_OK && i < attributes->length; i++) {
        status = name_attribute(reading, attributes->data[i]);
        if (status == PHL_OK) {
            status = add_node(reading, node, "an attribute called", true);
        }
    }
    return status;
}

/* The value of the attribute that is part of labels, behind the name in reading->label. */
static phl_status add_value(html_reading *reading, const GumboNode *node)
{
    const char *wanted = reading->reader->options->xml_label;
    const GumboAttribute *found =
        wanted != NULL ? gumbo_get_attribute(&node->v.element.attributes, wanted) : NULL;
    phl_status status = PHL_OK;
    if (found != NULL) {
        status = phl_text_append(&reading->label, "+", 1, reading->error);
    }
    return status == PHL_OK && found != NULL
               ? phl_text_append_string(&reading->label, found->value, reading->error)
               : status;
}

static phl_status open_element(html_reading *reading, const GumboNode *node)
{
    const phl_read_options *options = reading->reader->options;
    if (reading->depth >= options->max_depth) {
        return phl_reader_raise_depth(reading->reader, place_of(reading, node), reading->error);
    }
    phl_status status = phl_grow(&reading->steps, &reading->capacity, reading->depth + 1,
                                 sizeof *reading->steps, reading->error);
    if (status == PHL_OK) {
        status = add_value(reading, node);
    }
    if (status == PHL_OK) {
        status = add_node(reading, node, "an element called", false);
    }
    if (status == PHL_OK && options->xml_attributes) {
        status = add_attributes(reading, node);
    }
    if (status == PHL_OK) {
        reading->steps[reading->depth++] = (step){.node = node};
    }
    return status;
}

static bool is_skipped(const html_reading *reading)
{
    const phl_read_options *options = reading->reader->options;
    for (size_t i = 0; i < options->n_html_skip; i++) {
        const char *skip = options->html_skip[i];
        if (strlen(skip) == reading->label.length &&
            memcmp(skip, reading->label.bytes, reading->label.length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\n\r\f")] == '\0';
}

static phl_status add_text(html_reading *reading)
{
    int32_t label;
    phl_builder *builder = reading->reader->builder;
    phl_status status = phl_builder_label(builder, "#text", 5, &label, reading->error);
    if (status == PHL_OK) {
        status = phl_builder_leaf(builder, label, 0, reading->error);
    }
    if (status != PHL_OK) {
        phl_error_locate(reading->error,
                         place_of(reading, reading->steps[reading->depth - 1].node));
    }
    return status;
}

/* The next child of the node at hand, or its end. */
static phl_status go_on(html_reading *reading)
{
    step *here = &reading->steps[reading->depth - 1];
    const GumboVector *children = &here->node->v.element.children;
    if (here->next == children->length) {
        phl_status status = phl_builder_close(reading->reader->builder, reading->error);
        if (status != PHL_OK) {
            phl_error_locate(reading->error, place_of(reading, here->node));
        }
        reading->depth--;
        return status;
    }
    const GumboNode *child = children->data[here->next++];
    if (child->type == GUMBO_NODE_ELEMENT || child->type == GUMBO_NODE_TEMPLATE) {
        phl_status status = name_element(reading, child);
        here->in_text = false;
        return status != PHL_OK || is_skipped(reading) ? status : open_element(reading, child);
    }
    bool text = child->type == GUMBO_NODE_TEXT || child->type == GUMBO_NODE_CDATA;
    if (text && reading->reader->options->xml_text && !here->in_text &&
        !is_blank(child->v.text.text)) {
        here->in_text = true;
        return add_text(reading);
    }
    return PHL_OK;
}

static phl_status add_page(html_reading *reading, const GumboNode *root)
{
    phl_status status = name_element(reading, root);
    if (status == PHL_OK) {
        status = open_element(reading, root);
    }
    while (status == PHL_OK && reading->depth > 0) {
        status = go_on(reading);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * One page
 * ------------------------------------------------------------------------------------------- */

static phl_status load(html_reading *reading)
{
    uint64_t cap = reading->reader->options->max_token;
    phl_text *page = &reading->page;
    size_t got = 1;
    while (got > 0) {
        char piece[1 << 14];
        phl_status status =
            phl_input_read(reading->reader->input, piece, sizeof piece, &got, reading->error);
        if (status == PHL_OK) {
            status = phl_text_append(page, piece, got, reading->error);
        }
        if (status == PHL_OK) {
            status = phl_reader_check_cancel(reading->reader, reading->error);
        }
        if (status != PHL_OK) {
            return status;
        }
        if (page->length > cap) {
            phl_position place = {reading->reader->file, 0, 0};
            return phl_raise_at(reading->error, PHL_ERR_LIMIT, place,
                                "raise the cap with " PHL_OPTION_TO("read.max_token", ""),
                                "a page of more than %llu bytes", (unsigned long long)cap);
        }
    }
    return PHL_OK;
}

static phl_status parse_page(html_reading *reading)
{
    phl_reader *reader = reading->reader;
    const phl_text *page = &reading->page;
    const GumboOutput *output = NULL;
    phl_status status = phl_html_scan(reader, page->bytes, page->length, reading->error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_html_arena_parse(reader, page->bytes, page->length, &reading->arena, &output,
                                  reading->error);
    return status == PHL_OK ? add_page(reading, output->root) : status;
}

static phl_status read_page(phl_reader *reader, phl_error *error)
{
    html_reading reading = {.reader = reader, .error = error};
    phl_status status = load(&reading);
    if (status == PHL_OK) {
        status = phl_html_charset_apply(&reading.page, reader->file, error);
    }
    bool empty = status == PHL_OK && reading.page.length == 0;
    if (status == PHL_OK && !empty) {
        status = parse_page(&reading);
    }
    if (status != PHL_OK) {
        status = phl_reader_bad_tree(reader, status, error);
    } else if (!empty) {
        status = phl_reader_end_document(reader, error);
    }
    reader->ended = true;
    phl_html_arena_free(reading.arena);
    phl_text_clear(&reading.page);
    phl_text_clear(&reading.label);
    phl_free(reading.steps);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The driver
 * ------------------------------------------------------------------------------------------- */

/* Past blanks and comments. */
static size_t pass_over(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        if (phl_html_is_blank(text[at])) {
            at++;
        } else if (phl_html_begins(text + at, length - at, "<!--")) {
            at += 4;
            while (at < length && !phl_html_begins(text + at, length - at, "-->")) {
                at++;
            }
            at += at < length ? 3 : 0;
        } else {
            break;
        }
    }
    return at;
}

/* <!DOCTYPE html ...> or <html ...>, unless it says that it is XHTML, which is XML. */
static bool recognise(const char *text, size_t length)
{
    size_t at = pass_over(text, length);
    text += at;
    length -= at;
    static const char doctype[] = "<!doctype html";
    static const char root[] = "<html";
    size_t word = phl_html_begins(text, length, doctype) ? sizeof doctype - 1
                  : phl_html_begins(text, length, root)  ? sizeof root - 1
                                                         : 0;
    if (word == 0 || (word < length && text[word] != '>' && !phl_html_is_blank(text[word]))) {
        return false;
    }
    const char *end = memchr(text, '>', length);
    size_t tag = end != NULL ? (size_t)(end - text) : length;
    for (size_t i = word; i < tag; i++) {
        if (phl_html_begins(text + i, tag - i, "xhtml") ||
            phl_html_begins(text + i, tag - i, "xmlns")) {
            return false;
        }
    }
    return true;
}

static const char *const endings[] = {".html", ".htm", NULL};

const phl_format_driver phl_html_driver = {
    .format = PHL_FORMAT_HTML,
    .name = "html",
    .endings = endings,
    .recognise = recognise,
    .read = read_page,
};
