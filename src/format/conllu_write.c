/* conllu_write.c - writing dependency trees: words are numbered in pre-order, so heads come before
 * their dependents, and all columns but ID, HEAD, DEPREL and the label's hold "_". */
#include <string.h>

#include "format/conllu.h"

const char *phl_conllu_write_tree_objection(const phl_writer *writer, size_t tree)
{
    const char *id = phl_tree_id(writer->forest, tree);
    if (phl_tree_class(writer->forest, tree) != PHL_NO_CLASS) {
        return "a class";
    }
    if (phl_tree_weight(writer->forest, tree) != 1.0) {
        return "a weight other than 1";
    }
    if (id != NULL) {
        size_t length = strlen(id);
        if (length == 0 || strpbrk(id, "\n") != NULL || strchr(" \t\r", id[0]) != NULL ||
            strchr(" \t\r", id[length - 1]) != NULL) {
            return "an id that is empty, holds a line end, or begins or ends with a blank";
        }
    }
    return NULL;
}

const char *phl_conllu_write_node_objection(const phl_writer *writer, uint32_t subtree)
{
    if (phl_format_has_gap(writer->forest, subtree)) {
        return "an empty slot before a child";
    }
    int32_t label = phl_subtree_label(writer->forest, subtree);
    if (label == PHL_UNKNOWN) {
        return NULL;
    }
    const char *name = phl_forest_label_name(writer->forest, label);
    if (name[0] == '\0') {
        return "an empty label";
    }
    if (strcmp(name, "_") == 0) {
        return "the label _, which stands for an unknown one";
    }
    return strpbrk(name, "\t\n") != NULL ? "a label that holds a tab or a line end" : NULL;
}

static void write_word(phl_writer *writer, const phl_visit *visit)
{
    phl_output *output = writer->output;
    size_t labelled = phl_conllu_label_column(writer->options->conllu_label);
    const char *label =
        visit->label == PHL_UNKNOWN ? "_" : phl_forest_label_name(writer->forest, visit->label);
    phl_output_number(output, visit->node + 1);
    for (size_t column = 1; column < PHL_CONLLU_COLUMNS; column++) {
        phl_output_string(output, "\t");
        if (column == labelled) {
            phl_output_string(output, label);
        } else if (column == PHL_CONLLU_HEAD) {
            phl_output_number(output, visit->depth == 0 ? 0 : visit->parent + 1);
        } else if (column == PHL_CONLLU_DEPREL_COLUMN) {
            phl_output_string(output, visit->depth == 0 ? "root" : "dep");
        } else {
            phl_output_string(output, "_");
        }
    }
    phl_output_string(output, "\n");
}

phl_status phl_conllu_write_tree(phl_writer *writer, size_t tree, phl_error *error)
{
    phl_visit visit;
    int more;
    const char *id = phl_tree_id(writer->forest, tree);
    if (id != NULL) {
        phl_output_string(writer->output, "# sent_id = ");
        phl_output_string(writer->output, id);
        phl_output_string(writer->output, "\n");
    }
    phl_walk_start(writer->walk, tree);
    while ((more = phl_walk_next(writer->walk, &visit, error)) > 0) {
        write_word(writer, &visit);
    }
    phl_output_string(writer->output, "\n");
    return more < 0 ? (phl_status)more : phl_output_check(writer->output, error);
}
