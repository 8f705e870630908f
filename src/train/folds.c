/* folds.c - test folds of a cross-validation: read from a file, or dealt at random. */
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "base/text.h"
#include "forest/forest.h"
#include "format/lines.h"
#include "model/purposes.h"

/* ---------------------------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------------------------- */

enum { MAX_LINE = 1 << 28, MAX_RATIO = 1000 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

struct folds {
    phl_lines lines;
    size_t n_trees, n_folds, n_given;
    uint32_t *fold; /* [n_trees] UINT32_MAX: not yet given */
};

/* The number that begins at *at, a tree of the fold at hand. */
static phl_status read_tree(struct folds *folds, const char *line, const char **at, const char *end,
                            phl_error *error)
{
    const char *begin = *at;
    const char *stop = begin;
    uint64_t number = 0;
    bool digits = true;
    while (stop < end && !is_blank(*stop)) {
        digits = digits && *stop >= '0' && *stop <= '9';
        if (digits && number <= folds->n_trees) { /* beyond, it only has to stay beyond */
            number = number * 10 + (uint64_t)(*stop - '0');
        }
        stop++;
    }
    phl_position position = phl_lines_position(&folds->lines, line, begin);
    char excerpt[PHL_EXCERPT_SIZE];
    phl_text_excerpt(begin, (size_t)(stop - begin), excerpt);
    if (!digits) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, position, NULL,
                            "found %s, expected the number of a tree", excerpt);
    }
    if (number < 1 || number > folds->n_trees) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, position,
                            "trees are numbered from 1 in the order they are read",
                            "tree %s, expected 1 to %zu", excerpt, folds->n_trees);
    }
    if (folds->fold[number - 1] != UINT32_MAX) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, position, NULL,
                            "tree %s again: it is in test fold %u already", excerpt,
                            folds->fold[number - 1] + 1);
    }
    folds->fold[number - 1] = (uint32_t)folds->n_folds;
    folds->n_given++;
    *at = stop;
    return PHL_OK;
}

/* One line: a fold, unless it is empty or a comment. */
static phl_status read_fold(struct folds *folds, const char *line, size_t length, phl_error *error)
{
    const char *at = line, *end = line + length;
    bool empty = true;
    while (at < end && is_blank(*at)) {
        at++;
    }
    if (at < end && *at == '#') {
        return PHL_OK;
    }
    while (at < end) {
        phl_status status = read_tree(folds, line, &at, end, error);
        if (status != PHL_OK) {
            return status;
        }
        empty = false;
        while (at < end && is_blank(*at)) {
            at++;
        }
    }
    folds->n_folds += !empty;
    return PHL_OK;
}

static phl_status check_complete(const struct folds *folds, const char *name, phl_error *error)
{
    phl_position position = {name, 0, 0};
    if (folds->n_given < folds->n_trees) {
        size_t tree = 0;
        while (folds->fold[tree] != UINT32_MAX) {
            tree++;
        }
        return phl_raise_at(error, PHL_ERR_SYNTAX, position,
                            "every tree must be in one test fold, one fold per line",
                            "%zu of %zu trees are in no test fold, the first is tree %zu",
                            folds->n_trees - folds->n_given, folds->n_trees, tree + 1);
    }
    if (folds->n_folds < 2) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, position, "write one fold per line",
                            "%zu test fold%s, expected at least 2", folds->n_folds,
                            folds->n_folds == 1 ? "" : "s");
    }
    return PHL_OK;
}

phl_status phl_folds_read(const char *path, size_t n_trees, uint32_t *fold, size_t *n_folds,
                          phl_error *error)
{
    phl_input *input = NULL;
    phl_status status = phl_input_open(path, MAX_RATIO, &input, error);
    if (status != PHL_OK) {
        return status;
    }
    struct folds folds = {.n_trees = n_trees};
    phl_lines_init(&folds.lines, input, MAX_LINE);
    folds.fold = phl_alloc(n_trees, sizeof *folds.fold, error);
    status = folds.fold == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t t = 0; status == PHL_OK && t < n_trees; t++) {
        folds.fold[t] = UINT32_MAX;
    }
    const char *line = "";
    size_t length = 0;
    while (status == PHL_OK && line != NULL) {
        status = phl_lines_next(&folds.lines, &line, &length, error);
        if (status == PHL_OK && line != NULL) {
            status = read_fold(&folds, line, length, error);
        }
    }
    if (status == PHL_OK) {
        status = check_complete(&folds, phl_input_name(input), error);
    }
    if (status == PHL_OK) {
        memcpy(fold, folds.fold, n_trees * sizeof *fold);
        *n_folds = folds.n_folds;
    }
    phl_free(folds.fold);
    phl_lines_clear(&folds.lines);
    phl_input_close(input);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Dealing
 * ------------------------------------------------------------------------------------------- */

phl_status phl_folds_make(const phl_forest *forest, size_t n_folds, uint64_t seed, uint32_t *fold,
                          phl_error *error)
{
    size_t n = forest->n_trees;
    if (n_folds < 2 || n_folds > n || n > UINT32_MAX) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "%zu folds of %zu trees: expected at least 2 folds and a tree for each",
                         n_folds, n);
    }
    size_t n_groups = forest->classes.count + 1; /* trees without class first */
    uint32_t *trees = phl_alloc(n, sizeof *trees, error);
    size_t *next = phl_alloc_zero(n_groups + 1, sizeof *next, error);
    if (trees == NULL || next == NULL) {
        phl_free(trees);
        phl_free(next);
        return PHL_ERR_MEMORY;
    }
    for (size_t t = 0; t < n; t++) {
        next[forest->tree_class[t] + 2]++;
    }
    for (size_t g = 1; g <= n_groups; g++) {
        next[g] += next[g - 1];
    }
    for (size_t t = 0; t < n; t++) {
        trees[next[forest->tree_class[t] + 1]++] = (uint32_t)t;
    }
    /* Now next[g] is the end of group g.  Each is shuffled; dealing goes on from one to the next,
     * so folds differ in size by at most one tree. */
    for (size_t g = 0, begin = 0; g < n_groups; begin = next[g++]) {
        phl_rng rng;
        phl_rng_init(&rng, seed, PHL_PURPOSE_FOLDS, g, 0, 0);
        phl_shuffle(&rng, next[g] - begin, trees + begin);
    }
    for (size_t i = 0; i < n; i++) {
        fold[trees[i]] = (uint32_t)(i % n_folds);
    }
    phl_free(trees);
    phl_free(next);
    return PHL_OK;
}
