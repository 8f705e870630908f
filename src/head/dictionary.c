/* dictionary.c - the features that a classifier knows; see dictionary.h.
 *
 * Contents: complete subtrees, sequences, numbers, a selection, texts.
 */
#include "head/dictionary.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

enum { LEAST_PLACES = 64 };

static const size_t lengths[PHL_FEATURE_GROUPS] = {
    [PHL_GROUP_B] = 3, [PHL_GROUP_BG] = 4, [PHL_GROUP_L] = 1, [PHL_GROUP_P1] = 2};

phl_status phl_dictionary_init(phl_dictionary *dictionary, const phl_alphabet *labels,
                               phl_error *error)
{
    memset(dictionary, 0, sizeof *dictionary);
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        dictionary->sequences[g].length = lengths[g];
    }
    phl_dictionary_subtrees *subtrees = &dictionary->subtrees;
    phl_status status = phl_alphabet_copy(labels, &dictionary->labels, error);
    if (status == PHL_OK) {
        status = phl_grow(&subtrees->first_link, &subtrees->first_capacity, 1,
                          sizeof *subtrees->first_link, error);
    }
    if (status == PHL_OK) {
        subtrees->first_link[0] = 0;
    }
    return status;
}

void phl_dictionary_clear(phl_dictionary *dictionary)
{
    phl_alphabet_clear(&dictionary->labels);
    phl_free(dictionary->subtrees.symbol);
    phl_free(dictionary->subtrees.first_link);
    phl_free(dictionary->subtrees.links);
    phl_hash_table_clear(&dictionary->subtrees.table);
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        phl_free(dictionary->sequences[g].symbols);
        phl_hash_table_clear(&dictionary->sequences[g].table);
    }
    memset(dictionary, 0, sizeof *dictionary);
}

/* ---------------------------------------------------------------------------------------------
 * Complete subtrees
 * ------------------------------------------------------------------------------------------- */

static uint32_t fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t hash_subtree(uint32_t symbol, const phl_link *links, size_t n_links)
{
    uint64_t hash = phl_hash_step(n_links, symbol);
    for (size_t i = 0; i < n_links; i++) {
        hash = phl_hash_step(hash, (uint64_t)links[i].slot << 32 | links[i].child);
    }
    return fold(hash);
}

static uint32_t hash_subtree_item(const void *items, size_t number)
{
    const phl_dictionary_subtrees *subtrees = items;
    uint64_t first = subtrees->first_link[number];
    return hash_subtree(subtrees->symbol[number], subtrees->links + first,
                        (size_t)(subtrees->first_link[number + 1] - first));
}

static bool is_subtree(const phl_dictionary_subtrees *subtrees, uint32_t number, uint32_t symbol,
                       const phl_link *links, size_t n_links)
{
    uint64_t first = subtrees->first_link[number];
    if (subtrees->symbol[number] != symbol || subtrees->first_link[number + 1] - first != n_links) {
        return false;
    }
    for (size_t i = 0; i < n_links; i++) {
        const phl_link *known = &subtrees->links[first + i];
        if (known->slot != links[i].slot || known->child != links[i].child) {
            return false;
        }
    }
    return true;
}

/* In a table that is not empty; PHL_NO_FEATURE, with *place where it would be put. */
static uint32_t seek_subtree(const phl_dictionary_subtrees *subtrees, uint32_t hash, size_t *place,
                             uint32_t symbol, const phl_link *links, size_t n_links)
{
    uint32_t number = 0;
    *place = phl_hash_table_place(&subtrees->table, hash);
    while (phl_hash_table_next(&subtrees->table, hash, place, &number)) {
        if (is_subtree(subtrees, number, symbol, links, n_links)) {
            return number;
        }
        *place = phl_hash_table_after(&subtrees->table, *place);
    }
    return PHL_NO_FEATURE;
}

uint32_t phl_dictionary_find_subtree(const phl_dictionary *dictionary, uint32_t symbol,
                                     const phl_link *links, size_t n_links)
{
    const phl_dictionary_subtrees *subtrees = &dictionary->subtrees;
    size_t place = 0;
    bool known = symbol != PHL_NO_FEATURE && subtrees->n > 0;
    for (size_t i = 0; known && i < n_links; i++) {
        known = links[i].child != PHL_NO_FEATURE;
    }
    return known ? seek_subtree(subtrees, hash_subtree(symbol, links, n_links), &place, symbol,
                                links, n_links)
                 : PHL_NO_FEATURE;
}

phl_status phl_dictionary_add_subtree(phl_dictionary *dictionary, uint32_t symbol,
                                      const phl_link *links, size_t n_links, uint32_t *number,
                                      phl_error *error)
{
    phl_dictionary_subtrees *subtrees = &dictionary->subtrees;
    size_t n = subtrees->n, place = 0;
    uint64_t end = subtrees->first_link[n];
    uint32_t hash = hash_subtree(symbol, links, n_links);
    phl_status status = phl_hash_table_reserve(&subtrees->table, n, LEAST_PLACES, hash_subtree_item,
                                               subtrees, error);
    if (status != PHL_OK) {
        return status;
    }
    *number = seek_subtree(subtrees, hash, &place, symbol, links, n_links);
    if (*number != PHL_NO_FEATURE) {
        return PHL_OK;
    }
    status =
        phl_grow(&subtrees->symbol, &subtrees->capacity, n + 1, sizeof *subtrees->symbol, error);
    if (status == PHL_OK) {
        status = phl_grow(&subtrees->first_link, &subtrees->first_capacity, n + 2,
                          sizeof *subtrees->first_link, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&subtrees->links, &subtrees->link_capacity, (size_t)end + n_links,
                          sizeof *subtrees->links, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    subtrees->symbol[n] = symbol;
    if (n_links > 0) {
        memcpy(subtrees->links + end, links, n_links * sizeof *links);
    }
    subtrees->first_link[n + 1] = end + n_links;
    subtrees->n++;
    phl_hash_table_put(&subtrees->table, place, hash, n);
    *number = (uint32_t)n;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Sequences
 * ------------------------------------------------------------------------------------------- */

static uint32_t hash_sequence(const uint32_t *symbols, size_t length)
{
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++) {
        hash = phl_hash_step(hash, symbols[i]);
    }
    return fold(hash);
}

static uint32_t hash_sequence_item(const void *items, size_t number)
{
    const phl_dictionary_sequences *sequences = items;
    return hash_sequence(sequences->symbols + number * sequences->length, sequences->length);
}

static uint32_t seek_sequence(const phl_dictionary_sequences *sequences, uint32_t hash,
                              size_t *place, const uint32_t *symbols)
{
    uint32_t number = 0;
    *place = phl_hash_table_place(&sequences->table, hash);
    while (phl_hash_table_next(&sequences->table, hash, place, &number)) {
        if (memcmp(sequences->symbols + number * sequences->length, symbols,
                   sequences->length * sizeof *symbols) == 0) {
            return number;
        }
        *place = phl_hash_table_after(&sequences->table, *place);
    }
    return PHL_NO_FEATURE;
}

uint32_t phl_dictionary_find_sequence(const phl_dictionary *dictionary, int group,
                                      const uint32_t *symbols)
{
    const phl_dictionary_sequences *sequences = &dictionary->sequences[group];
    size_t place = 0;
    return sequences->n > 0 ? seek_sequence(sequences, hash_sequence(symbols, sequences->length),
                                            &place, symbols)
                            : PHL_NO_FEATURE;
}

phl_status phl_dictionary_add_sequence(phl_dictionary *dictionary, int group,
                                       const uint32_t *symbols, uint32_t *number, phl_error *error)
{
    phl_dictionary_sequences *sequences = &dictionary->sequences[group];
    size_t n = sequences->n, length = sequences->length, place = 0;
    uint32_t hash = hash_sequence(symbols, length);
    phl_status status = phl_hash_table_reserve(&sequences->table, n, LEAST_PLACES,
                                               hash_sequence_item, sequences, error);
    if (status != PHL_OK) {
        return status;
    }
    *number = seek_sequence(sequences, hash, &place, symbols);
    if (*number != PHL_NO_FEATURE) {
        return PHL_OK;
    }
    status = phl_grow(&sequences->symbols, &sequences->capacity, (n + 1) * length,
                      sizeof *sequences->symbols, error);
    if (status == PHL_OK) {
        memcpy(sequences->symbols + n * length, symbols, length * sizeof *symbols);
        sequences->n++;
        phl_hash_table_put(&sequences->table, place, hash, n);
        *number = (uint32_t)n;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Numbers
 * ------------------------------------------------------------------------------------------- */

size_t phl_dictionary_count(const phl_dictionary *dictionary, int group)
{
    return group == PHL_GROUP_S ? dictionary->subtrees.n : dictionary->sequences[group].n;
}

size_t phl_dictionary_first(const phl_dictionary *dictionary, int group)
{
    size_t first = 0;
    for (int g = 0; g < group; g++) {
        first += phl_dictionary_count(dictionary, g);
    }
    return first;
}

int phl_dictionary_group(const phl_dictionary *dictionary, size_t feature)
{
    int group = 0;
    while (feature >= phl_dictionary_first(dictionary, group + 1)) {
        group++;
    }
    return group;
}

/* ---------------------------------------------------------------------------------------------
 * A selection
 * ------------------------------------------------------------------------------------------- */

static phl_status select_subtrees(const phl_dictionary_subtrees *from, const bool *keep,
                                  phl_dictionary *selected, phl_error *error)
{
    uint32_t *number = phl_alloc(from->n, sizeof *number, error); /* in the selection */
    phl_link *links = NULL;
    size_t capacity = 0;
    phl_status status = number == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t s = 0; status == PHL_OK && s < from->n; s++) {
        size_t n_links = (size_t)(from->first_link[s + 1] - from->first_link[s]);
        number[s] = PHL_NO_FEATURE;
        if (!keep[s]) {
            continue;
        }
        status = phl_grow(&links, &capacity, n_links, sizeof *links, error);
        for (size_t i = 0; status == PHL_OK && i < n_links; i++) {
            links[i] = from->links[from->first_link[s] + i];
            links[i].child = number[links[i].child];
        }
        if (status == PHL_OK) {
            status = phl_dictionary_add_subtree(selected, from->symbol[s], links, n_links,
                                                &number[s], error);
        }
    }
    phl_free(links);
    phl_free(number);
    return status;
}

phl_status phl_dictionary_select(const phl_dictionary *dictionary, const bool *keep,
                                 phl_dictionary *selected, phl_error *error)
{
    phl_status status = select_subtrees(&dictionary->subtrees, keep, selected, error);
    for (int g = PHL_GROUP_S + 1; status == PHL_OK && g < PHL_FEATURE_GROUPS; g++) {
        const phl_dictionary_sequences *from = &dictionary->sequences[g];
        const bool *kept = keep + phl_dictionary_first(dictionary, g);
        for (size_t i = 0; status == PHL_OK && i < from->n; i++) {
            uint32_t number = 0;
            if (kept[i]) {
                status = phl_dictionary_add_sequence(selected, g, from->symbols + i * from->length,
                                                     &number, error);
            }
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Texts
 * ------------------------------------------------------------------------------------------- */

/* As brackets write it, and quoted also where it would be taken for a border or for "...". */
static bool needs_quotes(const char *name, size_t length)
{
    bool plain = length > 0 && name[0] != '#' && !phl_text_is_hidden(name, length) &&
                 !(length == 1 && strchr("_?^<>", name[0]) != NULL) && strcmp(name, "...") != 0;
    for (size_t i = 0; plain && i < length; i++) {
        plain = (unsigned char)name[i] > ' ' && strchr("()\"", name[i]) == NULL;
    }
    return !plain;
}

/* A node without its brackets; `border` is how a border looks here. */
static phl_status append_symbol(const phl_dictionary *dictionary, uint32_t symbol,
                                const char *border, phl_text *text, phl_error *error)
{
    if (symbol < PHL_SYMBOL_FIRST_LABEL) {
        return phl_text_append_string(text,
                                      symbol == PHL_SYMBOL_BORDER ? border
                                      : symbol == PHL_SYMBOL_GAP  ? "_"
                                                                  : "?",
                                      error);
    }
    size_t label = symbol - PHL_SYMBOL_FIRST_LABEL;
    const char *name = phl_alphabet_name(&dictionary->labels, label);
    size_t length = phl_alphabet_length(&dictionary->labels, label);
    return needs_quotes(name, length) ? phl_text_append_json(text, name, length, error)
                                      : phl_text_append(text, name, length, error);
}

/* A child: a node in brackets, a border or a gap without. */
static phl_status append_child(const phl_dictionary *dictionary, uint32_t symbol,
                               const char *border, phl_text *text, phl_error *error)
{
    bool node = symbol >= PHL_SYMBOL_UNKNOWN;
    phl_status status = phl_text_append_string(text, node ? " (" : " ", error);
    if (status == PHL_OK) {
        status = append_symbol(dictionary, symbol, border, text, error);
    }
    return status == PHL_OK && node ? phl_text_append_string(text, ")", error) : status;
}

/* The last two symbols are neighbours, those before them their parent and its parent; or the last
 * one is a node, alone or below its parent. */
static phl_status append_sequence(const phl_dictionary *dictionary, int group,
                                  const uint32_t *symbols, phl_text *text, phl_error *error)
{
    bool pair = group == PHL_GROUP_B || group == PHL_GROUP_BG;
    size_t length = lengths[group], above = pair ? length - 2 : length;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < above; i++) {
        status = phl_text_append_string(text, i > 0 ? " (" : "(", error);
        if (status == PHL_OK) {
            status = append_symbol(dictionary, symbols[i], "^", text, error);
        }
    }
    if (status == PHL_OK && pair) {
        status = append_child(dictionary, symbols[above], "<", text, error);
    }
    if (status == PHL_OK && pair) {
        status = append_child(dictionary, symbols[above + 1], ">", text, error);
    }
    for (size_t i = 0; status == PHL_OK && i < above; i++) {
        status = phl_text_append_string(text, ")", error);
    }
    return status;
}

/* A node whose children are being written. */
struct open_node {
    uint64_t next_link, end_link;
    uint32_t next_slot;
};

static phl_status append_gap(uint32_t gap, phl_text *text, phl_error *error)
{
    enum { SHOWN = 8 };
    phl_status status = PHL_OK;
    for (uint32_t i = 0; status == PHL_OK && i < gap && i < SHOWN; i++) {
        status = phl_text_append_string(text, " _", error);
    }
    return status == PHL_OK && gap > SHOWN ? phl_text_append_string(text, " ...", error) : status;
}

static phl_status append_subtree(const phl_dictionary *dictionary, uint32_t subtree, size_t most,
                                 phl_text *text, phl_error *error)
{
    const phl_dictionary_subtrees *subtrees = &dictionary->subtrees;
    struct open_node *open = NULL;
    size_t depth = 0, capacity = 0, nodes = 0;
    uint32_t next = subtree;
    bool more = true, cut = false;
    phl_status status = PHL_OK;
    while (status == PHL_OK && more) {
        status = phl_grow(&open, &capacity, depth + 1, sizeof *open, error);
        if (status == PHL_OK) {
            open[depth++] =
                (struct open_node){subtrees->first_link[next], subtrees->first_link[next + 1], 1};
            nodes++;
            status = phl_text_append_string(text, depth > 1 ? " (" : "(", error);
        }
        if (status == PHL_OK) {
            status = append_symbol(dictionary, subtrees->symbol[next], "", text, error);
        }
        more = false;
        while (status == PHL_OK && depth > 0 && !more) {
            struct open_node *node = &open[depth - 1];
            if (node->next_link < node->end_link && nodes < most) {
                const phl_link *link = &subtrees->links[node->next_link++];
                status = append_gap(link->slot - node->next_slot, text, error);
                node->next_slot = link->slot + 1;
                next = link->child;
                more = true;
            } else {
                if (node->next_link < node->end_link && !cut) {
                    cut = true;
                    status = phl_text_append_string(text, " ...", error);
                }
                depth--;
                status = status == PHL_OK ? phl_text_append_string(text, ")", error) : status;
            }
        }
    }
    phl_free(open);
    return status;
}

phl_status phl_dictionary_text(const phl_dictionary *dictionary, size_t feature, size_t most,
                               phl_text *text, phl_error *error)
{
    int group = phl_dictionary_group(dictionary, feature);
    size_t number = feature - phl_dictionary_first(dictionary, group);
    const phl_dictionary_sequences *sequences = &dictionary->sequences[group];
    return group == PHL_GROUP_S
               ? append_subtree(dictionary, (uint32_t)number, most, text, error)
               : append_sequence(dictionary, group, sequences->symbols + number * sequences->length,
                                 text, error);
}
