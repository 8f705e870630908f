/* newick_write.c - writing Newick: one tree per line, names in quotes where they must be. */
#include <string.h>

#include "base/memory.h"
#include "format/newick.h"

const char *phl_newick_write_node_objection(const phl_writer *writer, uint32_t subtree)
{
    const char *name = NULL;
    const char *objection = phl_format_bare_node(writer, subtree, &name);
    if (objection != NULL) {
        return objection;
    }
    return strpbrk(name, "\r\n") != NULL ? "a label that holds a line end" : NULL;
}

/* A byte order mark at the start of a line could be taken for the file's. */
static bool needs_quotes(const char *name)
{
    return strpbrk(name, PHL_NEWICK_MARKS " \t\f\v") != NULL || name[0] == '#' ||
           strncmp(name, "\xef\xbb\xbf", 3) == 0;
}

static void put_name(phl_output *output, const char *name)
{
    if (!needs_quotes(name)) {
        phl_output_string(output, name);
        return;
    }
    phl_output_string(output, "'");
    for (;;) {
        size_t plain = strcspn(name, "'");
        phl_output_write(output, name, plain);
        name += plain;
        if (*name == '\0') {
            break;
        }
        phl_output_string(output, "''");
        name++;
    }
    phl_output_string(output, "'");
}

/* The nodes whose children are being written: their names stand behind. */
typedef struct newick_writing {
    phl_writer *writer;
    int32_t *open; /* [depth] labels */
    size_t depth, capacity;
} newick_writing;

static void close_nodes(newick_writing *writing, size_t depth)
{
    phl_output *output = writing->writer->output;
    while (writing->depth > depth) {
        int32_t label = writing->open[--writing->depth];
        phl_output_string(output, ")");
        put_name(output, phl_forest_label_name(writing->writer->forest, label));
    }
}

static phl_status write_node(newick_writing *writing, const phl_visit *visit, phl_error *error)
{
    phl_output *output = writing->writer->output;
    close_nodes(writing, visit->depth);
    phl_output_string(output, visit->slot > 1 ? "," : "");
    if (visit->leaf) {
        put_name(output, phl_forest_label_name(writing->writer->forest, visit->label));
        return PHL_OK;
    }
    phl_status status = phl_grow(&writing->open, &writing->capacity, writing->depth + 1,
                                 sizeof *writing->open, error);
    if (status == PHL_OK) {
        writing->open[writing->depth++] = visit->label;
        phl_output_string(output, "(");
    }
    return status;
}

phl_status phl_newick_write_tree(phl_writer *writer, size_t tree, phl_error *error)
{
    newick_writing writing = {.writer = writer};
    phl_status status = PHL_OK;
    phl_visit visit;
    int more = 1;
    phl_walk_start(writer->walk, tree);
    while (status == PHL_OK && (more = phl_walk_next(writer->walk, &visit, error)) > 0) {
        status = write_node(&writing, &visit, error);
    }
    if (status == PHL_OK && more < 0) {
        status = (phl_status)more;
    }
    if (status == PHL_OK) {
        close_nodes(&writing, 0);
        phl_output_string(writer->output, ";\n");
        status = phl_output_check(writer->output, error);
    }
    phl_free(writing.open);
    return status;
}
