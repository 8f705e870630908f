/* xml_fault.c - what expat complains about, in plain language: what stands there, what was
 * expected, what to do. */
#include <stdio.h>
#include <string.h>

#include "format/xml.h"

/* What stands where expat stopped, up to the end of the line and before one of `enders`; "" if it
 * cannot be shown (UTF-16, or expat has no window on it). */
static const char *found_text(const phl_xml_reading *reading, const char *enders, char *shown)
{
    int offset = 0;
    int size = 0;
    const char *window = XML_GetInputContext(reading->parser, &offset, &size);
    shown[0] = '\0';
    if (window == NULL || reading->wide || offset < 0 || offset >= size) {
        return shown;
    }
    const char *begin = window + offset;
    size_t left = (size_t)(size - offset);
    size_t length = 0;
    while (length < left && length < PHL_EXCERPT_SIZE &&
           (length == 0 || (begin[length] != '\n' && begin[length] != '\0' &&
                            strchr(enders, begin[length]) == NULL))) {
        length++;
    }
    return phl_text_excerpt(begin, length, shown);
}

/* Is it not markup but bytes of another encoding that expat stumbled over? */
static bool foreign_bytes(const phl_xml_reading *reading)
{
    int offset = 0;
    int size = 0;
    const char *window = XML_GetInputContext(reading->parser, &offset, &size);
    if (window == NULL || reading->wide || offset < 0 || offset >= size) {
        return false;
    }
    size_t left = (size_t)(size - offset);
    return phl_utf8_check(window + offset, left < 4 ? left : 4) == 0;
}

/* The innermost element open, as the builder knows it. */
static const char *open_element(const phl_xml_reading *reading, char *shown)
{
    const phl_builder *builder = reading->reader->builder;
    if (builder->depth == 0) {
        return "";
    }
    int32_t label = builder->frames[builder->depth - 1].label;
    if (label < 0) {
        return PHL_XML_NODE;
    }
    return phl_text_excerpt(phl_alphabet_name(&builder->labels, (size_t)label),
                            phl_alphabet_length(&builder->labels, (size_t)label), shown);
}

static phl_status raise_invalid_token(const phl_xml_reading *reading)
{
    char found[PHL_EXCERPT_SIZE];
    if (foreign_bytes(reading)) {
        return phl_raise_at(reading->error, PHL_ERR_ENCODING, phl_xml_handlers_place(reading),
                            "convert the file to UTF-8 with iconv -f ENCODING -t UTF-8, or name "
                            "its encoding in the first line: <?xml version=\"1.0\" "
                            "encoding=\"ISO-8859-1\"?>",
                            "found '%s', which is a NUL byte or not UTF-8",
                            found_text(reading, "<>", found));
    }
    return phl_raise_at(
        reading->error, PHL_ERR_SYNTAX, phl_xml_handlers_place(reading),
        reading->html
            ? "HTML is rarely XML: read it as such with " PHL_OPTION_TO("read.format", "html")
            : "in text and attributes, write & as &amp; and < as &lt;",
        "found '%s', which is not well-formed XML here", found_text(reading, "", found));
}

/* The end came while something was open, or before anything was. */
static phl_status raise_early_end(const phl_xml_reading *reading)
{
    char shown[PHL_EXCERPT_SIZE];
    if (!reading->in_root) {
        return phl_raise_at(reading->error, PHL_ERR_SYNTAX, phl_xml_handlers_place(reading),
                            "an XML file holds one document with one root element",
                            reading->fed == 0 ? "the file is empty, expected an XML document"
                                              : "the document ends before its root element begins");
    }
    return phl_raise_at(reading->error, PHL_ERR_SYNTAX, phl_xml_handlers_place(reading),
                        "the file may be cut short: fetch it again, or close the element",
                        "the document ends inside <%s>, expected its end tag (%llu open)",
                        open_element(reading, shown), (unsigned long long)reading->depth);
}

/* Its name is in reading->label. */
static phl_status raise_unknown_encoding(const phl_xml_reading *reading)
{
    char name[PHL_EXCERPT_SIZE];
    char remedy[PHL_EXCERPT_SIZE + 128];
    (void)phl_text_excerpt(reading->label.bytes, reading->label.length, name);
    (void)phl_remedy(remedy, sizeof remedy,
                     "convert the file to UTF-8 with iconv -f %s -t UTF-8 and remove the "
                     "encoding from its first line",
                     name);
    return phl_raise_at(reading->error, PHL_ERR_ENCODING, phl_xml_handlers_place(reading), remedy,
                        "the document says it is in the encoding '%s'; expected UTF-8, UTF-16, "
                        "ISO-8859-1 or US-ASCII",
                        name);
}

phl_status phl_xml_fault_raise(const phl_xml_reading *reading)
{
    phl_error *error = reading->error;
    char found[PHL_EXCERPT_SIZE];
    char expected[PHL_EXCERPT_SIZE];
    enum XML_Error fault = XML_GetErrorCode(reading->parser);
    phl_position place = phl_xml_handlers_place(reading);
    switch (fault) {
    case XML_ERROR_NO_MEMORY:
        return phl_raise(error, PHL_ERR_MEMORY, "use a machine with more memory, or less data",
                         "not enough memory for the XML parser");
    case XML_ERROR_NO_ELEMENTS:
        return raise_early_end(reading);
    case XML_ERROR_INVALID_TOKEN:
        return raise_invalid_token(reading);
    case XML_ERROR_UNCLOSED_TOKEN:
        return phl_raise_at(error, PHL_ERR_SYNTAX, place,
                            "the file may be cut short: fetch it again",
                            "the document ends inside the piece of markup that begins here: '%s'",
                            found_text(reading, "", found));
    case XML_ERROR_UNCLOSED_CDATA_SECTION:
        return phl_raise_at(error, PHL_ERR_SYNTAX, place, "close it with ]]>",
                            "the document ends inside a CDATA section");
    case XML_ERROR_TAG_MISMATCH:
        return phl_raise_at(
            error, PHL_ERR_SYNTAX, place,
            reading->html
                ? "HTML is rarely XML: read it as such with " PHL_OPTION_TO("read.format", "html")
                : "close elements in the reverse order of opening them",
            "found the end tag '%s', expected '%s'", found_text(reading, "> \t\r", found),
            open_element(reading, expected));
    case XML_ERROR_DUPLICATE_ATTRIBUTE:
        return phl_raise_at(error, PHL_ERR_SYNTAX, place, "keep one of the two",
                            "found a second attribute of the same name: '%s'",
                            found_text(reading, "=> \t\r", found));
    case XML_ERROR_JUNK_AFTER_DOC_ELEMENT:
        return phl_raise_at(error, PHL_ERR_SYNTAX, place,
                            "put every document into a file of its own",
                            "found '%s' after the root element, expected the end of the file",
                            found_text(reading, "", found));
    case XML_ERROR_UNDEFINED_ENTITY:
        return phl_raise_at(error, PHL_ERR_SYNTAX, place,
                            "write the character itself or a reference such as &#233;",
                            "found '%s', an entity that is not declared; expected one of &amp; "
                            "&lt; &gt; &quot; &apos;",
                            found_text(reading, "<> \t\r", found));
    case XML_ERROR_BAD_CHAR_REF:
        return phl_raise_at(error, PHL_ERR_SYNTAX, place, "remove or replace it",
                            "found '%s', a reference to a character that XML does not allow",
                            found_text(reading, "<> \t\r", found));
    case XML_ERROR_MISPLACED_XML_PI:
        return phl_raise_at(error, PHL_ERR_SYNTAX, place,
                            "remove what stands before it; two documents go into two files",
                            "found an XML declaration '<?xml ...?>' that is not at the very "
                            "beginning of the file");
    case XML_ERROR_UNKNOWN_ENCODING:
        return raise_unknown_encoding(reading);
    case XML_ERROR_INCORRECT_ENCODING:
        return phl_raise_at(error, PHL_ERR_ENCODING, place,
                            "correct the encoding in the first line, or remove it if the file is "
                            "UTF-8",
                            "the document is not in the encoding that its first line says");
    case XML_ERROR_PARTIAL_CHAR:
        return phl_raise_at(error, PHL_ERR_ENCODING, place,
                            "the file may be cut short: fetch it again",
                            "the document ends in the middle of a character");
    case XML_ERROR_SYNTAX:
        if (!reading->in_root) {
            return phl_raise_at(
                error, PHL_ERR_SYNTAX, place,
                "give the right format with " PHL_OPTION("read.format") " if this is not XML",
                "found '%s', expected the root element", found_text(reading, "", found));
        }
        break;
    default:
        break;
    }
    return phl_raise_at(error, PHL_ERR_SYNTAX, place, "xmllint or xmlwf may say more",
                        "found '%s', which is not well-formed XML (%s)",
                        found_text(reading, "", found), XML_ErrorString(fault));
}
