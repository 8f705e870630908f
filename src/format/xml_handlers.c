/* xml_handlers.c - what expat calls while it reads a document: elements, attributes and text become
 * nodes, declarations are watched.
 *
 * After XML_StopParser expat may still call one or two handlers, hence the check of `status` first
 * thing in each.
 */
#include <string.h>

#include "base/memory.h"
#include "format/xml.h"

enum { FREE_DECLARED_WORK = 50000000, DECLARED_WORK_A_BYTE = 32 };

phl_position phl_xml_handlers_place(const phl_xml_reading *reading)
{
    phl_position place = {reading->reader->file, XML_GetCurrentLineNumber(reading->parser),
                          XML_GetCurrentColumnNumber(reading->parser) + 1};
    if (reading->marked && place.line == 1 && place.column > 1) {
        place.column--;
    }
    return place;
}

/* A handler cannot return a status: keep it and stop expat. */
static void stop(phl_xml_reading *reading, phl_status status)
{
    phl_error_locate(reading->error, phl_xml_handlers_place(reading));
    reading->status = status;
    (void)XML_StopParser(reading->parser, XML_FALSE);
}

/* What expat declares without an entity handler of ours loading it is never opened; a value given
 * in the document itself is what bombs are made of. */
static void XMLCALL declare_entity(void *context, const XML_Char *name, int is_parameter,
                                   const XML_Char *value, int value_length, const XML_Char *base,
                                   const XML_Char *system_id, const XML_Char *public_id,
                                   const XML_Char *notation)
{
    (void)value_length, (void)base, (void)system_id, (void)public_id, (void)notation;
    phl_xml_reading *reading = context;
    if (reading->status != PHL_OK || value == NULL) {
        return;
    }
    char shown[PHL_EXCERPT_SIZE];
    stop(reading, phl_raise_at(reading->error, PHL_ERR_SYNTAX, phl_xml_handlers_place(reading),
                               "replace its references by its text and remove the declaration, for "
                               "example with xmllint --noent --dropdtd",
                               "the document declares the %sentity '%s'; internal entities are "
                               "refused because they can expand without bound",
                               is_parameter ? "parameter " : "",
                               phl_text_excerpt(name, strlen(name), shown)));
}

static bool is_html(const XML_Char *name)
{
    return strcmp(name, "html") == 0 || strcmp(name, "HTML") == 0;
}

static void XMLCALL start_doctype(void *context, const XML_Char *name, const XML_Char *system_id,
                                  const XML_Char *public_id, int has_internal_subset)
{
    (void)system_id, (void)public_id, (void)has_internal_subset;
    phl_xml_reading *reading = context;
    reading->html = is_html(name);
}

static void XMLCALL declare_attribute(void *context, const XML_Char *element,
                                      const XML_Char *attribute, const XML_Char *type,
                                      const XML_Char *value, int is_required)
{
    (void)attribute, (void)type, (void)value, (void)is_required;
    phl_xml_reading *reading = context;
    if (reading->status != PHL_OK) {
        return;
    }
    if (++reading->declarations > reading->reader->options->max_attributes) {
        stop(reading, phl_raise_at(reading->error, PHL_ERR_LIMIT, phl_xml_handlers_place(reading),
                                   "raise the cap with " PHL_OPTION_TO("read.max_attributes", ""),
                                   "the document type declares more than %llu attributes",
                                   (unsigned long long)reading->reader->options->max_attributes));
        return;
    }
    int32_t number;
    size_t before = reading->declared_elements.count;
    phl_status status = phl_alphabet_add(&reading->declared_elements, element, strlen(element),
                                         &number, reading->error);
    if (status == PHL_OK) {
        status =
            phl_grow(&reading->declared, &reading->declared_capacity,
                     reading->declared_elements.count, sizeof *reading->declared, reading->error);
    }
    if (status != PHL_OK) {
        stop(reading, status);
        return;
    }
    if ((size_t)number == before) {
        reading->declared[number] = 0;
    }
    reading->declared[number]++;
}

/* At every element expat goes through all attributes declared for it: n declarations and m elements
 * of a few bytes each cost n x m.  Honest documents stay far below what is free. */
static phl_status count_declared_work(phl_xml_reading *reading, const char *name, size_t length)
{
    int32_t number = phl_alphabet_find(&reading->declared_elements, name, length);
    if (number < 0) {
        return PHL_OK;
    }
    reading->declared_work += reading->declared[number];
    if (reading->declared_work <= FREE_DECLARED_WORK + DECLARED_WORK_A_BYTE * reading->fed) {
        return PHL_OK;
    }
    char shown[PHL_EXCERPT_SIZE];
    return phl_raise_at(reading->error, PHL_ERR_LIMIT, phl_xml_handlers_place(reading),
                        "remove the document type declaration, for example with xmllint "
                        "--dropdtd",
                        "%u attributes are declared for the element '%s', which occurs too often "
                        "for that",
                        reading->declared[number], phl_text_excerpt(name, length, shown));
}

static phl_status check_name(const phl_xml_reading *reading, const char *what, const char *name,
                             size_t length)
{
    return phl_reader_check_name(reading->reader, phl_xml_handlers_place(reading), what, name,
                                 length, reading->error);
}

static phl_status open_labelled(phl_xml_reading *reading, const char *name, size_t length,
                                uint32_t slot)
{
    int32_t label;
    phl_builder *builder = reading->reader->builder;
    phl_status status = phl_builder_label(builder, name, length, &label, reading->error);
    return status == PHL_OK ? phl_builder_open_label(builder, label, slot, reading->error) : status;
}

/* An element, labelled by its name and, if asked for, the value of an attribute. */
static phl_status open_element(phl_xml_reading *reading, const char *name, size_t length,
                               const XML_Char **attributes)
{
    const char *wanted = reading->reader->options->xml_label;
    const char *value = NULL;
    for (size_t i = 0; wanted != NULL && attributes[i] != NULL && value == NULL; i += 2) {
        value = strcmp(attributes[i], wanted) == 0 ? attributes[i + 1] : NULL;
    }
    if (value == NULL) {
        return open_labelled(reading, name, length, 0);
    }
    phl_text *label = &reading->label;
    phl_status status =
        phl_reader_join_label(label, name, length, value, strlen(value), reading->error);
    if (status == PHL_OK) {
        status = check_name(reading, "a label", label->bytes, label->length);
    }
    return status == PHL_OK ? open_labelled(reading, label->bytes, label->length, 0) : status;
}

/* A leaf "@name" for each attribute. */
static phl_status add_attributes(phl_xml_reading *reading, const XML_Char **attributes)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && attributes[i] != NULL; i += 2) {
        size_t length = strlen(attributes[i]);
        status = check_name(reading, "an attribute called", attributes[i], length);
        reading->label.length = 0;
        if (status != PHL_OK) {
            return status;
        }
        status = phl_text_append(&reading->label, "@", 1, reading->error);
        if (status != PHL_OK) {
            return status;
        }
        status = phl_text_append(&reading->label, attributes[i], length, reading->error);
        if (status != PHL_OK) {
            return status;
        }
        status = open_labelled(reading, reading->label.bytes, reading->label.length, 0);
        if (status == PHL_OK) {
            status = phl_builder_close(reading->reader->builder, reading->error);
        }
    }
    return status;
}

/* A whole number from 1 to 2^32 - 2, or 0. */
static uint32_t parse_slot(const char *text)
{
    uint64_t slot = 0;
    if (*text == '\0') {
        return 0;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') {
            return 0;
        }
        slot = slot * 10 + (uint64_t)(*text - '0');
        if (slot >= UINT32_MAX) {
            return 0;
        }
    }
    return (uint32_t)slot;
}

/* <node label="..." slot="..."> of a document that says <?phloem nodes?>. */
static phl_status open_coded_node(phl_xml_reading *reading, const XML_Char **attributes)
{
    const char *label = NULL;
    uint32_t slot = 0;
    char shown[PHL_EXCERPT_SIZE];
    for (size_t i = 0; attributes[i] != NULL; i += 2) {
        const char *name = attributes[i];
        const char *value = attributes[i + 1];
        if (strcmp(name, "label") == 0) {
            label = value;
        } else if (strcmp(name, "slot") == 0) {
            slot = parse_slot(value);
            if (slot == 0) {
                return phl_raise_at(reading->error, PHL_ERR_SYNTAX, phl_xml_handlers_place(reading),
                                    NULL, "found slot=\"%s\", expected a whole number from 1 to %u",
                                    phl_text_excerpt(value, strlen(value), shown), UINT32_MAX - 1);
            }
        } else {
            return phl_raise_at(reading->error, PHL_ERR_SYNTAX, phl_xml_handlers_place(reading),
                                "if <node> is an ordinary element here, remove the instruction "
                                "<?phloem nodes?>",
                                "found the attribute '%s' in <node>, expected label or slot",
                                phl_text_excerpt(name, strlen(name), shown));
        }
    }
    if (label == NULL) {
        return phl_builder_open_label(reading->reader->builder, PHL_UNKNOWN, slot, reading->error);
    }
    size_t length = strlen(label);
    phl_status status = check_name(reading, "a label", label, length);
    return status == PHL_OK ? open_labelled(reading, label, length, slot) : status;
}

static phl_status check_attributes(phl_xml_reading *reading, const XML_Char **attributes)
{
    uint64_t cap = reading->reader->options->max_attributes;
    uint64_t count = 0;
    while (attributes[2 * count] != NULL) {
        count++;
    }
    if (count <= cap) {
        return PHL_OK;
    }
    return phl_raise_at(reading->error, PHL_ERR_LIMIT, phl_xml_handlers_place(reading),
                        "raise the cap with " PHL_OPTION_TO("read.max_attributes", ""),
                        "an element with %llu attributes, more than %llu",
                        (unsigned long long)count, (unsigned long long)cap);
}

static void XMLCALL start_element(void *context, const XML_Char *name, const XML_Char **attributes)
{
    phl_xml_reading *reading = context;
    if (reading->status != PHL_OK) {
        return;
    }
    const phl_read_options *options = reading->reader->options;
    phl_status status = PHL_OK;
    size_t length = strlen(name);
    reading->in_text = false;
    if (!reading->in_root) {
        reading->in_root = true;
        reading->html |= is_html(name);
    }
    if (++reading->depth > options->max_depth) {
        status = phl_reader_raise_depth(reading->reader, phl_xml_handlers_place(reading),
                                        reading->error);
    }
    if (status == PHL_OK) {
        status = check_name(reading, "an element called", name, length);
    }
    if (status == PHL_OK && attributes[0] != NULL) {
        status = check_attributes(reading, attributes);
    }
    if (status == PHL_OK && reading->declarations > 0) {
        status = count_declared_work(reading, name, length);
    }
    if (status == PHL_OK) {
        if (reading->nodes && strcmp(name, PHL_XML_NODE) == 0) {
            status = open_coded_node(reading, attributes);
        } else {
            status = open_element(reading, name, length, attributes);
            if (status == PHL_OK && options->xml_attributes) {
                status = add_attributes(reading, attributes);
            }
        }
    }
    if (status != PHL_OK) {
        stop(reading, status);
    }
}

static void XMLCALL end_element(void *context, const XML_Char *name)
{
    (void)name;
    phl_xml_reading *reading = context;
    if (reading->status != PHL_OK) {
        return;
    }
    reading->in_text = false;
    reading->depth--;
    phl_status status = phl_builder_close(reading->reader->builder, reading->error);
    if (status != PHL_OK) {
        stop(reading, status);
    }
}

/* The text between two tags is one leaf, whatever pieces it comes in. */
static void add_text(phl_xml_reading *reading)
{
    static const char label[] = "#text";
    reading->in_text = true;
    phl_status status = open_labelled(reading, label, sizeof label - 1, 0);
    if (status == PHL_OK) {
        status = phl_builder_close(reading->reader->builder, reading->error);
    }
    if (status != PHL_OK) {
        stop(reading, status);
    }
}

static void XMLCALL character_data(void *context, const XML_Char *text, int length)
{
    phl_xml_reading *reading = context;
    if (reading->status != PHL_OK || reading->in_text) {
        return;
    }
    for (int i = 0; i < length; i++) {
        if (text[i] != ' ' && text[i] != '\n' && text[i] != '\t' && text[i] != '\r') {
            add_text(reading);
            return;
        }
    }
}

/* A reference to an entity that an external DTD may declare (&eacute; of XHTML): text of some kind.
 */
static void XMLCALL skipped_entity(void *context, const XML_Char *name, int is_parameter)
{
    (void)name;
    phl_xml_reading *reading = context;
    if (reading->status == PHL_OK && !is_parameter && reading->depth > 0 && !reading->in_text) {
        add_text(reading);
    }
}

/* <?phloem nodes no-class?> before the root; all other instructions are passed over. */
static void XMLCALL processing_instruction(void *context, const XML_Char *target,
                                           const XML_Char *words)
{
    phl_xml_reading *reading = context;
    if (reading->status != PHL_OK || reading->in_root || strcmp(target, PHL_XML_PI) != 0) {
        return;
    }
    static const char blanks[] = " \t\r\n";
    for (words += strspn(words, blanks); *words != '\0'; words += strspn(words, blanks)) {
        size_t length = strcspn(words, blanks);
        if (length == strlen(PHL_XML_PI_NODES) && memcmp(words, PHL_XML_PI_NODES, length) == 0) {
            reading->nodes = true;
        } else if (length == strlen(PHL_XML_PI_NO_CLASS) &&
                   memcmp(words, PHL_XML_PI_NO_CLASS, length) == 0) {
            reading->no_class = true;
        } else {
            char shown[PHL_EXCERPT_SIZE];
            stop(reading,
                 phl_raise_at(reading->error, PHL_ERR_SYNTAX, phl_xml_handlers_place(reading),
                              "a newer version of phloem may have written the file",
                              "found the word '%s' in <?phloem ...?>, expected nodes or no-class",
                              phl_text_excerpt(words, length, shown)));
            return;
        }
        words += length;
    }
}

/* Expat reads UTF-8, UTF-16, ISO-8859-1 and US-ASCII by itself and asks about all others: no.  The
 * name is kept for the message. */
static int XMLCALL unknown_encoding(void *context, const XML_Char *name, XML_Encoding *encoding)
{
    (void)encoding;
    phl_xml_reading *reading = context;
    reading->label.length = 0;
    reading->status = phl_text_append(&reading->label, name, strlen(name), reading->error);
    return XML_STATUS_ERROR;
}

void phl_xml_handlers_set(phl_xml_reading *reading)
{
    XML_Parser parser = reading->parser;
    XML_SetUserData(parser, reading);
    (void)XML_SetParamEntityParsing(parser, XML_PARAM_ENTITY_PARSING_NEVER);
    XML_SetStartDoctypeDeclHandler(parser, start_doctype);
    XML_SetEntityDeclHandler(parser, declare_entity);
    XML_SetAttlistDeclHandler(parser, declare_attribute);
    XML_SetUnknownEncodingHandler(parser, unknown_encoding, reading);
    XML_SetProcessingInstructionHandler(parser, processing_instruction);
    XML_SetElementHandler(parser, start_element, end_element);
    if (reading->reader->options->xml_text) {
        XML_SetCharacterDataHandler(parser, character_data);
        XML_SetSkippedEntityHandler(parser, skipped_entity);
    }
}
