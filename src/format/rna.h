/* rna.h - what the formats of RNA structures share: from bases and pairs to a tree.
 *
 * The root is labelled "rna".  A pair of bases is a node, labelled by its two bases ("GC"), and
 * what lies between them is in it; an unpaired base is a leaf, labelled by itself, or a run of them
 * is one leaf, labelled by how many there are (options->rna_runs).  Without a sequence a pair is
 * "()" and a base ".".
 */
#ifndef PHL_FORMAT_RNA_H
#define PHL_FORMAT_RNA_H

#include "base/text.h"
#include "format/format.h"

/* One structure while it is read.  Zero-initialise. */
typedef struct phl_rna {
    phl_text bases;    /* [length], or empty: not known */
    uint32_t *partner; /* [length] of each base, from 1; 0: unpaired */
    size_t length, capacity;
    uint32_t *open; /* stack of bases whose partners come later */
    size_t open_capacity;
    phl_text id;
    phl_text family; /* empty: none */
    uint64_t line;   /* of the structure (in ct: of its first base), for messages and sources */
} phl_rna;

void phl_rna_clear(phl_rna *rna);
/* Empty, for the next one. */
void phl_rna_begin(phl_rna *rna);

/* Room for one more base. */
phl_status phl_rna_add(phl_rna *rna, const phl_reader *reader, uint32_t partner, phl_error *error);

/* Id and family out of a title: its first two words. */
phl_status phl_rna_title(phl_rna *rna, const char *title, size_t length, phl_error *error);

/* The structure is complete; partners are mutual.  Pairs that cross are refused, at *crossing (from
 * 0), with the place left to the caller, or the one of two that opens later is dropped. */
phl_status phl_rna_end_tree(phl_rna *rna, phl_reader *reader, size_t *crossing, phl_error *error);

#endif
