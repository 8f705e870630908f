/* classes.c - what the programs of bench/ share; see classes.h. */
#include "classes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

int bench_options(int argc, char **argv, const bench_option *options, const char *usage)
{
    int i = 1;
    while (i < argc && strncmp(argv[i], "--", 2) == 0) {
        const bench_option *option = options;
        while (option->name != NULL && strcmp(option->name, argv[i]) != 0) {
            option++;
        }
        bool takes_value = option->number != NULL || option->text != NULL;
        if (option->name == NULL || (takes_value && i + 1 == argc)) {
            fprintf(stderr, "usage: %s\n", usage);
            return 0;
        }
        if (option->number != NULL) {
            *option->number = strtod(argv[i + 1], NULL);
        } else if (option->text != NULL) {
            *option->text = argv[i + 1];
        } else {
            *option->flag = true;
        }
        i += takes_value ? 2 : 1;
    }
    if (i >= argc) {
        fprintf(stderr, "usage: %s\n", usage);
        return 0;
    }
    return i;
}

size_t bench_list(const char *text, uint32_t *sizes, size_t room)
{
    size_t n = 0;
    while (text != NULL && *text != '\0' && n < room) {
        char *end;
        sizes[n++] = (uint32_t)strtoul(text, &end, 10);
        text = *end == ',' ? end + 1 : "";
    }
    return n;
}

double bench_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int bench_end(const char *program, phl_status status, const phl_error *error)
{
    if (status != PHL_OK) {
        char text[1600];
        fprintf(stderr, "%s: %s\n", program, phl_error_format(error, text, sizeof text));
    }
    return status == PHL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static phl_status select_class(const phl_forest *forest, int32_t number, size_t repeat,
                               phl_forest **selected, phl_error *error)
{
    size_t n = 0, n_trees = phl_forest_trees(forest);
    size_t *trees = phl_alloc(n_trees * repeat, sizeof *trees, error);
    if (trees == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n_trees * repeat; i++) {
        if (phl_forest_classes(forest) == 0 || phl_tree_class(forest, i % n_trees) == number) {
            trees[n++] = i % n_trees;
        }
    }
    phl_status status = phl_forest_select(forest, trees, n, selected, error);
    phl_free(trees);
    return status;
}

phl_status bench_classes_read(const char *const *paths, size_t n_paths, bool no_sharing,
                              size_t repeat, bench_classes *classes, phl_error *error)
{
    phl_read_options options;
    phl_read_options_init(&options);
    options.no_sharing = no_sharing;
    memset(classes, 0, sizeof *classes);
    phl_status status = phl_forest_read(paths, n_paths, &options, &classes->all, NULL, error);
    if (status != PHL_OK) {
        return status;
    }
    size_t n = phl_forest_classes(classes->all);
    classes->slots = phl_forest_max_slot(classes->all);
    classes->labels = (uint32_t)phl_forest_labels(classes->all);
    classes->n = n == 0 ? 1 : n;
    classes->class = phl_alloc_zero(classes->n, sizeof *classes->class, error);
    status = classes->class == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < classes->n; i++) {
        bench_class *made = &classes->class[i];
        status = select_class(classes->all, (int32_t)i, repeat, &made->forest, error);
        if (status == PHL_OK) {
            status = phl_index_create(made->forest, classes->slots, false, &made->index, error);
        }
        if (status == PHL_OK) {
            status =
                phl_index_map_labels(made->forest, &classes->all->labels, &made->label_row, error);
        }
    }
    return status;
}

void bench_classes_clear(bench_classes *classes)
{
    for (size_t i = 0; classes->class != NULL && i < classes->n; i++) {
        phl_free(classes->class[i].label_row);
        phl_index_free(classes->class[i].index);
        phl_forest_free(classes->class[i].forest);
    }
    phl_free(classes->class);
    phl_forest_free(classes->all);
    memset(classes, 0, sizeof *classes);
}

void bench_classes_print(const bench_classes *classes)
{
    size_t trees = 0, distinct = 0, links = 0;
    uint64_t nodes = 0;
    for (size_t i = 0; i < classes->n; i++) {
        const phl_forest *forest = classes->class[i].forest;
        trees += forest->n_trees;
        distinct += forest->n_subtrees;
        links += forest->n_links;
        for (size_t s = 0; s < forest->n_subtrees; s++) {
            nodes += (uint64_t)forest->multiplicity[s];
        }
    }
    printf("{\"classes\": %zu, \"trees\": %zu, \"nodes\": %llu, \"distinct_subtrees\": %zu, "
           "\"links\": %zu",
           classes->n, trees, (unsigned long long)nodes, distinct, links);
}
