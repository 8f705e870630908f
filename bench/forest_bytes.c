/* forest_bytes.c - forest_bytes FILE...: what the forest of some files takes, array by array.
 *
 * Bytes are those the allocator set aside, not those that were asked for.  Printed is an object of
 * JSON: subtrees, links, trees, the arrays that grow with them, and the tables of names.
 */
#include <malloc.h>
#include <stdio.h>

#include "classes.h"

static size_t print_arrays(const phl_forest *forest)
{
    const struct {
        const char *name;
        void *memory;
    } arrays[] = {
        {"label", forest->label},
        {"leaf_slot", forest->leaf_slot},
        {"first_link", forest->first_link},
        {"multiplicity", forest->multiplicity},
        {"links", forest->links},
        {"level", forest->level},
        {"tree_root", forest->tree_root},
        {"tree_class", forest->tree_class},
        {"tree_file", forest->tree_file},
        {"tree_line", forest->tree_line},
        {"tree_weight", forest->tree_weight},
        {"tree_id", forest->tree_id},
    };
    size_t total = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        size_t bytes = malloc_usable_size(arrays[i].memory);
        printf("%s\"%s\": %zu", i > 0 ? ", " : "", arrays[i].name, bytes);
        total += bytes;
    }
    return total;
}

static void print_tables(const phl_forest *forest)
{
    const struct {
        const char *name;
        const phl_alphabet *names;
    } tables[] = {{"labels", &forest->labels},
                  {"classes", &forest->classes},
                  {"files", &forest->files},
                  {"ids", &forest->ids}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const phl_alphabet *names = tables[i].names;
        printf("%s\"%s\": %zu", i > 0 ? ", " : "", tables[i].name,
               malloc_usable_size(names->entries) + malloc_usable_size(names->arena) +
                   malloc_usable_size(names->table.places));
    }
}

int main(int argc, char **argv)
{
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_status status = phl_forest_read((const char *const *)argv + 1, (size_t)argc - 1, NULL,
                                        &forest, NULL, &error);
    if (status == PHL_OK) {
        printf("{\"subtrees\": %zu, \"links\": %zu, \"trees\": %zu, \"arrays\": {",
               forest->n_subtrees, forest->n_links, forest->n_trees);
        size_t total = print_arrays(forest);
        printf("}, \"bytes\": %zu, \"tables\": {", total);
        print_tables(forest);
        printf("}}\n");
    }
    phl_forest_free(forest);
    return bench_end("forest_bytes", status, &error);
}
