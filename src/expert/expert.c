/* expert.c - the neighbourhoods of training trees, and what chains say; see expert.h.
 *
 * Contents: making an expert, tables of contexts, chains.
 */
#include "expert/expert.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

#define AT(place) ((phl_places)1 << (place))

/* Places in the order in which contexts grow. */
static const unsigned char chains[PHL_EXPERT_CHAINS][PHL_EXPERT_STEPS + 1] = {
    {PHL_NEAR_CHILDREN, PHL_NEAR_PARENT, PHL_NEAR_LEFT, PHL_NEAR_RIGHT, PHL_NEAR_FIRST,
     PHL_NEAR_LAST, PHL_NEAR_GRANDPARENT, PHL_NEAR_PLACES},
    {PHL_NEAR_CHILDREN, PHL_NEAR_FIRST, PHL_NEAR_LAST, PHL_NEAR_PARENT, PHL_NEAR_LEFT,
     PHL_NEAR_RIGHT, PHL_NEAR_PLACES},
    {PHL_NEAR_CHILDREN, PHL_NEAR_LEFT, PHL_NEAR_RIGHT, PHL_NEAR_PARENT, PHL_NEAR_LEFT_2,
     PHL_NEAR_RIGHT_2, PHL_NEAR_PLACES},
    {PHL_NEAR_CHILDREN, PHL_NEAR_RIGHT, PHL_NEAR_LEFT, PHL_NEAR_RIGHT_2, PHL_NEAR_LEFT_2,
     PHL_NEAR_PLACES},
    {PHL_NEAR_CHILDREN, PHL_NEAR_PARENT, PHL_NEAR_GRANDPARENT, PHL_NEAR_PARENT_LEFT,
     PHL_NEAR_PARENT_RIGHT, PHL_NEAR_PLACES},
    {PHL_NEAR_CHILDREN, PHL_NEAR_PARENT, PHL_NEAR_RIGHT, PHL_NEAR_LAST, PHL_NEAR_PLACES},
    {PHL_NEAR_CHILDREN, PHL_NEAR_PARENT, PHL_NEAR_LEFT, PHL_NEAR_LEFT_2, PHL_NEAR_PLACES},
    {PHL_NEAR_SIBLINGS, PHL_NEAR_CHILDREN, PHL_NEAR_PARENT, PHL_NEAR_PLACES},
    {PHL_NEAR_CHILDREN, PHL_NEAR_PLACES},
};

/* ---------------------------------------------------------------------------------------------
 * Making an expert
 * ------------------------------------------------------------------------------------------- */

void phl_expert_free(phl_expert *expert)
{
    if (expert != NULL) {
        phl_free(expert->rows);
        phl_free(expert->odd);
        phl_free(expert);
    }
}

static uint32_t hash_row(const void *items, size_t number)
{
    const phl_expert_row *row = (const phl_expert_row *)items + number;
    uint64_t hash = row->label;
    for (size_t i = 0; i < PHL_NEAR_PLACES; i++) {
        hash = phl_hash_step(hash, row->near[i]);
    }
    return (uint32_t)(hash >> 32);
}

static phl_status add_row(phl_expert *expert, phl_hash_table *table, const phl_expert_row *row,
                          phl_error *error)
{
    uint32_t number = 0, hash = hash_row(row, 0);
    phl_status status =
        phl_hash_table_reserve(table, expert->n_rows, 1024, hash_row, expert->rows, error);
    if (status != PHL_OK) {
        return status;
    }
    size_t place = phl_hash_table_place(table, hash);
    while (phl_hash_table_next(table, hash, &place, &number)) {
        phl_expert_row *known = &expert->rows[number];
        if (known->label == row->label && memcmp(known->near, row->near, sizeof row->near) == 0) {
            known->count += row->count;
            return PHL_OK;
        }
        place = phl_hash_table_after(table, place);
    }
    if (expert->n_rows >= UINT32_MAX - 1) {
        return phl_raise(error, PHL_ERR_LIMIT, NULL, "more than %u distinct neighbourhoods",
                         UINT32_MAX - 1);
    }
    status =
        phl_grow(&expert->rows, &expert->capacity, expert->n_rows + 1, sizeof *expert->rows, error);
    if (status == PHL_OK) {
        phl_hash_table_put(table, place, hash, expert->n_rows);
        expert->rows[expert->n_rows++] = *row;
    }
    return status;
}

static phl_status add_tree(phl_expert *expert, phl_hash_table *table, phl_walk *walk, size_t tree,
                           double weight, phl_neighbourhood *nodes, phl_error *error)
{
    phl_visit visit;
    int more;
    phl_neighbourhood_start(nodes, expert->n_labels);
    phl_walk_start(walk, tree);
    while ((more = phl_walk_next(walk, &visit, error)) > 0) {
        phl_status status = phl_neighbourhood_add(
            nodes, visit.parent, visit.label < 0 ? PHL_NEAR_UNKNOWN : (uint32_t)visit.label, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    phl_status status = (phl_status)more;
    for (size_t u = 0; status == PHL_OK && u < nodes->n; u++) {
        phl_expert_row row = {.label = nodes->nodes[u].symbol, .count = weight};
        if (row.label != PHL_NEAR_UNKNOWN) {
            phl_neighbourhood_of(nodes, u, row.near);
            status = add_row(expert, table, &row, error);
        }
    }
    return status;
}

static int compare_rows(const void *a, const void *b)
{
    const phl_expert_row *one = a, *two = b;
    if (one->label != two->label) {
        return one->label < two->label ? -1 : 1;
    }
    for (size_t i = 0; i < PHL_NEAR_PLACES; i++) {
        if (one->near[i] != two->near[i]) {
            return one->near[i] < two->near[i] ? -1 : 1;
        }
    }
    return 0;
}

/* Trees with the same root are walked once: the first of them, with the weight of all. */
static phl_status weigh(const phl_forest *forest, const size_t *trees, size_t n, double *weights,
                        phl_error *error)
{
    size_t *first = phl_alloc_zero(forest->n_subtrees, sizeof *first, error);
    if (first == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        size_t tree = trees != NULL ? trees[i] : i;
        uint32_t root = forest->tree_root[tree];
        weights[i] = 0.0;
        first[root] = first[root] == 0 ? i + 1 : first[root];
        weights[first[root] - 1] += phl_tree_weight(forest, tree);
    }
    phl_free(first);
    return PHL_OK;
}

static phl_status gather(phl_expert *expert, const phl_forest *forest, const size_t *trees,
                         size_t n, phl_error *error)
{
    phl_hash_table table = {0};
    phl_neighbourhood nodes = {0};
    phl_walk *walk = NULL;
    double *weights = phl_alloc(n, sizeof *weights, error);
    phl_status status = weights == NULL ? PHL_ERR_MEMORY : weigh(forest, trees, n, weights, error);
    if (status == PHL_OK) {
        status = phl_walk_create(forest, &walk, error);
    }
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        if (weights[i] > 0.0) {
            status = add_tree(expert, &table, walk, trees != NULL ? trees[i] : i, weights[i],
                              &nodes, error);
        }
    }
    phl_walk_free(walk);
    phl_neighbourhood_clear(&nodes);
    phl_hash_table_clear(&table);
    phl_free(weights);
    return status;
}

phl_status phl_expert_create(const phl_forest *forest, const size_t *trees, size_t n,
                             phl_expert **expert, phl_error *error)
{
    phl_expert *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->n_labels = forest->labels.count;
    made->strength = 1.0;
    made->discount = 0.5;
    made->n_chains = made->n_voices = PHL_EXPERT_CHAINS;
    made->trees = n;
    for (size_t i = 0; i < PHL_EXPERT_PATTERNS; i++) {
        for (size_t v = 0; v < PHL_EXPERT_CHAINS; v++) {
            made->weights[i][v] = 1.0 / PHL_EXPERT_CHAINS;
        }
    }
    phl_status status = gather(made, forest, trees, n, error);
    if (status != PHL_OK) {
        phl_expert_free(made);
        return status;
    }
    if (made->n_rows > 0) {
        qsort(made->rows, made->n_rows, sizeof *made->rows, compare_rows);
    }
    *expert = made;
    return PHL_OK;
}

static bool is_symbol(const phl_expert *expert, size_t place, uint32_t symbol)
{
    return place == PHL_NEAR_CHILDREN || place == PHL_NEAR_SIBLINGS
               ? symbol <= PHL_NEAR_MOST
               : symbol <= expert->n_labels + 1 || symbol == PHL_NEAR_UNKNOWN;
}

bool phl_expert_is_sound(const phl_expert *expert)
{
    bool good =
        (expert->n_chains == PHL_EXPERT_CHAINS || (expert->n_chains == 0 && expert->n_rows == 0)) &&
        expert->n_voices > 0 && expert->n_voices >= expert->n_chains &&
        expert->n_voices <= PHL_EXPERT_MOST_VOICES && expert->strength > 0.0 &&
        expert->strength <= 1e6 && expert->discount >= 0.0 && expert->discount < 1.0;
    for (size_t i = 0; good && i < expert->n_rows; i++) {
        const phl_expert_row *row = &expert->rows[i];
        good = row->label < expert->n_labels && row->count > 0.0 && row->count <= 1e300 &&
               (i == 0 || compare_rows(row - 1, row) < 0);
        for (size_t k = 0; good && k < PHL_NEAR_PLACES; k++) {
            good = is_symbol(expert, k, row->near[k]);
        }
    }
    for (size_t i = 0; good && i < PHL_EXPERT_PATTERNS; i++) {
        for (size_t v = 0; good && v < expert->n_voices; v++) {
            good = expert->weights[i][v] >= -1e3 && expert->weights[i][v] <= 1e3;
        }
    }
    for (size_t i = 0; good && i < expert->n_odd; i++) {
        good = expert->odd[i] >= (i > 0 ? expert->odd[i - 1] : 0.0);
    }
    return good;
}

size_t phl_expert_pattern(const uint32_t near[PHL_NEAR_PLACES])
{
    size_t known = (near[PHL_NEAR_PARENT] != PHL_NEAR_UNKNOWN) +
                   (size_t)(near[PHL_NEAR_LEFT] != PHL_NEAR_UNKNOWN) +
                   (near[PHL_NEAR_RIGHT] != PHL_NEAR_UNKNOWN);
    size_t below = (size_t)(near[PHL_NEAR_FIRST] != PHL_NEAR_UNKNOWN) +
                   (near[PHL_NEAR_LAST] != PHL_NEAR_UNKNOWN);
    return (near[PHL_NEAR_CHILDREN] == 0 ? 0 : 1 + below) * 4 + known;
}

/* ---------------------------------------------------------------------------------------------
 * Tables of contexts
 * ------------------------------------------------------------------------------------------- */

static uint32_t hash_context(const uint32_t *near, phl_places places)
{
    uint64_t hash = places;
    for (size_t i = 0; i < PHL_NEAR_PLACES; i++) {
        if (places & AT(i)) {
            hash = phl_hash_step(hash, near[i]);
        }
    }
    return (uint32_t)(hash >> 32);
}

static bool is_same(const uint32_t *one, const uint32_t *two, phl_places places)
{
    bool same = true;
    for (size_t i = 0; same && i < PHL_NEAR_PLACES; i++) {
        same = !(places & AT(i)) || one[i] == two[i];
    }
    return same;
}

static bool is_known(const uint32_t *near, phl_places places)
{
    bool known = true;
    for (size_t i = 0; known && i < PHL_NEAR_PLACES; i++) {
        known = !(places & AT(i)) || near[i] != PHL_NEAR_UNKNOWN;
    }
    return known;
}

static void free_table(phl_expert_table *table)
{
    if (table != NULL) {
        phl_free(table->row);
        phl_free(table->total);
        phl_free(table->first);
        phl_free(table->label);
        phl_free(table->count);
        phl_hash_table_clear(&table->hashes);
        phl_free(table);
    }
}

static uint32_t find_context(const phl_expert *expert, const phl_expert_table *table,
                             const uint32_t *near, size_t *place, uint32_t hash)
{
    uint32_t number = 0;
    *place = phl_hash_table_place(&table->hashes, hash);
    while (phl_hash_table_next(&table->hashes, hash, place, &number)) {
        if (is_same(expert->rows[table->row[number]].near, near, table->places)) {
            return number;
        }
        *place = phl_hash_table_after(&table->hashes, *place);
    }
    return UINT32_MAX;
}

struct contexts {
    const phl_expert *expert;
    const phl_expert_table *table;
};

static uint32_t hash_number(const void *items, size_t number)
{
    const struct contexts *contexts = items;
    return hash_context(contexts->expert->rows[contexts->table->row[number]].near,
                        contexts->table->places);
}

/* The context of every row; UINT32_MAX: some of it is unknown. */
static phl_status number_contexts(const phl_expert *expert, phl_expert_table *table,
                                  uint32_t *context, phl_error *error)
{
    const struct contexts contexts = {expert, table};
    phl_status status =
        phl_hash_table_reserve(&table->hashes, 0, 16, hash_number, &contexts, error);
    for (size_t i = 0; status == PHL_OK && i < expert->n_rows; i++) {
        const uint32_t *near = expert->rows[i].near;
        context[i] = UINT32_MAX;
        if (!is_known(near, table->places)) {
            continue;
        }
        status =
            phl_hash_table_reserve(&table->hashes, table->n, 16, hash_number, &contexts, error);
        if (status == PHL_OK) {
            uint32_t hash = hash_context(near, table->places);
            size_t place = 0;
            context[i] = find_context(expert, table, near, &place, hash);
            if (context[i] == UINT32_MAX) {
                context[i] = (uint32_t)table->n;
                phl_hash_table_put(&table->hashes, place, hash, table->n);
                table->row[table->n++] = (uint32_t)i;
            }
        }
    }
    return status;
}

/* Rows dealt out to their contexts; equal labels of one context come after each other. */
static void fill_cells(const phl_expert *expert, phl_expert_table *table, const uint32_t *context,
                       uint64_t *next)
{
    for (size_t i = 0; i < expert->n_rows; i++) {
        const phl_expert_row *row = &expert->rows[i];
        if (context[i] == UINT32_MAX) {
            continue;
        }
        uint64_t *end = &next[context[i]];
        table->total[context[i]] += row->count;
        if (*end > table->first[context[i]] && table->label[*end - 1] == row->label) {
            table->count[*end - 1] += row->count;
        } else {
            table->label[*end] = row->label;
            table->count[(*end)++] = row->count;
        }
    }
    uint64_t end = 0; /* closed up */
    for (size_t c = 0; c < table->n; c++) {
        uint64_t begin = table->first[c], cells = next[c] - begin;
        memmove(table->label + end, table->label + begin, cells * sizeof *table->label);
        memmove(table->count + end, table->count + begin, cells * sizeof *table->count);
        table->first[c] = end;
        end += cells;
    }
    table->first[table->n] = end;
}

static phl_status fill_table(const phl_expert *expert, phl_expert_table *table, phl_error *error)
{
    size_t n = expert->n_rows;
    uint32_t *context = phl_alloc(n, sizeof *context, error);
    uint64_t *next = NULL;
    table->row = phl_alloc(n, sizeof *table->row, error);
    table->label = phl_alloc(n, sizeof *table->label, error);
    table->count = phl_alloc(n, sizeof *table->count, error);
    phl_status status =
        context == NULL || table->row == NULL || table->label == NULL || table->count == NULL
            ? PHL_ERR_MEMORY
            : number_contexts(expert, table, context, error);
    if (status == PHL_OK) {
        table->first = phl_alloc_zero(table->n + 1, sizeof *table->first, error);
        table->total = phl_alloc_zero(table->n, sizeof *table->total, error);
        next = phl_alloc(table->n + 1, sizeof *next, error);
        status =
            table->first == NULL || table->total == NULL || next == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status == PHL_OK) {
        for (size_t i = 0; i < n; i++) {
            if (context[i] != UINT32_MAX) {
                table->first[context[i] + 1]++;
            }
        }
        for (size_t c = 0; c < table->n; c++) {
            table->first[c + 1] += table->first[c];
        }
        memcpy(next, table->first, (table->n + 1) * sizeof *next);
        fill_cells(expert, table, context, next);
        phl_shrink(&table->row, table->n, sizeof *table->row);
        phl_shrink(&table->label, (size_t)table->first[table->n], sizeof *table->label);
        phl_shrink(&table->count, (size_t)table->first[table->n], sizeof *table->count);
    }
    phl_free(context);
    phl_free(next);
    return status;
}

static phl_status reserve_table(phl_expert_tables *tables, phl_places places, phl_error *error)
{
    if (tables->of_places[places] != NULL) {
        return PHL_OK;
    }
    phl_expert_table *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->places = places;
    phl_status status = fill_table(tables->expert, made, error);
    if (status != PHL_OK) {
        free_table(made);
        return status;
    }
    tables->of_places[places] = made;
    return PHL_OK;
}

/* Without a context: shares of what was seen, and for labels that were not, all together, the share
 * of those seen once (Good and Turing), at least one. */
static void fill_base(phl_expert_tables *tables)
{
    const phl_expert_table *all = tables->of_places[0];
    size_t width = tables->expert->n_labels + 1;
    uint64_t kinds = all->n == 0 ? 0 : all->first[1];
    double total = all->n == 0 ? 0.0 : all->total[0], once = 1.0;
    for (uint64_t i = 0; i < kinds; i++) {
        once += all->count[i] <= 1.0 ? all->count[i] : 0.0;
    }
    double fresh = once / (total + 2.0);
    for (size_t x = 0; x < width; x++) {
        tables->base[x] = (total > 0.0 ? fresh : 1.0) / (double)(width - kinds);
    }
    for (uint64_t i = 0; i < kinds; i++) {
        tables->base[all->label[i]] = (1.0 - fresh) * all->count[i] / total;
    }
}

phl_status phl_expert_tables_create(const phl_expert *expert, phl_expert_tables **tables,
                                    phl_error *error)
{
    phl_expert_tables *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->expert = expert;
    made->base = phl_alloc(expert->n_labels + 1, sizeof *made->base, error);
    phl_status status = made->base == NULL ? PHL_ERR_MEMORY : reserve_table(made, 0, error);
    if (status == PHL_OK) {
        fill_base(made);
    } else {
        phl_expert_tables_free(made);
        return status;
    }
    *tables = made;
    return PHL_OK;
}

void phl_expert_tables_free(phl_expert_tables *tables)
{
    if (tables != NULL) {
        for (size_t i = 0; i < (size_t)1 << PHL_NEAR_PLACES; i++) {
            free_table(tables->of_places[i]);
        }
        phl_free(tables->base);
        phl_free(tables);
    }
}

phl_status phl_expert_tables_reserve(phl_expert_tables *tables,
                                     const uint32_t near[PHL_NEAR_PLACES], phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t c = 0; c < tables->expert->n_chains; c++) {
        phl_places places = 0;
        for (const unsigned char *at = chains[c]; status == PHL_OK && *at != PHL_NEAR_PLACES;
             at++) {
            if (near[*at] != PHL_NEAR_UNKNOWN) {
                places |= AT(*at);
                status = reserve_table(tables, places, error);
            }
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Chains
 * ------------------------------------------------------------------------------------------- */

/* p = (counts - discount + (strength + discount * kinds of labels) p) / (total + strength). */
static void refine(const phl_expert_tables *tables, phl_places places, const uint32_t *near,
                   double *p)
{
    const phl_expert *expert = tables->expert;
    const phl_expert_table *table = tables->of_places[places];
    size_t place = 0;
    uint32_t context = find_context(expert, table, near, &place, hash_context(near, places));
    if (context == UINT32_MAX) {
        return;
    }
    uint64_t begin = table->first[context], end = table->first[context + 1];
    double total = table->total[context] + expert->strength, taken = 0.0;
    for (uint64_t i = begin; i < end; i++) {
        double less = table->count[i] < expert->discount ? table->count[i] : expert->discount;
        taken += less;
    }
    double scale = (expert->strength + taken) / total;
    for (size_t x = 0; x <= expert->n_labels; x++) {
        p[x] *= scale;
    }
    for (uint64_t i = begin; i < end; i++) {
        double less = table->count[i] < expert->discount ? table->count[i] : expert->discount;
        p[table->label[i]] += (table->count[i] - less) / total;
    }
}

void phl_expert_chains(const phl_expert_tables *tables, const uint32_t near[PHL_NEAR_PLACES],
                       double *p)
{
    size_t width = tables->expert->n_labels + 1;
    for (size_t c = 0; c < tables->expert->n_chains; c++) {
        phl_places places = 0;
        double *own = p + c * width;
        memcpy(own, tables->base, width * sizeof *own);
        for (const unsigned char *at = chains[c]; *at != PHL_NEAR_PLACES; at++) {
            if (near[*at] != PHL_NEAR_UNKNOWN) {
                places |= AT(*at);
                refine(tables, places, near, own);
            }
        }
    }
}
