/* xml.c - reading XML: one document is one tree, its elements are the nodes.
 *
 * Contents: feeding expat, the driver.  The nodes are made in xml_handlers.c.
 *
 * Nothing is kept of the document but expat's own window: an element is one label lookup and one
 * call on the builder.  Three ways of making a small file cost much are closed:
 *  - entities: a document that declares internal ones is refused, external ones are never loaded;
 *  - long tokens: expat without the fix of CVE-2023-52425 (2.6; Debian has it in 2.5.0-1+deb12u2)
 *    looks at an unfinished piece of markup again from its start every time it is fed, so the feed
 *    doubles while a piece is unfinished, up to max_token;
 *  - declared attributes: see count_declared_work in xml_handlers.c.
 */
#include "format/xml.h"

#include <string.h>

#include "base/memory.h"

enum {
    FIRST_FEED = 64 << 10,
    LARGEST_FEED = 256 << 20 /* expat counts in int */
};

/* ---------------------------------------------------------------------------------------------
 * Feeding expat
 * ------------------------------------------------------------------------------------------- */

static phl_status raise_expat_memory(phl_error *error)
{
    return phl_raise(error, PHL_ERR_MEMORY, "use a machine with more memory, or less data",
                     "not enough memory for the XML parser");
}

static phl_status create_parser(phl_xml_reading *reading)
{
    const XML_Memory_Handling_Suite memory = {phl_raw_malloc, phl_raw_realloc, phl_free};
    reading->parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    if (reading->parser == NULL) {
        return raise_expat_memory(reading->error);
    }
    phl_xml_handlers_set(reading);
    return PHL_OK;
}

/* Up to `wanted` bytes straight into expat's buffer; fewer only at the end of the input. */
static phl_status feed(phl_xml_reading *reading, size_t wanted, bool *last)
{
    phl_error *error = reading->error;
    char *buffer = XML_GetBuffer(reading->parser, (int)wanted);
    if (buffer == NULL) {
        return raise_expat_memory(error);
    }
    size_t got = 0;
    *last = false;
    while (got < wanted && !*last) {
        size_t more;
        phl_status status =
            phl_input_read(reading->reader->input, buffer + got, wanted - got, &more, error);
        if (status != PHL_OK) {
            return status;
        }
        got += more;
        *last = more == 0;
    }
    if (reading->fed == 0 && got >= 2) {
        bool wide_mark = memcmp(buffer, "\xff\xfe", 2) == 0 || memcmp(buffer, "\xfe\xff", 2) == 0;
        reading->wide = wide_mark || (buffer[0] == '\0') != (buffer[1] == '\0');
        reading->marked = wide_mark || (got >= 3 && memcmp(buffer, "\xef\xbb\xbf", 3) == 0);
    }
    reading->fed += got;
    if (XML_ParseBuffer(reading->parser, (int)got, *last) != XML_STATUS_OK) {
        return reading->status != PHL_OK ? reading->status : phl_xml_fault_raise(reading);
    }
    return PHL_OK;
}

static phl_status parse_document(phl_xml_reading *reading)
{
    uint64_t cap = reading->reader->options->max_token;
    uint64_t finished = 0; /* bytes expat is done with */
    uint64_t unfinished = 0;
    bool last = false;
    while (!last) {
        phl_status status = phl_reader_check_cancel(reading->reader, reading->error);
        if (status != PHL_OK) {
            return status;
        }
        uint64_t wanted = unfinished > FIRST_FEED ? unfinished : FIRST_FEED;
        wanted = wanted < cap - unfinished ? wanted : cap - unfinished;
        wanted = wanted < LARGEST_FEED ? wanted : LARGEST_FEED;
        status = feed(reading, (size_t)wanted, &last);
        if (status != PHL_OK) {
            return status;
        }
        /* -1 if expat put off looking at the new bytes (with that fix). */
        XML_Index index = XML_GetCurrentByteIndex(reading->parser);
        if (index > 0 && (uint64_t)index > finished) {
            finished = (uint64_t)index;
        }
        unfinished = reading->fed - finished;
        if (!last && unfinished >= cap) {
            return phl_raise_at(reading->error, PHL_ERR_LIMIT, phl_xml_handlers_place(reading),
                                "raise the cap with " PHL_OPTION_TO("read.max_token", ""),
                                "a piece of markup of more than %llu bytes begins here",
                                (unsigned long long)cap);
        }
    }
    return PHL_OK;
}

static phl_status read_document(phl_reader *reader, phl_error *error)
{
    phl_xml_reading reading = {.reader = reader, .error = error};
    phl_status status = create_parser(&reading);
    if (status == PHL_OK) {
        status = parse_document(&reading);
    }
    if (status == PHL_OK) {
        reader->folder_class = reading.no_class ? NULL : reader->folder_class;
        status = phl_reader_end_document(reader, error);
    } else {
        status = phl_reader_bad_tree(reader, status, error);
    }
    reader->ended = true;
    XML_ParserFree(reading.parser);
    phl_text_clear(&reading.label);
    phl_alphabet_clear(&reading.declared_elements);
    phl_free(reading.declared);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The driver
 * ------------------------------------------------------------------------------------------- */

static bool recognise(const char *text, size_t length)
{
    if (length >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0 ||
                        memcmp(text, "<\0", 2) == 0 || memcmp(text, "\0<", 2) == 0)) {
        return true; /* UTF-16 */
    }
    size_t at = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < length &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) {
        at++;
    }
    return at < length && text[at] == '<';
}

static const char *const endings[] = {".xml", ".xhtml", NULL};

const phl_format_driver phl_xml_driver = {
    .format = PHL_FORMAT_XML,
    .name = "xml",
    .endings = endings,
    .recognise = recognise,
    .read = read_document,
    .tree_objection = phl_xml_write_tree_objection,
    .node_objection = phl_xml_write_node_objection,
    .write_tree = phl_xml_write_tree,
    .one_tree_a_file = true,
    .carries_ids = false,
};
