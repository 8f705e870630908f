/* old_phloem.h - how a header of an earlier version declared some of the calls: options without the
 * members that were added since, everything else as in phloem.h.  old_caller.c is compiled
 * against it, and linked with the library of today. */
#ifndef OLD_PHLOEM_H
#define OLD_PHLOEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int phl_status; /* an enum of today */
typedef struct phl_forest phl_forest;
typedef struct phl_builder phl_builder;

typedef struct phl_builder_options {
    size_t size;
} phl_builder_options;
#define phl_builder_options_init(options)                                                          \
    phl_builder_options_init_sized((options), sizeof *(options))
void phl_builder_options_init_sized(phl_builder_options *options, size_t size);
phl_status phl_builder_create(const phl_builder_options *options, phl_builder **builder,
                              void *error);
phl_status phl_builder_finish(phl_builder *builder, phl_forest **forest, void *error);
void phl_builder_free(phl_builder *builder);

typedef struct phl_documents_options {
    size_t size;
    uint64_t seed;
    size_t classes;
    size_t trees_per_class;
} phl_documents_options;
#define phl_documents_options_init(options)                                                        \
    phl_documents_options_init_sized((options), sizeof *(options))
void phl_documents_options_init_sized(phl_documents_options *options, size_t size);
phl_status phl_generate_documents(const phl_documents_options *options, phl_forest **forest,
                                  void *error);

size_t phl_forest_trees(const phl_forest *forest);
phl_status phl_forest_fingerprint(const phl_forest *forest, bool ordered, char out[33],
                                  void *error);
bool phl_forest_is_shared(const phl_forest *forest);
void phl_forest_free(phl_forest *forest);

#endif
