/* conllu.h - what the two files of the CoNLL-U format share; nobody else includes it. */
#ifndef PHL_FORMAT_CONLLU_H
#define PHL_FORMAT_CONLLU_H

#include "format/format.h"

/* Columns of a word's line that matter here, from 0. */
enum phl_conllu_column {
    PHL_CONLLU_ID = 0,
    PHL_CONLLU_FORM_COLUMN = 1,
    PHL_CONLLU_UPOS_COLUMN = 3,
    PHL_CONLLU_HEAD = 6,
    PHL_CONLLU_DEPREL_COLUMN = 7,
    PHL_CONLLU_COLUMNS = 10
};

/* The column that labels come from. */
size_t phl_conllu_label_column(phl_conllu_label label);

/* The writing half of the driver. */
const char *phl_conllu_write_tree_objection(const phl_writer *writer, size_t tree);
const char *phl_conllu_write_node_objection(const phl_writer *writer, uint32_t subtree);
phl_status phl_conllu_write_tree(phl_writer *writer, size_t tree, phl_error *error);

#endif
