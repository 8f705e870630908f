/* format.h - the table of tree formats.
 *
 * One driver per format; adding a format is one file and one row in format.c.
 */
#ifndef PHL_FORMAT_FORMAT_H
#define PHL_FORMAT_FORMAT_H

#include "format/output.h"
#include "format/reader.h"

typedef struct phl_writer {
    const phl_forest *forest;
    size_t first; /* number of its first tree, for messages */
    const phl_write_options *options;
    phl_output *output;
    phl_walk *walk;
} phl_writer;

typedef struct phl_format_driver {
    phl_format format;
    const char *name;
    const char *const *endings; /* of file names, with the dot, NULL-terminated */

    /* Do the first bytes of an input look like this format? */
    bool (*recognise)(const char *text, size_t length);
    /* Reading: reader->state is state_size zeroed bytes (NULL for 0) that `open` sets up, `read`
     * goes on from, as often as it is called, and `close` clears.  For 0 both may be NULL. */
    size_t state_size;
    void (*open)(phl_reader *reader);
    phl_status (*read)(phl_reader *reader, phl_error *error);
    void (*close)(phl_reader *reader);

    /* Why the format cannot carry something about a tree itself (class, weight) or about one node
     * (label, empty slots): the end of a sentence "FORMAT cannot express ...", or NULL.  Asked for
     * everything before anything is written.  Either may be NULL. */
    const char *(*tree_objection)(const phl_writer *writer, size_t tree);
    const char *(*node_objection)(const phl_writer *writer, uint32_t subtree);
    phl_status (*write_tree)(phl_writer *writer, size_t tree, phl_error *error);
    bool one_tree_a_file; /* XML */
    bool carries_ids;
} phl_format_driver;

/* NULL if there is none such. */
const phl_format_driver *phl_format_driver_of(phl_format format);
/* By a file's name: by the endings that options give, else as phl_format_of_file. */
phl_format phl_format_of_name(const char *path, const phl_read_options *options);
/* Endings as options give them: "svg=xml". */
phl_status phl_format_check_endings(const phl_read_options *options, phl_error *error);
/* By the first bytes of an input; NULL if nobody knows it. */
const phl_format_driver *phl_format_recognise(const char *text, size_t length);

extern const phl_format_driver phl_brackets_driver;
extern const phl_format_driver phl_json_driver;
extern const phl_format_driver phl_elastic_driver;
extern const phl_format_driver phl_xml_driver;
extern const phl_format_driver phl_html_driver;
extern const phl_format_driver phl_conllu_driver;
extern const phl_format_driver phl_ptb_driver;
extern const phl_format_driver phl_newick_driver;
extern const phl_format_driver phl_dbn_driver;
extern const phl_format_driver phl_ct_driver;

/* Does the node's list of children leave a slot empty before its last child? */
bool phl_format_has_gap(const phl_forest *forest, uint32_t subtree);

/* Objections of formats that hold names and brackets alone: no class, no weight; no empty slot, no
 * unknown label.  Without one, name is the node's label. */
const char *phl_format_bare_tree(const phl_writer *writer, size_t tree);
const char *phl_format_bare_node(const phl_writer *writer, uint32_t subtree, const char **name);

#endif
