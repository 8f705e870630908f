/* triples.c - a set of triples of numbers; see triples.h. */
#include "grammar/triples.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

static uint32_t hash_of(phl_triple item)
{
    uint64_t hash = phl_hash_step((uint64_t)item.a << 32 | item.b, item.c);
    return (uint32_t)(hash >> 32);
}

static uint32_t hash_item(const void *items, size_t number)
{
    return hash_of(((const phl_triple *)items)[number]);
}

static bool same(phl_triple x, phl_triple y)
{
    return x.a == y.a && x.b == y.b && x.c == y.c;
}

void phl_triples_clear(phl_triples *triples)
{
    phl_free(triples->items);
    phl_hash_table_clear(&triples->table);
    memset(triples, 0, sizeof *triples);
}

uint32_t phl_triples_find(const phl_triples *triples, phl_triple item)
{
    if (triples->n == 0) {
        return PHL_NO_TRIPLE;
    }
    uint32_t hash = hash_of(item), number = 0;
    size_t place = phl_hash_table_place(&triples->table, hash);
    while (phl_hash_table_next(&triples->table, hash, &place, &number)) {
        if (same(triples->items[number], item)) {
            return number;
        }
        place = phl_hash_table_after(&triples->table, place);
    }
    return PHL_NO_TRIPLE;
}

phl_status phl_triples_add(phl_triples *triples, phl_triple item, uint32_t *number,
                           phl_error *error)
{
    phl_status status =
        phl_hash_table_reserve(&triples->table, triples->n, 64, hash_item, triples->items, error);
    if (status != PHL_OK) {
        return status;
    }
    uint32_t hash = hash_of(item);
    size_t place = phl_hash_table_place(&triples->table, hash);
    while (phl_hash_table_next(&triples->table, hash, &place, number)) {
        if (same(triples->items[*number], item)) {
            return PHL_OK;
        }
        place = phl_hash_table_after(&triples->table, place);
    }
    status = phl_grow(&triples->items, &triples->capacity, triples->n + 1, sizeof *triples->items,
                      error);
    if (status == PHL_OK) {
        triples->items[triples->n] = item;
        *number = (uint32_t)triples->n++;
        phl_hash_table_put(&triples->table, place, hash, *number);
    }
    return status;
}
