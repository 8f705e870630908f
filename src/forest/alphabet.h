/* alphabet.h - names and their numbers: labels, classes, source files.
 *
 * Names are numbered 0, 1, 2, ... in order of first appearance.  Bytes live in one arena; a lookup
 * is one look into a hash table in the common case.
 */
#ifndef PHL_FOREST_ALPHABET_H
#define PHL_FOREST_ALPHABET_H

#include "base/hash_table.h"

typedef struct phl_alphabet {
    size_t count;
    size_t entry_capacity;
    struct phl_name {
        uint64_t
            key; /* the first bytes: names of up to 8 bytes are equal if keys and lengths are */
        size_t offset; /* of the name's bytes in the arena; a NUL stands after them */
        size_t length;
    } * entries;
    char *arena;
    size_t arena_used, arena_capacity;
    phl_hash_table table; /* of the entries */
} phl_alphabet;

/* Zero-initialised is empty. */
void phl_alphabet_clear(phl_alphabet *alphabet);

/* Number of a name, or -1. */
int32_t phl_alphabet_find(const phl_alphabet *alphabet, const char *name, size_t length);

/* Number of a name, added if it is new. */
phl_status phl_alphabet_add(phl_alphabet *alphabet, const char *name, size_t length,
                            int32_t *number, phl_error *error);

/* NUL-terminated; valid until the next add. */
const char *phl_alphabet_name(const phl_alphabet *alphabet, size_t number);
size_t phl_alphabet_length(const phl_alphabet *alphabet, size_t number);

/* Forget the names added last, down to `count` of them. */
void phl_alphabet_truncate(phl_alphabet *alphabet, size_t count);

/* The same names with the same numbers? */
bool phl_alphabet_equal(const phl_alphabet *a, const phl_alphabet *b);

phl_status phl_alphabet_copy(const phl_alphabet *from, phl_alphabet *to, phl_error *error);

#endif
