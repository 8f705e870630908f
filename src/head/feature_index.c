/* feature_index.c - features of a forest, looked up once, and of its trees; see feature_index.h.
 *
 * Contents: lists, looking up, counting.
 */
#include "head/feature_index.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/parallel.h"

/* ---------------------------------------------------------------------------------------------
 * Lists
 * ------------------------------------------------------------------------------------------- */

static phl_status begin_lists(phl_feature_lists *lists, phl_error *error)
{
    phl_status status =
        phl_grow(&lists->first, &lists->first_capacity, 1, sizeof *lists->first, error);
    if (status == PHL_OK) {
        lists->first[0] = 0;
    }
    return status;
}

/* A new list, with room for so many numbers behind the others; its end is set when it is full. */
static phl_status begin_list(phl_feature_lists *lists, size_t most, phl_error *error)
{
    phl_status status =
        phl_grow(&lists->first, &lists->first_capacity, lists->n + 2, sizeof *lists->first, error);
    if (status == PHL_OK) {
        lists->n++;
        lists->first[lists->n] = lists->first[lists->n - 1];
        status = phl_grow(&lists->numbers, &lists->capacity, (size_t)lists->first[lists->n] + most,
                          sizeof *lists->numbers, error);
    }
    return status;
}

static void append(phl_feature_lists *lists, uint32_t number)
{
    lists->numbers[lists->first[lists->n]++] = number;
}

static void clear_lists(phl_feature_lists *lists)
{
    phl_free(lists->first);
    phl_free(lists->numbers);
}

/* ---------------------------------------------------------------------------------------------
 * Looking up
 * ------------------------------------------------------------------------------------------- */

/* A child under a label. */
struct placed {
    uint32_t above, child;
};

struct looking {
    phl_feature_index *index;
    const phl_forest *forest;
    const phl_dictionary *dictionary;
    phl_dictionary *growing; /* the same, or NULL: nothing is added */
    uint32_t *symbol;        /* [labels + 1] of every label; that of the unknown one is last */
    phl_link *links;         /* of one subtree, with numbers of the dictionary */
    size_t link_capacity;
    struct placed *placed; /* whose neighbours were looked up */
    size_t n_placed, placed_capacity;
    phl_hash_table table; /* of these */
};

void phl_feature_index_clear(phl_feature_index *index)
{
    phl_free(index->subtree);
    phl_free(index->label);
    phl_free(index->edge);
    phl_free(index->under);
    phl_free(index->root_edge);
    phl_free(index->root_under);
    clear_lists(&index->pairs);
    clear_lists(&index->grand);
    memset(index, 0, sizeof *index);
}

static bool has(const phl_feature_index *index, int group)
{
    return (index->groups >> group & 1) != 0;
}

static uint32_t symbol_of(const struct looking *work, uint32_t subtree)
{
    int32_t label = work->forest->label[subtree];
    return work->symbol[label < 0 ? (size_t)work->forest->labels.count : (size_t)label];
}

static phl_status map_labels(struct looking *work, phl_error *error)
{
    const phl_alphabet *labels = &work->forest->labels;
    work->symbol = phl_alloc(labels->count + 1, sizeof *work->symbol, error);
    if (work->symbol == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < labels->count; i++) {
        int32_t found = phl_alphabet_find(&work->dictionary->labels, phl_alphabet_name(labels, i),
                                          phl_alphabet_length(labels, i));
        work->symbol[i] = found < 0 ? PHL_NO_FEATURE : (uint32_t)found + PHL_SYMBOL_FIRST_LABEL;
    }
    work->symbol[labels->count] = PHL_SYMBOL_UNKNOWN;
    return PHL_OK;
}

/* The number of a sequence; a symbol that is not in the dictionary is in none. */
static phl_status look_up(const struct looking *work, int group, const uint32_t *symbols,
                          uint32_t *number, phl_error *error)
{
    size_t length = work->dictionary->sequences[group].length;
    *number = PHL_NO_FEATURE;
    for (size_t i = 0; i < length; i++) {
        if (symbols[i] == PHL_NO_FEATURE) {
            return PHL_OK;
        }
    }
    if (work->growing != NULL) {
        return phl_dictionary_add_sequence(work->growing, group, symbols, number, error);
    }
    *number = phl_dictionary_find_sequence(work->dictionary, group, symbols);
    return PHL_OK;
}

/* Complete subtrees, children first. */
static phl_status look_up_subtrees(struct looking *work, phl_error *error)
{
    const phl_forest *forest = work->forest;
    uint32_t *number = work->index->subtree;
    phl_status status = PHL_OK;
    for (uint32_t s = 0; status == PHL_OK && s < forest->n_subtrees; s++) {
        uint64_t first = forest->first_link[s];
        size_t n = (size_t)(forest->first_link[s + 1] - first);
        status = phl_grow(&work->links, &work->link_capacity, n, sizeof *work->links, error);
        for (size_t i = 0; status == PHL_OK && i < n; i++) {
            work->links[i] = forest->links[first + i];
            work->links[i].child = number[work->links[i].child];
        }
        if (status == PHL_OK && work->growing != NULL) {
            status = phl_dictionary_add_subtree(work->growing, symbol_of(work, s), work->links, n,
                                                &number[s], error);
        } else if (status == PHL_OK) {
            number[s] =
                phl_dictionary_find_subtree(work->dictionary, symbol_of(work, s), work->links, n);
        }
    }
    return status;
}

static phl_status look_up_labels(struct looking *work, phl_error *error)
{
    phl_status status = PHL_OK;
    for (uint32_t s = 0; status == PHL_OK && s < work->forest->n_subtrees; s++) {
        uint32_t symbol = symbol_of(work, s);
        status = look_up(work, PHL_GROUP_L, &symbol, &work->index->label[s], error);
    }
    return status;
}

static phl_status look_up_edges(struct looking *work, phl_error *error)
{
    const phl_forest *forest = work->forest;
    phl_status status = PHL_OK;
    for (uint32_t s = 0; status == PHL_OK && s < forest->n_subtrees; s++) {
        uint32_t symbols[2] = {symbol_of(work, s)};
        for (uint64_t k = forest->first_link[s]; status == PHL_OK && k < forest->first_link[s + 1];
             k++) {
            symbols[1] = symbol_of(work, forest->links[k].child);
            status = look_up(work, PHL_GROUP_P1, symbols, &work->index->edge[k], error);
        }
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        const uint32_t symbols[2] = {PHL_SYMBOL_BORDER, symbol_of(work, forest->tree_root[t])};
        status = look_up(work, PHL_GROUP_P1, symbols, &work->index->root_edge[t], error);
    }
    return status;
}

/* The neighbours among the children of an internal node, as a new list; `above` is the label over
 * the node for PHL_GROUP_BG. */
static phl_status look_up_neighbours(struct looking *work, int group, uint32_t above,
                                     uint32_t subtree, phl_feature_lists *lists, phl_error *error)
{
    const phl_forest *forest = work->forest;
    uint64_t first = forest->first_link[subtree], end = forest->first_link[subtree + 1];
    uint32_t symbols[4] = {above, symbol_of(work, subtree), PHL_SYMBOL_BORDER, 0};
    const uint32_t *sequence = group == PHL_GROUP_BG ? symbols : symbols + 1;
    uint32_t next_slot = 1, number = 0;
    phl_status status = begin_list(lists, 2 * (size_t)(end - first) + 1, error);
    for (uint64_t k = first; status == PHL_OK && k <= end && end > first; k++) {
        if (k < end && forest->links[k].slot > next_slot) {
            symbols[3] = PHL_SYMBOL_GAP;
            status = look_up(work, group, sequence, &number, error);
            append(lists, number);
            symbols[2] = PHL_SYMBOL_GAP;
        }
        symbols[3] = k < end ? symbol_of(work, forest->links[k].child) : PHL_SYMBOL_BORDER;
        if (status == PHL_OK) {
            status = look_up(work, group, sequence, &number, error);
            append(lists, number);
        }
        symbols[2] = symbols[3];
        next_slot = k < end ? forest->links[k].slot + 1 : 0;
    }
    return status;
}

static phl_status look_up_pairs(struct looking *work, phl_error *error)
{
    phl_status status = begin_lists(&work->index->pairs, error);
    for (uint32_t s = 0; status == PHL_OK && s < work->forest->n_subtrees; s++) {
        status = look_up_neighbours(work, PHL_GROUP_B, 0, s, &work->index->pairs, error);
    }
    return status;
}

static uint32_t hash_placed(const void *items, size_t number)
{
    const struct placed *placed = (const struct placed *)items + number;
    uint64_t hash = phl_hash_step(placed->above, placed->child);
    return (uint32_t)(hash ^ hash >> 32);
}

/* The list of a child under a label, made if it is new. */
static phl_status place(struct looking *work, uint32_t above, uint32_t child, uint32_t *list,
                        phl_error *error)
{
    struct placed new = {above, child};
    uint32_t hash = hash_placed(&new, 0), found = 0;
    *list = PHL_NO_FEATURE;
    if (work->forest->leaf_slot[child] != 0) {
        return PHL_OK;
    }
    phl_status status =
        phl_hash_table_reserve(&work->table, work->n_placed, 64, hash_placed, work->placed, error);
    if (status != PHL_OK) {
        return status;
    }
    size_t at = phl_hash_table_place(&work->table, hash);
    while (phl_hash_table_next(&work->table, hash, &at, &found)) {
        if (work->placed[found].above == above && work->placed[found].child == child) {
            *list = found;
            return PHL_OK;
        }
        at = phl_hash_table_after(&work->table, at);
    }
    status = phl_grow(&work->placed, &work->placed_capacity, work->n_placed + 1,
                      sizeof *work->placed, error);
    if (status == PHL_OK) {
        work->placed[work->n_placed] = new;
        phl_hash_table_put(&work->table, at, hash, work->n_placed);
        *list = (uint32_t)work->n_placed++;
        status = look_up_neighbours(work, PHL_GROUP_BG, above, child, &work->index->grand, error);
    }
    return status;
}

static phl_status look_up_grand(struct looking *work, phl_error *error)
{
    const phl_forest *forest = work->forest;
    phl_status status = begin_lists(&work->index->grand, error);
    for (uint32_t s = 0; status == PHL_OK && s < forest->n_subtrees; s++) {
        uint32_t above = symbol_of(work, s);
        for (uint64_t k = forest->first_link[s]; status == PHL_OK && k < forest->first_link[s + 1];
             k++) {
            status = place(work, above, forest->links[k].child, &work->index->under[k], error);
        }
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        status = place(work, PHL_SYMBOL_BORDER, forest->tree_root[t], &work->index->root_under[t],
                       error);
    }
    return status;
}

static phl_status allocate(phl_feature_index *index, const phl_forest *forest, phl_error *error)
{
    const struct {
        uint32_t **array;
        size_t n;
    } arrays[] = {
        {&index->subtree, forest->n_subtrees}, {&index->label, forest->n_subtrees},
        {&index->edge, forest->n_links},       {&index->under, forest->n_links},
        {&index->root_edge, forest->n_trees},  {&index->root_under, forest->n_trees},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i].array = phl_alloc(arrays[i].n, sizeof **arrays[i].array, error);
        if (*arrays[i].array == NULL) {
            return PHL_ERR_MEMORY;
        }
    }
    return PHL_OK;
}

static phl_status make(phl_feature_index *index, const phl_forest *forest,
                       const phl_dictionary *dictionary, phl_dictionary *growing, unsigned groups,
                       phl_error *error)
{
    static const struct {
        int group;
        phl_status (*look_up)(struct looking *work, phl_error *error);
    } steps[] = {{PHL_GROUP_S, look_up_subtrees},
                 {PHL_GROUP_B, look_up_pairs},
                 {PHL_GROUP_BG, look_up_grand},
                 {PHL_GROUP_L, look_up_labels},
                 {PHL_GROUP_P1, look_up_edges}};
    struct looking work = {
        .index = index, .forest = forest, .dictionary = dictionary, .growing = growing};
    memset(index, 0, sizeof *index);
    index->forest = forest;
    index->dictionary = dictionary;
    index->groups = groups;
    phl_status status = allocate(index, forest, error);
    if (status == PHL_OK) {
        status = map_labels(&work, error);
    }
    for (size_t i = 0; status == PHL_OK && i < sizeof steps / sizeof *steps; i++) {
        bool equal = steps[i].group == PHL_GROUP_S && growing != NULL;
        if (has(index, steps[i].group) || equal) {
            status = steps[i].look_up(&work, error);
        }
    }
    phl_free(work.symbol);
    phl_free(work.links);
    phl_free(work.placed);
    phl_hash_table_clear(&work.table);
    return status;
}

phl_status phl_feature_index_init(phl_feature_index *index, const phl_forest *forest,
                                  const phl_dictionary *dictionary, unsigned groups,
                                  phl_error *error)
{
    return make(index, forest, dictionary, NULL, groups, error);
}

phl_status phl_feature_index_learn(phl_feature_index *index, const phl_forest *forest,
                                   phl_dictionary *dictionary, unsigned groups, phl_error *error)
{
    return make(index, forest, dictionary, dictionary, groups, error);
}

/* ---------------------------------------------------------------------------------------------
 * Counting
 * ------------------------------------------------------------------------------------------- */

/* A subtree whose children are being collected. */
struct step {
    uint64_t next_link;
    uint32_t subtree;
};

/* What one thread works with.  Times and counts are 0 between trees. */
struct counter {
    uint64_t *times;       /* [subtrees] in the tree at hand */
    uint64_t *times_under; /* [lists of index->grand] */
    uint64_t *count;       /* [features] */
    bool *met;             /* [subtrees] collected already */
    struct step *steps;
    size_t step_capacity;
    uint32_t *order; /* subtrees of the tree, children before parents */
    size_t n_order, order_capacity;
    uint32_t *unders; /* lists met in the tree */
    size_t n_unders, under_capacity;
    uint32_t *feature; /* met in the tree */
    size_t n, capacity;
    uint64_t *counts; /* of these */
    size_t count_capacity;
    uint64_t total[PHL_FEATURE_GROUPS];
};

struct counting {
    const phl_feature_index *index;
    const size_t *trees;
    phl_feature_row_fn take;
    void *context;
    size_t first[PHL_FEATURE_GROUPS]; /* number of the first feature of each group */
    size_t n_features;
    struct counter *counters; /* [workers] */
};

static void clear_counter(struct counter *counter)
{
    phl_free(counter->times);
    phl_free(counter->times_under);
    phl_free(counter->count);
    phl_free(counter->met);
    phl_free(counter->steps);
    phl_free(counter->order);
    phl_free(counter->unders);
    phl_free(counter->feature);
    phl_free(counter->counts);
}

static phl_status make_counter(const struct counting *work, struct counter *counter,
                               phl_error *error)
{
    size_t n = work->index->forest->n_subtrees;
    counter->times = phl_alloc_zero(n, sizeof *counter->times, error);
    counter->times_under =
        phl_alloc_zero(work->index->grand.n, sizeof *counter->times_under, error);
    counter->met = phl_alloc_zero(n, sizeof *counter->met, error);
    counter->count = phl_alloc_zero(work->n_features, sizeof *counter->count, error);
    return counter->times == NULL || counter->times_under == NULL || counter->met == NULL ||
                   counter->count == NULL
               ? PHL_ERR_MEMORY
               : PHL_OK;
}

/* The distinct subtrees of a tree into `order`, children before parents. */
static phl_status collect(const phl_forest *forest, uint32_t root, struct counter *counter,
                          phl_error *error)
{
    size_t depth = 0;
    uint32_t next = root;
    phl_status status = PHL_OK;
    counter->n_order = 0;
    do {
        if (!counter->met[next]) {
            counter->met[next] = true;
            status = phl_grow(&counter->steps, &counter->step_capacity, depth + 1,
                              sizeof *counter->steps, error);
            if (status == PHL_OK) {
                counter->steps[depth++] = (struct step){forest->first_link[next], next};
            }
        }
        while (status == PHL_OK && depth > 0) {
            struct step *step = &counter->steps[depth - 1];
            if (step->next_link < forest->first_link[step->subtree + 1]) {
                next = forest->links[step->next_link++].child;
                break;
            }
            status = phl_grow(&counter->order, &counter->order_capacity, counter->n_order + 1,
                              sizeof *counter->order, error);
            if (status == PHL_OK) {
                counter->order[counter->n_order++] = step->subtree;
                depth--;
            }
        }
    } while (status == PHL_OK && depth > 0);
    return status;
}

/* Room for so many features more. */
static phl_status reserve(struct counter *counter, size_t more, phl_error *error)
{
    return phl_grow(&counter->feature, &counter->capacity, counter->n + more,
                    sizeof *counter->feature, error);
}

/* A feature of a group occurs so often again. */
static void meet(const struct counting *work, struct counter *counter, int group, uint32_t number,
                 uint64_t times)
{
    counter->total[group] += times;
    if (number != PHL_NO_FEATURE) {
        size_t feature = work->first[group] + number;
        if (counter->count[feature] == 0) {
            counter->feature[counter->n++] = (uint32_t)feature;
        }
        counter->count[feature] += times;
    }
}

/* All features of a list. */
static phl_status meet_list(const struct counting *work, struct counter *counter, int group,
                            const phl_feature_lists *lists, size_t list, uint64_t times,
                            phl_error *error)
{
    uint64_t first = lists->first[list], end = lists->first[list + 1];
    phl_status status = reserve(counter, (size_t)(end - first), error);
    for (uint64_t i = first; status == PHL_OK && i < end; i++) {
        meet(work, counter, group, lists->numbers[i], times);
    }
    return status;
}

/* A child under a label, or the root, occurs so often again. */
static phl_status meet_under(struct counter *counter, uint32_t list, uint64_t times,
                             phl_error *error)
{
    phl_status status = PHL_OK;
    if (list == PHL_NO_FEATURE) {
        return PHL_OK;
    }
    if (counter->times_under[list] == 0) {
        status = phl_grow(&counter->unders, &counter->under_capacity, counter->n_unders + 1,
                          sizeof *counter->unders, error);
        if (status == PHL_OK) {
            counter->unders[counter->n_unders++] = list;
        }
    }
    counter->times_under[list] += times;
    return status;
}

/* One distinct subtree of the tree, all its parents being done. */
static phl_status count_subtree(const struct counting *work, struct counter *counter,
                                uint32_t subtree, phl_error *error)
{
    const phl_feature_index *index = work->index;
    const phl_forest *forest = index->forest;
    uint64_t times = counter->times[subtree];
    uint64_t first = forest->first_link[subtree], end = forest->first_link[subtree + 1];
    phl_status status = reserve(counter, (size_t)(end - first) + 2, error);
    if (status == PHL_OK && has(index, PHL_GROUP_S)) {
        meet(work, counter, PHL_GROUP_S, index->subtree[subtree], times);
    }
    if (status == PHL_OK && has(index, PHL_GROUP_L)) {
        meet(work, counter, PHL_GROUP_L, index->label[subtree], times);
    }
    for (uint64_t k = first; status == PHL_OK && k < end; k++) {
        counter->times[forest->links[k].child] += times;
        if (has(index, PHL_GROUP_P1)) {
            meet(work, counter, PHL_GROUP_P1, index->edge[k], times);
        }
        if (has(index, PHL_GROUP_BG)) {
            status = meet_under(counter, index->under[k], times, error);
        }
    }
    if (status == PHL_OK && has(index, PHL_GROUP_B)) {
        status = meet_list(work, counter, PHL_GROUP_B, &index->pairs, subtree, times, error);
    }
    return status;
}

/* Ascending, without memory of its own (Shell 1959, gaps of Gonnet and Baeza-Yates 1991). */
static void sort(uint32_t *numbers, size_t n)
{
    size_t gap = n;
    while (gap > 1) {
        gap = gap < 5 ? 1 : gap * 5 / 11;
        for (size_t i = gap; i < n; i++) {
            uint32_t moved = numbers[i];
            size_t to = i;
            for (; to >= gap && numbers[to - gap] > moved; to -= gap) {
                numbers[to] = numbers[to - gap];
            }
            numbers[to] = moved;
        }
    }
}

/* The features of a tree, counted; the counter is ready for the next one. */
static phl_status count_tree(const struct counting *work, struct counter *counter, size_t tree,
                             phl_error *error)
{
    const phl_feature_index *index = work->index;
    uint32_t root = index->forest->tree_root[tree];
    counter->n = counter->n_unders = 0;
    memset(counter->total, 0, sizeof counter->total);
    phl_status status = collect(index->forest, root, counter, error);
    if (status == PHL_OK) {
        status = reserve(counter, 1, error);
    }
    if (status == PHL_OK) {
        counter->times[root] = 1;
    }
    if (status == PHL_OK && has(index, PHL_GROUP_P1)) {
        meet(work, counter, PHL_GROUP_P1, index->root_edge[tree], 1);
    }
    if (status == PHL_OK && has(index, PHL_GROUP_BG)) {
        status = meet_under(counter, index->root_under[tree], 1, error);
    }
    for (size_t i = counter->n_order; status == PHL_OK && i > 0; i--) {
        uint32_t subtree = counter->order[i - 1];
        status = count_subtree(work, counter, subtree, error);
        counter->times[subtree] = 0;
        counter->met[subtree] = false;
    }
    for (size_t i = 0; status == PHL_OK && i < counter->n_unders; i++) {
        uint32_t list = counter->unders[i];
        status = meet_list(work, counter, PHL_GROUP_BG, &index->grand, list,
                           counter->times_under[list], error);
        counter->times_under[list] = 0;
    }
    if (status == PHL_OK) {
        status = phl_grow(&counter->counts, &counter->count_capacity, counter->n,
                          sizeof *counter->counts, error);
    }
    if (status == PHL_OK) {
        sort(counter->feature, counter->n);
        for (size_t i = 0; i < counter->n; i++) {
            counter->counts[i] = counter->count[counter->feature[i]];
            counter->count[counter->feature[i]] = 0;
        }
    }
    return status;
}

static phl_status count_chunk(size_t chunk, size_t begin, size_t end, int worker, void *context,
                              phl_error *error)
{
    struct counting *work = context;
    struct counter *counter = &work->counters[worker];
    phl_status status = counter->times == NULL ? make_counter(work, counter, error) : PHL_OK;
    for (size_t i = begin; status == PHL_OK && i < end; i++) {
        status = count_tree(work, counter, work->trees[i], error);
        if (status == PHL_OK) {
            phl_feature_row row = {
                .n = counter->n, .feature = counter->feature, .count = counter->counts};
            memcpy(row.total, counter->total, sizeof row.total);
            status = work->take(i, &row, chunk, worker, work->context, error);
        }
    }
    return status;
}

phl_status phl_feature_index_count(const phl_feature_index *index, const size_t *trees, size_t n,
                                   int threads, phl_feature_row_fn take, void *context,
                                   phl_cancel_fn cancel, void *cancel_context, phl_error *error)
{
    struct counting work = {.index = index, .trees = trees, .take = take, .context = context};
    size_t workers = (size_t)phl_parallel_threads(threads);
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        work.first[g] = phl_dictionary_first(index->dictionary, g);
    }
    work.n_features = phl_dictionary_first(index->dictionary, PHL_FEATURE_GROUPS);
    work.counters = phl_alloc_zero(workers, sizeof *work.counters, error);
    phl_status status = work.counters == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK) {
        status = phl_parallel_chunks(n, PHL_FEATURE_CHUNK, threads, count_chunk, &work, cancel,
                                     cancel_context, error);
    }
    for (size_t i = 0; work.counters != NULL && i < workers; i++) {
        clear_counter(&work.counters[i]);
    }
    phl_free(work.counters);
    return status;
}

double phl_feature_index_value(const phl_feature_row *row, int group, uint64_t count,
                               unsigned groups)
{
    double parts = 0.0;
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        parts += (groups >> g & 1) != 0 && row->total[g] > 0 ? 1.0 : 0.0;
    }
    return sqrt((double)count / ((double)row->total[group] * parts));
}
