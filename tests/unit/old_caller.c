/* old_caller.c - a program compiled against an earlier header; see old_phloem.h. */
#include "old_caller.h"

#include <string.h>

#include "old_phloem.h"

/* Bytes after an options struct that the library must neither write nor read. */
enum { GUARD = 256 };

struct guarded_documents {
    phl_documents_options options;
    unsigned char guard[GUARD];
};

struct guarded_builder {
    phl_builder_options options;
    unsigned char guard[GUARD];
};

static bool is_intact(const unsigned char guard[GUARD])
{
    for (size_t i = 0; i < GUARD; i++) {
        if (guard[i] != 0xa5) {
            return false;
        }
    }
    return true;
}

const char *old_caller_generate(char fingerprint[33])
{
    struct guarded_documents own;
    memset(&own, 0xa5, sizeof own);
    phl_documents_options_init(&own.options);
    if (!is_intact(own.guard)) {
        return "init writes beyond the struct it knows the size of";
    }
    if (own.options.size != sizeof own.options || own.options.seed != 42 ||
        own.options.classes != 4 || own.options.trees_per_class != 100) {
        return "init does not set the defaults";
    }
    own.options.trees_per_class = 7;
    phl_forest *forest = NULL;
    if (phl_generate_documents(&own.options, &forest, NULL) != 0) {
        return "the options are refused";
    }
    bool good = phl_forest_trees(forest) == 28 &&
                phl_forest_fingerprint(forest, true, fingerprint, NULL) == 0;
    phl_forest_free(forest);
    return good ? NULL : "the options are not heeded";
}

const char *old_caller_build(void)
{
    struct guarded_builder own;
    memset(&own, 0xa5, sizeof own);
    phl_builder_options_init(&own.options);
    phl_builder *builder = NULL;
    phl_forest *forest = NULL;
    if (!is_intact(own.guard)) {
        return "init writes beyond the struct it knows the size of";
    }
    if (phl_builder_create(&own.options, &builder, NULL) != 0 ||
        phl_builder_finish(builder, &forest, NULL) != 0) {
        return "the options are refused";
    }
    bool shared = phl_forest_is_shared(forest);
    phl_builder_free(builder);
    phl_forest_free(forest);
    return shared ? NULL : "what lies after the struct is taken for an option";
}
