/* ptb.h - what the two files of the format of parse trees share; nobody else includes it. */
#ifndef PHL_FORMAT_PTB_H
#define PHL_FORMAT_PTB_H

#include "format/format.h"

/* Around the tree in a line of tree-kernel data; no labels. */
#define PHL_PTB_BEGIN "|BT|"
#define PHL_PTB_END "|ET|"

/* The writing half of the driver. */
const char *phl_ptb_write_node_objection(const phl_writer *writer, uint32_t subtree);
phl_status phl_ptb_write_tree(phl_writer *writer, size_t tree, phl_error *error);

#endif
