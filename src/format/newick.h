/* newick.h - what the two files of the Newick format share; nobody else includes it. */
#ifndef PHL_FORMAT_NEWICK_H
#define PHL_FORMAT_NEWICK_H

#include "format/format.h"

/* What ends a name that is not in quotes, blanks and line ends apart. */
#define PHL_NEWICK_MARKS "()[]':;,"

/* The writing half of the driver. */
const char *phl_newick_write_node_objection(const phl_writer *writer, uint32_t subtree);
phl_status phl_newick_write_tree(phl_writer *writer, size_t tree, phl_error *error);

#endif
