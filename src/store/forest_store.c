/* forest_store.c - the forest a run was trained on, as arrays; see run_file.h.
 *
 * Stored as it lies in memory (forest/forest.h), without what follows from the rest:
 * multiplicities, levels, the largest slot.  Names are stored one after the other, each with a NUL
 * after it.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "forest/forest.h"
#include "store/run_file.h"

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

phl_status phl_forest_store(const phl_database *database, const phl_forest *forest,
                            phl_error *error)
{
    size_t n = forest->n_subtrees, trees = forest->n_trees;
    int32_t shared = forest->shared;
    const struct {
        const char *name;
        phl_dtype dtype;
        void *data; /* NULL: nothing there */
        size_t rows, columns;
    } arrays[] = {
        {"shared", PHL_INT32, &shared, 1, 1},
        {"labels", PHL_UINT8, forest->labels.arena, forest->labels.arena_used, 1},
        {"classes", PHL_UINT8, forest->classes.arena, forest->classes.arena_used, 1},
        {"files", PHL_UINT8, forest->files.arena, forest->files.arena_used, 1},
        {"ids", PHL_UINT8, forest->ids.arena, forest->ids.arena_used, 1},
        {"label", PHL_INT32, forest->label, n, 1},
        {"leaf_slot", PHL_UINT32, forest->leaf_slot, n, 1},
        {"first_link", PHL_UINT64, forest->first_link, n + 1, 1},
        {"link", PHL_UINT32, forest->links, forest->n_links, 2},
        {"tree_root", PHL_UINT32, forest->tree_root, trees, 1},
        {"tree_class", PHL_INT32, forest->tree_class, trees, 1},
        {"tree_file", PHL_UINT32, forest->tree_file, trees, 1},
        {"tree_line", PHL_UINT32, forest->tree_line, trees, 1},
        {"tree_weight", PHL_FLOAT64, forest->tree_weight, trees, 1},
        {"tree_id", PHL_INT32, forest->tree_id, trees, 1},
    };
    sqlite3_stmt *insert = NULL;
    phl_status status = phl_statement_prepare(database, PHL_INSERT_FOREST, &insert, error);
    for (size_t i = 0; status == PHL_OK && i < sizeof arrays / sizeof *arrays; i++) {
        bool optional = i >= sizeof arrays / sizeof *arrays - 2;
        if (optional && arrays[i].data == NULL) {
            continue; /* no weights, no ids */
        }
        status = phl_array_write_table(database, insert, arrays[i].name, arrays[i].dtype,
                                       arrays[i].data, arrays[i].rows, arrays[i].columns, error);
    }
    (void)sqlite3_finalize(insert);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------------------------- */

struct loader {
    const phl_database *database;
    const phl_array_directory *directory;
};

/* An array of any length, as phl_array_load. */
static phl_status load(struct loader *loader, const char *name, phl_dtype dtype, size_t columns,
                       bool optional, void *data_pointer, size_t *count, phl_error *error)
{
    return phl_array_load(loader->database, loader->directory, "the forest", name, dtype, columns,
                          optional, data_pointer, count, error);
}

/* The same for an array whose length follows from another. */
static phl_status load_exactly(struct loader *loader, const char *name, phl_dtype dtype,
                               bool optional, size_t expected, void *data_pointer, phl_error *error)
{
    return phl_array_load_exactly(loader->database, loader->directory, "the forest", name, dtype, 1,
                                  optional, expected, data_pointer, error);
}

/* Names of files may be any bytes, others are UTF-8. */
static phl_status load_names(struct loader *loader, const char *name, phl_alphabet *alphabet,
                             bool any_bytes, phl_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    phl_status status = load(loader, name, PHL_UINT8, 1, false, &bytes, &size, error);
    if (status == PHL_OK && size > 0 && bytes[size - 1] != '\0') {
        status = phl_database_damaged(loader->database, error, "%s are cut short", name);
    }
    for (size_t at = 0; status == PHL_OK && at < size;) {
        size_t length = strlen(bytes + at), before = alphabet->count;
        int32_t number = 0;
        if (!any_bytes && phl_utf8_check(bytes + at, length) != length) {
            status = phl_database_damaged(loader->database, error, "%s are not UTF-8", name);
            break;
        }
        status = phl_alphabet_add(alphabet, bytes + at, length, &number, error);
        if (status == PHL_OK && (size_t)number != before) {
            status = phl_database_damaged(loader->database, error, "%s have one twice", name);
        }
        at += length + 1;
    }
    phl_free(bytes);
    return status;
}

static phl_status load_shared(struct loader *loader, bool *shared, phl_error *error)
{
    int32_t *value = NULL;
    phl_status status = load_exactly(loader, "shared", PHL_INT32, false, 1, &value, error);
    if (status == PHL_OK) {
        *shared = value[0] != 0;
    }
    phl_free(value);
    return status;
}

static phl_status load_all_names(struct loader *loader, phl_forest *forest, phl_error *error)
{
    const struct {
        const char *name;
        phl_alphabet *names;
        bool any_bytes;
    } all[] = {
        {"labels", &forest->labels, false},
        {"classes", &forest->classes, false},
        {"files", &forest->files, true},
        {"ids", &forest->ids, false},
    };
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof all / sizeof *all; i++) {
        status = load_names(loader, all[i].name, all[i].names, all[i].any_bytes, error);
    }
    return status;
}

static phl_status load_arrays(struct loader *loader, phl_forest *forest, phl_error *error)
{
    const struct {
        const char *name;
        phl_dtype dtype;
        size_t columns;
        void *data_pointer;
        size_t *count;
    } first[] = {
        {"label", PHL_INT32, 1, &forest->label, &forest->n_subtrees},
        {"link", PHL_UINT32, 2, &forest->links, &forest->n_links},
        {"tree_root", PHL_UINT32, 1, &forest->tree_root, &forest->n_trees},
    };
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof first / sizeof *first; i++) {
        status = load(loader, first[i].name, first[i].dtype, first[i].columns, false,
                      first[i].data_pointer, first[i].count, error);
    }
    const struct {
        const char *name;
        phl_dtype dtype;
        bool optional;
        size_t count;
        void *data_pointer;
    } rest[] = {
        {"leaf_slot", PHL_UINT32, false, forest->n_subtrees, &forest->leaf_slot},
        {"first_link", PHL_UINT64, false, forest->n_subtrees + 1, &forest->first_link},
        {"tree_class", PHL_INT32, false, forest->n_trees, &forest->tree_class},
        {"tree_file", PHL_UINT32, false, forest->n_trees, &forest->tree_file},
        {"tree_line", PHL_UINT32, false, forest->n_trees, &forest->tree_line},
        {"tree_weight", PHL_FLOAT64, true, forest->n_trees, &forest->tree_weight},
        {"tree_id", PHL_INT32, true, forest->n_trees, &forest->tree_id},
    };
    for (size_t i = 0; status == PHL_OK && i < sizeof rest / sizeof *rest; i++) {
        status = load_exactly(loader, rest[i].name, rest[i].dtype, rest[i].optional, rest[i].count,
                              rest[i].data_pointer, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Is it a forest?
 * ------------------------------------------------------------------------------------------- */

static bool subtree_is_sound(const phl_forest *forest, size_t i)
{
    uint64_t begin = forest->first_link[i], end = forest->first_link[i + 1];
    if (begin > end || end > forest->n_links || forest->label[i] < PHL_UNKNOWN ||
        forest->label[i] >= (int64_t)forest->labels.count ||
        (forest->leaf_slot[i] != 0) != (begin == end) || forest->leaf_slot[i] == UINT32_MAX) {
        return false;
    }
    uint32_t before = 0;
    for (uint64_t k = begin; k < end; k++) {
        phl_link link = forest->links[k];
        if (link.slot <= before || link.slot == UINT32_MAX || link.child >= i ||
            (forest->leaf_slot[link.child] != 0 && forest->leaf_slot[link.child] != link.slot)) {
            return false;
        }
        before = link.slot;
    }
    return true;
}

static bool tree_is_sound(const phl_forest *forest, size_t tree)
{
    uint32_t root = forest->tree_root[tree];
    return root < forest->n_subtrees && forest->leaf_slot[root] <= 1 &&
           forest->tree_class[tree] >= PHL_NO_CLASS &&
           forest->tree_class[tree] < (int64_t)forest->classes.count &&
           forest->tree_file[tree] <= forest->files.count &&
           (forest->tree_weight == NULL ||
            (isfinite(forest->tree_weight[tree]) && forest->tree_weight[tree] > 0)) &&
           (forest->tree_id == NULL ||
            (forest->tree_id[tree] >= -1 && forest->tree_id[tree] < (int64_t)forest->ids.count));
}

static phl_status check(const phl_database *database, const phl_forest *forest, phl_error *error)
{
    bool sound = forest->n_subtrees < UINT32_MAX && forest->first_link[0] == 0 &&
                 forest->first_link[forest->n_subtrees] == forest->n_links;
    for (size_t i = 0; sound && i < forest->n_subtrees; i++) {
        sound = subtree_is_sound(forest, i);
    }
    for (size_t tree = 0; sound && tree < forest->n_trees; tree++) {
        sound = tree_is_sound(forest, tree);
    }
    return sound ? PHL_OK : phl_database_damaged(database, error, "its forest holds no trees");
}

/* Levels (subtrees are numbered by height) and the largest slot. */
static phl_status find_levels(const phl_database *database, phl_forest *forest, phl_error *error)
{
    size_t n = forest->n_subtrees;
    uint32_t *height = phl_alloc(n, sizeof *height, error);
    if (height == NULL) {
        return PHL_ERR_MEMORY;
    }
    bool ordered = true;
    forest->max_slot = forest->n_trees > 0 ? 1 : 0;
    for (size_t i = 0; i < n; i++) {
        height[i] = 0;
        for (uint64_t k = forest->first_link[i]; k < forest->first_link[i + 1]; k++) {
            uint32_t above = height[forest->links[k].child] + 1;
            height[i] = above > height[i] ? above : height[i];
            if (forest->links[k].slot > forest->max_slot) {
                forest->max_slot = forest->links[k].slot;
            }
        }
        ordered = ordered && (i == 0 || height[i] >= height[i - 1]);
    }
    phl_status status = PHL_OK;
    forest->n_levels = n == 0 ? 0 : (size_t)height[n - 1] + 1;
    if (!ordered) {
        status =
            phl_database_damaged(database, error, "the subtrees of its forest are out of order");
    } else {
        forest->level = phl_alloc_zero(forest->n_levels + 1, sizeof *forest->level, error);
        status = forest->level == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t i = n; status == PHL_OK && i-- > 0;) {
        forest->level[height[i]] = (uint32_t)i;
    }
    if (status == PHL_OK) {
        forest->level[forest->n_levels] = (uint32_t)n;
    }
    phl_free(height);
    return status;
}

/* Occurrences, from the trees downwards.  Sharing can say more nodes than can be counted. */
static phl_status count_occurrences(const phl_database *database, phl_forest *forest,
                                    phl_error *error)
{
    const int64_t most = INT64_MAX / 4;
    int64_t total = 0;
    bool countable = true;
    forest->multiplicity = phl_alloc_zero(forest->n_subtrees, sizeof *forest->multiplicity, error);
    if (forest->multiplicity == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        forest->multiplicity[forest->tree_root[tree]]++;
    }
    for (size_t i = forest->n_subtrees; countable && i-- > 0;) {
        int64_t times = forest->multiplicity[i];
        countable = times <= most - total;
        total += countable ? times : 0;
        for (uint64_t k = forest->first_link[i]; countable && k < forest->first_link[i + 1]; k++) {
            int64_t *child = &forest->multiplicity[forest->links[k].child];
            countable = *child <= most - times;
            *child += countable ? times : 0;
        }
    }
    return countable ? PHL_OK
                     : phl_database_damaged(database, error, "its forest has too many nodes");
}

static phl_status fill(struct loader *loader, phl_forest *forest, phl_error *error)
{
    phl_status status = load_shared(loader, &forest->shared, error);
    if (status != PHL_OK) {
        return status;
    }
    status = load_all_names(loader, forest, error);
    if (status != PHL_OK) {
        return status;
    }
    status = load_arrays(loader, forest, error);
    if (status != PHL_OK) {
        return status;
    }
    status = check(loader->database, forest, error);
    if (status != PHL_OK) {
        return status;
    }
    status = find_levels(loader->database, forest, error);
    return status == PHL_OK ? count_occurrences(loader->database, forest, error) : status;
}

phl_status phl_forest_store_load(phl_database *database, phl_forest **forest, phl_error *error)
{
    phl_array_directory directory;
    phl_forest *made = NULL;
    phl_status status = phl_section_verify(database, PHL_SECTION_FOREST, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_array_directory_read(database, PHL_TABLE_FOREST, &directory, error);
    if (status == PHL_OK && directory.count > 0) {
        struct loader loader = {database, &directory};
        made = phl_alloc_zero(1, sizeof *made, error);
        status = made == NULL ? PHL_ERR_MEMORY : fill(&loader, made, error);
    }
    phl_array_directory_clear(&directory);
    if (status != PHL_OK) {
        phl_forest_free(made);
        return status;
    }
    *forest = made;
    return PHL_OK;
}
