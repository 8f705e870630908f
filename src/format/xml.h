/* xml.h - what the files of the XML format share; nobody else includes it.
 *
 * xml.c feeds expat, which calls xml_handlers.c, which calls the builder; xml_fault.c puts what
 * expat complains about into plain language; xml_write.c writes.
 */
#ifndef PHL_FORMAT_XML_H
#define PHL_FORMAT_XML_H

#include <expat.h>

#include "base/text.h"
#include "format/format.h"

/* The element that carries what an element name cannot, and the processing instruction that says
 * so: <?phloem nodes?> ... <node label="no XML name" slot="3"/>. */
#define PHL_XML_NODE "node"
#define PHL_XML_PI "phloem"
#define PHL_XML_PI_NODES "nodes"
#define PHL_XML_PI_NO_CLASS "no-class"

/* One document while it is read. */
typedef struct phl_xml_reading {
    phl_reader *reader;
    phl_error *error;
    XML_Parser parser;
    phl_status status; /* of the first thing that went wrong in a handler */
    uint64_t fed;      /* bytes given to expat */
    uint64_t depth;    /* elements open */
    bool wide;         /* UTF-16: two bytes per character in expat's buffer */
    bool marked;       /* it begins with a byte order mark, which expat counts as a column */
    bool in_root;      /* the root element was opened */
    bool html;         /* the document calls itself HTML */
    bool nodes;        /* <?phloem nodes?> */
    bool no_class;     /* <?phloem no-class?> */
    bool in_text;      /* the run of text being read has its leaf already */
    phl_text label;    /* "@name" */

    /* Attributes declared in the document's own DTD: expat looks at every one of them at every such
     * element, so the product is watched. */
    phl_alphabet declared_elements;
    uint32_t *declared; /* [declared_elements.count] attributes declared for each */
    size_t declared_capacity;
    uint64_t declarations;
    uint64_t declared_work;
} phl_xml_reading;

/* Where expat is: at the start of the event being handled, or of the fault. */
phl_position phl_xml_handlers_place(const phl_xml_reading *reading);

/* Have expat call the handlers. */
void phl_xml_handlers_set(phl_xml_reading *reading);

/* XML_Parse failed: expat's code in plain language, with an excerpt of what stands there. */
phl_status phl_xml_fault_raise(const phl_xml_reading *reading);

/* The writing half of the driver. */
const char *phl_xml_write_tree_objection(const phl_writer *writer, size_t tree);
const char *phl_xml_write_node_objection(const phl_writer *writer, uint32_t subtree);
phl_status phl_xml_write_tree(phl_writer *writer, size_t tree, phl_error *error);

#endif
