/* read_forest.c - read_forest FILE...: read trees into a forest and free it, nothing else.
 *
 * What bench/run times as "reading"; it prints the number of trees.
 */
#include <phloem.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_status status = phl_forest_read((const char *const *)argv + 1, (size_t)argc - 1, NULL,
                                        &forest, NULL, &error);
    if (status != PHL_OK) {
        char text[1600];
        fprintf(stderr, "read_forest: %s\n", phl_error_format(&error, text, sizeof text));
        return status == PHL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    printf("%zu\n", phl_forest_trees(forest));
    phl_forest_free(forest);
    return 0;
}
