/* alphabet.c - names and their numbers; see alphabet.h. */
#include "forest/alphabet.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

enum { FIRST_TABLE_SIZE = 64 };

void phl_alphabet_clear(phl_alphabet *alphabet)
{
    phl_free(alphabet->entries);
    phl_free(alphabet->arena);
    phl_hash_table_clear(&alphabet->table);
    memset(alphabet, 0, sizeof *alphabet);
}

/* The first 8 bytes of a name as a number; different for different names of one length up to 8. */
static uint64_t key_of(const char *name, size_t length)
{
    if (length >= 8) {
        uint64_t word;
        memcpy(&word, name, 8);
        return word;
    }
    if (length >= 4) { /* two words that may overlap */
        uint32_t first, last;
        memcpy(&first, name, 4);
        memcpy(&last, name + length - 4, 4);
        return (uint64_t)last << 32 | first;
    }
    if (length > 0) {
        return (uint64_t)(unsigned char)name[0] | (uint64_t)(unsigned char)name[length / 2] << 8 |
               (uint64_t)(unsigned char)name[length - 1] << 16;
    }
    return 0;
}

static uint32_t hash_of(uint64_t key, const char *name, size_t length)
{
    return (uint32_t)(phl_hash_step(length <= 8 ? length : phl_hash_bytes(name, length, 0), key) >>
                      32);
}

/* Is the name there?  *place is where it is, or where it would go. */
static bool find(const phl_alphabet *alphabet, uint32_t hash, uint64_t key, const char *name,
                 size_t length, size_t *place, uint32_t *number)
{
    const phl_hash_table *table = &alphabet->table;
    *place = phl_hash_table_place(table, hash);
    for (; phl_hash_table_next(table, hash, place, number);
         *place = phl_hash_table_after(table, *place)) {
        const struct phl_name *entry = &alphabet->entries[*number];
        if (entry->key == key && entry->length == length &&
            (length <= 8 || memcmp(alphabet->arena + entry->offset, name, length) == 0)) {
            return true;
        }
    }
    return false;
}

int32_t phl_alphabet_find(const phl_alphabet *alphabet, const char *name, size_t length)
{
    if (alphabet->table.size == 0) {
        return -1;
    }
    uint64_t key = key_of(name, length);
    size_t place;
    uint32_t number;
    return find(alphabet, hash_of(key, name, length), key, name, length, &place, &number)
               ? (int32_t)number
               : -1;
}

static uint32_t hash_of_entry(const void *items, size_t number)
{
    const phl_alphabet *alphabet = items;
    const struct phl_name *entry = &alphabet->entries[number];
    return hash_of(entry->key, alphabet->arena + entry->offset, entry->length);
}

phl_status phl_alphabet_add(phl_alphabet *alphabet, const char *name, size_t length,
                            int32_t *number, phl_error *error)
{
    phl_status status = phl_hash_table_reserve(&alphabet->table, alphabet->count, FIRST_TABLE_SIZE,
                                               hash_of_entry, alphabet, error);
    if (status != PHL_OK) {
        return status;
    }
    uint64_t key = key_of(name, length);
    uint32_t hash = hash_of(key, name, length), known;
    size_t place;
    if (find(alphabet, hash, key, name, length, &place, &known)) {
        *number = (int32_t)known;
        return PHL_OK;
    }
    if (alphabet->count >= INT32_MAX) {
        return phl_raise(error, PHL_ERR_LIMIT, "split the data", "more than %d different names",
                         INT32_MAX);
    }
    status = phl_grow(&alphabet->entries, &alphabet->entry_capacity, alphabet->count + 1,
                      sizeof *alphabet->entries, error);
    if (status == PHL_OK) {
        status = phl_grow(&alphabet->arena, &alphabet->arena_capacity,
                          alphabet->arena_used + length + 1, 1, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    struct phl_name *entry = &alphabet->entries[alphabet->count];
    entry->key = key;
    entry->offset = alphabet->arena_used;
    entry->length = length;
    if (length > 0) {
        memcpy(alphabet->arena + entry->offset, name, length);
    }
    alphabet->arena[entry->offset + length] = '\0';
    alphabet->arena_used += length + 1;
    phl_hash_table_put(&alphabet->table, place, hash, alphabet->count);
    *number = (int32_t)alphabet->count++;
    return PHL_OK;
}

const char *phl_alphabet_name(const phl_alphabet *alphabet, size_t number)
{
    return alphabet->arena + alphabet->entries[number].offset;
}

size_t phl_alphabet_length(const phl_alphabet *alphabet, size_t number)
{
    return alphabet->entries[number].length;
}

bool phl_alphabet_equal(const phl_alphabet *a, const phl_alphabet *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = strcmp(phl_alphabet_name(a, i), phl_alphabet_name(b, i)) == 0;
    }
    return same;
}

void phl_alphabet_truncate(phl_alphabet *alphabet, size_t count)
{
    while (alphabet->count > count) {
        size_t last = alphabet->count - 1;
        phl_hash_table_remove_last(&alphabet->table, hash_of_entry(alphabet, last), last);
        alphabet->arena_used = alphabet->entries[last].offset;
        alphabet->count = last;
    }
}

phl_status phl_alphabet_copy(const phl_alphabet *from, phl_alphabet *to, phl_error *error)
{
    memset(to, 0, sizeof *to);
    for (size_t number = 0; number < from->count; number++) {
        int32_t copied;
        phl_status status = phl_alphabet_add(to, phl_alphabet_name(from, number),
                                             phl_alphabet_length(from, number), &copied, error);
        if (status != PHL_OK) {
            phl_alphabet_clear(to);
            return status;
        }
    }
    return PHL_OK;
}
