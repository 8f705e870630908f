/* forests.h - forests made from text or by the generators, back to text, and the options of it. */
#ifndef PHL_TESTS_FORESTS_H
#define PHL_TESTS_FORESTS_H

#include "phloem.h"

/* Defaults, but for the format. */
phl_read_options read_options(phl_format format);
phl_write_options write_options(phl_format format);

/* Defaults, but for these and one thread. */
phl_train_options train_options(phl_kind kind, uint32_t states, size_t iterations);

/* The text reads without an error; sources are called "test". */
phl_forest *read_text(const phl_read_options *options, const char *text, size_t size);

/* A whole string in a format; trees: in the native one. */
phl_forest *forest_of(phl_format format, const char *text);
phl_forest *trees(const char *text);

/* The forest as text, released with test_free. */
char *write_text(const phl_forest *forest, phl_write_options options);

phl_forest *symm_forest(uint64_t seed, size_t trees_per_class);
phl_forest *document_forest(uint64_t seed, size_t trees_per_class);

/* The same trees, every occurrence of a subtree on its own. */
phl_forest *unshared_copy(const phl_forest *forest);

#endif
