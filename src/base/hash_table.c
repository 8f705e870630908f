/* hash_table.c - a hash table of numbers; see hash_table.h. */
#include "base/hash_table.h"

#include <string.h>

#include "base/memory.h"

void phl_hash_table_clear(phl_hash_table *table)
{
    phl_free(table->places);
    *table = (phl_hash_table){NULL, 0};
}

void phl_hash_table_empty(phl_hash_table *table)
{
    if (table->size > 0) {
        memset(table->places, 0, table->size * sizeof *table->places);
    }
}

phl_status phl_hash_table_enlarge(phl_hash_table *table, size_t count, size_t least,
                                  phl_hash_table_hash_fn hash, const void *items, phl_error *error)
{
    phl_hash_table larger = {NULL, table->size == 0 ? least : table->size * 2};
    larger.places = phl_alloc_zero(larger.size, sizeof *larger.places, error);
    if (larger.places == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t number = 0; number < count; number++) {
        uint32_t own = hash(items, number);
        size_t place = phl_hash_table_place(&larger, own);
        while (larger.places[place] != 0) {
            place = phl_hash_table_after(&larger, place);
        }
        phl_hash_table_put(&larger, place, own, number);
    }
    phl_free(table->places);
    *table = larger;
    return PHL_OK;
}

void phl_hash_table_remove_last(phl_hash_table *table, uint32_t hash, size_t number)
{
    size_t place = phl_hash_table_place(table, hash);
    while ((uint32_t)table->places[place] != number + 1) {
        place = phl_hash_table_after(table, place);
    }
    table->places[place] = 0;
}
