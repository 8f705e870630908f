/* many_trees.h - texts of so many trees that tables and buffers grow while they are read. */
#ifndef PHL_TESTS_MANY_TREES_H
#define PHL_TESTS_MANY_TREES_H

#include "formats.h"

/* Enough labels and subtrees for every table to grow a few times. */
static inline char *many_brackets(size_t trees)
{
    char *text = test_malloc(trees * 80 + 1);
    size_t used = 0;
    for (size_t i = 0; i < trees; i++) {
        used += (size_t)sprintf(text + used, "c%zu\t(r%zu (\"x y%zu\" _ (l%zu)) (m (n%zu)))\n",
                                i % 40, i % 70, i, i / 2, i % 90);
    }
    return text;
}

/* The same for JSON: names with escapes that grow, trees that grow, slots before parents. */
static inline char *many_objects(size_t trees)
{
    char *text = test_malloc(trees * (trees * 20 + 400));
    size_t used = 0;
    for (size_t i = 0; i < trees; i++) {
        char name[200];
        memset(name, 'x', i);
        name[i] = '\0';
        used += (size_t)sprintf(text + used,
                                "{\"id\":\"\\t%zu%s\",\"class\":\"\\u00e9%zu\",\"weight\":%zu.5,"
                                "\"label\":[\"r\"",
                                i, name, i % 40, i);
        for (size_t k = 0; k < i; k++) {
            used += (size_t)sprintf(text + used, ",\"\\/%zu\"", k * i % 301);
        }
        used += (size_t)sprintf(text + used, ",%zu,null,\"\\n%s\"],\"slot\":[1", i, name);
        for (size_t k = 0; k < i + 3; k++) {
            used += (size_t)sprintf(text + used, ",%zu", k % 2 + 1);
        }
        used += (size_t)sprintf(text + used, "],\"parent\":[-1");
        for (size_t k = 0; k < i + 3; k++) {
            used += (size_t)sprintf(text + used, ",%zu", k / 2);
        }
        used += (size_t)sprintf(text + used, "]}\n");
    }
    return text;
}

#endif
