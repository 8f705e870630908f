/* ptb_write.c - writing parse trees: one per line, leaves as words.  A tree of one node is (label).
 */
#include <string.h>

#include "format/ptb.h"

const char *phl_ptb_write_node_objection(const phl_writer *writer, uint32_t subtree)
{
    const char *name = NULL;
    const char *objection = phl_format_bare_node(writer, subtree, &name);
    if (objection != NULL) {
        return objection;
    }
    if (name[0] == '\0') {
        return "an empty label";
    }
    if (strcmp(name, PHL_PTB_BEGIN) == 0 || strcmp(name, PHL_PTB_END) == 0) {
        return "the labels |BT| and |ET|, which mark trees in a line";
    }
    return strpbrk(name, "() \t\n\r\f\v") != NULL ? "a label that holds blanks or brackets" : NULL;
}

phl_status phl_ptb_write_tree(phl_writer *writer, size_t tree, phl_error *error)
{
    phl_output *output = writer->output;
    phl_visit visit;
    size_t open = 0;
    int more;
    phl_walk_start(writer->walk, tree);
    while ((more = phl_walk_next(writer->walk, &visit, error)) > 0) {
        bool opens = !visit.leaf || visit.depth == 0;
        phl_output_repeat(output, ")", open - visit.depth);
        phl_output_string(output, visit.depth > 0 ? " " : "");
        phl_output_string(output, opens ? "(" : "");
        phl_output_string(output, phl_forest_label_name(writer->forest, visit.label));
        open = visit.depth + opens;
    }
    phl_output_repeat(output, ")", open);
    phl_output_string(output, "\n");
    return more < 0 ? (phl_status)more : phl_output_check(output, error);
}
