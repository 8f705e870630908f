/* triples.h - a set of triples of numbers, numbered 0, 1, 2, ... in order of first appearance. */
#ifndef PHL_GRAMMAR_TRIPLES_H
#define PHL_GRAMMAR_TRIPLES_H

#include "base/hash_table.h"

#define PHL_NO_TRIPLE UINT32_MAX

typedef struct phl_triple {
    uint32_t a, b, c;
} phl_triple;

/* Zero-initialised is empty. */
typedef struct phl_triples {
    size_t n, capacity;
    phl_triple *items;
    phl_hash_table table;
} phl_triples;

void phl_triples_clear(phl_triples *triples);

/* Its number, or PHL_NO_TRIPLE. */
uint32_t phl_triples_find(const phl_triples *triples, phl_triple item);

/* Its number, added if it is new. */
phl_status phl_triples_add(phl_triples *triples, phl_triple item, uint32_t *number,
                           phl_error *error);

#endif
