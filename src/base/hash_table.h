/* hash_table.h - a hash table of numbers: which of the items 0, 1, 2, ... that a caller keeps is
 * equal to one at hand.  Open addressing, at most half full.
 *
 * The caller hashes and compares: it goes through the items of its hash (place, next, after) until
 * one is equal; if none is, the new item is put where the search ended, for which there was room
 * (reserve).  alphabet.c is an example.
 */
#ifndef PHL_BASE_HASH_TABLE_H
#define PHL_BASE_HASH_TABLE_H

#include "base/error.h"

/* Zero-initialised is empty. */
typedef struct phl_hash_table {
    uint64_t *places; /* upper half: hash, lower half: number + 1; 0 = empty */
    size_t size;      /* power of two, or 0 */
} phl_hash_table;

typedef uint32_t (*phl_hash_table_hash_fn)(const void *items, size_t number);

void phl_hash_table_clear(phl_hash_table *table);

/* Forget the items, keep the room. */
void phl_hash_table_empty(phl_hash_table *table);

/* Make a table of `count` items larger, at least `least` places, and enter them again in order. */
phl_status phl_hash_table_enlarge(phl_hash_table *table, size_t count, size_t least,
                                  phl_hash_table_hash_fn hash, const void *items, phl_error *error);

/* Room for one item more than `count`. */
static inline phl_status phl_hash_table_reserve(phl_hash_table *table, size_t count, size_t least,
                                                phl_hash_table_hash_fn hash, const void *items,
                                                phl_error *error)
{
    return count < table->size / 2
               ? PHL_OK
               : phl_hash_table_enlarge(table, count, least, hash, items, error);
}

/* Where to begin to look, in a table that is not empty. */
static inline size_t phl_hash_table_place(const phl_hash_table *table, uint32_t hash)
{
    return hash & (table->size - 1);
}

static inline size_t phl_hash_table_after(const phl_hash_table *table, size_t place)
{
    return (place + 1) & (table->size - 1);
}

/* The next item of this hash, from *place on; false: there is none, and *place is free. */
static inline bool phl_hash_table_next(const phl_hash_table *table, uint32_t hash, size_t *place,
                                       uint32_t *number)
{
    uint64_t entry;
    while ((entry = table->places[*place]) != 0) {
        if (entry >> 32 == hash) {
            *number = (uint32_t)entry - 1;
            return true;
        }
        *place = phl_hash_table_after(table, *place);
    }
    return false;
}

static inline void phl_hash_table_put(phl_hash_table *table, size_t place, uint32_t hash,
                                      size_t number)
{
    table->places[place] = (uint64_t)hash << 32 | (uint32_t)(number + 1);
}

/* Take out the item that was put in last.  Items enter in order of number (a larger table is filled
 * in that order too), so taking them out last to first leaves every earlier search whole. */
void phl_hash_table_remove_last(phl_hash_table *table, uint32_t hash, size_t number);

#endif
